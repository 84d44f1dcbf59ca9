"""Read cells and distances of a 3D grid, stored whole or by blocks.

A grid that is whole is one array: codes with a border of one cell, or distances.  One that comes by
blocks is a tuple of index, table and size along z, y and x, and of the distances by their numbers
in the table where it holds those.  Kernels are compiled for the one or for the other: a test which
it is, for every cell, would take longer than the rest.
"""

from typing import Any

import numpy as np
from numba.core import types as numba_types
from numba.extending import overload

from isovist.compute.grids.layout import BLOCK_MASK, BLOCK_SHIFT, FREE_BLOCK
from isovist.compute.rays.grid2d import EDGE, FREE

types: Any = numba_types


def size_of(skip, axis):
    """Return the number of cells along x, y or z."""
    return (_size_of_blocks if isinstance(skip, tuple) else _size_of_whole)(skip, axis)


@overload(size_of, strict=False)
def _(skip, *_rest):
    return _size_of_blocks if isinstance(skip, types.BaseTuple) else _size_of_whole


def _size_of_whole(skip, axis):
    return skip.shape[2 - axis] - 2


def _size_of_blocks(skip, axis):
    return skip[2][2 - axis]


def code_at(skip, x, y, z):
    """Return the code of a cell: EDGE beyond the grid, FREE_BLOCK in a block that is all free."""
    return (_code_of_blocks if isinstance(skip, tuple) else _code_of_whole)(skip, x, y, z)


@overload(code_at, strict=False)
def _(skip, *_rest):
    return _code_of_blocks if isinstance(skip, types.BaseTuple) else _code_of_whole


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


def last_free(skip, code, at, step, axis):
    """Return the last cell along an axis of the free box around a cell `at` (3,) with a code."""
    return (_last_of_blocks if isinstance(skip, tuple) else _last_of_whole)(
        skip, code, at, step, axis
    )


@overload(last_free, strict=False)
def _(skip, *_rest):
    return _last_of_blocks if isinstance(skip, types.BaseTuple) else _last_of_whole


def _last_of_whole(_skip, code, at, step, axis):
    return at[axis] + step[axis] * (code - FREE)


def _last_of_blocks(skip, code, at, step, axis):
    stop = at[axis] + step[axis] * (code - FREE)
    if code == FREE_BLOCK and step[axis] != 0:
        # So many blocks around this one are free, itself among them.
        free = -np.int64(skip[0][at[2] >> BLOCK_SHIFT, at[1] >> BLOCK_SHIFT, at[0] >> BLOCK_SHIFT])
        block = at[axis] >> BLOCK_SHIFT
        stop = (
            ((block + free) << BLOCK_SHIFT) - 1
            if step[axis] > 0
            else (block - free + 1) << BLOCK_SHIFT
        )
    return min(max(stop, 0), skip[2][2 - axis] - 1)


def extent_of(field, axis):
    """Return the number of distances along x, y or z."""
    return (_extent_of_blocks if isinstance(field, tuple) else _extent_of_whole)(field, axis)


@overload(extent_of, strict=False)
def _(field, *_rest):
    return _extent_of_blocks if isinstance(field, types.BaseTuple) else _extent_of_whole


def _extent_of_whole(field, axis):
    return field.shape[2 - axis]


def _extent_of_blocks(field, axis):
    return field[2][2 - axis]


def corners_of(field, i, j, k):
    """Return the distances of a cell and its neighbours beyond it along x, y and z, x fastest."""
    return (_corners_of_blocks if isinstance(field, tuple) else _corners_of_whole)(field, i, j, k)


@overload(corners_of, strict=False)
def _(field, *_rest):
    return _corners_of_blocks if isinstance(field, types.BaseTuple) else _corners_of_whole


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
