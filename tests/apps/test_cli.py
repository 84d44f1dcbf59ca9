"""The command line as a whole: one name for one option, known errors in one line."""

import json
import re
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
import typer
from tests.support.sites import SITES, SPACE, gap
from typer.testing import CliRunner

import isovist
from isovist import Lidar, OccupancyMap, Pose, Pose3, SegmentMap, write_map, write_scan
from isovist.apps import app
from isovist.poses import wrap_angle
from isovist.simulation import office_floor

ROOM = SegmentMap.room(6.0, 4.0).walls.reshape(-1, 2, 2)
SEEN = SegmentMap.room(6.0, 4.0), Pose(1.3, 1.7, 0.4), np.random.default_rng(0)


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "isovist", *arguments], capture_output=True, text=True, check=False
    )


def test_the_version_is_that_of_the_package():
    result = CliRunner().invoke(app, ["--version"])
    assert result.output == f"isovist {isovist.__version__}\n"


@pytest.mark.slow
def test_a_known_error_is_one_line_and_exit_code_2(tmp_path):
    result = run("paper", "--figure", str(tmp_path / "picture.doc"))
    assert result.returncode == 2
    path = tmp_path / "picture.doc"
    assert result.stderr == f"isovist: {path}: a picture must end in .png, .pdf or .svg.\n"


def verbs(command, path=()):
    """Every verb of the command line, with the words that call it."""
    if not hasattr(command, "commands"):
        yield " ".join(path), command
    for name, verb in getattr(command, "commands", {}).items():
        yield from verbs(verb, (*path, name))


VERBS = dict(verbs(typer.main.get_command(app)))


@lru_cache
def help_of(verb):
    return CliRunner().invoke(app, [*verb.split(), "-h"], prog_name="isovist").output


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb):
    assert help_of(verb).lstrip().startswith(f"Usage: isovist {verb} ")
    told = VERBS[verb].help
    assert told
    assert told.rstrip().endswith((".", "?"))
    for option in VERBS[verb].params:
        assert option.help, (verb, option.name)
        assert option.help[0].isupper() or option.help[0] == "ε", (verb, option.help)
        assert option.help.endswith("."), (verb, option.help)
        if option.param_type_name == "argument":
            assert option.metavar.split(".")[0].isupper(), (verb, option.name)


@pytest.mark.parametrize("verb", ["info", "steer", "warm-up"])
def test_help_may_be_asked_for_at_length(verb):
    result = CliRunner().invoke(app, [verb, "--help"], prog_name="isovist")
    assert (result.exit_code, result.output) == (0, help_of(verb))


def test_the_first_help_groups_the_verbs_and_says_where_to_begin():
    told = CliRunner().invoke(app, ["--help"]).output
    panels = ["Find a robot", "Know a site", "In the browser", "The paper", "Measure"]
    places = [told.index(f"─ {panel}") for panel in panels]
    assert places == sorted(places)
    assert "Begin with `isovist demo`; `isovist VERB -h` explains a verb" in told
    assert "─ Commands" not in told


@pytest.mark.parametrize("verb", ["locate", "track"])
def test_what_counts_for_the_method_of_the_paper_alone_is_shown_apart(verb):
    _, usual, papers = re.split("─ Options|─ With --method paper", help_of(verb))
    words = ("channels", "temperature", "profile", "norm", "transform", "spacing", "rose")
    assert [f"--{word}" for word in words] == re.findall(r"│ (--\w+)", papers)
    assert "│ --method " in usual


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_an_example_with_options_that_it_has(verb):
    epilog = VERBS[verb].epilog
    assert epilog.startswith(f"Example: isovist {verb}")
    known = {name for option in VERBS[verb].params for name in option.opts}
    assert {word for word in epilog.split() if word.startswith("-")} <= known
    assert help_of(verb).count("Example: isovist") == 1


def test_numbers_say_their_units():
    lengths = {"--spacing", "--height", "--highest", "--resolution", "--tolerance", "--range-max",
               "--noise", "--limit", "--reach", "--place", "--sensor"}  # fmt: skip
    told = {name: option.help for verb in VERBS.values() for option in verb.params
            for name in option.opts}  # fmt: skip
    assert all(" in m" in told[name] for name in lengths)
    assert all(" in s" in told[name] for name in ("--at", "--sweep"))
    assert " in degrees" in told["--field-of-view"]


