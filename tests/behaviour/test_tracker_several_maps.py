"""A tracker on several maps: it says which, and follows a robot through lifts and doors."""

import json
from itertools import combinations, pairwise

import numpy as np
import pytest
from tests.support.lift import LIDAR, LIFT, LINK, ON, THERE, UP, floors, up, way
from tests.support.sites import PLANE, SPACE, gap

import isovist as iv
from isovist import InputError, Pose
from isovist.simulation import storeys


class Robot:
    """Drives on maps, its odometry exact, and tells a tracker."""

    def __init__(self, tracker, at=None):
        self.tracker, self.at = tracker, Pose() if at is None else at

    def drive(self, name, poses, seed=0):
        """Beliefs along poses of one map; odometry goes on where it was."""
        world, random, beliefs = floors()[name].world, np.random.default_rng(seed), []
        for before, pose in pairwise([poses[0], *poses]):
            self.at = self.at @ (before.inverse @ pose)
            beliefs.append(self.tracker.update(self.at, LIDAR.scan(world, pose, random)))
        return beliefs


@pytest.mark.slow
def test_a_tracker_says_which_map():
    for name, poses in (("floor 1", THERE), ("floor 2", up(THERE))):
        beliefs = Robot(iv.Tracker(floors())).drive(name, poses)
        last = beliefs[-1]
        assert (last.verdict, last.map) == (iv.Verdict.UNIQUE, name)
        away, turn = gap(last.best.pose, poses[-1])
        assert away < 0.1
        assert turn < 0.05
        for belief, pose in zip(beliefs, poses, strict=True):
            if belief.verdict is iv.Verdict.UNIQUE:
                assert belief.map == name
                assert gap(belief.best.pose, pose)[0] < 0.3


@pytest.mark.slow
def test_moving_without_a_scan_stays_on_the_map():
    robot = Robot(iv.Tracker(floors()))
    robot.drive("floor 2", up(THERE))
    belief = robot.tracker.move(robot.at @ Pose(0.3, 0.0, 0.0))
    assert belief.map == "floor 2"
    assert gap(belief.best.pose, UP @ THERE[-1] @ Pose(0.3, 0.0, 0.0))[0] < 0.1


@pytest.mark.slow
def test_a_link_switches_the_map_after_a_ride_and_keeps_the_way_so_far():
    robot = Robot(iv.Tracker(floors(), links=[LINK]))
    arrived = robot.drive("floor 1", THERE)[-1]
    assert arrived.map == "floor 1"
    kept = len(robot.tracker.bank.frames)
    beliefs = robot.drive("floor 2", up(ON), seed=1)
    right = [b.verdict is iv.Verdict.UNIQUE and b.map == "floor 2" for b in beliefs]
    assert right.index(True) * 0.25 <= 3.0
    assert all(right[right.index(True) :])
    assert not any(b.verdict is iv.Verdict.UNIQUE and b.map == "floor 1" for b in beliefs)
    assert gap(beliefs[-1].best.pose, UP @ ON[-1])[0] < 0.1
    assert len(robot.tracker.bank.frames) > kept


@pytest.mark.slow
def test_who_is_carried_to_another_map_is_found_there():
    maps = {**floors(), "annex": PLANE.atlas}
    robot = Robot(iv.Tracker(maps))
    assert robot.drive("floor 1", THERE)[-1].map == "floor 1"
    beliefs = []
    for k in range(16):
        pose = PLANE.places[0] @ Pose(0.0, 0.0, 0.2 * k)
        robot.at = robot.at @ Pose(0.0, 0.0, 0.2 if k else 0.0)
        beliefs.append(robot.tracker.update(robot.at, PLANE.look(pose, seed=k)))
    assert (beliefs[-1].verdict, beliefs[-1].map) == (iv.Verdict.UNIQUE, "annex")
    assert gap(beliefs[-1].best.pose, pose)[0] < 0.1


@pytest.mark.slow
def test_a_robot_that_does_not_ride_stays_on_its_map():
    robot = Robot(iv.Tracker(floors(), links=[LINK]))
    beliefs = robot.drive("floor 1", THERE) + robot.drive("floor 1", ON, seed=2)
    last = beliefs[-1]
    assert (last.verdict, last.map) == (iv.Verdict.UNIQUE, "floor 1")
    assert all(b.map == "floor 1" for b in beliefs if b.verdict is iv.Verdict.UNIQUE)


@pytest.mark.slow
def test_a_robot_may_ride_at_any_moment():
    """What was seen on the way to the lift speaks against the other floor, but not any more."""
    first, second = storeys(6, 2, length=20.0, rows=2)
    maps = {"floor 1": iv.build(first.plan), "floor 2": iv.build(second.plan)}
    lift, random = Pose(7.5, 6.0, 0.0), np.random.default_rng(6)
    links = [iv.Link("floor 1", lift, "floor 2", lift)]
    tracker = iv.Tracker(maps, links=links, prior={"floor 1": None})
    beliefs = []
    for plan, poses in (
        (first.plan, way((2.0, 6.0), (7.5, 6.0))),
        (second.plan, way((7.5, 6.0), (11.0, 6.0))),
    ):
        beliefs.append([tracker.update(pose, LIDAR.scan(plan, pose, random)) for pose in poses])
    assert beliefs[0][8].verdict is iv.Verdict.UNIQUE
    right = [(belief.verdict, belief.map) for belief in beliefs[1]]
    assert (iv.Verdict.UNIQUE, "floor 1") not in right
    assert right[-1] == (iv.Verdict.UNIQUE, "floor 2")


