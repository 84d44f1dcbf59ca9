"""The node on several maps: it says which one, and no pose in the frame of another."""

import json

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.lift import LIDAR, LIFT, ON, ON_2, THERE, UP, floors, up
from tests.support.ros_robot import Robot, pose_of, scan_message, started
from tests.support.sites import gap

import isovist as iv

pytestmark = pytest.mark.slow
MAPS = ("floor 1", "floor 2")
MOUNT = iv.Pose(0.1, 0.0, 0.3)


class Rider(Robot):
    """A robot that rides; `floor` is where it is."""

    def __init__(self, wire, **options):
        super().__init__(wire, THERE[0], **options)
        self.floor, self.random = "floor 1", np.random.default_rng(0)

    def scan(self, frame="laser"):
        world = floors()[self.floor].world
        seen = LIDAR.scan(world, self.truth @ self.mount, self.random)
        return scan_message(seen, self.time, frame)

    def follow(self, poses):
        """Drive through poses of the floor it is on, looking at each."""
        for pose in poses:
            self.drive(self.truth.inverse @ pose)
            self.look()


def ridden(tmp_path, maps=None, links=True, **parameters):
    """A wire, a node that knows the lift if it shall, and a robot on the first floor."""
    path = tmp_path / "links.yaml"
    path.write_text(json.dumps([{MAPS[0]: LIFT.vector.tolist(), MAPS[1]: ON_2.vector.tolist()}]))
    if links:
        parameters["links"] = str(path)
    return started(maps or floors(), mount=MOUNT, robot=Rider, **parameters)


def twins():
    return dict.fromkeys(MAPS, floors()["floor 1"])


def load(wire, name, time=1.0):
    wire.send_map(floors()[name].world, time)


def test_after_a_ride_no_pose_is_told_until_the_other_map_is_loaded(tmp_path):
    wire, node, robot = ridden(tmp_path, publish=("initialpose", "pose", "tf"))
    load(wire, "floor 1")
    robot.follow(THERE[:10])
    values = wire.last.values
    assert (wire.last.level, wire.frame) == (0, "map")
    assert (values["map"], values["loaded"], node.map_frames.name) == 3 * ("floor 1",)
    assert [m.header.frame_id for m in wire.said["/initialpose"]] == ["map"]
    assert wire.said["/isovist/pose"][-1].header.frame_id == wire.link()[0] == "map"
    robot.follow(THERE[10:])
    before = len(wire.poses)
    robot.floor, robot.truth = "floor 2", UP @ robot.truth
    robot.follow(up(ON[1:14]))
    values = wire.last.values
    assert (wire.last.level, wire.frame) == (0, "floor 2")
    assert (values["map"], values["loaded"]) == ("floor 2", "floor 1")
    assert wire.last.words != node.last.advice  # another map must be loaded
    assert wire.said["/isovist/pose"][-1].header.frame_id == "floor 2"
    assert {m.header.frame_id for m in wire.said["/initialpose"]} == {"map"}
    told = len(wire.poses)
    assert told <= before + 1  # at the lift both floors are possible
    load(wire, "floor 2", 2.0)
    robot.follow(up(ON[14:16]))
    assert len(wire.poses) == told + 1
    message = wire.said["/initialpose"][-1]
    assert message.header.frame_id == wire.link()[0] == "map"
    assert gap(pose_of(message), UP @ ON[14])[0] < 0.2
    assert wire.last.words == node.last.advice
    load(wire, "floor 2", 3.0)
    robot.follow(up(ON[16:18]))
    assert len(wire.poses) == told + 1


def test_without_a_map_server_each_map_has_a_frame_of_its_own(tmp_path):
    wire, _, robot = ridden(tmp_path, links=False)
    robot.follow(THERE[:10])
    (message,) = wire.said["/initialpose"]
    assert message.header.frame_id == wire.frame == "floor 1"
    values = wire.last.values
    assert (values["map"], values["loaded"]) == ("floor 1", "")


def test_a_map_that_is_none_of_ours_is_noted_and_none_is_taken_for_loaded(tmp_path):
    wire, node, robot = ridden(tmp_path)
    load(wire, "floor 1")
    ours = floors()["floor 1"].world
    moved = iv.OccupancyMap(ours.cells, ours.resolution, iv.Pose(50.0))
    turned = iv.OccupancyMap(ours.cells, 1.01 * ours.resolution, ours.origin)
    for other in (moved, turned):
        wire.send_map(other)
        assert node.map_frames.name is None
        robot.look()
        assert "/map" in wire.last.values["note"]
        load(wire, "floor 1")
        assert node.map_frames.name == "floor 1"
    wire, node, _ = ridden(tmp_path, maps=twins())
    load(wire, "floor 1")
    assert node.map_frames.name is None


def test_rivals_on_another_map_are_not_drawn_on_this_one(tmp_path):
    wire, node, robot = ridden(tmp_path, maps=twins())
    robot.follow(THERE[:6])
    assert {estimate.map for estimate in node.last.estimates} == set(MAPS)
    assert (wire.last.level, wire.last.reasons) == (1, node.last.reasons)
    assert iv.Reason.SEVERAL_MAPS in node.last.reasons
    own = [e for e in node.last.estimates if e.map == node.last.map]
    assert len(wire.said["/isovist/rivals"][-1].poses) == len(own) - 1
    assert len(wire.said["/isovist/markers"][-1].markers) == len(own) + 1


@pytest.mark.parametrize("floor", MAPS)
def test_a_click_is_of_the_map_in_its_frame(tmp_path, floor):
    wire, node, robot = ridden(tmp_path, maps=twins(), links=False)
    wire.claim(THERE[0], 1.0, frame=floor)
    robot.follow(THERE[:8])
    assert (node.last.verdict, node.last.map) == (iv.Verdict.UNIQUE, floor)


def test_a_click_is_of_the_map_that_is_loaded_and_else_left_out(tmp_path):
    wire, node, robot = ridden(tmp_path)
    load(wire, "floor 1")
    wire.claim(THERE[0], 1.0)
    robot.follow(THERE[:8])
    assert (node.last.verdict, node.last.map) == (iv.Verdict.UNIQUE, "floor 1")
    for frame in ("map", "cellar"):
        wire, _, robot = ridden(tmp_path)
        wire.claim(THERE[0], 1.0, frame=frame)
        robot.look()
        assert frame in wire.last.values["note"]


def test_poses_of_another_system_are_checked_on_the_map_that_is_loaded(tmp_path):
    wire, node, robot = ridden(tmp_path, watch="/amcl_pose")
    load(wire, "floor 1")
    for pose in THERE[:6]:
        wire.claim(pose, robot.time, topic="/amcl_pose")
        robot.follow([pose])
    assert set(node.watchdog.counts) <= {"agrees", "cannot tell"}
    assert wire.verdicts_of("isovist: /amcl_pose")[-1].values["map"] == "floor 1"


def test_a_map_must_not_be_called_as_the_frame(tmp_path):
    maps = dict(zip(("map", "b"), floors().values(), strict=True))
    with refused("map_frame", "conflict"):
        ridden(tmp_path, maps=maps, links=False)


def test_a_robot_without_odometry_is_located_on_all_maps(tmp_path):
    wire, node, robot = ridden(tmp_path, links=False, odom="")
    robot.floor, robot.truth = "floor 2", UP @ THERE[4]
    robot.send()
    assert node.last.map == wire.last.values["map"] == "floor 2"
    assert wire.last.values["loaded"] == ""
