"""Fit 3D scans to walls: Gauss–Newton on the distance to the nearest wall.

This is `compute.fitting.align2d` in 3D. With the ends q_k of the beams in the level frame of the
sensor, D the distance to the nearest wall and R of `poses`, equation (1),

    e_k = D(p + R q_k),     minimise Σ_k ρ(e_k / σ),    weights exp(−e_k² / 2σ²),          (1)

from a wide σ to a narrow one.  A pose is (x, y, yaw, z, roll, pitch); the first three, the first
four or all are fitted.  With v = R q and g = ∇D, turning about an axis a changes e by g·(a × v),
and the axes of yaw, roll and pitch are ẑ, R_z R_y x̂ and R_z ŷ.

D is 0 at the centres of cells, and beams may end before these, at faces: all by the same d, in a
last fit.  With s = 1 where D grows along a beam and −1 where it falls, and c beams' worth of d = 0,

    e_k = s_k D(p + R q_k),     minimise Σ_k w_k (e_k − d)² + c d²,                         (2)

with weights of e − d, the d of the step before.  With J = ∇e, m = Σ w J and u = Σ w e the best d is
u / (Σ w + c), and what is left without it

    H = Σ w J Jᵀ − m mᵀ / (Σ w + c),       −∇ = −Σ w J e + m u / (Σ w + c).                 (3)
"""

import math

import numpy as np

from isovist.compute.fitting.align2d import MAX_ROTATION, YAW_DAMPING
from isovist.compute.fitting.endpoints import MAX_EXPONENT, OUTSIDE_MARGIN
from isovist.compute.infra.compiled import inline, kernel, subroutine
from isovist.compute.infra.fastmath import FAST_SUMS, decay
from isovist.compute.rays.fields import corners_of, extent_of


@inline
def distance_3d(field, x, y, z):
    """Interpolate the distance and its gradient trilinearly at (x, y, z), in cells.

    Values sit at the centres of cells.

    field (`compute.grids.fields`): at least two along each axis.  Outside of it: the value at the
    nearest point of it, plus the distance to that point.
    """
    columns, rows, levels = extent_of(field, 0), extent_of(field, 1), extent_of(field, 2)
    u, v, w = x - 0.5, y - 0.5, z - 0.5
    # NaN is looked up in the first cell, and the result is NaN.
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
    if not abs(out_x) + abs(out_y) + abs(out_z) <= OUTSIDE_MARGIN:
        out = math.sqrt(out_x * out_x + out_y * out_y + out_z * out_z)
        value += out
        slope_x, slope_y, slope_z = out_x / out, out_y / out, out_z / out
    return value, slope_x, slope_y, slope_z


@inline
def fill_rotation(pose, R):
    """Fill R (3, 3) with the rotation of a pose (x, y, yaw, z, roll, pitch)."""
    cy, sy = math.cos(pose[2]), math.sin(pose[2])
    cr, sr = math.cos(pose[4]), math.sin(pose[4])
    cp, sp = math.cos(pose[5]), math.sin(pose[5])
    R[0, 0], R[0, 1], R[0, 2] = cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr
    R[1, 0], R[1, 1], R[1, 2] = sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr
    R[2, 0], R[2, 1], R[2, 2] = -sp, cp * sr, cp * cr


@inline
def _solve(H, g, n):
    """Solve H x = g for the first n rows by Cholesky, in place.

    Returns False if H is not positive definite.
    """
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


