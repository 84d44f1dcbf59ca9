"""The node without transport: what it says to what comes, good and bad."""

import numpy as np
import pytest
from tests.support.ros_robot import START, Robot, Wire, empty_scan
from tests.support.sites import PLANE, SPACE, gap

import isovist as iv
from isovist import Estimate, InputError, Pose, Pose3
from isovist.apps import Node, Parameters, odometry_message
from isovist.io import time_of
from isovist.ros import messages

MOUNT = Pose(-0.25, 0.1, np.pi)


def started(atlas=PLANE.atlas, mount=MOUNT, **parameters):
    wire = Wire()
    node = Node(wire, Parameters(**parameters), atlas)
    robot = Robot(wire, mount=mount)
    robot.link()
    return wire, node, robot


def claim(pose, time, spread=0.1):
    covariance = np.diag([spread**2, spread**2, 0.003])
    return messages.stamped_pose(Estimate(pose, covariance, 1.0, 1.0, 0.0), time, "map")


@pytest.mark.slow
def test_a_unique_pose_is_published_once_with_the_stamp_of_the_scan():
    wire, node, robot = started()
    for _ in range(5):
        robot.look()
        robot.drive(Pose(0.1, 0.0, 0.05))
    (message,) = wire.said["/initialpose"]
    pose, covariance = messages.pose_of(message)
    assert gap(pose, PLANE.places[0])[0] < 0.1
    assert message.header.frame_id == "map"
    assert time_of(message.header) in {START, START + 0.1, START + 0.2}
    full = message.pose.covariance.reshape(6, 6)
    assert (np.diag(full) > 0.0).all()
    assert (np.linalg.eigvalsh(full) > 0.0).all()
    assert (np.linalg.eigvalsh(covariance) > 0.0).all()
    assert (node.scans, node.dropped, node.published) == (5, 0, 1)
    level, words, values = wire.verdicts[-1]
    assert (level, values["verdict"]) == (0, "unique")
    assert words == "One place explains the way so far, and no other comes near."
    assert {"x", "y", "yaw", "probability", "spread_m", "lambda_min", "travelled_m"} <= set(values)
    assert len(wire.said["/isovist/rivals"]) == len(wire.said["/isovist/markers"]) == 5


@pytest.mark.slow
def test_every_pose_and_the_link_from_map_to_odom_on_request():
    wire, _, robot = started(publish=("pose", "tf"))
    for _ in range(4):
        robot.look()
        robot.drive(Pose(0.1, 0.0, 0.0))
    robot.look()
    assert wire.said["/initialpose"] == []
    assert len(wire.said["/isovist/pose"]) >= 4
    link = wire.said["/tf"][-1].transforms[0]
    assert (link.header.frame_id, link.child_frame_id) == ("map", "odom")
    T = messages.transform_of(link.transform.translation, link.transform.rotation).flat
    assert gap(T @ robot.odometry, robot.truth)[0] < 0.1
    assert time_of(link.header) == time_of(wire.said["/isovist/pose"][-1].header)


def test_a_scan_waits_for_its_odometry_and_none_is_lost():
    wire, node, robot = started()
    wire.send("/scan", robot.scan())
    assert wire.verdicts[-1][1] == "No odometry has come yet on /odom."
    robot.say_odometry(-0.02)
    assert node.scans == 0
    robot.say_odometry(0.02)
    assert node.scans == 1


@pytest.mark.slow
def test_odometry_may_come_as_tf():
    wire, node, robot = started(odom="tf")
    for _ in range(3):
        for at in (-0.02, 0.02):
            for child in ("elsewhere", "base"):
                pose = robot.odometry if child == "base" else Pose(9.0, 9.0, 1.0)
                message = messages.transforms_message(pose, robot.time + at, "odom", child)
                wire.send("/tf", message)
        wire.send("/scan", robot.scan())
        robot.time += 0.1
    wire.send("/tf", messages.transforms_message(robot.odometry, robot.time, "odom", "base"))
    assert node.scans == 3
    assert len(wire.said["/initialpose"]) == 1


