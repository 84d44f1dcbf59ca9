"""Compute how far each cell of a 2D grid is from the nearest cell of a set.

Straight distances come axis by axis.  With g(y, x) the distance along column x to the nearest cell
of the set,

    D²(y, x) = min_u (x − u)² + g(y, u)²,                                                   (1)

the lower envelope of one parabola per column; of two of them, u < v, the second is below from

    x > (v² − u² + g_v² − g_u²) / 2(v − u)                                                  (2)

on, so that one pass builds the envelope of a row and another reads it.  All of it is in whole
numbers, and exact.  The larger of both differences, as a king moves, takes two passes over the map.
"""

import numpy as np

from isovist.compute.infra.compiled import kernel, subroutine

NO_CELL = 1 << 30
"""Distance in cells along a column without any cell of the set."""
MAX_MOVES = 253
"""Largest number of moves: with two codes besides it fits a byte."""


@kernel("b1[:,::1], i8[::1] -> i4[:,::1]", over="columns", block=64)
def along_columns(first, last, mask, columns, column_distances):
    """Compute g of (1) for every cell, in cells.

    Args:
        mask: The set, shape (height, width).
        columns: 0 to width − 1, which are shared out.
        column_distances: Output, `NO_CELL` or more in columns without a cell of the set, same
            shape.
    """
    height, last = len(mask), min(last, len(columns))
    for x in range(first, last):
        column_distances[0, x] = 0 if mask[0, x] else NO_CELL
    for y in range(1, height):
        for x in range(first, last):
            column_distances[y, x] = 0 if mask[y, x] else column_distances[y - 1, x] + 1
    for y in range(height - 2, -1, -1):
        for x in range(first, last):
            column_distances[y, x] = min(column_distances[y, x], column_distances[y + 1, x] + 1)


@kernel("i4[:,::1] -> f4[:,::1]", over="column_distances")
def along_rows(first, last, column_distances, distance):
    """Compute D of (1) in cells, shape (height, width); infinite if the set is empty."""
    width = column_distances.shape[1]
    below = np.empty(width, dtype=np.int64)
    since = np.empty(width, dtype=np.int64)
    for y in range(first, last):
        count = 0
        for v in range(width):
            g = np.int64(column_distances[y, v])
            if g >= NO_CELL:
                continue
            start = np.int64(0)
            while count > 0:
                u = below[count - 1]
                h = np.int64(column_distances[y, u])
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
            h = np.int64(column_distances[y, u])
            for x in range(since[k], since[k + 1] if k + 1 < count else width):
                distance[y, x] = np.sqrt(np.float64((x - u) * (x - u) + h * h))


@subroutine
def _lower_row(neighbour_row, row):
    """Lower a row to one move more than the nearest of three cells beside. Shapes (width,)."""
    width, step = len(row), np.uint8(1)
    for x in range(1, width - 1):
        near = min(neighbour_row[x - 1], neighbour_row[x], neighbour_row[x + 1])
        row[x] = min(row[x], np.uint8(near + step))
    for x in (0, width - 1):
        near = min(neighbour_row[x], neighbour_row[max(x - 1, 0)])
        near = min(near, neighbour_row[min(x + 1, width - 1)])
        row[x] = min(row[x], np.uint8(near + step))


@kernel("b1[:,::1] -> u1[:,::1]")
def count_king_moves(free, moves):
    """Count the moves of a king to the nearest cell that is not free, at most `MAX_MOVES`.

    Shapes (height, width).
    """
    height, width = free.shape
    step = np.uint8(1)
    for y in range(height):
        for x in range(width):
            moves[y, x] = MAX_MOVES if free[y, x] else 0
    for y in range(height):
        if y > 0:
            _lower_row(moves[y - 1], moves[y])
        for x in range(1, width):
            moves[y, x] = min(moves[y, x], np.uint8(moves[y, x - 1] + step))
    for y in range(height - 1, -1, -1):
        if y < height - 1:
            _lower_row(moves[y + 1], moves[y])
        for x in range(width - 2, -1, -1):
            moves[y, x] = min(moves[y, x], np.uint8(moves[y, x + 1] + step))
