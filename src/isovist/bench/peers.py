"""Local descriptors of other libraries, on the same rays as ours.

FPFH is that of Open3D (extra `peers`), SHOT that of cupoch (extra `shot`), which has wheels for
Linux on x86-64 and Python up to 3.12 and needs an NVIDIA GPU.  The points of a ring lie in a plane,
with normals across the line from the point before to the one behind.
"""

from importlib import import_module
from typing import Any

import numpy as np

from isovist.errors import InputError
from isovist.types import BoolArray, FloatArray

RADIUS, NEIGHBOURS = 1.0, 40
"""Of the points that a histogram is made of, in m, and how many of them at most."""
LIBRARIES = {"fpfh": "open3d", "shot": "cupoch"}
BINS = {"fpfh": 33, "shot": 352}
"""Of a histogram."""
MISSING = {
    "fpfh": "FPFH is left out: it needs Open3D. Try `pip install 'isovist[peers]'`.",
    "shot": "SHOT is left out: it needs cupoch and an NVIDIA GPU. "
    "Try `pip install 'isovist[shot]'` with Python 3.11 or 3.12.",
}
EVERY = 4
"""Rays between points that are described; all of them are neighbours."""


def has_peer(name: str) -> bool:
    """Whether the library of a method is there, and works; true of our own methods."""
    try:
        import_module(LIBRARIES.get(name, "numpy"))
    except ImportError:  # cupoch says so too where there is no GPU
        return False
    return True


def histograms(name: str, values: FloatArray, known: BoolArray) -> FloatArray:
    """FPFH or SHOT of some rays of rings, each of sum 1 or none, shape (P, R / EVERY, bins).

    Args:
        name: fpfh or shot.
        values: log(1 + r) on R rays, shape (P, R).
        known: Where it is known, shape (P, R).
    """
    if not has_peer(name):
        raise InputError(MISSING[name])
    library, describe = import_module(LIBRARIES[name]), {"fpfh": _fpfh, "shot": _shot}[name]
    angles = 2.0 * np.pi * np.arange(values.shape[1]) / values.shape[1]
    rays = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
    out = np.zeros((len(values), -(-values.shape[1] // EVERY), BINS[name]))
    for ring, seen, row in zip(values, known, out, strict=True):
        points = np.expm1(ring[seen])[:, None] * rays[seen]
        if len(points) < 3:
            continue
        along = np.roll(points, -1, axis=0) - np.roll(points, 1, axis=0)
        normals = np.stack([-along[:, 1], along[:, 0], along[:, 2]], axis=1)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
        told = np.zeros((len(seen), BINS[name]))
        told[seen] = describe(library, points, normals)
        row[:] = told[::EVERY] / np.maximum(told[::EVERY].sum(axis=1, keepdims=True), 1e-12)
    return out


def _fpfh(open3d: Any, points: FloatArray, normals: FloatArray) -> FloatArray:
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
    cloud.normals = open3d.utility.Vector3dVector(normals)
    near = open3d.geometry.KDTreeSearchParamHybrid(RADIUS, NEIGHBOURS)
    found = open3d.pipelines.registration.compute_fpfh_feature(cloud, near)
    return np.asarray(found.data).T


def _shot(cupoch: Any, points: FloatArray, normals: FloatArray) -> FloatArray:
    cloud = cupoch.geometry.PointCloud()
    cloud.points = cupoch.utility.Vector3fVector(points.astype(np.float32))
    cloud.normals = cupoch.utility.Vector3fVector(normals.astype(np.float32))
    near = cupoch.geometry.KDTreeSearchParamRadius(RADIUS, NEIGHBOURS)
    found = cupoch.registration.compute_shot_feature(cloud, RADIUS, near)
    return np.nan_to_num(np.asarray(found.data.cpu(), np.float64).reshape(len(points), -1))
