"""Fit scans to walls: Gauss–Newton on the distance to the nearest wall.

With the ends q_k of the beams in the frame of the sensor and D the distance to the nearest wall,

    e_k = D(p + R(yaw) q_k),     minimise Σ_k ρ(e_k / σ),    weights exp(−e_k² / 2σ²),          (1)

from a wide σ to a narrow one.  Beams that end far from any wall lose their say.  A beam with a
noise s_k of its own has σ_k² = σ² + s_k² in place of σ², and its weight times σ²/σ_k².
"""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.kernels.compiled import kernel, within
from isovist.kernels.elementary import FREELY, decay

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Cells = NDArray[np.int64]

# Beyond this many σ a beam has no weight worth its time.
REACH = 3.5
# Half its square: the exponent of a weight beyond which it is 0.
FAINT = 0.5 * REACH**2
# What is farther outside the grid than this, in cells, is outside.
INSIDE = 1e-5


@within
def _value_inside(field: Singles, x: float, y: float):  # type: ignore[no-untyped-def]
    """Bilinear value and gradient at the point of the grid nearest to (x, y), and what is left.

    The last two are the way from that point to (x, y).
    """
    height, width = field.shape
    u, v = x - 0.5, y - 0.5
    # What is no number stands in the first cell and comes out as it is.
    u = min(u, width - 1.000001) if u > 0.0 else 0.0
    v = min(v, height - 1.000001) if v > 0.0 else 0.0
    column, row = np.int32(u), np.int32(v)
    a, b = u - column, v - row
    i, j = np.uint64(column), np.uint64(row)
    right, above = i + np.uint64(1), j + np.uint64(1)
    low = np.float64(field[j, right]) - np.float64(field[j, i])
    high = np.float64(field[above, right]) - np.float64(field[above, i])
    lower = field[j, i] + a * low
    upper = field[above, i] + a * high
    value = lower + b * (upper - lower)
    return value, (1.0 - b) * low + b * high, upper - lower, x - 0.5 - u, y - 0.5 - v


@within
def distance_at(field: Singles, x: float, y: float) -> tuple[float, float, float]:
    """Bilinear value and gradient at (x, y), in cells; values sit at the centres of cells.

    Outside the grid: the value at the nearest point of it, plus the distance to that point.  A map
    may be cut at its walls, and beams end a little behind them.
    """
    value, slope_x, slope_y, out_x, out_y = _value_inside(field, x, y)
    if not abs(out_x) + abs(out_y) <= INSIDE:
        out = math.sqrt(out_x * out_x + out_y * out_y)
        value += out
        slope_x, slope_y = out_x / out, out_y / out
    return value, slope_x, slope_y


@within(fastmath=FREELY)
def look_up(  # type: ignore[no-untyped-def]
    field: Singles, ends: Floats, x: float, y: float, yaw: float, seen: Floats, at: Cells,
    corners: Singles,
):  # fmt: skip
    """R q, D and its gradient at the end of each beam, into the rows of `seen`, shape (6, m).

    In three loops, of which the first and the last become vector code.  The one between them reads
    what lies anywhere, which vector code does more slowly; a loop whose end is not known is left
    as it is.  So `at` (m + 1,) ends with −1; `corners` (4, m) is scratch.
    """
    rx, ry, e, dx, dy, out = seen[0], seen[1], seen[2], seen[3], seen[4], seen[5]
    c00, c01, c10, c11 = corners[0], corners[1], corners[2], corners[3]
    outside = _find_cells(field, ends[0], ends[1], x, y, yaw, rx, ry, dx, dy, out, at)
    every, above, k = field.reshape(-1), field.shape[1], 0
    while at[k] >= 0:
        here = at[k]
        c00[k], c01[k] = every[here], every[here + 1]
        c10[k], c11[k] = every[here + above], every[here + above + 1]
        k += 1
    _interpolate(c00, c01, c10, c11, e, dx, dy)
    if outside > 0:
        for k in range(len(e)):
            if not out[k] <= INSIDE:
                e[k], dx[k], dy[k] = distance_at(field, x + rx[k], y + ry[k])


@within(fastmath=FREELY)
def _find_cells(  # type: ignore[no-untyped-def]
    field: Singles, qx: Floats, qy: Floats, x: float, y: float, yaw: float, rx: Floats, ry: Floats,
    right: Floats, up: Floats, out: Floats, at: Cells,
):  # fmt: skip
    """R q of each beam, the cell `at` that it ends in, where in that, and how far outside the grid.

    Shapes (m,).  Returns how many end outside.
    """
    height, width = field.shape
    wide, high = width - 1.000001, height - 1.000001
    c, s, outside = math.cos(yaw), math.sin(yaw), 0
    for k in range(len(rx)):
        rx[k], ry[k] = c * qx[k] - s * qy[k], s * qx[k] + c * qy[k]
        p, q = x + rx[k] - 0.5, y + ry[k] - 0.5
        # What is no number stands in the first cell, and is outside.
        u = min(p, wide) if p > 0.0 else 0.0
        v = min(q, high) if q > 0.0 else 0.0
        column, row = np.int32(u), np.int32(v)
        at[k] = np.int64(row) * width + column
        right[k], up[k] = u - column, v - row
        out[k] = abs(p - u) + abs(q - v)
        outside += not out[k] <= INSIDE
    return outside


