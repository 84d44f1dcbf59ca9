"""Point clouds by the suffix of their file.

PLY, KITTI `.bin` (float32 rows x, y, z, intensity) and text (`.xyz`, columns x, y, z and perhaps
intensity) are read here; PCD and LAS/LAZ by pypcd4 and laspy.  Points with a coordinate that is
not finite are missing returns and left out.
"""

import itertools
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.errors import FileError, InputError, MissingExtraError
from isovist.io.las import check_las
from isovist.io.ply import read_vertices
from isovist.maps.cloud import Cloud
from isovist.maps.grid3d.voxel_map import check_points
from isovist.storage.files import PathLike, as_file_error, decoder_errors, existing_file, read_bytes

FORMATS = ".ply, .pcd, .las, .laz, .bin (KITTI), .xyz"
LIMIT = 1 << 32
_INTENSITIES = ("intensity", "scalar_intensity", "reflectance", "scalar_reflectance", "remission")

Columns = Mapping[str, FloatArray]
HEADER, COLUMNS = 100, 1000
"""Most lines of the header of a PCD file, and columns of a point."""
UNPACK = """
import sys, laspy, numpy
cloud = laspy.read(sys.argv[1])
rows = [cloud.x, cloud.y, cloud.z, cloud.intensity]
numpy.save(sys.argv[2], numpy.array([numpy.asarray(row, dtype=float) for row in rows]))
"""


def read_cloud(path: PathLike, *, scale: float = 1.0) -> Cloud:
    """Read a point cloud; the suffix tells its format.

    Args:
        path: The file.
        scale: Metres per unit of the file, 0.001 for millimetres.
    """
    path = Path(path)
    if path.suffix.lower() not in _READERS:
        raise FileError(f"{path.name}: a point cloud is one of {FORMATS}.", code="unknown_format")
    if not (np.isfinite(scale) and scale > 0.0):
        raise InputError.about("scale", f"must be positive, in m per unit, got {scale}.")
    existing_file(path, "a point cloud")
    columns = _READERS[path.suffix.lower()](path)
    missing = [name for name in "xyz" if name not in columns]
    if missing:
        raise FileError(f"{path.name} has no column `{missing[0]}`.")
    with np.errstate(all="ignore"):
        points = np.stack([columns[name] for name in "xyz"], axis=1) * scale
    valid = np.isfinite(points).all(axis=1)
    named = {name.lower(): values for name, values in columns.items()}
    found = [named[name] for name in _INTENSITIES if name in named]
    with as_file_error(path):
        points = check_points(points[valid])
    return Cloud(readonly(points), readonly(found[0][valid]) if found else None)


def _read_bin(path: Path) -> Columns:
    content = read_bytes(path, "a KITTI scan", LIMIT)
    if len(content) % 16:
        raise FileError(
            f"{path.name} has {len(content)} bytes; a KITTI scan has 16 for each point."
        )
    with np.errstate(invalid="ignore"):
        table = np.frombuffer(content, "<f4").reshape(-1, 4).astype(np.float64)
    return dict(zip(("x", "y", "z", "intensity"), table.T, strict=True))


def _read_text(path: Path) -> Columns:
    content = read_bytes(path, "a cloud in text", LIMIT)
    try:
        table = np.loadtxt(content.decode("ascii").replace(",", " ").splitlines(), ndmin=2)
    except ValueError as error:  # also of bytes that are no text
        raise FileError(
            f"{path.name} is not rows of numbers x y z.", code="unknown_format"
        ) from error
    if table.shape[1] < 3:
        raise FileError(f"{path.name} has {table.shape[1]} columns; x, y and z are needed.")
    names = ("x", "y", "z", "intensity") if table.shape[1] == 4 else ("x", "y", "z")
    return dict(zip(names, table.T, strict=False))


def _read_pcd(path: Path) -> Columns:
    with MissingExtraError.unless_found("Reading .pcd", "pointclouds"):
        from pypcd4 import PointCloud  # type: ignore[attr-defined]
    _check_pcd(path)
    with decoder_errors(path, "is not a PCD file", most=80), np.errstate(all="ignore"):
        cloud = PointCloud.from_path(path)
        return {
            name: cloud.numpy((name,))[:, 0].astype(np.float64)
            for name in cloud.fields
            if name in ("x", "y", "z") or name.lower() in _INTENSITIES
        }


def _check_pcd(path: Path) -> None:
    """A `FileError` where a point has more columns than any sensor gives: they are made one by one.

    The counts of a header are those of the columns of each field.
    """
    with path.open("rb") as stream:
        for line in itertools.islice(stream, HEADER):
            words = line.split()
            if words[:1] == [b"COUNT"]:
                counts = [float(word) if word.isdigit() else math.inf for word in words[1:]]
                if sum(counts) > COLUMNS:
                    raise FileError(
                        f"{path.name} is not a PCD file: it announces {sum(counts):.10g} columns.",
                        code="unknown_format",
                    )
            if words[:1] == [b"DATA"]:
                return


def _read_las(path: Path) -> Columns:
    with MissingExtraError.unless_found(f"Reading {path.suffix.lower()}", "pointclouds"):
        import laspy
    check_las(path)
    names = ("x", "y", "z", "intensity")
    with decoder_errors(path, "is not a LAS file", most=80), np.errstate(all="ignore"):
        if path.suffix.lower() == ".laz":
            return dict(zip(names, _unpacked(path), strict=True))
        cloud = laspy.read(path)
        return {name: np.array(getattr(cloud, name), dtype=np.float64) for name in names}


def _unpacked(path: Path) -> FloatArray:
    """Rows x, y, z and intensity of a LAZ file, shape (4, k).

    Damaged points can end the process that unpacks them, so it is one of their own.
    """
    with tempfile.TemporaryDirectory(prefix="isovist-") as folder:
        rows = Path(folder) / "rows.npy"
        done = subprocess.run(
            [sys.executable, "-c", UNPACK, str(path), str(rows)],
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        if done.returncode != 0 or not rows.exists():
            told = done.stderr.strip().splitlines()[-1:] or [""]
            raise ValueError(told[0].rpartition(": ")[2] or "its points are damaged")
        return np.asarray(np.load(rows))


_READERS: dict[str, Callable[[Path], Columns]] = {
    ".ply": read_vertices,
    ".pcd": _read_pcd,
    ".las": _read_las,
    ".laz": _read_las,
    ".bin": _read_bin,
    ".xyz": _read_text,
}
