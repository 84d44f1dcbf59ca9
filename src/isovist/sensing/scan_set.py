"""Many scans of one sensor, with their poses."""

import math
from dataclasses import dataclass

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.errors import InputError
from isovist.sensing.scan import Scan


@dataclass(frozen=True, slots=True, eq=False)
class ScanSet:
    """A set of scans of one sensor, with their poses.

    Attributes:
        ranges: Ranges in m as in the file, including missing returns, shape (N, B).  Read-only.
        bearings: Direction of each beam in rad, shape (B,).  Read-only.
        poses: x, y (m) and yaw (rad) of the sensor in the map, shape (N, 3).  Read-only.
        range_max: Maximum range in m, at and above which a reading is missing; `inf` if unknown.
        times: Times in s, shape (N,), or `None`.
        odometry: Poses by odometry, shape (N, 3), or `None`.
        in_map_split: Mask of the scans for the map, where the other scans are queries, or `None`.
    """

    ranges: FloatArray
    bearings: FloatArray
    poses: FloatArray
    range_max: float = math.inf
    times: FloatArray | None = None
    odometry: FloatArray | None = None
    in_map_split: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.ranges)

    @property
    def usable(self) -> BoolArray:
        """Mask of the scans that have a valid beam, shape (N,)."""
        with np.errstate(invalid="ignore"):
            valid = (self.ranges > 0.0) & (self.ranges < self.range_max)
        return np.asarray((valid & np.isfinite(self.ranges)).any(axis=1))

    def scan(self, index: int) -> Scan:
        """Return the scan with a number."""
        try:
            return Scan(self.bearings, self.ranges[index], range_max=self.range_max)
        except InputError as error:
            raise InputError(f"Scan {index}: {error}") from error
