"""The mesh norm of a set of directions: the largest hole it leaves on the sphere.

    h = max_θ min_i ∠(θ, d_i)                                                (1)

On the circle it is half the largest gap.  On the sphere, cos h = min_θ max_i θ·d_i is the least
value of the support function of the convex hull of the d_i.  If the centre is inside the hull, the
minimum is at the outward normal of a facet.  Otherwise it is opposite to the point of the hull
nearest to the centre, which lies on a facet or halfway along an edge.
"""

import numpy as np

from isovist.arrays import FloatArray, IntArray


def mesh_norm(directions: FloatArray) -> float:
    """Return the largest angle from any direction to the nearest given one, in rad.

    This is h of equation (1), for unit vectors of shape (n, 2) or (n, 3).
    """
    if directions.shape[1] == 2:
        return float(circle_gaps(directions)[1].max() / 2.0)
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(directions)
    except QhullError:  # all in one plane
        axis = np.linalg.svd(directions - directions.mean(axis=0))[2][-1]
        edges = np.stack(np.triu_indices(len(directions), 1), axis=1)
        return _deepest(directions, np.stack([axis, -axis]), edges)
    sides = hull.simplices[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).astype(np.int64)
    return _deepest(directions, hull.equations[:, :3], sides)


def _deepest(directions: FloatArray, normals: FloatArray, edges: IntArray) -> float:
    """Largest hole among those at normals and opposite to midpoints of edges."""
    middles = directions[edges[:, 0]] + directions[edges[:, 1]]
    lengths = np.linalg.norm(middles, axis=1)
    middles = middles[lengths > 1e-9] / lengths[lengths > 1e-9, None]
    holes = np.concatenate([normals, -middles])
    nearest = np.concatenate(
        [
            (part @ directions.T).max(axis=1)
            for part in np.array_split(holes, 1 + len(holes) // 4096)
        ]
    )
    return float(np.arccos(np.clip(nearest.min(), -1.0, 1.0)))


def circle_gaps(directions: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the angles sorted in [0, 2π), and the gap from each to the next, in rad."""
    angles = np.sort(np.arctan2(directions[:, 1], directions[:, 0]) % (2.0 * np.pi))
    return angles, np.diff(angles, append=angles[0] + 2.0 * np.pi)
