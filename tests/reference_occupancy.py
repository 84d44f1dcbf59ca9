"""Slow exact twins of the occupancy kernels, in rational arithmetic."""

from fractions import Fraction

import numpy as np

EDGE, MAXIMUM = 2, 3


def _entry(low, high, start, along):
    """Interval of t in which low ≤ start + t·along ≤ high, or None."""
    if along == 0:
        return (None, None) if low <= start <= high else "never"
    a, b = (low - start) / along, (high - start) / along
    return (min(a, b), max(a, b))


def touch(low_x, high_x, low_y, high_y, x, y, dx, dy):
    """Smallest t ≥ 0 at which the ray touches a closed box, or None."""
    start, stop = Fraction(0), None
    for span in (_entry(low_x, high_x, x, dx), _entry(low_y, high_y, y, dy)):
        if span == "never":
            return None
        low, high = span
        if low is not None:
            start = max(start, low)
            stop = high if stop is None else min(stop, high)
    return start if stop is None or start <= stop else None


def cast_twin(cells, x, y, dx, dy, maximum=None):
    """(t, ending) of one ray in cell units, t an exact fraction in units of |(dx, dy)|.

    Every cell that is not free is a closed box; so is each strip beyond the edge.
    """
    x, y, dx, dy = (Fraction(v) for v in (x, y, dx, dy))
    height, width = cells.shape
    if not (0 <= x <= width and 0 <= y <= height):
        return Fraction(0), EDGE
    far = Fraction(10**9)
    boxes = [
        (-far, 0, -far, far),
        (width, far, -far, far),
        (-far, far, -far, 0),
        (-far, far, height, far),
    ]
    found = [(touch(*box, x, y, dx, dy), EDGE) for box in boxes]
    for row, col in zip(*np.nonzero(cells), strict=True):
        box = (int(col), int(col) + 1, int(row), int(row) + 1)
        found.append((touch(*box, x, y, dx, dy), int(cells[row, col]) - 1))
    t, ending = min(hit for hit in found if hit[0] is not None)
    if maximum is not None and t > Fraction(maximum):
        return Fraction(maximum), MAXIMUM
    return t, ending
