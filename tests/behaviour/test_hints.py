"""Scans that are mirrored or of the wrong size: not unique, and a hint at what is wrong."""

import json
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from tests.support.reference_space import atlas_of
from tests.support.sites import PLANAR, SITES, gap
from typer.testing import CliRunner

import isovist as iv
from isovist import Pose
from isovist.apps import app
from isovist.localization.look import attempt
from isovist.localization.twists import MIRRORED, doubt
from isovist.maps import Cell
from isovist.report import answer_json, answer_text

USUAL = iv.LocalizationSettings()


@pytest.fixture(params=SITES.values(), ids=SITES)
def site(request):
    return request.param


def where(pose):
    return f"x {pose.x:.2f} m, y {pose.y:.2f} m, yaw {np.degrees(pose.yaw):.1f}°"


@pytest.mark.slow
def test_a_good_scan_is_unique_and_gives_no_hint(site):
    scan, answer = site.asked()
    assert answer.verdict is iv.Verdict.UNIQUE
    assert iv.hints(site.atlas, scan, answer) == ()


@lru_cache
def turned_over(name, mounted=False):
    """A mirrored scan of the second place, its answer and the hints that it gets."""
    site = SITES[name]
    scan = site.look(site.places[1], mount=site.mount if mounted else None).mirrored()
    answer = iv.locate(site.atlas, scan)
    return scan, answer, iv.hints(site.atlas, scan, answer)


@pytest.mark.slow
@pytest.mark.parametrize("mounted", [False, True])
def test_a_mirrored_scan_is_hinted_at(site, mounted):
    truth = site.places[1]
    _, answer, (hint, *_) = turned_over(site.name, mounted)
    assert answer.verdict is not iv.Verdict.UNIQUE
    assert (hint.cause, hint.factor) == ("mirror", 1.0)
    assert gap(hint.pose, truth)[0] < 0.1
    assert hint.text == (
        f"The mirrored scan would fit at {where(hint.pose)}: is the sensor mounted upside down? "
        "Try `--mirror`, in Python `scan.mirrored()`."
    )


@pytest.mark.slow
@pytest.mark.parametrize("factor", [0.87, 1.07])
def test_a_scan_of_the_wrong_size_is_hinted_at(site, factor):
    truth = site.places[1]
    scan = site.look(truth, mount=site.mount).scaled(factor)
    answer = iv.locate(site.atlas, scan)
    assert answer.verdict is not iv.Verdict.UNIQUE
    hint = iv.hints(site.atlas, scan, answer)[0]
    assert hint.cause == "scale"
    assert hint.factor == pytest.approx(1.0 / factor, rel=0.02)
    assert gap(hint.pose, truth)[0] < 0.3
    assert hint.text == (
        f"The scan times {hint.factor:.2f} would fit at {where(hint.pose)}: is the resolution of "
        "the map right, and are the ranges in m?"
    )


def test_ranges_in_mm_are_lost_and_hinted_at(site):
    truth = site.places[1]
    scan = site.look(truth).scaled(1000.0)
    answer = iv.locate(site.atlas, scan)
    assert answer.verdict is iv.Verdict.LOST
    assert answer.estimates == ()
    (hint,) = iv.hints(site.atlas, scan, answer)
    assert (hint.cause, hint.factor) == ("scale", 0.001)
    assert gap(hint.pose, truth)[0] < 0.1
    assert hint.text == (
        f"The scan times 0.001 would fit at {where(hint.pose)}: are the ranges in mm? "
        "They must be in m."
    )


@pytest.mark.slow
def test_a_scan_from_elsewhere_gives_no_hint(site):
    scan = site.elsewhere()
    assert iv.hints(site.atlas, scan, iv.locate(site.atlas, scan)) == ()


@pytest.mark.slow
def test_a_prior_bounds_the_hints(site):
    truth = site.places[1]
    scan = site.look(truth).mirrored()
    for centre, count in (([truth.x, truth.y], 1), ([900.0, 0.0], 0)):
        prior = iv.Region.circle(centre, 1.0)
        answer = iv.locate(site.atlas, scan, prior=prior)
        told = iv.hints(site.atlas, scan, answer, prior=prior)
        assert [hint.cause for hint in told] == ["mirror"] * count


@pytest.mark.slow
def test_a_place_that_fits_worse_than_the_mirrored_scan_is_doubted(site):
    """Only where the fit is mediocre: a good one is not searched again."""
    scan, answer = site.asked()
    best = answer.best
    worse = replace(best, score=best.score - 1.0)
    assert doubt(site.atlas, scan.mirrored(), worse, None, USUAL) == MIRRORED
    never = replace(USUAL, poor=(1.5, 0.0))
    assert doubt(site.atlas, scan.mirrored(), worse, None, never) == ""
    always = replace(USUAL, poor=(1.5, 99.0))
    assert doubt(site.atlas, scan, best, None, always) == ""


