"""Broken command lines, requests and questions: a sample of the fuzzing, and how it judges."""

import numpy as np
import pytest
from benchmarks.fuzz import readers, serving, verbs
from tests.support.errors import refused
from tests.support.sites import SITES

import isovist as iv

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("words", [["survey", "ATLAS", "--count", "0"], ["foo"], ["info", "no"]])
def test_refused_lines_are_clear(words):
    verbs.run(words)


@pytest.mark.parametrize("path", serving.sound())
def test_sound_requests_to_the_server_are_answered(path):
    body = serving.sound()[path]
    asked = serving.door().ask("POST", path.replace("SESSION", serving.session()), json=body)
    assert asked.status_code in (200, 201)


@pytest.mark.parametrize("kind", serving.ASKED)
def test_broken_requests_to_the_server_are_answered_or_refused(kind):
    for case in range(6):
        serving.ASKED[kind](np.random.default_rng([5, case]))


@pytest.mark.parametrize("kind", ["check.plane", "track.plane"])
def test_absurd_questions_are_answered_in_numbers_or_refused(kind):
    texts = []
    for case in range(8):
        try:
            verbs.ASKED[kind](np.random.default_rng([5, case]))
        except iv.IsovistError as error:
            texts.append(str(error))
    assert texts
    assert all(text.isprintable() and text.endswith((".", "?")) for text in texts)


@pytest.mark.parametrize(
    ("code", "out", "err"),
    [(3, "", ""), (2, "", "oh"), (2, "", "isovist: \x1b.\n"), (0, '{"a": NaN}', ""),
     (1, '{"a": Infinity}', "")],
)  # fmt: skip
def test_ends_of_commands_that_are_findings(code, out, err):
    verbs.check_line(["info", "--json"], 2, "", "isovist: no such file.\n")
    verbs.check_line(["info", "--json"], 0, '{"a": null}', "")
    with pytest.raises(readers.WrongError):
        verbs.check_line(["info", "--json"], code, out, err)


def test_a_line_is_damaged_and_keeps_its_verb():
    words = verbs.LINES[0].split()
    worse = [verbs.damage_line(words, np.random.default_rng(k)) for k in range(40)]
    assert words == verbs.LINES[0].split()
    assert sum(line != words for line in worse) > 30


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
@pytest.mark.parametrize("x", [1e308, -1.1e9])
def test_a_place_that_no_map_holds_is_refused(site, x):
    with refused("pose"):
        iv.check(site.atlas, site.look(site.places[0]), type(site.places[0])(x))
    with refused("centre"):
        iv.Region.circle((7.0, x), 2.0)
