"""Turn options of a command line into scans, logs, sensor mounts, poses and search regions."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isovist.errors import InputError
from isovist.poses import Pose, Pose3
from isovist.storage import existing_file

if TYPE_CHECKING:
    from isovist.arrays import FloatArray
    from isovist.atlas import AnyScan
    from isovist.localization import Region
    from isovist.sensing import Log, ScanInput, ScanSet
    from isovist.tracking import AnyLog

MAX_SENSOR_OFFSET = 100.0
Triple = tuple[float, float, float]


def sensor_pose(sensor: Triple | None) -> Pose | None:
    """Return T_robot_sensor from the option `--sensor`: x, y (m) and yaw (rad)."""
    if sensor is None:
        return None
    if not all(abs(value) <= MAX_SENSOR_OFFSET for value in sensor):
        raise InputError.about(
            "sensor",
            "must be x, y (m) and yaw (rad) on the robot, within "
            f"±{MAX_SENSOR_OFFSET:g}, got {', '.join(f'{value:g}' for value in sensor)}.",
        )
    return Pose(*sensor)


def robot_pose(x: float, y: float, yaw: float, z: float | None) -> Pose | Pose3:
    """Return a pose in m and rad; a 3D pose if a height is given."""
    if not all(map(math.isfinite, (x, y, yaw, z or 0.0))):
        raise InputError(f"A pose must be finite, got {x:g}, {y:g}, {yaw:g}.")
    return Pose(x, y, yaw) if z is None else Pose3(x, y, yaw, z)


def covariance(spread: tuple[float, float] | None) -> "FloatArray | None":
    """Return the covariance of (x, y, yaw) from standard deviations in m and rad."""
    if spread is None:
        return None
    metres, radians = spread
    variances = metres * metres, metres * metres, radians * radians
    if not (all(map(math.isfinite, variances)) and metres > 0.0 and radians > 0.0):
        raise InputError.about(
            "spread",
            f"takes standard deviations above 0, in m and rad, got {metres:g} {radians:g}.",
        )
    return np.diag(variances)


def search_region(near: Triple | None, heading: tuple[float, float] | None) -> "Region | None":
    """Return the region that the robot may be in, from `--near` (m) and `--heading` (degrees)."""
    from isovist.localization import Region

    if near is not None and not (all(map(math.isfinite, near)) and near[2] > 0.0):
        raise InputError.about(
            "near",
            f"takes x, y and a positive radius, in m, got {near[0]:g} {near[1]:g} {near[2]:g}.",
        )
    region = None if near is None else Region.circle(near[:2], near[2])
    if heading is None:
        return region
    yaw, tolerance = heading
    if not (abs(yaw) <= 360.0 and 0.0 < tolerance <= 180.0):
        raise InputError.about(
            "heading",
            "takes a yaw within ±360° and a tolerance above 0° and up to 180°, "
            f"got {yaw:g} {tolerance:g}.",
        )
    return (region or Region()).towards(math.radians(yaw), math.radians(tolerance))


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """Options that select a scan of a file, and describe the mounting of the sensor.

    Attributes:
        topic: Topic of a bag that holds the scans, if it has several.
        at: Time of the scan after the start of a bag, in s.
        sensor: Pose of the sensor on the robot, in m and rad.
        is_mirrored: Whether the sensor is mounted upside down.
        roll: Roll of the robot, in degrees, for a 3D scan; `None` leaves that of the scan.
        pitch: Pitch of the robot, in degrees, for a 3D scan; `None` leaves that of the scan.
    """

    topic: str | None = None
    at: float | None = None
    sensor: Triple | None = None
    is_mirrored: bool = False
    roll: float | None = None
    pitch: float | None = None

    def read(self, path: Path) -> "AnyScan":
        """Read one scan."""
        from isovist.io import read_scan
        from isovist.sensing import CloudScan

        place = sensor_pose(self.sensor)
        scan = read_scan(path, scan_topic=self.topic, at=self.at, T_robot_sensor=place)
        scan = scan.mirrored() if self.is_mirrored else scan
        if self.roll is None and self.pitch is None:
            return scan
        if not isinstance(scan, CloudScan):
            raise _not_one_cloud()
        if not all(map(math.isfinite, (self.roll or 0.0, self.pitch or 0.0))):
            raise InputError.about("roll", "and `--pitch` must be angles in degrees.")
        roll = scan.roll if self.roll is None else math.radians(self.roll)
        pitch = scan.pitch if self.pitch is None else math.radians(self.pitch)
        return replace(scan, roll=roll, pitch=pitch)

    def read_last(self, path: Path, count: int, min_distance: float) -> "ScanInput":
        """Read the last `count` scans of a log, at least `min_distance` (m) driven apart."""
        from isovist.sensing import join_scans

        if self.roll is not None or self.pitch is not None:
            raise _not_one_cloud()
        place = sensor_pose(self.sensor)
        log = read_log_with_bar(path, scan_topic=self.topic, T_robot_sensor=place)
        scans = join_scans(*log.until(self.at, count, min_distance))
        return scans.mirrored() if self.is_mirrored else scans


def _not_one_cloud() -> InputError:
    return InputError.about("roll", "and `--pitch` are for one 3D scan.", code="wrong_dimension")


def read_log_with_bar(path: Path, **options: Any) -> "Log":
    """Read a 2D log with a progress bar; the options are those of `read_log`."""
    from isovist.apps.cli.support.progress import bar
    from isovist.io import read_log

    with bar("Reading") as advance:
        return read_log(path, progress=advance, **options)


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Options for reading a log and selecting its scans.

    Attributes:
        scan_topic: Topic of a bag that holds the scans, if it has several.
        odometry_topic: Topic of a bag that holds the odometry.
        sensor: Pose of the sensor on the robot, in m and rad.
        sweep: Time of one turn of the sensor, in s, to straighten 2D scans.
        prefix: Prefix of the arrays of an .npz file.
    """

    scan_topic: str | None = None
    odometry_topic: str | None = None
    sensor: Triple | None = None
    sweep: float = 0.0
    prefix: str = ""

    def read(self, path: Path) -> "AnyLog":
        """Read a 2D or 3D log."""
        from isovist.io import has_point_clouds, read_cloud_log

        topics = {"scan_topic": self.scan_topic, "odometry_topic": self.odometry_topic}
        sensor = sensor_pose(self.sensor)
        if not has_point_clouds(path, self.scan_topic):
            return read_log_with_bar(
                path, **topics, T_robot_sensor=sensor, prefix=self.prefix, sweep=self.sweep
            )
        if self.sweep != 0.0:
            raise InputError.about(
                "sweep",
                "is for 2D scans. Point clouds are straightened by the times of their points.",
                code="wrong_dimension",
            )
        if self.prefix:
            raise InputError.about(
                "prefix", f"is for .npz files, and {path.name} is none.", code="conflict"
            )
        return read_cloud_log(path, **topics, T_robot_sensor=sensor)

    def read_with_truth(self, path: Path, held_out: bool) -> "Log":
        """Read a 2D log with true poses; `held_out` keeps scans that the map was not made of."""
        log = read_log_with_bar(
            path, prefix=self.prefix, T_robot_sensor=sensor_pose(self.sensor), sweep=self.sweep
        )
        if log.truth is None:
            raise InputError(
                f"{path.name} has no true poses, so nothing can be measured.", code="empty"
            )
        return log.take(log.select(held_out=held_out))


def existing_files(paths: Iterable[Path], kind: str = "a CARMEN log") -> list[Path]:
    """Return the paths if all files exist, so that no work begins before a missing one."""
    return [existing_file(path, kind) for path in paths]


def read_carmen_logs(paths: Iterable[Path]) -> "Iterator[tuple[str, ScanSet]]":
    """Yield the name and the scans of CARMEN logs, once all files are known to exist."""
    from isovist.apps.cli.support.progress import bar
    from isovist.io import read_carmen

    for path in existing_files(paths):
        with bar("Reading") as advance:
            scans = read_carmen(path, progress=advance)
        yield path.name, scans