@pytest.mark.slow
def test_a_unique_place_at_the_wrong_size_is_not_called_unique(site):
    """Without the doubt it would be; the advice says why."""
    found = []
    # That nothing fits well, or one place not well enough, is never said.
    trusting = replace(USUAL, sure=(0.4, 0.0, 0.0), refuted=(0.8, 0.1, 0.05, 0.0))
    for k, truth in enumerate(site.places):
        scan = site.look(truth, seed=k).scaled(0.95)
        if attempt(site.atlas, scan, None, trusting).verdict is iv.Verdict.UNIQUE:
            answer = iv.locate(site.atlas, scan, settings=trusting)
            assert answer.verdict is iv.Verdict.AMBIGUOUS
            found.append(answer.advice)
            assert set(answer.timing_ms) == {"search", "refine", "judge", "total"}
    assert found
    assert set(found) == {
        "The scan would fit better here if it were 5 % larger. "
        "Is the resolution of the map right, and are the ranges in m?"
    }


@lru_cache
def mirror_symmetric_hall(block):
    """The same after y → 8 − y, but for a block in a corner."""
    cells = np.full((160, 240), Cell.OCCUPIED, dtype=np.uint8)
    cells[4:156, 4:100] = cells[40:120, 100:236] = Cell.FREE
    cells[60:100, 150:160] = Cell.OCCUPIED
    if block:
        cells[130:156, 4:30] = Cell.OCCUPIED
    return iv.OccupancyMap(cells, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_building_that_is_its_own_mirror_image_is_not_doubted(seed):
    """Either way round the scan fits as well, and the place as it is is the only one."""
    always = replace(USUAL, poor=(1.5, 99.0))
    world, truth = mirror_symmetric_hall(block=False), Pose(3.6, 2.9, 0.5)
    scan = PLANAR.scan(world, truth, np.random.default_rng(seed))
    answer = iv.locate(atlas_of(world), scan, settings=always)
    assert answer.verdict is iv.Verdict.UNIQUE
    assert gap(answer.best.pose, truth)[0] < 0.1


@pytest.mark.slow
def test_a_mirrored_scan_that_fits_alone_is_not_called_unique():
    world, truth = mirror_symmetric_hall(block=True), Pose(3.6, 2.9, 0.5)
    atlas = atlas_of(world)
    scan = PLANAR.scan(world, truth, np.random.default_rng(0)).mirrored()
    assert attempt(atlas, scan, None, USUAL).verdict is iv.Verdict.UNIQUE
    answer = iv.locate(atlas, scan)
    assert (answer.verdict, answer.advice) == (iv.Verdict.AMBIGUOUS, MIRRORED)
    assert gap(iv.hints(atlas, scan, answer)[0].pose, truth)[0] < 0.1


@pytest.mark.slow
def test_hints_are_in_words_and_in_json(site, tmp_path):
    scan, answer, told = turned_over(site.name)
    assert f"\n  hint: {told[0].text}\n" in answer_text(answer, told)
    assert answer_json(answer)["hints"] == []
    iv.write_atlas(site.atlas, tmp_path / "atlas")
    iv.write_scan(scan, tmp_path / "scan.npz")
    files = [str(tmp_path / "atlas"), str(tmp_path / "scan.npz")]
    result = CliRunner().invoke(app, ["locate", *files, "--json"])
    assert result.exit_code == 1
    hint = json.loads(result.output)["hints"][0]
    names = ("x", "y", "yaw", "z", "roll", "pitch")[: len(told[0].pose.vector)]
    assert list(hint) == ["cause", "factor", *names, "text"]
    assert (hint["cause"], hint["text"]) == ("mirror", told[0].text)
    if site.name == "plane":  # in space a second answer takes long, and is told alike
        assert f"hint: {hint['text']}" in CliRunner().invoke(app, ["locate", *files]).output


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: iv.Scan(np.arange(3.0), [900.0, 2500.0, 4000.0], 0.1, 12.0),
            "The scan has no valid beam among 3: every range is NaN, infinite, 0 or outside "
            "[0.1, 12.0) m. Are the ranges in mm? They must be in m.",
        ),
        (
            lambda: iv.Scan(np.arange(3.0), [900.0, 2500.0, 4000.0], 0.1, 2.0),
            "The scan has no valid beam among 3: every range is NaN, infinite, 0 or outside "
            "[0.1, 2.0) m.",
        ),
        (
            lambda: iv.CloudScan(1000.0 * np.ones((60, 3)), range_max=12.0),
            "A scan in space needs at least 50 returns, got 0 among 60 points: the others are not "
            "finite, at the origin or outside [0, 12) m. Are the ranges in mm? They must be in m.",
        ),
    ],
)
def test_ranges_that_would_do_in_mm_are_refused_with_the_likely_cause(make, text):
    with pytest.raises(iv.InputError) as error:
        make()
    assert str(error.value) == text
