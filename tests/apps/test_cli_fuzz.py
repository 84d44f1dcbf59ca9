"""Broken command lines and absurd questions: a sample of the fuzzing, and what was found once."""

import json

import numpy as np
import pytest
from benchmarks.fuzz import readers, serving, verbs
from tests.support.sites import SITES

import isovist as iv
from isovist.apps import main
from isovist.report import sensor_json

FAR = "`pose` must lie within 1e+09 m of the origin, got "


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
@pytest.mark.parametrize("x", [1e308, -1.1e9])
def test_a_pose_that_no_map_holds_is_refused(site, x):
    pose = iv.Pose(x, 0.0, 0.0) if site.name == "plane" else iv.Pose3(x, 0.0, 0.0, 1.0)
    with pytest.raises(iv.InputError) as error:
        iv.check(site.atlas, site.look(site.places[0]), pose)
    assert str(error.value) == f"{FAR}{pose}."


@pytest.mark.parametrize(
    "lidar", [iv.Lidar(range_max=np.inf), iv.SpinningLidar(4, range_max=np.inf)], ids=SITES
)
def test_a_range_without_end_is_null_in_json(lidar):
    told = json.loads(json.dumps(sensor_json(lidar), allow_nan=False))
    assert told["range_max"] is None


@pytest.mark.slow
@pytest.mark.parametrize("words", [["survey", "ATLAS", "--count", "0"], ["foo"], ["info", "no"]])
def test_refused_lines_are_clear(words):
    verbs.run(words)


@pytest.mark.slow
@pytest.mark.parametrize("path", serving.sound())
def test_sound_requests_to_the_server_are_answered(path):
    body = serving.sound()[path]
    asked = serving.door().ask("POST", path.replace("SESSION", serving.session()), json=body)
    assert asked.status_code in (200, 201)


@pytest.mark.slow
@pytest.mark.parametrize("kind", serving.ASKED)
def test_broken_requests_to_the_server_are_answered_or_refused(kind):
    for case in range(6):
        serving.ASKED[kind](np.random.default_rng([5, case]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["check.plane", "track.plane"])
def test_absurd_questions_are_answered_in_numbers_or_refused(kind):
    refused = []
    for case in range(8):
        try:
            verbs.ASKED[kind](np.random.default_rng([5, case]))
        except iv.IsovistError as error:
            refused.append(str(error))
    assert refused
    assert all(text.isprintable() and text.endswith((".", "?")) for text in refused)


@pytest.mark.parametrize(
    ("code", "told", "said", "text"),
    [
        (3, "", "", "exit code 3: 'info --json'"),
        (2, "", "oh", "no clear line: 'oh' of 'info --json'"),
        (2, "", "isovist: \x1b.\n", "no clear line: 'isovist: \\x1b.' of 'info --json'"),
        (0, '{"a": NaN}', "", "NaN in JSON"),
        (1, '{"a": Infinity}', "", "Infinity in JSON"),
    ],
)
def test_ends_of_commands_that_are_findings(code, told, said, text):
    with pytest.raises(readers.WrongError) as error:
        verbs.check_line(["info", "--json"], code, told, said)
    assert str(error.value) == text


def test_a_line_is_damaged_and_keeps_its_verb():
    words = verbs.LINES[0].split()
    worse = [verbs.damage_line(words, np.random.default_rng(k)) for k in range(40)]
    assert words == verbs.LINES[0].split()
    assert sum(line != words for line in worse) > 30


def test_a_region_around_no_place_is_refused():
    with pytest.raises(iv.InputError) as refused:
        iv.Region.circle((7.0, 1e308), 2.0)
    assert str(refused.value) == (
        "`centre` must lie within 1e+09 m of the origin, got (7, 1e+308)."
    )


def test_a_word_with_a_zero_byte_is_refused_in_one_line(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["isovist", "locate", "a\0b", "scan.json"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert capsys.readouterr().err == "isovist: A word of the command line holds a zero byte.\n"
