"""Find the floor of a map, and the places where a sensor can stand.

In 3D the floor of a column of cells is the top of its lowest run of occupied cells.  Many columns
are wrong: below a table or behind a parapet the floor was not seen, and reflections leave cells
below it.  So the columns of each tile of 1 m vote, and the lower quartile counts.  Neighbouring
tiles whose votes differ by no more than a step are one surface.  The largest surface is floor, and
so are those at least a seventh as large.  All other tiles take the floor of the nearest such tile.
The floor of a column is interpolated between the middles of tiles.  There is one floor per column,
the lowest: a building is first divided into its floors (`maps.grid3d.building_floors`).

A point cloud shows the floor in rings around the sensor, with nothing between them.  A scan from
another place has its own rings, so the holes are closed (`close_floor`); otherwise it fits best
where the sensor of the map stood.
"""

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, FloatArray, IntArray
from isovist.errors import InputError
from isovist.maps.cells import Cell
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.maps.grid3d.grids import grid_of_walls
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.settings import FloorSettings

SETTINGS = FloorSettings()


def standing_places(
    world: OccupancyMap | VoxelMap, clearance: float = 0.25, height: float = 1.0
) -> FloatArray:
    """Return the centres of the cells where a sensor can stand, shape (k, d), in m.

    Args:
        world: The map.
        clearance: Minimum distance to all walls in m, such as half the width of the robot.
        height: Height of the sensor above the floor, in m; for 3D maps only.
    """
    if isinstance(world, OccupancyMap):
        return world.centres(*np.nonzero(standing_cells(world, clearance)))
    from scipy.ndimage import distance_transform_edt

    z = floor_levels(world) + height
    level = np.floor((z - world.corner[2]) / world.resolution).astype(np.int64)
    inside = (level >= 0) & (level < world.shape[0])
    around = _codes(world, np.where(inside, level, 0))
    is_clear = distance_transform_edt(around != Cell.OCCUPIED) * world.resolution >= clearance
    rows, columns = np.nonzero(inside & is_clear & (around == Cell.FREE))
    if rows.size == 0:
        raise InputError(
            f"No free place {height:g} m above the floor is {clearance:g} m from all walls.",
            code="empty",
        )
    xy = world.corner[:2] + (np.stack([columns, rows], axis=-1) + 0.5) * world.resolution
    return np.column_stack([xy, z[rows, columns]])


def standing_cells(world: OccupancyMap, clearance: float = 0.25) -> BoolArray:
    """Return a mask of the cells where a sensor can stand, with the shape of the map.

    The cells are the largest connected part of the free cells that have `clearance` (m) to all
    walls. Other parts, such as the courtyards of a drawing, are out of reach of a robot.
    """
    from scipy.ndimage import distance_transform_edt, label

    free = np.pad(world.cells == Cell.FREE, 1)
    is_clear = (distance_transform_edt(free) * world.resolution >= clearance)[1:-1, 1:-1]
    parts, number = label(is_clear)
    if number == 0:
        raise InputError(f"No free place of the map is {clearance} m from all walls.", code="empty")
    return np.asarray(parts == 1 + int(np.argmax(np.bincount(parts.ravel())[1:])))


def close_floor(world: VoxelMap) -> VoxelMap:
    """Return the map with the holes of its floor closed.

    A column within 5 m of floor that was seen gets a floor cell at that height, unless it has a
    cell within one cell of it.  New cells have the median reflectance.  A map with unknown cells is
    returned unchanged.
    """
    walls = world.grid.walls()
    if world.grid.has_unknown or walls.size == 0:
        return world
    levels, is_near = _floor(world)
    top = np.ceil((levels - world.corner[2]) / world.resolution - 1e-6).astype(np.int64) - 1
    is_hole = is_near & (top >= 0) & (top < world.shape[0])
    for step in (-1, 0, 1):
        level = np.clip(top + step, 0, world.shape[0] - 1)
        is_hole &= _codes(world, level) != Cell.OCCUPIED
    rows, columns = np.nonzero(is_hole)
    if rows.size == 0:
        return world
    new = np.ravel_multi_index((top[rows, columns], rows, columns), world.shape)
    values = world.reflectance
    if values is not None:
        values = np.array(values)
        values[new] = np.median(values[walls])
    grid = grid_of_walls(np.concatenate([walls, new]), world.shape)
    return VoxelMap(grid, world.resolution, world.corner, values)


