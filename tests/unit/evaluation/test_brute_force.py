"""Brute force: every place that may count is rated, by the judge's own formula and nothing else."""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from benchmarks.complete import free_poses, random_site
from tests.support.reference_space import atlas_of

import isovist as iv
from isovist import Answer, Estimate, InputError, LocalizationSettings, OccupancyMap, Verdict
from isovist.evaluation import (
    REASONS,
    SIZES,
    Rating,
    Worth,
    boxes,
    by_brute_force,
    rate_everywhere,
    withheld,
)
from isovist.localization.ceilings import Ceilings
from isovist.localization.judge import chances_of, is_same, verdict_of
from isovist.localization.look import CROWDED, DIVIDED
from isovist.localization.refine import Fits, polish, refit
from isovist.localization.search import unlike
from isovist.localization.twists import MIRRORED, SCALED
from isovist.maps import Cell
from isovist.poses import wrap_angle

USUAL = LocalizationSettings()
LIDAR = iv.Lidar(beams=72, range_max=10.0, noise=0.02)


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


def sites(count):
    random = np.random.default_rng(2)
    for _ in range(count):
        atlas, scan, truth = random_site(random)
        beams = atlas.beams(scan, USUAL.beams[1], USUAL.block)
        near = truth + random.normal(0.0, [0.05, 0.05, 0.03], (40, 3))
        yield atlas, scan, beams, np.concatenate([truth[None], near, free_poses(random, atlas, 60)])


@pytest.mark.slow
def test_what_a_scan_is_worth_is_a_weighted_sum_over_its_beams():
    for atlas, _, beams, poses in sites(4):
        fit = refit(atlas, beams, poses, USUAL, tilt=False).fit
        fits = Fits(fit, beams, *atlas.rate(beams, poses, USUAL.model))
        worth = Worth.of_judge(beams, USUAL)
        extra = worth.explained * (fits.inliers - fits.unseen)
        assert fits.ratings @ worth.weights + extra == pytest.approx(fits.totals(USUAL), abs=1e-4)
        assert worth.weights.sum() == pytest.approx(len(beams.columns))


@pytest.mark.slow
@pytest.mark.parametrize("judged", [True, False], ids=["worth", "mean rating"])
def test_every_pose_that_is_worth_the_floor_lies_in_a_box(judged):
    tried = kept = there = 0
    sizes = replace(SIZES, finest=0.1)
    for atlas, _, beams, every in sites(8):
        place = np.floor(atlas.to_cells(every)[:, :2]).astype(int)
        free = Ceilings.of(atlas).free
        inside = ((place >= 0) & (place < free.shape[::-1])).all(axis=1)
        inside[inside] = free[place[inside, 1], place[inside, 0]]
        poses = every[inside]
        fit = refit(atlas, beams, poses, USUAL, tilt=False).fit
        fits = Fits(fit, beams, *atlas.rate(beams, poses, USUAL.model))
        worth = Worth.of_judge(beams, USUAL) if judged else Worth.of_ratings(beams)
        values = fits.totals(USUAL) if judged else len(beams) * fits.scores
        floor = float(np.sort(values)[-4])
        found = boxes(atlas, beams, worth, floor, USUAL, sizes)
        if found is None or len(found) == 0:
            assert found is None  # too many, and never none
            continue
        half, turn = found[0, 3:5]
        kept, there = kept + len(found), there + free.sum() / (2.0 * half) ** 2 * math.pi / turn
        good = values >= floor
        for pose, value in zip(atlas.to_cells(poses[good]), values[good], strict=True):
            near = np.abs(found[:, :2] - pose[:2]).max(axis=1) <= half + 1e-9
            near &= np.abs(wrap_angle(found[:, 2] - pose[2])) <= turn + 1e-9
            assert found[near, 5].max() >= value - 1e-3
            tried += 1
    assert tried >= 20
    assert kept < 0.5 * there


@lru_cache
def rated(kind):
    """The atlas of a room, a place in it, a scan from there, and its rating."""
    atlas, truth = atlas_of(room(kind)), iv.Pose(1.9, 2.2, 0.7)
    scan = LIDAR.scan(atlas.world, truth, np.random.default_rng(1))
    return atlas, truth, scan, rate_everywhere(atlas, scan)


