"""The mesh norm of a set of directions: the largest hole it leaves on the sphere.

    h = max_θ min_i ∠(θ, d_i)                                                (1)

On the circle it is half the largest gap.  On the sphere the deepest point of a hole is the
outward normal of a facet of the convex hull of the d_i: with the facet on n·x = b, no d_i has
n·d_i > b, so the hole at n has radius arccos b.
"""

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from isovist.types import FloatArray


def mesh_norm(directions: FloatArray) -> float:
    """h of equation (1) for unit vectors of shape (n, 2) or (n, 3), in rad."""
    if directions.shape[1] == 2:
        return float(circle_gaps(directions)[1].max() / 2.0)
    try:
        offsets = -ConvexHull(directions).equations[:, -1]
        return float(np.arccos(np.clip(offsets.min(), -1.0, 1.0)))
    except QhullError:
        return _flat_mesh_norm(directions)


def circle_gaps(directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sorted angles in [0, 2π) and the gap from each to the next, in rad."""
    angles = np.sort(np.arctan2(directions[:, 1], directions[:, 0]) % (2.0 * np.pi))
    return angles, np.diff(angles, append=angles[0] + 2.0 * np.pi)


def _flat_mesh_norm(directions: FloatArray) -> float:
    """Directions in one plane: the holes are at its poles or at midpoints of pairs."""
    axis = np.linalg.svd(directions - directions.mean(axis=0))[2][-1]
    pairs = (directions[:, None, :] + directions[None, :, :]).reshape(-1, 3)
    lengths = np.linalg.norm(pairs, axis=1)
    pairs = pairs[lengths > 1e-9] / lengths[lengths > 1e-9, None]
    holes = np.concatenate([[axis], [-axis], pairs, -pairs])
    return float(np.arccos(np.clip((holes @ directions.T).max(axis=1).min(), -1.0, 1.0)))
