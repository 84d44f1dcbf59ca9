"""Pairs in space that a user can combine: leans, attitudes, priors, several maps, several scans."""

from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from tests.support.attitudes import TURNS, look
from tests.support.leaning import TALL, tilt_between, untold
from tests.support.reference_space import (
    UNIT,
    at,
    atlas_of,
    house,
    house_atlas,
    house_cells,
    symmetric_room,
)

import isovist as iv
from isovist import InputError, Pose3, Region, Verdict, VoxelMap
from isovist.poses import way_of

LEANS = [at(4.6 + 0.5 * k, 0.1 * k, 0.7 + 0.1 * k, roll=0.06, pitch=-0.04) for k in range(3)]
"""A robot that leans by 4°."""
TURN = Pose3.from_quaternion(TURNS["any"].quaternion, np.zeros(3))
TURNED = [
    Pose3(4.6 + 0.5 * k, 0.1 * k, 0.0, 1.5) @ TURN @ Pose3(yaw=0.1 * k, roll=0.2 * k)
    for k in range(3)
]
"""One that is turned in the hand."""


@pytest.fixture(autouse=True)
def few_ways(monkeypatch):
    """All round takes long where a scan is to be lost."""
    monkeypatch.setattr("isovist.localization.attitudes.ALL_ROUND", 4)


@lru_cache
def leaning(k):
    return untold(TALL.scan(house(), LEANS[k], np.random.default_rng(k)))


@lru_cache
def moved():
    """The house with a table elsewhere in its larger room."""
    cells = house_cells()
    cells[1:9, 4:14, 8:20] = 0
    cells[1:9, 20:30, 8:20] = 1
    return VoxelMap.from_array(cells, UNIT, (3.0, -2.0, 0.4))


@lru_cache
def maps():
    rooms = {"room": symmetric_room(False), "moved": moved(), "house": house()}
    return {name: atlas_of(world) for name, world in rooms.items()}


def motions(poses):
    return [a.inverse @ b for a, b in pairwise(poses)]


def right(answer, truth, name=None):
    """Whether the best place is that of the truth, within 0.1 m and 2.5°."""
    metres, turn = way_of(truth.inverse @ answer.best.pose)
    return answer.map == name and metres < 0.1 and np.degrees(turn) < 2.5


# A lean that nobody told.


@lru_cache
def free():
    """Where the leaning scan is found without a prior."""
    answer = iv.locate(house_atlas(), leaning(0))
    assert answer.verdict is Verdict.UNIQUE
    assert right(answer, LEANS[0])
    return answer.best.pose


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("tilt", [False, True])
def test_a_leaning_scan_lies_in_a_prior_that_excludes_where_it_fits_best(gap, tilt):
    """A circle that ends this far, in m, from the fitted place, and headings this far from it."""
    for angle in (0.4, 3.5):
        centre = free().position[:2] + (0.8 + gap) * np.array([np.cos(angle), np.sin(angle)])
        near = Region.circle(centre, 0.8)
        away = Region.circle(free().position[:2], 0.5).towards(free().yaw + 0.2 + gap, 0.2)
        for prior in (near, away):
            answer = iv.locate(house_atlas(), leaning(0), prior=prior, tilt=tilt)
            rows = [estimate.pose.vector for estimate in answer.estimates]
            assert all(prior.holds(np.atleast_2d(row))[0] for row in rows)
            assert rows or answer.verdict is Verdict.LOST


@pytest.mark.slow
def test_leaning_scans_are_located_together_on_the_right_map_of_several():
    scans = [leaning(k) for k in range(3)]
    level = [Pose3.lifted(pose.flat) for pose in LEANS]
    flat = [pose.flat for pose in LEANS]
    for told in (motions(LEANS), motions(level), motions(flat)):
        answer = iv.locate(maps(), scans, motions=told)
        assert answer.verdict is Verdict.UNIQUE
        assert right(answer, LEANS[-1], "house")
        lean = tilt_between(answer.best.pose, Pose3())
        assert answer.advice.endswith(
            f"The sensor leans by {lean:.1f}° more than was told; roll and pitch were fitted."
        )


@pytest.mark.slow
def test_leaning_scans_keep_to_a_prior_by_name():
    scans, told = [leaning(k) for k in range(2)], motions(LEANS[:2])
    here = Region.circle(LEANS[1].position[:2], 0.5)
    answer = iv.locate(maps(), scans, motions=told, prior={"house": here, "room": None})
    assert answer.verdict is Verdict.UNIQUE
    assert right(answer, LEANS[1], "house")
    there = {"moved": Region.circle([10.5, 0.0], 1.0), "room": None}
    answer = iv.locate(maps(), scans, motions=told, prior=there)
    assert answer.verdict is not Verdict.UNIQUE
    for estimate in answer.estimates:
        row = np.atleast_2d(estimate.pose.vector)
        assert estimate.map in there
        assert estimate.map == "room" or there["moved"].holds(row)[0]


