"""Slow exact twins of the occupancy kernels, in rational arithmetic."""

from fractions import Fraction

import numpy as np

EDGE = 2


def _enters(box, x, y, dx, dy):
    """Smallest t ≥ 0 from which on the ray is inside a box (x0, x1, y0, y1), or None."""
    start, stop = Fraction(0), None
    for low, high, at, along in ((box[0], box[1], x, dx), (box[2], box[3], y, dy)):
        near, far = sorted([(low - at) / along, (high - at) / along])
        start, stop = max(start, near), far if stop is None else min(stop, far)
    return start if start < stop else None


def cast_twin(cells, x, y, dx, dy):
    """(t, ending) of one ray in cell units, t a fraction in units of |(dx, dy)|.

    The ray is turned to the left by 10⁻⁹⁰ rad, less than any difference that floats can make, and
    every cell that is not free and each strip beyond the edge is tried as a box.
    """
    x, y, dx, dy = (Fraction(float(v)) for v in (x, y, dx, dy))
    turn = Fraction(1, 10**90)
    dx, dy = dx - turn * dy, dy + turn * dx
    height, width = cells.shape
    far = Fraction(10**9)
    boxes = {
        (-far, 0, -far, far): EDGE,
        (width, far, -far, far): EDGE,
        (-far, far, -far, 0): EDGE,
        (-far, far, height, far): EDGE,
    }
    for row, col in np.argwhere(cells).tolist():
        boxes[col, col + 1, row, row + 1] = int(cells[row, col]) - 1
    found = [(_enters(box, x, y, dx, dy), ending) for box, ending in boxes.items()]
    return min(hit for hit in found if hit[0] is not None)


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
