"""Clouds of points on surfaces, as lidars and surveyors deliver them."""

from dataclasses import dataclass

from isovist.maps.cells import Cell
from isovist.maps.voxels import VoxelMap
from isovist.types import FloatArray, readonly


@dataclass(frozen=True, slots=True, eq=False)
class Cloud:
    """Points in m, with what the sensor measured of each.

    Attributes:
        points: Shape (k, 3), in m.  Read-only.
        intensities: One value per point, shape (k,), or `None`.  Read-only.
    """

    points: FloatArray
    intensities: FloatArray | None = None

    def returns(self) -> "Cloud":
        """The cloud without the points at the origin, as sensors write a missing return."""
        met = self.points.any(axis=1)
        strengths = None if self.intensities is None else readonly(self.intensities[met])
        return Cloud(readonly(self.points[met]), strengths)

    def voxels(self, resolution: float, *, rest: Cell = Cell.FREE, fewest: int = 1) -> VoxelMap:
        """The map of the cells that hold points; see `VoxelMap.from_points`."""
        return VoxelMap.from_points(
            self.points, resolution, reflectance=self.intensities, rest=rest, fewest=fewest
        )
