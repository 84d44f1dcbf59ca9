"""Read and write floor plans as GeoJSON, in metres.

A LineString or MultiLineString is a wall.  A Polygon or MultiPolygon is free space, and all its
rings are walls; with the property `"obstacle": true` its inside is an obstacle.  The file is a
FeatureCollection, a Feature, a GeometryCollection or one geometry.  Coordinates are x and y in m;
longitudes and latitudes are not projected, and heights are ignored.  A property
`"reflectance": 0.3` of every feature is the reflectance of its walls.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import shapely

from isovist.arrays import ArrayLike, FloatArray, as_floats
from isovist.errors import FileError, InputError
from isovist.io.settings import LIMITS
from isovist.maps import SegmentMap
from isovist.storage import PathLike, as_file_error, quote, read_json, replace_file

MAX_NUMBER = 1e9
"""Coordinates (m) and reflectances beyond this are mistakes, and their squares lose digits."""
_MEMBERS = {"FeatureCollection": "features", "GeometryCollection": "geometries"}
_TYPES = ("LineString", "MultiLineString", "Polygon", "MultiPolygon")


def read_geojson(path: PathLike) -> SegmentMap:
    """Read a floor plan from a GeoJSON file as a map of its walls.

    Free space is inside the polygons and outside the obstacles; without polygons it is what the
    walls enclose.

    Raises:
        FileError: If the file is not a plan, or leaves no free space.
    """
    path = Path(path)
    plan = _Plan(path)
    try:
        plan.add(read_json(path, "a GeoJSON plan", LIMITS.plan_bytes))
    except RecursionError as error:
        raise FileError(
            f"{path.name} is not a plan: its collections are nested too deep.",
            code="unknown_format",
        ) from error
    if not plan.walls:
        raise FileError(f"{path.name} draws nothing; a plan needs at least one wall.", code="empty")
    reflectance = plan.all_reflectances()
    with as_file_error(path):
        return SegmentMap.from_segments(
            np.concatenate(plan.walls), free=plan.free_space(), reflectance=reflectance
        )


@dataclass(slots=True)
class _Plan:
    """The walls, rooms and obstacles of a plan, as they are gathered."""

    path: Path
    walls: list[FloatArray] = field(default_factory=list)
    rooms: list[shapely.Polygon] = field(default_factory=list)
    obstacles: list[shapely.Polygon] = field(default_factory=list)
    reflectances: list[FloatArray] = field(default_factory=list)

    def add(self, content: Any, properties: Any = None) -> None:
        """Add all geometries of a GeoJSON object, with the properties of its feature."""
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
            options = properties if isinstance(properties, dict) else {}
            self._add_geometry(kind, content.get("coordinates"), options)
        else:
            raise FileError(
                f"{self.path.name}: a geometry must be a {', '.join(_TYPES[:-1])} or {_TYPES[-1]}, "
                f"got {quote(kind)}."
            )

    def free_space(self) -> shapely.Geometry | None:
        """Return the rooms without the obstacles, or `None` for a plan without rooms."""
        if not self.rooms:
            return None
        for polygon in (*self.rooms, *self.obstacles):
            if not polygon.is_valid:
                raise InputError(
                    f"A polygon of the plan crosses itself: {shapely.is_valid_reason(polygon)}."
                )
        free = shapely.union_all(self.rooms).difference(shapely.union_all(self.obstacles))
        if free.is_empty:
            raise InputError(
                "The obstacles of the plan cover its rooms: no free space is left.", code="empty"
            )
        return free

    def all_reflectances(self) -> FloatArray | None:
        """Return the reflectance of each wall, or `None` for a plan without reflectances."""
        values = np.concatenate(self.reflectances)
        missing = int(np.isnan(values).sum())
        if 0 < missing < len(values):
            raise FileError(
                f"{self.path.name}: {missing} of {len(values)} walls have no `reflectance`; "
                "give it for all of them or for none.",
                field="reflectance",
            )
        return None if missing else values

    def _add_geometry(self, kind: str, coordinates: Any, properties: dict[str, Any]) -> None:
        first = len(self.walls)
        for shape in self._list(coordinates) if kind.startswith("Multi") else [coordinates]:
            if kind.endswith("LineString"):
                self._add_walls(self._points(shape), 2, "a wall needs 2 points")
                continue
            rings = [self._ring(ring) for ring in self._list(shape)]
            if not rings:
                raise FileError(f"{self.path.name} has a polygon without a ring.")
            polygons = self.obstacles if properties.get("obstacle") is True else self.rooms
            polygons.append(shapely.Polygon(rings[0], rings[1:]))
        value = properties.get("reflectance")
        if value is not None and not _is_number(value):
            raise FileError(
                f"{self.path.name}: `reflectance` must be a number, got {quote(value)}.",
                field="reflectance",
            )
        reflectance = np.nan if value is None else float(value)
        self.reflectances += [np.full(len(part), reflectance) for part in self.walls[first:]]

    def _ring(self, value: Any) -> FloatArray:
        points = self._points(value)
        if len(points) > 1 and (points[0] == points[-1]).all():
            points = points[:-1]
        self._add_walls(np.concatenate([points, points[:1]]), 4, "a ring needs 3 different points")
        return points

    def _add_walls(self, points: FloatArray, min_points: int, rule: str) -> None:
        segments = np.stack([points[:-1], points[1:]], axis=1)
        segments = segments[(segments[:, 0] != segments[:, 1]).any(axis=1)]
        if len(points) < min_points or len(segments) < min_points - 1:
            raise FileError(f"{self.path.name}: {rule}, got {quote(points.tolist())}.")
        self.walls.append(segments)

    def _list(self, value: Any, key: str = "coordinates") -> list[Any]:
        if not isinstance(value, list):
            raise FileError(
                f"{self.path.name}: `{key}` must be a list, got {quote(value)}.", field=key
            )
        return value

    def _points(self, value: Any) -> FloatArray:
        for point in self._list(value):
            is_point = isinstance(point, list) and len(point) >= 2
            if not (is_point and all(map(_is_number, point[:2])) and all(map(_is_real, point[2:]))):
                raise FileError(
                    f"{self.path.name}: a point must be two finite numbers in m, at most 1e9, "
                    f"got {quote(point)}."
                )
        return np.array([point[:2] for point in value], dtype=np.float64).reshape(-1, 2)


def _is_real(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_real(value) and abs(value) <= MAX_NUMBER


def write_geojson(
    segments: ArrayLike, path: PathLike, reflectance: FloatArray | None = None
) -> None:
    """Write walls as a GeoJSON file: one MultiLineString for each reflectance.

    Args:
        segments: Ends of the walls, shape (m, 2, 2), in m.
        path: The file.
        reflectance: Reflectance of each wall, shape (m,), or `None`.
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
            "geometry": {"type": "MultiLineString", "coordinates": part.tolist()},
        }
        for properties, part in parts
    ]
    content = {"type": "FeatureCollection", "features": features}
    replace_file(path, (json.dumps(content) + "\n").encode())
