"""Other libraries beside ours (group `baselines`): are they there, and FPFH of one of them.

FPFH is that of Open3D.  In the plane it is on the same rays as ours: the points of a ring lie in a
plane, with normals across the line from the point before to the one behind.  `space_peers` has it
of clouds, and the methods of others that find a scan in space.  SHOT has no wheel that runs without
an NVIDIA GPU; its way to share votes among bins is the method "shared" of `descriptors`.
"""

from typing import Annotated, Any

import numpy as np
import typer

from isovist.arrays import BoolArray, FloatArray
from isovist.errors import InputError

Only = Annotated[
    list[str] | None,
    typer.Option(help="Try only this method of those that the rows name; may be repeated."),
]
RADIUS, NEIGHBOURS = 1.0, 40
"""Of the points that a histogram is made of, in m, and how many of them at most."""
BINS = 33
"""Of a histogram of FPFH."""
TRY = "Try `pip install --group baselines` in the checkout (pip 25.1 or newer)."
MISSING = f"FPFH is left out: it needs Open3D. {TRY}"
EVERY = 4
"""Rays between points that are described; all of them are neighbours."""


def left_out(method: str, library: str, module: str) -> str | None:
    """Why a method of a library cannot be tried, in a sentence; `None` where it can.

    Args:
        method: As people call it.
        library: The same of what it comes from.
        module: That Python imports.
    """
    try:
        __import__(module)
    except ModuleNotFoundError as error:
        if error.name in (None, module):
            return f"{method} is left out: it needs {library}. {TRY}"
        return f"{method} is left out: {library} does not load ({error})."
    except ImportError as error:
        return f"{method} is left out: {library} does not load ({error})."
    return None


def has_fpfh() -> bool:
    """Whether Open3D is there."""
    return left_out("FPFH", "Open3D", "open3d") is None


def histograms(cloud: Any, radius: float, neighbours: int) -> Any:
    """FPFH of a cloud of Open3D with normals, from so many points within a radius in m at most."""
    import open3d

    near = open3d.geometry.KDTreeSearchParamHybrid(radius, neighbours)
    return open3d.pipelines.registration.compute_fpfh_feature(cloud, near)


def fpfh(values: FloatArray, known: BoolArray) -> FloatArray:
    """Histograms of some rays of rings, each of sum 1 or none, shape (P, R / EVERY, BINS).

    Args:
        values: log(1 + r) on R rays, shape (P, R).
        known: Where it is known, shape (P, R).
    """
    if not has_fpfh():
        raise InputError(MISSING, code="missing")
    import open3d

    angles = 2.0 * np.pi * np.arange(values.shape[1]) / values.shape[1]
    rays = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=1)
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
        found = histograms(cloud, RADIUS, NEIGHBOURS)
        told = np.zeros((len(seen), BINS))
        told[seen] = np.asarray(found.data).T
        row[:] = told[::EVERY] / np.maximum(told[::EVERY].sum(axis=1, keepdims=True), 1e-12)
    return out
