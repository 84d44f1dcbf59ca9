"""The node on several maps: it says which one, and no pose in the frame of another."""

import json

import numpy as np
import pytest
from tests.support.lift import LIDAR, LIFT, ON, ON_2, THERE, UP, floors, up
from tests.support.ros_robot import Robot, Wire
from tests.support.sites import gap

import isovist as iv
from isovist import Estimate, InputError, Pose
from isovist.apps import Node, Parameters, scan_message
from isovist.ros import messages

MAPS = ("floor 1", "floor 2")


class Rider(Robot):
    """A robot that rides; `floor` is where it is."""

    def __init__(self, wire, **options):
        super().__init__(wire, THERE[0], **options)
        self.floor, self.random = "floor 1", np.random.default_rng(0)

    def scan(self, frame="laser", **changes):
        world = floors()[self.floor].world
        seen = LIDAR.scan(world, self.truth @ self.mount, self.random)
        message = scan_message(seen, self.time, frame)
        for name, value in changes.items():
            setattr(message, name, value)
        return message

    def follow(self, poses):
        """Drive through poses of the floor it is on, looking at each."""
        for pose in poses:
            step = self.truth.inverse @ pose
            self.truth, self.odometry = pose, self.odometry @ step
            self.look()


def started(tmp_path, maps=None, links=True, **parameters):
    wire, path = Wire(), tmp_path / "links.yaml"
    ends = {"floor 1": LIFT.vector.tolist(), "floor 2": ON_2.vector.tolist()}
    path.write_text(json.dumps([ends]))
    given = Parameters(links=str(path) if links else "", **parameters)
    node = Node(wire, given, floors() if maps is None else maps)
    robot = Rider(wire, mount=Pose(0.1, 0.0, 0.3))
    robot.link()
    return wire, node, robot


def load(wire, name, time=1.0):
    wire.send("/map", messages.map_message(floors()[name].world, time, "map"))


def last(wire):
    """Level, words and values of the last verdict, and its frame."""
    level, words, values = wire.verdicts[-1]
    return level, words, values, wire.said["/isovist/verdict"][-1].header.frame_id


@pytest.mark.slow
def test_the_verdict_names_the_map_and_the_frame_is_that_of_the_map_loaded(tmp_path):
    wire, node, robot = started(tmp_path, publish=("initialpose", "pose", "tf"))
    load(wire, "floor 1")
    robot.follow(THERE[:10])
    level, _, values, frame = last(wire)
    assert (level, frame) == (0, "map")
    assert (values["map"], values["loaded"]) == ("floor 1", "floor 1")
    (message,) = wire.said["/initialpose"]
    assert message.header.frame_id == "map"
    assert wire.said["/isovist/pose"][-1].header.frame_id == "map"
    assert wire.said["/tf"][-1].transforms[0].header.frame_id == "map"
    assert node.loaded.name == "floor 1"


@pytest.mark.slow
def test_after_a_ride_no_pose_is_told_until_the_other_map_is_loaded(tmp_path):
    wire, node, robot = started(tmp_path, publish=("initialpose", "pose", "tf"))
    load(wire, "floor 1")
    robot.follow(THERE)
    before = len(wire.said["/initialpose"]), len(wire.said["/tf"])
    robot.floor, robot.truth = "floor 2", UP @ robot.truth
    robot.follow(up(ON[1:14]))
    level, words, values, frame = last(wire)
    assert (level, values["map"], values["loaded"], frame) == (0, "floor 2", "floor 1", "floor 2")
    assert words == (f"{node.last.advice} It is on floor 2, and floor 1 is loaded: load floor 2.")
    assert wire.said["/isovist/pose"][-1].header.frame_id == "floor 2"
    on_1 = [m.header.frame_id for m in wire.said["/initialpose"]]
    assert set(on_1) == {"map"}
    told = len(on_1), len(wire.said["/tf"])
    assert told[0] <= before[0] + 1  # at the lift both floors are possible
    load(wire, "floor 2", 2.0)
    robot.follow(up(ON[14:16]))
    assert len(wire.said["/initialpose"]) == told[0] + 1
    pose, _ = messages.pose_of(wire.said["/initialpose"][-1])
    assert wire.said["/initialpose"][-1].header.frame_id == "map"
    assert gap(pose, UP @ ON[14])[0] < 0.2
    assert wire.said["/tf"][-1].transforms[0].header.frame_id == "map"
    load(wire, "floor 2", 3.0)
    robot.follow(up(ON[16:18]))
    assert len(wire.said["/initialpose"]) == told[0] + 1


