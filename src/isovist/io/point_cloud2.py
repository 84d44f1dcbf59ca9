"""Convert PointCloud2 messages of any driver to scans.

Velodyne writes x, y, z, intensity, ring and time; Ouster organised rows with t, reflectivity and
range; Livox unaligned rows with tag, line and timestamp.  The fields tell their offsets and types,
the byte order, and the padding of points and rows.  Times of points become s after the stamp of the
message:

    time        s after the stamp (Velodyne),
    t           ns after the stamp (Ouster),
    timestamp   moments, in s or in ns (Hesai, Livox).

If they span more than a sweep takes, their unit is unknown, and they are left out.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, FloatArray
from isovist.errors import FileError, InputError
from isovist.io.bags import time_of
from isovist.io.settings import CHECKS
from isovist.sensing import MIN_RETURNS, CloudScan

NUMBERS = ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8")
"""Types of the fields, from 1 on."""
NANOSECONDS = 1e14
"""Larger time stamps are in ns, smaller ones in s: in s this is three million years."""


def cloud_of(path: Path, message: Any) -> CloudScan | None:
    """Convert a PointCloud2 message to a `CloudScan`; return `None` if it has too few returns."""
    fields = _fields(path, message)
    points, is_return = _returns(fields)
    if is_return.sum() < MIN_RETURNS:
        return None
    strengths = fields["intensity"].astype(np.float64) if "intensity" in fields else None
    times = _times(fields, time_of(message.header))
    try:
        return CloudScan(
            points[is_return],
            None if strengths is None else strengths[is_return],
            times=None if times is None else times[is_return],
        )
    except InputError as error:
        raise FileError(f"{path.name} has a broken cloud: {error}") from error


def count_returns(path: Path, message: Any) -> int:
    """Return how many points of a message are returns: finite, and not at the origin."""
    return int(_returns(_fields(path, message))[1].sum())


def _fields(path: Path, message: Any) -> dict[str, NDArray[Any]]:
    """Return all columns by name, each of shape (n,)."""
    order, data = ">" if message.is_bigendian else "<", memoryview(message.data)
    shape, steps = (message.height, message.width), (message.row_step, message.point_step)
    columns: dict[str, NDArray[Any]] = {}
    for field in message.fields:
        if not 1 <= field.datatype <= len(NUMBERS):
            raise FileError(f"{path.name} has a broken cloud: `{field.name}` is of no known type.")
        kind = np.dtype(order + NUMBERS[field.datatype - 1])
        if 0 in shape:
            columns[field.name] = np.empty(0, kind)
            continue
        try:
            columns[field.name] = np.ndarray(shape, kind, data, field.offset, steps).ravel()
        except (TypeError, ValueError) as error:
            raise FileError(
                f"{path.name} has a broken cloud: its data are shorter than it says."
            ) from error
    for name in "xyz":
        if name not in columns:
            raise FileError(
                f"{path.name} has a broken cloud: the field `{name}` is missing.", field=name
            )
    return columns


def _returns(fields: dict[str, NDArray[Any]]) -> tuple[FloatArray, BoolArray]:
    """Return the points, shape (n, 3), and a mask of the valid returns."""
    points = np.stack([fields[name].astype(np.float64) for name in "xyz"], axis=1)
    return points, np.asarray(np.isfinite(points).all(axis=1) & points.any(axis=1))


def _times(fields: dict[str, NDArray[Any]], stamp: float) -> FloatArray | None:
    """Return the times of the points after the stamp, in s; `None` without them."""
    if "t" in fields:
        times = 1e-9 * fields["t"].astype(np.float64)
    elif "time" in fields:
        times = fields["time"].astype(np.float64)
    elif "timestamp" in fields:
        times = fields["timestamp"].astype(np.float64)
        times = (1e-9 * times if np.abs(times).max(initial=0.0) > NANOSECONDS else times) - stamp
    else:
        return None
    return times if np.abs(times).max(initial=0.0) <= CHECKS.max_sweep_s else None
