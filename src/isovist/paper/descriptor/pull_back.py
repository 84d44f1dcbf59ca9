"""Derivatives of descriptors, pulled back to the basis."""

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.basis import DirectionalBasis


def pull_back(
    basis: DirectionalBasis, theta: FloatArray, b: FloatArray, owners: IntArray, u: FloatArray
) -> tuple[FloatArray, float]:
    """Return (6) with one u per place, and the derivative in the parameter."""
    gradient, slope = np.zeros_like(basis.directions), 0.0
    for first in range(0, len(theta), 65_536):
        part = slice(first, first + 65_536)
        t = np.clip(theta[part] @ basis.directions.T, -1.0, 1.0)
        w = basis.weights(theta[part])
        mine = u[owners[part]]
        spread = w * (mine - np.einsum("sn,sn->s", w, mine)[:, None]) * b[part, None]
        gradient += (spread * basis.profile.slope(t)).T @ theta[part]
        slope += float((spread * basis.profile.parameter_slope(t)).sum())
    along = np.einsum("nd,nd->n", gradient, basis.directions)
    return gradient - along[:, None] * basis.directions, slope
