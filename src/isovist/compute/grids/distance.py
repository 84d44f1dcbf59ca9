"""How far each cell of a plane is from the nearest cell of a set.

Straight distances come axis by axis.  With g(y, x) the distance along column x to the nearest cell
of the set,

    D²(y, x) = min_u (x − u)² + g(y, u)²,                                                   (1)

the lower envelope of one parabola per column; of two of them, u < v, the second is below from

    x > (v² − u² + g_v² − g_u²) / 2(v − u)                                                  (2)

on, so that one pass builds the envelope of a row and another reads it.  All of it is in whole
numbers, and exact.  The larger of both differences, as a king moves, takes two passes over the map.
"""

import numpy as np
from numpy.typing import NDArray

from isovist.compute.infra.compiled import inner, kernel

NOWHERE = 1 << 30
"""In cells: there is none along this column."""
MOST = 253
"""Largest number of moves that is told apart: with two codes besides it fits a byte."""


Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]


@kernel("b1[:,::1], i8[::1] -> i4[:,::1]", over="columns", block=64)
def along_columns(
    first: int, last: int, met: Flags, columns: NDArray[np.int64], gaps: NDArray[np.int32]
) -> None:
    """g of (1) of every cell, in cells.

    Args:
        met: The set, shape (height, width).
        columns: 0 to width − 1, which are shared out.
        gaps: Output, `NOWHERE` or more in columns without a cell of the set, same shape.
    """
    height, last = len(met), min(last, len(columns))
    for x in range(first, last):
        gaps[0, x] = 0 if met[0, x] else NOWHERE
    for y in range(1, height):
        for x in range(first, last):
            gaps[y, x] = 0 if met[y, x] else gaps[y - 1, x] + 1
    for y in range(height - 2, -1, -1):
        for x in range(first, last):
            gaps[y, x] = min(gaps[y, x], gaps[y + 1, x] + 1)


@kernel("i4[:,::1] -> f4[:,::1]", over="gaps")
def along_rows(
    first: int, last: int, gaps: NDArray[np.int32], distance: NDArray[np.float32]
) -> None:
    """D of (1), in cells, shape (height, width); infinite without a cell in the set."""
    width = gaps.shape[1]
    below = np.empty(width, dtype=np.int64)
    since = np.empty(width, dtype=np.int64)
    for y in range(first, last):
        count = 0
        for v in range(width):
            g = np.int64(gaps[y, v])
            if g >= NOWHERE:
                continue
            start = np.int64(0)
            while count > 0:
                u = below[count - 1]
                h = np.int64(gaps[y, u])
                start = (v * v - u * u + g * g - h * h) // (2 * (v - u)) + 1
                if start > since[count - 1]:
                    break
                count -= 1
            if count == 0:
                start = np.int64(0)
            if start < width:
                below[count], since[count] = v, start
                count += 1
        if count == 0:
            for x in range(width):
                distance[y, x] = np.inf
        for k in range(count):
            u = below[k]
            h = np.int64(gaps[y, u])
            for x in range(since[k], since[k + 1] if k + 1 < count else width):
                distance[y, x] = np.sqrt(np.float64((x - u) * (x - u) + h * h))


@inner
def _come_near(beside: Bytes, row: Bytes) -> None:
    """One more move from the nearest of three cells of the row beside.  Shapes (width,)."""
    width, one = len(row), np.uint8(1)
    for x in range(1, width - 1):
        near = min(beside[x - 1], beside[x], beside[x + 1])
        row[x] = min(row[x], np.uint8(near + one))
    for x in (0, width - 1):
        near = min(beside[x], beside[max(x - 1, 0)])
        near = min(near, beside[min(x + 1, width - 1)])
        row[x] = min(row[x], np.uint8(near + one))


@kernel("b1[:,::1] -> u1[:,::1]")
def king_moves(free: Flags, moves: Bytes) -> None:
    """Moves of a king to the nearest cell that is not free, at most `MOST`; 0 from those.

    Shapes (height, width).
    """
    height, width = free.shape
    one = np.uint8(1)
    for y in range(height):
        for x in range(width):
            moves[y, x] = MOST if free[y, x] else 0
    for y in range(height):
        if y > 0:
            _come_near(moves[y - 1], moves[y])
        for x in range(1, width):
            moves[y, x] = min(moves[y, x], np.uint8(moves[y, x - 1] + one))
    for y in range(height - 1, -1, -1):
        if y < height - 1:
            _come_near(moves[y + 1], moves[y])
        for x in range(width - 2, -1, -1):
            moves[y, x] = min(moves[y, x], np.uint8(moves[y, x + 1] + one))
