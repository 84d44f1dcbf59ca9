"""Angles in rad."""

import numpy as np


def wrap_angle(angle):
    """The same angle from −π to π."""
    return (np.asarray(angle) + np.pi) % (2.0 * np.pi) - np.pi


def unit_vectors(angles):
    """Directions in the plane, shape (..., 2)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)
