"""Change a map of cells into what rays pass and into what beams end at."""

from typing import TypeVar

import numpy as np

from isovist.maps import Cell, OccupancyMap, VoxelMap, distance_to

Grid = TypeVar("Grid", OccupancyMap, VoxelMap, OccupancyMap | VoxelMap)


def bridge_gaps(world: Grid, gap: float) -> Grid:
    """Return the map with unknown cells within `gap` (m) of a free cell turned into free cells.

    A map made from scans has unknown cells between distant rays.  These cells hide nothing.
    """
    if isinstance(world, VoxelMap) and not world.grid.has_unknown:
        return world
    unknown = world.cells == Cell.UNKNOWN
    if not unknown.any():
        return world
    near = distance_to(world.cells == Cell.FREE) < np.float64((gap - 1e-9) / world.resolution)
    return world.with_cells(np.where(unknown & near, np.uint8(Cell.FREE), world.cells))


def bare_walls(world: Grid) -> Grid:
    """Return the map with unknown cells turned into free cells."""
    if isinstance(world, VoxelMap) and not world.grid.has_unknown:
        return world
    return world.with_cells((world.cells == Cell.OCCUPIED).astype(np.uint8))
