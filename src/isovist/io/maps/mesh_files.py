"""Mesh files, through trimesh: PLY, OBJ, STL, OFF and GLB.

Vertices with equal coordinates are made one, since many formats write them once per face.  Any
heap of triangles is read; where the mesh is closed its inside is free space (see `MeshMap`).
"""

import io
from pathlib import Path
from typing import Any

import numpy as np

from isovist.errors import FileError, InputError, MissingExtraError
from isovist.io.files import PathLike, about, decoding, existing_file, read_bytes
from isovist.maps.mesh import Free, MeshMap, checked_faces
from isovist.types import FloatArray

FORMATS = ".ply, .obj, .stl, .off, .glb"
LIMIT = 1 << 32
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
    vertices = np.asarray(getattr(loaded, "vertices", np.empty((0, 3))), dtype=np.float64)
    if faces.size == 0:
        hint = " It holds points: read it with `read_cloud`." if vertices.size else ""
        raise FileError(f"{path.name}: the mesh is empty, it has no faces.{hint}")
    with about(path), np.errstate(over="ignore"):
        return MeshMap.from_triangles(
            scale * vertices[checked_faces(faces, len(vertices))],
            free=free,
            reflectance=_reflectance(loaded, len(faces)),
        )


def _load(path: Path) -> Any:
    with MissingExtraError.unless_found("Reading meshes", "mesh"):
        import trimesh
    with decoding(path, "is not a sound mesh file", most=80), np.errstate(all="ignore"):
        # From memory, so that a mesh cannot have other files opened, such as those of materials.
        content = io.BytesIO(read_bytes(path, "a mesh", LIMIT))
        loaded = trimesh.load(content, file_type=path.suffix[1:].lower(), process=False)
        return loaded.to_mesh() if isinstance(loaded, trimesh.Scene) else loaded


def _reflectance(loaded: Any, faces: int) -> FloatArray | None:
    columns = loaded.metadata.get("_ply_raw", {}).get("face", {}).get("data", {})
    if not isinstance(columns, dict):
        return None
    for name in ("reflectance", "intensity"):
        if name in columns and np.size(columns[name]) == faces:
            return np.asarray(columns[name], dtype=np.float64).reshape(faces)
    return None