def test_shells_complete_the_verbs(monkeypatch):
    shown = CliRunner().invoke(app, ["--help"]).output
    assert "--install-completion" in shown
    monkeypatch.setenv("_ISOVIST_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "isovist loc")
    monkeypatch.setenv("COMP_CWORD", "1")
    result = CliRunner().invoke(app, [], prog_name="isovist")
    assert result.output.split() == ["locate"]


def test_one_name_stands_for_one_option():
    known = defaultdict(dict)
    for verb, command in verbs(typer.main.get_command(app)):
        for option in command.params:
            if option.param_type_name == "option":
                known[option.opts[-1]][verb] = (option.help, option.metavar, option.nargs)
    assert "--topic" not in known
    assert set(known["--scan-topic"]) == {"locate", "check", "track", "studio"}
    sensors = {"locate", "check", "track", "ros", "bench follow", "bench kidnap"}
    assert set(known["--sensor"]) == sensors
    # Counts are of different things, a map may be a file or one of several by name; the others say
    # when they count or what is written.
    words = {
        "--count", "--map", "--scans", "--height", "--rings", "--resolution", "--figure",
        "--output", "--json",
    }  # fmt: skip
    for name, uses in known.items():
        told = {use if name not in words else use[1:] for use in uses.values()}
        assert len(told) == 1, (name, uses)


@pytest.mark.slow
def test_the_place_of_the_sensor_is_taken_out_of_the_answer(tmp_path):
    walls = office_floor(2, length=15.0, rows=2).plan.walls.reshape(-1, 2, 2)
    world = OccupancyMap.from_segments(walls, 0.05)
    truth, place = Pose(3.0, 2.0, 0.4), Pose(-0.3, 0.2, 0.5)
    scan = Lidar(beams=180).scan(world, truth @ place, np.random.default_rng(0))
    write_map(world, tmp_path / "office.yaml")
    write_scan(scan, tmp_path / "scan.json")
    files = [str(tmp_path / "office.yaml"), str(tmp_path / "scan.json")]
    sensor = ["--sensor", *map(str, place.vector)]
    for options, pose in (([], truth @ place), (sensor, truth)):
        result = CliRunner().invoke(app, ["locate", *files, "--json", *options])
        best = json.loads(result.output)["estimates"][0]
        found = [best["x"], best["y"], best["yaw"]]
        np.testing.assert_allclose(found, pose.vector, atol=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            ["locate", "office.yaml", "scan.json", "--scan-topic", "/scan"],
            "`--scan-topic` and `--at` choose a scan of a bag, and scan.json is none.",
        ),
        (
            ["track", "office.yaml", "scan.json", "--odometry-topic", "/odom"],
            "`--scan-topic` and `--odometry-topic` choose topics of a bag, and scan.json is none.",
        ),
        (
            ["survey", "office.yaml", "--field-of-view", "400"],
            "`--field-of-view` must be more than 0° and at most 360°, as 2π rad, got 400°.",
        ),
        (
            ["survey", "office.yaml", "--noise", "-1"],
            "`--noise` must be a length in m, 0 or more, got -1.0.",
        ),
        (
            ["bench", "simulate3d", "office.yaml", "--low", "50"],
            "`--low` and `--high` must be elevations in ascending order within ±90°, as ±π/2 rad, "
            "got 50° and 15°.",
        ),
        (
            ["locate", "office.yaml", "scan.json", "--roll", "3"],
            "`--roll` and `--pitch` are for one scan in space.",
        ),
        (
            ["locate", "office.yaml", "scan.json", "--tilt"],
            "`--tilt` is for maps in space; this atlas is of the plane.",
        ),
        (
            ["locate", "office.yaml", "scan.json", "--near", "1", "2", "0"],
            "`--near` takes x, y and a positive radius, in m, got 1 2 0.",
        ),
        (
            ["locate", "office.yaml", "scan.json", "--near", "nan", "2", "1"],
            "`--near` takes x, y and a positive radius, in m, got nan 2 1.",
        ),
        (
            ["locate", "office.yaml", "scan.json", "--heading", "90", "0"],
            "`--heading` takes a yaw within ±360° and a tolerance above 0° and up to 180°, "
            "got 90 0.",
        ),
        (
            ["locate", "office.yaml", "scan.json", "--heading", "900", "10"],
            "`--heading` takes a yaw within ±360° and a tolerance above 0° and up to 180°, "
            "got 900 10.",
        ),
        (
            ["map", "scan.json", "-o", "out.geojson"],
            "out.geojson: a ROS map must end in .yaml; its image goes beside it.",
        ),
        (
            ["map", "scan.json", "-o", "out.yaml", "--prefix", "nav_"],
            "`--prefix` chooses a sensor of an .npz file, and scan.json is none.",
        ),
    ],
)
def test_an_error_names_options_as_the_command_line_knows_them(
    tmp_path, monkeypatch, arguments, text
):
    monkeypatch.chdir(tmp_path)
    write_map(OccupancyMap.from_segments(ROOM, 0.05), "office.yaml")
    write_scan(Lidar(beams=90).scan(*SEEN), "scan.json")
    result = CliRunner().invoke(app, arguments)
    assert str(result.exception) == text


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_near_and_heading_choose_between_two_places_alike(tmp_path, site):
    scan = site.look(site.lonely, world=site.twins, seed=6)
    isovist.write_atlas(site.twin_atlas, tmp_path / "atlas")
    write_scan(scan, tmp_path / "scan.npz")
    files = [str(tmp_path / "atlas"), str(tmp_path / "scan.npz")]
    far = site.twin
    near = ["--near", str(far.x), str(far.y), "1.0"]
    choices = [near]
    if abs(wrap_angle(far.yaw - site.lonely.yaw)) > 1.0:
        choices.append(["--heading", str(np.degrees(far.yaw)), "30"])
    assert CliRunner().invoke(app, ["locate", *files, "--json"]).exit_code == 1
    for options in choices:
        result = CliRunner().invoke(app, ["locate", *files, "--json", *options])
        best = json.loads(result.output)["estimates"][0]
        assert result.exit_code == 0
        assert np.hypot(best["x"] - far.x, best["y"] - far.y) < 0.1
    elsewhere = ["--heading", str(np.degrees(far.yaw) + 90.0), "10", "--near", "900", "0", "1"]
    result = CliRunner().invoke(app, ["locate", *files, "--json", *elsewhere])
    assert json.loads(result.output)["verdict"] == "lost"


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_mirror_turns_a_scan_over(tmp_path, site):
    scan = site.look(site.places[0])
    isovist.write_atlas(site.atlas, tmp_path / "atlas")
    write_scan(scan.mirrored(), tmp_path / "scan.npz")
    files = [str(tmp_path / "atlas"), str(tmp_path / "scan.npz")]
    result = CliRunner().invoke(app, ["locate", *files, "--json", "--mirror"])
    best = json.loads(result.output)["estimates"][0]
    assert np.hypot(best["x"] - site.places[0].x, best["y"] - site.places[0].y) < 0.1


