"""Logs: scans with the odometry of their moments, out of bags, CARMEN logs and sets of scans.

In a CARMEN log odometry is the second pose of a line, that of the robot (of RAWLASER1 the ODOM line
before it).  The first is that of the laser, and says one of three things.  Where it keeps its place
on the robot (in nine lines of ten, within 1 cm and 0.01 rad), it follows from odometry, and that
place, or PARAM robot_frontlaser_offset when the log has it, is T_robot_sensor.  Where it does not,
somebody corrected it: it is the truth.  Where both poses are the same although the laser has an
offset, both are taken to be that of the laser.  Lines are in the order of the drive, also where
their stamps jump back.

A set of scans (`.npz`) does not say where the sensor sits: at the centre of the robot, unless
`T_robot_sensor` says otherwise.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError, InputError
from isovist.io.logs.carmen import read_carmen_offset
from isovist.io.scans.scan_sets import read_scan_set
from isovist.poses import Pose
from isovist.sensing.log import Log
from isovist.sensing.scan_set import ScanSet
from isovist.storage.files import PathLike, existing_file, is_folder

SAME_POSE = 0.01
"""Poses of a CARMEN log that differ by less, in m and rad, say the same: digits are cut off."""

BAGS = (".bag", ".db3", ".mcap")
CARMEN = (".log", ".clf", ".gz", ".bz2")
_FORMATS = (
    ".bag, .db3, .mcap or a folder with a ROS 2 bag, .log, .clf, .gz or .bz2 with a CARMEN log, "
    "and .npz with a set of scans"
)


def read_log(
    path: PathLike,
    *,
    scan_topic: str | None = None,
    odometry_topic: str | None = None,
    prefix: str = "",
    T_robot_sensor: Pose | None = None,
    sweep: float = 0.0,
    progress: Callable[[float], None] | None = None,
) -> Log:
    """Read a log of scans with odometry; the suffix tells the format.

    Args:
        path: The file, or the folder of a ROS 2 bag.
        scan_topic: For bags: topic of type LaserScan; `None` when there is only one.
        odometry_topic: For bags: topic of type Odometry, or /tf; `None` takes the only Odometry
            topic, or the link below `odom` in /tf when there is none.
        prefix: For `.npz`: what the names of its arrays start with, e.g. "nav_".
        T_robot_sensor: Where the sensor sits; `None` takes what the log says.
        sweep: Time that the sensor takes for one scan, in s, to straighten it by odometry.
        progress: Called with the share of a CARMEN log that is read.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    check_prefix(path, prefix)
    if is_folder(path) or suffix in BAGS:
        from isovist.io.logs.bags import read_bag_log

        return read_bag_log(path, scan_topic, odometry_topic, T_robot_sensor, sweep)
    if scan_topic is not None or odometry_topic is not None:
        raise InputError.about(
            ("scan_topic", "odometry_topic"),
            f"choose topics of a bag, and {path.name} is none.",
            code="conflict",
        )
    if suffix not in (*CARMEN, ".npz"):
        raise FileError(
            f"{path.name} has no suffix of a log. Logs are read from {_FORMATS}.",
            code="unknown_format",
        )
    existing_file(path, "a log")
    if suffix == ".npz":
        log = _from_npz(path, prefix, T_robot_sensor, sweep)
    else:
        log = _from_carmen(path, T_robot_sensor, sweep, progress)
    if len(log) == 0:
        raise FileError(f"{path.name} has no scan with a valid beam.", code="empty")
    return log


def check_prefix(path: Path, prefix: str) -> None:
    """Check that a prefix can choose among the arrays of a file; raise an error otherwise."""
    if prefix and path.suffix.lower() != ".npz":
        raise InputError.about(
            "prefix", f"chooses a sensor of an .npz file, and {path.name} is none.", code="conflict"
        )


def _from_npz(path: Path, prefix: str, sensor: Pose | None, sweep: float) -> Log:
    scans = read_scan_set(path, prefix)
    for name, value in (("odom", scans.odometry), ("t", scans.times)):
        if value is None:
            raise FileError(
                f"{path.name}: `{prefix}{name}` is missing. A log needs the odometry and the time "
                "of each scan."
            )
    assert scans.odometry is not None
    sensor = Pose() if sensor is None else sensor
    return Log.from_set(
        scans, scans.odometry.copy(), compose_poses(scans.poses, sensor.inverse), sensor, sweep
    )


def _from_carmen(
    path: Path, sensor: Pose | None, sweep: float, progress: Callable[[float], None] | None
) -> Log:
    scans, offset = read_carmen_offset(path, progress)
    assert scans.odometry is not None
    middle, corrected = mount_or_truth(scans)
    if sensor is None and offset is not None:
        sensor = Pose(x=offset)
    elif sensor is None:
        sensor = Pose() if corrected else Pose.from_vector(middle)
    robot, odometry = compose_poses(scans.poses, sensor.inverse), scans.odometry.copy()
    # Nothing between the two poses: then they are not those of an offset laser and its robot.
    if not corrected and float(np.abs(middle).max()) < 1e-4:
        odometry = robot
    return Log.from_set(scans, odometry, robot if corrected else None, sensor, sweep)


def mount_or_truth(scans: ScanSet) -> tuple[FloatArray, bool]:
    """Return the pose of the laser on the robot in a CARMEN log, and whether poses were corrected.

    The pose is the median of T_robot_laser by odometry, as x, y (m) and yaw (rad); it stays where
    it is unless somebody corrected the poses of the log.
    """
    assert scans.odometry is not None
    places = _relative(scans.odometry, scans.poses)
    middle = np.median(places, axis=0)
    apart = np.abs(_relative(middle[None, :], places)).max(axis=1)
    return middle, float(np.quantile(apart, 0.9)) > SAME_POSE


def compose_poses(poses: FloatArray, T: Pose) -> FloatArray:
    """Return T_a_b @ T_b_c for many poses T_a_b, shape (m, 3)."""
    return np.array((Pose.from_vector(poses) @ T).vector)


def _relative(a: FloatArray, b: FloatArray) -> FloatArray:
    """T_a_b of poses in one frame, shape (m, 3)."""
    return (Pose.from_vector(a).inverse @ Pose.from_vector(b)).vector