def plainly(atlas, scan):
    """Every other free cell, 0.2 m, and every 3°: rated, the best fitted, and judged."""
    beams = atlas.beams(scan, USUAL.beams[1], USUAL.block)
    rows, columns = np.nonzero(Ceilings.of(atlas).free[::2, ::2])
    middles = 2.0 * np.column_stack([columns, rows]) + 0.5
    yaws = np.radians(np.arange(0.0, 360.0, 3.0))
    grid = np.column_stack([np.repeat(middles, len(yaws), axis=0), np.tile(yaws, len(middles))])
    poses = atlas.from_cells(grid)
    ratings = np.mean(atlas.rate(beams, poses, USUAL.model)[0], axis=1)
    best = np.argsort(-ratings, kind="stable")[:2000]
    fits = refit(atlas, beams, poses[best], USUAL, tilt=False)
    fits = fits.select(unlike(fits.poses, *USUAL.same))
    worth = fits.worth(atlas, USUAL)
    _, totals = polish(atlas, fits, USUAL, worth)
    order = np.argsort(-totals, kind="stable")
    chance = chances_of(totals[order], len(beams.columns), USUAL)[0]
    scores = fits.scores[order]
    unique = chance >= USUAL.sure[2] and scores[0] - scores[1:].max() >= USUAL.refuted[1]
    return unique, atlas.lift(fits.poses[order[:1]])[0], chance


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "unique"), [("lopsided", True), ("alike after half a turn", False)]
)
def test_the_rating_is_that_of_place_after_place_and_heading_after_heading(kind, unique):
    atlas, truth, scan, told = rated(kind)
    plain = plainly(atlas, scan)
    assert (told.unique, plain[0]) == (unique, unique)
    assert told.probability == pytest.approx(plain[2], abs=0.05)
    assert (told.ahead >= USUAL.refuted[1]) is unique
    if unique:
        assert is_same(told.pose, truth, USUAL)
        assert is_same(told.pose, plain[1], USUAL)
        assert told.judged is Verdict.UNIQUE
    else:
        assert told.probability < 0.9
        assert told.places > 1


@pytest.mark.slow
def test_poses_that_are_known_change_nothing():
    atlas, truth, scan, plain = rated("lopsided")
    for known in ([[3.0, 1.5, 1.0]], [truth.vector]):
        told = rate_everywhere(atlas, scan, np.array(known))
        assert told.unique is plain.unique is True
        assert is_same(told.pose, plain.pose, USUAL)
        assert told.probability == pytest.approx(plain.probability, abs=1e-3)


@pytest.mark.slow
def test_it_asks_what_a_unique_answer_asks_of_ratings():
    atlas, _, scan, told = rated("lopsided")
    beta, none, _ = USUAL.sure
    assert told.unique
    alike, _, twice, _ = rated("alike after half a turn")
    careless = replace(USUAL, refuted=(1.2, 0.0, 0.05, 0.12))  # the probability alone counts
    assert rate_everywhere(alike, twice, settings=careless).unique is False
    strict = replace(USUAL, sure=(beta, none, 1.0 - 1e-12))
    assert rate_everywhere(atlas, scan, settings=strict).unique is False
    wide = replace(USUAL, refuted=(0.0, 3.0, 0.05, 0.0))
    assert rate_everywhere(atlas, scan, settings=wide).unique is False
    agreeing = replace(USUAL, refuted=(99.0, *USUAL.refuted[1:]), witnesses=99)
    told = rate_everywhere(atlas, scan, settings=agreeing)
    assert (told.unique, told.judged) == (True, Verdict.AMBIGUOUS)  # a caution, and no rating


def test_a_scan_that_fits_nowhere_is_not_unique():
    atlas = atlas_of(room("lopsided"))
    bearings = np.linspace(-3.0, 3.0, 90)
    assert rate_everywhere(atlas, iv.Scan(bearings, np.full(90, 400.0))).unique is False
    random = np.random.default_rng(0).uniform(0.2, 5.0, 90)
    assert rate_everywhere(atlas, iv.Scan(bearings, random)).unique is False