@inline(fastmath=FAST_SUMS)
def _find_cells(field, qx, qy, qz, pose, R, x, y, z, a, b, c, out, i, j, k):
    """Rotate the beams, and find the cell that each ends in.

    Fills R q, the cell (i, j, k), the place in the cell and the distance outside the grid.

    All of shape (m,).  Returns how many end outside.
    """
    wide, deep = extent_of(field, 0) - 1.000001, extent_of(field, 1) - 1.000001
    high, outside = extent_of(field, 2) - 1.000001, 0
    for n in range(len(x)):
        x[n] = R[0, 0] * qx[n] + R[0, 1] * qy[n] + R[0, 2] * qz[n]
        y[n] = R[1, 0] * qx[n] + R[1, 1] * qy[n] + R[1, 2] * qz[n]
        z[n] = R[2, 0] * qx[n] + R[2, 1] * qy[n] + R[2, 2] * qz[n]
        p, q, r = pose[0] + x[n] - 0.5, pose[1] + y[n] - 0.5, pose[3] + z[n] - 0.5
        # NaN is looked up in the first cell, and counts as outside.
        u = min(p, wide) if p > 0.0 else 0.0
        v = min(q, deep) if q > 0.0 else 0.0
        w = min(r, high) if r > 0.0 else 0.0
        i[n], j[n], k[n] = np.int32(u), np.int32(v), np.int32(w)
        a[n], b[n], c[n] = u - np.int32(u), v - np.int32(v), w - np.int32(w)
        out[n] = abs(p - u) + abs(q - v) + abs(r - w)
        outside += not out[n] <= OUTSIDE_MARGIN
    return outside


@inline(fastmath=FAST_SUMS)
def _interpolate(c0, c1, c2, c3, c4, c5, c6, c7, e, dx, dy, dz):
    """Interpolate D and its gradient from the corners, at dx, dy and dz in the cell."""
    for n in range(len(e)):
        a, b, c = dx[n], dy[n], dz[n]
        f000, f010 = np.float64(c0[n]), np.float64(c2[n])
        f100, f110 = np.float64(c4[n]), np.float64(c6[n])
        d00, d01, d10, d11 = c1[n] - f000, c3[n] - f010, c5[n] - f100, c7[n] - f110
        f00, f01, f10, f11 = f000 + a * d00, f010 + a * d01, f100 + a * d10, f110 + a * d11
        f0, f1 = f00 + b * (f01 - f00), f10 + b * (f11 - f10)
        e[n] = f0 + c * (f1 - f0)
        low, high = d00 + b * (d01 - d00), d10 + b * (d11 - d10)
        dx[n] = low + c * (high - low)
        dy[n] = (f01 - f00) + c * ((f11 - f10) - (f01 - f00))
        dz[n] = f1 - f0


@inline(fastmath=FAST_SUMS)
def _weigh(scale, d, e, w):
    """Fill the weights w; return their sum and Σ w e²."""
    total = square = 0.0
    for n in range(len(e)):
        t = (e[n] - d) * (e[n] - d) * scale
        w[n] = 0.0 if t > MAX_EXPONENT else decay(t)
        total += w[n]
        square += w[n] * e[n] * e[n]
    return total, square


@inline(fastmath=FAST_SUMS)
def _sum_level(w, x, y, e, dx, dy, dz, H, g):
    """Sum the rows of H and g for x, y, yaw and z."""
    xx = xy = xa = xz = yy = ya = yz = aa = az = zz = gx = gy = ga = gz = 0.0
    for n in range(len(w)):
        p, q, r, v = dx[n], dy[n], dz[n], w[n]
        s = q * x[n] - p * y[n]
        wp, wq, ws, wr = v * p, v * q, v * s, v * r
        xx += wp * p
        xy += wp * q
        xa += wp * s
        xz += wp * r
        yy += wq * q
        ya += wq * s
        yz += wq * r
        aa += ws * s
        az += ws * r
        zz += wr * r
        gx += wp * e[n]
        gy += wq * e[n]
        ga += ws * e[n]
        gz += wr * e[n]
    H[0, 0], H[1, 0], H[1, 1], H[2, 0], H[2, 1], H[2, 2] = xx, xy, yy, xa, ya, aa
    H[3, 0], H[3, 1], H[3, 2], H[3, 3] = xz, yz, az, zz
    g[0], g[1], g[2], g[3] = -gx, -gy, -ga, -gz


