"""What a map of cells, of the plane or of space, looks like to rays and to beams that end."""

from typing import TypeVar

import numpy as np

from isovist.errors import InputError
from isovist.maps.cells import Cell, OccupancyMap
from isovist.maps.distance import distance_to
from isovist.maps.voxels import VoxelMap
from isovist.types import BoolArray, Float32Array, readonly

Grid = TypeVar("Grid", OccupancyMap, VoxelMap, OccupancyMap | VoxelMap)


def bridge_gaps(world: Grid, gap: float) -> Grid:
    """The map with unknown cells nearer than `gap` (m) to free ones made free.

    Far from where it was made, a map of scans has unknown cells between the rays; they hide
    nothing.
    """
    if isinstance(world, VoxelMap) and not world.blocks.has_unknown:
        return world
    unknown = world.cells == Cell.UNKNOWN
    if not unknown.any():
        return world
    near = distance_to(world.cells == Cell.FREE) < np.float64((gap - 1e-9) / world.resolution)
    return world.with_cells(np.where(unknown & near, np.uint8(Cell.FREE), world.cells))


def bare_walls(world: Grid) -> Grid:
    """The map with unknown cells made free."""
    if isinstance(world, VoxelMap) and not world.blocks.has_unknown:
        return world
    return world.with_cells((world.cells == Cell.OCCUPIED).astype(np.uint8))


def wall_faces(world: OccupancyMap) -> BoolArray:
    """Occupied cells that free space touches, shape of the map.

    The inside of a thick wall is not a wall: no beam can end there.
    """
    near = world.cells == Cell.FREE
    for axis in range(near.ndim):
        before, after = np.moveaxis(near, axis, 0), np.moveaxis(near.copy(), axis, 0)
        before[1:] |= after[:-1]
        before[:-1] |= after[1:]
    return np.asarray(near & (world.cells == Cell.OCCUPIED))


def distance_to_walls(world: OccupancyMap) -> Float32Array:
    """Distance of each cell to the nearest wall that free space touches, in cells."""
    faces = wall_faces(world)
    if not faces.any():
        raise InputError("The map has no wall that borders free space, so no scan can fit it.")
    return readonly(distance_to(faces))
