"""A tracker on several maps: it says which, and follows a robot through lifts and doors."""

import json
from itertools import combinations, pairwise

import numpy as np
import pytest
from tests.support import drives
from tests.support.drives import unique
from tests.support.errors import refused
from tests.support.lift import LIDAR, LIFT, LINK, ON, THERE, UP, floors, storeys_as_drawn, up, way
from tests.support.sites import PLANE, SPACE, gap

from isovist import Link, Pose, Reason, Region, Tracker, Verdict, build


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


def answer(belief):
    return belief.verdict, belief.map


@pytest.mark.slow
@pytest.mark.parametrize(("name", "poses"), [("floor 1", THERE), ("floor 2", up(THERE))])
def test_a_tracker_says_which_map_and_stays_on_it_without_a_scan(name, poses):
    robot = Robot(Tracker(floors()))
    beliefs = robot.drive(name, poses)
    assert answer(beliefs[-1]) == (Verdict.UNIQUE, name)
    away, turn = gap(beliefs[-1].best.pose, poses[-1])
    assert away < 0.1
    assert turn < 0.05
    for belief, pose in zip(beliefs, poses, strict=True):
        if belief.verdict is Verdict.UNIQUE:
            assert belief.map == name
            assert gap(belief.best.pose, pose)[0] < 0.3
    step = Pose(0.3, 0.0, 0.0)
    moved = robot.tracker.move(robot.at @ step)
    assert moved.map == name
    assert gap(moved.best.pose, poses[-1] @ step)[0] < 0.1


@pytest.mark.slow
def test_a_link_switches_the_map_after_a_ride_and_keeps_the_way_so_far():
    robot = Robot(Tracker(floors(), links=[LINK]))
    assert robot.drive("floor 1", THERE)[-1].map == "floor 1"
    kept = len(robot.tracker.state()["frames"])
    beliefs = robot.drive("floor 2", up(ON), seed=1)
    right = [answer(belief) == (Verdict.UNIQUE, "floor 2") for belief in beliefs]
    assert right.index(True) * 0.25 <= 3.0
    assert all(right[right.index(True) :])
    assert (Verdict.UNIQUE, "floor 1") not in map(answer, beliefs)
    assert gap(beliefs[-1].best.pose, UP @ ON[-1])[0] < 0.1
    assert len(robot.tracker.state()["frames"]) > kept


@pytest.mark.slow
def test_who_is_carried_to_another_map_is_found_there():
    robot = Robot(Tracker({**floors(), "annex": PLANE.atlas}))
    assert robot.drive("floor 1", THERE)[-1].map == "floor 1"
    for k in range(16):
        pose = PLANE.places[0] @ Pose(0.0, 0.0, 0.2 * k)
        robot.at = robot.at @ Pose(0.0, 0.0, 0.2 if k else 0.0)
        belief = robot.tracker.update(robot.at, PLANE.look(pose, seed=k))
    assert answer(belief) == (Verdict.UNIQUE, "annex")
    assert gap(belief.best.pose, pose)[0] < 0.1


@pytest.mark.slow
def test_a_robot_that_does_not_ride_stays_on_its_map():
    robot = Robot(Tracker(floors(), links=[LINK]))
    beliefs = robot.drive("floor 1", THERE) + robot.drive("floor 1", ON, seed=2)
    assert answer(beliefs[-1]) == (Verdict.UNIQUE, "floor 1")
    assert all(b.map == "floor 1" for b in beliefs if b.verdict is Verdict.UNIQUE)


@pytest.mark.slow
def test_a_robot_may_ride_at_any_moment():
    """What was seen on the way to the lift speaks against the other floor, but not any more."""
    first, second = storeys_as_drawn(6)
    maps = {"floor 1": build(first), "floor 2": build(second)}
    lift, random = Pose(7.5, 6.0, 0.0), np.random.default_rng(6)
    links = [Link("floor 1", lift, "floor 2", lift)]
    tracker = Tracker(maps, links=links, region={"floor 1": None})
    ways = (first, way((2.0, 6.0), (7.5, 6.0))), (second, way((7.5, 6.0), (11.0, 6.0)))
    there, on = (
        [tracker.update(pose, LIDAR.scan(plan, pose, random)) for pose in poses]
        for plan, poses in ways
    )
    assert there[8].verdict is Verdict.UNIQUE
    assert (Verdict.UNIQUE, "floor 1") not in map(answer, on)
    assert answer(on[-1]) == (Verdict.UNIQUE, "floor 2")


