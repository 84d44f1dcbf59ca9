"""What a request asks, checked: a scan, a map by name, and how to go about it.

A request is a JSON object with the scan as its field `scan`, or the bytes of an `.npz` file with
the rest in the address.  Both say the same things by the same names; rows of numbers are lists in
JSON and `1,2,3` in an address.  Metres and radians.
"""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from isovist.apps.web.parameters import FARTHEST, Ask
from isovist.arrays import FloatArray
from isovist.atlas.base import AnyScan
from isovist.errors import InputError
from isovist.io.scans.fields import scan_from_fields
from isovist.io.scans.read import read_scan
from isovist.localization.region import Region
from isovist.poses import AnyPose, Pose, Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.storage.files import as_file_error, quote

BINARY = ("application/octet-stream", "application/x-npz", "application/zip")
SCAN, MAP = ("scan", "sensor"), ("map", "near", "heading")
LOCATE = (*SCAN, *MAP, "tilt", "any_attitude", "certificate", "hints", "prove", "budget_s")
CHECK = (*SCAN, "map", "pose", "spread", "thorough")
BEGIN = (*MAP, "tilt", "any_attitude")
UPDATE = (*SCAN, "odometry", "time")
"""Fields of each kind of request."""


class Fields(Ask):
    """Fields of a request, all of which must have known names.

    Args:
        fields: The decoded fields of the request.
        known: Names of the fields that are allowed.
    """

    def __init__(self, fields: object, known: Collection[str]) -> None:
        super().__init__(fields)
        for name in self.fields:
            if name not in known:
                there = ", ".join(f"`{one}`" for one in known)
                raise InputError(f"There is no field {quote(name)}; there are {there}.")

    def switch(self, name: str, usual: bool) -> bool:
        """Return a field that must be true or false, or a default when it is missing."""
        value = self.fields.get(name)
        if value is None:
            return usual
        if not isinstance(value, bool):
            raise InputError.about(name, f"must be true or false, got {quote(value)}.")
        return value

    def row(self, name: str, what: str, *counts: int) -> tuple[float, ...]:
        """Return a field that must be a list of numbers of one of the given lengths."""
        value = self.fields.get(name)
        good = isinstance(value, list) and len(value) in counts
        if not good or not all(
            isinstance(v, int | float) and not isinstance(v, bool) and abs(v) <= FARTHEST
            for v in value or ()
        ):
            raise InputError.about(name, f"must be [{what}] in m and rad, got {quote(value)}.")
        return tuple(float(v) for v in value or ())


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """Body and query of a request.

    Attributes:
        data: Bytes of the body.
        kind: Content type, e.g. `application/json`.
        address: Query parameters, behind the `?` of the address.
    """

    data: bytes
    kind: str
    address: Mapping[str, str]

    @property
    def asks_for_proof(self) -> bool:
        """Whether the request asks for a proof of uniqueness; false if it cannot be read."""
        if self.address:
            return self.address.get("prove") == "true"
        if b"prove" not in self.data and b"\\u" not in self.data:  # nor escaped
            return False
        try:
            return self.fields(LOCATE).switch("prove", False)
        except InputError:
            return False

    def fields(self, known: Collection[str]) -> Fields:
        """Return the fields of a request from its JSON body, or its query for an `.npz` body."""
        if self.kind in BINARY:
            if "scan" not in known:
                raise InputError(
                    "Here a request is JSON: it has no scan, and so no .npz file.",
                    code="unknown_format",
                    field="scan",
                )
            told = {k: v if k == "map" else _plain(v) for k, v in self.address.items()}
            return Fields(told, known)
        if self.address:
            raise InputError(
                "Only with an .npz file does the address say more; put it in the JSON.",
                code="conflict",
            )
        if self.kind not in ("application/json", ""):
            raise InputError(
                "A request is JSON (`Content-Type: application/json`) or an .npz file "
                f"(`application/octet-stream`), got {quote(self.kind)}.",
                code="unknown_format",
            )
        try:
            return Fields(json.loads(self.data or b"{}"), known)
        except (ValueError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError("The body of the request is no JSON.", code="unknown_format") from None

    def scan(self, fields: Fields) -> AnyScan:
        """Read the scan of a request, with the pose of the sensor on the robot."""
        place = Pose(*fields.row("sensor", "x, y, yaw", 3)) if fields.has("sensor") else None
        if self.kind in BINARY:
            return _scan_of_file(self.data, place)
        told = fields.fields.get("scan")
        if told is None:
            raise InputError.about(
                "scan",
                "is missing: the fields of a LaserScan, or `points` in space.",
                code="missing",
            )
        path = Path("scan")
        with as_file_error(path):
            fields_of_scan, arrays = _arrays(told)
            scan = scan_from_fields(path, fields_of_scan, arrays=arrays)
        if place is None:
            return scan
        if isinstance(scan, CloudScan):
            return replace(scan, T_robot_sensor=Pose3.lifted(place), frame="robot")
        return replace(scan, T_robot_sensor=place, frame="robot")


def region_of(fields: Fields) -> Region | None:
    """Return the region that the robot may be in, or `None` if the request gives none."""
    region = None
    if fields.has("near"):
        x, y, radius = fields.row("near", "x, y, radius", 3)
        region = Region.circle((x, y), radius)
    if fields.has("heading"):
        region = (region or Region()).towards(*fields.row("heading", "yaw, tolerance", 2))
    return region


def odometry_of(fields: Fields) -> AnyPose | None:
    """Return the odometry pose of a request, or `None` if the robot has no odometry."""
    if fields.fields.get("odometry") is None:
        return None
    row = fields.row("odometry", "x, y, yaw] or [x, y, yaw, z, roll, pitch", 3, 6)
    return Pose(*row) if len(row) == 3 else Pose3(*row)


def pose_of(fields: Fields) -> AnyPose:
    """Return the pose that a request asks to check."""
    x, y, yaw, *z = fields.row("pose", "x, y, yaw] or [x, y, yaw, z", 3, 4)
    return Pose3(x, y, yaw, z[0]) if z else Pose(x, y, yaw)


def spread_of(fields: Fields) -> FloatArray | None:
    """Return the covariance of a pose, shape (3, 3), from its standard deviations in m and rad."""
    if not fields.has("spread"):
        return None
    metres, radians = fields.row("spread", "m, rad", 2)
    if not (metres > 0.0 and radians > 0.0):
        raise InputError.about("spread", f"must be above 0, got {metres:g} and {radians:g}.")
    return np.diag([metres**2, metres**2, radians**2])


def _plain(text: str) -> Any:
    """Return what an address says: true, false or null, a number, a row of numbers, or a text."""
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


def _arrays(told: object) -> tuple[object, bool]:
    """The fields of a scan and whether they are arrays, as those of a cloud must be."""
    if not isinstance(told, dict) or "points" not in told:
        return told, False
    arrays = {}
    for name, value in told.items():
        try:
            arrays[name] = np.array(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError.about(
                name, f"of a cloud must be numbers, got {quote(value)}."
            ) from None
    return arrays, True


def _scan_of_file(data: bytes, place: Pose | None) -> AnyScan:
    with TemporaryDirectory(prefix="isovist-serve-") as folder:
        path = Path(folder) / "scan.npz"
        path.write_bytes(data)
        return read_scan(path, T_robot_sensor=place)
