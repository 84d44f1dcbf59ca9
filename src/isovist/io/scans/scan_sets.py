"""Read many scans of one sensor with their poses from one `.npz` file.

Arrays of the file:

- `ranges_m`, `ranges_cm` or `ranges_mm`, shape (N, B)
- `pose`: x, y (m) and yaw (rad) of the sensor in the map, shape (N, 3)
- `angle_min` and `angle_inc`, in rad
- optional: `range_max` in m, `odom`, shape (N, 3), and `t` in s, shape (N,)
- optional: `in_map_split`, shape (N,), true for the scans that went into the map

A file with several sensors names the arrays of each with a prefix.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray, readonly
from isovist.errors import FileError
from isovist.io.settings import LIMITS
from isovist.sensing import ScanSet
from isovist.storage import MAX_COORDINATE, PathLike, read_npz

_UNITS = {"ranges_m": 1.0, "ranges_cm": 100.0, "ranges_mm": 1000.0}
"""Number of units in a metre, by name of the array."""


def read_scan_set(path: PathLike, prefix: str = "") -> ScanSet:
    """Read the scans of one sensor from an `.npz` file.

    Args:
        path: The `.npz` file.
        prefix: Beginning of the names of its arrays, e.g. "nav_".

    Raises:
        FileError: If an array is missing or has a wrong shape or value.
    """
    path = Path(path)
    arrays = read_npz(path, "a set of scans", LIMITS.scan_set_bytes)
    units = [unit for unit in _UNITS if prefix + unit in arrays]
    if len(units) != 1:
        names = ", ".join(prefix + unit for unit in _UNITS)
        raise FileError(f"{path.name} needs one array of {names}. It has: {_names(arrays)}.")
    with np.errstate(invalid="ignore"):  # NaN of a damaged file may be a signalling one
        ranges = _array(path, arrays, prefix + units[0], (None, None)) / _UNITS[units[0]]
    n, beams = ranges.shape
    if n == 0 or beams == 0:
        raise FileError(f"{path.name}: `{prefix}{units[0]}` has shape {ranges.shape}, no scan.")
    start = float(_array(path, arrays, prefix + "angle_min", (), finite=True))
    step = float(_array(path, arrays, prefix + "angle_inc", (), finite=True))
    if step == 0.0 and beams > 1:
        raise FileError(f"{path.name}: `{prefix}angle_inc` must not be 0.")

    def optional(name: str, shape: tuple[int, ...]) -> FloatArray | None:
        if prefix + name not in arrays:
            return None
        return readonly(_array(path, arrays, prefix + name, shape, finite=True))

    range_max = math.inf
    if prefix + "range_max" in arrays:
        range_max = float(_array(path, arrays, prefix + "range_max", ()))
    if not range_max > 0.0:
        raise FileError(f"{path.name}: `{prefix}range_max` must be above 0 m, got {range_max:g}.")
    split = optional("in_map_split", (n,))
    return ScanSet(
        ranges=readonly(ranges),
        bearings=readonly(start + step * np.arange(beams)),
        poses=readonly(_array(path, arrays, prefix + "pose", (n, 3), finite=True)),
        range_max=range_max,
        times=optional("t", (n,)),
        odometry=optional("odom", (n, 3)),
        in_map_split=None if split is None else readonly(split.astype(np.bool_)),
    )


def _array(
    path: Path,
    arrays: dict[str, NDArray[Any]],
    name: str,
    shape: tuple[int | None, ...],
    *,
    finite: bool = False,
) -> FloatArray:
    """Return one of the arrays as floats, after a check of its shape and values."""
    if name not in arrays:
        raise FileError(f"{path.name}: `{name}` is missing. It has: {_names(arrays)}.", field=name)
    value = arrays[name]
    fits = value.ndim == len(shape) and all(
        size in (None, actual) for size, actual in zip(shape, value.shape, strict=True)
    )
    if value.dtype.kind not in "biuf" or not fits:
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        raise FileError(
            f"{path.name}: `{name}` must be numbers of shape ({sizes}), "
            f"got {value.dtype} of shape {value.shape}.",
            field=name,
        )
    floats = value.astype(np.float64)
    if finite and not np.isfinite(floats).all():
        raise FileError(f"{path.name}: `{name}` must be finite, got NaN or infinity.", field=name)
    if finite and not (np.abs(floats) <= MAX_COORDINATE).all():
        raise FileError(
            f"{path.name}: `{name}` has a value beyond ±{MAX_COORDINATE:g}.", field=name
        )
    return floats


def _names(arrays: dict[str, NDArray[Any]]) -> str:
    return ", ".join(sorted(arrays)) or "none"