def floor_levels(world: VoxelMap) -> FloatArray:
    """Return the height z of the floor in each column of cells, shape (rows, columns), in m."""
    return _floor(world)[0]


def _floor(world: VoxelMap) -> tuple[FloatArray, BoolArray]:
    """Return the floor levels, and which columns lie within `max_hole_m` of visible floor."""
    from scipy.ndimage import distance_transform_edt, map_coordinates

    walls = world.grid.walls()
    if walls.size == 0:
        raise InputError("The map has no occupied cell, so it has no floor.", code="empty")
    levels, rows, columns = world.shape
    above = np.minimum(walls + rows * columns, world.grid.size - 1)
    highest = walls >= (levels - 1) * rows * columns
    tops = walls[highest | (world.grid.at(above) != Cell.OCCUPIED)]
    level = np.full(rows * columns, -1)
    level[tops[::-1] % (rows * columns)] = tops[::-1] // (rows * columns)  # the lowest comes last
    has_wall = (level >= 0).reshape(rows, columns)
    lowest = world.corner[2] + (level.reshape(rows, columns) + 1.0) * world.resolution
    side = max(1, round(SETTINGS.tile_m / world.resolution))
    tiles = _vote(np.where(has_wall, lowest, np.nan), side)
    if not np.isfinite(tiles).any():  # so sparse a map that no tile has enough votes
        flat = np.full((rows, columns), float(np.quantile(lowest[has_wall], SETTINGS.quantile)))
        return flat, np.zeros(flat.shape, dtype=np.bool_)
    distance, nearest = distance_transform_edt(~_large_surfaces(tiles), return_indices=True)
    axes = ((np.arange(n) + 0.5) / side - 0.5 for n in world.shape[1:])
    at = np.meshgrid(*axes, indexing="ij")
    z = map_coordinates(tiles[tuple(nearest)], at, order=1, mode="nearest")
    is_near = distance * side * world.resolution <= SETTINGS.max_hole_m
    is_near = np.repeat(np.repeat(is_near, side, 0), side, 1)[:rows, :columns]
    return np.asarray(z, dtype=np.float64), is_near


def _codes(world: VoxelMap, levels: IntArray) -> NDArray[np.uint8]:
    """Return the codes of one cell of each column, by its level, shape (rows, columns)."""
    columns = np.arange(levels.size).reshape(levels.shape)
    return world.grid.at(levels * levels.size + columns)


def _vote(levels: FloatArray, side: int) -> FloatArray:
    """Return the lower quartile of each tile of side × side columns, NaN with too few."""
    rows, columns = levels.shape
    margins = (0, -rows % side), (0, -columns % side)
    padded = np.pad(levels, margins, constant_values=np.nan)
    shape = padded.shape[0] // side, side, padded.shape[1] // side, side
    parts = np.sort(np.moveaxis(padded.reshape(shape), 2, 1).reshape(shape[0], shape[2], -1))
    votes = np.isfinite(parts).sum(axis=2)
    index = np.floor(SETTINGS.quantile * np.maximum(votes - 1, 0)).astype(np.int64)
    quartile = np.take_along_axis(parts, index[:, :, None], axis=2)[:, :, 0]
    return np.where(votes >= min(SETTINGS.min_votes, side * side), quartile, np.nan)


def _large_surfaces(tiles: FloatArray) -> BoolArray:
    """Return the tiles that belong to a large surface without steps."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = np.arange(tiles.size).reshape(tiles.shape)
    with np.errstate(invalid="ignore"):
        down, right = (np.abs(np.diff(tiles, axis=k)) <= SETTINGS.max_step_m for k in (0, 1))
    ends = np.concatenate([number[:-1][down], number[:, :-1][right]])
    starts = np.concatenate([number[1:][down], number[:, 1:][right]])
    graph = coo_array((np.ones(len(ends)), (starts, ends)), shape=(tiles.size, tiles.size))
    _, surface = connected_components(graph, directed=False)
    has_vote = np.isfinite(tiles).ravel()
    sizes = np.bincount(surface[has_vote], minlength=int(surface.max()) + 1)
    is_large = (sizes >= SETTINGS.min_surface_share * sizes.max())[surface] & has_vote
    return np.asarray(is_large.reshape(tiles.shape))
