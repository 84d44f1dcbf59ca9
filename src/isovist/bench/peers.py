"""Local descriptors of other libraries, on the same rays as ours.

FPFH is that of Open3D (extra `peers`).  The points of a ring lie in a plane, with normals across
the line from the point before to the one behind.  SHOT has no wheel for Python; its way to share
votes among bins is the method "shared" of `descriptors`.
"""

import numpy as np

from isovist.errors import InputError
from isovist.types import BoolArray, FloatArray

RADIUS, NEIGHBOURS = 1.0, 40
"""Of the points that a histogram is made of, in m, and how many of them at most."""
BINS = 33
"""Of a histogram of FPFH."""
MISSING = "FPFH is left out: it needs Open3D. Try `pip install 'isovist[peers]'`."
EVERY = 4
"""Rays between points that are described; all of them are neighbours."""


def has_fpfh() -> bool:
    """Whether Open3D is there."""
    try:
        import open3d  # noqa: F401
    except ImportError:
        return False
    return True


def fpfh(values: FloatArray, known: BoolArray) -> FloatArray:
    """Histograms of some rays of rings, each of sum 1 or none, shape (P, R / EVERY, BINS).

    Args:
        values: log(1 + r) on R rays, shape (P, R).
        known: Where it is known, shape (P, R).
    """
    try:
        import open3d
    except ImportError as error:
        raise InputError(MISSING) from error
    angles = 2.0 * np.pi * np.arange(values.shape[1]) / values.shape[1]
    rays = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
    near = open3d.geometry.KDTreeSearchParamHybrid(RADIUS, NEIGHBOURS)
    out = np.zeros((len(values), -(-values.shape[1] // EVERY), BINS))
    for ring, seen, row in zip(values, known, out, strict=True):
        points = np.expm1(ring[seen])[:, None] * rays[seen]
        if len(points) < 3:
            continue
        along = np.roll(points, -1, axis=0) - np.roll(points, 1, axis=0)
        normals = np.stack([-along[:, 1], along[:, 0], along[:, 2]], axis=1)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
        cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
        cloud.normals = open3d.utility.Vector3dVector(normals)
        found = open3d.pipelines.registration.compute_fpfh_feature(cloud, near)
        told = np.zeros((len(seen), BINS))
        told[seen] = np.asarray(found.data).T
        row[:] = told[::EVERY] / np.maximum(told[::EVERY].sum(axis=1, keepdims=True), 1e-12)
    return out
