"""`isovist track A B LOG --links FILE`: which map, all along a log; and files of links."""

import csv
import json
from itertools import pairwise

import numpy as np
import pytest
from tests.support.lift import LIDAR, LIFT, ON, ON_2, THERE, floors, up
from typer.testing import CliRunner

import isovist as iv
from isovist import FileError, IsovistError, Pose
from isovist.apps import app
from isovist.tracking.link_files import read_links

LINKS = f"""# the lift
- floor1: {LIFT.vector.tolist()}
  floor2: {ON_2.vector.tolist()}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Atlases, a file of links, and a log of a robot that rides from one floor to the other."""
    folder = tmp_path_factory.mktemp("floors")
    worlds = {}
    for name, atlas in floors().items():
        path = folder / "site" / f"{name.replace(' ', '')}.atlas"
        path.parent.mkdir(exist_ok=True)
        iv.write_atlas(atlas, path)
        worlds[name] = atlas.world
    (folder / "links.yaml").write_text(LINKS)
    random, at, rows = np.random.default_rng(0), Pose(5.0, 1.0, 0.3), []
    ride = [("floor 1", pose) for pose in THERE] + [("floor 2", pose) for pose in up(ON[1:9])]
    for (before, last), (name, pose) in pairwise([ride[0], *ride]):
        step = last.inverse @ pose if before == name else THERE[-1].inverse @ ON[1]
        at = at @ step
        scan = LIDAR.scan(worlds[name], pose, random)
        rows.append((np.where(scan.valid, scan.ranges, np.inf), pose.vector, at.vector))
    ranges, poses, odometry = (np.array(column) for column in zip(*rows, strict=True))
    np.savez(
        folder / "run.npz", ranges_m=ranges, pose=poses, odom=odometry,
        t=50.0 + 0.5 * np.arange(len(rows)), angle_min=scan.bearings[0],
        angle_inc=float(np.diff(scan.bearings).mean()), range_max=20.0,
    )  # fmt: skip
    return folder


def track(*options):
    words = ["track", *map(str, options)]
    return CliRunner().invoke(app, words)


@pytest.mark.slow
def test_a_log_on_two_floors_names_the_map_of_each_update(site, tmp_path):
    rows, picture = tmp_path / "way.csv", tmp_path / "way.png"
    maps = [site / "site" / f"floor{k}.atlas" for k in (1, 2)]
    options = ["--links", site / "links.yaml", "--csv", rows, "--figure", picture, "--json"]
    result = track(*maps, site / "run.npz", *options)
    assert result.exit_code == 0, result.output
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(told) == len(THERE) + 8
    unique = [(one["map"], k < len(THERE)) for k, one in enumerate(told)
              if one["verdict"] == "unique"]  # fmt: skip
    assert set(unique) == {("floor1", True), ("floor2", False)}
    assert told[-1]["map"] == told[-1]["estimates"][0]["map"] == "floor2"
    assert "error_m" not in told[-1]
    with rows.open() as file:
        table = list(csv.DictReader(file))
    assert [row["verdict"] for row in table] == [one["verdict"] for one in told]
    assert [row["map"] for row in table] == [one["map"] for one in told]
    assert float(table[-1]["x"]) == pytest.approx(told[-1]["estimates"][0]["x"], abs=1e-5)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_folder_of_atlases_is_a_library(site):
    result = track(site / "site", site / "run.npz", "--stop", 12)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("unique at the end: ")
    assert lines[1].startswith("  floor1:  x ")


