"""Where the floor of a map in space is.

The floor of a column of cells is the top of its lowest run of occupied cells.  Many columns lie:
below a table or behind a parapet the floor was not seen, and reflections leave cells below it.  So
the columns of each tile of 1 m vote, and the lower quartile counts.  Tiles side by side whose votes
differ by no more than a step are one surface; the largest surface is floor, and so are those at
least a seventh as large.  All other tiles take the floor of the nearest such tile, and columns lie
between the middles of tiles.  There is one floor per column, the lowest: of a house with storeys,
cut the map to one.
"""

import numpy as np

from isovist.errors import InputError
from isovist.maps.cells import Cell
from isovist.maps.voxels import VoxelMap
from isovist.types import BoolArray, FloatArray

TILE = 1.0  # m
VOTES = 4  # columns with an occupied cell that a tile needs
QUARTILE = 0.25
STEP = 0.25  # m; the most that a floor rises from one tile to the next
LARGE = 1.0 / 7.0  # a surface so large, as a share of the largest, is floor too


def floor_levels(world: VoxelMap) -> FloatArray:
    """z of the floor in each column of cells, shape (rows, columns), in m."""
    from scipy.ndimage import distance_transform_edt, map_coordinates

    walls = world.cells == Cell.OCCUPIED
    tops = walls.copy()
    tops[:-1] &= ~walls[1:]
    has = tops.any(axis=0)
    if not has.any():
        raise InputError("The map has no occupied cell, so it has no floor.")
    lowest = world.corner[2] + (np.argmax(tops, axis=0) + 1.0) * world.resolution
    side = max(1, round(TILE / world.resolution))
    tiles = _vote(np.where(has, lowest, np.nan), side)
    if not np.isfinite(tiles).any():  # so sparse a map that no tile has enough votes
        return np.full(world.shape[1:], float(np.quantile(lowest[has], QUARTILE)))
    good = _large_surfaces(tiles)
    nearest = distance_transform_edt(~good, return_distances=False, return_indices=True)
    filled = tiles[tuple(nearest)]
    at = np.meshgrid(*((np.arange(n) + 0.5) / side - 0.5 for n in world.shape[1:]), indexing="ij")
    return np.asarray(map_coordinates(filled, at, order=1, mode="nearest"), dtype=np.float64)


def _vote(levels: FloatArray, side: int) -> FloatArray:
    """Lower quartile of each tile of side × side columns, NaN with too few."""
    rows, columns = levels.shape
    short = -rows % side, -columns % side
    padded = np.pad(levels, ((0, short[0]), (0, short[1])), constant_values=np.nan)
    shape = padded.shape[0] // side, side, padded.shape[1] // side, side
    parts = np.sort(np.moveaxis(padded.reshape(shape), 2, 1).reshape(shape[0], shape[2], -1))
    votes = np.isfinite(parts).sum(axis=2)
    place = np.floor(QUARTILE * np.maximum(votes - 1, 0)).astype(np.int64)
    quartile = np.take_along_axis(parts, place[:, :, None], axis=2)[:, :, 0]
    return np.where(votes >= min(VOTES, side * side), quartile, np.nan)


def _large_surfaces(tiles: FloatArray) -> BoolArray:
    """Which tiles belong to a large surface without steps."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = np.arange(tiles.size).reshape(tiles.shape)
    with np.errstate(invalid="ignore"):
        down, right = (np.abs(np.diff(tiles, axis=k)) <= STEP for k in (0, 1))
    ends = np.concatenate([number[:-1][down], number[:, :-1][right]])
    starts = np.concatenate([number[1:][down], number[:, 1:][right]])
    joined = coo_array((np.ones(len(ends)), (starts, ends)), shape=(tiles.size, tiles.size))
    _, surface = connected_components(joined, directed=False)
    voted = np.isfinite(tiles).ravel()
    sizes = np.bincount(surface[voted], minlength=int(surface.max()) + 1)
    large = (sizes >= LARGE * sizes.max())[surface] & voted
    return np.asarray(large.reshape(tiles.shape))
