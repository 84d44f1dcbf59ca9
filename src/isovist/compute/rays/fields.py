"""Read cells and distances of a 3D grid, stored whole or by blocks (`maps.grid3d.ray_fields`).

A whole grid is one array: codes with a border of one cell, or distances. A grid by blocks is a
tuple of index, table and size along z, y and x; for distances also of their values, by the numbers
in the table. Kernels are compiled for one of the two, since a test for every cell would take longer
than the rest.
"""

from typing import Any

import numpy as np
from numba.core import types as numba_types
from numba.extending import overload

from isovist.compute.rays.grid2d import EDGE, FREE
from isovist.compute.rays.layout import BLOCK_MASK, BLOCK_SHIFT, FREE_BLOCK

types: Any = numba_types


def _by_layout(of_whole, of_blocks):
    """Make a function that reads a grid of either layout, decided when a kernel is compiled."""

    def read(grid, *arguments):
        return (of_blocks if isinstance(grid, tuple) else of_whole)(grid, *arguments)

    @overload(read, strict=False)
    def _(grid, *_arguments):
        return of_blocks if isinstance(grid, types.BaseTuple) else of_whole

    return read


def _size_of_whole(skip, axis):
    return skip.shape[2 - axis] - 2


def _size_of_blocks(skip, axis):
    return skip[2][2 - axis]


def _code_of_whole(skip, x, y, z):
    return np.int64(skip[z + 1, y + 1, x + 1])


def _code_of_blocks(skip, x, y, z):
    size = skip[2]
    code = np.int64(EDGE)
    if 0 <= x < size[2] and 0 <= y < size[1] and 0 <= z < size[0]:
        row = skip[0][z >> BLOCK_SHIFT, y >> BLOCK_SHIFT, x >> BLOCK_SHIFT]
        code = np.int64(FREE_BLOCK)
        if row >= 0:
            code = np.int64(skip[1][row, z & BLOCK_MASK, y & BLOCK_MASK, x & BLOCK_MASK])
    return code


def _last_of_whole(_skip, code, at, step, axis):
    return at[axis] + step[axis] * (code - FREE)


def _last_of_blocks(skip, code, at, step, axis):
    stop = at[axis] + step[axis] * (code - FREE)
    if code == FREE_BLOCK and step[axis] != 0:
        # A negative row is the number of free blocks around this one, itself included.
        free = -np.int64(skip[0][at[2] >> BLOCK_SHIFT, at[1] >> BLOCK_SHIFT, at[0] >> BLOCK_SHIFT])
        block = at[axis] >> BLOCK_SHIFT
        first, end = (block - free + 1) << BLOCK_SHIFT, (block + free) << BLOCK_SHIFT
        stop = end - 1 if step[axis] > 0 else first
    return min(max(stop, 0), skip[2][2 - axis] - 1)


def _extent_of_whole(field, axis):
    return field.shape[2 - axis]


def _extent_of_blocks(field, axis):
    return field[2][2 - axis]


def _corners_of_whole(field, i, j, k):
    return (
        float(field[k, j, i]), float(field[k, j, i + 1]),
        float(field[k, j + 1, i]), float(field[k, j + 1, i + 1]),
        float(field[k + 1, j, i]), float(field[k + 1, j, i + 1]),
        float(field[k + 1, j + 1, i]), float(field[k + 1, j + 1, i + 1]),
    )  # fmt: skip


def _corners_of_blocks(field, i, j, k):
    table, roots = field[1], field[3]
    row = field[0][k >> BLOCK_SHIFT, j >> BLOCK_SHIFT, i >> BLOCK_SHIFT]
    a, b, c = i & BLOCK_MASK, j & BLOCK_MASK, k & BLOCK_MASK
    return (
        float(roots[table[row, c, b, a]]), float(roots[table[row, c, b, a + 1]]),
        float(roots[table[row, c, b + 1, a]]), float(roots[table[row, c, b + 1, a + 1]]),
        float(roots[table[row, c + 1, b, a]]), float(roots[table[row, c + 1, b, a + 1]]),
        float(roots[table[row, c + 1, b + 1, a]]), float(roots[table[row, c + 1, b + 1, a + 1]]),
    )  # fmt: skip


size_of = _by_layout(_size_of_whole, _size_of_blocks)
"""size_of(skip, axis): number of cells along x, y or z."""
code_at = _by_layout(_code_of_whole, _code_of_blocks)
"""code_at(skip, x, y, z): code of a cell, EDGE beyond the grid, FREE_BLOCK in a free block."""
last_free = _by_layout(_last_of_whole, _last_of_blocks)
"""last_free(skip, code, at, step, axis): last cell of the free box around `at`, along an axis."""
extent_of = _by_layout(_extent_of_whole, _extent_of_blocks)
"""extent_of(field, axis): number of distances along x, y or z."""
corners_of = _by_layout(_corners_of_whole, _corners_of_blocks)
"""corners_of(field, i, j, k): distances of a cell and those beyond it, x fastest."""