@pytest.mark.slow
def test_tilt_fits_roll_and_pitch(tmp_path):
    truth = SPACE.places[0] @ Pose3(roll=0.06, pitch=-0.05)
    isovist.write_atlas(SPACE.atlas, tmp_path / "atlas")
    write_scan(replace(SPACE.look(truth), roll=0.0, pitch=0.0), tmp_path / "scan.npz")
    files = [str(tmp_path / "atlas"), str(tmp_path / "scan.npz")]
    result = CliRunner().invoke(app, ["locate", *files, "--json", "--tilt"])
    best = json.loads(result.output)["estimates"][0]
    assert len(best["covariance"]) == 6
    np.testing.assert_allclose([best["roll"], best["pitch"]], [truth.roll, truth.pitch], atol=0.03)
    untold = json.loads(CliRunner().invoke(app, ["locate", *files, "--json"]).output)
    assert "The sensor leans by" in untold["advice"]  # and nobody had to ask


def test_a_lean_that_is_told_is_taken_off_the_scan(tmp_path):
    truth = SPACE.places[0] @ Pose3(roll=-0.1, pitch=0.05)
    isovist.write_atlas(SPACE.atlas, tmp_path / "atlas")
    write_scan(replace(SPACE.look(truth), roll=0.0, pitch=0.0), tmp_path / "scan.npz")
    files = [str(tmp_path / "atlas"), str(tmp_path / "scan.npz")]
    lean = ["--roll", str(np.degrees(truth.roll)), "--pitch", str(np.degrees(truth.pitch))]
    result = CliRunner().invoke(app, ["locate", *files, "--json", *lean])
    assert result.exit_code == 0, result.exception
    best = json.loads(result.output)["estimates"][0]
    names = ("x", "y", "yaw", "z", "roll", "pitch")
    assert gap(Pose3(*(best[name] for name in names)), truth)[0] < 0.12
    np.testing.assert_allclose([best["roll"], best["pitch"]], [truth.roll, truth.pitch], atol=1e-9)
    for words, text in (
        (["--roll", "95"], "`--roll` and `--pitch` must tilt the robot by less than 90°, got 95°. "
         "A sensor that lies on its side says so by `T_robot_sensor`."),
        (["--pitch", "nan"], "`--roll` and `--pitch` must be angles in degrees."),
    ):  # fmt: skip
        result = CliRunner().invoke(app, ["locate", *files, *words])
        assert str(result.exception) == text


@pytest.mark.slow
def test_the_demonstration_needs_no_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setattr("isovist.viz.figures.find_spec", lambda _: None)
    picture = tmp_path / "demo.png"
    result = CliRunner().invoke(app, ["demo", "--figure", str(picture)])
    assert result.exit_code == 0, result.exception
    assert result.stdout.endswith("  picture: needs Matplotlib, pip install 'isovist[figures]'\n")
    assert not picture.exists()


def test_the_demonstration_refuses_an_unknown_format_before_the_work(monkeypatch):
    def never(_):
        raise AssertionError

    monkeypatch.setattr("isovist.bench.demonstration.demonstrate", never)
    result = CliRunner().invoke(app, ["demo", "--figure", "demo.doc"])
    assert str(result.exception) == "demo.doc: a picture must end in .png, .pdf or .svg."


def test_out_of_memory_is_one_line_that_says_how_much(monkeypatch, typed):
    def hungry(**_options):
        raise MemoryError("Unable to allocate 29.8 GiB for an array with shape (4, 10) and so on")

    monkeypatch.setattr("isovist.cli.app.app", hungry)
    assert typed() == (
        2,
        "",
        "isovist: out of memory. Unable to allocate 29.8 GiB for an array with shape (4, 10) "
        "and so on.\n",
    )
