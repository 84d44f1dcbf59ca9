"""Mesh files, through trimesh: PLY, OBJ, STL, OFF and GLB.

Vertices with equal coordinates are made one, since many formats write them once per face.  Any
heap of triangles is read; where the mesh is closed its inside is free space (see `MeshMap`).
"""

from pathlib import Path
from typing import Any

import numpy as np

from isovist.errors import FileError, InputError, MissingExtraError
from isovist.io.files import PathLike, about, decoding, existing_file
from isovist.maps.mesh import Free, MeshMap
from isovist.types import FloatArray

FORMATS = ".ply, .obj, .stl, .off, .glb"
_SUFFIXES = frozenset(FORMATS.split(", "))


def read_mesh(path: PathLike, *, scale: float = 1.0, free: Free | None = None) -> MeshMap:
    """Read a mesh; the suffix says what it is.

    A column `reflectance` or `intensity` of the faces of a PLY file becomes their reflectance.

    Args:
        path: The file.
        scale: Metres per unit of the file, 0.001 for millimetres.
        free: Which points are free; see `MeshMap.from_arrays`.
    """
    path = existing_file(path, "a mesh")
    if path.suffix.lower() not in _SUFFIXES:
        raise FileError(f"{path.name}: a mesh is one of {FORMATS}.")
    if not (np.isfinite(scale) and scale > 0.0):
        raise InputError(f"`scale` must be positive, in m per unit, got {scale}.")
    loaded = _load(path)
    faces = np.asarray(getattr(loaded, "faces", np.empty((0, 3), int)))
    vertices = np.asarray(loaded.vertices, dtype=np.float64)
    if faces.size == 0:
        hint = " It holds points: read it with `read_cloud`." if vertices.size else ""
        raise FileError(f"{path.name}: the mesh is empty, it has no faces.{hint}")
    if faces.min() < 0 or faces.max() >= len(vertices):
        wrong = int(faces.min() if faces.min() < 0 else faces.max())
        raise FileError(
            f"{path.name}: a face names vertex {wrong}, and the vertices are 0 to "
            f"{len(vertices) - 1}. Repair the file, or export the mesh anew."
        )
    with about(path):
        return MeshMap.from_triangles(
            scale * vertices[faces], free=free, reflectance=_reflectance(loaded, len(faces))
        )


def _load(path: Path) -> Any:
    with MissingExtraError.unless_found("Reading meshes", "mesh"):
        import trimesh
    with decoding(path, "is not a sound mesh file", most=80):
        loaded = trimesh.load(path, process=False)
        return loaded.to_mesh() if isinstance(loaded, trimesh.Scene) else loaded


def _reflectance(loaded: Any, faces: int) -> FloatArray | None:
    columns = loaded.metadata.get("_ply_raw", {}).get("face", {}).get("data", {})
    if not isinstance(columns, dict):
        return None
    for name in ("reflectance", "intensity"):
        if name in columns and np.size(columns[name]) == faces:
            return np.asarray(columns[name], dtype=np.float64).reshape(faces)
    return None