@pytest.mark.slow
def test_without_a_map_server_each_map_has_a_frame_of_its_own(tmp_path):
    wire, _, robot = started(tmp_path, links=False)
    robot.follow(THERE[:10])
    (message,) = wire.said["/initialpose"]
    assert message.header.frame_id == "floor 1"
    _, _, values, frame = last(wire)
    assert (values["map"], values["loaded"], frame) == ("floor 1", "", "floor 1")


@pytest.mark.slow
def test_a_map_that_is_none_of_ours_is_noted_and_none_is_taken_for_loaded(tmp_path):
    wire, node, robot = started(tmp_path)
    load(wire, "floor 1")
    other = floors()["floor 1"].world
    moved = iv.OccupancyMap(other.cells, other.resolution, Pose(50.0, 0.0, 0.0))
    wire.send("/map", messages.map_message(moved, 1.0, "map"))
    assert node.loaded.name is None
    robot.look()
    note = wire.verdicts[-1][2]["note"]
    assert note == "The map on /map is none of those given, or like several of them."
    twins = dict.fromkeys(MAPS, floors()["floor 1"])
    wire, node, robot = started(tmp_path, maps=twins)
    load(wire, "floor 1")
    assert node.loaded.name is None


@pytest.mark.slow
def test_rivals_on_another_map_are_not_drawn_on_this_one(tmp_path):
    twins = dict.fromkeys(MAPS, floors()["floor 1"])
    wire, node, robot = started(tmp_path, maps=twins)
    robot.follow(THERE[:6])
    assert {estimate.map for estimate in node.last.estimates} == set(MAPS)
    level, words, _, _ = last(wire)
    assert level == 1
    assert words.endswith("The maps look alike from here: it may be floor 1 or floor 2.")
    own = [e for e in node.last.estimates if e.map == node.last.map]
    assert len(wire.said["/isovist/rivals"][-1].poses) == len(own) - 1
    assert len(wire.said["/isovist/markers"][-1].markers) == len(own) + 1


def click(pose, time, frame):
    estimate = Estimate(pose, np.diag([0.01, 0.01, 0.003]), 1.0, 1.0, 0.0)
    return messages.stamped_pose(estimate, time, frame)


@pytest.mark.slow
def test_a_click_is_of_the_map_loaded_or_of_the_map_in_its_frame(tmp_path):
    twins = dict.fromkeys(MAPS, floors()["floor 1"])
    for frame, where in (("floor 1", "floor 1"), ("floor 2", "floor 2")):
        wire, node, robot = started(tmp_path, maps=twins, links=False)
        wire.send("/initialpose", click(THERE[0], 1.0, frame))
        robot.follow(THERE[:8])
        assert (node.last.verdict, node.last.map) == (iv.Verdict.UNIQUE, where)
    wire, node, robot = started(tmp_path)
    load(wire, "floor 1")
    wire.send("/initialpose", click(THERE[0], 1.0, "map"))
    robot.follow(THERE[:8])
    assert (node.last.verdict, node.last.map) == (iv.Verdict.UNIQUE, "floor 1")
    for frame, note in (
        ("map", "It is in 'map', and which map is loaded is not known."),
        ("cellar", "It is in 'cellar', which is no map's frame."),
    ):
        wire, node, robot = started(tmp_path)
        wire.send("/initialpose", click(THERE[0], 1.0, frame))
        robot.look()
        assert wire.verdicts[-1][2]["note"] == f"A pose on /initialpose is left out: {note}"


@pytest.mark.slow
def test_poses_of_another_system_are_checked_on_the_map_that_is_loaded(tmp_path):
    wire, node, robot = started(tmp_path, watch="/amcl_pose")
    load(wire, "floor 1")
    for pose in THERE[:6]:
        robot.wire.send("/amcl_pose", click(pose, robot.time, "map"))
        robot.follow([pose])
    assert set(node.watchdog.counts) <= {"agrees", "cannot tell"}
    rows = [m.status[0] for m in wire.said["/isovist/verdict"]]
    values = [{p.key: p.value for p in r.values} for r in rows if r.name.endswith("/amcl_pose")]
    assert values[-1]["map"] == "floor 1"


@pytest.mark.slow
def test_a_map_must_not_be_called_as_the_frame(tmp_path):
    with pytest.raises(InputError) as error:
        started(tmp_path, maps={"map": floors()["floor 1"], "b": floors()["floor 2"]}, links=False)
    assert str(error.value) == (
        "A map is called 'map', as the frame of the map that is loaded is. "
        "Rename it, or set `map_frame`."
    )


@pytest.mark.slow
def test_a_robot_without_odometry_is_located_on_all_maps(tmp_path):
    wire, node, robot = started(tmp_path, links=False, odom="")
    robot.floor, robot.truth = "floor 2", UP @ THERE[4]
    wire.send("/scan", robot.scan())
    assert node.last.map == "floor 2"
    assert {"map", "loaded"} <= set(wire.verdicts[-1][2])
