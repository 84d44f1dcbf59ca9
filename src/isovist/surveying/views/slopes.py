"""Measure how fast the descriptor of a 3D map changes from node to node.

μ is the least singular value of the Jacobian of the descriptor with respect to x and y. The
Jacobian is a difference between neighbouring nodes, [F(x + h) − F(x − h)]/2h with h the spacing,
and one-sided beside walls. Channels into unknown space are left out.
"""

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import FAR, SpaceAtlas


def descriptor_slopes(atlas: SpaceAtlas) -> tuple[FloatArray, FloatArray]:
    """Return how fast the descriptor changes with position at each node, and its weakest direction.

    Returns:
        μ per m, shape (N,), NaN at nodes without neighbours.  Then the weakest level direction,
        shape (N, 2).
    """
    stride = round(atlas.spacing / atlas.world.resolution)
    F = atlas.descriptors.reshape(len(atlas.nodes), -1).astype(np.float64)
    is_known = F < FAR
    J = np.full((len(F), F.shape[1], 2), np.nan)
    for axis, step in enumerate((stride, stride * atlas.world.shape[2])):
        ends = []
        for sign in (1, -1):
            at = np.searchsorted(atlas.nodes, atlas.nodes + sign * step)
            at = np.minimum(at, len(atlas.nodes) - 1)
            exists = atlas.nodes[at] == atlas.nodes + sign * step
            ends.append((np.where(exists, at, np.arange(len(F))), exists))
        (after, has_after), (before, has_before) = ends
        width = atlas.spacing * (has_after.astype(np.float64) + has_before)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (F[after] - F[before]) / width[:, None]
        J[:, :, axis] = np.where(is_known[after] & is_known[before], slope, 0.0)
        J[width == 0.0, :, axis] = np.nan
    W = np.einsum("nci,ncj->nij", J, J)
    bad = ~np.isfinite(W).all(axis=(1, 2))
    values, vectors = np.linalg.eigh(np.where(bad[:, None, None], np.eye(2), W))
    mu = np.where(bad, np.nan, np.sqrt(np.maximum(values[:, 0], 0.0)))
    return mu, np.ascontiguousarray(vectors[:, :, 0])
