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

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Beyond this many σ a beam has no weight worth its time.
REACH = 3.5
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
    low = field[j, right] - field[j, i]
    high = field[above, right] - field[above, i]
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
        out = math.hypot(out_x, out_y)
        value += out
        slope_x, slope_y = out_x / out, out_y / out
    return value, slope_x, slope_y


@within
def _turn(ends: Floats, yaw: float, rx: Floats, ry: Floats) -> None:
    """R q of each beam.  Shapes (m,)."""
    c, s = math.cos(yaw), math.sin(yaw)
    for k in range(len(ends)):
        rx[k] = c * ends[k, 0] - s * ends[k, 1]
        ry[k] = s * ends[k, 0] + c * ends[k, 1]


@within
def _look_up(  # type: ignore[no-untyped-def]
    field: Singles, x: float, y: float, rx: Floats, ry: Floats, e: Floats, dx: Floats, dy: Floats,
    out: Floats,
):  # fmt: skip
    """D and its gradient inside the grid, and how far outside each beam ends.  Shapes (m,).

    Nothing branches here, so that several beams are looked up at once.
    """
    for k in range(len(rx)):
        e[k], dx[k], dy[k], out_x, out_y = _value_inside(field, x + rx[k], y + ry[k])
        out[k] = abs(out_x) + abs(out_y)


@within
def _sum_beams(  # type: ignore[no-untyped-def]
    field: Singles, ends: Floats, noise: Floats, sigma: float, x: float, y: float, yaw: float,
    seen: Floats, near: NDArray[np.int64],
):  # fmt: skip
    """Σ w J Jᵀ as xx, xy, xa, yy, ya, aa, then Σ w, Σ w e² and Σ w J e, at a pose in cells.

    `seen` (6, m) and `near` (m,) are scratch.
    """
    scale, reach = 0.5 / (sigma * sigma), REACH * sigma
    rxs, rys, es, dxs, dys, out = seen[0], seen[1], seen[2], seen[3], seen[4], seen[5]
    _turn(ends, yaw, rxs, rys)
    _look_up(field, x, y, rxs, rys, es, dxs, dys, out)
    count = 0
    for k in range(len(ends)):
        if not out[k] <= INSIDE:
            es[k], dxs[k], dys[k] = distance_at(field, x + rxs[k], y + rys[k])
        near[count] = k
        if len(noise) > 0:
            variance = sigma * sigma + noise[k] * noise[k]
            count += not es[k] * es[k] > REACH * REACH * variance
        else:
            count += not es[k] > reach
    xx = xy = xa = yy = ya = aa = gx = gy = ga = total = square = 0.0
    for n in range(count):
        k = near[n]
        rx, ry, e, dx, dy = rxs[k], rys[k], es[k], dxs[k], dys[k]
        if len(noise) > 0:
            variance = sigma * sigma + noise[k] * noise[k]
            w = math.exp(-0.5 * e * e / variance) * (sigma * sigma / variance)
        else:
            w = math.exp(-e * e * scale)
        da = dy * rx - dx * ry
        xx += w * dx * dx
        xy += w * dx * dy
        xa += w * dx * da
        yy += w * dy * dy
        ya += w * dy * da
        aa += w * da * da
        gx += w * dx * e
        gy += w * dy * e
        ga += w * da * e
        total += w
        square += w * e * e
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
    m = len(ends)
    arm = 0.0
    for k in range(m):
        arm += ends[k, 0] ** 2 + ends[k, 1] ** 2
    arm /= m
    seen, near = np.empty((6, m)), np.empty(m, dtype=np.int64)
    for q in range(first, last):
        x, y, yaw = poses[q, 0], poses[q, 1], poses[q, 2]
        for sigma in widths:
            xx, xy, xa, yy, ya, aa, _, _, gx, gy, ga = _sum_beams(
                field, ends, noise, sigma, x, y, yaw, seen, near
            )
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
            shrink = min(1.0, sigma / length) if length > 0.0 else 1.0
            x += shrink * step_x
            y += shrink * step_y
            yaw += min(max(step_a, -0.1), 0.1)
        poses[q, 0], poses[q, 1], poses[q, 2] = x, y, yaw
        sums = _sum_beams(field, ends, noise, widths[-1], x, y, yaw, seen, near)
        for k in range(8):
            normal[q, k] = sums[k]
