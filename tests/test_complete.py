"""The complete search: nothing is lost, nothing is made up, and a proof says what it rests on."""

import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.complete import plant, random_cells, random_site, same_as_brute_force

import isovist as iv
from isovist.errors import InputError
from isovist.kernels.bound import ceiling
from isovist.kernels.occupancy import cast_one
from isovist.kernels.wedge import meets_wall
from isovist.localization.complete import _bits
from isovist.localization.locate import _agree, locate
from isovist.localization.search import search
from isovist.localization.settings import LocalizationSettings
from isovist.maps.cells import Cell, OccupancyMap
from sites import PLANE, SPACE, gap

USUAL = LocalizationSettings()


def test_no_planted_pose_is_lost():
    rng = np.random.default_rng(7)
    tried = [plant(rng, 30) for _ in range(6)]
    assert sum(planted for planted, _ in tried) > 40
    assert sum(lost for _, lost in tried) == 0


@pytest.mark.parametrize("seed", [0, 5])
def test_the_boxes_that_survive_are_those_of_brute_force(seed):
    assert same_as_brute_force(np.random.default_rng(seed))


def test_rays_that_are_said_to_meet_a_wall_do():
    rng = np.random.default_rng(3)
    said = 0
    for _ in range(40):
        cells = random_cells(rng, *rng.integers(30, 130, 2))
        world = OccupancyMap(cells, 1.0)
        walls = _bits(cells == Cell.OCCUPIED, fill=False)
        unknown = _bits(cells == Cell.UNKNOWN, fill=True)
        height, width = cells.shape
        for _ in range(60):
            x, y = rng.uniform(0, width), rng.uniform(0, height)
            a, b = rng.choice([0.25, 0.5, 1.0, 2.0]), rng.choice([0.005, 0.02, 0.05])
            angle, reach = rng.uniform(0, 2 * math.pi), rng.uniform(0, 60)
            if not meets_wall(walls, unknown, world.skip, x, y, a, b, angle, reach):
                continue
            said += 1
            for i, j, k in rng.choice([-1.0, 1.0, 0.3, -0.6], (20, 3)):
                px, py, turn = x + i * a, y + j * a, angle + k * b
                inside = 0 <= px < width and 0 <= py < height
                if inside and cells[int(py), int(px)] == Cell.FREE:
                    r, ending, *_ = cast_one(
                        world.skip, px, py, math.cos(turn), math.sin(turn), 1e9
                    )
                    assert ending == 0
                    assert r <= reach
    assert said > 200


def test_a_ceiling_is_not_below_what_beams_are_worth():
    rng = np.random.default_rng(1)
    for _ in range(20):
        atlas, scan, truth = random_site(rng)
        beams = atlas.beams(scan, USUAL.beams[1], USUAL.block)
        ratings = atlas.rate(beams, truth[None], USUAL.model)[0][0]
        model = atlas.model(USUAL.model)
        tops = [ceiling(model, float(z), 0.0, 0.0) for z in np.hypot(*beams.ends.T)]
        assert (ratings <= np.array(tops) + 1e-5).all()


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


def test_twins_are_never_proved_unique_and_both_lie_in_the_proof():
    scan = PLANE.look(PLANE.lonely, world=PLANE.twins, seed=6)
    answer = iv.locate(PLANE.twin_atlas, scan, prove=True)
    assert answer.verdict is iv.Verdict.AMBIGUOUS
    assert not answer.proof.unique
    assert answer.proof.holds(PLANE.lonely)
    assert answer.proof.holds(PLANE.twin)


def test_a_prior_bounds_the_proof():
    scan = PLANE.look(PLANE.lonely, world=PLANE.twins, seed=6)
    prior = iv.Region.around(PLANE.lonely, 1.0)
    answer = iv.locate(PLANE.twin_atlas, scan, prior=prior, prove=True)
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


def test_a_place_that_the_search_left_out_is_not_counted_as_absent():
    # Two twins, and a search that hands on a single candidate: it cannot know of the other.
    few = replace(USUAL, seeds=(1, 1))
    scan = PLANE.look(PLANE.lonely, world=PLANE.twins, seed=6)
    answer = locate(PLANE.twin_atlas, scan, settings=few)
    assert answer.verdict is not iv.Verdict.UNIQUE
    assert "than were tried" in answer.advice


def test_two_looks_must_agree_on_a_unique_place():
    here, there = (
        iv.Answer(verdict, "", (iv.Estimate(iv.Pose(x, 0.0, 0.0), np.eye(3), 1.0, 1.0, 4.0),))
        for verdict, x in ((iv.Verdict.AMBIGUOUS, 0.0), (iv.Verdict.UNIQUE, 5.0))
    )
    assert _agree(here, here, USUAL)
    assert not _agree(here, there, USUAL)
    assert _agree(replace(here, verdict=iv.Verdict.LOST), there, USUAL)


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
