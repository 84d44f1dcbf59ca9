"""Compute with many small matrices."""

import math

import numpy as np

from isovist.compute.infra.compiled import kernel


@kernel("f8[:,:,::1], f8[:,::1], f8[:,::1] -> f8[:,:,::1]")
def invert(information, prior, floor, covariances):
    """Compute (A + B)⁻¹ + C for symmetric matrices, where A + B is positive definite.

    Args:
        information: A, information matrices, shape (K, n, n).
        prior: B, information known before, shape (n, n).
        floor: C, least covariance, shape (n, n).
        covariances: Output, shape (K, n, n).
    """
    n = information.shape[1]
    L, inverse = np.empty((n, n)), np.zeros((n, n))  # A + B = L Lᵀ, and L⁻¹
    for k in range(len(information)):
        for i in range(n):
            for j in range(i + 1):
                total = information[k, i, j] + prior[i, j]
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
                covariances[k, i, j] = total + floor[i, j]
                covariances[k, j, i] = total + floor[j, i]


@kernel("f8[:,::1], f8[::1], f8[:,:,::1] -> f8[:,::1], f8[:,:,::1]")
def compose(poses, mount, covariances, composed, composed_covariances):
    """Compose 2D poses with a fixed pose, and transform their covariances.

    Args:
        poses: (x, y, yaw), shape (K, 3).
        mount: Pose fixed to each, in its frame, (x, y, yaw), shape (3,).
        covariances: Covariances of the poses, shape (K, 3, 3).
        composed: Output, composed poses, with yaw in [−π, π), shape (K, 3).
        composed_covariances: Output, their covariances, shape (K, 3, 3).
    """
    product = np.empty((3, 3))  # J S; J is the identity plus the lever arm of the mount
    for k in range(len(poses)):
        c, s = math.cos(poses[k, 2]), math.sin(poses[k, 2])
        u, v = c * mount[0] - s * mount[1], s * mount[0] + c * mount[1]
        composed[k, 0], composed[k, 1] = poses[k, 0] + u, poses[k, 1] + v
        composed[k, 2] = (poses[k, 2] + mount[2] + math.pi) % (2.0 * math.pi) - math.pi
        for j in range(3):
            product[0, j] = covariances[k, 0, j] - v * covariances[k, 2, j]
            product[1, j] = covariances[k, 1, j] + u * covariances[k, 2, j]
            product[2, j] = covariances[k, 2, j]
        for i in range(3):
            composed_covariances[k, i, 0] = product[i, 0] - v * product[i, 2]
            composed_covariances[k, i, 1] = product[i, 1] + u * product[i, 2]
            composed_covariances[k, i, 2] = product[i, 2]
