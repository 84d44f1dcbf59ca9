"""Why an answer is unique or not: which beams tell its two best places apart."""

import json

import numpy as np
import pytest
from tests.support.sites import PLANE, SITES
from typer.testing import CliRunner

import isovist as iv
from isovist import Answer, Verdict
from isovist.apps import app
from isovist.localization.contrast import Contrast, contrast
from isovist.report import contrast_json, contrast_text

BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


def made(favour, bearings):
    ends = 2.0 * np.stack([np.cos(bearings), np.sin(bearings)], axis=1)
    pose = iv.Pose()
    return Contrast((1, 3), (pose, pose), ends, np.asarray(favour, dtype=float))


@pytest.mark.slow
@BOTH
def test_twins_are_told_apart_by_hardly_a_beam(site):
    scan, answer = site.asked_alike()
    assert answer.verdict is Verdict.AMBIGUOUS
    told = contrast(site.twin_atlas, scan, answer)
    assert told.telling.mean() < 0.1
    assert told.numbers == (1, 2)
    assert told.poses == (answer.estimates[0].pose, answer.estimates[1].pose)


@pytest.mark.slow
@BOTH
def test_a_wrong_place_is_contradicted_by_many_beams_whatever_the_mount(site):
    truth = site.places[0]
    for mount in (None, site.mount):
        scan = site.look(truth, mount=mount)
        answer = iv.locate(site.atlas, scan)
        told = contrast(site.atlas, scan, answer)
        for_first, for_second = told.counts
        assert for_first > 5 * for_second
        assert told.favour.sum() > 0.0
        # The mean of δ is the difference of the scores that the answer has; in space those of the
        # fits before the last.
        scores = [answer.estimates[number - 1].score for number in told.numbers]
        slack = 1e-4 if site.atlas.dimension == 2 else 0.2
        assert told.favour.mean() == pytest.approx(scores[0] - scores[1], abs=slack)


def test_words_say_how_many_beams_tell_and_where_they_are():
    left_rear, ahead = np.radians(130.0), 0.0
    assert contrast_text(made([0.2, -0.9], [0.0, 1.0])) == (
        "None of 2 beams tells place 1 from place 3."
    )
    assert contrast_text(made([1.5, 0.0], [left_rear, 0.0])) == (
        "1 of 2 beams tells place 1 from place 3: 1 for 1, 0 for 3; all to the left rear."
    )
    assert contrast_text(made([2.0, -3.0, 1.0, 0.0], [left_rear, left_rear, ahead, 1.0])) == (
        "3 of 4 beams tell place 1 from place 3: 2 for 1, 1 for 3; most of them to the left rear."
    )
    around = np.radians([0.0, 90.0, 180.0, 190.0, 270.0])
    assert contrast_text(made(5 * [2.0], around)) == (
        "5 of 5 beams tell place 1 from place 3: 5 for 1, 0 for 3; all around, most often behind."
    )


def test_an_answer_with_one_place_has_nothing_to_compare():
    scan = PLANE.look(PLANE.places[0])
    answer = iv.locate(PLANE.atlas, scan)
    alone = Answer(answer.verdict, "", answer.estimates[:1])
    assert contrast(PLANE.atlas, scan, alone) is None
    assert contrast_text(None) == "Only one place was found, so there is none to compare it with."
    assert contrast_json(None) is None


@pytest.mark.slow
def test_the_command_says_why(tmp_path):
    scan = PLANE.look(PLANE.lonely, world=PLANE.twins)
    iv.write_scan(scan, tmp_path / "scan.json")
    iv.write_map(PLANE.twins, tmp_path / "twins.yaml")
    words = ["locate", str(tmp_path / "twins.yaml"), str(tmp_path / "scan.json"), "--why"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1
    why = result.output.splitlines()[-1].removeprefix("  why: ")
    assert " place 1 from place 2" in why
    picture = tmp_path / "why.png"
    result = CliRunner().invoke(app, [*words, "--json", "--figure", str(picture)])
    told = json.loads(result.output)["why"]
    assert told["text"] == why
    assert told["places"] == [1, 2]
    assert told["telling"] == told["for_first"] + told["for_second"] == sum(told["by_sector"])
    assert picture.read_bytes().startswith(b"\x89PNG")
