"""Check the fields of a request: each value has a type, a range and a unit.

Lengths are in m and angles in rad, except `field_of_view` of a simulated lidar, in degrees.
"""

import math
from collections.abc import Collection, Mapping
from typing import Any

import isovist as iv
from isovist.poses import AnyPose
from isovist.storage import quote

MAX_COORDINATE = 1e6


class Fields:
    """The fields of a request, with checked access to their values.

    Args:
        fields: The decoded fields of the request.
        names: Names of the fields that are allowed; any name when `None`.
    """

    def __init__(self, fields: object, names: Collection[str] | None = None) -> None:
        if not isinstance(fields, Mapping):
            raise iv.InputError(
                f"A request is an object with named fields, got {quote(fields)}.",
                code="unknown_format",
            )
        for name in fields:
            if names is not None and name not in names:
                allowed = ", ".join(f"`{allowed}`" for allowed in names)
                raise iv.InputError(f"There is no field {quote(name)}. The fields are {allowed}.")
        self.values: Mapping[str, Any] = fields

    def part(self, name: str) -> "Fields":
        """Return the fields of a nested object, empty if it is missing."""
        return Fields(self.values.get(name) or {})

    def parts(self, name: str, max_count: int) -> "list[Fields]":
        """Return a field that is a list of nested objects, with a maximum length."""
        rows = self.values.get(name) or []
        if not isinstance(rows, list) or len(rows) > max_count:
            raise iv.InputError.about(
                name, f"must be a list of at most {max_count}, got {quote(rows)}."
            )
        return [Fields(row) for row in rows]

    def has(self, name: str) -> bool:
        """Return whether a field is given."""
        return self.values.get(name) is not None

    def text(self, name: str, default: str = "") -> str:
        """Return a field that must be a text of at most 200 characters."""
        value = self.values.get(name, default)
        if not isinstance(value, str) or len(value) > 200:
            raise iv.InputError.about(name, f"must be a short text, got {quote(value)}.")
        return value

    def switch(self, name: str, default: bool = False) -> bool:
        """Return a field that must be true or false, or a default when it is missing."""
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise iv.InputError.about(name, f"must be true or false, got {quote(value)}.")
        return value

    def number(self, name: str, default: float | None = None, *, low: float, high: float) -> float:
        """Return a field that must be a number within limits."""
        value = self.values.get(name, default)
        if not _is_number(value) or not low <= value <= high:
            raise iv.InputError.about(
                name, f"must be a number from {low:g} to {high:g}, got {quote(value)}."
            )
        return float(value)

    def count(self, name: str, default: int | None = None, *, low: int, high: int) -> int:
        """Return a field that must be a whole number within limits."""
        value = self.number(name, default, low=low, high=high)
        if not value.is_integer():
            raise iv.InputError.about(name, f"must be a whole number, got {value:g}.")
        return int(value)

    def row(self, name: str, columns: str, *lengths: int) -> tuple[float, ...]:
        """Return a field that must be a list of numbers of one of the given lengths."""
        value = self.values.get(name)
        is_row = isinstance(value, list) and len(value) in lengths
        if not is_row or not all(_is_number(v) and abs(v) <= MAX_COORDINATE for v in value or ()):
            raise iv.InputError.about(
                name, f"must be [{columns}] in m and rad, got {quote(value)}."
            )
        return tuple(float(v) for v in value or ())

    def seed(self) -> int:
        """Return the field `seed`, by default 0."""
        return self.count("seed", 0, low=0, high=1 << 31)

    def position(self, x: str = "x", y: str = "y") -> tuple[float, float]:
        """Return the two coordinates of a position, in m."""
        limits = {"low": -MAX_COORDINATE, "high": MAX_COORDINATE}
        return self.number(x, **limits), self.number(y, **limits)

    def pose(self) -> AnyPose:
        """Return a pose in m and rad; a 3D pose if the request gives a height."""
        x, y = self.position()
        yaw = self.number("yaw", 0.0, low=-100.0, high=100.0)
        if not self.has("z"):
            return iv.Pose(x, y, yaw)
        return iv.Pose3(x, y, yaw, self.number("z", low=-MAX_COORDINATE, high=MAX_COORDINATE))

    def lidar(self, dimension: int) -> iv.Lidar | iv.SpinningLidar:
        """Return the simulated sensor for a 2D or 3D map; angles in the request are in degrees."""
        range_max = self.number("range_max", 15.0, low=0.2, high=1000.0)
        noise = self.number("noise", 0.03, low=0.0, high=1.0)
        clutter = self.number("clutter", 0.0, low=0.0, high=0.95)
        if dimension == 3:
            rings = self.count("rings", 16, low=1, high=128)
            azimuths = self.count("beams", 450, low=8, high=2000)
            return iv.SpinningLidar(
                rings, azimuths=azimuths, range_max=range_max, noise=noise, clutter=clutter
            )
        field_of_view = math.radians(self.number("field_of_view", 270.0, low=1.0, high=360.0))
        beams = self.count("beams", 541, low=2, high=5000)
        return iv.Lidar(field_of_view, beams, range_max, noise, clutter)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
