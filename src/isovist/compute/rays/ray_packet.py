"""Rays from one place through a grid of cells, several at once.

A ray on its own (`occupancy.cast_one`) waits at each step for what it reads of the map, and its
branches are hard to foresee.  Here a group of neighbours goes on together
(`compute.rays.packet_traversal`), in vector code without branches, until the last of them has
ended.  Where rounding may have the wrong cell, a ray is cast on its own.
"""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.compute.infra.compiled import inner, within
from isovist.compute.rays.grid2d import EDGE, FREE, MAXIMUM, Skip, cast_one
from isovist.compute.rays.packet_traversal import (
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
    RAYS,
    RIM,
    SLANT,
    Singles,
    follow,
)

Floats = NDArray[np.float64]

# Cells of a grid whose numbers vector code can count with.
COUNTED = 2**31


@within
def _aim(along: Floats, directions: Singles, per: Singles) -> None:
    """One axis of the directions of rays, and one over it; the last ray fills the last group."""
    m = len(along)
    for k in range(m):
        directions[k], per[k] = along[k], 1.0 / along[k]
    for k in range(m, len(per)):
        directions[k], per[k] = directions[m - 1], per[m - 1]


@within
def _set_out(across: Singles, up: Singles, begins: float, around: Singles, aside: Singles) -> None:
    """Have rays begin in a cell with so many free ones around it, but for those near an axis."""
    for k in range(len(around)):
        slanted = min(abs(across[k]), abs(up[k])) > SLANT
        around[k], aside[k] = begins if slanted else -1.0, 0.0 if slanted else 0.5


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
        rays: Scratch, shape (STATE, `in_groups` of m).
        at: Scratch, likewise.
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
    if begins >= FREE:
        _aim(along, rays[DX], rays[PER_X])
        _aim(across, rays[DY], rays[PER_Y])
        _set_out(rays[DX], rays[DY], float(begins) - FREE, rays[AROUND], rays[ASIDE])
        rays[CX], rays[CY], rays[FAR] = 0.0, 0.0, 0.0
        for first in range(0, rays.shape[1], RAYS):
            follow(every, number, width, place, first, rays, at)
    for k in range(m):
        far = float(rays[FAR, k])
        unsure = not rays[ASIDE, k] < RIM or abs(far - maximum) <= slack
        if begins < FREE or unsure:
            ranges[k], ending, _cell, _axis = cast_one(skip, x, y, along[k], across[k], maximum)
            endings[k] = ending
        elif far < maximum:
            ranges[k], endings[k] = far, every[np.uint64(number + at[k])]
        else:
            ranges[k], endings[k] = maximum, MAXIMUM
