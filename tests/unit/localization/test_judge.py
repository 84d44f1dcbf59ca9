"""What places are worth, how likely they are, and the rules that make a verdict of it."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.complete import random_site
from tests.support.errors import refused
from tests.support.fits import USUAL, beams, candidates, fits_at, fits_of
from tests.support.reports import near
from tests.support.sites import SITES

import isovist as iv
from isovist.atlas import Fit
from isovist.compute import EXPLAINED, IN_UNKNOWN, rating_bound
from isovist.localization import (
    RULES,
    CandidateFitter,
    Evidence,
    Fits,
    adjusted_log_likelihoods,
    allow_for_removed_walls,
    apply_rules,
    climb_likelihood,
    decide,
    ellipse_radius,
    group_ratings,
    is_refuted,
    log_likelihoods,
    preview,
    probabilities,
)

BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)
GOOD = {
    "groups": 18, "competitors": 0, "maps": (), "inliers": 0.9, "probability": 0.98,
    "position_std": 0.5, "heading_std": 0.75 * USUAL.decision.same_place_rad,
}  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "score", "none", "verdict", "reasons"),
    [
        ({}, 4.0, 0.0, "unique", "only_place"),
        ({}, 1.5, 0.5, "unique", "only_place"),
        ({}, 1.49, 0.0, "lost", "poor_fit"),
        ({"competitors": 2}, 1.49, 0.9, "lost", "poor_fit"),
        ({}, 4.0, 0.51, "ambiguous", "nothing_fits_well"),
        ({"position_std": 0.51}, 4.0, 0.0, "ambiguous", "position_slides"),
        ({"heading_std": np.radians(8.0)}, 4.0, 0.0, "ambiguous", "heading_uncertain"),
        ({"groups": 4}, 4.0, 0.0, "unique", "only_place"),
        ({"groups": 3}, 4.0, 0.0, "ambiguous", "few_groups"),
        ({"competitors": 1}, 4.0, 0.0, "ambiguous", "competitors"),
        ({"maps": ("a",)}, 4.0, 0.0, "unique", "only_place"),
        ({"maps": ("a", "b")}, 4.0, 0.0, "ambiguous", "several_maps"),
        ({"probability": 0.979}, 4.0, 0.0, "ambiguous", "low_probability"),
        (
            {"competitors": 3, "maps": ("a", "b"), "probability": 0.3, "groups": 3}, 4.0, 0.6,
            "ambiguous", "nothing_fits_well few_groups competitors several_maps low_probability",
        ),
    ],
)  # fmt: skip
def test_the_first_rule_that_applies_decides(facts, score, none, verdict, reasons):
    told = apply_rules(RULES, Evidence(GOOD | facts, score, none, USUAL))
    assert told == (verdict, tuple(reasons.split()))


@BOTH
def test_an_answer_has_the_facts_of_its_places(site):
    answer = site.asked_alike()[1]
    assert apply_rules(RULES, Evidence(answer.facts, answer.best.score, answer.none, USUAL)) == (
        answer.verdict, answer.reasons,
    )  # fmt: skip
    best, facts = answer.best, answer.facts
    assert facts["competitors"] == len(answer.rivals) == 1
    assert (facts["inliers"], facts["probability"]) == (best.inliers, best.probability)
    slack = 1e-9 if site.name == "plane" else 0.5  # in space there is a last fit after it
    assert facts["heading_std"] == pytest.approx(np.sqrt(best.covariance[2, 2]), rel=slack)
    longest = np.sqrt(np.linalg.eigvalsh(best.covariance[:2, :2])[-1])
    assert facts["position_std"] == pytest.approx(longest, rel=slack)
    assert facts["groups"] > 8


def shifted(atlas, fits, which, step):
    """Fits of which some are moved by a step along x and y and about z."""
    poses = fits.poses.copy()
    poses[which, :3] += step
    ratings = atlas.rate(fits.beams, poses, USUAL.model)
    return Fits(replace(fits.fit, poses=poses), fits.beams, *ratings)


@BOTH
def test_contenders_are_rated_where_they_are_worth_most(site):
    atlas = site.twin_atlas
    fits = fits_of(atlas, site.look(site.lonely, world=site.twins, seed=6))
    reached = adjusted_log_likelihoods(atlas, fits, USUAL)
    fits = shifted(atlas, fits, slice(None), (0.06, -0.04, 0.02))
    before = adjusted_log_likelihoods(atlas, fits, USUAL)
    best, after = climb_likelihood(
        atlas,
        fits,
        USUAL.with_values(
            {
                "scoring.climb_step_m": 0.05,
                "scoring.climb_step_rad": 0.012,
                "scoring.climb_range_nats": 60.0,
            }
        ),
        before,
    )
    assert (after >= before).all()
    near = before >= before.max() - 60.0
    assert 2 <= near.sum() < len(near)
    assert (best.poses == fits.poses).all()
    assert (after[~near] == before[~near]).all()
    first = np.argsort(-before)[:2]
    assert (after[first] > before[first] + 0.8 * (reached - before)[first]).all()
    assert (reached[first] > before[first] + 5.0).all()


@BOTH
def test_rivals_are_refuted_by_the_fits_as_they_are(site):
    """What a rival gains nearby makes it likelier, and does not make it one that is left."""
    scan, atlas = site.look(site.lonely, world=site.twins, seed=6), site.twin_atlas
    fits = fits_at(atlas, scan, (site.lonely, site.twin))
    assert not decide(atlas, scan, fits, USUAL).estimates[1].refuted
    fits = shifted(atlas, fits, 1, (0.1, -0.08, 0.03))
    wide = USUAL.with_values(
        {
            "scoring.climb_step_m": 0.05,
            "scoring.climb_step_rad": 0.012,
            "scoring.climb_range_nats": 1e3,
        }
    )
    stays, gains = (decide(atlas, scan, fits, wide, nearby=nearby) for nearby in (False, True))
    assert stays.estimates[1].refuted
    assert gains.estimates[1].refuted
    assert gains.estimates[1].probability > stays.estimates[1].probability


@BOTH
def test_a_search_that_left_much_out_asks_for_more_agreement(site):
    scan = site.look(site.places[0])
    fits = fits_of(site.atlas, scan)
    told = group_ratings(allow_for_removed_walls(site.atlas, fits, USUAL))
    delta = told[0] - told[1:]
    spoken = (delta.sum(axis=1) / np.sqrt((delta**2).sum(axis=1) + 0.05) * fits.inliers[0]).min()
    verdicts = []
    for times in (1.4, 1.05, 0.95):
        asked = USUAL.with_values(
            {
                "decision.min_cost_ratio": 1.0,
                "search.stop_cost_ratio": 1e9,
                "refutation.min_agreement": spoken / times,
                "refutation.min_group_share": 0.0,
            }
        )
        at_last = decide(site.atlas, scan, fits, asked, nearby=False)
        verdicts.append((preview(site.atlas, scan, settings=asked).verdict, at_last.verdict))
    assert verdicts == [("unique",) * 2, ("ambiguous", "unique"), ("ambiguous",) * 2]


@BOTH
def test_the_place_with_the_highest_mean_rating_is_listed(site):
    scan = site.look(site.places[0])
    fits = fits_of(site.atlas, scan)
    fits = fits.select(np.arange(5))
    # The last ends all its beams in unknown space: first by their mean, last by its worth.
    levels, kinds = np.array([4.0, 3.99, 3.98, 3.97, 4.3]), np.array([0, 0, 0, 0, IN_UNKNOWN])
    ratings, kinds = (np.repeat(row[:, None], len(fits.beams), axis=1) for row in (levels, kinds))
    told = Fits(fits.fit, fits.beams, ratings.astype(np.float32), kinds.astype(np.uint8))
    assert np.argsort(-log_likelihoods(told.summaries, USUAL)).tolist() == [0, 1, 2, 3, 4]
    assert told.scores.argmax() == 4
    for most, expected in ((5, [0, 1, 2, 3, 4]), (3, [0, 1, 4]), (1, [0])):
        answer = decide(
            site.atlas,
            scan,
            told,
            USUAL.with_values({"decision.max_estimates": most}),
            nearby=False,
        )
        assert [e.score for e in answer.estimates] == pytest.approx(told.scores[expected])
        rows = [site.atlas.lift(told.poses[[k]])[0] for k in expected]
        assert all(near(e.pose, p, 1e-6, 1e-4) for e, p in zip(answer.estimates, rows, strict=True))
        chances = [e.probability for e in answer.estimates]
        assert chances == sorted(chances, reverse=True)


def test_a_rival_must_be_worse_in_more_than_one_block():
    blocks = np.array([[4.0] * 8, [4.0] * 7 + [-4.0], [3.0] * 8])
    scores = blocks.mean(axis=1)
    np.testing.assert_array_equal(is_refuted(blocks, scores, 1.0, USUAL), [False, True])
    np.testing.assert_array_equal(is_refuted(blocks, scores, 0.3, USUAL), [False, False])


def test_chances_are_those_of_the_equation_and_none_has_its_share():
    totals = np.array([100.0, 98.0, 60.0])
    chances = probabilities(totals, 18, USUAL)
    weights = np.exp(0.5 * (np.append(totals, 18 * 2.9) - 100.0))
    assert chances == pytest.approx(weights / weights.sum(), rel=1e-12)
    assert probabilities(np.array([0.0]), 18, USUAL)[-1] > 0.99999
    assert probabilities(np.array([1e4, -1e4]), 18, USUAL).tolist() == [1.0, 0.0, 0.0]


@BOTH
def test_a_place_is_worth_what_its_beams_are(site):
    many, random = beams(site.atlas, site.look(site.places[0])), np.random.default_rng(1)
    ratings = random.normal(size=(70, len(many))).astype(np.float32)
    kinds = random.integers(0, 5, ratings.shape).astype(np.uint8)
    none = np.empty((70, 0, 0)), np.empty(70), np.empty(70)
    poses = np.repeat(site.places[0].vector[None], 70, axis=0)
    fits, settings = (
        Fits(Fit(poses, *none), many, ratings, kinds),
        USUAL.with_values({"scoring.explained_weight": 1.7}),
    )
    for told in (fits, fits.select(random.permutation(70)[:40])):
        inliers, unseen = ((told.kinds == kind).mean(axis=1) for kind in (EXPLAINED, IN_UNKNOWN))
        witnesses = many.by_column(many.by_block(told.ratings))
        totals = (witnesses + 1.7 * (inliers - unseen)[:, None]).sum(axis=1)
        assert (told.inliers.tolist(), told.summaries[:, 2].tolist()) == (
            inliers.tolist(),
            unseen.tolist(),
        )
        np.testing.assert_allclose(told.scores, told.ratings.mean(axis=1, dtype=float), rtol=1e-12)
        np.testing.assert_allclose(group_ratings(told.summaries), witnesses, rtol=1e-12, atol=1e-12)
        likelihoods = log_likelihoods(told.summaries, settings)
        np.testing.assert_allclose(likelihoods, totals, rtol=1e-9, atol=1e-9)
    assert log_likelihoods(np.empty((0, 10)), USUAL).shape == (0,)


@BOTH
def test_witnesses_are_means_of_the_blocks_that_see_one_thing(site):
    few = beams(site.atlas, site.look(site.places[0]), USUAL.fit.coarse_beams)
    ratings = np.random.default_rng(0).normal(size=(3, len(few))).astype(np.float32)
    number, blocks = few.block_of, few.by_block(ratings)
    assert set(number) == set(range(few.blocks))
    for k in range(few.blocks):
        mean = ratings[:, number == k].mean(axis=1, dtype=np.float64)
        np.testing.assert_allclose(blocks[:, k], mean, rtol=1e-12)
    bearing = np.arctan2(few.ends[:, 1], few.ends[:, 0])
    columns = np.split(np.arange(few.blocks), few.columns[1:])
    width, length = USUAL.scoring.group
    for column, mean in zip(columns, few.by_column(blocks).T, strict=True):
        np.testing.assert_allclose(mean, blocks[:, column].mean(axis=1), rtol=1e-12)
        if site.name == "space":
            inside = np.sort(bearing[np.isin(number, column)])
            assert inside[-1] - inside[0] <= width + 1e-9
            continue
        begun = [few.ends[few.order[few.starts[k]]] for k in column]
        assert all(np.linalg.norm(begun[0] - later) < length for later in begun[1:])
        if column[-1] + 1 < few.blocks:
            after = few.ends[few.order[few.starts[column[-1] + 1]]]
            assert np.linalg.norm(begun[0] - after) >= length
    assert 1 < len(columns) < few.blocks


@BOTH
def test_beams_of_other_sizes_are_fitted_as_one_by_one(site):
    atlas, scan = site.atlas, site.look(site.places[0])
    many, start, n = beams(atlas, scan), site.places[0].vector[None], atlas.fitted(False)
    widths, factors = USUAL.all_widths(atlas), (0.9, 1.0, 1.05)
    coarse, fine = USUAL.coarse_widths(atlas), USUAL.fine_widths(atlas)
    np.testing.assert_array_equal(widths, np.append(coarse, fine))
    scores, poses = atlas.fit_scaled(many, start, widths, n, USUAL.model, factors)
    for factor, score, pose in zip(factors, scores, poses, strict=True):
        scaled = many.scaled(factor)
        fit = atlas.fit(scaled, start, widths, n)
        ratings, _ = atlas.rate(scaled, fit.poses, USUAL.model)
        assert score == pytest.approx(ratings.mean(dtype=float), abs=1e-5)
        np.testing.assert_allclose(pose, fit.poses[0], atol=1e-6)
    assert scores.argmax() == 1


@BOTH
def test_no_more_fits_are_kept_than_asked_for(site):
    scan = site.look(site.places[0])
    assert (
        len(
            CandidateFitter(site.atlas, scan, USUAL).fit_best(candidates(site.atlas, scan).poses, 5)
        )
        <= 5
    )


def test_ellipses_follow_the_covariance_and_their_law():
    turn = 0.4
    axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    covariance = np.eye(3)
    covariance[:2, :2] = axes @ np.diag([0.09, 0.01]) @ axes.T
    estimate = iv.Estimate(iv.Pose(), covariance, 1.0, 1.0, 4.0)
    longer, shorter, angle = estimate.ellipse(0.68)
    radius = ellipse_radius(0.68)
    assert (longer, shorter) == pytest.approx((0.3 * radius, 0.1 * radius))
    assert angle % np.pi == pytest.approx(turn)
    # Student's law with ν = 2.5 in the plane, drawn by hand: a share of 0.41 of the covariance.
    rng = np.random.default_rng(1)
    drawn = rng.normal(size=(200_000, 2)) * np.sqrt(2.5 / rng.chisquare(2.5, 200_000))[:, None]
    away = np.sqrt(0.41) * np.hypot(*drawn.T)
    for level in (0.5, 0.68, 0.95):
        assert (away <= ellipse_radius(level)).mean() == pytest.approx(level, abs=0.004)
    for wrong in (0.0, 1.0, 95.0, np.nan):
        with refused("level"):
            ellipse_radius(wrong)


@pytest.mark.slow
def test_a_ceiling_is_not_below_what_beams_are_worth():
    rng = np.random.default_rng(1)
    for _ in range(20):
        atlas, scan, truth = random_site(rng)
        many, model = beams(atlas, scan), atlas.model(USUAL.model)
        ratings = atlas.rate(many, truth[None], USUAL.model)[0][0]
        tops = [rating_bound(model, float(z), 0.0, 0.0) for z in np.hypot(*many.ends.T)]
        assert (ratings <= np.array(tops) + 1e-5).all()
