"""Scans in files: JSON, NPZ and CSV; bags are handed on.

JSON and NPZ have the fields of a ROS LaserScan: `angle_min`, `angle_increment` (rad), `ranges`,
`range_min`, `range_max` (m) and perhaps `intensities` and `sigmas` (m).  In JSON a missing return
is null, NaN or Infinity, and a `range_max` of null stands for an unknown one.  CSV has one beam per
line: bearing (rad, counter-clockwise), range (m) and perhaps intensity, below an optional line of
names; an empty range is missing.  CSV does not know the limits of the sensor.

Scans in space are clouds in the frame of the sensor: `.ply`, `.pcd`, `.bin` (KITTI), or an NPZ with
`points` of shape (k, 3) and perhaps `intensities`, `range_min`, `range_max`, `roll` and `pitch`;
or depth images: an NPZ with `depth` and `intrinsics`, or a 16-bit PNG in mm with `fx`, `fy`, `cx`
and `cy` in a JSON file of the same name beside it (`sensing.depth`).
"""

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError, InputError
from isovist.poses import AnyPose, Pose, Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan
from isovist.storage.files import (
    PathLike,
    as_file_error,
    existing_file,
    is_folder,
    quote,
    read_bytes,
    read_json,
    read_npz,
    replace_file,
)

MAX_BYTES = 64 << 20
"""Largest file that is read as one scan."""

_NEEDED = ("angle_min", "angle_increment", "ranges", "range_min", "range_max")
_LIMITS = {"range_min": 0.0, "range_max": math.inf, "roll": 0.0, "pitch": 0.0}
_BAGS = (".bag", ".db3", ".mcap")
CLOUDS = (".ply", ".pcd", ".bin")
"""Suffixes of scans in space."""
_FORMATS = (
    ".json, .npz, .csv, .ply, .pcd, .bin, .png (depth), .bag, .db3, .mcap or a folder with a ROS 2 "
    "bag"
)


def read_scan(
    path: PathLike,
    *,
    scan_topic: str | None = None,
    at: float | None = None,
    T_robot_sensor: AnyPose | None = None,
) -> Scan | CloudScan:
    """Read one scan from a file or a bag; the suffix tells the format.

    A cloud of points is a 3D scan.

    Args:
        path: The file, or the folder of a ROS 2 bag.
        scan_topic: For bags: the topic of the scans; `None` when there is only one.
        at: For bags: the scan nearest to this time, in s after the first one; `None` for the first.
        T_robot_sensor: Where the sensor sits on the robot; `None` takes what a bag says in /tf and
            /tf_static, and the centre of the robot for other files.  For a 3D scan a 2D pose
            is lifted.
    """
    scan = _read(Path(path), scan_topic, at, on_robot=T_robot_sensor is None)
    if T_robot_sensor is None:
        return scan
    if isinstance(scan, CloudScan):
        return replace(scan, T_robot_sensor=Pose3.lifted(T_robot_sensor), frame="robot")
    if not isinstance(T_robot_sensor, Pose):
        raise InputError.about(
            "T_robot_sensor",
            "of a scan of the plane must be a Pose of the plane.",
            code="wrong_dimension",
        )
    return replace(scan, T_robot_sensor=T_robot_sensor, frame="robot")