@inline(fastmath=FAST_SUMS)
def _sum_tilt(w, x, y, z, e, dx, dy, dz, R, yaw, H, g):
    """Sum the rows of H and g for roll and pitch."""
    ax, ay, az = R[0, 0], R[1, 0], R[2, 0]
    bx, by = -math.sin(yaw), math.cos(yaw)
    rx = ry = ra = rz = rr = px = py = pa = pz = pr = pp = gr = gp = 0.0
    for n in range(len(w)):
        p, q, s, u, v, h = dx[n], dy[n], dz[n], x[n], y[n], z[n]
        yaw_slope = q * u - p * v
        roll_slope = p * (ay * h - az * v) + q * (az * u - ax * h) + s * (ax * v - ay * u)
        pitch_slope = p * by * h - q * bx * h + s * (bx * v - by * u)
        wr, wp = w[n] * roll_slope, w[n] * pitch_slope
        rx += wr * p
        ry += wr * q
        ra += wr * yaw_slope
        rz += wr * s
        rr += wr * roll_slope
        px += wp * p
        py += wp * q
        pa += wp * yaw_slope
        pz += wp * s
        pr += wp * roll_slope
        pp += wp * pitch_slope
        gr += wr * e[n]
        gp += wp * e[n]
    H[4, 0], H[4, 1], H[4, 2], H[4, 3], H[4, 4] = rx, ry, ra, rz, rr
    H[5, 0], H[5, 1], H[5, 2], H[5, 3], H[5, 4], H[5, 5] = px, py, pa, pz, pr, pp
    g[4], g[5] = -gr, -gp


@inline(fastmath=FAST_SUMS)
def _sign(x, y, z, e, dx, dy, dz):
    """Multiply D and its gradient by s of (2), in place."""
    for n in range(len(e)):
        s = 1.0 if dx[n] * x[n] + dy[n] * y[n] + dz[n] * z[n] > 0.0 else -1.0
        e[n] *= s
        dx[n] *= s
        dy[n] *= s
        dz[n] *= s


@inline(fastmath=FAST_SUMS)
def _sum_once(w, x, y, z, e, dx, dy, dz, R, yaw, m):
    """Fill m (6,) of (3), and return u."""
    ax, ay, az = R[0, 0], R[1, 0], R[2, 0]
    bx, by = -math.sin(yaw), math.cos(yaw)
    mx = my = ma = mz = mr = mp = total = 0.0
    for n in range(len(w)):
        p, q, s, u, v, h = dx[n], dy[n], dz[n], x[n], y[n], z[n]
        mx += w[n] * p
        my += w[n] * q
        ma += w[n] * (q * u - p * v)
        mz += w[n] * s
        mr += w[n] * (p * (ay * h - az * v) + q * (az * u - ax * h) + s * (ax * v - ay * u))
        mp += w[n] * (p * by * h - q * bx * h + s * (bx * v - by * u))
        total += w[n] * e[n]
    m[0], m[1], m[2], m[3], m[4], m[5] = mx, my, ma, mz, mr, mp
    return total


@inline
def _sum_beams(
    field, ends, sigma, offset_weight, d, fitted, pose, H, g, m, R, beam_values, at, corners
):
    """Fill the lower half of H (6, 6) and g (6,) by (3).

    Returns Σ w, the sum of (2), and d.

    Rows of roll and pitch stay as they are where these are not fitted.  An infinite c holds d at 0,
    and (2) is (1).

    Ends (3, m) are looked up as in `compute.fitting.align2d`: the numbers of cells, in `at` (3, m +
    1), end with −1.  m (6,), R (3, 3), `beam_values` (9, m) and `corners` (8, m) are scratch.
    """
    fill_rotation(pose, R)
    x, y, z, e, w = beam_values[0], beam_values[1], beam_values[2], beam_values[3], beam_values[4]
    dx, dy, dz, out = beam_values[5], beam_values[6], beam_values[7], beam_values[8]
    outside = _find_cells(
        field, ends[0], ends[1], ends[2], pose, R, x, y, z, dx, dy, dz, out, at[0], at[1], at[2]
    )
    n = 0
    while at[0, n] >= 0:
        (
            corners[0, n], corners[1, n], corners[2, n], corners[3, n],
            corners[4, n], corners[5, n], corners[6, n], corners[7, n],
        ) = corners_of(field, at[0, n], at[1, n], at[2, n])  # fmt: skip
        n += 1
    _interpolate(
        corners[0], corners[1], corners[2], corners[3], corners[4], corners[5], corners[6],
        corners[7], e, dx, dy, dz,
    )  # fmt: skip
    if outside > 0:
        for n in range(len(e)):
            if not out[n] <= OUTSIDE_MARGIN:
                e[n], dx[n], dy[n], dz[n] = distance_3d(
                    field, pose[0] + x[n], pose[1] + y[n], pose[3] + z[n]
                )
    if offset_weight < math.inf:
        _sign(x, y, z, e, dx, dy, dz)
    total, square = _weigh(0.5 / (sigma * sigma), d, e, w)
    _sum_level(w, x, y, e, dx, dy, dz, H, g)
    if fitted > 4:
        _sum_tilt(w, x, y, z, e, dx, dy, dz, R, pose[2], H, g)
    if offset_weight < math.inf:
        d = _sum_once(w, x, y, z, e, dx, dy, dz, R, pose[2], m) / (total + offset_weight)
        for i in range(fitted):
            g[i] += m[i] * d
            for j in range(i + 1):
                H[i, j] -= m[i] * m[j] / (total + offset_weight)
        square -= (total + offset_weight) * d * d
    return total, square, d


