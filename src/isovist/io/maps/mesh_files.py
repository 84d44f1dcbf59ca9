"""Read mesh files through trimesh: PLY, OBJ, STL, OFF and GLB.

Vertices with equal coordinates are made one, since many formats write them once per face.  Any
heap of triangles is read; where the mesh is closed its inside is free space (see `MeshMap`).
"""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError, InputError, MissingExtraError
from isovist.io.settings import LIMITS
from isovist.maps import Free, MeshMap, checked_faces
from isovist.storage import PathLike, as_file_error, decoder_errors, existing_file, read_bytes

SUFFIXES = (".ply", ".obj", ".stl", ".off", ".glb")


def read_mesh(path: PathLike, *, scale: float = 1.0, free: Free | None = None) -> MeshMap:
    """Read a triangle mesh; the suffix of the file determines its format.

    In a PLY file, the property `reflectance` or `intensity` of a face is its reflectance.

    Args:
        path: The file.
        scale: Metres per unit of the file, 0.001 for millimetres.
        free: Free points, as in `MeshMap.from_arrays`.
    """
    path = existing_file(path, "a mesh")
    if path.suffix.lower() not in SUFFIXES:
        raise FileError(
            f"{path.name}: a mesh is one of {', '.join(SUFFIXES)}.", code="unknown_format"
        )
    if not (np.isfinite(scale) and scale > 0.0):
        raise InputError.about("scale", f"must be positive, in m per unit, got {scale}.")
    loaded = _load(path)
    faces = np.asarray(getattr(loaded, "faces", np.empty((0, 3), int)))
    vertices = np.asarray(getattr(loaded, "vertices", np.empty((0, 3))), dtype=np.float64)
    if faces.size == 0:
        hint = " It holds points: read it with `read_cloud`." if vertices.size else ""
        raise FileError(f"{path.name}: the mesh is empty, it has no faces.{hint}", code="empty")
    with as_file_error(path), np.errstate(over="ignore"):
        return MeshMap.from_triangles(
            scale * vertices[checked_faces(faces, len(vertices))],
            free=free,
            reflectance=_reflectance(loaded, len(faces)),
        )


def _load(path: Path) -> Any:
    with MissingExtraError.unless_found("Reading meshes", "mesh"):
        import trimesh
    suffix, content = path.suffix[1:].lower(), read_bytes(path, "a mesh", LIMITS.mesh_bytes)
    with decoder_errors(path, "is not a sound mesh file", max_length=80), np.errstate(all="ignore"):
        if suffix == "off":
            _check_off(content)
        with _warnings() as warnings:
            # From memory, and without the pictures on the walls, so that no other file is opened.
            options: dict[str, Any] = {"skip_materials": True} if suffix in ("ply", "obj") else {}
            try:
                loaded = trimesh.load(
                    io.BytesIO(content), file_type=suffix, process=False, **options
                )
            except ImportError as error:  # trimesh has no detector of encodings at hand
                raise ValueError("bytes stand where text was expected") from error
        if warnings:
            raise ValueError(warnings[0])
        with _warnings():  # columns that differ from part to part are left out
            return loaded.to_mesh() if isinstance(loaded, trimesh.Scene) else loaded


@contextmanager
def _warnings() -> Iterator[list[str]]:
    """Collect the warnings of trimesh, which goes on with half a file and prints why."""
    warnings: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("trimesh")
    propagate = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield warnings
    finally:
        logger.propagate = propagate
        logger.removeHandler(handler)


def _check_off(content: bytes) -> None:
    """Raise `ValueError` if there are fewer lines than announced; trimesh would read on."""
    text = content.decode("utf-8", errors="replace").replace("COFF", "OFF")
    lines = (line.split("#")[0].replace("OFF", "") for line in text.splitlines())
    counts, *rest = [line for line in lines if line.strip()] or [""]
    announced = [int(word) for word in counts.split()[:2]]
    if len(rest) < sum(announced):
        raise ValueError(f"it announces {sum(announced)} vertices and faces and has {len(rest)}")


def _reflectance(loaded: Any, faces: int) -> FloatArray | None:
    columns = loaded.metadata.get("_ply_raw", {}).get("face", {}).get("data", {})
    if not isinstance(columns, dict):
        return None
    for name in ("reflectance", "intensity"):
        if name in columns and np.size(columns[name]) == faces:
            return np.asarray(columns[name], dtype=np.float64).reshape(faces)
    return None