@pytest.mark.slow
def test_many_floors_and_links_leave_one_place_on_each():
    atlas = floors()["floor 1"]
    names = [f"floor {k}" for k in range(6)]
    links = [iv.Link(a, LIFT, b, LIFT) for a, b in combinations(names, 2)]
    tracker = iv.Tracker(dict.fromkeys(names, atlas), links=links, prior={"floor 0": None})
    last = Robot(tracker).drive("floor 1", THERE)[-1]
    assert len(tracker.bank) == len(names)
    assert {estimate.map for estimate in last.estimates} == set(names)


@pytest.mark.slow
def test_floors_alike_are_ambiguous_after_a_lift_and_it_is_said():
    atlas = floors()["floor 1"]
    maps = {"floor 1": atlas, "floor 2": atlas}
    links = [iv.Link("floor 1", LIFT, "floor 2", LIFT)]
    tracker = iv.Tracker(maps, links=links, prior={"floor 1": iv.Region.around(THERE[0], 1.0)})
    beliefs = Robot(tracker).drive("floor 1", THERE)
    assert (beliefs[-4].verdict, beliefs[-4].map) == (iv.Verdict.UNIQUE, "floor 1")
    last = beliefs[-1]
    assert last.verdict is iv.Verdict.AMBIGUOUS
    assert last.advice == (
        "1 other place would explain the way so far about as well. Drive on. "
        "The maps look alike from here: it may be floor 1 or floor 2."
    )
    assert {estimate.map for estimate in last.estimates[:2]} == {"floor 1", "floor 2"}


def test_a_prior_is_of_a_map():
    atlas = floors()["floor 1"]
    maps = {"floor 1": atlas, "floor 2": atlas}
    tracker = iv.Tracker(maps, prior={"floor 2": None})
    last = Robot(tracker).drive("floor 1", THERE[:8])[-1]
    assert (last.verdict, last.map) == (iv.Verdict.UNIQUE, "floor 2")


@pytest.mark.slow
def test_a_tracker_on_several_maps_survives_a_restart():
    maps = floors()
    prior = {"floor 1": iv.Region.around(THERE[0], 1.0), "floor 2": None}
    tracker = iv.Tracker(maps, links=[LINK], prior=prior)
    robot = Robot(tracker)
    robot.drive("floor 1", THERE[:6])
    state = json.loads(json.dumps(tracker.state()))
    again = iv.Tracker.from_state(maps, state)
    assert again.links == tracker.links
    other = Robot(again, robot.at)
    a, b = (each.drive("floor 1", THERE[5:], seed=3) for each in (robot, other))
    for one, two in zip(a, b, strict=True):
        assert (one.verdict, one.advice, one.map) == (two.verdict, two.advice, two.map)
        assert one.best.pose == two.best.pose
    with pytest.raises(InputError, match=r"^The state is of a tracker on another map\.$"):
        iv.Tracker.from_state(dict(reversed(maps.items())), state)


def test_bad_input_is_one_line():
    maps = {"floor 1": PLANE.atlas, "floor 2": PLANE.atlas}
    pose = Pose()
    cases = [
        (
            {"a": SPACE.atlas, "b": SPACE.atlas},
            {"links": [iv.Link("a", pose, "b", pose)]},
            "`links` join maps of the plane, and these are in space.",
        ),
        (
            maps,
            {"links": [("floor 1", pose)]},
            "`links` must be links, Link('floor 1', pose, 'floor 2', pose), got tuple.",
        ),
        (PLANE.atlas, {"links": [LINK]}, "`links` join several maps, and this tracker has one."),
        (
            maps,
            {"links": [iv.Link("floor 1", pose, "floor 3", pose)]},
            "A link is of 'floor 3', and the maps are 'floor 1', 'floor 2'.",
        ),
        (
            maps,
            {"links": [iv.Link("floor 1", pose, "floor 1", pose)]},
            "A link joins two maps, got 'floor 1' twice.",
        ),
        (
            maps,
            {"links": [iv.Link("floor 1", (0, 0, 0), "floor 2", pose)]},
            "A link needs a finite Pose(x, y, yaw) on 'floor 1', got (0, 0, 0).",
        ),
        (
            maps,
            {"prior": iv.Region.circle([0.0, 0.0], 1.0)},
            "On several maps `prior` must say which map a Region is of, e.g. {'floor 1': "
            "Region.around(pose, 2.0)}, got Region.",
        ),
    ]
    for given, options, text in cases:
        with pytest.raises(InputError) as error:
            iv.Tracker(given, **options)
        assert str(error.value) == text
    tracker = iv.Tracker(maps)
    tracker.update(Pose(), PLANE.look(PLANE.places[0]))
    with pytest.raises(InputError, match=r"^This tracker has several maps, and one is needed\.$"):
        assert tracker.atlas
