"""Clouds of points on surfaces, as lidars and surveyors deliver them."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.maps.cells import Cell
from isovist.maps.grid3d.voxel_map import VoxelMap, check_points
from isovist.maps.settings import CloudSettings

SETTINGS = CloudSettings()


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
        """Return the cloud without points at the origin, which stand for missing returns."""
        valid = self.points.any(axis=1)
        intensities = None if self.intensities is None else readonly(self.intensities[valid])
        return Cloud(readonly(self.points[valid]), intensities)

    def voxels(self, resolution: float, *, rest: Cell = Cell.FREE, min_points: int = 1) -> VoxelMap:
        """Make a voxel map from the cloud; see `VoxelMap.from_points`."""
        return VoxelMap.from_points(
            self.points, resolution, reflectance=self.intensities, rest=rest, min_points=min_points
        )

    def resolution(self) -> float:
        """Choose a side of the cells, in m, that suits the density and the size of the cloud.

        - 0.1 m if half of the cells with points have at least three, so that walls have no holes
        - 0.2 m otherwise
        - 0.4 m or 0.8 m if the box would have more than 2²⁶ cells with a smaller side
        """
        points = check_points(self.points)
        size = np.ptp(points, axis=0)
        side = SETTINGS.fine_cell_m
        while np.prod(size / side + 3.0) > SETTINGS.max_cells and side < SETTINGS.coarse_cell_m:
            side *= 2.0
        if side >= SETTINGS.usual_cell_m:
            return side
        cell = np.floor((points - points.min(axis=0)) / side).astype(np.int64)
        flat = (cell[:, 0] << 42) | (cell[:, 1] << 21) | cell[:, 2]
        counts = np.unique(flat, return_counts=True)[1]
        is_dense = np.median(counts) >= SETTINGS.min_points_per_cell
        return side if is_dense else SETTINGS.usual_cell_m
