"""The command line as a whole: one name for one option, and the answers of the library."""

import sys
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from unittest.mock import Mock

import numpy as np
import pytest
from tests.support.command_line import VERBS, one_line, run
from tests.support.reports import said, untimed
from tests.support.sites import SITES, SPACE, gap

import isovist as iv
from isovist.exploration import Rule

BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)
TILTED = SPACE.places[0] @ iv.Pose3(roll=0.06, pitch=-0.05)


@lru_cache
def help_of(verb):
    return run(*verb.split(), "-h").out


def test_the_version_is_that_of_the_package():
    assert run("--version").out == f"isovist {iv.__version__}\n"


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb):
    shown, command = help_of(verb), VERBS[verb]
    assert shown.lstrip().startswith(f"Usage: isovist {verb} ")
    assert command.help.rstrip().endswith((".", "?"))
    for option in command.params:
        if getattr(option, "hidden", False):
            continue
        assert option.help[0].isupper() or option.help[0] in "ε23", (verb, option.help)
        assert option.help.endswith("."), (verb, option.help)
        if option.param_type_name == "argument":
            assert option.metavar.split(".")[0].isupper(), (verb, option.name)
    assert command.epilog.startswith(f"Example: isovist {verb}")
    known = {name for option in command.params for name in option.opts}
    assert {word for word in command.epilog.split() if word.startswith("-")} <= known
    assert shown.count("Example: isovist") == 1
    if " " not in verb:
        assert run(verb, "--help").out == shown