@pytest.mark.slow
def test_links_work_with_a_sensor_on_a_mount():
    """The robot is near the end of a link, whose sensor is not."""
    mount = Pose(0.9, 0.3, 2.0)
    link = iv.Link("floor 1", LIFT, "floor 2", ON_2)
    tracker = iv.Tracker(floors(), links=[link])
    random, at, beliefs = np.random.default_rng(4), Pose(), []
    ride = [("floor 1", pose) for pose in THERE] + [("floor 2", pose) for pose in up(ON[1:12])]
    for (before, last), (name, pose) in pairwise([ride[0], *ride]):
        at = at @ (last.inverse @ pose if before == name else THERE[-1].inverse @ ON[1])
        seen = LIDAR.scan(floors()[name].world, pose @ mount, random)
        scan = iv.Scan(seen.bearings, np.where(seen.valid, seen.ranges, np.inf),
                       range_max=seen.range_max, T_robot_sensor=mount)  # fmt: skip
        beliefs.append((name, pose, tracker.update(at, scan)))
    for name, pose, belief in beliefs:
        if belief.verdict is iv.Verdict.UNIQUE:
            assert belief.map == name
            assert np.hypot(*(belief.best.pose.position - pose.position)) < 0.3
    assert beliefs[-1][2].verdict is iv.Verdict.UNIQUE
    assert beliefs[-1][2].map == "floor 2"


def test_a_lift_has_as_many_stops_as_it_has(tmp_path):
    path = tmp_path / "links.yaml"
    path.write_text(
        "- {a: [1, 2, 0.5], b: [3.0, 4.0, 0.0], c: [5, 6, 0]}\n- {a: [7, 8, 0], d: [9, 9, 1]}"
    )
    links = read_links(path)
    assert [(link.first, link.second) for link in links] == [
        ("a", "b"), ("a", "c"), ("b", "c"), ("a", "d"),
    ]  # fmt: skip
    assert links[0] == iv.Link("a", Pose(1, 2, 0.5), "b", Pose(3, 4, 0))
    path.write_text('[{"a": [1, 2, 0.5], "b": [3, 4, 0]}]')
    assert read_links(path) == links[:1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "a: [1, 2, 3]",
            "links.yaml is not a file of links: it should be a list of entries such as "
            "`{ground: [7.6, 5.9, 0.0], first: [7.6, 5.9, 0.0]}`, got {'a': [1, 2, 3]}.",
        ),
        (
            "- {a: [1, 2, 3]}",
            "links.yaml: entry 1 must have a pose on two maps or more, got {'a': [1, 2, 3]}.",
        ),
        (
            "- {a: [1, 2, 3], b: [1, 2]}",
            "links.yaml: entry 1 must have x, y (m) and yaw (rad) on 'b', got [1, 2].",
        ),
        (
            "- {a: [1, 2, 3], b: [1, 2, .nan]}",
            "links.yaml: entry 1 must have x, y (m) and yaw (rad) on 'b', got [1, 2, nan].",
        ),
        (
            "- [\n",
            "links.yaml is not plain YAML in line 2: expected the node content, but found "
            "'<stream end>'.",
        ),
    ],
)
def test_what_is_no_file_of_links_is_one_line(tmp_path, text, words):
    path = tmp_path / "links.yaml"
    path.write_text(text)
    with pytest.raises(FileError) as error:
        read_links(path)
    assert str(error.value) == words


@pytest.mark.slow
def test_bad_options_are_one_line(site, tmp_path):
    one, two = (site / "site" / f"floor{k}.atlas" for k in (1, 2))
    log, links = site / "run.npz", site / "links.yaml"
    cases = [
        (
            (one, two, log, "--tum", tmp_path / "way.tum"),
            "`--tum` is of one map, and there are several. Take `--csv`.",
        ),
        ((one, log, "--links", links), "`--links` join several maps, and this tracker has one."),
        (
            (one, two, log, "--links", tmp_path / "gone.yaml"),
            f"{tmp_path / 'gone.yaml'}: there is no such file.",
        ),
        ((one, two, log, "--method", "paper"), "`--method paper` takes one map, got 2."),
    ]
    for options, text in cases:
        result = track(*options)
        assert isinstance(result.exception, IsovistError), result.output
        assert str(result.exception) == text
