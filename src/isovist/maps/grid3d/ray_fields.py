"""Grids for ray casting and wall distances in 3D (`maps.grid3d.grids`).

Each is one array if the grid is dense, and else a table of blocks with an index of them.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import Float32Array, IntArray, readonly, restore
from isovist.compute import BLOCK_SIDE, FIRST_OWN_ROW, FREE_BLOCK, FREE_ROW, UNKNOWN_ROW
from isovist.errors import InputError
from isovist.maps.cells import NO_WALL, distance_to_walls, ray_codes
from isovist.maps.grid3d.blocks import UNKNOWN, BlockGrid, Shape
from isovist.maps.grid3d.grids import DenseGrid, Grid

BLOCKS_PER_PASS = 2048
"""Blocks whose distances are computed at a time."""
NO_INDEX = readonly(np.empty((0, 0, 0), dtype=np.int32))
NO_TABLE = readonly(np.empty((0, 0, 0, 0), dtype=np.uint8))
NO_CODES = readonly(np.empty((0, 0, 0), dtype=np.uint8))
NO_DISTANCES = readonly(np.empty((0, 0, 0), dtype=np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class RayGrid:
    """A 3D grid prepared for ray casting (`compute.rays.grid3d`).

    Attributes:
        index: Row of the table that holds each block, or −b if all blocks nearer than b are free.
            Read-only.
        table: Codes, uint8, shape (rows, 16, 16, 16); empty if `dense` is used.  Read-only.
        shape: (levels, rows, columns) in cells.
        dense: Codes of all cells with a border of one cell; empty if the table is used.  Read-only.
    """

    index: NDArray[np.int32]
    table: NDArray[np.uint8]
    shape: Shape
    dense: NDArray[np.uint8] = field(default_factory=lambda: NO_CODES)

    __setstate__ = restore

    @classmethod
    def from_grid(cls, grid: Grid) -> "RayGrid":
        """Prepare a grid of `Cell` codes for ray casting."""
        if isinstance(grid, DenseGrid):
            return cls.from_dense(ray_codes(grid.cells), grid.shape)
        return cls._by_blocks(grid)

    @classmethod
    def from_dense(cls, dense: NDArray[np.uint8], shape: Shape) -> "RayGrid":
        """Make a ray-casting grid from the codes of all cells, with a border of one cell."""
        return cls(NO_INDEX, NO_TABLE, shape, dense)

    @classmethod
    def _by_blocks(cls, blocks: BlockGrid) -> "RayGrid":
        from scipy.ndimage import distance_transform_cdt

        from isovist.compute import skip_codes

        open_ = blocks.index == FREE_ROW
        far = np.full(open_.shape, max(open_.shape), dtype=np.int32)
        if not open_.all():
            far = distance_transform_cdt(open_, metric="chessboard").astype(np.int32)
        table = np.empty_like(blocks.table)
        table[FREE_ROW], table[UNKNOWN_ROW] = FREE_BLOCK, UNKNOWN - 1
        skip_codes(blocks.index, blocks.table, blocks.places, table)
        return cls(readonly(np.where(open_, -far, blocks.index)), readonly(table), blocks.shape)

    @property
    def parts(self) -> Any:
        """The arrays of the grid, as `compute.grids.fields` takes them."""
        return self.dense if self.dense.size else (self.index, self.table, np.array(self.shape))


@dataclass(frozen=True, slots=True, eq=False)
class WallDistances:
    """The distance of each cell to the nearest wall next to free space, stored near walls only.

    Attributes:
        index: Row of the table that holds each block, int32; 0 where no wall is near.  Read-only.
        table: Distances as indices of `roots`, uint8, shape (rows, 17, 17, 17); empty if `dense` is
            used.  Read-only.
        shape: (levels, rows, columns) in cells.
        limit: Largest distance in the table, in cells.
        dense: Distances of all cells; empty if the table is used.  Read-only.
    """

    index: NDArray[np.int32]
    table: NDArray[np.uint8]
    shape: Shape
    limit: int
    dense: Float32Array = field(default_factory=lambda: NO_DISTANCES)

    __setstate__ = restore

    @classmethod
    def from_grid(cls, grid: Grid, limit: int) -> "WallDistances":
        """Compute the wall distances of a grid of `Cell` codes, up to `limit` cells."""
        if isinstance(grid, BlockGrid):
            return cls._by_blocks(grid, limit)
        return cls.from_dense(distance_to_walls(grid.cells), grid.shape)

    @classmethod
    def from_dense(cls, dense: Float32Array, shape: Shape) -> "WallDistances":
        """Make wall distances from the distances of all cells."""
        return cls(NO_INDEX, NO_TABLE, shape, 0, dense)

    @classmethod
    def _by_blocks(cls, blocks: BlockGrid, limit: int) -> "WallDistances":
        from scipy.ndimage import maximum_filter

        from isovist.compute import squared_distances

        marks = blocks.faces(corners=True)
        marks[marks == UNKNOWN] = 0
        if not marks.any():
            raise InputError(NO_WALL, code="empty")
        has_wall = np.zeros(len(marks), dtype=np.bool_)
        for k in range(FIRST_OWN_ROW, len(marks)):
            has_wall[k] = marks[k].any()
        reach = 1 + (limit - 1) // BLOCK_SIDE
        is_near = maximum_filter(has_wall[blocks.index], size=2 * reach + 1)
        places = np.ascontiguousarray(np.argwhere(is_near))
        index, side = np.zeros(blocks.index.shape, dtype=np.int32), BLOCK_SIDE + 1
        # Memory that is not written to is not taken: most blocks at the rim are dropped.
        table = np.empty((1 + len(places), side, side, side), dtype=np.uint8)
        values = storable_squares(limit)
        number_of = np.searchsorted(values, np.arange(limit * limit + 1), side="right") - 1
        number_of = number_of.astype(np.uint8)
        table[0], count = number_of[-1], 1
        for first in range(0, len(places), BLOCKS_PER_PASS):
            part = places[first : first + BLOCKS_PER_PASS]
            distances = np.empty((len(part), side, side, side), dtype=np.uint16)
            squared_distances(blocks.index, marks, part, limit, distances)
            is_in_reach = distances.reshape(len(part), -1).min(axis=1) < limit * limit
            number = int(np.count_nonzero(is_in_reach))
            table[count : count + number] = number_of[distances[is_in_reach]]
            index[tuple(part[is_in_reach].T)] = count + np.arange(number)
            count += number
        return cls(readonly(index), readonly(table[:count]), blocks.shape, limit)

    @property
    def parts(self) -> Any:
        """The arrays of the distances, as `compute.grids.fields` takes them."""
        if self.dense.size:
            return self.dense
        return self.index, self.table, np.array(self.shape), self.roots

    @property
    def roots(self) -> Float32Array:
        """The distance in cells that each number of the table means, shape (256,)."""
        values = storable_squares(self.limit)
        return np.sqrt(np.pad(values, (0, 256 - len(values)), mode="edge")).astype(np.float32)

    def array(self) -> Float32Array:
        """Return all distances in cells, shape (levels, rows, columns)."""
        if self.dense.size:
            return self.dense
        z, y, x = self.index.shape
        cells = self.table[:, :-1, :-1, :-1][self.index].transpose(0, 3, 1, 4, 2, 5)
        levels, rows, columns = self.shape
        dense = cells.reshape(z * BLOCK_SIDE, y * BLOCK_SIDE, x * BLOCK_SIDE)[
            :levels, :rows, :columns
        ]
        return self.roots[dense]


def storable_squares(limit: int) -> IntArray:
    """Return the squared distances in cells that the table can store, ascending, at most 256.

    Up to a limit of 17 these are all that cells can have.  Beyond it the larger half is thinned.
    """
    squares = np.arange(limit + 1) ** 2
    plane = np.unique(squares[:, None] + squares)
    sums = np.unique(plane[:, None] + squares)
    sums = sums[sums <= limit * limit]
    if len(sums) <= 256:
        return sums
    return sums[np.append(np.arange(128), np.linspace(128, len(sums) - 1, 128).astype(np.int64))]