@pytest.mark.slow
def test_a_robot_without_odometry_is_located_scan_by_scan():
    wire, _, robot = started(odom="")
    for _ in range(2):
        wire.send("/scan", robot.scan(frame=""))
        robot.time += 0.1
    (message,) = wire.said["/initialpose"]
    assert gap(messages.pose_of(message)[0], PLANE.places[0] @ MOUNT)[0] < 0.1


@pytest.mark.slow
def test_the_map_may_come_late_and_be_replaced():
    wire, node, robot = started(atlas=None)
    robot.look()
    assert wire.verdicts[-1][1] == "There is no map yet; one is awaited on /map."
    assert wire.services["/isovist/relocalize"]() == (
        False, "There is no map yet; one is awaited on /map.",
    )  # fmt: skip
    wire.send("/map", messages.map_message(PLANE.world, 1.0, "map"))
    for _ in range(3):
        robot.look()
    assert len(wire.said["/initialpose"]) == 1
    wire.send("/map", messages.map_message(PLANE.world, 7.0, "map"))
    robot.look()
    assert len(wire.said["/initialpose"]) == 1
    moved = iv.OccupancyMap(PLANE.world.cells, PLANE.world.resolution, Pose(50.0, 0.0, 0.0))
    wire.send("/map", messages.map_message(moved, 2.0, "map"))
    for _ in range(3):
        robot.look()
    assert len(wire.said["/initialpose"]) == 2
    pose, _ = messages.pose_of(wire.said["/initialpose"][-1])
    shift = Pose(50.0, 0.0, 0.0) @ PLANE.world.origin.inverse
    assert gap(pose, shift @ robot.truth)[0] < 0.1
    assert node.scans >= 7


def test_a_map_that_is_none_is_told_in_words():
    wire, _, robot = started(atlas=None)
    broken = messages.map_message(PLANE.world, 1.0, "map")
    broken.data = broken.data[:-1]
    wire.send("/map", broken)
    cells = PLANE.world.cells
    assert wire.verdicts[-1][1] == (
        f"The map cannot be used: The map has {cells.size - 1} cells, and says "
        f"{cells.shape[1]} × {cells.shape[0]} of them."
    )
    full = messages.map_message(PLANE.world, 1.0, "map")
    full.data = np.full(cells.size, 100, dtype=np.int8)
    wire.send("/map", full)
    assert wire.verdicts[-1][1] == (
        "The map cannot be used: The map has no free cell, so there is nowhere to be."
    )
    robot.look()
    assert wire.verdicts[-1][1] == "There is no map yet; one is awaited on /map."


@pytest.mark.slow
def test_bad_scans_are_told_in_words_and_the_next_good_one_is_answered():
    wire, node, robot = started()
    robot.say_odometry(0.02)
    wire.send("/scan", empty_scan(robot))
    assert wire.verdicts[-1] == (
        2, "The scan has no valid beam. Is the sensor covered?", {"verdict": "lost"},
    )  # fmt: skip
    wire.send("/scan", robot.scan(frame="camera"))
    assert wire.verdicts[-1][1] == (
        "/tf does not say where `camera` sits on `base`: no link of /tf or /tf_static joins them. "
        "Say it as `T_robot_sensor`, at the command line `--sensor X Y YAW`."
    )
    wire.send("/scan", robot.scan(angle_increment=0.0))
    assert wire.verdicts[-1][0] == 2
    robot.time += 0.1
    for _ in range(3):
        robot.look()
    assert wire.verdicts[-1][0] == 0, wire.verdicts[-3:]
    assert node.scans == 6


def test_the_place_of_the_sensor_can_be_given():
    wire, _, robot = started(sensor=MOUNT)
    for _ in range(3):
        robot.look(frame="camera")
    assert gap(messages.pose_of(wire.said["/initialpose"][0])[0], robot.truth)[0] < 0.1


@pytest.mark.slow
def test_a_lidar_that_hangs_upside_down_is_turned_over():
    wire, _, robot = started()
    T = Pose3.lifted(MOUNT) @ Pose3(roll=np.pi)
    message = messages.transforms_message(T, START, "base", "hanging")
    wire.send("/tf_static", message)
    for _ in range(3):
        scan = robot.scan(frame="hanging")
        scan.ranges = scan.ranges[::-1].copy()
        scan.angle_min, scan.angle_max = -scan.angle_max, -scan.angle_min
        robot.say_odometry()
        wire.send("/scan", scan)
        robot.say_odometry(0.02)
        robot.time += 0.1
    assert gap(messages.pose_of(wire.said["/initialpose"][0])[0], robot.truth)[0] < 0.1


