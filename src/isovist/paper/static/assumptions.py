"""Assumptions of the bounds, and samples of a ball that check them."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from isovist.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Assumption:
    """One of T1 to T5, or the free space between candidate and truth.

    Attributes:
        name: "T1" to "T5", or "way" for the free space.
        holds: Whether it holds, as far as it can be checked.
        value: The value that was checked.
        limit: Its upper limit (for T4 its lower limit).
        text: What was checked and what had to be assumed.
    """

    name: str
    holds: bool
    value: float
    limit: float
    text: str


def ball_points(d: int, samples: int) -> FloatArray:
    """Return points of the unit ball: ends of the axes, then evenly spread, shape (samples, d)."""
    ends = np.concatenate([np.eye(d), -np.eye(d)])
    k = np.arange(max(0, samples - 2 * d)) + 0.5
    # Multiples of the roots of x^(d+1) = x + 1 fill the cube evenly.
    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (d + 1))
    cube = (k[:, None] * root ** -np.arange(1.0, d + 1.0)) % 1.0
    radius = cube[:, :1] ** (1.0 / d)
    turn = 2.0 * np.pi * cube[:, 1]
    if d == 2:
        unit = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    elif d > 3:
        radius = ((k[:, None] * (0.5 * np.sqrt(5.0) - 0.5)) % 1.0) ** (1.0 / d)
        unit = ndtri(cube)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    else:
        z = 2.0 * cube[:, 2] - 1.0
        flat = np.sqrt(1.0 - z * z)
        unit = np.stack([flat * np.cos(turn), flat * np.sin(turn), z], axis=1)
    return np.concatenate([ends, radius * unit])[:samples]