def _read(
    path: Path, scan_topic: str | None, at: float | None, *, on_robot: bool
) -> Scan | CloudScan:
    suffix = path.suffix.lower()
    if is_folder(path) or suffix in _BAGS:
        from isovist.io.scans.bags import read_bag_scan

        return read_bag_scan(path, scan_topic=scan_topic, at=at, on_robot=on_robot)
    if scan_topic is not None or at is not None:
        raise InputError.about(
            ("scan_topic", "at"),
            f"choose a scan of a bag, and {path.name} is none.",
            code="conflict",
        )
    if suffix not in (".json", ".npz", ".csv", ".png", *CLOUDS):
        raise FileError(
            f"{path.name} has no suffix of a scan. Scans are read from {_FORMATS}.",
            code="unknown_format",
        )
    existing_file(path, "a scan")
    with as_file_error(path):
        if suffix == ".csv":
            return _scan_from_csv(path)
        if suffix == ".png":
            from isovist.io.scans.depth import read_depth

            return read_depth(path)
        if suffix in CLOUDS:
            from isovist.io.clouds import read_cloud

            cloud = read_cloud(path)
            return Scan.from_points(cloud.points, intensities=cloud.intensities)
        fields = (read_npz if suffix == ".npz" else read_json)(path, "a scan", MAX_BYTES)
        return scan_from_fields(path, fields, arrays=suffix == ".npz")


def scan_from_fields(path: Path, fields: Any, *, arrays: bool) -> Scan | CloudScan:
    """Return the scan that the fields of a file or of a message describe.

    Args:
        path: The file that error texts name.
        fields: Fields of a LaserScan; arrays may also be those of a cloud or a depth image.
        arrays: Whether the fields are arrays, not JSON values.
    """
    if not isinstance(fields, dict):
        raise FileError(f"{path.name} must hold the fields of a LaserScan, got {quote(fields)}.")
    if arrays and "depth" in fields:
        from isovist.io.scans.depth import depth_from_fields

        return depth_from_fields(path, fields)
    if arrays and "points" in fields:
        return _cloud_from_fields(path, fields)
    return _scan_from_fields(path, fields)


def write_scan(scan: Scan | CloudScan, path: PathLike) -> None:
    """Write a scan as `.json`, `.npz` or `.csv`; the pose of the sensor is not kept.

    A 3D scan is written as `.npz`.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    stream = io.BytesIO()
    if suffix == ".npz":
        np.savez(stream, **_fields_of(scan))
    elif isinstance(scan, CloudScan):
        raise InputError(
            f"A scan in space is written as .npz, got {quote(path.name)}.", code="unknown_format"
        )
    elif suffix == ".csv":
        stream.write(_csv_of(scan).encode())
    elif suffix == ".json":
        plain = {key: _plain(value) for key, value in _fields_of(scan).items()}
        stream.write((json.dumps(plain, allow_nan=False) + "\n").encode())
    else:
        raise InputError(
            f"A scan is written as .json, .npz or .csv, got {quote(path.name)}.",
            code="unknown_format",
        )
    replace_file(path, stream.getvalue())


def _fields_of(scan: Scan | CloudScan) -> dict[str, Any]:
    fields: dict[str, Any]
    if isinstance(scan, CloudScan):
        fields = {name: float(getattr(scan, name)) for name in _LIMITS} | {"points": scan.points}
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


def _cloud_from_fields(path: Path, fields: dict[str, Any]) -> CloudScan:
    points = fields["points"]
    if points.dtype.kind not in "iuf":
        raise FileError(
            f"{path.name}: `points` must be numbers, got {quote(str(points.dtype))}.",
            field="points",
        )
    low, high, roll, pitch = (
        _number(path, fields, name) if name in fields else default
        for name, default in _LIMITS.items()
    )
    strengths = fields.get("intensities")
    if strengths is not None:
        strengths = _numbers(path, "intensities", strengths)
    return Scan.from_points(
        points, intensities=strengths, range_min=low, range_max=high, roll=roll, pitch=pitch
    )


def _plain(value: Any) -> Any:
    """For JSON, which has no NaN and no infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return [v if math.isfinite(v) else None for v in value.tolist()]


def _increment(scan: Scan) -> float:
    """The angle between beams, which must be the same everywhere."""
    m = scan.bearings.size
    increment = float(scan.bearings[-1] - scan.bearings[0]) / max(m - 1, 1)
    even = scan.bearings[0] + increment * np.arange(m)
    if np.abs(even - scan.bearings).max() > 1e-6:
        raise InputError(
            "A LaserScan needs evenly spaced bearings. Write this scan as .csv.", code="conflict"
        )
    return increment


