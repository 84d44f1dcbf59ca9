"""Clouds of points on surfaces, as lidars and surveyors deliver them."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.maps.grid2d.occupancy_map import Cell
from isovist.maps.grid3d.voxel_map import VoxelMap, check_points

SIDES = (0.1, 0.2, 0.4, 0.8)
"""Sides of the cells that clouds become, in m."""
USUAL = 0.2
LARGEST = 1 << 26
"""Cells of a block that is still described within 4 GB."""
SEVERAL = 3
"""Points of most cells that are small enough: with fewer, walls have holes."""


@dataclass(frozen=True, slots=True, eq=False)
class Cloud:
    """A cloud of points in m, with the intensities that the sensor measured.

    Attributes:
        points: Shape (k, 3), in m.  Read-only.
        intensities: One value per point, shape (k,), or `None`.  Read-only.
    """

    points: FloatArray
    intensities: FloatArray | None = None

    def returns(self) -> "Cloud":
        """Return the cloud without points at the origin, as sensors write a missing return."""
        met = self.points.any(axis=1)
        strengths = None if self.intensities is None else readonly(self.intensities[met])
        return Cloud(readonly(self.points[met]), strengths)

    def voxels(self, resolution: float, *, rest: Cell = Cell.FREE, fewest: int = 1) -> VoxelMap:
        """Return a voxel map whose cells with points are occupied; see `VoxelMap.from_points`."""
        return VoxelMap.from_points(
            self.points, resolution, reflectance=self.intensities, rest=rest, fewest=fewest
        )

    def resolution(self) -> float:
        """Return a suitable cell side, in m: 0.2, or what the density and size allow.

        0.1 where half of the cells that hold points hold three, so that walls stay closed; 0.4 or
        0.8 where the block would have more than 2²⁶ cells otherwise.
        """
        p = check_points(self.points)
        size = np.ptp(p, axis=0)
        small = [side for side in SIDES if np.prod(size / side + 3.0) <= LARGEST]
        if not small or small[0] >= USUAL:
            return max(small[0] if small else SIDES[-1], USUAL)
        place = np.floor((p - p.min(axis=0)) / small[0]).astype(np.int64)
        counts = np.unique(
            (place[:, 0] << 42) | (place[:, 1] << 21) | place[:, 2], False, False, True
        )[1]
        return small[0] if np.median(counts) >= SEVERAL else USUAL
