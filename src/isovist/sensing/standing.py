"""Scans of a robot that stands still, as one scan with less noise; in the plane.

Each direction gets the median of its ranges, so that noise falls and people who walk by vanish.
What the map has wrong is the same in every scan and stays: an answer takes its covariance from the
residuals that are left and counts a block of directions as one witness however many scans there
were (`localization.judge`), so that a hundred scans do not claim to be a hundred independent ones.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from isovist.errors import InputError
from isovist.sensing.scan import Scan

MOVED = 0.2
"""Half of the directions vary by more than this, in m: the robot does not stand."""
SAME = float(np.radians(0.1))
"""Bearings that differ by less are one, in rad: no lidar is finer."""
SEEN = 0.5
"""Least share of the scans in which a direction has a return."""


def merge(scans: Sequence[Scan]) -> Scan:
    """One scan of several that a robot took on the spot.

    Args:
        scans: At least one; of one sensor, in one place.
    """
    if len(scans) == 0:
        raise InputError("There is no scan to merge; give at least one.")
    for scan in scans:
        if not isinstance(scan, Scan):
            raise InputError(
                f"`scans` must be scans of the plane, got {type(scan).__name__}. In space noise "
                "hides behind what the voxels have wrong."
            )
    first = scans[0]
    if any(scan.T_robot_sensor != first.T_robot_sensor for scan in scans):
        raise InputError("The scans must have one `T_robot_sensor`, since it is one sensor.")
    for scan in scans:
        if scan.bearings.shape != first.bearings.shape or not np.allclose(
            scan.bearings, first.bearings, atol=SAME
        ):
            raise InputError("The scans must have the same bearings, since it is one sensor.")
    ranges = np.stack([np.where(scan.valid, scan.ranges, np.nan) for scan in scans])
    seen = np.isfinite(ranges).mean(axis=0) >= SEEN
    if not seen.any():
        raise InputError("No direction has a return in half of the scans.")
    merged = np.full(ranges.shape[1], np.inf)
    merged[seen] = np.nanmedian(ranges[:, seen], axis=0)
    typical = float(np.median(np.nanmedian(np.abs(ranges[:, seen] - merged[seen]), axis=0)))
    if typical > MOVED:
        raise InputError(
            f"Half of the ranges vary by more than {typical:.2f} m, so the robot does not stand "
            "still. Merge scans of one place only."
        )
    return replace(first, ranges=merged, intensities=None)
