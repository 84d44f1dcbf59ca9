"""Fit scans to walls in space: Gauss–Newton on the distance to the nearest wall.

As `kernels.align` in the plane.  With the ends q_k of the beams in the level frame of the sensor,
D the distance to the nearest wall and R of `poses`, equation (1),

    e_k = D(p + R q_k),     minimise Σ_k ρ(e_k / σ),    weights exp(−e_k² / 2σ²),          (1)

from a wide σ to a narrow one.  A pose is (x, y, yaw, z, roll, pitch); the first three, the first
four or all are fitted.  With v = R q and g = ∇D, turning about an axis a changes e by g·(a × v),
and the axes of yaw, roll and pitch are ẑ, R_z R_y x̂ and R_z ŷ.
"""

import math

import numpy as np

from isovist.kernels.align import REACH
from isovist.kernels.compiled import inner, kernel, within
from isovist.kernels.grids import corners_of, extent_of


@within
def distance_in_space(field, x, y, z):
    """Trilinear value and gradient at (x, y, z), in cells; values sit at the centres of cells.

    field (`kernels.grids`): at least two along each axis.  Outside of it: the value at the nearest
    point of it, plus the distance to that point.
    """
    columns, rows, levels = extent_of(field, 0), extent_of(field, 1), extent_of(field, 2)
    u, v, w = x - 0.5, y - 0.5, z - 0.5
    # What is no number stands in the first cell and comes out as it is.
    u = min(u, columns - 1.000001) if u > 0.0 else 0.0
    v = min(v, rows - 1.000001) if v > 0.0 else 0.0
    w = min(w, levels - 1.000001) if w > 0.0 else 0.0
    i, j, k = int(u), int(v), int(w)
    a, b, c = u - i, v - j, w - k
    f000, f001, f010, f011, f100, f101, f110, f111 = corners_of(field, i, j, k)
    f00, f01 = f000 + a * (f001 - f000), f010 + a * (f011 - f010)
    f10, f11 = f100 + a * (f101 - f100), f110 + a * (f111 - f110)
    f0, f1 = f00 + b * (f01 - f00), f10 + b * (f11 - f10)
    value = f0 + c * (f1 - f0)
    slope_x = (1.0 - c) * ((1.0 - b) * (f001 - f000) + b * (f011 - f010))
    slope_x += c * ((1.0 - b) * (f101 - f100) + b * (f111 - f110))
    slope_y = (1.0 - c) * (f01 - f00) + c * (f11 - f10)
    slope_z = f1 - f0
    out_x, out_y, out_z = x - 0.5 - u, y - 0.5 - v, z - 0.5 - w
    if not abs(out_x) + abs(out_y) + abs(out_z) <= 1e-5:
        out = math.sqrt(out_x * out_x + out_y * out_y + out_z * out_z)
        value += out
        slope_x, slope_y, slope_z = out_x / out, out_y / out, out_z / out
    return value, slope_x, slope_y, slope_z


@within
def turn(pose, R):
    """Fill R (3, 3) with the rotation of a pose (x, y, yaw, z, roll, pitch)."""
    cy, sy = math.cos(pose[2]), math.sin(pose[2])
    cr, sr = math.cos(pose[4]), math.sin(pose[4])
    cp, sp = math.cos(pose[5]), math.sin(pose[5])
    R[0, 0], R[0, 1], R[0, 2] = cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr
    R[1, 0], R[1, 1], R[1, 2] = sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr
    R[2, 0], R[2, 1], R[2, 2] = -sp, cp * sr, cp * cr


