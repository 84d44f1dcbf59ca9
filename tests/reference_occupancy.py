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


def march_twin(cells, x, y, dx, dy):
    """(axis, plane, code) of the first face met, for rays that meet no corner.

    Steps from face to face in rational arithmetic; code 3 stands for the edge.
    """
    x, y, dx, dy = (Fraction(v) for v in (x, y, dx, dy))
    height, width = cells.shape
    col, row = x.__floor__(), y.__floor__()
    while True:
        face_x = col + 1 if dx > 0 else col
        face_y = row + 1 if dy > 0 else row
        to_x = (face_x - x) / dx if dx else None
        to_y = (face_y - y) / dy if dy else None
        if to_y is None or (to_x is not None and to_x < to_y):
            axis, plane, col = 0, face_x, col + (1 if dx > 0 else -1)
        else:
            axis, plane, row = 1, face_y, row + (1 if dy > 0 else -1)
        inside = 0 <= row < height and 0 <= col < width
        code = int(cells[row, col]) if inside else 3
        if code:
            return axis, plane, code


def sweep_twin(cells, row, col, dx, dy):
    """(range in cells, ending) that a sweep should give at the centre of a cell.

    The nearest of the parallel lines is followed exactly; the range is that of the centre to
    the plane of the face it meets.
    """
    height, width = cells.shape
    along_x = abs(dx) >= abs(dy)
    du, dv = (dx, dy) if along_x else (dy, dx)
    size, major = (width, col) if along_x else (height, row)
    p = major if du > 0 else size - 1 - major
    drift = Fraction(dv / abs(du)) * p
    offset = drift - (Fraction(1, 2) + drift).__floor__()
    half = Fraction(1, 2)
    start = (col + half, row + half + offset) if along_x else (col + half + offset, row + half)
    axis, plane, code = march_twin(cells, *start, dx, dy)
    centre = (col + half, row + half)[axis]
    return float((plane - centre) / Fraction((dx, dy)[axis])), code - 1


def passes_twin(starts, ends, shape):
    """How often each cell is passed: in every row a beam crosses, all columns from end to end."""
    passes = np.zeros(shape, dtype=int)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        last = (int(end[1]), int(end[0]))
        points = sorted(
            ([Fraction(v) for v in point] for point in (start, end)), key=lambda p: p[1]
        )
        (x0, y0), (x1, y1) = points
        for row in range(y0.__floor__(), y1.__floor__() + 1):
            places = [
                y0 if row <= y0 else Fraction(row),
                y1 if row + 1 >= y1 else Fraction(row + 1),
            ]
            slope = (x1 - x0) / (y1 - y0) if y1 > y0 else None
            xs = [x0 + slope * (y - y0) for y in places] if slope is not None else [x0, x1]
            for col in range(min(xs).__floor__(), max(xs).__floor__() + 1):
                if (row, col) != last:
                    passes[row, col] += 1
    return passes