@within(fastmath=FREELY)
def _interpolate(
    c00: Singles, c01: Singles, c10: Singles, c11: Singles, e: Floats, dx: Floats, dy: Floats
) -> None:
    """D and its gradient from those of the corners, where `dx` and `dy` say in the cell."""
    for k in range(len(e)):
        a, b, corner = dx[k], dy[k], np.float64(c00[k])
        low, high = np.float64(c01[k]) - corner, np.float64(c11[k]) - np.float64(c10[k])
        lower, upper = corner + a * low, c10[k] + a * high
        e[k] = lower + b * (upper - lower)
        dx[k], dy[k] = low + b * (high - low), upper - lower


@within(fastmath=FREELY)
def _sum_beams(scale: Floats, share: Floats, seen: Floats):  # type: ignore[no-untyped-def]
    """Σ w J Jᵀ as xx, xy, xa, yy, ya, aa, then Σ w, Σ w e² and Σ w J e.

    Args:
        scale: 1/2σ_k² of each beam, shape (m,).
        share: σ²/σ_k² of each beam.
        seen: As `look_up` has filled it.
    """
    rx, ry, es, dxs, dys = seen[0], seen[1], seen[2], seen[3], seen[4]
    xx = xy = xa = yy = ya = aa = gx = gy = ga = total = square = 0.0
    for k in range(len(scale)):
        e, dx, dy = es[k], dxs[k], dys[k]
        t = e * e * scale[k]
        w = 0.0 if t > FAINT else share[k] * decay(t)
        da = dy * rx[k] - dx * ry[k]
        wx, wy, wa, we = w * dx, w * dy, w * da, w * e
        xx += wx * dx
        xy += wx * dy
        xa += wx * da
        yy += wy * dy
        ya += wy * da
        aa += wa * da
        gx += we * dx
        gy += we * dy
        ga += we * da
        total += w
        square += we * e
    return xx, xy, xa, yy, ya, aa, total, square, gx, gy, ga


@kernel("f4[:,::1], f8[:,::1], f8[::1], f8[::1], f8 -> f8[:,::1], f8[:,::1]", over="poses")
def align(
    first: int, last: int, field: Singles, ends: Floats, noise: Floats, widths: Floats,
    damping: float, poses: Floats, normal: Floats,
) -> None:  # fmt: skip
    """Improve poses, each on its own.

    Args:
        field: D in cells, shape (height, width).
        ends: q in cells, shape (m, 2).
        noise: s in cells, shape (m,), or empty.
        widths: σ of each step in cells, shape (steps,).
        damping: Added to the normal matrix, as a share of the beams.
        poses: (x, y, yaw) in cells and rad, shape (K, 3); overwritten.
        normal: Output, Σ w J Jᵀ at the improved pose with the last σ: xx, xy, xa, yy, ya, aa, then
            Σ w and Σ w e²; shape (K, 8).
    """
    m, steps = len(ends), len(widths)
    across, arm = np.ascontiguousarray(ends.T), 0.0
    for k in range(m):
        arm += ends[k, 0] ** 2 + ends[k, 1] ** 2
    arm /= m
    scale, share = np.empty((steps, m)), np.ones((steps, m))
    for n in range(steps):
        scale[n] = 0.5 / (widths[n] * widths[n])
        for k in range(len(noise)):
            share[n, k] = 1.0 / (1.0 + (noise[k] / widths[n]) ** 2)
            scale[n, k] *= share[n, k]
    seen, corners = np.empty((6, m)), np.empty((4, m), dtype=np.float32)
    at = np.full(m + 1, -1)
    for q in range(first, last):
        x, y, yaw = poses[q, 0], poses[q, 1], poses[q, 2]
        for n in range(steps):
            look_up(field, across, x, y, yaw, seen, at, corners)
            xx, xy, xa, yy, ya, aa, _, _, gx, gy, ga = _sum_beams(scale[n], share[n], seen)
            xx += damping * m
            yy += damping * m
            aa += damping * m * arm * 0.1
            a = yy * aa - ya * ya
            b = xa * ya - xy * aa
            d = xy * ya - xa * yy
            det = xx * a + xy * b + xa * d
            if not det > 0.0:
                break
            step_x = -(a * gx + b * gy + d * ga) / det
            step_y = -(b * gx + (xx * aa - xa * xa) * gy + (xy * xa - xx * ya) * ga) / det
            step_a = -(d * gx + (xy * xa - xx * ya) * gy + (xx * yy - xy * xy) * ga) / det
            length = math.hypot(step_x, step_y)
            shrink = min(1.0, widths[n] / length) if length > 0.0 else 1.0
            x += shrink * step_x
            y += shrink * step_y
            yaw += min(max(step_a, -0.1), 0.1)
        poses[q, 0], poses[q, 1], poses[q, 2] = x, y, yaw
        look_up(field, across, x, y, yaw, seen, at, corners)
        sums = _sum_beams(scale[steps - 1], share[steps - 1], seen)
        for k in range(8):
            normal[q, k] = sums[k]
