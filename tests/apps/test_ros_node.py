"""The node without transport: what it says to what comes, good and bad."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.attitudes import TURNS, look
from tests.support.errors import refused
from tests.support.ros_robot import MOUNT, START, empty_scan, pose_in_space, started, time_of
from tests.support.sites import PLANE, SPACE, gap

import isovist as iv

STEP = iv.Pose(0.1, 0.0, 0.05)


@pytest.mark.slow
def test_a_unique_pose_is_published_once_with_the_stamp_of_the_scan():
    wire, node, robot = started()
    robot.look(5, STEP)
    (message,) = wire.said["/initialpose"]
    assert gap(wire.poses[0], PLANE.places[0])[0] < 0.1
    assert message.header.frame_id == "map"
    assert time_of(message.header) in {START, START + 0.1, START + 0.2}
    full = message.pose.covariance.reshape(6, 6)
    assert (np.diag(full) > 1e-7).all()  # also of what is not fitted in the plane
    assert (np.linalg.eigvalsh(full) > 0.0).all()
    assert (node.scans, node.dropped, node.published) == (5, 0, 1)
    level, _, values = wire.last
    assert (level, values["verdict"], wire.last.reasons) == (0, "unique", ("only_place",))
    assert {"x", "y", "yaw", "probability", "spread_m", "lambda_min"} <= set(values)
    assert float(values["travelled_m"]) == pytest.approx(0.4, abs=0.001)
    assert len(wire.said["/isovist/rivals"]) == len(wire.said["/isovist/markers"]) == 5


@pytest.mark.slow
def test_every_pose_and_the_link_from_map_to_odom_on_request():
    wire, _, robot = started(publish=("pose", "tf"))
    robot.look(4, iv.Pose(0.1, 0.0, 0.0))
    robot.look()
    assert wire.said["/initialpose"] == []
    assert len(wire.said["/isovist/pose"]) >= 4
    parent, child, T = wire.link()
    assert (parent, child) == ("map", "odom")
    assert gap(T @ robot.odometry, robot.truth)[0] < 0.1
    stamp = wire.said["/tf"][-1].transforms[0].header
    assert time_of(stamp) == time_of(wire.said["/isovist/pose"][-1].header)


def test_a_scan_waits_for_its_odometry_and_none_is_lost():
    wire, node, robot = started()
    robot.send()
    assert (wire.last.level, wire.last.reasons) == (2, ("no_odometry",))
    robot.say_odometry(-0.02)
    assert node.scans == 0
    robot.say_odometry(0.02)
    assert node.scans == 1


@pytest.mark.slow
def test_odometry_may_come_as_tf():
    wire, node, robot = started(odom="tf")
    for _ in range(3):
        for at in (-0.02, 0.02):
            robot.say_tf(at, iv.Pose(9.0, 9.0, 1.0), "elsewhere")
            robot.say_tf(at)
        robot.send()
        robot.time += 0.1
    robot.say_tf(0.0)
    assert node.scans == 3
    assert len(wire.poses) == 1


@pytest.mark.slow
def test_a_robot_without_odometry_is_located_scan_by_scan_and_a_click_counts_until_found():
    wire, _, robot = started(odom="")
    for _ in range(2):
        robot.send(frame="")
    assert gap(wire.poses[0], PLANE.places[0] @ MOUNT)[0] < 0.1
    assert len(wire.poses) == 1
    wire, _, robot = started(odom="", mount=iv.Pose())
    wire.claim(PLANE.places[0], robot.time, spread=0.3)
    for place in (PLANE.places[0], PLANE.places[1]):
        robot.truth = place
        robot.send(frame="")
        robot.time += 0.1
    values = wire.last.values
    assert values["verdict"] == "unique"
    found = [float(values[name]) for name in ("x", "y")]
    np.testing.assert_allclose(found, PLANE.places[1].position, atol=0.1)


@pytest.mark.slow
def test_the_map_may_come_late_and_be_replaced():
    wire, node, robot = started(atlas=None)
    robot.look()
    assert (wire.last.level, wire.last.reasons) == (2, ("no_map",))
    assert not wire.relocalize()
    wire.send_map(PLANE.world)
    robot.look(3)
    wire.send_map(PLANE.world, 7.0)  # the same once more
    robot.look()
    assert len(wire.poses) == 1
    wire.send_map(iv.OccupancyMap(PLANE.world.cells, PLANE.world.resolution, iv.Pose(50.0)), 2.0)
    robot.look(3)
    assert len(wire.poses) == 2
    shift = iv.Pose(50.0) @ PLANE.world.origin.inverse
    assert gap(wire.poses[-1], shift @ robot.truth)[0] < 0.1
    assert node.scans >= 7


def test_a_map_that_is_none_is_refused_and_the_next_is_awaited():
    wire, _, robot = started(atlas=None)
    size = PLANE.world.cells.size
    for data in (np.zeros(size - 1, np.int8), np.full(size, 100, np.int8)):  # short, and all wall
        wire.send_map(PLANE.world, data=data)
        assert (wire.last.level, wire.last.reasons) == (2, ("map_refused",))
    robot.look()
    assert wire.last.reasons == ("no_map",)


@pytest.mark.slow
def test_bad_scans_have_a_code_and_the_next_good_one_is_answered():
    wire, node, robot = started()
    robot.say_odometry(0.02)
    wire.send("/scan", empty_scan(robot))
    assert (wire.last.level, wire.last.reasons) == (2, ("scan_blind",))
    robot.send(frame="camera")
    assert (wire.last.level, wire.last.reasons) == (2, ("scan_refused",))
    robot.send(angle_increment=0.0)
    assert (wire.last.level, wire.last.values["verdict"]) == (2, "lost")
    robot.time += 0.1
    robot.look(3)
    assert wire.last.level == 0, wire.verdicts[-3:]
    assert node.scans == 6


@pytest.mark.slow
def test_the_place_of_the_sensor_is_told_or_taken_from_tf_even_upside_down():
    wire, _, robot = started(sensor=MOUNT)
    robot.look(3, frame="camera")
    assert gap(wire.poses[0], robot.truth)[0] < 0.1
    wire, _, robot = started()
    robot.link("hanging", mount=iv.Pose3.lifted(MOUNT) @ iv.Pose3(roll=np.pi))
    for _ in range(3):
        scan = robot.scan(frame="hanging")
        scan.ranges = scan.ranges[::-1].copy()
        scan.angle_min, scan.angle_max = -scan.angle_max, -scan.angle_min
        robot.say_odometry()
        wire.send("/scan", scan)
        robot.say_odometry(0.02)
        robot.time += 0.1
    assert gap(wire.poses[0], robot.truth)[0] < 0.1


@pytest.mark.slow
def test_a_clock_that_goes_back_begins_anew_and_says_so():
    wire, node, robot = started()
    robot.look(3)
    assert not any("note" in values for _, _, values in wire.verdicts)
    robot.time = 10.0
    robot.look(5)
    assert len(wire.poses) == 2
    assert any("note" in values for _, _, values in wire.verdicts)
    assert node.scans == 8
    robot.time = 1e6
    robot.look(3)
    assert wire.last.level == 0


@pytest.mark.slow
def test_a_scan_that_comes_late_is_left_out():
    wire, node, robot = started()
    robot.look(3)
    robot.send(late=0.25)
    robot.look()
    assert (node.scans, node.dropped) == (4, 1)
    assert "0.150 s" in wire.last.values["note"]
    assert wire.last.values["dropped"] == "1"
    assert len(wire.poses) == 1


def test_odometry_of_another_time_or_that_is_none_is_told():
    wire, _, robot = started()
    robot.say_odometry(500.0)
    robot.send()
    assert wire.last.reasons == ("odometry_stale",)
    wire, _, robot = started()
    robot.say_odometry(w=0.0, z=0.0)
    robot.look(2)
    assert sum("note" in values for _, _, values in wire.verdicts) == 1


@pytest.mark.slow
def test_a_click_is_a_prior_and_our_own_pose_is_none():
    wire, _, robot = started(PLANE.twin_atlas, mount=None)
    robot.truth, robot.site = PLANE.lonely, replace(PLANE, world=PLANE.twins)
    robot.look(3)
    assert wire.poses == []
    assert len(wire.said["/isovist/rivals"][-1].poses) >= 1
    wire.claim(PLANE.twin, robot.time, spread=0.3)
    robot.look(3)
    (message,) = wire.said["/initialpose"]
    assert gap(wire.poses[0], PLANE.twin)[0] < 0.1
    wire.send("/initialpose", message)
    robot.look()
    assert wire.last.level == 0
    assert "note" not in wire.last.values
    wire.claim(PLANE.twin, robot.time, covariance=np.full(36, np.nan))
    robot.look()
    assert "covariance" in wire.last.values["note"]


@pytest.mark.slow
def test_a_robot_that_is_asked_or_was_carried_away_is_told_its_place_again():
    wire, _, robot = started()
    robot.look(3)
    assert wire.relocalize()
    robot.look(3)
    assert len(wire.poses) == 2
    robot.truth = PLANE.places[1]
    robot.look(12, iv.Pose(0.05, 0.0, 0.1))
    assert len(wire.poses) == 3
    assert gap(wire.poses[-1], PLANE.places[1])[0] < 1.0


@pytest.mark.slow
def test_amcl_is_left_alone_while_right_and_mended_when_wrong():
    wire, _, robot = started(watch="/amcl_pose")
    for _ in range(4):
        wire.claim(robot.truth, robot.time, topic="/amcl_pose")
        robot.look(1, iv.Pose(0.05, 0.0, 0.0))
    assert wire.poses == []
    for k in range(3):
        wire.claim(iv.Pose(1.2, 0.0, 0.0) @ robot.truth, robot.time, topic="/amcl_pose")
        robot.look()
        assert len(wire.poses) == (k >= 1)
    assert gap(wire.poses[0], robot.truth)[0] < 0.1
    told = wire.verdicts_of("isovist: /amcl_pose")
    assert [row.level for row in told] == [0, 0, 0, 0, 2, 2, 2]
    assert told[-1].values["verdict"] == "disagrees"
    assert told[-1].reasons
    assert float(told[-1].values["off_m"]) == pytest.approx(1.2, abs=0.1)
    wire, _, robot = started(watch="/amcl_pose")  # which says nothing
    robot.look(3)
    assert len(wire.poses) == 1


@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True])
def test_clouds_are_located_on_maps_in_space(turned):
    wire, _, _ = started(SPACE.atlas, scan="/points", odom="", any_attitude=turned)
    truth = TURNS["any"] if turned else SPACE.places[0]
    wire.send_cloud(look(truth) if turned else SPACE.look(truth))
    pose = pose_in_space(wire.said["/initialpose"][0])
    assert np.linalg.norm(pose.position - truth.position) < 0.1
    off = (truth.rotation.T @ pose.rotation).trace()
    assert np.degrees(np.arccos(min(1.0, (off - 1.0) / 2.0))) < 2.0
    (verdict,) = wire.verdicts
    assert verdict.values["verdict"] == "unique"
    if turned:
        assert float(verdict.values["roll"]) == pytest.approx(pose.roll, abs=1e-4)
        assert float(verdict.values["pitch"]) == pytest.approx(pose.pitch, abs=1e-4)


@pytest.mark.slow
def test_in_any_attitude_a_click_is_a_place_without_a_heading():
    wire, node, _ = started(SPACE.atlas, scan="/points", odom="", any_attitude=True)
    truth = TURNS["any"]
    wire.claim(iv.Pose(truth.x, truth.y), 4.0)  # whatever arrow somebody drew
    wire.send_cloud(look(truth))
    assert np.linalg.norm(node.last.best.pose.position - truth.position) < 0.1
    assert wire.last.values["verdict"] == "unique"


@pytest.mark.parametrize("atlas", [PLANE.atlas, None], ids=["plane", "none"])
def test_any_attitude_is_for_maps_in_space(atlas):
    with refused("map", "wrong_dimension"):
        started(atlas, scan="/points", odom="", any_attitude=True)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_messages():
    wire, node, robot = started()
    for _ in range(20):
        robot.link()
        robot.say_odometry()
    for _ in range(2000):
        robot.time += 0.001
        robot.say_odometry()
    assert len(node.odometry.times) == len(node.odometry.poses) <= 500
    assert all(len(rows) == 8 for rows in node.frames.links.values())
    wire.heard["/scan"](robot.scan())
    blind = empty_scan(robot)
    for _ in range(500):
        wire.heard["/scan"](blind)
    assert node.scans + node.dropped + len(node._waiting) == 501
