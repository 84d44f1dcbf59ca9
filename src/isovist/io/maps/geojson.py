"""Floor plans as GeoJSON, in metres.

A LineString or MultiLineString is a wall.  A Polygon or MultiPolygon is free space, and all its
rings are walls; with the property `"obstacle": true` its inside is what stands in the way.  The
file is a FeatureCollection, a Feature, a GeometryCollection or one geometry.  Coordinates are
taken as x and y in m as they stand; longitudes and latitudes are not projected, and heights are
left out.  A property `"reflectance": 0.3` of every feature says how its walls reflect.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.errors import FileError
from isovist.storage.files import PathLike, quote, read_json, replace_file

MAX_BYTES = 256 << 20
"""Largest file that is read."""

_MEMBERS = {"FeatureCollection": "features", "GeometryCollection": "geometries"}
_TYPES = ("LineString", "MultiLineString", "Polygon", "MultiPolygon")

Polygon = tuple[FloatArray, ...]
"""Rings without the repeated last point, shape (k, 2): the outer one, then the holes."""


@dataclass(frozen=True, slots=True, eq=False)
class PlanGeometry:
    """The walls, rooms and obstacles that a floor plan draws.

    Attributes:
        walls: All walls as segments, those of rooms and obstacles too, shape (m, 2, 2), in m.
            Read-only.
        rooms: Polygons of free space; empty when the plan has none.
        obstacles: Polygons of what stands in the way.
        reflectance: Reflectance of each wall, shape (m,), or `None`.  Read-only.
    """

    walls: FloatArray
    rooms: tuple[Polygon, ...] = ()
    obstacles: tuple[Polygon, ...] = ()
    reflectance: FloatArray | None = None


@dataclass(slots=True)
class _Plan:
    """What was found so far."""

    path: Path
    walls: list[FloatArray] = field(default_factory=list)
    rooms: list[Polygon] = field(default_factory=list)
    obstacles: list[Polygon] = field(default_factory=list)
    shines: list[FloatArray] = field(default_factory=list)

    def add(self, content: Any, properties: Any = None) -> None:
        """Take in every geometry, with the properties of its feature."""
        kind = content.get("type") if isinstance(content, dict) else None
        if isinstance(kind, list | dict):
            raise FileError(
                f"{self.path.name}: `type` must be a word, got {quote(kind)}.", field="type"
            )
        if kind in _MEMBERS:
            for member in self._list(content.get(_MEMBERS[kind]), _MEMBERS[kind]):
                self.add(member, properties)
        elif kind == "Feature":
            if content.get("geometry") is not None:
                self.add(content["geometry"], content.get("properties"))
        elif kind is None:
            raise FileError(
                f"{self.path.name} is not GeoJSON: `type` is missing in {quote(content)}.",
                code="unknown_format",
            )
        elif kind in _TYPES:
            self._draw(kind, content.get("coordinates"), properties)
        else:
            raise FileError(
                f"{self.path.name}: a geometry must be a {', '.join(_TYPES[:-1])} or {_TYPES[-1]}, "
                f"got {quote(kind)}."
            )

    def _draw(self, kind: str, coordinates: Any, properties: Any) -> None:
        before = len(self.walls)
        self._draw_walls(kind, coordinates, properties)
        told = properties.get("reflectance") if isinstance(properties, dict) else None
        sound = isinstance(told, int | float) and not isinstance(told, bool) and abs(told) <= 1e9
        if told is not None and not sound:
            raise FileError(
                f"{self.path.name}: `reflectance` must be a number, got {quote(told)}.",
                field="reflectance",
            )
        shine = np.nan if told is None else float(told)
        self.shines += [np.full(len(pieces), shine) for pieces in self.walls[before:]]

    def _draw_walls(self, kind: str, coordinates: Any, properties: Any) -> None:
        for shape in self._list(coordinates) if kind.startswith("Multi") else [coordinates]:
            if kind.endswith("LineString"):
                self._wall(self._points(shape), 2, "a wall needs 2 points")
                continue
            rings = tuple(self._ring(ring) for ring in self._list(shape))
            if not rings:
                raise FileError(f"{self.path.name} has a polygon without a ring.")
            obstacle = isinstance(properties, dict) and properties.get("obstacle") is True
            (self.obstacles if obstacle else self.rooms).append(rings)

    def _ring(self, value: Any) -> FloatArray:
        points = self._points(value)
        if len(points) > 1 and (points[0] == points[-1]).all():
            points = points[:-1]
        self._wall(np.concatenate([points, points[:1]]), 4, "a ring needs 3 different points")
        return readonly(points)

    def _wall(self, points: FloatArray, least: int, rule: str) -> None:
        pieces = np.stack([points[:-1], points[1:]], axis=1)
        pieces = pieces[(pieces[:, 0] != pieces[:, 1]).any(axis=1)]
        if len(points) < least or len(pieces) < least - 1:
            raise FileError(f"{self.path.name}: {rule}, got {quote(points.tolist())}.")
        self.walls.append(pieces)

    def _list(self, value: Any, key: str = "coordinates") -> list[Any]:
        if not isinstance(value, list):
            raise FileError(
                f"{self.path.name}: `{key}` must be a list, got {quote(value)}.", field=key
            )
        return value

    def _points(self, value: Any) -> FloatArray:
        for point in self._list(value):
            sound = (
                isinstance(point, list)
                and len(point) >= 2
                and all(isinstance(c, int | float) and not isinstance(c, bool) for c in point)
                and all(abs(c) <= 1e9 for c in point[:2])
            )
            if not sound:
                raise FileError(
                    f"{self.path.name}: a point must be two finite numbers in m, at most 1e9, "
                    f"got {quote(point)}."
                )
        return np.array([point[:2] for point in value], dtype=np.float64).reshape(-1, 2)


def read_geojson(path: PathLike) -> PlanGeometry:
    """Read a floor plan from a GeoJSON file."""
    path = Path(path)
    content = read_json(path, "a GeoJSON plan", MAX_BYTES)
    plan = _Plan(path)
    try:
        plan.add(content)
    except RecursionError as error:
        raise FileError(
            f"{path.name} is not a plan: its collections are nested too deep.",
            code="unknown_format",
        ) from error
    if not plan.walls:
        raise FileError(f"{path.name} draws nothing; a plan needs at least one wall.", code="empty")
    walls = np.concatenate(plan.walls)
    shines = np.concatenate(plan.shines)
    told = np.isfinite(shines)
    if told.any() and not told.all():
        raise FileError(
            f"{path.name}: {int((~told).sum())} of {len(told)} walls have no `reflectance`; "
            "give it for all of them or for none.",
            field="reflectance",
        )
    values = readonly(shines) if told.all() else None
    return PlanGeometry(readonly(walls), tuple(plan.rooms), tuple(plan.obstacles), values)


def write_geojson(
    segments: ArrayLike, path: PathLike, reflectance: FloatArray | None = None
) -> None:
    """Write walls, shape (m, 2, 2) in m, as a GeoJSON file.

    They become a MultiLineString, one for each reflectance.
    """
    walls = as_floats("segments", segments, (None, 2, 2))
    parts: list[tuple[dict[str, float], FloatArray]] = [({}, walls)]
    if reflectance is not None:
        parts = [
            ({"reflectance": float(value)}, walls[reflectance == value])
            for value in np.unique(reflectance)
        ]
    features = [
        {
            "type": "Feature",
            "properties": properties,
            "geometry": {"type": "MultiLineString", "coordinates": some.tolist()},
        }
        for properties, some in parts
    ]
    content = {"type": "FeatureCollection", "features": features}
    replace_file(path, (json.dumps(content) + "\n").encode())
