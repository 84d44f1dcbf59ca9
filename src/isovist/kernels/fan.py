"""Rays from one place through a grid of cells, several at once.

A ray on its own (`occupancy.cast_one`) waits at each step for what it reads of the map, and its
branches are hard to foresee.  Here a group of neighbours goes on together, in vector code without
branches, until the last of them has ended.  Where rounding may have the wrong cell, a ray is cast
on its own.
"""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.kernels.compiled import inner, within
from isovist.kernels.occupancy import CLEAR, EDGE, FREE, MAXIMUM, Skip, cast_one

Floats = NDArray[np.float64]

LANES = 16
"""Rays of a group: of 8 to 32 the fastest, in a third to a half of the time of single ones."""
STATE = 9
"""Numbers of a ray."""
# Cells of a grid whose numbers vector code can count with.
COUNTED = 2**31


@within
def _stride(
    wide: float, x: float, y: float, dx: Floats, dy: Floats, per_x: Floats, per_y: Floats,
    cx: Floats, cy: Floats, free: Floats, t: Floats, aside: Floats, at: NDArray[np.int32],
) -> None:  # fmt: skip
    """Take rays from (x, y) out of the blocks that are free around their cells.

    A ray is its direction and one over it, its cell, how many cells around that are free, −1 where
    it has ended, how far it came, and how far from the middle of its cell it entered that.
    """
    for k in range(len(at)):  # a number known beforehand is unrolled, and slower
        sx, sy = 1.0 if dx[k] > 0.0 else -1.0, 1.0 if dy[k] > 0.0 else -1.0
        jx, jy = cx[k] + sx * free[k], cy[k] + sy * free[k]
        tx = (jx + (0.5 + 0.5 * sx) - x) * per_x[k]
        ty = (jy + (0.5 + 0.5 * sy) - y) * per_y[k]
        upright = tx < ty
        reached = tx if upright else ty
        by_x, by_y = x + reached * dx[k], y + reached * dy[k]
        met = by_y if upright else by_x
        cell = math.floor(met)
        u, v = jx + sx if upright else cell, cell if upright else jy + sy
        goes = free[k] >= 0.0
        cx[k], cy[k] = u if goes else cx[k], v if goes else cy[k]
        t[k] = reached if goes else t[k]
        aside[k] = abs(met - cell - 0.5) if goes else aside[k]
        at[k] = np.int32((cy[k] + 1.0) * wide + cx[k] + 1.0)


@within
def _go_on(codes: NDArray[np.uint8], maximum: float, free: Floats, t: Floats, aside: Floats) -> int:
    """Note what is free around the cells that rays have come to; how many have not ended."""
    count = 0
    for k in range(len(codes)):
        around = float(codes[k]) - FREE
        goes = (around >= 0.0) & (free[k] >= 0.0) & (t[k] <= maximum) & (aside[k] < 0.5 - CLEAR)
        free[k] = around if goes else -1.0
        count += goes
    return count


@within
def _begin(
    first: int, along: Floats, across: Floats, around: float, dx: Floats, dy: Floats,
    per_x: Floats, per_y: Floats, free: Floats, t: Floats, aside: Floats,
) -> None:  # fmt: skip
    """Have the next group of rays begin in a cell with so many free ones around it."""
    for k in range(len(dx)):
        n = min(first + k, len(along) - 1)
        dx[k], dy[k] = along[n], across[n]
    for k in range(len(dx)):
        per_x[k], per_y[k] = 1.0 / dx[k], 1.0 / dy[k]
        slanted = min(abs(dx[k]), abs(dy[k])) > CLEAR
        free[k] = around if slanted else -1.0
        t[k], aside[k] = 0.0, 0.0 if slanted else 0.5


@inner
def cast_fan(
    skip: Skip, x: float, y: float, along: Floats, across: Floats, maximum: float, rays: Floats,
    at: NDArray[np.int32], ranges: Floats, endings: NDArray[np.uint8],
) -> None:  # fmt: skip
    """Rays from (x, y) along unit vectors, as `cast_one` has them but for the last bit.

    Args:
        skip: The map as `cast_one` wants it.
        x: In cells, as everything here.
        y: The same.
        along: x of the unit vectors, shape (m,).
        across: y of them.
        maximum: Longest range.
        rays: Scratch, shape (STATE, LANES).
        at: Scratch, shape (LANES,).
        ranges: Output, shape (m,).
        endings: Output, shape (m,).
    """
    dx, dy, per_x, per_y = rays[0], rays[1], rays[2], rays[3]
    cx, cy, free, t, aside = rays[4], rays[5], rays[6], rays[7], rays[8]
    codes = np.empty(len(at), dtype=np.uint8)
    height, width = skip.shape
    wide, every = float(width), skip.reshape(-1)
    column, row = math.floor(x), math.floor(y)
    between = x != column and y != row and skip.size < COUNTED
    begins = np.uint8(EDGE)
    if between and 0.0 < x < width - 2 and 0.0 < y < height - 2:
        begins = skip[np.int64(row) + 1, np.int64(column) + 1]
    m = len(along)
    for first in range(0, m, LANES):
        around = float(begins) - FREE
        _begin(first, along, across, around, dx, dy, per_x, per_y, free, t, aside)
        cx[:], cy[:] = column, row
        going = begins >= FREE
        while going:
            _stride(wide, x, y, dx, dy, per_x, per_y, cx, cy, free, t, aside, at)
            for k in range(len(at)):
                codes[k] = every[np.uint64(at[k])]
            going = _go_on(codes, maximum, free, t, aside) > 0
        for n in range(first, min(first + LANES, m)):
            k = n - first
            if begins < FREE or not aside[k] < 0.5 - CLEAR:
                ranges[n], ending, _cell, _axis = cast_one(skip, x, y, along[n], across[n], maximum)
                endings[n] = ending
            elif t[k] <= maximum:
                ranges[n], endings[n] = t[k], every[np.uint64(at[k])]
            else:
                ranges[n], endings[n] = maximum, MAXIMUM
