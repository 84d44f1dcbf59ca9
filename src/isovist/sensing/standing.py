"""Scans of a robot that stands still, as one scan with less noise; in space the last one stands
for all, since noise hides behind what the voxels have wrong.

Each direction gets the median of its ranges, so that noise falls and people who walk by vanish.
What the map has wrong is the same in every scan and stays: an answer takes its covariance from the
residuals that are left and counts a block of directions as one witness however many scans there
were (`localization.judge`), so that a hundred scans do not claim to be a hundred independent ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from isovist.errors import InputError
from isovist.poses import AnyPose, way_of
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan

MOVED = 0.2
"""Half of the directions vary by more than this, in m: the robot does not stand."""
SAME = float(np.radians(0.1))
"""Bearings that differ by less are one, in rad: no lidar is finer."""
SEEN = 0.5
"""Least share of the scans in which a direction has a return."""
AGREE = 0.8
"""Least share of the directions that must be as before for a robot to be where it was: more than
people who walk by cover."""
MOST = 20
"""Scans that are merged at most, the latest: by then noise has fallen below what cells leave."""


def merge(scans: Sequence[Scan]) -> Scan:
    """Merge several scans that a robot took at one place into one scan, by median ranges.

    Args:
        scans: At least one; of one sensor, in one place.
    """
    if len(scans) == 0:
        raise InputError(
            "There is no scan to merge; give at least one.", code="missing", field="scans"
        )
    for scan in scans:
        if not isinstance(scan, Scan):
            raise InputError.about(
                "scans",
                f"must be scans of the plane, got {type(scan).__name__}. In space noise "
                "hides behind what the voxels have wrong.",
            )
    first = scans[0]
    if any(scan.T_robot_sensor != first.T_robot_sensor for scan in scans):
        raise InputError(
            "The scans must have one `T_robot_sensor`, since it is one sensor.",
            code="conflict",
            field="scans",
        )
    for scan in scans:
        if scan.bearings.shape != first.bearings.shape or not np.allclose(
            scan.bearings, first.bearings, atol=SAME
        ):
            raise InputError(
                "The scans must have the same bearings, since it is one sensor.",
                code="conflict",
                field="scans",
            )
    ranges = np.stack([np.where(scan.valid, scan.ranges, np.nan) for scan in scans])
    seen = np.isfinite(ranges).mean(axis=0) >= SEEN
    if not seen.any():
        raise InputError(
            "No direction has a return in half of the scans.", code="empty", field="scans"
        )
    merged = np.full(ranges.shape[1], np.inf)
    merged[seen] = np.nanmedian(ranges[:, seen], axis=0)
    typical = float(np.median(np.nanmedian(np.abs(ranges[:, seen] - merged[seen]), axis=0)))
    if typical > MOVED:
        raise InputError(
            f"Half of the ranges vary by more than {typical:.2f} m, so the robot does not stand "
            "still. Merge scans of one place only.",
            code="conflict",
            field="scans",
        )
    return replace(first, ranges=merged, intensities=None)


@dataclass(slots=True, eq=False)
class Stand:
    """A robot that has not moved since some scan.

    Attributes:
        place: T_odom_sensor at the first scan.
        scans: Taken there, the latest of them, oldest first; none in space.
        merged: All of them as one.
        count: How many there were.
    """

    place: AnyPose
    scans: list[Scan]
    merged: Scan | CloudScan | None
    count: int = 1

    @classmethod
    def at(cls, place: AnyPose, scan: Scan | CloudScan) -> "Stand":
        """Start a stand of a robot that has just stopped, with its first scan."""
        return cls(place, [scan] if isinstance(scan, Scan) else [], scan)

    def takes(self, place: AnyPose, scan: Scan | CloudScan, slack: tuple[float, float]) -> bool:
        """Add a scan if it is of the same sensor at the same place, and return whether it was.

        Args:
            place: T_odom_sensor.
            scan: What the sensor saw.
            slack: How far odometry may differ, in m and rad.
        """
        metres, radians = way_of(self.place.inverse @ place)
        if metres > slack[0] or radians > slack[1]:
            return False
        if not isinstance(scan, Scan):
            self.merged, self.count = scan, self.count + 1
            return True
        if not self._is_like(scan):
            return False
        scans = [*self.scans[1 - MOST :], scan]
        try:
            merged = merge(scans)
        except InputError:
            return False
        if merged.valid.sum() < AGREE * scan.valid.sum():  # returns that come and go
            return False
        self.scans, self.merged, self.count = scans, merged, self.count + 1
        return True

    def _is_like(self, scan: Scan) -> bool:
        """Whether a scan is of the same sensor and sees what the others saw."""
        first = self.merged
        assert isinstance(first, Scan)
        if scan.T_robot_sensor != first.T_robot_sensor or scan.ranges.shape != first.ranges.shape:
            return False
        both = scan.valid & first.valid
        if not np.allclose(scan.bearings, first.bearings, atol=SAME) or not both.any():
            return False
        away = np.abs(scan.ranges[both] - first.ranges[both])
        return bool((away <= MOVED).mean() >= AGREE)
