"""Other methods beside ours, as they are called: rows, and what is refused."""

import io
import json
from contextlib import redirect_stdout

import numpy as np
import pytest
from benchmarks.baselines.__main__ import app
from benchmarks.baselines.availability import has_fpfh
from tests.support.errors import refused
from tests.support.reference_locate import building
from tests.support.sites import SPACE

import isovist as iv

pytestmark = pytest.mark.slow


def house_of_points(folder):
    """A cloud as the map, scans in a folder, and their poses in both formats."""

    def cloud(path, points):
        path.write_bytes(np.c_[points, np.zeros(len(points))].astype("<f4").tobytes())

    cloud(folder / "house.bin", SPACE.world.centres(np.flatnonzero(SPACE.world.cells == 1)))
    for name in ("scans", "empty"):
        (folder / name).mkdir()
    places = SPACE.places[:2]
    for k, place in enumerate(places):
        cloud(folder / "scans" / f"{k}.bin", SPACE.look(place).points)
    np.savetxt(
        folder / "poses.tum", [[k, *p.position, *p.quaternion] for k, p in enumerate(places)]
    )
    np.savetxt(folder / "poses.txt", [np.c_[p.rotation, p.position].ravel() for p in places])
    (folder / "one.txt").write_text("0 0 0 0 0 0 0 1\n")
    iv.write_map(iv.SegmentMap.room(4, 3), folder / "plan.geojson")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    iv.write_map(building(), folder / "map.yaml")
    house_of_points(folder)
    return folder


@pytest.fixture
def rows(files, monkeypatch):
    """The rows that a command prints."""
    monkeypatch.chdir(files)

    def run(words):
        with redirect_stdout(io.StringIO()) as out:
            arguments = [word.replace("_", " ") for word in words.split()]
            app([*arguments, "--json"], standalone_mode=False)
        text = out.getvalue()
        return (
            [json.loads(line) for line in text.splitlines()]
            if text[:1] == "{"
            else json.loads(text)
        )

    return run


@pytest.mark.parametrize(
    "words",
    [
        "scans --poses poses.tum",
        "scans/0.bin scans/1.bin --poses poses.txt",
        "--simulate 2 --seed 3",
    ],
)
def test_scans_in_space_have_poses_or_are_simulated(rows, words):
    (row,) = rows(f"space house.bin {words} --only isovist")
    assert (row["site"], row["queries"], row["right"]) == ("house", 2, 1.0)


def test_descriptors_have_a_row_for_each_refinement(rows):
    basins = rows("descriptors map.yaml --count 1 --basin")
    assert len({row["refinement"] for row in basins}) == len(basins) > 4
    (near,) = [key for key in basins[0] if " m " in key][:1]
    assert all(row[near] == 1.0 for row in basins[:4])


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("wrong_dimension", "space plan.geojson --simulate 2"),
        ("conflict", "space house.bin scans --simulate 2"),
        ("missing", "space house.bin scans"),
        ("invalid_file", "space house.bin scans --poses one.txt"),
        ("invalid_file", "space house.bin empty --poses one.txt"),
        ("invalid_value", "space house.bin --only teaser"),
        ("invalid_value", "descriptors map.yaml --count 1 --field-of-view 170 --only rays"
         " --condition view_180°"),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(rows, code, words):
    with pytest.raises(iv.IsovistError) as caught:
        rows(words)
    assert caught.value.code == code


@pytest.mark.skipif(has_fpfh(), reason="Open3D is there")
def test_a_method_without_its_library_is_refused_if_it_is_the_only_one(rows):
    with refused(code="missing"):
        rows("descriptors map.yaml --count 1 --only fpfh")
