"""Read point clouds by the suffix of their file (`CLOUD_FORMATS`).

PLY, KITTI `.bin` (float32 rows x, y, z, intensity) and text (`.xyz`, columns x, y, z and perhaps
intensity) are read here; PCD and LAS/LAZ by pypcd4 and laspy.  Points with a coordinate that is
not finite are missing returns and left out.
"""

import itertools
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.errors import FileError, InputError, MissingExtraError
from isovist.io.formats import Format, format_of, list_formats
from isovist.io.las import check_las
from isovist.io.settings import LIMITS
from isovist.maps import Cloud, check_points
from isovist.sensing import CloudScan
from isovist.storage import PathLike, as_file_error, decoder_errors, existing_file, read_bytes

CLOUD_FORMATS = (
    Format("PLY", (".ply",), "isovist.io.ply:read_vertices"),
    Format("PCD", (".pcd",), "isovist.io.clouds:read_pcd", extra="pointclouds"),
    Format("LAS", (".las", ".laz"), "isovist.io.clouds:read_las", extra="pointclouds"),
    Format("KITTI", (".bin",), "isovist.io.clouds:read_bin"),
    Format("text", (".xyz",), "isovist.io.clouds:read_text"),
)
"""The kinds of files that a point cloud is read from.  A reader returns columns by name."""
INTENSITIES = ("intensity", "scalar_intensity", "reflectance", "scalar_reflectance", "remission")
"""Names of a column of intensities, in lower case."""
MAX_HEADER_LINES, MAX_COLUMNS = 100, 1000
"""Limits of a PCD header: pypcd4 makes the columns of a point one by one."""
UNPACK = """
import sys, laspy, numpy
cloud = laspy.read(sys.argv[1])
rows = [cloud.x, cloud.y, cloud.z, cloud.intensity]
numpy.save(sys.argv[2], numpy.array([numpy.asarray(row, dtype=float) for row in rows]))
"""
Columns = Mapping[str, FloatArray]


def read_cloud(path: PathLike, *, scale: float = 1.0) -> Cloud:
    """Read a point cloud in the format of the suffix.

    Args:
        path: The file.
        scale: Metres per unit of the file, 0.001 for millimetres.

    Raises:
        FileError: If the file is missing, damaged or of another format.
    """
    path = Path(path)
    row = format_of(path, CLOUD_FORMATS)
    if row is None:
        raise FileError(
            f"{path.name}: point clouds are read from {list_formats(CLOUD_FORMATS)}.",
            code="unknown_format",
        )
    if not (np.isfinite(scale) and scale > 0.0):
        raise InputError.about("scale", f"must be positive, in m per unit, got {scale}.")
    columns: Columns = row.read(existing_file(path, "a point cloud"))
    for name in "xyz":
        if name not in columns:
            raise FileError(f"{path.name} has no column `{name}`.")
    with np.errstate(all="ignore"):
        points = np.stack([columns[name] for name in "xyz"], axis=1) * scale
    valid = np.isfinite(points).all(axis=1)
    lower = {name.lower(): values for name, values in columns.items()}
    intensities = next((lower[name] for name in INTENSITIES if name in lower), None)
    with as_file_error(path):
        points = check_points(points[valid])
    return Cloud(readonly(points), None if intensities is None else readonly(intensities[valid]))


def read_cloud_scan(path: Path) -> CloudScan:
    """Read a point cloud in the frame of a sensor as a 3D scan."""
    cloud = read_cloud(path)
    return CloudScan(cloud.points, cloud.intensities)


def read_bin(path: Path) -> Columns:
    """Read the columns of a KITTI scan."""
    content = read_bytes(path, "a KITTI scan", LIMITS.cloud_bytes)
    if len(content) % 16:
        raise FileError(
            f"{path.name} has {len(content)} bytes; a KITTI scan has 16 for each point."
        )
    with np.errstate(invalid="ignore"):
        table = np.frombuffer(content, "<f4").reshape(-1, 4).astype(np.float64)
    return dict(zip(("x", "y", "z", "intensity"), table.T, strict=True))


def read_text(path: Path) -> Columns:
    """Read the columns of a text file: x, y, z and perhaps intensity."""
    content = read_bytes(path, "a cloud in text", LIMITS.cloud_bytes)
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


def read_pcd(path: Path) -> Columns:
    """Read x, y, z and the intensity of a PCD file."""
    with MissingExtraError.unless_found("Reading .pcd", "pointclouds"):
        from pypcd4 import PointCloud  # type: ignore[attr-defined]
    _check_pcd(path)
    with decoder_errors(path, "is not a PCD file", max_length=80), np.errstate(all="ignore"):
        cloud = PointCloud.from_path(path)
        return {
            name: cloud.numpy((name,))[:, 0].astype(np.float64)
            for name in cloud.fields
            if name in ("x", "y", "z") or name.lower() in INTENSITIES
        }


def _check_pcd(path: Path) -> None:
    """Check that a point has no more columns than any sensor gives.

    The counts of a header are those of the columns of each field.
    """
    with path.open("rb") as stream:
        for line in itertools.islice(stream, MAX_HEADER_LINES):
            words = line.split()
            if words[:1] == [b"COUNT"]:
                counts = [float(word) if word.isdigit() else math.inf for word in words[1:]]
                if sum(counts) > MAX_COLUMNS:
                    raise FileError(
                        f"{path.name} is not a PCD file: it announces {sum(counts):.10g} columns.",
                        code="unknown_format",
                    )
            if words[:1] == [b"DATA"]:
                return


def read_las(path: Path) -> Columns:
    """Read x, y, z and the intensity of a LAS or LAZ file."""
    with MissingExtraError.unless_found(f"Reading {path.suffix.lower()}", "pointclouds"):
        import laspy
    check_las(path)
    names = ("x", "y", "z", "intensity")
    with decoder_errors(path, "is not a LAS file", max_length=80), np.errstate(all="ignore"):
        if path.suffix.lower() == ".laz":
            return dict(zip(names, _unpacked(path), strict=True))
        cloud = laspy.read(path)
        return {name: np.array(getattr(cloud, name), dtype=np.float64) for name in names}


def _unpacked(path: Path) -> FloatArray:
    """Read the rows x, y, z and intensity of a LAZ file, shape (4, k).

    Damaged points can end the process that unpacks them, so it is a process of its own.
    """
    with tempfile.TemporaryDirectory(prefix="isovist-") as folder:
        rows = Path(folder) / "rows.npy"
        process = subprocess.run(
            [sys.executable, "-c", UNPACK, str(path), str(rows)],
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        if process.returncode != 0 or not rows.exists():
            lines = process.stderr.strip().splitlines()[-1:] or [""]
            raise ValueError(lines[0].rpartition(": ")[2] or "its points are damaged")
        return np.asarray(np.load(rows))
