"""Rays from one place through a grid of cells, several at once.

A ray on its own (`occupancy.cast_one`) waits at each step for what it reads of the map, and its
branches are hard to foresee.  Here a group of neighbours goes on together (`kernels.follow`), in
vector code without branches, until the last of them has ended.  Where rounding may have the wrong
cell, a ray is cast on its own.
"""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.kernels.compiled import inner, within
from isovist.kernels.follow import (
    AROUND,
    ASIDE,
    CX,
    CY,
    DX,
    DY,
    ERROR,
    FAR,
    PER_X,
    PER_Y,
    RIM,
    SLANT,
    Singles,
    follow,
)
from isovist.kernels.occupancy import EDGE, FREE, MAXIMUM, Skip, cast_one
from isovist.kernels.vectors import SINGLES

Floats = NDArray[np.float64]

# Cells of a grid whose numbers vector code can count with.
COUNTED = 2**31


@within
def _begin(first: int, along: Floats, across: Floats, around: float, rays: Singles) -> None:
    """Have the next group of rays begin in a cell with so many free ones around it."""
    for k in range(SINGLES):
        n = min(first + k, len(along) - 1)
        dx, dy = along[n], across[n]
        rays[DX, k], rays[DY, k], rays[PER_X, k], rays[PER_Y, k] = dx, dy, 1.0 / dx, 1.0 / dy
        slanted = min(abs(dx), abs(dy)) > SLANT
        rays[AROUND, k] = around if slanted else -1.0
        rays[FAR, k], rays[ASIDE, k] = 0.0, 0.0 if slanted else 0.5
        rays[CX, k], rays[CY, k] = 0.0, 0.0


@inner
def cast_fan(
    skip: Skip, x: float, y: float, along: Floats, across: Floats, maximum: float, rays: Singles,
    at: NDArray[np.int32], ranges: Floats, endings: NDArray[np.uint8],
) -> None:  # fmt: skip
    """Rays from (x, y) along unit vectors, as `cast_one` has them but for `ERROR` of their ranges.

    Args:
        skip: The map as `cast_one` wants it.
        x: In cells, as everything here.
        y: The same.
        along: x of the unit vectors, shape (m,).
        across: y of them.
        maximum: Longest range.
        rays: Scratch, shape (STATE, SINGLES).
        at: Scratch, shape (SINGLES,).
        ranges: Output, shape (m,).
        endings: Output, shape (m,).
    """
    height, width = skip.shape
    every = skip.reshape(-1)
    column, row = math.floor(x), math.floor(y)
    between = x != column and y != row and skip.size < COUNTED
    begins, number = np.uint8(EDGE), 0
    if between and 0.0 < x < width - 2 and 0.0 < y < height - 2:
        number = (np.int64(row) + 1) * width + np.int64(column) + 1
        begins = every[number]
    slack = ERROR[0] + ERROR[1] * maximum
    m, place = len(along), (x - column, y - row, maximum)
    for first in range(0, m, SINGLES):
        if begins >= FREE:
            _begin(first, along, across, float(begins) - FREE, rays)
            follow(every, number, width, place, rays, at)
        for n in range(first, min(first + SINGLES, m)):
            k = n - first
            far = float(rays[FAR, k])
            unsure = not rays[ASIDE, k] < RIM or abs(far - maximum) <= slack
            if begins < FREE or unsure:
                ranges[n], ending, _cell, _axis = cast_one(skip, x, y, along[n], across[n], maximum)
                endings[n] = ending
            elif far < maximum:
                ranges[n], endings[n] = far, every[np.uint64(number + at[k])]
            else:
                ranges[n], endings[n] = maximum, MAXIMUM
