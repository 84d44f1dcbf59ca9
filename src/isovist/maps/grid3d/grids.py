"""3D grids: dense if the box around the map is small, else in blocks.

A dense grid takes one byte per cell of the box, and its rays and distances need no index.  A grid
in blocks takes the memory of its walls (`maps.grid3d.blocks`).  Both give the same results.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import IntArray, readonly, restore
from isovist.errors import InputError
from isovist.maps.cells import neighbours
from isovist.maps.grid3d.blocks import FREE, OCCUPIED, UNKNOWN, BlockGrid, Shape

MAX_DENSE_CELLS = 1 << 27
"""Cells of the largest dense grid: with the grid for rays and the wall distances it takes 7 bytes
per cell, and rays through blocks take more than twice the time."""


@dataclass(frozen=True, slots=True, eq=False)
class DenseGrid:
    """A 3D grid that stores the `Cell` code of every cell; it has the methods of `BlockGrid`.

    Attributes:
        cells: Codes, uint8, shape (levels, rows, columns).  Read-only.
    """

    cells: NDArray[np.uint8]

    __setstate__ = restore

    @property
    def shape(self) -> Shape:
        """The size of the grid (levels, rows, columns), in cells."""
        levels, rows, columns = self.cells.shape
        return levels, rows, columns

    @property
    def size(self) -> int:
        """The number of cells of the grid."""
        return self.cells.size

    @property
    def has_unknown(self) -> bool:
        """True if any cell is unknown."""
        return bool((self.cells == UNKNOWN).any())

    def at(self, cells: IntArray) -> NDArray[np.uint8]:
        """Return the codes of cells by flat index, shape (...)."""
        return np.asarray(self.cells.ravel()[cells])

    def walls(self) -> IntArray:
        """Return the flat indices of the occupied cells, ascending, shape (k,)."""
        return np.flatnonzero(self.cells.ravel() == OCCUPIED)

    def surface(self, *, corners: bool = False) -> tuple[IntArray, NDArray[np.uint8]]:
        """Return the non-free cells that have a face to a free cell.

        With `corners`, cells that share only an edge or a corner with a free cell count too.

        Returns:
            Their flat indices, ascending, and their codes.
        """
        codes = (self.cells * neighbours(self.cells == FREE, corners=corners)).ravel()
        flat = np.flatnonzero(codes)
        return flat, codes[flat]

    def array(self, low: int = 0, high: int | None = None) -> NDArray[np.uint8]:
        """Return the codes of levels `low` to `high` − 1, shape (levels, rows, columns)."""
        return self.cells[low:high]

    def crop(self, rows: slice, columns: slice) -> "DenseGrid":
        """Return the part of the grid with the given rows and columns, and all levels."""
        return DenseGrid(readonly(self.cells[:, rows, columns].copy()))


Grid = DenseGrid | BlockGrid
"""A 3D grid of cells, stored densely or in blocks."""


def grid_of_cells(cells: NDArray[np.uint8]) -> Grid:
    """Make a grid from `Cell` codes, shape (levels, rows, columns)."""
    return (
        DenseGrid(readonly(cells)) if cells.size <= MAX_DENSE_CELLS else BlockGrid.from_array(cells)
    )


def grid_of_walls(walls: IntArray, shape: Shape) -> Grid:
    """Make a grid from flat indices of occupied cells, shape (k,); other cells are free."""
    levels, rows, columns = shape
    if levels * rows * columns > MAX_DENSE_CELLS:
        return BlockGrid.from_walls(walls, shape)
    cells = np.zeros(levels * rows * columns, dtype=np.uint8)
    cells[walls] = OCCUPIED
    return DenseGrid(readonly(cells.reshape(shape)))


MAX_CELLS = 1 << 30
"""Maximum number of cells of a 3D map whose cells are all stored."""


def check_size(shape: tuple[int, ...], source: str) -> None:
    """Check that a grid has no more cells than allowed; `source` is named in the error."""
    levels, rows, columns = shape
    if float(levels) * rows * columns > MAX_CELLS:
        raise InputError(
            f"The map would have {columns} × {rows} × {levels} cells, and the most is "
            f"{MAX_CELLS}. Take a coarser `resolution` or cut the {source}.",
            code="too_large",
            field="resolution",
        )
