"""Fit 2D scans to walls: Gauss–Newton on the distance to the nearest wall.

With the ends q_k of the beams in the frame of the sensor and D the distance to the nearest wall,

    e_k = D(p + R(yaw) q_k),     minimise Σ_k ρ(e_k / σ),    weights exp(−e_k² / 2σ²),          (1)

from a wide σ to a narrow one.  Beams that end far from any wall lose their say.  A beam with a
noise s_k of its own has σ_k² = σ² + s_k² in place of σ², and its weight times σ²/σ_k².
"""

import math

import numpy as np

from isovist.compute.fitting.endpoints import SUM_COUNT, pack_ends, padded_beams, sum_ends
from isovist.compute.infra.compiled import kernel

POSES_PER_PART = 8
"""Poses that are fitted, or rated, in about the time that it takes to wake a helper."""
MAX_ROTATION = 0.1
"""Largest rotation of one step, in rad: the linearization holds no farther."""
YAW_DAMPING = 0.1
"""Damping of rotations, as a share of what damping of translations would move the mean end."""


@kernel(
    "f4[:,::1], f8[:,::1], f8[::1], f8[::1], f8 -> f8[:,::1], f8[:,::1]",
    over="poses",
    block=POSES_PER_PART,
)
def align_2d(first, last, field, ends, noise, widths, damping, poses, normal):
    """Improve poses, each by itself.

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
    packed_ends, lever = np.empty((2, padded_beams(m)), dtype=np.float32), 0.0
    pack_ends(ends, 1.0, packed_ends)
    for k in range(m):
        lever += ends[k, 0] ** 2 + ends[k, 1] ** 2
    lever /= m
    scale, share = (
        np.zeros((steps, padded_beams(m)), np.float32),
        np.zeros((steps, padded_beams(m)), np.float32),
    )
    for n in range(steps):
        share[n, :m] = 1.0
        for k in range(len(noise)):
            share[n, k] = 1.0 / (1.0 + (noise[k] / widths[n]) ** 2)
        for k in range(m):
            scale[n, k] = 0.5 / (widths[n] * widths[n]) * share[n, k]
    sums = np.empty(SUM_COUNT)
    for q in range(first, last):
        x, y, yaw = poses[q, 0], poses[q, 1], poses[q, 2]
        for n in range(steps):
            sum_ends(field, packed_ends, x, y, yaw, scale[n], share[n], sums)
            xx, xy, xa, yy, ya, aa = sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]
            gx, gy, ga = sums[8], sums[9], sums[10]
            xx += damping * m
            yy += damping * m
            aa += damping * m * lever * YAW_DAMPING
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
            yaw += min(max(step_a, -MAX_ROTATION), MAX_ROTATION)
        poses[q, 0], poses[q, 1], poses[q, 2] = x, y, yaw
        sum_ends(field, packed_ends, x, y, yaw, scale[steps - 1], share[steps - 1], sums)
        for k in range(8):
            normal[q, k] = sums[k]