def test_the_first_help_groups_the_verbs_and_shells_complete_them(monkeypatch):
    shown = run("--help").out
    panels = ["Find a robot:", "Know a site:", "In the browser", "Measure:", "The paper:"]
    places = [shown.index(f"\n{panel}") for panel in panels]
    assert places == sorted(places)
    assert "`isovist demo`" in shown
    assert "\nCommands:" not in shown
    assert "--install-completion" in shown
    monkeypatch.setenv("_ISOVIST_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "isovist loc")
    monkeypatch.setenv("COMP_CWORD", "1")
    assert run().out.split() == ["locate"]


def test_one_name_stands_for_one_option_and_says_its_unit():
    known = defaultdict(dict)
    for verb, command in VERBS.items():
        for option in command.params:
            if option.param_type_name == "option":
                known[option.opts[-1]][verb] = (option.help, option.metavar, option.nargs)
    by_paper = {"paper locate", "paper track"}
    assert set(known["--scan-topic"]) == {"locate", "check", "track", "studio", *by_paper}
    sensors = {"locate", "check", "track", "ros", "bench follow", "bench kidnap", *by_paper}
    assert set(known["--sensor"]) == sensors
    # Counts are of different things, a map may be a file or one of several by name; the others say
    # what is written.
    words = {
        "--count", "--map", "--scans", "--rings", "--resolution", "--figure",
        "--output", "--json",
    }  # fmt: skip
    for name, uses in known.items():
        told = {use if name not in words else use[1:] for use in uses.values()}
        assert len(told) == 1, (name, uses)
    assert known["--rule"]["explore"][1] == "|".join(Rule)  # closed sets are shown
    lengths = "spacing height max-height resolution tolerance range-max noise limit reach sensor"
    units = {"degrees": ["field-of-view"], "s": ["at", "sweep"], "m": lengths.split()}
    for unit, names in units.items():
        for name in names:
            assert all(f" in {unit}" in use[0] for use in known[f"--{name}"].values()), name


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The atlas of a site and a scan in it, as words of a command line."""
    home = tmp_path_factory.mktemp("sites")

    @lru_cache
    def write(name, twins):
        path = home / f"{name}-{twins}.atlas"
        iv.write_atlas(SITES[name].twin_atlas if twins else SITES[name].atlas, path)
        return path

    def words(site, scan, twins=False):
        iv.write_scan(scan, home / "scan.npz")
        return write(site.name, twins), home / "scan.npz"

    return words


def same(line, atlas, scan, **how):
    """Check that a line printed what the library says; return the answer."""
    answer = iv.locate(atlas, scan, **how)
    hints = iv.hints(atlas, scan, answer, region=how.get("region"))
    assert line.code == (answer.verdict is not iv.Verdict.UNIQUE), line
    assert untimed(line.json) == said(answer, *hints)
    return answer


@pytest.mark.slow
@BOTH
def test_a_line_prints_what_the_library_answers(site, files):
    scan, truth = site.look(site.places[0]), site.places[0]
    answer = same(run("locate", *files(site, scan), "--json"), site.atlas, scan)
    assert answer.verdict is iv.Verdict.UNIQUE
    assert gap(answer.best.pose, truth)[0] < 0.1
    hanging = files(site, scan.mirrored())
    same(run("locate", *hanging, "--json", "--mirror"), site.atlas, scan)
    lost = site.elsewhere()
    line = run("locate", *files(site, lost), "--json")
    assert same(line, site.atlas, lost).verdict is iv.Verdict.LOST


@pytest.mark.nightly
@pytest.mark.slow
@BOTH
def test_near_and_heading_choose_between_two_places_alike(site, files):
    scan, twin = site.asked_alike()[0], site.twin
    words, atlas = ("locate", *files(site, scan, twins=True), "--json"), site.twin_atlas
    assert same(run(*words), atlas, scan).verdict is iv.Verdict.AMBIGUOUS
    near = iv.Region.circle((twin.x, twin.y), 1.0)
    there = same(run(*words, "--near", twin.x, twin.y, 1), atlas, scan, region=near).best.pose
    assert np.hypot(there.x - twin.x, there.y - twin.y) < 0.1
    yaw = ("--heading", np.degrees(twin.yaw), 30)
    prior = iv.Region().towards(twin.yaw, np.radians(30))
    turned = same(run(*words, *yaw), atlas, scan, region=prior)
    if site is SPACE:  # where the other place looks the other way
        assert np.hypot(turned.best.pose.x - twin.x, turned.best.pose.y - twin.y) < 0.1
    assert run(*words, *yaw, "--near", 900, 0, 1).json["verdict"] == "lost"


@pytest.mark.slow
def test_the_place_of_the_sensor_is_taken_out_of_the_answer(files):
    site = SITES["plane"]
    seen = site.look(site.places[0], mount=site.mount)
    bare = replace(seen, T_robot_sensor=iv.Pose())
    words = ("locate", *files(site, bare), "--json")
    assert gap(run(*words).pose, site.places[0] @ site.mount)[0] < 0.1
    told = run(*words, "--sensor", *site.mount.vector)
    assert gap(told.pose, site.places[0])[0] < 0.1
    same(told, site.atlas, seen)


def test_a_lean_is_fitted_told_or_noticed(files):
    scan = replace(SPACE.look(TILTED), roll=0.0, pitch=0.0)
    words = ("locate", *files(SPACE, scan), "--json")
    leans = [TILTED.roll, TILTED.pitch]
    fitted = same(run(*words, "--tilt"), SPACE.atlas, scan, tilt=True)
    np.testing.assert_allclose([fitted.best.pose.roll, fitted.best.pose.pitch], leans, atol=0.03)
    noticed = same(run(*words), SPACE.atlas, scan)
    assert noticed.facts["lean"] == pytest.approx(np.hypot(*leans), abs=0.01)
    told = run(*words, "--roll", *np.degrees(leans[:1]), "--pitch", *np.degrees(leans[1:]))
    assert gap(told.pose, TILTED)[0] < 0.12
    np.testing.assert_allclose([told.pose.roll, told.pose.pitch], leans, atol=1e-9)
    for wrong in (("--roll", 95), ("--pitch", "nan")):
        assert one_line(*words, *wrong).reason == "invalid_value"


@pytest.mark.slow
def test_the_sample_files_are_read_and_answered(tmp_path):
    assert run("sample", tmp_path / "s").code == 0
    for pair in (("office.yaml", "scan.json"), ("building.ply", "cloud.npz")):
        world, scan = (tmp_path / "s" / name for name in pair)
        assert iv.locate(iv.build(iv.read_map(world)), iv.read_scan(scan)).verdict == "unique"
    assert len(iv.read_log(tmp_path / "s" / "drive.mcap")) == 300
    assert one_line("sample", tmp_path / "s" / "scan.json").reason == "file_exists"


@pytest.mark.slow
def test_the_demonstration_needs_no_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    line = run("demo", "--figure", tmp_path / "demo.png")
    assert line.code == 0, line.err
    assert "pip install 'isovist[figures]'" in line.out
    assert not (tmp_path / "demo.png").exists()


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (MemoryError("Unable to allocate 29.8 GiB"), 2, "29.8 GiB"),
        (MemoryError(), 2, "memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left", "a.npz"), 2, "a.npz: No space left."),
        (OSError("all at once"), 2, "all at once"),
    ],
)
def test_what_stops_the_program_is_one_line(monkeypatch, error, code, told):
    monkeypatch.setattr("isovist.io.read_scan", Mock(side_effect=error))
    line = run("locate", "map.yaml", "scan.json")
    assert (line.code, line.out, line.err.count("\n")) == (code, "", 1)
    assert line.err.startswith("isovist: ")
    assert told in line.err


def test_a_word_with_a_zero_byte_is_one_line():
    assert one_line("locate", "a\0b", "scan.json").out == ""
