"""2D maps of straight walls."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely
from shapely import GeometryCollection
from shapely.geometry.base import BaseGeometry

from isovist.arrays import ArrayLike, BoolArray, FloatArray, IntArray, as_floats, readonly
from isovist.errors import InputError
from isovist.maps.base import Ending, Hits
from isovist.maps.surfaces.split import split_crossings


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of wall that are visible from points, counter-clockwise from the angle 0 to 2π.

    Attributes:
        angles: Angles between pieces, shape (P, C + 1), in rad.
        walls: Wall that is visible between angles k and k + 1, −1 for none, shape (P, C).
        counts: Number of pieces around each point, shape (P,).
    """

    angles: FloatArray
    walls: IntArray
    counts: IntArray


@dataclass(frozen=True, eq=False)
class SegmentMap:
    """A 2D map of straight walls, and the free space between them.

    Attributes:
        walls: Ends (x0, y0, x1, y1) of walls that meet only at their ends, shape (m, 4), in m.
            Read-only.
        parents: Index of the given segment that each wall is a part of, shape (m,).  Read-only.
        free: Free space, or `None` if every point off the walls is free.
        reflectance: Reflectance of each wall, shape (m,), or `None`.  Read-only.
        attribute: A surface attribute at both ends of each wall, linear between them, shape (m, 2),
            or `None`.  Read-only.

    Examples:
        >>> import isovist as iv
        >>> room = iv.SegmentMap.room(6.0, 4.0, pillars=[(2.0, 1.0, 2.5, 1.5)])
        >>> room.contains([[1.0, 1.0], [2.2, 1.2]]).tolist()
        [True, False]
        >>> float(room.cast([1.0, 2.0], [1.0, 0.0]).ranges)
        5.0
    """

    walls: FloatArray
    parents: IntArray
    free: BaseGeometry | None = None
    reflectance: FloatArray | None = None
    attribute: FloatArray | None = None

    @classmethod
    def from_segments(
        cls,
        segments: ArrayLike,
        *,
        free: BaseGeometry | None = None,
        reflectance: ArrayLike | None = None,
        attribute: ArrayLike | None = None,
    ) -> "SegmentMap":
        """Make a map from the ends of walls; walls that cross are split.

        Args:
            segments: Ends of the walls, shape (m, 2, 2) or (m, 4), in m.
            free: Free space.  Without it, the regions that the walls enclose are free.  If they
                enclose none, every point off the walls is free.
            reflectance: One value per given segment.
            attribute: Two values per given segment, at its ends, shape (m, 2).

        Raises:
            InputError: If an array has a wrong shape, or a segment has no length.
        """
        s = as_floats("segments", segments)
        if s.ndim not in (2, 3) or s[0:1].size != 4 or len(s) == 0:
            raise InputError.about(
                "segments", f"must have shape (m, 2, 2) or (m, 4) with m ≥ 1, got {s.shape}."
            )
        s = s.reshape(-1, 4)
        short = np.flatnonzero(np.hypot(s[:, 2] - s[:, 0], s[:, 3] - s[:, 1]) < 1e-9)
        if short.size:
            raise InputError(
                f"Segment {short[0]} has no length: it starts and ends at "
                f"({s[short[0], 0]:g}, {s[short[0], 1]:g}).",
                field="segments",
            )
        walls, parents = split_crossings(s)
        values = None
        if reflectance is not None:
            values = readonly(as_floats("reflectance", reflectance, (len(s),))[parents])
        levels = None
        if attribute is not None:
            ends = as_floats("attribute", attribute, (len(s), 2))[parents]
            start, along = s[parents, None, :2], (s[:, 2:] - s[:, :2])[parents, None]
            share = ((walls.reshape(-1, 2, 2) - start) * along).sum(2) / (along**2).sum(2)
            levels = readonly(ends[:, :1] * (1.0 - share) + ends[:, 1:] * share)
        if free is None:
            lines = shapely.linestrings(walls.reshape(-1, 2, 2))
            faces = shapely.polygonize(lines)
            free = None if faces.is_empty else _union(faces)
        return cls(readonly(walls), readonly(parents), free, values, levels)

    @classmethod
    def from_polygons(
        cls,
        rooms: Sequence[ArrayLike],
        obstacles: Sequence[ArrayLike] = (),
        walls: ArrayLike | None = None,
    ) -> "SegmentMap":
        """Make a map from outlines of rooms and obstacles, and from thin walls.

        Args:
            rooms: Corners of each outline, shape (k, 2), in m; free space is inside.
            obstacles: Corners of each obstacle, shape (k, 2), in m; free space is outside.
            walls: Ends of thin walls, shape (m, 2, 2), in m.

        Examples:
            >>> import isovist as iv
            >>> l_shape = [(0, 0), (7, 0), (7, 3), (4, 3), (4, 5), (0, 5)]
            >>> bool(iv.SegmentMap.from_polygons([l_shape]).contains([6.0, 4.0]))
            False
        """
        if len(rooms) == 0:
            raise InputError.about("rooms", "must hold at least one outline.", code="missing")
        inside = [_polygon("rooms", k, r) for k, r in enumerate(rooms)]
        solid = [_polygon("obstacles", k, o) for k, o in enumerate(obstacles)]
        free = shapely.union_all(inside).difference(shapely.union_all(solid))
        if free.is_empty:
            raise InputError("The obstacles cover the rooms: no free space is left.", code="empty")
        segments = [_edges(shapely.get_coordinates(ring)) for ring in (*inside, *solid)]
        if walls is not None:
            segments.append(as_floats("walls", walls).reshape(-1, 2, 2))
        return cls.from_segments(np.concatenate(segments), free=free)

    @classmethod
    def room(
        cls,
        width: float,
        height: float,
        *,
        walls: ArrayLike | None = None,
        pillars: Sequence[tuple[float, float, float, float]] = (),
    ) -> "SegmentMap":
        """Make a rectangular room from (0, 0) to (width, height).

        Args:
            width: Size along x, in m.
            height: Size along y, in m.
            walls: Ends of thin walls, shape (m, 2, 2), in m.
            pillars: Boxes (x0, y0, x1, y1), in m.
        """
        if not (width > 0.0 and height > 0.0):
            raise InputError(
                f"A room needs a positive size, got {width} × {height} m.", field="width"
            )
        outline = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]
        boxes = [[(a, b), (c, b), (c, d), (a, d)] for a, b, c, d in pillars]
        return cls.from_polygons([outline], boxes, walls)

    @property
    def dimension(self) -> int:
        """The dimension of the map: 2."""
        return 2

    @cached_property
    def bounds(self) -> FloatArray:
        """The smallest and largest coordinates of the walls, shape (2, 2), in m."""
        corners = self.walls.reshape(-1, 2)
        return readonly(np.stack([corners.min(axis=0), corners.max(axis=0)]))

    @cached_property
    def corners(self) -> FloatArray:
        """The distinct ends of walls, shape (k, 2), in m."""
        return readonly(np.unique(self.walls.reshape(-1, 2), axis=0))

    @cached_property
    def hierarchy(self) -> tuple[FloatArray, FloatArray, IntArray, IntArray, IntArray]:
        """The bounding-volume hierarchy of the walls, as the arrays that kernels take."""
        from isovist.compute import build_bvh

        m = len(self.walls)
        ends = self.walls.reshape(m, 2, 2)
        lo, hi = ends.min(axis=1), ends.max(axis=1)
        node_lo, node_hi = np.empty((2 * m, 2)), np.empty((2 * m, 2))
        link, count = np.empty(2 * m, np.int64), np.empty(2 * m, np.int64)
        order = np.empty(m, np.int64)
        nodes = build_bvh(lo, hi, node_lo, node_hi, link, count, order)
        return node_lo[:nodes], node_hi[:nodes], link[:nodes], count[:nodes], order

    @cached_property
    def normals(self) -> FloatArray:
        """The unit normal of each wall, shape (m, 2), on either side."""
        d = self.walls[:, 2:] - self.walls[:, :2]
        return readonly(np.stack([d[:, 1], -d[:, 0]], axis=1) / np.hypot(d[:, 0], d[:, 1])[:, None])

    @cached_property
    def slopes(self) -> FloatArray:
        """The norm of the attribute's gradient along each wall, shape (m,), per m."""
        if self.attribute is None:
            raise InputError(
                "The map has no `attribute` whose gradient could be taken.", code="missing"
            )
        x0, y0, x1, y1 = self.walls.T
        return readonly(np.abs(np.diff(self.attribute)[:, 0]) / np.hypot(x1 - x0, y1 - y0))

    def cast(self, origins: ArrayLike, directions: ArrayLike) -> Hits:
        """Cast rays and return where each ray first meets a wall.

        Args:
            origins: Start points, shape (..., 2), in m.
            directions: Unit vectors, shape (..., 2).
        """
        from isovist.compute import cast_walls

        o, d = np.broadcast_arrays(
            as_floats("origins", origins), as_floats("directions", directions)
        )
        if o.ndim == 0 or o.shape[-1] != 2:
            raise InputError.about(
                ("origins", "directions"), f"must have shape (..., 2), got {o.shape}."
            )
        shape = o.shape[:-1]
        o, d = (np.array(x.reshape(-1, 2), order="C") for x in (o, d))
        t, wall = np.empty(len(o)), np.empty(len(o), np.int64)
        cast_walls(o, d, self.walls, *self.hierarchy, t, wall)
        ranges = t * np.hypot(d[:, 0], d[:, 1])
        normals = np.where(wall[:, None] >= 0, self.normals[wall], 0.0)
        normals *= -np.sign(np.einsum("ij,ij->i", normals, d))[:, None]
        endings = np.where(wall >= 0, Ending.WALL, Ending.EDGE).astype(np.uint8)
        return Hits(ranges, wall, normals, endings).reshaped(shape)

    def see(self, points: FloatArray) -> Pieces:
        """Return the walls visible around each point, shape (P, 2)."""
        from isovist.compute import see_pieces

        capacity = 64
        while True:
            angles = np.empty((len(points), capacity + 1))
            walls = np.empty((len(points), capacity), np.int64)
            counts = np.empty(len(points), np.int64)
            see_pieces(points, self.walls, *self.hierarchy, angles, walls, counts)
            if (counts >= 0).all():
                return Pieces(angles, walls, counts)
            capacity *= 4

    def clearance(self, points: ArrayLike) -> FloatArray:
        """Return the distance from each point to the nearest wall, shape (...), in m."""
        p = as_floats("points", points)
        flat = shapely.points(p.reshape(-1, 2))
        (_, near), gaps = self._tree.query_nearest(flat, return_distance=True, all_matches=False)
        if len(near) != len(flat):  # squares of such distances overflow
            raise InputError(
                "Some points are too far from the walls to compute a distance.", field="points"
            )
        return gaps.reshape(p.shape[:-1])

    @cached_property
    def _tree(self) -> shapely.STRtree:
        return shapely.STRtree(shapely.linestrings(self.walls.reshape(-1, 2, 2)))

    def contains(self, points: ArrayLike) -> BoolArray:
        """Return whether each point, shape (..., 2), lies in free space and off every wall."""
        p = as_floats("points", points)
        off = self.clearance(p) > 1e-9
        if self.free is None:
            return off
        shapely.prepare(self.free)
        return off & shapely.contains_xy(self.free, p[..., 0], p[..., 1])


def _edges(ring: FloatArray) -> FloatArray:
    return np.stack([ring[:-1], ring[1:]], axis=1)


def _polygon(name: str, k: int, corners: ArrayLike) -> BaseGeometry:
    c = as_floats(name, corners)
    if c.ndim != 2 or c.shape[1] != 2 or len(c) < 3:
        raise InputError.about(
            f"{name}[{k}]", f"must be at least 3 corners of shape (k, 2), got {c.shape}."
        )
    polygon = shapely.polygons(c)
    if not polygon.is_valid or polygon.area == 0.0:
        raise InputError.about(
            f"{name}[{k}]", "is not a simple polygon: its outline crosses itself."
        )
    return polygon


def _union(faces: GeometryCollection) -> BaseGeometry:
    """Return the union of faces, with slivers that are too thin for GEOS repaired."""
    try:
        return shapely.union_all(faces.geoms)
    except shapely.errors.GEOSException:
        try:
            return shapely.union_all(shapely.make_valid(list(faces.geoms)))
        except shapely.errors.GEOSException as error:
            raise InputError(
                "The walls enclose slivers too thin to tell inside from outside. Are they all of "
                "one size, in m?",
                field="segments",
            ) from error
