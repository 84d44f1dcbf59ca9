"""Read and write scans as named fields, in JSON and NPZ files and in requests.

A 2D scan has the fields of a ROS LaserScan: `angle_min`, `angle_increment` (rad), `ranges`,
`range_min`, `range_max` (m) and perhaps `intensities` and `sigmas` (m).  In JSON a missing return
is null, NaN or Infinity, and a `range_max` of null is an unknown one.

A 3D scan in NPZ has `points` of shape (k, 3), and perhaps `intensities`, `range_min`, `range_max`,
`roll` and `pitch`; or it is a depth image with `depth` and `intrinsics` (`sensing.depth`).
"""

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError, InputError
from isovist.io.settings import LIMITS
from isovist.sensing import CloudScan, Scan
from isovist.storage import quote, read_json, read_npz

_REQUIRED = ("angle_min", "angle_increment", "ranges", "range_min", "range_max")
_CLOUD_DEFAULTS = {"range_min": 0.0, "range_max": math.inf, "roll": 0.0, "pitch": 0.0}


def read_json_scan(path: Path) -> Scan | CloudScan:
    """Read a scan from a JSON file."""
    return scan_from_fields(path, read_json(path, "a scan", LIMITS.scan_bytes), arrays=False)


def read_npz_scan(path: Path) -> Scan | CloudScan:
    """Read a scan from an NPZ file."""
    return scan_from_fields(path, read_npz(path, "a scan", LIMITS.scan_bytes), arrays=True)


def scan_from_fields(path: Path, fields: Any, *, arrays: bool) -> Scan | CloudScan:
    """Make a scan from the fields of a file or a message.

    Args:
        path: Name of the file, for error texts.
        fields: Fields of a LaserScan.  Arrays may also be the fields of a cloud or a depth image.
        arrays: Whether the fields are arrays, not JSON values.

    Raises:
        FileError: If a field is missing or wrong.
    """
    if not isinstance(fields, dict):
        raise FileError(f"{path.name} must hold the fields of a LaserScan, got {quote(fields)}.")
    if arrays and "depth" in fields:
        from isovist.io.scans.depth import depth_from_fields

        return depth_from_fields(path, fields)
    if arrays and "points" in fields:
        return _cloud_from_fields(path, fields)
    return _scan_from_fields(path, fields)


def encode_npz(scan: Scan | CloudScan) -> bytes:
    """Return a scan as the bytes of an NPZ file."""
    stream = io.BytesIO()
    np.savez(stream, **_fields_of(scan))
    return stream.getvalue()


def encode_json(scan: Scan) -> bytes:
    """Return a 2D scan as the bytes of a JSON file."""
    fields = {name: _json_value(value) for name, value in _fields_of(scan).items()}
    return (json.dumps(fields, allow_nan=False) + "\n").encode()


def _fields_of(scan: Scan | CloudScan) -> dict[str, Any]:
    fields: dict[str, Any]
    if isinstance(scan, CloudScan):
        fields = {name: float(getattr(scan, name)) for name in _CLOUD_DEFAULTS}
        fields["points"] = scan.points
    else:
        fields = {
            "angle_min": float(scan.bearings[0]),
            "angle_increment": _increment(scan),
            "range_min": float(scan.range_min),
            "range_max": float(scan.range_max),
            "ranges": np.where(scan.valid, scan.ranges, np.nan),
        }
        if scan.sigmas is not None:
            fields["sigmas"] = scan.sigmas
    return fields if scan.intensities is None else fields | {"intensities": scan.intensities}


def _json_value(value: Any) -> Any:
    """Return a number or a list for JSON, which has no NaN and no infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return [v if math.isfinite(v) else None for v in value.tolist()]


def _increment(scan: Scan) -> float:
    """Return the angle between beams, which must be the same everywhere, in rad."""
    m = scan.bearings.size
    increment = float(scan.bearings[-1] - scan.bearings[0]) / max(m - 1, 1)
    even = scan.bearings[0] + increment * np.arange(m)
    if np.abs(even - scan.bearings).max() > 1e-6:
        raise InputError(
            "A LaserScan needs evenly spaced bearings. Write this scan as .csv.", code="conflict"
        )
    return increment


def _cloud_from_fields(path: Path, fields: dict[str, Any]) -> CloudScan:
    points = fields["points"]
    if points.dtype.kind not in "iuf":
        raise FileError(
            f"{path.name}: `points` must be numbers, got {quote(str(points.dtype))}.",
            field="points",
        )
    options: dict[str, Any] = {
        name: _number(path, fields, name) if name in fields else default
        for name, default in _CLOUD_DEFAULTS.items()
    }
    return CloudScan(points, _optional_numbers(path, fields, "intensities"), **options)


def _scan_from_fields(path: Path, fields: dict[str, Any]) -> Scan:
    for key in _REQUIRED:
        if key not in fields:
            names = ", ".join(f"`{name}`" for name in _REQUIRED)
            raise FileError(f"{path.name}: `{key}` is missing. A scan needs {names}.", field=key)
    start, step, low = (_number(path, fields, key) for key in (*_REQUIRED[:2], "range_min"))
    high = math.inf if fields["range_max"] is None else _number(path, fields, "range_max")
    ranges = _numbers(path, "ranges", fields["ranges"])
    if not (math.isfinite(start) and math.isfinite(step)) or (step == 0.0 and ranges.size > 1):
        raise FileError(
            f"{path.name}: `angle_min` and `angle_increment` must be finite and the increment not "
            f"0, got {start:g} and {step:g}.",
            field="angle_min",
        )
    strengths: Any = fields.get("intensities")
    if np.size(strengths) == 0:  # ROS writes an empty list for no intensities
        fields = fields | {"intensities": None}
    return Scan.from_laserscan(
        start,
        step,
        ranges,
        range_min=low,
        range_max=high,
        intensities=_optional_numbers(path, fields, "intensities"),
        sigmas=_optional_numbers(path, fields, "sigmas"),
    )


def _number(path: Path, fields: dict[str, Any], key: str) -> float:
    value = fields[key]
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "iuf":
        return float(value.reshape(())[()])
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FileError(f"{path.name}: `{key}` must be a number, got {quote(value)}.", field=key)
    return float(value)


def _optional_numbers(path: Path, fields: dict[str, Any], key: str) -> FloatArray | None:
    return None if fields.get(key) is None else _numbers(path, key, fields[key])


def _numbers(path: Path, key: str, value: Any) -> FloatArray:
    """Return one row of numbers; null is NaN."""
    if isinstance(value, list):
        for k, entry in enumerate(value):
            if entry is not None and (
                isinstance(entry, bool) or not isinstance(entry, int | float)
            ):
                raise FileError(
                    f"{path.name}: `{key}` must be numbers or null, got {quote(entry)} at {k}.",
                    field=key,
                )
        try:
            value = np.array([math.nan if entry is None else entry for entry in value], dtype=float)
        except OverflowError as error:
            raise FileError(
                f"{path.name}: `{key}` holds an integer beyond all numbers.", field=key
            ) from error
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf" or value.ndim != 1:
        raise FileError(
            f"{path.name}: `{key}` must be one row of numbers, got {quote(value)}.", field=key
        )
    if value.size == 0:
        raise FileError(f"{path.name}: `{key}` is empty; a scan needs beams.", code="empty")
    return value.astype(np.float64)
