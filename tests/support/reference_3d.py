"""Slow exact twins of the kernels in space: triangles and cells."""

from fractions import Fraction

import numpy as np

EDGE, MAXIMUM = 2, 3


def _entry(low, high, start, along):
    """Interval of t in which low ≤ start + t·along ≤ high, "never" or (None, None) for always."""
    if along == 0:
        return (None, None) if low <= start <= high else "never"
    a, b = (low - start) / along, (high - start) / along
    return min(a, b), max(a, b)


def touch_box(low, high, start, along):
    """Smallest t ≥ 0 at which a ray touches a closed box, or None, in fractions."""
    first, last = Fraction(0), None
    for k in range(3):
        span = _entry(low[k], high[k], start[k], along[k])
        if span == "never":
            return None
        if span[0] is not None:
            first = max(first, span[0])
            last = span[1] if last is None else min(last, span[1])
    return first if last is None or first <= last else None


def cast_voxels_twin(cells, origin, direction, maximum=None):
    """(t, ending) of one ray in cell units, t an exact fraction in units of |direction|."""
    o, d = ([Fraction(float(v)) for v in vector] for vector in (origin, direction))
    size = cells.shape[::-1]
    if not all(0 <= o[k] <= size[k] for k in range(3)):
        return Fraction(0), EDGE
    far = Fraction(10**9)
    found = []
    for k in range(3):
        for low, high in ((-far, 0), (size[k], far)):
            least, most = [-far] * 3, [far] * 3
            least[k], most[k] = low, high
            found.append((touch_box(least, most, o, d), EDGE))
    for z, y, x in zip(*(axis.tolist() for axis in np.nonzero(cells)), strict=True):
        t = touch_box((x, y, z), (x + 1, y + 1, z + 1), o, d)
        found.append((t, int(cells[z, y, x]) - 1))
    t, ending = min(hit for hit in found if hit[0] is not None)
    if maximum is not None and t > Fraction(maximum):
        return Fraction(maximum), MAXIMUM
    return t, ending


def cast_mesh_twin(triangles, origin, direction):
    """Smallest t > 0 at which a ray meets a closed triangle not edge-on, an exact fraction or None.

    Solves a + u e + v f = o + t d by Cramer's rule, in whole numbers: all vectors are multiplied by
    a power of two that leaves no fraction, which changes neither t nor u nor v.
    """
    given = [*np.asarray(triangles).reshape(-1, 3).tolist(), list(origin), list(direction)]
    ratios = [[float(v).as_integer_ratio() for v in vector] for vector in given]
    unit = max(below for vector in ratios for _, below in vector)
    *corners, o, d = ([above * (unit // below) for above, below in vector] for vector in ratios)
    best = None
    for a, b, c in zip(corners[::3], corners[1::3], corners[2::3], strict=True):
        e, f, g = _minus(b, a), _minus(c, a), _minus(o, a)
        normal = _cross(e, f)
        det = -_dot(d, normal)
        if det == 0:
            continue
        sign = 1 if det > 0 else -1
        t, u, v = (sign * n for n in (_dot(g, normal), -_dot(d, _cross(g, f)),
                                      -_dot(d, _cross(e, g))))  # fmt: skip
        if t > 0 and u >= 0 and v >= 0 and u + v <= sign * det:
            met = Fraction(t, sign * det)
            best = met if best is None else min(best, met)
    return best


def _minus(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


def _dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def _cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def sweep_voxels_twin(cells, index, direction):
    """(range in cells, ending) that a sweep should give at the centre of a cell.

    The nearest of the parallel lines is followed exactly from face to face; the range is that of
    the centre to the plane of the face it meets.
    """
    size = cells.shape[::-1]
    cell = [int(k) for k in np.unravel_index(index, cells.shape)[::-1]]
    u = int(np.argmax(np.abs(direction)))
    p = cell[u] if direction[u] > 0 else size[u] - 1 - cell[u]
    half = Fraction(1, 2)
    start, d = [], [Fraction(float(x)) for x in direction]
    for k in range(3):
        drift = Fraction(direction[k] / abs(direction[u])) * p
        start.append(cell[k] + half + (0 if k == u else drift - (half + drift).__floor__()))
    at = [x.__floor__() for x in start]
    while True:
        to = [(at[k] + (d[k] > 0) - start[k]) / d[k] if d[k] else Fraction(10**9) for k in range(3)]
        axis = min(range(3), key=lambda k: to[k])
        plane = at[axis] + (d[axis] > 0)
        at[axis] += 1 if d[axis] > 0 else -1
        inside = all(0 <= at[k] < size[k] for k in range(3))
        code = int(cells[at[2], at[1], at[0]]) if inside else 3
        if code:
            return float((plane - cell[axis] - half) / d[axis]), code - 1
