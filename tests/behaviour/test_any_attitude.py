"""Scans from any attitude: upside down, on the side, in a hand; nobody knows which way is up."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest
from tests.support.attitudes import TURNS, look
from tests.support.reference_space import UNIT, atlas_of, house, house_atlas, house_cells
from tests.support.reference_space import symmetric_room as twofold_room
from tests.support.reports import answer_text, off
from tests.support.sizes import count_as_large
from tests.support.ways import motions

import isovist as iv

pytestmark = pytest.mark.slow
TURN = iv.Pose3.from_quaternion(TURNS["any"].quaternion, np.zeros(3))
WAY = [
    iv.Pose3(4.6 + 0.5 * k, 0.1 * k, 0.0, 1.5) @ TURN @ iv.Pose3(yaw=0.1 * k, roll=0.2 * k)
    for k in range(3)
]
"""Of a robot that is turned in the hand."""


@pytest.fixture(autouse=True)
def few_ways(monkeypatch):
    """All round takes long where a scan is to be lost."""
    count_as_large(monkeypatch, ways=4)


def ask(scan, atlas=None, **how):
    return iv.locate(house_atlas() if atlas is None else atlas, scan, any_attitude=True, **how)


def right(answer, truth, name=None):
    """Whether the best place is that of the truth: half a cell, and half a cell at 2 m."""
    way, turn = off(answer.best.pose, truth)
    return answer.map == name and way < 0.1 and turn < 2.0


@lru_cache
def found(name):
    return ask(look(TURNS[name]))


@lru_cache
def seen(k):
    return look(WAY[k], seed=k)


@lru_cache
def maps():
    """A room, the house with a table elsewhere in its larger room, and the house."""
    cells = house_cells()
    cells[1:9, 4:14, 8:20] = 0
    cells[1:9, 20:30, 8:20] = 1
    moved = iv.VoxelMap.from_array(cells, UNIT, (3.0, -2.0, 0.4))
    rooms = {"room": twofold_room(False), "moved": moved, "house": house()}
    return {name: atlas_of(world) for name, world in rooms.items()}


def lies_in(answer, prior, name=None):
    rows = [np.atleast_2d(e.pose.vector) for e in answer.estimates]
    return all(prior.holds(row)[0] for row in rows) and {e.map for e in answer.estimates} <= {name}


@pytest.mark.parametrize("name", TURNS)
def test_a_scan_from_any_attitude_has_one_place_and_its_full_rotation(name):
    answer = found(name)
    assert (answer.verdict, answer.reasons) == ("unique", (iv.Reason.ONLY_PLACE,))
    assert right(answer, TURNS[name])
    assert answer.best.covariance.shape == (6, 6)
    assert np.linalg.eigvalsh(answer.best.covariance).min() > 0.0
    assert answer.timing_ms["total"] >= answer.timing_ms["search"] > 0.0
    assert f"roll {np.degrees(answer.best.pose.roll):7.2f}°" in answer_text(answer)


def test_turning_the_sensor_turns_the_answer_and_leaves_the_place():
    scan = look(TURNS["level"])
    turn = iv.Pose3.from_quaternion([0.6, 0.1, -0.5, 0.2], np.zeros(3))
    answer = ask(replace(scan, points=turn.inverse.apply(scan.points)))
    assert answer.verdict == "unique"
    way, angle = off(answer.best.pose, found("level").best.pose @ turn)
    assert way < 0.05
    assert angle < 1.5


def test_what_a_scan_tells_of_its_attitude_is_not_believed():
    answer = ask(replace(look(TURNS["upside down"]), roll=0.4, pitch=-0.3))
    np.testing.assert_allclose(answer.best.pose.vector, found("upside down").best.pose.vector)


def test_the_answer_is_of_the_robot_and_not_of_the_sensor():
    mount = iv.Pose3(0.2, -0.1, 0.5, 0.3, 0.8, -0.2)
    answer = ask(replace(look(TURNS["any"]), T_robot_sensor=mount))
    assert answer.frame == "robot"
    assert right(answer, TURNS["any"] @ mount.inverse)


def test_a_room_that_looks_the_same_turned_is_ambiguous_in_any_attitude():
    room = twofold_room(False)
    answer = ask(look(iv.Pose3(2.2, 2.9, 0.4, 1.1, 2.0), room), atlas_of(room))
    assert answer.verdict == "ambiguous"
    assert len(answer.rivals) == 1
    assert answer.best.probability == pytest.approx(0.5, abs=0.05)


def in_a_box(block):
    """What a sensor finds in a box that is the same turned over but for a block in a corner."""
    cells = np.zeros((26, 42, 62), np.uint8)
    for axis in range(3):
        np.moveaxis(cells, axis, 0)[[0, -1]] = 1
    cells[1 : 1 + block, 1 : 1 + block, 1 : 1 + block] = 1
    box = iv.VoxelMap.from_array(cells, 0.1)
    return ask(look(iv.Pose3(3.2, 2.6, 0.4, 1.1), box), iv.build(box))


def test_an_attitude_that_fits_better_is_likelier_by_what_it_gains():
    answer = in_a_box(9)
    assert answer.verdict == "ambiguous"
    assert 0.6 < answer.best.probability < 0.75
    gains = [answer.best.score - e.score for e in answer.rivals]
    ratios = [np.log(answer.best.probability / e.probability) for e in answer.rivals]
    np.testing.assert_allclose(np.divide(ratios, gains), ratios[0] / gains[0], rtol=0.1)


def test_a_place_in_another_attitude_is_a_rival():
    """A bare box is the same turned over: four attitudes, of which two are upside down."""
    answer = in_a_box(0)
    assert answer.verdict == "ambiguous"
    alive = [answer.best, *answer.rivals]
    assert sorted(e.pose.rotation[2, 2] > 0.0 for e in alive) == [False, False, True, True]
    assert all(e.probability == pytest.approx(0.25, abs=0.02) for e in alive)
    assert sum(e.probability for e in answer.estimates) <= 1.0


def test_what_is_of_no_place_is_not_unique():
    u, v = np.meshgrid(np.linspace(-1.5, 1.5, 20), np.linspace(-1.5, 1.5, 20))
    wall = np.column_stack([np.full(u.size, 2.0), u.ravel(), v.ravel()])
    assert ask(iv.CloudScan(wall)).verdict != "unique"
    cloud = iv.CloudScan(np.random.default_rng(7).normal(size=(60, 3)) * 3.0)
    answer = ask(cloud)
    assert (answer.verdict, answer.reasons) == ("lost", (iv.Reason.POOR_FIT,))


def test_the_answer_lies_in_a_prior_that_says_no_heading():
    here = iv.Region.circle([5.0, 0.0], 0.5)
    assert right(ask(look(TURNS["any"]), region=here), TURNS["any"])
    for centre, radius in (([10.5, 0.5], 0.5), ([5.81, 0.0], 0.8)):
        away = iv.Region.circle(centre, radius)
        elsewhere = ask(look(TURNS["any"]), region=away)
        assert elsewhere.verdict != "unique" or centre[0] < 7.0  # just beside it one may fit
        assert lies_in(elsewhere, away)


@pytest.mark.nightly
def test_of_several_maps_the_right_one_is_told():
    answer = ask(seen(0), maps())
    assert right(answer, WAY[0], "house")
    here = iv.Region.circle(WAY[0].position[:2], 0.5)
    held = ask(seen(0), maps(), region={"house": here, "moved": None})
    assert held.verdict != "lost"
    assert right(held, WAY[0], "house")
    there = iv.Region.circle([10.5, 0.0], 1.0)
    answer = ask(seen(0), maps(), region={"moved": there})
    assert answer.verdict != "unique"
    assert lies_in(answer, there, "moved")


@pytest.mark.parametrize("on", ["one map", "several maps in a region"])
def test_several_scans_joined_by_motions_in_space_are_one(on):
    near = iv.Region.circle(WAY[-1].position[:2], 0.5)
    scans, told = [seen(k) for k in range(3)], {"motions": motions(WAY)}
    if on == "one map":
        answer, name = ask(scans, **told, region=near), None
    else:
        answer, name = ask(scans, maps(), **told, region={"house": near}), "house"
    assert answer.verdict == "unique"
    assert right(answer, WAY[-1], name)


def test_many_scans_have_the_answers_of_each():
    (answer,) = iv.locate_many(house_atlas(), [look(TURNS["any"])], any_attitude=True)
    assert answer.verdict is found("any").verdict
    np.testing.assert_array_equal(answer.best.pose.vector, found("any").best.pose.vector)