@pytest.mark.slow
def test_a_row_says_whether_brute_force_is_right_and_what_keeps_the_answer_from_being_unique():
    atlas, truth = atlas_of(room("lopsided")), iv.Pose(1.9, 2.2, 0.7)
    scan = LIDAR.scan(atlas.world, truth, np.random.default_rng(1))
    answer = iv.locate(atlas, scan)
    row = by_brute_force(atlas, scan, answer, truth)
    assert (row["unique"], row["right"], row["judged"]) == (True, True, "unique")
    assert row["withheld"] == withheld(answer)
    crowded = replace(answer, verdict=Verdict.AMBIGUOUS, advice=CROWDED)
    row = by_brute_force(atlas, scan, crowded, iv.Pose(3.9, 2.2, 0.7))
    assert (row["unique"], row["right"], row["withheld"]) == (True, False, "lead")


def test_a_search_that_is_given_up_says_neither(monkeypatch):
    from isovist.bench import brute

    monkeypatch.setattr(brute, "boxes", lambda *_: None)
    atlas = atlas_of(room("lopsided"))
    scan = LIDAR.scan(atlas.world, iv.Pose(1.9, 2.2, 0.7), np.random.default_rng(1))
    told = rate_everywhere(atlas, scan)
    assert (told.unique, told.pose, told.places) == (None, None, 0)
    assert Rating(None).judged is Verdict.LOST


def test_ranges_alone_are_rated():
    atlas = atlas_of(room("lopsided"))
    scan = iv.Scan(np.linspace(-3.0, 3.0, 9), np.full(9, 2.0), sigmas=np.full(9, 0.1))
    with pytest.raises(InputError) as error:
        rate_everywhere(atlas, scan)
    assert str(error.value) == (
        "Brute force knows ranges alone; leave out `sigmas` and `intensities`."
    )


def best_of(spread=(1e-4, 1e-4, 1e-5), score=4.5, p=0.99, refuted=False):
    return Estimate(iv.Pose(), np.diag(spread), p, 0.9, score, refuted)


def test_every_advice_says_which_condition_is_not_met():
    def advised(witnesses=9, rivals=0, none=0.0, **best):
        return verdict_of(witnesses, rivals, best_of(**best), none, USUAL)

    said = {
        "": advised(),
        "lost": advised(score=0.3),
        "none fits well": advised(none=0.6),
        "slides": advised(spread=(4.0, 1e-4, 1e-5)),
        "turns": advised(spread=(1e-4, 1e-4, 1.0)),
        "few witnesses": advised(witnesses=2),
        "rivals": advised(rivals=1),
        "probability": advised(p=0.5),
        "lead": (Verdict.AMBIGUOUS, CROWDED),
        "closer look": (Verdict.AMBIGUOUS, DIVIDED),
        "mirrored": (Verdict.AMBIGUOUS, MIRRORED),
        "other size": (Verdict.AMBIGUOUS, SCALED.format(5, "larger")),
    }
    assert {name: withheld(Answer(*told, (best_of(),))) for name, told in said.items()} == {
        name: name for name in said
    }
    assert set(said) == {"", *REASONS.values()}
    assert withheld(Answer(Verdict.LOST, "Whatever is said.", ())) == "lost"
    assert withheld(Answer(Verdict.AMBIGUOUS, "A song.", (best_of(),))) == "other"


def test_rivals_that_are_far_behind_count_by_the_agreement_of_witnesses_alone():
    near, far, out = best_of(score=4.3), best_of(score=4.0), best_of(score=4.4, refuted=True)
    advice = verdict_of(9, 1, best_of(), 0.0, USUAL)
    assert withheld(Answer(*advice, (best_of(), out, far))) == "agreement"
    assert withheld(Answer(*advice, (best_of(), far, near))) == "rivals"
    assert withheld(Answer(*advice, (best_of(), out))) == "rivals"  # those that are not listed
