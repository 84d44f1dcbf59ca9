"""Brute force: every place that may count is rated, by the judge's own formula and nothing else."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from benchmarks.complete import free_poses, random_site
from benchmarks.exhaustive.calibrate import by_brute_force
from benchmarks.exhaustive.search import SIZES, Worth, boxes
from benchmarks.exhaustive.verdict import rate_everywhere, withheld
from tests.support.errors import refused
from tests.support.reference_space import atlas_of

import isovist as iv
from isovist import Answer, Cell, Estimate, LocalizationSettings, OccupancyMap, Reason, Verdict
from isovist.localization import (
    Fits,
    UpperBoundMap,
    adjusted_log_likelihoods,
    climb_likelihood,
    distinct_indices,
    is_same_place,
    log_likelihoods,
    probabilities,
    refit,
)

pytestmark = pytest.mark.slow

USUAL = LocalizationSettings()
LIDAR = iv.Lidar(beams=72, range_max=10.0, noise=0.02)
TRUTH = iv.Pose(1.9, 2.2, 0.7)


def room(kind):
    """Free cells of 0.1 m between walls: with nooks on one side, or the same after half a turn."""
    cells = np.full((36, 52), Cell.OCCUPIED, dtype=np.uint8)
    cells[1:-1, 1:-1] = Cell.FREE
    cells[8:14, 10:13] = cells[24:26, 30:41] = Cell.OCCUPIED
    if kind == "lopsided":
        cells[1:5, 38:50] = Cell.OCCUPIED
    else:
        cells[(cells == Cell.OCCUPIED)[::-1, ::-1]] = Cell.OCCUPIED
    return OccupancyMap(cells, 0.1)


def test_what_a_scan_is_worth_is_a_weighted_sum_over_its_beams():
    random = np.random.default_rng(2)
    for _ in range(4):
        atlas, scan, truth = random_site(random)
        beams = atlas.beams(scan, USUAL.fit.fine_beams, USUAL.scoring.group)
        near = truth + random.normal(0.0, [0.05, 0.05, 0.03], (40, 3))
        poses = np.concatenate([truth[None], near, free_poses(random, atlas, 60)])
        fit = refit(atlas, beams, poses, USUAL, tilt=False).fit
        fits = Fits(fit, beams, *atlas.rate(beams, poses, USUAL.model))
        worth = Worth.of_judge(beams, USUAL)
        extra = worth.explained * (fits.inliers - fits.summaries[:, 2])
        assert fits.ratings @ worth.weights + extra == pytest.approx(
            log_likelihoods(fits.summaries, USUAL), abs=1e-4
        )
        assert worth.weights.sum() == pytest.approx(len(beams.columns))
        assert boxes(atlas, beams, worth, -1e6, USUAL, replace(SIZES, max_boxes=1)) is None


@lru_cache
def rated(kind):
    """The atlas of a room, a scan of it, and its rating."""
    atlas = atlas_of(room(kind))
    scan = LIDAR.scan(atlas.world, TRUTH, np.random.default_rng(1))
    return atlas, scan, rate_everywhere(atlas, scan)


def plainly(atlas, scan):
    """Every other free cell, 0.2 m, and every 3°: rated, the best fitted, and judged."""
    beams = atlas.beams(scan, USUAL.fit.fine_beams, USUAL.scoring.group)
    rows, columns = np.nonzero(UpperBoundMap.of(atlas).free[::2, ::2])
    middles = 2.0 * np.column_stack([columns, rows]) + 0.5
    yaws = np.radians(np.arange(0.0, 360.0, 3.0))
    grid = np.column_stack([np.repeat(middles, len(yaws), axis=0), np.tile(yaws, len(middles))])
    poses = atlas.from_cells(grid)
    ratings = np.mean(atlas.rate(beams, poses, USUAL.model)[0], axis=1)
    fits = refit(atlas, beams, poses[np.argsort(-ratings, kind="stable")[:2000]], USUAL, tilt=False)
    fits = fits.select(distinct_indices(fits.poses, *USUAL.decision.same_place))
    _, totals = climb_likelihood(atlas, fits, USUAL, adjusted_log_likelihoods(atlas, fits, USUAL))
    order = np.argsort(-totals, kind="stable")
    chance, scores = probabilities(totals[order], len(beams.columns), USUAL)[0], fits.scores[order]
    unique = (
        chance >= USUAL.decision.min_probability
        and scores[0] - scores[1:].max() >= USUAL.refutation.min_lead_nats
    )
    return unique, atlas.lift(fits.poses[order[:1]])[0], chance


@pytest.mark.parametrize(("kind", "unique"), [("lopsided", True), ("alike", False)])
def test_the_rating_is_that_of_place_after_place_and_heading_after_heading(kind, unique):
    atlas, scan, told = rated(kind)
    plain = plainly(atlas, scan)
    assert (told.unique, plain[0]) == (unique, unique)
    assert told.probability == pytest.approx(plain[2], abs=0.05)
    assert (told.ahead >= USUAL.refutation.min_lead_nats) is unique
    assert (iv.locate(atlas, scan).verdict is Verdict.UNIQUE) == unique
    if unique:
        assert is_same_place(told.pose, TRUTH, USUAL)
        assert is_same_place(told.pose, plain[1], USUAL)
        assert told.judged is Verdict.UNIQUE
    else:
        assert told.probability < 0.9
        assert told.places > 1


@pytest.mark.parametrize("known", [[3.0, 1.5, 1.0], TRUTH.vector])
def test_poses_that_are_known_change_nothing(known):
    atlas, scan, plain = rated("lopsided")
    told = rate_everywhere(atlas, scan, np.array([known]))
    assert told.unique is plain.unique is True
    assert is_same_place(told.pose, plain.pose, USUAL)
    assert told.probability == pytest.approx(plain.probability, abs=1e-3)


def test_it_asks_what_a_unique_answer_asks_of_ratings():
    # The probability alone counts.
    careless = USUAL.with_values({"refutation.min_lead_nats": 0.0})
    assert rate_everywhere(*rated("alike")[:2], settings=careless).unique is False
    strict = (
        {"decision.min_probability": 1.0 - 1e-12},
        {
            "refutation.min_agreement": 0.0,
            "refutation.min_lead_nats": 3.0,
            "refutation.min_group_share": 0.0,
        },
    )
    for changed in strict:
        told = rate_everywhere(*rated("lopsided")[:2], settings=USUAL.with_values(changed))
        assert told.unique is False
    agreeing = USUAL.with_values({"refutation.min_agreement": 99.0, "decision.min_groups": 99})
    told = rate_everywhere(*rated("lopsided")[:2], settings=agreeing)
    assert (told.unique, told.judged) == (True, Verdict.AMBIGUOUS)  # a caution, and no rating


def test_a_scan_that_fits_nowhere_is_not_unique_and_ranges_alone_are_rated():
    atlas, bearings = rated("lopsided")[0], np.linspace(-3.0, 3.0, 90)
    random = np.random.default_rng(0).uniform(0.2, 5.0, 90)
    for ranges in (np.full(90, 400.0), random):
        assert rate_everywhere(atlas, iv.Scan(bearings, ranges)).unique is False
    with refused(code="conflict"):
        rate_everywhere(atlas, iv.Scan(bearings, random, sigmas=np.full(90, 0.1)))


def test_a_search_that_is_given_up_says_neither():
    cells = np.zeros((400, 400), dtype=np.uint8)
    cells[::20] = cells[:, [0, -1]] = Cell.OCCUPIED  # corridors that are all alike
    atlas = iv.build(OccupancyMap(cells, 0.1), spacing=5.0)
    scan = LIDAR.scan(atlas.world, iv.Pose(20.0, 20.6, 0.3), np.random.default_rng(1))
    told = rate_everywhere(atlas, scan)
    assert (told.unique, told.pose, told.places, told.judged) == (None, None, 0, Verdict.LOST)


def test_a_row_says_whether_brute_force_is_right_and_what_keeps_the_answer_from_being_unique():
    atlas, scan, _ = rated("lopsided")
    answer = iv.locate(atlas, scan)
    unsure = replace(answer, verdict=Verdict.AMBIGUOUS, reasons=(Reason.SEARCH_INCOMPLETE,))
    for said, truth, wanted in (
        (answer, TRUTH, (True, True, "unique", "")),
        (unsure, iv.Pose(3.9, 2.2, 0.7), (True, False, "unique", "search_incomplete")),
    ):
        row = by_brute_force(atlas, scan, said, truth)
        assert (row["unique"], row["right"], row["judged"], row["withheld"]) == wanted


def test_what_withholds_a_unique_answer_is_its_first_reason_or_the_agreement_of_witnesses():
    def why(*others, verdict=Verdict.AMBIGUOUS, reasons=(Reason.COMPETITORS, Reason.FEW_GROUPS)):
        best = Estimate(iv.Pose(), np.eye(3), 0.9, 0.9, 4.5)
        rest = (replace(best, score=score, refuted=out) for score, out in others)
        return withheld(Answer(verdict, reasons, (best, *rest)))

    assert why(verdict=Verdict.UNIQUE, reasons=(Reason.ONLY_PLACE,)) == ""
    assert why(reasons=(Reason.LOW_PROBABILITY,)) == "low_probability"
    assert why(verdict=Verdict.LOST, reasons=(Reason.POOR_FIT,)) == "poor_fit"
    assert withheld(Answer(Verdict.LOST, (Reason.POOR_FIT,), ())) == "lost"
    # Rivals that are far behind count by the agreement of witnesses alone.
    near, far, out = (4.3, False), (4.0, False), (4.4, True)
    assert why(out, far) == "agreement"
    assert why(far, near) == "competitors"
    assert why(out) == "competitors"  # those that are not listed
    assert why(far, reasons=(Reason.LEAD_TOO_NEW,)) == "lead_too_new"
