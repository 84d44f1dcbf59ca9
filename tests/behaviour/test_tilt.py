"""Clouds that lean though nobody said so, indoors and on a street that needs it."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from tests.support.reference_space import LIDAR as INDOORS
from tests.support.reference_space import (
    UNIT,
    at,
    atlas_of,
    house,
    house_atlas,
    house_cells,
    symmetric_room,
)
from tests.support.reports import near
from tests.support.ways import motions
from tests.support.worlds import FEW, TALL, street, street_atlas, tilt_between, untold

import isovist as iv

pytestmark = pytest.mark.slow
LEANS = [at(4.6 + 0.5 * k, 0.1 * k, 0.7 + 0.1 * k, roll=0.06, pitch=-0.04) for k in range(3)]
"""A robot that leans by 4°."""


def seen(truth, seed=4, lidar=TALL):
    return lidar.scan(house(), truth, np.random.default_rng(seed))


def right(answer, truth, name=None):
    """Whether the best place is that of the truth, with its lean."""
    found = answer.best.pose
    return answer.map == name and near(found, truth, 0.1, 2.5) and tilt_between(found, truth) < 1.0


@lru_cache
def leaning(k):
    return untold(seen(LEANS[k], k))


@lru_cache
def maps():
    """A room, the house with a table elsewhere in its larger room, and the house."""
    cells = house_cells()
    cells[1:9, 4:14, 8:20] = 0
    cells[1:9, 20:30, 8:20] = 1
    moved = iv.VoxelMap.from_array(cells, UNIT, (3.0, -2.0, 0.4))
    rooms = {"room": symmetric_room(False), "moved": moved, "house": house()}
    return {name: atlas_of(world) for name, world in rooms.items()}


@pytest.mark.parametrize(
    ("roll", "pitch"), [(0.1, 0.0), (-0.05, 0.08), (0.0, -0.16), (0.015, 0.01)]
)
def test_a_tilt_that_nobody_told_is_fitted_and_said(roll, pitch):
    truth = at(5.0, 0.0, 0.7, roll=roll, pitch=pitch)
    answer = iv.locate(house_atlas(), untold(seen(truth)))
    assert (answer.verdict, answer.reasons) == ("unique", (iv.Reason.ONLY_PLACE,))
    assert right(answer, truth)
    lean = np.degrees(answer.facts["lean"])
    assert lean == pytest.approx(tilt_between(answer.best.pose, iv.Pose3()), abs=0.01)


def test_a_tilt_is_fitted_when_asked():
    truth = at(5.0, 0.0, 0.7, roll=0.03, pitch=-0.04)
    answer = iv.locate(house_atlas(), untold(seen(truth)), tilt=True)
    assert right(answer, truth)
    assert answer.best.covariance.shape == (6, 6)


@pytest.mark.parametrize(("roll", "pitch"), [(0.0, 0.0), (0.1, -0.05)])
def test_a_scan_that_tells_its_tilt_right_is_not_fitted(roll, pitch):
    answer = iv.locate(house_atlas(), seen(at(5.0, 0.0, 0.7, roll=roll, pitch=pitch), 5))
    assert answer.verdict == "unique"
    assert answer.best.covariance.shape == (4, 4)
    assert "lean" not in answer.facts


def test_the_place_of_the_sensor_on_the_robot_and_its_tilt_are_taken_out():
    mount, robot = (
        iv.Pose3(0.2, -0.1, 0.5, 0.4, 0.0, 0.1),
        iv.Pose3(5.0, 0.2, 0.3, 1.1, 0.05, -0.04),
    )
    points = seen(robot @ mount, 3, INDOORS).points
    scan = iv.CloudScan(points, T_robot_sensor=mount, roll=0.05, pitch=-0.04)
    found = iv.locate(house_atlas(), scan).best.pose
    np.testing.assert_allclose(found.vector, robot.vector, atol=0.06)


def test_a_wrong_tilt_that_was_told_is_found_out():
    """Where floor and ceiling are in view it is put right; else the place is doubted for it."""
    truth = at(5.0, 0.0, 0.7, roll=0.04)
    answers = []
    for lidar in (TALL, INDOORS):
        scan = seen(truth, 6, lidar)
        assert iv.locate(house_atlas(), scan).reasons == (iv.Reason.ONLY_PLACE,)
        answers.append(iv.locate(house_atlas(), replace(scan, roll=0.0, pitch=0.05)))
    fitted, doubted = answers
    assert fitted.verdict == "unique"
    assert right(fitted, truth)
    assert fitted.facts["lean"] > np.radians(2.0)
    assert (doubted.verdict, doubted.reasons) == ("ambiguous", (iv.Reason.TILT_FITS_BETTER,))
    assert np.linalg.norm(doubted.best.pose.position - truth.position) < 0.3


def test_a_small_lean_shows_in_beams_that_are_spread_over_what_they_see():
    for seed, truth in (
        (3, at(5.28, -0.11, -0.46, roll=-0.029, pitch=0.033)),
        (9, at(5.45, -0.39, 2.0, roll=0.035, pitch=-0.025)),
    ):
        answer = iv.locate(house_atlas(), untold(seen(truth, seed, INDOORS)))
        assert answer.best.covariance.shape == (6, 6)
        assert tilt_between(answer.best.pose, truth) < 0.5


def test_a_unique_attitude_is_within_a_degree():
    rng, unique = np.random.default_rng(8), 0
    for _ in range(12):
        way, lean = rng.uniform(0.0, 2.0 * np.pi), np.radians(rng.uniform(1.1, 2.6))
        x, y, yaw = rng.uniform([4.0, -0.6, -3.0], [6.0, 0.6, 3.0])
        truth = at(x, y, yaw, roll=lean * np.cos(way), pitch=lean * np.sin(way))
        answer = iv.locate(house_atlas(), untold(INDOORS.scan(house(), truth, rng)))
        assert np.linalg.norm(answer.best.pose.position - truth.position) < 0.3
        if answer.verdict == "unique":
            unique += 1
            assert tilt_between(answer.best.pose, truth) < 1.0
    assert unique >= 8


def test_without_ground_in_view_the_walls_say_which_way_is_up():
    truth = at(5.0, 0.0, 0.7, roll=0.2)
    high = replace(INDOORS, rings=24, low=0.0, high=0.6)
    scan = high.scan(house(), truth, np.random.default_rng(4), tells_tilt=False)
    answer = iv.locate(house_atlas(), scan)
    assert answer.verdict != "lost"
    assert right(answer, truth)
    assert answer.facts["lean"] == pytest.approx(0.2, abs=0.02)


@pytest.mark.nightly
def test_a_leaning_scan_is_found_on_a_street():
    for truth, scan in street()[0].asks(4, FEW):
        answer = iv.locate(street_atlas(), scan, region=iv.Region.around(truth, 10.0))
        assert np.linalg.norm(answer.best.pose.position - truth.position) < 0.5
        assert tilt_between(answer.best.pose, truth) < 1.0


# A lean with what else a user can ask.


@lru_cache
def free():
    """Where the leaning scan is found without a prior."""
    answer = iv.locate(house_atlas(), leaning(0))
    assert answer.verdict == "unique"
    assert right(answer, LEANS[0])
    return answer.best.pose


@pytest.mark.parametrize("gap", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("tilt", [False, True])
def test_a_leaning_scan_lies_in_a_prior_that_excludes_where_it_fits_best(gap, tilt):
    """A circle that ends this far, in m, from the fitted place, and headings this far from it."""
    for angle in (0.4, 3.5):
        centre = free().position[:2] + (0.8 + gap) * np.array([np.cos(angle), np.sin(angle)])
        beside = iv.Region.circle(centre, 0.8)
        away = iv.Region.circle(free().position[:2], 0.5).towards(free().yaw + 0.2 + gap, 0.2)
        for prior in (beside, away):
            answer = iv.locate(house_atlas(), leaning(0), region=prior, tilt=tilt)
            rows = [estimate.pose.vector for estimate in answer.estimates]
            assert all(prior.holds(np.atleast_2d(row))[0] for row in rows)
            assert rows or answer.verdict == "lost"


@pytest.mark.parametrize("told", ["solid", "level", "flat"])
def test_leaning_scans_are_located_together_on_the_right_map_of_several(told):
    poses = {
        "solid": LEANS,
        "level": [iv.Pose3.lifted(pose.flat) for pose in LEANS],
        "flat": [pose.flat for pose in LEANS],
    }[told]
    answer = iv.locate(maps(), [leaning(k) for k in range(3)], motions=motions(poses))
    assert answer.verdict == "unique"
    assert right(answer, LEANS[-1], "house")
    lean = np.degrees(answer.facts["lean"])
    assert lean == pytest.approx(tilt_between(answer.best.pose, iv.Pose3()), abs=0.01)


def test_leaning_scans_keep_to_a_prior_by_name():
    scans, told = [leaning(k) for k in range(2)], motions(LEANS[:2])
    here = iv.Region.circle(LEANS[1].position[:2], 0.5)
    answer = iv.locate(maps(), scans, motions=told, region={"house": here, "room": None})
    assert answer.verdict == "unique"
    assert right(answer, LEANS[1], "house")
    there = {"moved": iv.Region.circle([10.5, 0.0], 1.0), "room": None}
    answer = iv.locate(maps(), scans, motions=told, region=there)
    assert answer.verdict != "unique"
    for estimate in answer.estimates:
        row = np.atleast_2d(estimate.pose.vector)
        assert estimate.map in there
        assert estimate.map == "room" or there["moved"].holds(row)[0]


def test_scans_from_places_close_together_are_as_sure_as_each_alone():
    """What stands in the way of single beams is not seen again, and is no witness for that."""
    poses = [at(4.6 + 0.2 * k, 0.1 * k, 0.7 + 0.1 * k) for k in range(4)]
    scans = [seen(pose, k) for k, pose in enumerate(poses)]
    alone = iv.locate(house_atlas(), scans[-1])
    answer = iv.locate(house_atlas(), scans, motions=motions(poses))
    assert alone.verdict is answer.verdict is iv.Verdict.UNIQUE
    assert right(answer, poses[-1])
    assert answer.best.probability > 0.999


def test_a_room_that_looks_the_same_turned_stays_ambiguous_however_many_scans():
    room = symmetric_room(False)
    poses = [at(2.2 + 0.2 * k, 2.9, 0.4 + 0.1 * k, z=1.1) for k in range(4)]
    scans = [TALL.scan(room, pose, np.random.default_rng(k)) for k, pose in enumerate(poses)]
    answer = iv.locate(atlas_of(room), scans, motions=motions(poses))
    assert answer.verdict == "ambiguous"
    assert len(answer.rivals) == 1
    assert answer.best.probability == pytest.approx(0.5, abs=0.1)