@within
def _solve(H, g, n):
    """Overwrite g with H⁻¹ g for the first n rows, by Cholesky; False when H is not positive."""
    for j in range(n):
        for k in range(j):
            H[j, j] -= H[j, k] * H[j, k]
        if not H[j, j] > 0.0:
            return False
        H[j, j] = math.sqrt(H[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                H[i, j] -= H[i, k] * H[j, k]
            H[i, j] /= H[j, j]
    for i in range(n):
        for k in range(i):
            g[i] -= H[i, k] * g[k]
        g[i] /= H[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            g[i] -= H[k, i] * g[k]
        g[i] /= H[i, i]
    return True


@within
def _sum_beams(field, ends, sigma, pose, H, g, R, J):
    """Fill H (6, 6), lower half, and g (6,) with Σ w J Jᵀ and −Σ w J e.  Returns Σ w and Σ w e².

    R (3, 3) and J (6,) are scratch.
    """
    turn(pose, R)
    ax, ay, az = R[0, 0], R[1, 0], R[2, 0]
    bx, by = -math.sin(pose[2]), math.cos(pose[2])
    scale, reach = 0.5 / (sigma * sigma), REACH * sigma
    for i in range(6):
        g[i] = 0.0
        for j in range(6):
            H[i, j] = 0.0
    total = square = 0.0
    for k in range(len(ends)):
        a, b, c = ends[k, 0], ends[k, 1], ends[k, 2]
        x = R[0, 0] * a + R[0, 1] * b + R[0, 2] * c
        y = R[1, 0] * a + R[1, 1] * b + R[1, 2] * c
        z = R[2, 0] * a + R[2, 1] * b + R[2, 2] * c
        e, dx, dy, dz = distance_in_space(field, pose[0] + x, pose[1] + y, pose[3] + z)
        if e > reach:
            continue
        w = math.exp(-e * e * scale)
        J[0], J[1], J[2], J[3] = dx, dy, dy * x - dx * y, dz
        J[4] = dx * (ay * z - az * y) + dy * (az * x - ax * z) + dz * (ax * y - ay * x)
        J[5] = dx * by * z - dy * bx * z + dz * (bx * y - by * x)
        for i in range(6):
            g[i] -= w * J[i] * e
            for j in range(i + 1):
                H[i, j] += w * J[i] * J[j]
        total += w
        square += w * e * e
    return total, square


@inner
def _fit(field, ends, widths, damping, arm, fitted, pose, normal, sums):
    """Improve one pose (6,); normal (6, 6) and sums (2,) as in `align_in_space`."""
    m = len(ends)
    H, g = np.zeros((6, 6)), np.zeros(6)
    R, J = np.empty((3, 3)), np.empty(6)
    for sigma in widths:
        _sum_beams(field, ends, sigma, pose, H, g, R, J)
        for i in range(6):
            H[i, i] += damping * m * (1.0 if i < 2 or i == 3 else 0.1 * arm)
        if not _solve(H, g, fitted):
            break
        if fitted < 4:
            g[3] = 0.0
        length = math.sqrt(g[0] ** 2 + g[1] ** 2 + g[3] ** 2)
        shrink = min(1.0, sigma / length) if length > 0.0 else 1.0
        for i in range(fitted):
            if i < 2 or i == 3:
                pose[i] += shrink * g[i]
            else:
                pose[i] += min(max(g[i], -0.1), 0.1)
    sums[0], sums[1] = _sum_beams(field, ends, widths[-1], pose, normal, g, R, J)


@inner
def _fit_all(first, last, field, ends, widths, damping, fitted, poses, normal, sums):
    arm = 0.0
    for k in range(len(ends)):
        arm += ends[k, 0] ** 2 + ends[k, 1] ** 2
    arm /= len(ends)
    for q in range(first, last):
        _fit(field, ends, widths, damping, arm, fitted, poses[q], normal[q], sums[q])


@kernel(
    "f4[:,:,::1], f8[:,::1], f8[::1], f8, i8 -> f8[:,::1], f8[:,:,::1], f8[:,::1]", over="poses"
)
def align_in_space(first, last, field, ends, widths, damping, fitted, poses, normal, sums):
    """Improve poses, each on its own.

    Args:
        field: D in cells, float32, shape (levels, rows, columns).
        ends: q in cells, shape (m, 3).
        widths: σ of each step in cells, shape (steps,).
        damping: Added to the normal matrix, as a share of the beams.
        fitted: How many of x, y, yaw, z, roll, pitch are fitted, from the front; the others stay.
        poses: (x, y, yaw, z, roll, pitch) in cells and rad, shape (K, 6); overwritten.
        normal: Output, Σ w J Jᵀ at the improved pose with the last σ, lower half, shape (K, 6, 6).
        sums: Output, Σ w and Σ w e² there, shape (K, 2).
    """
    _fit_all(first, last, field, ends, widths, damping, fitted, poses, normal, sums)


@kernel(
    "Tuple((i4[:,:,::1], u1[:,:,:,::1], i8[::1], f4[::1])), f8[:,::1], f8[::1], f8, i8 "
    "-> f8[:,::1], f8[:,:,::1], f8[:,::1]",
    over="poses",
)
def align_by_blocks(first, last, field, ends, widths, damping, fitted, poses, normal, sums):
    """The same where D comes by blocks."""
    _fit_all(first, last, field, ends, widths, damping, fitted, poses, normal, sums)