# Any attitude.


@lru_cache
def turned(k):
    return look(TURNED[k], seed=k)


@pytest.mark.slow
def test_any_attitude_on_the_right_map_with_a_prior_by_name():
    here = Region.circle(TURNED[0].position[:2], 0.5)
    answer = iv.locate(maps(), turned(0), any_attitude=True, prior={"house": here, "moved": None})
    assert answer.verdict is not Verdict.LOST
    assert right(answer, TURNED[0], "house")
    there = {"moved": Region.circle([10.5, 0.0], 1.0)}
    answer = iv.locate(maps(), turned(0), any_attitude=True, prior=there)
    assert answer.verdict is not Verdict.UNIQUE
    for estimate in answer.estimates:
        assert estimate.map == "moved"
        assert there["moved"].holds(np.atleast_2d(estimate.pose.vector))[0]


@pytest.mark.slow
def test_any_attitude_with_a_prior_that_just_excludes_the_place():
    for gap in (0.01, 0.3):
        centre = TURNED[0].position[:2] + np.array([0.8 + gap, 0.0])
        prior = Region.circle(centre, 0.8)
        answer = iv.locate(house_atlas(), turned(0), any_attitude=True, prior=prior)
        rows = [estimate.pose.vector for estimate in answer.estimates]
        assert all(prior.holds(np.atleast_2d(row))[0] for row in rows)
        assert rows or answer.verdict is Verdict.LOST


@pytest.mark.slow
def test_any_attitude_of_several_scans_on_several_maps_and_in_a_prior():
    scans, told = [turned(k) for k in range(3)], motions(TURNED)
    answer = iv.locate(maps(), scans, motions=told, any_attitude=True)
    assert answer.verdict is Verdict.UNIQUE
    assert right(answer, TURNED[-1], "house")
    here = {"house": Region.circle(TURNED[-1].position[:2], 0.5)}
    answer = iv.locate(maps(), scans, motions=told, any_attitude=True, prior=here)
    assert answer.verdict is Verdict.UNIQUE
    assert right(answer, TURNED[-1], "house")
    near = Region.circle(TURNED[-1].position[:2], 0.5)
    answer = iv.locate(house_atlas(), scans, motions=told, any_attitude=True, prior=near)
    assert answer.verdict is Verdict.UNIQUE
    assert right(answer, TURNED[-1])


def test_a_heading_on_one_of_several_maps_is_refused_in_any_attitude():
    prior = {"room": None, "house": Region.facing(0.0, 0.5)}
    with pytest.raises(InputError) as error:
        iv.locate(maps(), turned(0), any_attitude=True, prior=prior)
    assert str(error.value) == (
        "A heading says nothing of a robot in any attitude. Give a `prior` without one, e.g. "
        "Region.circle."
    )


# Several scans.


@pytest.mark.slow
def test_scans_from_places_close_together_are_as_sure_as_each_alone():
    """What stands in the way of single beams is not seen again, and is no witness for that."""
    poses = [at(4.6 + 0.2 * k, 0.1 * k, 0.7 + 0.1 * k) for k in range(4)]
    scans = [TALL.scan(house(), pose, np.random.default_rng(k)) for k, pose in enumerate(poses)]
    alone = iv.locate(house_atlas(), scans[-1])
    answer = iv.locate(house_atlas(), scans, motions=motions(poses))
    assert alone.verdict is answer.verdict is Verdict.UNIQUE
    assert right(answer, poses[-1])
    assert answer.best.probability > 0.999


@pytest.mark.slow
def test_a_room_that_looks_the_same_turned_stays_ambiguous_however_many_scans():
    room = symmetric_room(False)
    poses = [at(2.2 + 0.2 * k, 2.9, 0.4 + 0.1 * k, z=1.1) for k in range(4)]
    scans = [TALL.scan(room, pose, np.random.default_rng(k)) for k, pose in enumerate(poses)]
    answer = iv.locate(atlas_of(room), scans, motions=motions(poses))
    assert answer.verdict is Verdict.AMBIGUOUS
    assert len(answer.rivals) == 1
    assert answer.best.probability == pytest.approx(0.5, abs=0.1)
