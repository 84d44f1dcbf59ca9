"""Odometry and scans of one update, brought to a common frame.

In 3D poses are those of a level frame at the place of the sensor, as in `localization`: scan and
odometry lose roll and pitch.  These come from the scan; if it has none, from odometry; if that has
none either, from the ground in the scan (`sensing.levelling`).
A sensor that turns during a scan sees a moving world.  Returns that have times are moved to where
they would be if the robot had stood still, by its motion since the last update.
"""

from dataclasses import dataclass, replace

import numpy as np

from isovist.atlas import AnyScan, SearchSpace
from isovist.errors import InputError
from isovist.poses import AnyPose, Pose, Pose3
from isovist.sensing import CloudScan, check_tilt, level_scan

MAX_DISTANCE = 1e7
LEVEL = (0.0, 0.0)
ON_GROUND = (
    "A pose x, y, yaw is of a robot on level ground. In any attitude `odometry` must be a Pose3, "
    "x, y, yaw, z, roll, pitch, or none."
)


def check_odometry(
    space: SearchSpace, odometry: AnyPose | None, any_attitude: bool = False
) -> AnyPose | None:
    """Return T_odom_robot as a map needs it: in 3D a Pose3.

    Args:
        space: The map, or several.
        odometry: The pose that the user gave, if any.
        any_attitude: Whether the robot may lean by any angle, which a 2D pose excludes.

    Raises:
        InputError: If the pose is of another type or dimension, not finite, or absurdly far away.
    """
    if odometry is None:
        return None
    is_2d = space.dimension == 2
    if not isinstance(odometry, Pose if is_2d else AnyPose) or odometry.shape != ():
        expected = "Pose(x, y, yaw)" if is_2d else "Pose3(x, y, yaw, z, roll, pitch)"
        raise InputError.about(
            "odometry", f"must be a pose, {expected}, got {type(odometry).__name__}."
        )
    if not np.isfinite(odometry.vector).all():
        raise InputError.about("odometry", f"must be finite, got {odometry}.")
    if np.abs(odometry.position).max() > MAX_DISTANCE:
        raise InputError.about(
            "odometry",
            f"must lie within {MAX_DISTANCE:g} m of its origin, got {odometry}. "
            "Give it in m, and check its source.",
        )
    if is_2d:
        return odometry
    if any_attitude:
        if not isinstance(odometry, Pose3):
            raise InputError(ON_GROUND, code="conflict", field="odometry")
        return odometry
    pose = Pose3.lifted(odometry)
    check_tilt(pose.roll, pose.pitch)
    return pose


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A scan and the pose of the robot at that time.

    Attributes:
        scan: The scan.
        odometry: T_odom_robot, by odometry or predicted.
        has_odometry: Whether it is by odometry.
        previous: T_odom_robot at the last update, if there was one.
        seconds: Time since then, if the user gives times.
    """

    scan: AnyScan
    odometry: AnyPose
    has_odometry: bool
    previous: AnyPose | None
    seconds: float | None

    def straightened(self) -> AnyScan:
        """Return the scan as it would be if the robot had stood still."""
        scan, previous = self.scan, self.previous
        if not isinstance(scan, CloudScan) or scan.times is None:
            return scan
        if previous is None or not self.seconds:
            return scan
        mount = scan.T_robot_sensor
        motion = (previous @ mount).inverse @ (self.odometry @ mount)
        return scan.straighten(motion, self.seconds)

    def with_tilt(self) -> "Reading":
        """Return the reading with a straightened scan, where scan and odometry lean alike."""
        scan = self.straightened()
        if not isinstance(scan, CloudScan):
            return replace(self, scan=scan)
        roll, pitch = _tilt_of(self.odometry) if self.has_odometry else LEVEL
        if (scan.roll, scan.pitch) == LEVEL and (roll, pitch) != LEVEL:
            scan = replace(scan, roll=roll, pitch=pitch)
        level = level_scan(scan)
        assert isinstance(level, CloudScan)  # as the scan is one
        if (roll, pitch) != LEVEL:
            return replace(self, scan=level)
        x, y, z = (float(v) for v in self.odometry.position)
        pose = Pose3(x, y, self.odometry.yaw, z, level.roll, level.pitch)
        return replace(self, scan=level, odometry=pose)

    def has_tilt_from_ground(self, scan: AnyScan) -> bool:
        """Return whether the tilt of a scan `with_tilt` comes from its ground alone."""
        if not isinstance(self.scan, CloudScan) or not isinstance(scan, CloudScan):
            return False
        is_changed = (self.scan.roll, self.scan.pitch) != (scan.roll, scan.pitch)
        return is_changed and _tilt_of(self.odometry) == LEVEL


def _tilt_of(pose: AnyPose) -> tuple[float, float]:
    """Return roll and pitch, in rad."""
    return (pose.roll, pose.pitch) if isinstance(pose, Pose3) else LEVEL
