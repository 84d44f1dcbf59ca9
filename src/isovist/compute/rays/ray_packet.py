"""Cast many rays from one place through a 2D grid, several at once.

A single ray (`grid2d.cast_ray`) waits at each step for its reads of the map, and its branches are
hard to predict. Here neighbours are traced together (`compute.rays.packet_traversal`), in vector
code without branches, until the last of them ends. If rounding may have chosen a wrong cell, the
ray is cast again by itself.
"""

import math

import numpy as np

from isovist.compute.infra.compiled import inline, subroutine
from isovist.compute.rays.grid2d import EDGE, FREE, MAXIMUM, cast_ray
from isovist.compute.rays.packet_traversal import (
    BASE_ERROR,
    CELL_X,
    CELL_Y,
    DISTANCE,
    DX,
    DY,
    ERROR_PER_CELL,
    FREE_CELLS,
    MAX_OFFSET,
    MIN_SLANT,
    OFFSET,
    PACKET_SIZE,
    PER_X,
    PER_Y,
    trace_packet,
)

# Vector code numbers cells by int32.
MAX_CELLS = 2**31


@inline
def _load_directions(along, directions, per):
    """Write one axis of the directions and its inverse; the last ray fills the last packet."""
    m = len(along)
    for k in range(m):
        directions[k], per[k] = along[k], 1.0 / along[k]
    for k in range(m, len(per)):
        directions[k], per[k] = directions[m - 1], per[m - 1]


@inline
def _load_state(across, up, start_free, free_cells, offset):
    """Write the start state of rays; those near an axis are marked for `cast_ray`."""
    for k in range(len(free_cells)):
        slanted = min(abs(across[k]), abs(up[k])) > MIN_SLANT
        free_cells[k], offset[k] = start_free if slanted else -1.0, 0.0 if slanted else 0.5


@subroutine
def cast_fan(skip, x, y, along, across, maximum, rays, at, ranges, endings):
    """Cast rays from (x, y) along unit vectors, like `cast_ray` up to ε₀ + ε r of their ranges.

    Args:
        skip: Skip grid of the map (`compute.rays.grid2d`).
        x: Column of the place, in cells.
        y: Row of the place, in cells.
        along: x of the unit vectors, shape (m,).
        across: y of the unit vectors, shape (m,).
        maximum: Longest range, in cells.
        rays: Scratch, shape (STATE_ROWS, `padded_rays` of m).
        at: Scratch, one number for each padded ray.
        ranges: Output, in cells, shape (m,).
        endings: Output, `Ending` codes, shape (m,).
    """
    height, width = skip.shape
    cells = skip.reshape(-1)
    column, row = math.floor(x), math.floor(y)
    is_inside_cell = x != column and y != row and skip.size < MAX_CELLS
    start_code, start_cell = np.uint8(EDGE), 0
    if is_inside_cell and 0.0 < x < width - 2 and 0.0 < y < height - 2:
        start_cell = (np.int64(row) + 1) * width + np.int64(column) + 1
        start_code = cells[start_cell]
    margin = BASE_ERROR + ERROR_PER_CELL * maximum
    m, place = len(along), (x - column, y - row, maximum)
    if start_code >= FREE:
        _load_directions(along, rays[DX], rays[PER_X])
        _load_directions(across, rays[DY], rays[PER_Y])
        _load_state(rays[DX], rays[DY], float(start_code) - FREE, rays[FREE_CELLS], rays[OFFSET])
        rays[CELL_X], rays[CELL_Y], rays[DISTANCE] = 0.0, 0.0, 0.0
        for first in range(0, rays.shape[1], PACKET_SIZE):
            trace_packet(cells, start_cell, width, place, first, rays, at)
    for k in range(m):
        far = float(rays[DISTANCE, k])
        is_unsure = not rays[OFFSET, k] < MAX_OFFSET or abs(far - maximum) <= margin
        if start_code < FREE or is_unsure:
            ranges[k], ending, _cell, _axis = cast_ray(skip, x, y, along[k], across[k], maximum)
            endings[k] = ending
        elif far < maximum:
            ranges[k], endings[k] = far, cells[np.uint64(start_cell + at[k])]
        else:
            ranges[k], endings[k] = maximum, MAXIMUM
