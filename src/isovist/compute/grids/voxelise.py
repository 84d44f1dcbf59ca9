"""Find the cells that triangles touch.

A closed cell and a closed triangle are apart when one of thirteen axes separates them: the three
of the cell, the normal of the triangle, and the nine products of an axis and an edge.
"""

import numpy as np

from isovist.compute.infra.compiled import kernel, subroutine

# A wall exactly on the face between two cells touches both, whatever the rounding.
FACE_MARGIN = 1e-9


@subroutine
def _is_separated(x, y, z, a, b, c):
    """Test whether an axis separates a triangle from the cell ±½ around 0.

    The axis is (x, y, z), the corners a, b, c have shape (3,).
    """
    p = x * a[0] + y * a[1] + z * a[2]
    q = x * b[0] + y * b[1] + z * b[2]
    r = x * c[0] + y * c[1] + z * c[2]
    half = 0.5 * (abs(x) + abs(y) + abs(z)) * (1.0 + FACE_MARGIN) + FACE_MARGIN
    return min(p, q, r) > half or max(p, q, r) < -half


@subroutine
def touches(a, b, c):
    """Test whether the triangle a, b, c (3,) touches the closed cell ±½ around 0."""
    u, v, w = b - a, c - b, a - c
    nx, ny, nz = u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]
    if _is_separated(nx, ny, nz, a, b, c):
        return False
    if _is_separated(1.0, 0.0, 0.0, a, b, c) or _is_separated(0.0, 1.0, 0.0, a, b, c):
        return False
    if _is_separated(0.0, 0.0, 1.0, a, b, c):
        return False
    for e in (u, v, w):
        if _is_separated(0.0, -e[2], e[1], a, b, c) or _is_separated(e[2], 0.0, -e[0], a, b, c):
            return False
        if _is_separated(-e[1], e[0], 0.0, a, b, c):
            return False
    return True


@kernel("f8[:,:,::1], f8[::1] -> i4[:,:,::1], f8[:,:,::1]")
def mark_cells(corners, values, counts, sums):
    """Count the triangles that touch each cell, and add up their values.

    Args:
        corners: Corners of triangles, (x, y, z) in cells inside the block, shape (m, 3, 3).
        values: Value of each triangle, shape (m,).
        counts: Output, int32, shape (levels, rows, columns), added to.
        sums: Output, float64, the same shape or empty for none, added to.
    """
    levels, rows, columns = counts.shape
    a, b, c = np.empty(3), np.empty(3), np.empty(3)
    for t in range(len(corners)):
        low, high = np.empty(3, np.int64), np.empty(3, np.int64)
        for k in range(3):
            p, q, r = corners[t, 0, k], corners[t, 1, k], corners[t, 2, k]
            size = (columns, rows, levels)[k]
            low[k] = max(0, int(np.floor(min(p, q, r) - 1e-6)))
            high[k] = min(size - 1, int(np.floor(max(p, q, r) + 1e-6)))
        for z in range(low[2], high[2] + 1):
            for y in range(low[1], high[1] + 1):
                for x in range(low[0], high[0] + 1):
                    for k in range(3):
                        centre = (x, y, z)[k] + 0.5
                        a[k] = corners[t, 0, k] - centre
                        b[k] = corners[t, 1, k] - centre
                        c[k] = corners[t, 2, k] - centre
                    if touches(a, b, c):
                        counts[z, y, x] += 1
                        if sums.size > 0:
                            sums[z, y, x] += values[t]
