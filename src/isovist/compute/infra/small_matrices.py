"""Small matrices, many of them."""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.compute.infra.compiled import kernel

Floats = NDArray[np.float64]


@kernel("f8[:,:,::1], f8[:,::1], f8[:,::1] -> f8[:,:,::1]")
def invert(known: Floats, least: Floats, floor: Floats, out: Floats) -> None:
    """(A + B)⁻¹ + C of symmetric matrices, of which A + B is positive definite.

    Args:
        known: A, shape (K, n, n).
        least: B, shape (n, n).
        floor: C, shape (n, n).
        out: Output, shape (K, n, n).
    """
    n = known.shape[1]
    L, inverse = np.empty((n, n)), np.zeros((n, n))  # A + B = L Lᵀ, and L⁻¹
    for k in range(len(known)):
        for i in range(n):
            for j in range(i + 1):
                total = known[k, i, j] + least[i, j]
                for c in range(j):
                    total -= L[i, c] * L[j, c]
                L[i, j] = np.sqrt(total) if i == j else total / L[j, j]
        for j in range(n):
            inverse[j, j] = 1.0 / L[j, j]
            for i in range(j + 1, n):
                total = 0.0
                for c in range(j, i):
                    total -= L[i, c] * inverse[c, j]
                inverse[i, j] = total / L[i, i]
        for i in range(n):
            for j in range(i + 1):
                total = 0.0
                for c in range(i, n):
                    total += inverse[c, i] * inverse[c, j]
                out[k, i, j] = total + floor[i, j]
                out[k, j, i] = total + floor[j, i]


@kernel("f8[:,::1], f8[::1], f8[:,:,::1] -> f8[:,::1], f8[:,:,::1]")
def carry(poses: Floats, mount: Floats, spreads: Floats, carried: Floats, out: Floats) -> None:
    """Poses of the plane with another fixed to each, and the covariances of these.

    Args:
        poses: (x, y, yaw), shape (K, 3).
        mount: What is fixed to each, as it sees it, shape (3,).
        spreads: Covariances of the poses, shape (K, 3, 3).
        carried: Output, where that is then, with yaw in [−π, π), shape (K, 3).
        out: Output, its covariance, shape (K, 3, 3).
    """
    turned = np.empty((3, 3))  # J S, with J = 1 but for how far a turn moves what is fixed
    for k in range(len(poses)):
        c, s = math.cos(poses[k, 2]), math.sin(poses[k, 2])
        u, v = c * mount[0] - s * mount[1], s * mount[0] + c * mount[1]
        carried[k, 0], carried[k, 1] = poses[k, 0] + u, poses[k, 1] + v
        carried[k, 2] = (poses[k, 2] + mount[2] + math.pi) % (2.0 * math.pi) - math.pi
        for j in range(3):
            turned[0, j] = spreads[k, 0, j] - v * spreads[k, 2, j]
            turned[1, j] = spreads[k, 1, j] + u * spreads[k, 2, j]
            turned[2, j] = spreads[k, 2, j]
        for i in range(3):
            out[k, i, 0] = turned[i, 0] - v * turned[i, 2]
            out[k, i, 1] = turned[i, 1] + u * turned[i, 2]
            out[k, i, 2] = turned[i, 2]
