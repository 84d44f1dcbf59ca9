"""Read logs: scans with the odometry of their times, in the format of the suffix (`LOG_FORMATS`).

A CARMEN log has two poses in each line.  The second one is the odometry of the robot (for RAWLASER1
the ODOM line before it).  The first one is that of the laser, and there are three cases:

- It keeps its place on the robot, in 9 of 10 lines within 1 cm and 0.01 rad.  Then it follows from
  odometry, and that place is T_robot_sensor, or PARAM robot_frontlaser_offset if the log has it.
- It does not.  Then somebody corrected the poses, and they are the truth.
- Both poses are the same although the laser has an offset.  Then both are those of the laser.

Lines are in the order of the drive, also where their stamps jump back.

A set of scans (`.npz`) does not tell where the sensor sits: at the centre of the robot, unless
`T_robot_sensor` is given.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError, InputError
from isovist.io.bags import BAG_SUFFIXES
from isovist.io.formats import Format, format_of, list_formats
from isovist.io.logs.carmen import read_carmen_offset
from isovist.io.scans.scan_sets import read_scan_set
from isovist.io.settings import CHECKS
from isovist.poses import Pose
from isovist.sensing import Log, ScanSet
from isovist.storage import PathLike, existing_file, is_folder

Progress = Callable[[float], None]
BAG = Format(
    "bag, or a folder with a ROS 2 bag", BAG_SUFFIXES, "isovist.io.logs.bags:read_bag_log",
    extra="bags",
)  # fmt: skip
CARMEN = Format(
    "CARMEN log", (".log", ".clf", ".gz", ".bz2"), "isovist.io.logs.read:read_carmen_log"
)
SCAN_SET = Format("set of scans", (".npz",), "isovist.io.logs.read:read_scan_set_log")
LOG_FORMATS = (BAG, CARMEN, SCAN_SET)
"""The kinds of files that a 2D log is read from."""


@dataclass(frozen=True, slots=True)
class LogOptions:
    """The options of `read_log`, with the names of its arguments."""

    scan_topic: str | None = None
    odometry_topic: str | None = None
    prefix: str = ""
    T_robot_sensor: Pose | None = None
    sweep: float = 0.0

    def check(self, path: Path, row: Format | None) -> None:
        """Check that the options suit the format of a file; raise `InputError` otherwise."""
        if self.prefix and row is not SCAN_SET:
            raise InputError.about(
                "prefix",
                f"chooses a sensor of an .npz file, and {path.name} is none.",
                code="conflict",
            )
        if row is not BAG and (self.scan_topic is not None or self.odometry_topic is not None):
            raise InputError.about(
                ("scan_topic", "odometry_topic"),
                f"choose topics of a bag, and {path.name} is none.",
                code="conflict",
            )


def read_log(
    path: PathLike,
    *,
    scan_topic: str | None = None,
    odometry_topic: str | None = None,
    prefix: str = "",
    T_robot_sensor: Pose | None = None,
    sweep: float = 0.0,
    progress: Progress | None = None,
) -> Log:
    """Read a log of 2D scans with odometry.

    The suffix of the file determines its format.

    Args:
        path: The file, or the folder of a ROS 2 bag.
        scan_topic: Topic of type LaserScan of a bag; `None` if the bag has only one.
        odometry_topic: Topic of type Odometry of a bag, or /tf.  `None` takes the only Odometry
            topic, or if there is none, the link below `odom` in /tf.
        prefix: Beginning of the names of the arrays in an `.npz` file, e.g. "nav_".
        T_robot_sensor: Pose of the sensor on the robot; `None` takes the pose in the log.
        sweep: Duration of one scan in s, to correct motion distortion by odometry.
        progress: Function that is called with the share of a CARMEN log that has been read.

    Returns:
        The log, with the odometry pose at the time of each scan.

    Raises:
        FileError: If the file is missing, damaged or of another format.
        InputError: If an argument does not suit the file.
    """
    path = Path(path)
    row = BAG if is_folder(path) else format_of(path, LOG_FORMATS)
    options = LogOptions(scan_topic, odometry_topic, prefix, T_robot_sensor, sweep)
    options.check(path, row)
    if row is None:
        raise FileError(
            f"{path.name} has no suffix of a log. Logs are read from {list_formats(LOG_FORMATS)}.",
            code="unknown_format",
        )
    if row is not BAG:
        existing_file(path, "a log")
    log = cast(Log, row.read(path, options, progress))
    if len(log) == 0:
        raise FileError(f"{path.name} has no scan with a valid beam.", code="empty")
    return log


def read_scan_set_log(path: Path, options: LogOptions, _progress: Progress | None) -> Log:
    """Read a log from a set of scans with times and odometry."""
    scans = read_scan_set(path, options.prefix)
    for name, value in (("odom", scans.odometry), ("t", scans.times)):
        if value is None:
            raise FileError(
                f"{path.name}: `{options.prefix}{name}` is missing. A log needs the odometry and "
                "the time of each scan."
            )
    assert scans.odometry is not None
    sensor = Pose() if options.T_robot_sensor is None else options.T_robot_sensor
    truth = compose_poses(scans.poses, sensor.inverse)
    return Log.from_set(scans, scans.odometry.copy(), truth, sensor, options.sweep)


def read_carmen_log(path: Path, options: LogOptions, progress: Progress | None) -> Log:
    """Read a CARMEN log."""
    scans, offset = read_carmen_offset(path, progress)
    assert scans.odometry is not None
    mounting, is_corrected = mounting_and_correction(scans)
    sensor = options.T_robot_sensor
    if sensor is None and offset is not None:
        sensor = Pose(x=offset)
    elif sensor is None:
        sensor = Pose() if is_corrected else Pose.from_vector(mounting)
    robot, odometry = compose_poses(scans.poses, sensor.inverse), scans.odometry.copy()
    # Two equal poses cannot be those of an offset laser and its robot: both are of the laser.
    if not is_corrected and float(np.abs(mounting).max()) < CHECKS.equal_pose:
        odometry = robot
    return Log.from_set(scans, odometry, robot if is_corrected else None, sensor, options.sweep)


def mounting_and_correction(scans: ScanSet) -> tuple[FloatArray, bool]:
    """Return the pose of the laser on the robot, and whether somebody corrected the poses.

    The pose is the median of T_robot_laser by odometry, as x, y (m) and yaw (rad).  It is constant
    unless somebody corrected the poses of the log.
    """
    assert scans.odometry is not None
    mountings = _relative(scans.odometry, scans.poses)
    median = np.median(mountings, axis=0)
    variation = np.abs(_relative(median[None, :], mountings)).max(axis=1)
    return median, float(np.quantile(variation, 0.9)) > CHECKS.same_pose


def compose_poses(poses: FloatArray, T: Pose) -> FloatArray:
    """Return T_a_b @ T_b_c for an array of poses T_a_b, shape (m, 3)."""
    return np.array((Pose.from_vector(poses) @ T).vector)


def _relative(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return T_a_b of poses in one frame, shape (m, 3)."""
    return (Pose.from_vector(a).inverse @ Pose.from_vector(b)).vector