@pytest.mark.slow
def test_many_floors_and_links_leave_one_place_on_each():
    names = [f"floor {k}" for k in range(6)]
    links = [Link(a, LIFT, b, LIFT) for a, b in combinations(names, 2)]
    maps = dict.fromkeys(names, floors()["floor 1"])
    tracker = Tracker(maps, links=links, region={"floor 0": None})
    last = Robot(tracker).drive("floor 1", THERE)[-1]
    assert len(tracker.state()["poses"]) == len(names)
    assert {estimate.map for estimate in last.estimates} == set(names)


@pytest.mark.slow
def test_floors_alike_are_ambiguous_after_a_lift():
    maps = dict.fromkeys(("floor 1", "floor 2"), floors()["floor 1"])
    links = [Link("floor 1", LIFT, "floor 2", LIFT)]
    tracker = Tracker(maps, links=links, region={"floor 1": Region.around(THERE[0], 1.0)})
    beliefs = Robot(tracker).drive("floor 1", THERE)
    assert answer(beliefs[-4]) == (Verdict.UNIQUE, "floor 1")
    last = beliefs[-1]
    assert last.verdict is Verdict.AMBIGUOUS
    assert last.reasons[:2] == (Reason.COMPETITORS, Reason.SEVERAL_MAPS)
    assert last.facts["competitors"] == 1
    assert sorted(last.facts["maps"]) == ["floor 1", "floor 2"]
    assert {estimate.map for estimate in last.estimates[:2]} == {"floor 1", "floor 2"}


def test_a_prior_is_of_a_map():
    maps = dict.fromkeys(("floor 1", "floor 2"), floors()["floor 1"])
    last = Robot(Tracker(maps, region={"floor 2": None})).drive("floor 1", THERE[:8])[-1]
    assert answer(last) == (Verdict.UNIQUE, "floor 2")


def test_several_maps_in_space_are_told_apart():
    maps, poses = {"house": SPACE.atlas, "room": SPACE.twin_atlas}, drives.way("space")[:6]
    last = drives.drive(Tracker(maps), "space", poses)[-1]
    assert answer(last) == (Verdict.UNIQUE, "house")
    assert gap(last.best.pose, poses[-1])[0] < 0.15


@pytest.mark.slow
def test_a_tracker_on_several_maps_survives_a_restart():
    maps = floors()
    prior = {"floor 1": Region.around(THERE[0], 1.0), "floor 2": None}
    tracker = Tracker(maps, links=[LINK], region=prior)
    robot = Robot(tracker)
    robot.drive("floor 1", THERE[:6])
    state = json.loads(json.dumps(tracker.state()))
    again = Tracker.from_state(maps, state)
    assert again.links == tracker.links
    other = Robot(again, robot.at)
    a, b = (each.drive("floor 1", THERE[5:], seed=3) for each in (robot, other))
    assert unique(a).any()
    for one, two in zip(a, b, strict=True):
        assert (one.verdict, one.reasons, one.map) == (two.verdict, two.reasons, two.map)
        assert one.best.pose == two.best.pose
    with refused("state", "conflict"):
        Tracker.from_state(dict(reversed(maps.items())), state)


HERE = Pose()


def on_two(**options):
    return Tracker(dict.fromkeys("ab", PLANE.atlas), **options)


def of_one(tracker):
    tracker.update(Pose(), PLANE.look(PLANE.places[0]))
    return tracker.atlas


@pytest.mark.parametrize(
    ("make", "field", "code"),
    [
        (lambda: Tracker(dict.fromkeys("ab", SPACE.atlas), links=[Link("a", HERE, "b", HERE)]),
         "links", "wrong_dimension"),
        (lambda: Tracker(PLANE.atlas, links=[LINK]), "links", "conflict"),
        (lambda: on_two(links=[("a", HERE)]), "links", "invalid_value"),
        (lambda: on_two(links=[Link("a", HERE, "c", HERE)]), "links", "invalid_value"),
        (lambda: on_two(links=[Link("a", HERE, "a", HERE)]), "links", "invalid_value"),
        (lambda: on_two(links=[Link("a", (0, 0, 0), "b", HERE)]), "links", "invalid_value"),
        (lambda: on_two(region=Region.circle([0.0, 0.0], 1.0)), "region", "invalid_value"),
        (lambda: of_one(on_two()), "atlas", "conflict"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_refused(make, field, code):
    with refused(field, code):
        make()
