"""The complete search: nothing is lost, nothing is made up, and a proof says what it rests on."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.complete import plant, random_site
from tests.support.sites import PLANAR, PLANE, SPACE, gap

import isovist as iv
import isovist.localization.locate as locate_module
from isovist import InputError, LocalizationSettings, locate
from isovist.compute import ceiling
from isovist.localization import look
from isovist.localization.judge import is_same
from isovist.localization.locate import _proved
from isovist.localization.look import agree
from isovist.localization.search import search

USUAL = LocalizationSettings()


@pytest.mark.slow
def test_no_planted_pose_is_lost():
    rng = np.random.default_rng(7)
    tried = [plant(rng, 30) for _ in range(6)]
    assert sum(planted for planted, _ in tried) > 40
    assert sum(lost for _, lost in tried) == 0


@pytest.mark.slow
def test_a_ceiling_is_not_below_what_beams_are_worth():
    rng = np.random.default_rng(1)
    for _ in range(20):
        atlas, scan, truth = random_site(rng)
        beams = atlas.beams(scan, USUAL.beams[1], USUAL.block)
        ratings = atlas.rate(beams, truth[None], USUAL.model)[0][0]
        model = atlas.model(USUAL.model)
        tops = [ceiling(model, float(z), 0.0, 0.0) for z in np.hypot(*beams.ends.T)]
        assert (ratings <= np.array(tops) + 1e-5).all()


@pytest.mark.slow
def test_a_unique_answer_is_proved_and_the_truth_lies_in_the_proof():
    place = PLANE.places[0]
    scan = PLANE.look(place, mount=PLANE.mount)
    answer = iv.locate(PLANE.atlas, scan, prove=True)
    assert answer.verdict is iv.Verdict.UNIQUE
    assert answer.proof.complete
    assert answer.proof.unique
    assert answer.proof.holds(place)
    assert answer.proof.lookups > 0
    assert "free space of the map" in answer.proof.premise
    far = iv.Pose(place.x + 2.0, place.y, place.yaw)
    assert not answer.proof.holds(far)
    assert set(answer.timing_ms) == {"search", "refine", "judge", "prove", "total"}


@pytest.fixture(scope="module")
def lonely():
    """What few beams see where there are two rooms alike; a proof takes as long as it has beams."""
    random = np.random.default_rng(6)
    return replace(PLANAR, beams=60).scan(PLANE.twins, PLANE.lonely, random)


@pytest.mark.slow
def test_twins_are_never_proved_unique_and_both_lie_in_the_proof(lonely):
    answer = iv.locate(PLANE.twin_atlas, lonely, prove=True)
    assert answer.verdict is iv.Verdict.AMBIGUOUS
    assert not answer.proof.unique
    assert answer.proof.holds(PLANE.lonely)
    assert answer.proof.holds(PLANE.twin)


@pytest.mark.slow
def test_what_was_found_before_is_judged_beside_what_only_the_proof_finds(monkeypatch):
    """Fitted from afar once more, a place that was found could be lost."""
    scan = PLANE.look(PLANE.lonely, world=PLANE.twins, seed=6)
    before = iv.locate(PLANE.twin_atlas, scan)
    prove, refine = locate_module.prove_answer, locate_module.refine

    def one_more(*given):
        return replace(
            prove(*given), places=(PLANE.lonely.vector + np.array([0.9, 0.0, 0.4]))[None]
        )

    def only_the_last(atlas, scan, seeds, *given, **options):
        return refine(atlas, scan, seeds[-1:], *given, **options)

    monkeypatch.setattr(locate_module, "prove_answer", one_more)
    monkeypatch.setattr(locate_module, "refine", only_the_last)
    after = _proved(PLANE.twin_atlas, scan, None, before, USUAL, False, 0.1)
    assert gap(after.best.pose, before.best.pose)[0] < 0.01
    for place in (PLANE.lonely, PLANE.twin):
        assert any(gap(estimate.pose, place)[0] < 0.1 for estimate in after.estimates)


@pytest.mark.slow
def test_a_prior_bounds_the_proof(lonely):
    prior = iv.Region.around(PLANE.lonely, 1.0)
    answer = iv.locate(PLANE.twin_atlas, lonely, prior=prior, prove=True)
    assert "and of the prior" in answer.proof.premise
    assert answer.proof.holds(PLANE.lonely)
    assert not answer.proof.holds(PLANE.twin)


def test_a_proof_that_runs_out_of_time_claims_nothing():
    place = PLANE.places[0]
    answer = iv.locate(PLANE.atlas, PLANE.look(place), prove=True, budget_s=0.0)
    assert not answer.proof.complete
    assert not answer.proof.unique
    assert answer.proof.holds(place)


def test_a_proof_is_of_the_plane():
    with pytest.raises(InputError) as caught:
        iv.locate(SPACE.atlas, SPACE.look(SPACE.places[0]), prove=True)
    assert str(caught.value) == "A proof is for maps of the plane; this atlas is in space."


def test_a_place_that_the_search_left_out_is_not_counted_as_absent(monkeypatch):
    # Two twins, and a search that hands on a single candidate: it cannot know of the other.  (With
    # a σ of each range copies are not looked for.)
    few = replace(USUAL, seeds=(1, 1))
    scan = PLANE.look(PLANE.lonely, world=PLANE.twins, seed=6)
    scan = replace(scan, sigmas=np.zeros(len(scan.ranges)))
    monkeypatch.setattr(look, "MORE", 1)
    answer = locate(PLANE.twin_atlas, scan, settings=few)
    assert answer.verdict is not iv.Verdict.UNIQUE
    assert "than were tried" in answer.advice
    monkeypatch.undo()  # a last look with more candidates finds it
    answer = locate(PLANE.twin_atlas, scan, settings=few)
    assert answer.verdict is not iv.Verdict.UNIQUE
    assert len(answer.rivals) == 1


@pytest.mark.parametrize("with_what", ["nothing", "prior", "mount", "several scans"])
@pytest.mark.parametrize("k", range(3))
def test_a_place_that_does_not_lead_is_looked_at_once_more(monkeypatch, k, with_what):
    place, how = PLANE.places[k], {"settings": replace(USUAL, seeds=(1, 1))}
    scan, truth = PLANE.look(place), place
    if with_what == "prior":
        how["prior"] = iv.Region.circle((place.x, place.y), 3.0)
    if with_what == "mount":
        sensor = iv.Pose(0.2, 0.1, 0.5)
        scan, truth = replace(scan, T_robot_sensor=sensor), place @ sensor.inverse
    if with_what == "several scans":
        step = iv.Pose(0.3, 0.0, 0.1)
        truth, how["motions"] = place @ step, [step]
        scan = [scan, PLANE.look(truth, seed=3)]
    answer = iv.locate(PLANE.atlas, scan, **how)
    assert answer.verdict is iv.Verdict.UNIQUE
    assert is_same(answer.best.pose, truth, USUAL)
    monkeypatch.setattr(look, "MORE", 1)
    assert "than were tried" in iv.locate(PLANE.atlas, scan, **how).advice


def test_two_looks_must_agree_on_a_unique_place():
    here, there = (
        iv.Answer(verdict, "", (iv.Estimate(iv.Pose(x, 0.0, 0.0), np.eye(3), 1.0, 1.0, 4.0),))
        for verdict, x in ((iv.Verdict.AMBIGUOUS, 0.0), (iv.Verdict.UNIQUE, 5.0))
    )
    assert agree(here, here, USUAL)
    assert not agree(here, there, USUAL)
    assert agree(replace(here, verdict=iv.Verdict.LOST), there, USUAL)


@pytest.mark.parametrize(
    ("verdict", "before", "after", "inliers", "kind", "believed"),
    [
        ("ambiguous", 3.0, 4.1, 0.95, iv.Pose, True),
        ("ambiguous", 3.0, 3.9, 0.95, iv.Pose, False),  # not better by far
        ("ambiguous", 3.0, 4.1, 0.85, iv.Pose, False),  # something else has changed
        ("unique", 3.0, 4.1, 0.95, iv.Pose, False),  # the first look was sure of another
        ("ambiguous", 3.0, 4.1, 0.95, iv.Pose3, False),  # not measured in space
    ],
)
def test_a_place_that_a_closer_look_finds_must_be_better_by_far(
    verdict, before, after, inliers, kind, believed
):
    n = 3 if kind is iv.Pose else 4
    here = iv.Estimate(kind(), np.eye(n), 0.5, 0.6, before)
    there = iv.Estimate(kind(5.0), np.eye(n), 1.0, inliers, after)
    first = iv.Answer(iv.Verdict(verdict), "", (here,))
    assert agree(first, iv.Answer(iv.Verdict.UNIQUE, "", (there, here)), USUAL) is believed


@pytest.mark.parametrize("site", [PLANE, SPACE], ids=["plane", "space"])
def test_the_lead_says_what_was_left_out(site):
    scan = site.look(site.places[0])
    every = search(site.atlas, scan, None, replace(USUAL, seeds=(10**6, 10**6)), thorough=True)
    best = every.poses[0]
    assert every.lead(best, 0.5, 0.3) == np.inf
    some = search(site.atlas, scan, None, replace(USUAL, seeds=(6, 6)), thorough=True)
    assert some.lead(best, 0.5, 0.3) == pytest.approx(some.costs[-1] / some.costs[0])
    assert some.lead(best + 50.0, 0.5, 0.3) == 0.0
    assert gap(site.atlas.lift(best[None])[0], site.places[0])[0] < 1.0


@pytest.mark.parametrize("wrong", [-1.0, np.nan])
def test_a_budget_is_a_time(wrong):
    with pytest.raises(InputError) as caught:
        iv.locate(PLANE.atlas, PLANE.look(PLANE.places[0]), prove=True, budget_s=wrong)
    assert str(caught.value) == f"`budget_s` must be a time in s, 0 or more, got {wrong:g}."
