"""Small matrices, many of them."""

import numpy as np
from numpy.typing import NDArray

from isovist.kernels.compiled import kernel

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
