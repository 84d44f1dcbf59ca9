"""Check the vertices and faces that a mesh is made from."""

import numpy as np

from isovist.arrays import ArrayLike, FloatArray, IntArray
from isovist.errors import InputError

MAX_COORDINATE = 1e9
"""Products of larger coordinates, in m, overflow."""


def finite_vertices(vertices: ArrayLike) -> FloatArray:
    """Check vertices and return them as an array of shape (v, 3).

    Raises:
        InputError: If a coordinate is not finite, or is beyond `MAX_COORDINATE`.
    """
    v = np.asarray(vertices, dtype=np.float64)
    if v.ndim != 2 or v.shape[1] != 3:
        raise InputError.about("vertices", f"must have shape (any, 3), got {v.shape}.")
    bad = np.flatnonzero(~np.isfinite(v).all(axis=1))
    if bad.size:
        raise InputError(
            f"The mesh has {len(bad)} vertices that are not finite, the first is vertex {bad[0]}. "
            "Remove them and their faces.",
            field="vertices",
        )
    far = np.abs(v).max(initial=0.0)
    if far > MAX_COORDINATE:
        raise InputError(
            f"The vertices of a mesh must lie within {MAX_COORDINATE:g} m of its origin, "
            f"got {far:g} m. Is it in m?",
            field="vertices",
        )
    return v


def checked_faces(faces: ArrayLike, vertices: int) -> IntArray:
    """Check faces and return them as an array of shape (m, 3).

    Raises:
        InputError: If a face refers to a vertex outside 0 to `vertices` − 1.
    """
    f = np.asarray(faces)
    if f.size == 0:
        raise InputError("The mesh is empty: it has no faces.", code="empty")
    if f.ndim != 2 or f.shape[1] != 3 or not np.issubdtype(f.dtype, np.integer):
        raise InputError.about(
            "faces", f"must be integers of shape (any, 3), got {f.dtype} {f.shape}."
        )
    if f.min() < 0 or f.max() >= vertices:
        raise InputError.about(
            "faces", f"must name vertices 0 to {vertices - 1}, got {f.min()} to {f.max()}."
        )
    return np.array(f, dtype=np.int64, order="C")