def _scan_from_fields(path: Path, fields: dict[str, Any]) -> Scan:
    for key in _NEEDED:
        if key not in fields:
            needed = ", ".join(f"`{name}`" for name in _NEEDED)
            raise FileError(f"{path.name}: `{key}` is missing. A scan needs {needed}.", field=key)
    start, step, low = (_number(path, fields, key) for key in (*_NEEDED[:2], "range_min"))
    high = math.inf if fields["range_max"] is None else _number(path, fields, "range_max")
    ranges = _numbers(path, "ranges", fields["ranges"])
    strengths = fields.get("intensities")
    if not (math.isfinite(start) and math.isfinite(step)) or (step == 0.0 and ranges.size > 1):
        raise FileError(
            f"{path.name}: `angle_min` and `angle_increment` must be finite and the increment not "
            f"0, got {start:g} and {step:g}.",
            field="angle_min",
        )
    # An empty list is how ROS says that the sensor gives none.
    given = strengths is not None and np.size(strengths) > 0
    intensities = _numbers(path, "intensities", strengths) if given else None
    told = fields.get("sigmas")
    sigmas = None if told is None else _numbers(path, "sigmas", told)
    return Scan.from_laserscan(
        start, step, ranges, range_min=low, range_max=high, intensities=intensities, sigmas=sigmas
    )


def _number(path: Path, fields: dict[str, Any], key: str) -> float:
    value = fields[key]
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "iuf":
        return float(value.reshape(())[()])
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FileError(f"{path.name}: `{key}` must be a number, got {quote(value)}.", field=key)
    return float(value)


def _numbers(path: Path, key: str, value: Any) -> FloatArray:
    """One row of numbers; null is NaN."""
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


def _scan_from_csv(path: Path) -> Scan:
    try:
        text = read_bytes(path, "a scan", MAX_BYTES).decode("utf-8-sig")
        lines = list(csv.reader(io.StringIO(text)))
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(
            f"{path.name} is not a CSV file of numbers: {error}.", code="unknown_format"
        ) from error
    beams: list[list[float]] = []
    for number, line in enumerate(lines, start=1):
        cells = [cell.strip() for cell in line]
        if not any(cells) or (number == 1 and not _is_number(cells[0])):
            continue
        if len(cells) not in (2, 3) or (beams and len(cells) != len(beams[0])):
            wanted = str(len(beams[0])) if beams else "2 or 3"
            raise FileError(
                f"{path.name}, line {number}: {wanted} columns (bearing, range and perhaps "
                f"intensity) were expected, got {len(cells)}."
            )
        beams.append([_csv_number(path, number, k, cell) for k, cell in enumerate(cells)])
    if not beams:
        raise FileError(
            f"{path.name} has no beam; each line should be bearing, range.", code="empty"
        )
    table: FloatArray = np.array(beams)
    return Scan(table[:, 0], table[:, 1], intensities=table[:, 2] if table.shape[1] == 3 else None)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _csv_number(path: Path, line: int, column: int, text: str) -> float:
    if column > 0 and not text:
        return math.nan
    if not _is_number(text):
        name = ("bearing", "range", "intensity")[column]
        raise FileError(f"{path.name}, line {line}: the {name} is no number, got {quote(text)}.")
    return float(text)


def _csv_of(scan: Scan) -> str:
    columns = [["bearing", *map(repr, scan.bearings.tolist())], ["range"]]
    seen = zip(scan.ranges.tolist(), scan.valid, strict=True)
    columns[1] += [repr(reading) if valid else "" for reading, valid in seen]
    if scan.intensities is not None:
        columns.append(["intensity", *map(repr, scan.intensities.tolist())])
    return "".join(",".join(cells) + "\n" for cells in zip(*columns, strict=True))
