"""Scans that are mirrored or of the wrong size: not unique, and a hint at what is wrong."""

import json
from functools import lru_cache

import numpy as np
import pytest
from tests.support.reference_space import atlas_of
from tests.support.reports import answer_text, near, told
from tests.support.sites import PLANAR, PLANE, SITES, gap

import isovist as iv

pytestmark = pytest.mark.slow
BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)
USUAL = iv.LocalizationSettings()


@BOTH
def test_a_good_scan_and_one_from_elsewhere_give_no_hint(site):
    scan, answer = site.asked()
    assert answer.verdict == "unique"
    assert iv.hints(site.atlas, scan, answer) == ()
    scan = site.elsewhere()
    assert iv.hints(site.atlas, scan, iv.locate(site.atlas, scan)) == ()


@lru_cache
def turned_over(name, mounted=False):
    """A mirrored scan of the second place, its answer and the hints that it gets."""
    site = SITES[name]
    scan = site.look(site.places[1], mount=site.mount if mounted else None).mirrored()
    answer = iv.locate(site.atlas, scan)
    return scan, answer, iv.hints(site.atlas, scan, answer)


@BOTH
@pytest.mark.parametrize("mounted", [False, True])
def test_a_mirrored_scan_is_hinted_at(site, mounted):
    _, answer, (hint, *_) = turned_over(site.name, mounted)
    assert answer.verdict != "unique"
    assert (hint.cause, hint.factor) == ("mirror", 1.0)
    assert near(hint.pose, site.places[1])
    assert f"x {hint.pose.x:.2f} m" in hint.text


@BOTH
@pytest.mark.parametrize("factor", [0.87, 1.07])
def test_a_scan_of_the_wrong_size_is_hinted_at(site, factor):
    scan = site.look(site.places[1], mount=site.mount).scaled(factor)
    answer = iv.locate(site.atlas, scan)
    assert answer.verdict != "unique"
    hint = iv.hints(site.atlas, scan, answer)[0]
    assert hint.cause == "scale"
    assert hint.factor == pytest.approx(1.0 / factor, rel=0.02)
    assert gap(hint.pose, site.places[1])[0] < 0.3
    assert f"{hint.factor:.2f}" in hint.text


@BOTH
def test_ranges_in_mm_are_lost_and_hinted_at(site):
    scan = site.look(site.places[1]).scaled(1000.0)
    answer = iv.locate(site.atlas, scan)
    assert (answer.verdict, answer.estimates) == ("lost", ())
    (hint,) = iv.hints(site.atlas, scan, answer)
    assert (hint.cause, hint.factor) == ("scale", 0.001)
    assert near(hint.pose, site.places[1])
    assert "0.001" in hint.text


@BOTH
def test_a_prior_bounds_the_hints(site):
    truth = site.places[1]
    scan = site.look(truth).mirrored()
    for centre, causes in (([truth.x, truth.y], ["mirror"]), ([900.0, 0.0], [])):
        prior = iv.Region.circle(centre, 1.0)
        answer = iv.locate(site.atlas, scan, region=prior)
        hints = iv.hints(site.atlas, scan, answer, region=prior)
        assert [hint.cause for hint in hints] == causes


@pytest.mark.parametrize(("name", "factor"), [("plane", 0.95), ("plane", 1.05), ("space", 0.95)])
def test_a_unique_place_at_the_wrong_size_is_not_called_unique(name, factor):
    """Where that nothing fits well, or one place not well enough, is never said."""
    site = SITES[name]
    trusting = USUAL.with_values(
        {
            "decision.likelihood_power": 0.4,
            "decision.no_place_score_nats": 0.0,
            "decision.min_probability": 0.0,
            "refutation.min_agreement": 0.8,
            "refutation.min_lead_nats": 0.1,
            "refutation.softness": 0.05,
            "refutation.min_group_share": 0.0,
        }
    )
    reasons = []
    for k, truth in enumerate(site.places):
        answer = iv.locate(site.atlas, site.look(truth, seed=k).scaled(factor), settings=trusting)
        assert answer.verdict != "unique"
        reasons += answer.reasons
        if answer.reasons == (iv.Reason.SCALE_FITS_BETTER,):
            assert answer.facts["scale"] == pytest.approx(1.0 / factor, abs=0.01)
            assert set(answer.timing_ms) == {"search", "refine", "judge", "total"}
    assert iv.Reason.SCALE_FITS_BETTER in reasons


@lru_cache
def symmetric_hall(block):
    """The same after y → 8 − y, but for a block in a corner."""
    cells = np.ones((160, 240), dtype=np.uint8)
    cells[4:156, 4:100] = cells[40:120, 100:236] = 0
    cells[60:100, 150:160] = 1
    if block:
        cells[130:156, 4:30] = 1
    world = iv.OccupancyMap(cells, 0.05)
    return world, atlas_of(world)


TRUTH = iv.Pose(3.6, 2.9, 0.5)


@pytest.mark.parametrize("seed", range(4))
def test_a_building_that_is_its_own_mirror_image_is_not_doubted(seed):
    """Either way round the scan fits as well, and the place as it is is the only one."""
    world, atlas = symmetric_hall(block=False)
    scan = PLANAR.scan(world, TRUTH, np.random.default_rng(seed))
    answer = iv.locate(
        atlas,
        scan,
        settings=USUAL.with_values(
            {"decision.min_score_nats": 1.5, "alternatives.good_score_nats": 99.0}
        ),
    )
    assert answer.verdict == "unique"
    assert near(answer.best.pose, TRUTH)


def test_a_mirrored_scan_that_fits_alone_is_not_called_unique():
    world, atlas = symmetric_hall(block=True)
    scan = PLANAR.scan(world, TRUTH, np.random.default_rng(0)).mirrored()
    answer = iv.locate(atlas, scan)
    assert (answer.verdict, answer.reasons) == ("ambiguous", (iv.Reason.MIRROR_FITS_BETTER,))
    assert near(iv.hints(atlas, scan, answer)[0].pose, TRUTH)
    # A good fit is not searched again.
    trusting = USUAL.with_values(
        {"decision.min_score_nats": 1.5, "alternatives.good_score_nats": 0.0}
    )
    assert iv.locate(atlas, scan, settings=trusting).verdict == "unique"


@BOTH
def test_hints_are_in_words_and_in_json(site):
    _, answer, (hint, *more) = turned_over(site.name)
    assert f"\n  hint: {hint.text}\n" in answer_text(answer, (hint, *more))
    assert told(answer)["hints"] == []
    names = ("x", "y", "yaw", "z", "roll", "pitch")[: len(hint.pose.vector)]
    row = told(answer, (hint, *more))["hints"][0]
    assert list(row) == ["cause", "factor", *names, "text"]
    assert [row[name] for name in names] == hint.pose.vector.tolist()


def test_the_command_gives_hints(tmp_path, typed):
    scan, _, (hint, *_) = turned_over("plane")
    iv.write_atlas(PLANE.atlas, tmp_path / "atlas")
    iv.write_scan(scan, tmp_path / "scan.npz")
    code, printed, _ = typed("locate", tmp_path / "atlas", tmp_path / "scan.npz", "--json")
    row = json.loads(printed)["hints"][0]
    assert (code, row["cause"], row["text"]) == (1, "mirror", hint.text)
    assert f"hint: {hint.text}" in typed("locate", tmp_path / "atlas", tmp_path / "scan.npz")[1]
