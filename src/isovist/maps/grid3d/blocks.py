"""3D grids in blocks, so that memory grows with the walls and not with the box around them.

Blocks of 16³ cells that are all free, or all unknown with only unknown neighbours, are not stored
(`compute.grids.blocks`).  A town of 1 km × 1 km × 50 m has 6 · 10⁹ cells of 0.2 m, and 1 in 10 of
its blocks holds a wall.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, IntArray, readonly, restore
from isovist.compute import BLOCK_SIDE, FIRST_OWN_ROW, FREE_ROW, UNKNOWN_ROW
from isovist.errors import InputError

FREE, OCCUPIED, UNKNOWN = 0, 1, 2
MAX_BLOCKS = 1 << 26
"""Blocks of the box around a map: an index of 268 MB, and 1.7 km³ of cells of 0.2 m."""
PORTION_BYTES = 1 << 26
"""Bytes of cells that are sorted into blocks at once."""

Shape = tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class BlockGrid:
    """A 3D grid of `Cell` codes that is stored in blocks of 16³ cells.

    Attributes:
        index: Row of the table that holds each block, int32, shape (z, y, x) in blocks. Read-only.
        table: Codes, uint8, shape (rows, 16, 16, 16).  Read-only.
        shape: (levels, rows, columns) in cells.
    """

    index: NDArray[np.int32]
    table: NDArray[np.uint8]
    shape: Shape

    __setstate__ = restore

    @classmethod
    def from_array(cls, cells: NDArray[np.uint8]) -> "BlockGrid":
        """Make a grid from `Cell` codes, shape (levels, rows, columns)."""
        levels, rows, columns = cells.shape
        counts = blocks_of(cells.shape)
        free, unknown = np.empty(counts, dtype=bool), np.empty(counts, dtype=bool)
        for portion in _portions(counts):
            parts = _parts(cells, *portion)
            free[portion] = parts.max(axis=(3, 4, 5)) == FREE
            unknown[portion] = parts.min(axis=(3, 4, 5)) == UNKNOWN
        own = ~free & ~_deep(unknown)
        index = np.where(free, FREE_ROW, UNKNOWN_ROW).astype(np.int32)
        index[own] = FIRST_OWN_ROW + np.arange(np.count_nonzero(own), dtype=np.int32)
        table = np.empty(
            (FIRST_OWN_ROW + np.count_nonzero(own), BLOCK_SIDE, BLOCK_SIDE, BLOCK_SIDE),
            dtype=np.uint8,
        )
        table[:FIRST_OWN_ROW] = _uniform()
        for portion in _portions(counts):
            if own[portion].any():
                table[index[portion][own[portion]]] = _parts(cells, *portion)[own[portion]]
        return cls(readonly(index), readonly(table), (levels, rows, columns))

    @classmethod
    def from_walls(cls, walls: IntArray, shape: Shape) -> "BlockGrid":
        """Make a grid from flat indices of occupied cells, shape (k,); other cells are free."""
        z, y, x = np.unravel_index(walls, shape)
        counts = blocks_of(shape)
        number = np.ravel_multi_index((z // BLOCK_SIDE, y // BLOCK_SIDE, x // BLOCK_SIDE), counts)
        index = np.zeros(int(np.prod(counts)), dtype=np.int32)
        index[number] = 1
        own = np.flatnonzero(index)
        index[own] = FIRST_OWN_ROW + np.arange(own.size, dtype=np.int32)
        table = np.zeros(
            (FIRST_OWN_ROW + own.size, BLOCK_SIDE, BLOCK_SIDE, BLOCK_SIDE), dtype=np.uint8
        )
        table[UNKNOWN_ROW] = UNKNOWN
        table[index[number], z % BLOCK_SIDE, y % BLOCK_SIDE, x % BLOCK_SIDE] = OCCUPIED
        return cls(readonly(index.reshape(counts)), readonly(table), shape)

    @property
    def size(self) -> int:
        """The number of cells of the grid."""
        levels, rows, columns = self.shape
        return levels * rows * columns

    @property
    def parts(self) -> tuple[NDArray[np.int32], NDArray[np.uint8], IntArray]:
        """The index, the table, and the size along z, y and x, as kernels take them."""
        return self.index, self.table, np.array(self.shape)

    @property
    def places(self) -> IntArray:
        """The position (z, y, x) of each stored block, in the order of the table, shape (k, 3)."""
        own = np.ascontiguousarray(np.argwhere(self.index >= FIRST_OWN_ROW))
        return own[np.argsort(self.index[tuple(own.T)], kind="stable")]

    @property
    def has_unknown(self) -> bool:
        """True if any cell is unknown."""
        return bool((self.index == UNKNOWN_ROW).any() or (self._inside(UNKNOWN)).size)

    def at(self, cells: IntArray) -> NDArray[np.uint8]:
        """Return the codes of cells by flat index, shape (...)."""
        from isovist.compute import codes_at

        flat = np.ascontiguousarray(cells, dtype=np.int64).ravel()
        codes = np.empty(flat.shape, dtype=np.uint8)
        codes_at(*self.parts, flat, codes)
        return codes.reshape(cells.shape)

    def walls(self) -> IntArray:
        """Return the flat indices of the occupied cells, ascending, shape (k,)."""
        return self._inside(OCCUPIED)

    def surface(self, *, corners: bool = False) -> tuple[IntArray, NDArray[np.uint8]]:
        """Return the non-free cells that have a face to a free cell.

        With `corners`, cells that share only an edge or a corner with a free cell count too.

        Returns:
            Their flat indices, ascending, and their codes.
        """
        table = self.faces(corners)
        flat = [
            self._flat(np.nonzero(table[FIRST_OWN_ROW:] == code)) for code in (OCCUPIED, UNKNOWN)
        ]
        codes = np.repeat(np.array([OCCUPIED, UNKNOWN], np.uint8), [len(part) for part in flat])
        cells = np.concatenate(flat)
        order = np.argsort(cells)
        return cells[order], codes[order]

    def faces(self, corners: bool) -> NDArray[np.uint8]:
        """Return the table, with 0 for each cell without a face to a free cell (see `surface`)."""
        from isovist.compute import surface_cells

        out = np.zeros_like(self.table)
        surface_cells(*self.parts, self.places, corners, out)
        return out

    def array(self, low: int = 0, high: int | None = None) -> NDArray[np.uint8]:
        """Return the codes of levels `low` to `high` − 1, shape (levels, rows, columns)."""
        levels, rows, columns = self.shape
        high = levels if high is None else min(high, levels)
        _, y, x = self.index.shape
        cells = np.empty((high - low, rows, columns), dtype=np.uint8)
        for k in range(low // BLOCK_SIDE, blocks_of((high, 1, 1))[0]):
            part = self.table[self.index[k]].transpose(2, 0, 3, 1, 4)
            first, last = max(low, k * BLOCK_SIDE), min(high, (k + 1) * BLOCK_SIDE)
            part = part[first - k * BLOCK_SIDE : last - k * BLOCK_SIDE].reshape(
                last - first, y * BLOCK_SIDE, x * BLOCK_SIDE
            )
            cells[first - low : last - low] = part[:, :rows, :columns]
        return cells

    def crop(self, rows: slice, columns: slice) -> "BlockGrid":
        """Return the part of the grid with the given rows and columns, and all levels."""
        block_slices, cell_slices = [], []
        for part in (rows, columns):
            first = part.start // BLOCK_SIDE
            block_slices.append(slice(first, -(-part.stop // BLOCK_SIDE)))
            cell_slices.append(
                slice(part.start - first * BLOCK_SIDE, part.stop - first * BLOCK_SIDE)
            )
        index = self.index[:, block_slices[0], block_slices[1]]
        _, y, x = index.shape
        around = BlockGrid(index, self.table, (self.shape[0], y * BLOCK_SIDE, x * BLOCK_SIDE))
        return BlockGrid.from_array(around.array()[:, cell_slices[0], cell_slices[1]])

    def _inside(self, code: int) -> IntArray:
        return np.sort(self._flat(np.nonzero(self.table[FIRST_OWN_ROW:] == code)))

    def _flat(self, cells: tuple[IntArray, ...]) -> IntArray:
        """Return flat indices of cells by row − `FIRST_OWN_ROW`, and z, y and x in the block."""
        row, *within = cells
        places = self.places
        z, y, x = (BLOCK_SIDE * places[row, k] + within[k] for k in range(3))
        levels, rows, columns = self.shape
        inside = (z < levels) & (y < rows) & (x < columns)
        return np.asarray(((z * rows + y) * columns + x)[inside])


def blocks_of(shape: tuple[int, ...]) -> Shape:
    """Return the number of blocks of a grid along z, y and x.

    Raises:
        InputError: If the grid has too many blocks.
    """
    z, y, x = (-(-n // BLOCK_SIDE) for n in shape)
    if float(z) * y * x > MAX_BLOCKS:
        levels, rows, columns = shape
        raise InputError(
            f"The map would have {columns} × {rows} × {levels} cells, and the most is "
            f"{MAX_BLOCKS} blocks of {BLOCK_SIDE}³. Take a coarser `resolution` or cut the map.",
            code="too_large",
            field="resolution",
        )
    return z, y, x


def _portions(counts: Shape) -> Iterator[tuple[slice, slice]]:
    """Yield slices of blocks along z and y that fit into memory while they are rearranged.

    Blocks pad a map: one that is one cell high takes 16 times its bytes.
    """
    z, y, x = counts
    across = max(PORTION_BYTES // (x * BLOCK_SIDE**3), 1)
    along = max(across // y, 1)
    for k in range(0, z, along):
        for j in range(0, y, across):
            yield slice(k, k + along), slice(j, j + across)


def _parts(cells: NDArray[np.uint8], along: slice, across: slice) -> NDArray[np.uint8]:
    """Return blocks, shape (z, y, x, 16, 16, 16), with the rim of the map repeated beyond it."""
    part = cells[
        along.start * BLOCK_SIDE : along.stop * BLOCK_SIDE,
        across.start * BLOCK_SIDE : across.stop * BLOCK_SIDE,
    ]
    padded = np.pad(part, [(0, -n % BLOCK_SIDE) for n in part.shape], mode="edge")
    z, y, x = (n // BLOCK_SIDE for n in padded.shape)
    return padded.reshape(z, BLOCK_SIDE, y, BLOCK_SIDE, x, BLOCK_SIDE).transpose(0, 2, 4, 1, 3, 5)


def _uniform() -> NDArray[np.uint8]:
    """Return the first rows of a table: a free and an unknown block."""
    rows = np.full((FIRST_OWN_ROW, BLOCK_SIDE, BLOCK_SIDE, BLOCK_SIDE), FREE, dtype=np.uint8)
    rows[UNKNOWN_ROW] = UNKNOWN
    return rows


def _deep(unknown: BoolArray) -> BoolArray:
    """Return the blocks that are unknown, with six unknown neighbours."""
    deep = unknown.copy()
    for axis in range(3):
        into, beside = np.moveaxis(deep, axis, 0), np.moveaxis(unknown, axis, 0)
        into[1:] &= beside[:-1]
        into[:-1] &= beside[1:]
    return deep
