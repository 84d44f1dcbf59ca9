"""What places are worth, how likely they are, and how far they may be off."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.sites import SITES, gap

import isovist as iv
import isovist.localization.look as look_module
from isovist import LocalizationSettings
from isovist.compute import UNSEEN
from isovist.localization.answer import radius
from isovist.localization.judge import chances_of, judge, verdict_of
from isovist.localization.refine import Fits, polish, refine, refuted, witnesses_of
from isovist.localization.search import Candidates, search, unlike

USUAL = LocalizationSettings()
BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


@BOTH
def test_contenders_are_rated_where_they_are_worth_most(site):
    scan = site.look(site.lonely, world=site.twins, seed=6)
    atlas = site.twin_atlas
    fits = refine(atlas, scan, search(atlas, scan, None, USUAL).poses, USUAL)
    fits = fits.select(unlike(fits.poses, *USUAL.same))
    reached = fits.worth(atlas, USUAL)
    off = np.zeros(fits.poses.shape[1])
    off[:3] = 0.06, -0.04, 0.02
    moved = replace(fits.fit, poses=fits.poses + off)
    fits = Fits(moved, fits.beams, *atlas.rate(fits.beams, moved.poses, USUAL.model))
    before = fits.worth(atlas, USUAL)
    best, after = polish(atlas, fits, replace(USUAL, nearby=(0.05, 0.012, 60.0)), before)
    assert (after >= before).all()
    near = before >= before.max() - 60.0
    assert 2 <= near.sum() < len(near)
    assert (best.poses == fits.poses).all()
    assert (after[~near] == before[~near]).all()
    first = np.argsort(-before)[:2]
    assert (after[first] > before[first] + 0.8 * (reached - before)[first]).all()
    assert (reached[first] > before[first] + 5.0).all()


@BOTH
def test_a_place_without_contenders_stays_as_it_was_fitted(site):
    scan = site.look(site.places[0])
    fits = refine(site.atlas, scan, search(site.atlas, scan, None, USUAL).poses, USUAL)
    fits = fits.select(unlike(fits.poses, *USUAL.same))
    totals = fits.worth(site.atlas, USUAL)
    assert (totals > totals.max() - USUAL.nearby[2]).sum() == 1
    kept, same = polish(site.atlas, fits, USUAL, totals)
    assert kept is fits
    assert (same == totals).all()


@pytest.mark.slow
@BOTH
def test_no_step_is_tried_twice_from_where_a_place_stays(site, monkeypatch):
    scan = site.look(site.lonely, world=site.twins, seed=6)
    atlas = site.twin_atlas
    fits = refine(atlas, scan, search(atlas, scan, None, USUAL).poses, USUAL)
    fits = fits.select(unlike(fits.poses, *USUAL.same))
    totals = fits.worth(atlas, USUAL)
    tried, steps = [], 2 * atlas.fitted(False)

    def rate(self, beams, poses, model):
        if model != USUAL.model:  # as if walls were gone, once
            return plainly(self, beams, poses, model)
        tried.extend(part.tobytes() for part in np.split(poses, len(poses) // steps))
        return plainly(self, beams, poses, model)

    plainly = type(atlas).rate
    monkeypatch.setattr(type(atlas), "rate", rate)
    polish(atlas, fits, replace(USUAL, nearby=(0.05, 0.012, 60.0)), totals)
    assert len(tried) > 0
    assert len(set(tried)) == len(tried)


@BOTH
def test_rivals_are_refuted_by_the_fits_as_they_are(site, monkeypatch):
    scan = site.look(site.places[0])
    fits = refine(site.atlas, scan, search(site.atlas, scan, None, USUAL).poses, USUAL)
    fits = fits.select(unlike(fits.poses, *USUAL.same))
    columns = witnesses_of(fits.forgiven(site.atlas, USUAL))
    out = refuted(columns, fits.scores, float(fits.inliers[0]), USUAL)
    assert out.any()
    # As if every place reached what the best one is worth nearby: likely, and yet refuted.
    alike = Fits(fits.fit, fits.beams, fits.ratings[[0] * len(fits)], fits.kinds[[0] * len(fits)])
    monkeypatch.setattr(
        "isovist.localization.judge.polish", lambda *_: (alike, alike.totals(USUAL))
    )
    answer = judge(site.atlas, scan, fits, USUAL)
    assert [e.refuted for e in answer.estimates] == [False, *out][: len(answer.estimates)]
    assert answer.estimates[1].probability == answer.estimates[0].probability


@pytest.mark.slow
@BOTH
def test_following_the_beams_of_every_fit_gives_the_same_answer(site):
    every = replace(USUAL, keep=((10**6, 40), (10**6, 160)))
    for k, place in enumerate(site.places):
        scan = site.look(place, seed=k)
        few, all_ = (iv.locate(site.atlas, scan, settings=s) for s in (USUAL, every))
        assert few.verdict is all_.verdict
        away, turn = gap(few.best.pose, all_.best.pose)
        # In space two doors find the place, and its fits from either differ by less than a cm.
        assert away <= (0.0 if site.name == "plane" else 0.01)
        assert turn <= (0.0 if site.name == "plane" else 0.01)


@pytest.mark.slow
@BOTH
def test_a_place_that_is_not_almost_certain_is_looked_at_again(site, monkeypatch):
    looks, real = [], look_module.seek

    def seek(*given, thorough=False):
        looks.append(thorough)
        return real(*given, thorough=thorough)

    monkeypatch.setattr(look_module, "seek", seek)
    scan = site.look(site.places[0])
    for least, expected, verdict in (
        (0.0, [False], iv.Verdict.UNIQUE),
        (1.1, [False, True], iv.Verdict.AMBIGUOUS),
    ):
        looks.clear()
        settings = replace(USUAL, lead=0.0, sure=(*USUAL.sure[:2], least))
        answer = iv.locate(site.atlas, scan, settings=settings)
        assert answer.verdict is verdict
        assert looks == expected


@pytest.mark.slow
@BOTH
def test_a_first_look_asks_for_more_agreement_than_a_last_one(site, monkeypatch):
    looks, (seek, rivals) = [], (look_module.seek, look_module.rivals)

    def sought(*given, thorough=False):
        looks.append(thorough)
        return seek(*given, thorough=thorough)

    def rivalled(*given, **options):
        looks.append(True)
        return rivals(*given, **options)

    scan = site.look(site.places[0])
    found = search(site.atlas, scan, None, USUAL)
    fits = refine(site.atlas, scan, found.poses, USUAL)
    fits = fits.select(unlike(fits.poses, *USUAL.same))
    told = witnesses_of(fits.forgiven(site.atlas, USUAL))
    delta = told[0] - told[1:]
    spoken = delta.sum(axis=1) / np.sqrt((delta**2).sum(axis=1) + 0.05) * fits.inliers[0]
    monkeypatch.setattr(look_module, "seek", sought)
    monkeypatch.setattr(look_module, "rivals", rivalled)
    for times, expected in ((1.4, [False]), (1.05, [False, True])):
        looks.clear()
        asked = (spoken.min() / times, *USUAL.refuted[1:3], 0.0)
        iv.locate(site.atlas, scan, settings=replace(USUAL, lead=0.0, refuted=asked))
        assert looks[:2] == expected


@BOTH
def test_a_closer_look_forgets_no_place_that_was_found(site, monkeypatch):
    """The search of the closer look finds nothing near the place that the first one found."""
    real = look_module.seek

    def seek(*given, thorough=False):
        found = real(*given, thorough=thorough)
        if thorough:
            away = np.hypot(*(found.poses[:, :2] - site.places[0].position[:2]).T)
            return Candidates(found.poses[away > 1.0][:50], np.zeros(50), 1.0, None, 1.0)
        return found

    scan = site.look(site.places[0])
    monkeypatch.setattr(look_module, "seek", seek)
    monkeypatch.setattr(look_module, "has_rivals", lambda *_: False)
    settings = replace(USUAL, lead=0.0, sure=(*USUAL.sure[:2], 1.1))
    answer = iv.locate(site.atlas, scan, settings=settings)
    away, turn = gap(answer.best.pose, site.places[0])
    assert away < 0.1
    assert turn < 0.05


@BOTH
def test_the_place_with_the_highest_mean_rating_is_listed(site):
    scan = site.look(site.places[0])
    fits = refine(site.atlas, scan, search(site.atlas, scan, None, USUAL).poses, USUAL)
    fits = fits.select(unlike(fits.poses, *USUAL.same)[:5])
    # The last ends all its beams in unknown space: first by their mean, last by its worth.
    levels, kinds = np.array([4.0, 3.99, 3.98, 3.97, 4.3]), np.array([0, 0, 0, 0, UNSEEN])
    ratings, kinds = (np.repeat(row[:, None], len(fits.beams), axis=1) for row in (levels, kinds))
    told = Fits(fits.fit, fits.beams, ratings.astype(np.float32), kinds.astype(np.uint8))
    assert np.argsort(-told.totals(USUAL)).tolist() == [0, 1, 2, 3, 4]
    assert told.scores.argmax() == 4
    for most, expected in ((5, [0, 1, 2, 3, 4]), (3, [0, 1, 4]), (1, [0])):
        answer = judge(site.atlas, scan, told, replace(USUAL, listed=most), nearby=False)
        assert [e.score for e in answer.estimates] == pytest.approx(told.scores[expected])
        rows = [site.atlas.lift(told.poses[[k]])[0] for k in expected]
        assert all(
            gap(e.pose, p) < (1e-6, 1e-6) for e, p in zip(answer.estimates, rows, strict=True)
        )
        chances = [e.probability for e in answer.estimates]
        assert chances == sorted(chances, reverse=True)


@BOTH
def test_a_place_is_worth_what_its_beams_are(site):
    scan = site.look(site.places[0])
    fits = refine(site.atlas, scan, search(site.atlas, scan, None, USUAL).poses, USUAL)
    kinds, ratings, beams = fits.kinds[3], fits.ratings[3], fits.beams
    slow, of = 0.0, beams.block_of.tolist()
    means = [
        np.mean([ratings[i] for i in range(len(beams)) if of[i] == block])
        for block in range(beams.blocks)
    ]
    for column in np.split(np.array(means), beams.columns[1:]):
        slow += np.mean(column) + USUAL.worth * (np.mean(kinds == 0) - np.mean(kinds == 3))
    assert fits.totals(USUAL)[3] == pytest.approx(slow, rel=1e-5)


def test_chances_are_those_of_the_equation_and_none_has_its_share():
    totals = np.array([100.0, 98.0, 60.0])
    chances = chances_of(totals, 18, USUAL)
    weights = np.exp(0.5 * (np.append(totals, 18 * 2.9) - 100.0))
    assert chances == pytest.approx(weights / weights.sum(), rel=1e-12)
    assert chances_of(np.array([0.0]), 18, USUAL)[-1] > 0.99999
    assert chances_of(np.array([1e4, -1e4]), 18, USUAL).tolist() == [1.0, 0.0, 0.0]


def test_nothing_fits_well_is_said_apart_from_several_fit():
    best = iv.Estimate(iv.Pose(), 1e-4 * np.eye(3), 0.3, 0.56, 2.1)
    assert verdict_of(18, 3, best, 0.6, USUAL) == (
        iv.Verdict.AMBIGUOUS,
        "Nothing fits well: at best 56% of the beams end at a wall. Check that the map is of this "
        "place and up to date, or move and look again.",
    )
    assert verdict_of(18, 0, best, 0.4, USUAL) == (
        iv.Verdict.AMBIGUOUS,
        "One place explains the scan best, with a probability of 0.30; something that moved since "
        "the map was made could be why. Move and look again.",
    )
    sure = replace(best, probability=USUAL.sure[2])
    assert verdict_of(18, 0, sure, 0.0, USUAL)[0] is iv.Verdict.UNIQUE
    assert "3 other places" in verdict_of(18, 3, best, 0.4, USUAL)[1]


def test_ellipses_follow_the_covariance_and_their_law():
    turn = 0.4
    axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    covariance = np.eye(3)
    covariance[:2, :2] = axes @ np.diag([0.09, 0.01]) @ axes.T
    estimate = iv.Estimate(iv.Pose(), covariance, 1.0, 1.0, 4.0)
    longer, shorter, angle = estimate.ellipse(0.68)
    assert (longer, shorter) == pytest.approx((0.3 * radius(0.68), 0.1 * radius(0.68)))
    assert angle % np.pi == pytest.approx(turn)
    # Student's law with ν = 2.5 in the plane, drawn by hand: a share of 0.41 of the covariance.
    rng = np.random.default_rng(1)
    drawn = rng.normal(size=(200_000, 2)) * np.sqrt(2.5 / rng.chisquare(2.5, 200_000))[:, None]
    away = np.sqrt(0.41) * np.hypot(*drawn.T)
    for level in (0.5, 0.68, 0.95):
        assert (away <= radius(level)).mean() == pytest.approx(level, abs=0.004)


@pytest.mark.parametrize("wrong", [0.0, 1.0, 95.0, np.nan])
def test_a_level_is_a_share(wrong):
    with pytest.raises(iv.InputError) as caught:
        radius(wrong)
    assert str(caught.value) == f"`level` must be a share between 0 and 1, got {wrong:g}."
