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
        ranges: In m, as the file has them, missing returns too; shape (N, B).  Read-only.
        bearings: In rad, shape (B,).  Read-only.
        poses: x, y (m) and yaw (rad) of the sensor in the map, shape (N, 3).  Read-only.
        range_max: Readings at or above it are missing, in m; `inf` when unknown.
        times: In s, shape (N,), or `None`.
        odometry: Poses by odometry, shape (N, 3), or `None`.
        in_map_split: Which scans went into the map that leaves the others for queries, or `None`.
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
        """The mask of scans that have a valid beam, so that `scan` can give them; shape (N,)."""
        with np.errstate(invalid="ignore"):
            valid = (self.ranges > 0.0) & (self.ranges < self.range_max)
        return np.asarray((valid & np.isfinite(self.ranges)).any(axis=1))

    def scan(self, index: int) -> Scan:
        """Return one of the scans."""
        try:
            return Scan(self.bearings, self.ranges[index], range_max=self.range_max)
        except InputError as error:
            raise InputError(f"Scan {index}: {error}") from error