@subroutine
def _fit_all(first, last, field, ends, widths, damping, offset_weight, fitted, poses, normal, sums):
    """Improve poses on a field of either layout; see `align_3d`."""
    count, lever = len(ends), 0.0
    for k in range(count):
        lever += ends[k, 0] ** 2 + ends[k, 1] ** 2
    lever /= count
    end_rows, H, g = np.ascontiguousarray(ends.T), np.zeros((6, 6)), np.zeros(6)
    m, R, beam_values = np.empty(6), np.empty((3, 3)), np.empty((9, count))
    corners = np.empty((8, count), dtype=np.float32)
    at = np.full((3, count + 1), -1, dtype=np.int32)
    for q in range(first, last):
        pose = poses[q]
        d = 0.0
        for sigma in widths:
            _, _, d = _sum_beams(
                field, end_rows, sigma, offset_weight, d, fitted, pose, H, g, m, R, beam_values, at,
                corners,
            )  # fmt: skip
            for i in range(6):
                H[i, i] += damping * count * (1.0 if i < 2 or i == 3 else YAW_DAMPING * lever)
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
                    pose[i] += min(max(g[i], -MAX_ROTATION), MAX_ROTATION)
        sums[q, 0], sums[q, 1], _ = _sum_beams(
            field, end_rows, widths[-1], offset_weight, d, fitted, pose, normal[q], g, m, R,
            beam_values, at, corners,
        )  # fmt: skip


@kernel(
    "f4[:,:,::1], f8[:,::1], f8[::1], f8, f8, i8 -> f8[:,::1], f8[:,:,::1], f8[:,::1]", over="poses"
)
def align_3d(first, last, field, ends, widths, damping, offset_weight, fitted, poses, normal, sums):
    """Improve poses, each by itself.

    Args:
        field: D in cells, float32, shape (levels, rows, columns).
        ends: q in cells, shape (m, 3).
        widths: σ of each step in cells, shape (steps,).
        damping: Added to the normal matrix, as a share of the beams.
        offset_weight: c of (2), in beams.
        fitted: Number of coordinates to fit, the first of x, y, yaw, z, roll, pitch.
        poses: (x, y, yaw, z, roll, pitch) in cells and rad, shape (K, 6); overwritten.
        normal: Output, H of (3) at the improved pose with the last σ, lower half, of what is
            fitted, shape (K, 6, 6).
        sums: Output, Σ w and the sum of (2) there, shape (K, 2).
    """
    _fit_all(first, last, field, ends, widths, damping, offset_weight, fitted, poses, normal, sums)


@kernel(
    "Tuple((i4[:,:,::1], u1[:,:,:,::1], i8[::1], f4[::1])), f8[:,::1], f8[::1], f8, f8, i8 "
    "-> f8[:,::1], f8[:,:,::1], f8[:,::1]",
    over="poses",
)
def align_3d_by_blocks(
    first, last, field, ends, widths, damping, offset_weight, fitted, poses, normal, sums
):
    """Improve poses on a field that is stored by blocks; see `align_3d`."""
    _fit_all(first, last, field, ends, widths, damping, offset_weight, fitted, poses, normal, sums)