@pytest.mark.slow
def test_a_clock_that_goes_back_begins_anew():
    wire, node, robot = started()
    for _ in range(3):
        robot.look()
    robot.time = 10.0
    for _ in range(5):
        robot.look()
    assert len(wire.said["/initialpose"]) == 2
    notes = [values["note"] for _, _, values in wire.verdicts if "note" in values]
    told = "went back, so everything before is forgotten."
    assert notes
    assert all(note.endswith(told) for note in notes)
    assert node.scans == 8
    robot.time = 1e6
    for _ in range(3):
        robot.look()
    assert wire.verdicts[-1][0] == 0


@pytest.mark.slow
def test_a_scan_that_comes_late_is_left_out():
    wire, node, robot = started()
    for _ in range(3):
        robot.look()
    late = robot.scan()
    late.header = messages.header(robot.time - 0.25, "laser")
    wire.send("/scan", late)
    robot.look()
    assert (node.scans, node.dropped) == (4, 1)
    assert wire.verdicts[-1][2]["note"] == (
        "A scan is left out: it is stamped 0.150 s before the last."
    )
    assert wire.verdicts[-1][2]["dropped"] == "1"
    assert len(wire.said["/initialpose"]) == 1


def test_odometry_of_another_time_is_told_in_words():
    wire, _, robot = started()
    robot.say_odometry(500.0)
    wire.send("/scan", robot.scan())
    assert wire.verdicts[-1][1] == "The odometry is of another time than the scan."


def test_bad_odometry_is_noted_once():
    wire, _, robot = started()
    message = odometry_message(robot.odometry, robot.time, "odom", "base")
    message.pose.pose.orientation.w = message.pose.pose.orientation.z = 0.0
    wire.send("/odom", message)
    robot.look()
    robot.look()
    notes = [values.get("note") for _, _, values in wire.verdicts]
    assert notes.count(
        "Odometry is left out: The pose is not finite, or its quaternion is no rotation."
    ) == 1  # fmt: skip


@pytest.mark.slow
def test_a_click_is_a_prior_and_our_own_pose_is_none():
    wire = Wire()
    Node(wire, Parameters(), PLANE.twin_atlas)
    twins = type(PLANE)(**{**PLANE.__dict__, "world": PLANE.twins})
    robot = Robot(wire, PLANE.lonely, site=twins)
    robot.link()
    for _ in range(3):
        robot.look()
    assert wire.said["/initialpose"] == []
    assert len(wire.said["/isovist/rivals"][-1].poses) >= 1
    wire.send("/initialpose", claim(PLANE.twin, robot.time, 0.3))
    for _ in range(3):
        robot.look()
    (message,) = wire.said["/initialpose"]
    assert gap(messages.pose_of(message)[0], PLANE.twin)[0] < 0.1
    wire.send("/initialpose", message)
    robot.look()
    assert wire.verdicts[-1][0] == 0
    broken = claim(PLANE.twin, robot.time)
    broken.pose.covariance[0] = np.nan
    wire.send("/initialpose", broken)
    robot.look()
    assert wire.verdicts[-1][2]["note"] == (
        "A pose on /initialpose is left out: The covariance of the pose is not finite, or negative."
    )


@pytest.mark.slow
def test_a_click_counts_until_the_place_is_found():
    """Also without odometry, where each scan is located alone."""
    wire, _, robot = started(odom="", mount=Pose())
    wire.send("/initialpose", claim(PLANE.places[0], robot.time, 0.3))
    for place in (PLANE.places[0], PLANE.places[1]):
        robot.truth = place
        wire.send("/scan", robot.scan(frame=""))
        robot.time += 0.1
    _, _, values = wire.verdicts[-1]
    assert values["verdict"] == "unique"
    assert (
        np.hypot(float(values["x"]) - PLANE.places[1].x, float(values["y"]) - PLANE.places[1].y)
        < 0.1
    )


