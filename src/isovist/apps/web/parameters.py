"""What a page asks for, checked: every value has a kind and limits."""

import math
from collections.abc import Mapping
from typing import Any

from isovist.errors import InputError
from isovist.poses import AnyPose, Pose, Pose3
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.spinning import SpinningLidar
from isovist.storage.files import quote

FARTHEST = 1e6
"""A coordinate of the page is nearer than this, in m."""


class Ask:
    """Fields of a request, with checked access to their values.

    Args:
        fields: The decoded fields of the request.
    """

    def __init__(self, fields: object) -> None:
        if not isinstance(fields, Mapping):
            raise InputError(
                f"A request is an object with named fields, got {quote(fields)}.",
                code="unknown_format",
            )
        self.fields: Mapping[str, Any] = fields

    def part(self, name: str) -> "Ask":
        """Return the fields of a nested object, empty if it is missing."""
        return Ask(self.fields.get(name) or {})

    def parts(self, name: str, most: int) -> "list[Ask]":
        """Return a field that is a list of nested objects, with at most the given number."""
        rows = self.fields.get(name) or []
        if not isinstance(rows, list) or len(rows) > most:
            raise InputError.about(name, f"must be a list of at most {most}, got {quote(rows)}.")
        return [Ask(row) for row in rows]

    def has(self, name: str) -> bool:
        """Return whether a field is given."""
        return self.fields.get(name) is not None

    def text(self, name: str, usual: str = "") -> str:
        """Return a field that must be a text of at most 200 characters."""
        value = self.fields.get(name, usual)
        if not isinstance(value, str) or len(value) > 200:
            raise InputError.about(name, f"must be a short text, got {quote(value)}.")
        return value

    def flag(self, name: str) -> bool:
        """Return whether a field is true."""
        return self.fields.get(name) is True

    def number(self, name: str, usual: float | None = None, *, low: float, high: float) -> float:
        """Return a field that must be a number within limits."""
        value = self.fields.get(name, usual)
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not good or not math.isfinite(value) or not low <= value <= high:
            raise InputError.about(
                name, f"must be a number from {low:g} to {high:g}, got {quote(value)}."
            )
        return float(value)

    def count(self, name: str, usual: int | None = None, *, low: int, high: int) -> int:
        """Return a field that must be a whole number within limits."""
        value = self.number(name, usual, low=low, high=high)
        if not value.is_integer():
            raise InputError.about(name, f"must be a whole number, got {value:g}.")
        return int(value)

    def place(self, x: str = "x", y: str = "y") -> tuple[float, float]:
        """Return the two coordinates of a position, in m."""
        return tuple(self.number(name, low=-FARTHEST, high=FARTHEST) for name in (x, y))  # type: ignore[return-value]

    def pose(self) -> AnyPose:
        """Return a pose in m and rad, a 3D pose if the request gives a height."""
        x, y = self.place()
        yaw = self.number("yaw", 0.0, low=-100.0, high=100.0)
        if not self.has("z"):
            return Pose(x, y, yaw)
        return Pose3(x, y, yaw, self.number("z", low=-FARTHEST, high=FARTHEST))

    def lidar(self, dimension: int) -> Lidar | SpinningLidar:
        """Return the simulated sensor for a 2D or 3D map; the request gives its view in degrees."""
        range_max = self.number("range_max", 15.0, low=0.2, high=1000.0)
        noise = self.number("noise", 0.03, low=0.0, high=1.0)
        clutter = self.number("clutter", 0.0, low=0.0, high=0.95)
        if dimension == 3:
            rings = self.count("rings", 16, low=1, high=128)
            azimuths = self.count("beams", 450, low=8, high=2000)
            return SpinningLidar(
                rings, azimuths=azimuths, range_max=range_max, noise=noise, clutter=clutter
            )
        view = math.radians(self.number("field_of_view", 270.0, low=1.0, high=360.0))
        beams = self.count("beams", 541, low=2, high=5000)
        return Lidar(view, beams, range_max, noise, clutter)
