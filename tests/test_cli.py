"""The command line as a whole: one name for one option, known errors in one line."""

import json
import subprocess
import sys
from collections import defaultdict

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import isovist
from isovist.bench.worlds import office_floor
from isovist.cli.app import app, main
from isovist.io.maps.read import write_map
from isovist.io.scans.read import write_scan
from isovist.maps.cells import OccupancyMap
from isovist.poses import Pose
from isovist.sensing.lidar import Lidar


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "isovist", *arguments], capture_output=True, text=True, check=False
    )


def test_the_version_is_that_of_the_package():
    result = CliRunner().invoke(app, ["--version"])
    assert result.output == f"isovist {isovist.__version__}\n"


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


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb):
    for ask in ("-h", "--help"):
        result = CliRunner().invoke(app, [*verb.split(), ask])
        assert result.exit_code == 0
        assert "Usage: " in result.output
    told = VERBS[verb].help
    assert told
    assert told.rstrip().endswith((".", "?"))
    for option in VERBS[verb].params:
        assert option.help, (verb, option.name)
        assert option.help[0].isupper() or option.help[0] == "ε", (verb, option.help)
        assert option.help.endswith("."), (verb, option.help)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_an_example_with_options_that_it_has(verb):
    epilog = VERBS[verb].epilog
    assert epilog.startswith(f"Example: isovist {verb}")
    known = {name for option in VERBS[verb].params for name in option.opts}
    assert {word for word in epilog.split() if word.startswith("-")} <= known
    assert CliRunner().invoke(app, [*verb.split(), "-h"]).output.count("Example: isovist") == 1


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
    assert set(known["--scan-topic"]) == {"locate", "track"}
    assert set(known["--sensor"]) == {"locate", "track", "bench follow", "bench kidnap"}
    # Counts are of different things; the others say when they count or what is written.
    words = {"--count", "--height", "--rings", "--figure", "--output", "--json"}
    for name, uses in known.items():
        told = {use if name not in words else use[1:] for use in uses.values()}
        assert len(told) == 1, (name, uses)


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


def test_an_option_of_bags_is_named_as_the_command_line_knows_it(tmp_path):
    (tmp_path / "scan.json").write_text("{}")
    files = [str(tmp_path / "office.yaml"), str(tmp_path / "scan.json")]
    result = CliRunner().invoke(app, ["locate", *files, "--scan-topic", "/scan"])
    assert str(result.exception) == (
        "`scan_topic` and `at` choose a scan of a bag, and scan.json is none."
    )


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


def test_out_of_memory_is_one_line_that_says_how_much(monkeypatch, capsys):
    def hungry():
        raise MemoryError("Unable to allocate 29.8 GiB for an array with shape (4, 10) and so on")

    monkeypatch.setattr("isovist.cli.app.app", hungry)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        "isovist: out of memory. Unable to allocate 29.8 GiB for an array with shape (4, 10) "
        "and so on.\n"
    )