@pytest.mark.slow
def test_the_service_makes_it_say_the_pose_again():
    wire, _, robot = started()
    for _ in range(3):
        robot.look()
    assert wire.services["/isovist/relocalize"]() == (
        True, "Everything is forgotten; the next scan is searched everywhere.",
    )  # fmt: skip
    for _ in range(3):
        robot.look()
    assert len(wire.said["/initialpose"]) == 2


@pytest.mark.slow
def test_a_robot_that_was_carried_away_is_told_its_new_place():
    wire, _, robot = started()
    for _ in range(4):
        robot.look()
    robot.truth = PLANE.places[1]
    for _ in range(12):
        robot.look()
        robot.drive(Pose(0.05, 0.0, 0.1))
    assert len(wire.said["/initialpose"]) == 2
    pose, _ = messages.pose_of(wire.said["/initialpose"][-1])
    assert gap(pose, PLANE.places[1])[0] < 1.0


@pytest.mark.slow
def test_amcl_is_left_alone_while_right_and_mended_when_wrong():
    wire, _, robot = started(watch="/amcl_pose")
    for _ in range(4):
        wire.send("/amcl_pose", claim(robot.truth, robot.time))
        robot.look()
        robot.drive(Pose(0.05, 0.0, 0.0))
    assert wire.said["/initialpose"] == []
    for k in range(3):
        wrong = Pose(1.2, 0.0, 0.0) @ robot.truth
        wire.send("/amcl_pose", claim(wrong, robot.time))
        robot.look()
        assert len(wire.said["/initialpose"]) == (k >= 1)
    pose, _ = messages.pose_of(wire.said["/initialpose"][0])
    assert gap(pose, robot.truth)[0] < 0.1
    told = [m.status[0] for m in wire.said["/isovist/verdict"]]
    told = [row for row in told if row.name == "isovist: /amcl_pose"]
    assert [row.level for row in told] == [0, 0, 0, 0, 2, 2, 2]
    values = {pair.key: pair.value for pair in told[-1].values}
    assert values["verdict"] == "disagrees"


@pytest.mark.slow
def test_amcl_that_says_nothing_is_told_where_it_is():
    wire, _, robot = started(watch="/amcl_pose")
    for _ in range(3):
        robot.look()
    assert len(wire.said["/initialpose"]) == 1


@pytest.mark.slow
def test_clouds_are_located_on_maps_in_space():
    wire = Wire()
    Node(wire, Parameters(scan="/points", odom=""), SPACE.atlas)
    truth = SPACE.places[0]
    points = SPACE.look(truth).points.astype("<f4")
    fields = [
        messages.make("sensor_msgs/msg/PointField", name=name, offset=4 * k, datatype=7, count=1)
        for k, name in enumerate("xyz")
    ]
    message = messages.make(
        "sensor_msgs/msg/PointCloud2", header=messages.header(5.0, "lidar"), height=1,
        width=len(points), fields=fields, is_bigendian=False, point_step=12,
        row_step=12 * len(points), data=np.frombuffer(points.tobytes(), np.uint8), is_dense=True,
    )  # fmt: skip
    wire.send("/points", message)
    (told,) = wire.said["/initialpose"]
    at = told.pose.pose.position
    assert np.hypot(at.x - truth.x, at.y - truth.y) < 0.1
    assert at.z == pytest.approx(truth.z, abs=0.1)


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
    for _ in range(500):
        wire.heard["/scan"](empty_scan(robot))
    assert node.scans + node.dropped + len(node._waiting) == 501


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"publish": ("poses",)}, "`publish` must be of initialpose, pose, tf, got 'poses'."),
        ({"scan": "scan"}, "`scan` must be a topic such as `/scan`, got 'scan'."),
        ({"map": ""}, "`map` must be a topic such as `/map`, got ''."),
        ({"odom": "/"}, "`odom` must be a topic such as `/odom`, got '/'."),
    ],
)
def test_bad_parameters_are_one_line(parameters, text):
    with pytest.raises(InputError) as error:
        Parameters(**parameters)
    assert str(error.value) == text
