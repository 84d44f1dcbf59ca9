"""Merge the scans of a robot that stands still into one scan with less noise.

Each direction gets the median of its ranges.  Noise falls, and people who walk by disappear.
Errors of the map are the same in every scan and remain.  So the covariance of an answer comes from
the residuals of the merged scan, and a block of directions counts once for any number of scans
(`decide`).  In 3D the last scan replaces all, since the error of the voxels is larger
than the noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from isovist.errors import InputError
from isovist.poses import AnyPose, way_of
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan
from isovist.sensing.settings import StationarySettings

SETTINGS = StationarySettings()
SAME_BEARING = float(np.radians(0.1))
"""Bearings that differ by less, in rad, are equal: no lidar has a finer step."""


def merge(scans: Sequence[Scan]) -> Scan:
    """Merge 2D scans of one sensor at one place into one scan, with the median of each range.

    Args:
        scans: One or more scans with the same bearings.

    Raises:
        InputError: If the scans are of different sensors, or the robot moved between them.
    """
    _check_scans(scans)
    ranges = np.stack([np.where(scan.valid, scan.ranges, np.nan) for scan in scans])
    has_return = np.isfinite(ranges).mean(axis=0) >= SETTINGS.min_return_share
    if not has_return.any():
        raise InputError(
            "No direction has a return in half of the scans.", code="empty", field="scans"
        )
    medians = np.full(ranges.shape[1], np.inf)
    medians[has_return] = np.nanmedian(ranges[:, has_return], axis=0)
    residuals = np.abs(ranges[:, has_return] - medians[has_return])
    variation = float(np.median(np.nanmedian(residuals, axis=0)))
    if variation > SETTINGS.max_variation_m:
        raise InputError(
            f"Half of the ranges vary by more than {variation:.2f} m, so the robot does not stand "
            "still. Merge scans of one place only.",
            code="conflict",
            field="scans",
        )
    return replace(scans[0], ranges=medians, intensities=None)


def _check_scans(scans: Sequence[Scan]) -> None:
    if len(scans) == 0:
        raise InputError(
            "There is no scan to merge; give at least one.", code="missing", field="scans"
        )
    for scan in scans:
        if not isinstance(scan, Scan):
            raise InputError.about(
                "scans",
                f"must be 2D scans, got {type(scan).__name__}. In 3D use the last scan: the error "
                "of the voxels is larger than the noise.",
            )
        if scan.T_robot_sensor != scans[0].T_robot_sensor:
            raise InputError(
                "The scans must have one `T_robot_sensor`, since it is one sensor.",
                code="conflict",
                field="scans",
            )
        if not _has_bearings_of(scan, scans[0]):
            raise InputError(
                "The scans must have the same bearings, since it is one sensor.",
                code="conflict",
                field="scans",
            )


def _has_bearings_of(scan: Scan, other: Scan) -> bool:
    return scan.bearings.shape == other.bearings.shape and np.allclose(
        scan.bearings, other.bearings, atol=SAME_BEARING
    )


@dataclass(slots=True, eq=False)
class StationaryScans:
    """The scans of a robot that stands still.

    Attributes:
        pose: T_odom_sensor at the first scan.
        scans: The latest 2D scans, oldest first; none in 3D.
        merged: All scans since the robot stopped, merged into one scan.
        count: Number of scans since the robot stopped.
    """

    pose: AnyPose
    scans: list[Scan]
    merged: Scan | CloudScan | None
    count: int = 1

    @classmethod
    def start(cls, pose: AnyPose, scan: Scan | CloudScan) -> "StationaryScans":
        """Begin with the first scan after the robot has stopped."""
        return cls(pose, [scan] if isinstance(scan, Scan) else [], scan)

    def add(self, pose: AnyPose, scan: Scan | CloudScan, slack: tuple[float, float]) -> bool:
        """Add a scan if the robot has not moved; return whether it was added.

        Args:
            pose: T_odom_sensor at the scan.
            scan: The scan.
            slack: Maximum distance (m) and angle (rad) by odometry of a robot that stands still.
        """
        distance, turn = way_of(self.pose.inverse @ pose)
        if distance > slack[0] or turn > slack[1]:
            return False
        if not isinstance(scan, Scan):
            self.merged, self.count = scan, self.count + 1
            return True
        if not self._agrees(scan):
            return False
        scans = [*self.scans[1 - SETTINGS.max_scans :], scan]
        try:
            merged = merge(scans)
        except InputError:
            return False
        if merged.valid.sum() < SETTINGS.min_agreement * scan.valid.sum():  # returns come and go
            return False
        self.scans, self.merged, self.count = scans, merged, self.count + 1
        return True

    def _agrees(self, scan: Scan) -> bool:
        """Return whether a scan is of the same sensor and has the ranges of the merged scan."""
        merged = self.merged
        assert isinstance(merged, Scan)
        if scan.T_robot_sensor != merged.T_robot_sensor or not _has_bearings_of(scan, merged):
            return False
        valid = scan.valid & merged.valid
        if not valid.any():
            return False
        differences = np.abs(scan.ranges[valid] - merged.ranges[valid])
        is_same = differences <= SETTINGS.max_variation_m
        return bool(is_same.mean() >= SETTINGS.min_agreement)
