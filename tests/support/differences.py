"""Differences of high order."""

import numpy as np


def richardson(F, p, h):
    """Differences of sixth order, shape (n, 2); F takes many points at once."""
    steps = np.array([h, h / 2.0, h / 4.0])
    moves = steps[:, None, None, None] * np.array([1.0, -1.0])[:, None, None] * np.eye(2)
    ahead, behind = np.moveaxis(F(p + moves), 1, 0)
    slopes = (ahead - behind) / (2.0 * steps[:, None, None])
    return ((64.0 * slopes[2] - 20.0 * slopes[1] + slopes[0]) / 45.0).T
