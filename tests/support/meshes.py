"""Closed meshes."""

import numpy as np


def sphere(n, seed=0):
    """A bumpy closed surface around the origin, about 2 n² faces."""
    rng = np.random.default_rng(seed)
    around = 2 * np.pi * np.arange(n) / n
    down = np.pi * np.arange(1, n) / n
    theta, phi = np.meshgrid(down, around, indexing="ij")
    rings = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], -1)
    rings *= rng.uniform(4.0, 5.0, theta.shape)[..., None]
    vertices = np.concatenate([rings.reshape(-1, 3), [[0, 0, 4.5], [0, 0, -4.5]]])
    at = np.arange((n - 1) * n).reshape(n - 1, n)
    a, b, c, d = at[:-1], np.roll(at[:-1], -1, 1), at[1:], np.roll(at[1:], -1, 1)
    top, bottom = np.full(n, len(vertices) - 2), np.full(n, len(vertices) - 1)
    parts = [(a, c, d), (a, d, b), (top, at[0], np.roll(at[0], -1))]
    parts.append((bottom, np.roll(at[-1], -1), at[-1]))
    return vertices, np.concatenate([np.stack(part, -1).reshape(-1, 3) for part in parts])
