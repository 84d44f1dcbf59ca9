"""A bag of a drive through a generated office, so that everything can be tried without a robot.

The robot drives straight on until something is in its way, then turns.  The bag has what a robot
with Nav2 records: scans, odometry that drifts, tf, the map (latched), and poses of another system
on `/amcl_pose` that are right until the middle of the drive and then 1.5 m off; and the truth.
"""

import math
from pathlib import Path

import numpy as np

from isovist.apps.ros import messages
from isovist.apps.ros.buses.bag_bus import BagWriter
from isovist.apps.ros.buses.bus import Topic
from isovist.errors import FileError, InputError
from isovist.io.bags import LASER_SCAN, ODOMETRY
from isovist.io.maps.read import write_map
from isovist.localization.answer import Estimate
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.poses import Pose
from isovist.sensing.drift import Drift
from isovist.sensing.scan import Scan
from isovist.simulation.demo import CLEARANCE, LIDAR, somewhere
from isovist.simulation.worlds import office_floor

RATE, EVERY, OTHERS = 50, 5, 25
"""Odometry a second; steps to a scan, and to a pose of the other system."""
PACE = (0.5, 1.0)
"""Of the robot, in m/s ahead and rad/s on the spot."""
MOUNT = Pose(0.2, 0.0, 0.0)
ASTRAY = Pose(1.5, 0.0, 0.0)
"""By which the other system is off from the middle of the drive on."""
START = 1_700_000_000
"""Of the clock, in s: a bag from the epoch itself confuses its readers."""
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


def write_demonstration(
    path: Path, *, seed: int = 0, seconds: float = 30.0, plan: Path | None = None
) -> int:
    """Write the bag of the demonstration and its map; return the number of scans.

    Args:
        path: An .mcap file that is not there yet.
        seed: Seed of the office, the start and the noise.
        seconds: Duration of the drive, in s.
        plan: A .yaml file for the map that is not there yet; by default beside the bag.
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
    truth, odometry, drift, scans = somewhere(floor.reality, random), Pose(), Drift(), 0
    static = messages.transforms_message(MOUNT, START, robot, sensor)
    writer.write(TOPICS["tf_static"], START * 10**9, static)
    writer.write(TOPICS["map"], START * 10**9, messages.map_message(world, START, ground))
    steps = int(seconds * RATE)
    for k in range(steps):
        time, nanoseconds = START + k / RATE, START * 10**9 + k * 10**9 // RATE
        link = messages.transforms_message(odometry, time, odom, robot)
        writer.write(TOPICS["tf"], nanoseconds, link)
        writer.write(TOPICS["odom"], nanoseconds, odometry_message(odometry, time, odom, robot))
        if k % EVERY == 0:
            scan = LIDAR.scan(floor.reality, truth @ MOUNT, random)
            writer.write(TOPICS["scan"], nanoseconds, scan_message(scan, time, sensor))
            writer.write(TOPICS["truth"], nanoseconds, _claim(truth, time, ground))
            scans += 1
        if k % OTHERS == 0:
            other = truth if 2 * k < steps else truth @ ASTRAY
            writer.write(TOPICS["other"], nanoseconds, _claim(other, time, ground))
        motion = motion_of(floor.reality, truth)
        spread = np.sqrt(np.diag(drift.covariance(motion, 1.0 / RATE)))
        error = Pose.from_vector(random.normal(0.0, spread))
        truth, odometry = truth @ motion, odometry @ motion @ error
    writer.close()
    return scans


def scan_message(scan: Scan, time: float, frame: str) -> object:
    """Convert a scan with evenly spaced bearings to a LaserScan message."""
    bearings = scan.bearings
    return messages.make(
        LASER_SCAN,
        header=messages.header(time, frame), angle_min=float(bearings[0]),
        angle_max=float(bearings[-1]), angle_increment=float(np.diff(bearings).mean()),
        time_increment=0.0, scan_time=EVERY / RATE, range_min=float(scan.range_min),
        range_max=min(float(scan.range_max), 1e4),
        ranges=np.where(scan.valid, scan.ranges, np.inf).astype(np.float32),
        intensities=np.empty(0, dtype=np.float32),
    )  # fmt: skip


def odometry_message(pose: Pose, time: float, parent: str, child: str) -> object:
    """Convert a pose to an Odometry message without twist."""
    still = messages.make("geometry_msgs/msg/Vector3", x=0.0, y=0.0, z=0.0)
    twist = messages.make("geometry_msgs/msg/Twist", linear=still, angular=still)
    small = (1e-3 * np.eye(6)).ravel()
    place = messages.pose_message(pose)
    return messages.make(
        ODOMETRY,
        header=messages.header(time, parent), child_frame_id=child,
        pose=messages.make("geometry_msgs/msg/PoseWithCovariance", pose=place, covariance=small),
        twist=messages.make("geometry_msgs/msg/TwistWithCovariance", twist=twist,
                            covariance=small),
    )  # fmt: skip


def _claim(pose: Pose, time: float, frame: str) -> object:
    """A pose as AMCL says it."""
    estimate = Estimate(pose, np.diag([0.01, 0.01, 0.003]), 1.0, 1.0, 0.0)
    return messages.stamped_pose(estimate, time, frame)


def motion_of(world: SegmentMap, pose: Pose) -> Pose:
    """Return the motion of one step: ahead if there is room, else a turn to the left."""
    ahead = pose.apply([CLEARANCE, 0.0])
    if world.contains(ahead) and world.clearance(ahead) > CLEARANCE:
        return Pose(PACE[0] / RATE, 0.0, 0.1 * math.sin(2.0 * pose.x) / RATE)
    return Pose(0.0, 0.0, PACE[1] / RATE)
