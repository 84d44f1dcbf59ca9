"""Parse a request: a scan, the name of a map, and options.

A request is a JSON object with the scan as its field `scan`, or the bytes of an `.npz` file with
the other fields in the query. Both have the same fields; rows of numbers are lists in JSON and
`1,2,3` in a query. Lengths are in m, angles in rad, times in s.
"""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import isovist as iv
from isovist.apps.web import Fields
from isovist.arrays import FloatArray
from isovist.atlas import AnyScan
from isovist.io import scan_from_fields
from isovist.poses import AnyPose
from isovist.storage import as_file_error, quote

BINARY = ("application/octet-stream", "application/x-npz", "application/zip")
"""Media types of a body that is an `.npz` file."""
SCAN, MAP, ATTITUDE = ("scan", "sensor"), ("map", "near", "heading"), ("tilt", "any_attitude")
LOCATE = (*SCAN, *MAP, *ATTITUDE, "certificate", "hints", "prove", "budget_s")
CHECK = (*SCAN, "map", "pose", "spread", "thorough")
BEGIN = (*MAP, *ATTITUDE)
UPDATE = (*SCAN, "odometry", "time")
"""Fields of each kind of request."""


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """The body and the query of a request.

    Attributes:
        data: Bytes of the body.
        content_type: Media type, e.g. `application/json`.
        query: Query parameters of the URL.
    """

    data: bytes
    content_type: str
    query: Mapping[str, str]

    def fields(self, names: Collection[str]) -> Fields:
        """Return the fields of a request.

        They are in its JSON body, or in its query if the body is an `.npz` file.
        """
        if self.content_type in BINARY:
            if "scan" not in names:
                raise iv.InputError(
                    "This request takes no scan, so its body must be JSON, not an .npz file.",
                    code="unknown_format",
                    field="scan",
                )
            query = self.query.items()
            return Fields({k: v if k == "map" else _value_of(v) for k, v in query}, names)
        if self.query:
            raise iv.InputError(
                "Query parameters go with an .npz file only. Put these fields into the JSON body.",
                code="conflict",
            )
        if self.content_type not in ("application/json", ""):
            raise iv.InputError(
                "The body must be JSON (`Content-Type: application/json`) or an .npz file "
                f"(`application/octet-stream`), got {quote(self.content_type)}.",
                code="unknown_format",
            )
        try:
            fields = json.loads(self.data or b"{}")
        except (ValueError, RecursionError):
            raise iv.InputError("The body is not valid JSON.", code="unknown_format") from None
        return Fields(fields, names)

    def scan(self, fields: Fields) -> AnyScan:
        """Read the scan of a request, with the pose of the sensor on the robot."""
        mount = iv.Pose(*fields.row("sensor", "x, y, yaw", 3)) if fields.has("sensor") else None
        if self.content_type in BINARY:
            with TemporaryDirectory(prefix="isovist-serve-") as folder:
                path = Path(folder) / "scan.npz"
                path.write_bytes(self.data)
                return iv.read_scan(path, T_robot_sensor=mount)
        if not fields.has("scan"):
            raise iv.InputError.about(
                "scan", "is missing: the fields of a LaserScan, or `points` in 3D.", code="missing"
            )
        path = Path("scan")
        with as_file_error(path):
            values, is_cloud = _arrays(fields.values["scan"])
            scan = scan_from_fields(path, values, arrays=is_cloud)
        if mount is None:
            return scan
        if isinstance(scan, iv.CloudScan):
            return replace(scan, T_robot_sensor=iv.Pose3.lifted(mount), frame="robot")
        return replace(scan, T_robot_sensor=mount, frame="robot")


def region_of(fields: Fields) -> iv.Region | None:
    """Return the region that the robot may be in, or `None` if the request gives none."""
    region = None
    if fields.has("near"):
        x, y, radius = fields.row("near", "x, y, radius", 3)
        region = iv.Region.circle((x, y), radius)
    if fields.has("heading"):
        region = (region or iv.Region()).towards(*fields.row("heading", "yaw, tolerance", 2))
    return region


def odometry_of(fields: Fields) -> AnyPose | None:
    """Return the odometry pose of a request, or `None` if the robot has no odometry."""
    if not fields.has("odometry"):
        return None
    row = fields.row("odometry", "x, y, yaw] or [x, y, yaw, z, roll, pitch", 3, 6)
    return iv.Pose(*row) if len(row) == 3 else iv.Pose3(*row)


def pose_of(fields: Fields) -> AnyPose:
    """Return the pose to check from a request."""
    row = fields.row("pose", "x, y, yaw] or [x, y, yaw, z", 3, 4)
    return iv.Pose(*row) if len(row) == 3 else iv.Pose3(*row)


def spread_of(fields: Fields) -> FloatArray | None:
    """Return the covariance of a pose, shape (3, 3), from its standard deviations in m and rad."""
    if not fields.has("spread"):
        return None
    sigma_m, sigma_rad = fields.row("spread", "m, rad", 2)
    if not (sigma_m > 0.0 and sigma_rad > 0.0):
        raise iv.InputError.about("spread", f"must be above 0, got {sigma_m:g} and {sigma_rad:g}.")
    return np.diag([sigma_m**2, sigma_m**2, sigma_rad**2])


def _value_of(text: str) -> Any:
    """Return the value of a query parameter: a switch, nothing, numbers, or a text."""
    if text in ("true", "false"):
        return text == "true"
    if text in ("null", ""):
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        return text
    if not all(map(math.isfinite, numbers)):
        return text
    return numbers if "," in text else numbers[0]


def _arrays(values: object) -> tuple[object, bool]:
    """Return the fields of a scan, and whether they are arrays, as those of a cloud must be."""
    if not isinstance(values, dict) or "points" not in values:
        return values, False
    arrays = {}
    for name, value in values.items():
        try:
            arrays[name] = np.array(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise iv.InputError.about(
                name, f"of a cloud must be numbers, got {quote(value)}."
            ) from None
    return arrays, True
