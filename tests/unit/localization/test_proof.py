"""The complete search: nothing is lost, nothing is made up, and a proof says what it rests on."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.complete import plant
from tests.support.fits import USUAL, candidates
from tests.support.reports import near
from tests.support.sites import PLANAR, PLANE, SITES, gap

import isovist as iv


@pytest.mark.slow
def test_no_planted_pose_is_lost():
    rng = np.random.default_rng(7)
    tried = [plant(rng, 30) for _ in range(6)]
    assert sum(planted for planted, _ in tried) > 40
    assert sum(lost for _, lost in tried) == 0


@pytest.mark.slow
def test_a_unique_answer_is_proved_and_the_truth_lies_in_the_proof():
    place = PLANE.places[0]
    answer = iv.locate(PLANE.atlas, PLANE.look(place, mount=PLANE.mount), prove=True)
    proof = answer.proof
    assert (answer.verdict, proof.complete, proof.unique) == ("unique", True, True)
    assert proof.holds(place)
    assert not proof.holds(iv.Pose(place.x + 2.0, place.y, place.yaw))
    assert proof.lookups > 0
    assert set(answer.timing_ms) == {"search", "refine", "judge", "prove", "total"}


@pytest.mark.slow
def test_regions_of_a_robot_are_wider_by_what_its_sensor_swings():
    scan = PLANE.look(PLANE.places[0])
    centred, mounted = [
        iv.locate(PLANE.atlas, replace(scan, T_robot_sensor=mount), prove=True).proof.regions
        for mount in (iv.Pose(), iv.Pose(0.4, 0.3, 0.0))
    ]
    swing = 2.0 * 0.5 * np.sin(0.5 * np.minimum(centred[:, 4], np.pi))
    np.testing.assert_allclose(mounted[:, 3], centred[:, 3] + swing)
    np.testing.assert_allclose(mounted[:, 4], centred[:, 4])


@pytest.mark.slow
@pytest.mark.parametrize("yaw", [0.0, np.pi, 2.0 - np.pi])
def test_regions_are_narrow_wherever_angles_begin_anew(yaw):
    place = iv.Pose(PLANE.places[0].x, PLANE.places[0].y, yaw)
    proof = iv.locate(PLANE.atlas, PLANE.look(place), prove=True).proof
    assert proof.holds(place)
    assert proof.regions[:, 4].max() < np.radians(30.0)


@pytest.fixture(scope="module")
def lonely():
    """What few beams see where there are two rooms alike; a proof takes as long as it has beams."""
    random = np.random.default_rng(6)
    return replace(PLANAR, beams=60).scan(PLANE.twins, PLANE.lonely, random)


@pytest.mark.slow
@pytest.mark.parametrize("listed", [10, 1])
def test_twins_are_never_proved_unique_and_both_lie_in_the_proof(lonely, listed):
    """What the answer does not list, only the proof finds; both are judged side by side."""
    how = {"settings": USUAL.with_values({"decision.max_estimates": listed}), "prove": True}
    answer = iv.locate(PLANE.twin_atlas, lonely, **how)
    assert answer.verdict == "ambiguous"
    assert answer.facts["competitors"] == 1
    assert len(answer.estimates) >= min(listed, 2)
    assert not answer.proof.unique
    assert answer.proof.holds(PLANE.lonely)
    assert answer.proof.holds(PLANE.twin)
    before = iv.locate(PLANE.twin_atlas, lonely)
    assert any(near(answer.best.pose, one.pose, 0.05) for one in before.estimates[:2])


@pytest.mark.slow
def test_a_prior_bounds_the_proof(lonely):
    prior = iv.Region.around(PLANE.lonely, 1.0)
    answer = iv.locate(PLANE.twin_atlas, lonely, region=prior, prove=True)
    assert answer.proof.holds(PLANE.lonely)
    assert not answer.proof.holds(PLANE.twin)


def test_a_proof_that_runs_out_of_time_claims_nothing():
    place = PLANE.places[0]
    answer = iv.locate(PLANE.atlas, PLANE.look(place), prove=True, budget_s=0.0)
    assert (answer.proof.complete, answer.proof.unique) == (False, False)
    assert answer.proof.holds(place)


def test_a_place_that_the_search_left_out_is_not_counted_as_absent():
    scan = PLANE.look(PLANE.lonely, world=PLANE.twins, seed=6)
    answer = iv.locate(
        PLANE.twin_atlas,
        scan,
        settings=USUAL.with_values({"search.first_candidates": 1, "search.full_candidates": 1}),
    )
    assert answer.verdict != "unique"
    assert len(answer.rivals) == 1


@pytest.mark.parametrize("with_what", ["nothing", "region", "mount", "several scans"])
@pytest.mark.parametrize("k", range(3))
def test_a_place_that_does_not_lead_is_looked_at_once_more(k, with_what):
    place, how = PLANE.places[k], {}
    scan, truth = PLANE.look(place), place
    if with_what == "region":
        how["region"] = iv.Region.circle((place.x, place.y), 3.0)
    if with_what == "mount":
        sensor = iv.Pose(0.2, 0.1, 0.5)
        scan, truth = replace(scan, T_robot_sensor=sensor), place @ sensor.inverse
    if with_what == "several scans":
        step = iv.Pose(0.3, 0.0, 0.1)
        truth, how["motions"] = place @ step, [step]
        scan = [scan, PLANE.look(truth, seed=3)]
    answer = iv.locate(
        PLANE.atlas,
        scan,
        **how,
        settings=USUAL.with_values({"search.first_candidates": 1, "search.full_candidates": 1}),
    )
    assert answer.verdict == "unique"
    assert near(answer.best.pose, truth)
    ahead = USUAL.with_values(
        {
            "search.first_candidates": 1,
            "search.full_candidates": 1,
            "decision.min_cost_ratio": 1000.0,
        }
    )
    answer = iv.locate(PLANE.atlas, scan, **how, settings=ahead)
    assert (answer.verdict, answer.reasons) == ("ambiguous", (iv.Reason.SEARCH_INCOMPLETE,))


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_the_lead_says_what_was_left_out(site):
    scan = site.look(site.places[0])
    every, some = (
        candidates(
            site.atlas,
            scan,
            USUAL.with_values({"search.first_candidates": most, "search.full_candidates": most}),
            is_full=True,
        )
        for most in (10**6, 6)
    )
    best = every.poses[0]
    assert every.cost_ratio(best, 0.5, 0.3) == np.inf
    assert some.cost_ratio(best, 0.5, 0.3) == pytest.approx(some.costs[-1] / some.costs[0])
    assert some.cost_ratio(best + 50.0, 0.5, 0.3) == 0.0
    assert gap(site.atlas.lift(best[None])[0], site.places[0])[0] < 1.0


@pytest.mark.slow
def test_every_copy_of_a_place_is_listed_however_few_candidates_there_are():
    """Nine rooms whose sides are no multiples of the spacing, so nodes lie otherwise in each."""
    room = np.zeros((109, 134), dtype=np.uint8)
    room[:2], room[-2:], room[:, :2], room[:, -2:] = (iv.Cell.OCCUPIED,) * 4
    room[2:30, 60:64] = room[70:90, 20:40] = room[60:64, 100:] = iv.Cell.OCCUPIED
    world, place = iv.OccupancyMap(np.tile(room, (3, 3)), 0.05), iv.Pose(2.1, 1.9, 0.7)
    lidar = iv.Lidar(1.5 * np.pi, 180, 12.0, 0.02, clutter=0.1)
    scan = lidar.scan(world, place, np.random.default_rng(3))
    few = USUAL.with_values(
        {
            "search.first_candidates": 400,
            "search.full_candidates": 4,
            "decision.max_estimates": 1000,
        }
    )
    answer = iv.locate(iv.build(world), scan, settings=few)
    assert answer.verdict == "ambiguous"
    for k in range(9):
        copy = iv.Pose(place.x + 6.7 * (k % 3), place.y + 5.45 * (k // 3), place.yaw)
        assert any(near(one.pose, copy, 0.5, 10.0) for one in answer.estimates)
