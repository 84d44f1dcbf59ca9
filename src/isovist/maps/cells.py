"""Codes of the cells of a map, and what 2D and 3D maps of cells share."""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import (
    ArrayLike,
    BoolArray,
    Float32Array,
    FloatArray,
    IntArray,
    as_floats,
    readonly,
)
from isovist.errors import InputError
from isovist.maps.base import Hits
from isovist.maps.distance import distance_to, king_moves

MAX_LENGTH = 1e9
"""A cell is shorter than this, in m."""


NO_WALL = "The map has no wall that borders free space, so no scan can fit it."


class Cell(IntEnum):
    """The state of a cell: free, occupied or unknown."""

    FREE = 0
    OCCUPIED = 1
    UNKNOWN = 2


def checked_cells(cells: NDArray[Any]) -> NDArray[np.uint8]:
    """Check `Cell` codes and return them as a read-only array.

    Raises:
        InputError: If a code is not valid, or no cell is free.
    """
    if not np.issubdtype(cells.dtype, np.integer):
        raise InputError.about("cells", f"must be integer codes, got {cells.dtype}.")
    if cells.min() < 0 or cells.max() > Cell.UNKNOWN:
        raise InputError.about(
            "cells",
            "must be 0 (free), 1 (occupied) or 2 (unknown), "
            f"got values from {cells.min()} to {cells.max()}.",
        )
    if not (cells == Cell.FREE).any():
        raise InputError("The map has no free cell, so there is nowhere to be.", code="empty")
    return readonly(np.array(cells, dtype=np.uint8, order="C"))


def checked_reflectance(values: ArrayLike | None, size: int) -> FloatArray | None:
    """Return one reflectance for each cell, read-only, or `None` for a map without them."""
    if values is None:
        return None
    return readonly(as_floats("reflectance", np.ravel(values), (size,)).copy())


def ray_codes(cells: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the grid for ray casting: cells with free distances and a border, read-only."""
    padded = np.pad(cells, 1, constant_values=3)
    free = padded == Cell.FREE
    return readonly(np.where(free, king_moves(free) + np.uint8(2), padded - np.uint8(1)))


def neighbours(met: BoolArray, *, corners: bool) -> BoolArray:
    """Return the cells that share a face (with `corners`, also an edge or corner) with a set."""
    near = np.zeros_like(met)
    for axis in range(met.ndim):
        of, to = np.moveaxis(met | near if corners else met, axis, 0), np.moveaxis(near, axis, 0)
        to[1:] |= of[:-1]
        to[:-1] |= of[1:]
    return near


def wall_faces(cells: NDArray[np.uint8]) -> BoolArray:
    """Return a mask of the occupied cells that touch a free cell, at least at a corner.

    The inside of a thick wall does not count, since no beam can end there.
    """
    return np.asarray(neighbours(cells == Cell.FREE, corners=True) & (cells == Cell.OCCUPIED))


def distance_to_walls(cells: NDArray[np.uint8]) -> Float32Array:
    """Return the distance from each cell to the nearest wall next to free space, in cells.

    The array is read-only.
    """
    faces = wall_faces(cells)
    if not faces.any():
        raise InputError(NO_WALL, code="empty")
    return readonly(distance_to(faces))


def cast_grid_rays(
    cast_rays: Callable[..., None],
    skip: Any,
    start: FloatArray,
    along: FloatArray,
    maximum: float,
    resolution: float,
) -> Hits:
    """Cast rays from points along directions, both (..., d) in the axes of the grid."""
    if not along.any(axis=-1).all():
        raise InputError.about("directions", "must not be zero.")
    check_reach(maximum)
    start, along = np.broadcast_arrays(start, along)
    shape, d = start.shape[:-1], start.shape[-1]
    start, along = (np.array(x.reshape(-1, d), order="C") for x in (start, along))
    ranges, endings = np.empty(len(start)), np.empty(len(start), dtype=np.uint8)
    walls, axes = np.empty(len(start), dtype=np.int64), np.empty(len(start), dtype=np.int64)
    cast_rays(skip, start, along, maximum / resolution, ranges, endings, walls, axes)
    met = (np.arange(d) == axes[:, None]) & (walls[:, None] >= 0)
    arrays = ranges * resolution, walls, np.where(met, -np.sign(along), 0.0), endings
    return Hits(*(readonly(array) for array in arrays)).reshaped(shape)


def check_length(name: str, value: float) -> float:
    """Check that a value is a positive length in m below the largest allowed, and return it."""
    if not (np.isfinite(value) and 0.0 < value < MAX_LENGTH):
        raise InputError.about(name, f"must be a positive length in m, got {value}.")
    return float(value)


def check_reach(maximum: float) -> None:
    """Check that a maximum range is a positive length in m, or infinity."""
    if not maximum > 0.0:
        raise InputError.about("maximum", f"must be a positive length in m, got {maximum}.")


def as_points(name: str, value: ArrayLike, d: int) -> FloatArray:
    """Return a value as an array of finite points of shape (..., d), or raise an error."""
    array = as_floats(name, value)
    if array.ndim == 0 or array.shape[-1] != d:
        raise InputError.about(name, f"must have shape (..., {d}), got {array.shape}.")
    return array


Runs = tuple[IntArray, IntArray, IntArray, NDArray[np.uint8]]


def runs_of(cells: NDArray[np.uint8]) -> tuple[Runs, Runs]:
    """Return the runs of cells and map edge that rays can meet, along rows and along columns.

    These have a face to a free cell; see `sweep_one`.
    """
    skin = surface(cells)
    return _runs(skin), _runs(np.ascontiguousarray(skin.T))


def _runs(surface_codes: NDArray[np.uint8]) -> Runs:
    skin = np.pad(surface_codes, ((0, 0), (1, 1)))
    rows, cols = np.nonzero(skin[:, 1:] != skin[:, :-1])
    codes = skin[rows, cols + 1]
    begins = np.flatnonzero(codes)
    start = np.searchsorted(rows[begins], np.arange(len(skin) + 1))
    return start, cols[begins] - 1, cols[begins + 1] - 1, codes[begins]


def surface(cells: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the cells with a face to a free cell, as codes, with a border of one cell.

    Codes are 1 for a wall, 2 for unknown, 3 for the edge of the map, and 0 for other cells.
    """
    codes = np.pad(cells, 1, constant_values=3)
    return codes * neighbours(codes == Cell.FREE, corners=False)
