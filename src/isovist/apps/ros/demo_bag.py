"""Write a bag of a drive through a generated office, to try the node without a robot.

The robot drives straight until an obstacle is ahead, then turns. The bag has the messages that a
robot with Nav2 records: scans, odometry with drift, tf and the map (latched). It also has true
poses, and poses of another system on `/amcl_pose`. These are right until the middle of the drive
and then 1.5 m off.
"""

import math
from pathlib import Path

import numpy as np

from isovist.apps.ros import messages
from isovist.apps.ros.buses.bag_bus import BagWriter
from isovist.apps.ros.buses.bus import Topic
from isovist.errors import FileError, InputError
from isovist.io import LASER_SCAN, ODOMETRY, write_map
from isovist.localization import Estimate
from isovist.maps import OccupancyMap, SegmentMap
from isovist.poses import Pose
from isovist.sensing import Drift, Scan
from isovist.simulation import CLEARANCE, LIDAR, office_floor, random_pose

STEPS_PER_S = 50
STEPS_PER_SCAN = 5
STEPS_PER_OTHER_POSE = 25
SPEED = 0.5  # m/s
TURN_RATE = 1.0  # rad/s
MOUNT = Pose(0.2, 0.0, 0.0)
"""Pose of the sensor on the robot."""
OTHER_ERROR = Pose(1.5, 0.0, 0.0)
"""Error of the other system from the middle of the drive on."""
START = 1_700_000_000
FRAMES = ("map", "odom", "base_footprint", "laser")
TOPICS = {
    "map": Topic("/map", messages.MAP, latched=True, depth=1),
    "scan": Topic("/scan", LASER_SCAN, reliable=False),
    "odom": Topic("/odom", ODOMETRY),
    "tf": Topic("/tf", messages.TRANSFORM),
    "tf_static": Topic("/tf_static", messages.TRANSFORM, latched=True),
    "other": Topic("/amcl_pose", messages.POSE),
    "truth": Topic("/truth", messages.POSE),
}
"""Topics of the bag of the demonstration."""


def write_demonstration(
    path: Path, *, seed: int = 0, seconds: float = 30.0, plan: Path | None = None
) -> int:
    """Write the bag and the map of the demonstration, and return the number of scans.

    Args:
        path: A new `.mcap` file.
        seed: Seed of the office, the start and the noise.
        seconds: Duration of the drive, in s.
        plan: A new `.yaml` file for the map; by default beside the bag.
    """
    if not 1.0 <= seconds <= 3600.0:
        raise InputError(f"A drive takes from 1 to 3600 s, got {seconds:g}.", field="seconds")
    floor, random = office_floor(seed), np.random.default_rng(seed)
    world = OccupancyMap.from_segments(floor.plan.walls.reshape(-1, 2, 2), 0.05)
    plan = plan or path.with_suffix(".yaml")
    if plan.exists():
        raise FileError(
            f"{plan} is there already. Take another name, or remove it.", code="file_exists"
        )
    writer = BagWriter(path)
    write_map(world, plan)
    ground, odom, robot, sensor = FRAMES
    truth, odometry, drift, scans = random_pose(floor.reality, random), Pose(), Drift(), 0
    static = messages.transforms_message(MOUNT, START, robot, sensor)
    writer.write(TOPICS["tf_static"], START * 10**9, static)
    writer.write(TOPICS["map"], START * 10**9, messages.map_message(world, START, ground))
    steps = int(seconds * STEPS_PER_S)
    for k in range(steps):
        time, nanoseconds = (START + k / STEPS_PER_S, START * 10**9 + k * 10**9 // STEPS_PER_S)
        link = messages.transforms_message(odometry, time, odom, robot)
        writer.write(TOPICS["tf"], nanoseconds, link)
        writer.write(TOPICS["odom"], nanoseconds, odometry_message(odometry, time, odom, robot))
        if k % STEPS_PER_SCAN == 0:
            scan = LIDAR.scan(floor.reality, truth @ MOUNT, random)
            writer.write(TOPICS["scan"], nanoseconds, scan_message(scan, time, sensor))
            writer.write(TOPICS["truth"], nanoseconds, _pose_with_covariance(truth, time, ground))
            scans += 1
        if k % STEPS_PER_OTHER_POSE == 0:
            other = truth if 2 * k < steps else truth @ OTHER_ERROR
            writer.write(TOPICS["other"], nanoseconds, _pose_with_covariance(other, time, ground))
        motion = motion_of(floor.reality, truth)
        spread = np.sqrt(np.diag(drift.covariance(motion, 1.0 / STEPS_PER_S)))
        error = Pose.from_vector(random.normal(0.0, spread))
        truth, odometry = truth @ motion, odometry @ motion @ error
    writer.close()
    return scans


def scan_message(scan: Scan, time: float, frame: str) -> object:
    """Convert a scan with evenly spaced bearings to a LaserScan message."""
    bearings = scan.bearings
    return messages.ros_type(LASER_SCAN)(
        header=messages.header(time, frame), angle_min=float(bearings[0]),
        angle_max=float(bearings[-1]), angle_increment=float(np.diff(bearings).mean()),
        time_increment=0.0, scan_time=STEPS_PER_SCAN / STEPS_PER_S, range_min=float(scan.range_min),
        range_max=min(float(scan.range_max), 1e4),
        ranges=np.where(scan.valid, scan.ranges, np.inf).astype(np.float32),
        intensities=np.empty(0, dtype=np.float32),
    )  # fmt: skip


def odometry_message(pose: Pose, time: float, parent: str, child: str) -> object:
    """Convert a pose to an Odometry message without twist."""
    zero = messages.ros_type("geometry_msgs/msg/Vector3")(x=0.0, y=0.0, z=0.0)
    twist = messages.ros_type("geometry_msgs/msg/Twist")(linear=zero, angular=zero)
    place = messages.pose_message(pose)
    small = (1e-3 * np.eye(6)).ravel()
    pose_type = messages.ros_type("geometry_msgs/msg/PoseWithCovariance")
    twist_type = messages.ros_type("geometry_msgs/msg/TwistWithCovariance")
    return messages.ros_type(ODOMETRY)(
        header=messages.header(time, parent),
        child_frame_id=child,
        pose=pose_type(pose=place, covariance=small),
        twist=twist_type(twist=twist, covariance=small),
    )


def _pose_with_covariance(pose: Pose, time: float, frame: str) -> object:
    """Convert a pose to the message of AMCL."""
    estimate = Estimate(pose, np.diag([0.01, 0.01, 0.003]), 1.0, 1.0, 0.0)
    return messages.stamped_pose(estimate, time, frame)


def motion_of(world: SegmentMap, pose: Pose) -> Pose:
    """Return the motion of one step: forwards if there is room, otherwise a turn to the left."""
    target = pose.apply([CLEARANCE, 0.0])
    if world.contains(target) and world.clearance(target) > CLEARANCE:
        return Pose(SPEED / STEPS_PER_S, 0.0, 0.1 * math.sin(2.0 * pose.x) / STEPS_PER_S)
    return Pose(0.0, 0.0, TURN_RATE / STEPS_PER_S)
