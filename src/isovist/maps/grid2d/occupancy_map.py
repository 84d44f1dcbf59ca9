"""2D maps of square cells: free, occupied or unknown.

Rays are exact: they go from cell face to cell face in float64, and end where they enter a cell that
is not free.  A ray through a corner continues as if turned to the left by an infinitesimal angle.
A ray along a grid line runs through the cells on its left.  An origin outside free space has range
0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import ArrayLike, BoolArray, FloatArray, IntArray, as_floats, readonly, restore
from isovist.errors import InputError
from isovist.maps.base import Hits
from isovist.maps.cells import (
    Cell,
    as_points,
    cast_grid_rays,
    check_length,
    check_reach,
    checked_cells,
    checked_reflectance,
    ray_codes,
    runs_of,
)
from isovist.maps.settings import MappingSettings
from isovist.poses import Pose

if TYPE_CHECKING:
    from isovist.maps.grid2d.mapping import Beams


MAPPING = MappingSettings()
MAX_TOLERANCE = 1000.0
"""Largest tolerance of an outline, in m: larger ones leave nothing of any building."""


@dataclass(frozen=True, eq=False)
class OccupancyMap:
    """A 2D occupancy grid map, as ROS uses.

    Attributes:
        cells: `Cell` codes, uint8, shape (height, width), with the smallest y in row 0 and the
            smallest x in column 0.  Read-only.
        resolution: Side of a cell, in m.
        origin: T_world_map, the pose of the lower left corner of cell (0, 0).
        reflectance: Reflectance of each cell by its flat index, shape (cells,), or `None`.

    Examples:
        >>> import isovist as iv
        >>> import numpy as np
        >>> cells = np.full((40, 60), iv.Cell.FREE, dtype=np.uint8)
        >>> cells[0, :] = cells[-1, :] = cells[:, 0] = cells[:, -1] = iv.Cell.OCCUPIED
        >>> world = iv.OccupancyMap.from_array(cells, 0.1)
        >>> bool(world.contains([3.0, 2.0]))
        True
        >>> world.bounds.tolist()
        [[0.0, 0.0], [6.0, 4.0]]
    """

    cells: NDArray[np.uint8]
    resolution: float
    origin: Pose = field(default_factory=Pose)
    reflectance: FloatArray | None = None

    def __post_init__(self) -> None:
        cells = np.asarray(self.cells)
        if cells.ndim != 2 or cells.size == 0:
            raise InputError.about(
                "cells", f"must be a table of rows and columns, got {cells.shape}."
            )
        if not np.isfinite(self.origin.vector).all():
            raise InputError.about("origin", f"must be finite, got {self.origin}.")
        set_ = object.__setattr__
        set_(self, "cells", checked_cells(cells))
        set_(self, "resolution", check_length("resolution", self.resolution))
        set_(self, "reflectance", checked_reflectance(self.reflectance, cells.size))

    __setstate__ = restore

    @classmethod
    def from_array(
        cls,
        cells: ArrayLike,
        resolution: float,
        origin: Pose | None = None,
        *,
        reflectance: ArrayLike | None = None,
    ) -> "OccupancyMap":
        """Make a map from an array of `Cell` codes.

        Args:
            cells: `Cell` codes, shape (height, width), with the smallest y in row 0.
            resolution: Side of a cell, in m.
            origin: T_world_map, the pose of the lower left corner of cell (0, 0).
            reflectance: Reflectance of each cell by its flat index, shape (cells,), or `None`.

        Raises:
            InputError: If a code or a shape is not valid, or no cell is free.
        """
        place = Pose() if origin is None else origin
        values = None if reflectance is None else np.asarray(reflectance, dtype=np.float64)
        return cls(np.asarray(cells), resolution, place, values)

    @classmethod
    def from_scans(
        cls,
        scans: "Sequence[Beams]",
        poses: ArrayLike,
        resolution: float = MAPPING.resolution_m,
        *,
        maximum: float = np.inf,
        share: float = MAPPING.occupied_share,
        progress: Callable[[float], None] = lambda _: None,
    ) -> "OccupancyMap":
        """Make a map from scans with known poses, by counting hits and misses.

        See `maps.grid2d.mapping` for how cells are classified.

        Args:
            scans: The scans.  Beams without a return clear no cells.
            poses: (x, y, yaw) of the sensor in the world for each scan, shape (N, 3).
            resolution: Side of a cell in m.
            maximum: Maximum distance of a return in m.  A longer beam clears cells up to it, and
                marks no wall.
            share: Minimum share of hits, among hits and misses, of an occupied cell.
            progress: Function that is called with the finished share of the work.

        Raises:
            InputError: If there is no scan, or no cell becomes free.
        """
        from isovist.maps.grid2d import mapping

        check_length("resolution", resolution)
        check_reach(maximum)
        if not 0.0 < share <= 1.0:
            raise InputError.about("share", f"must lie in (0, 1], got {share}.")
        beams = mapping.gather(scans, poses, maximum)
        hits, misses, corner = mapping.count(*beams, resolution, progress)
        cells = mapping.classify(hits, misses, share)
        return cls(cells, resolution, Pose(float(corner[0]), float(corner[1])))

    @classmethod
    def from_segments(
        cls,
        segments: ArrayLike,
        resolution: float = MAPPING.resolution_m,
        *,
        outside: Cell = Cell.UNKNOWN,
        reflectance: FloatArray | None = None,
    ) -> "OccupancyMap":
        """Make a map from walls given as line segments.

        Cells that a segment passes through are occupied.  Cells that the walls enclose are free.

        Args:
            segments: Ends of the walls, shape (m, 2, 2), in m.
            resolution: Side of a cell, in m.
            outside: Code of all other cells.
            reflectance: Reflectance of each segment; a cell takes that of the nearest segment.
        """
        from isovist.maps.grid2d import contours

        check_length("resolution", resolution)
        walls = as_floats("segments", segments, (None, 2, 2))
        if len(walls) == 0:
            raise InputError.about("segments", "must not be empty.", code="missing")
        occupied, corner = contours.rasterise(walls, resolution)
        inside = contours.enclosed(occupied)
        if outside != Cell.FREE and not inside.any():
            raise InputError(
                "The segments enclose no free cell. Close the walls, take a finer `resolution`, "
                "or pass `outside=Cell.FREE`.",
                code="empty",
            )
        cells = np.where(occupied, Cell.OCCUPIED, np.where(inside, Cell.FREE, outside))
        origin = Pose(float(corner[0]), float(corner[1]))
        if reflectance is None:
            return cls(cells, resolution, origin)
        own = as_floats("reflectance", reflectance, (len(walls),))
        middles = origin.apply((np.argwhere(occupied)[:, ::-1] + 0.5) * resolution)
        values = np.zeros(cells.shape)
        values[occupied] = own[contours.nearest_segments(walls, middles)]
        return cls(cells, resolution, origin, values)

    def with_cells(self, cells: NDArray[np.uint8]) -> "OccupancyMap":
        """Return a map with other cells, and with the same origin, resolution and reflectances."""
        return OccupancyMap(cells, self.resolution, self.origin, self.reflectance)

    def resampled(self, resolution: float) -> "OccupancyMap":
        """Return the map with cells of another side (m) and the same lower left corner.

        A new cell is occupied if it overlaps an occupied cell.  Otherwise it is equal to the old
        cell at its centre.
        """
        from isovist.maps.grid2d.mapping import check_cells

        factor = check_length("resolution", resolution) / self.resolution
        sizes = [max(1, int(np.ceil(n / factor - 1e-9))) for n in self.shape]
        check_cells(sizes[1], sizes[0], resolution)
        occupied, cells = self.cells == Cell.OCCUPIED, self.cells
        for axis, (size, n) in enumerate(zip(sizes, self.shape, strict=True)):
            low = np.floor(np.arange(size) * factor + 1e-9).astype(np.int64)
            high = np.ceil(np.arange(1, size + 1) * factor - 1e-9).astype(np.int64)
            middle = np.floor((np.arange(size) + 0.5) * factor).astype(np.int64)
            cells = np.take(cells, np.minimum(middle, n - 1), axis=axis)
            # From each first cell to each last one: every other of the runs between these.
            runs = np.stack([low, np.minimum(high, n)], axis=1).ravel()
            ended = np.concatenate([occupied, np.zeros_like(occupied.take([0], axis))], axis)
            occupied = np.logical_or.reduceat(ended, runs, axis=axis).take(
                np.arange(0, 2 * size, 2), axis
            )
        return OccupancyMap(np.where(occupied, Cell.OCCUPIED, cells), resolution, self.origin)

    def to_segments(self, tolerance: float = 0.0) -> FloatArray:
        """Return the outlines of the occupied cells as line segments, shape (m, 2, 2), in m.

        The wall is on the left of each segment.

        Args:
            tolerance: Maximum distance in m from a corner of the outline to the segments.  With 0
                the segments are the faces of the cells, joined where they are in line.
        """
        from isovist.maps.grid2d import contours

        if not 0.0 <= tolerance <= MAX_TOLERANCE:
            rule = f"at most {MAX_TOLERANCE:g}" if tolerance > MAX_TOLERANCE else "0 or more"
            raise InputError.about("tolerance", f"must be a length in m, {rule}, got {tolerance}.")
        loops = contours.outlines(self.cells == Cell.OCCUPIED)
        sides = contours.simplified(loops, tolerance / self.resolution)
        return self.origin.apply(sides * self.resolution)

    @property
    def dimension(self) -> int:
        """The dimension of the map: 2."""
        return 2

    @property
    def shape(self) -> tuple[int, int]:
        """The size of the map (height, width), in cells."""
        height, width = self.cells.shape
        return height, width

    @property
    def bounds(self) -> FloatArray:
        """The smallest and largest world coordinates of the map, shape (2, 2), in m."""
        height, width = self.shape
        corners = np.array([[0, 0], [width, 0], [0, height], [width, height]]) * self.resolution
        world = self.origin.apply(corners)
        return np.stack([world.min(axis=0), world.max(axis=0)])

    @property
    def free_area(self) -> float:
        """The area of the free cells, in m²."""
        return float(np.count_nonzero(self.cells == Cell.FREE)) * self.resolution**2

    def to_grid(self, points: ArrayLike) -> FloatArray:
        """Return world points, shape (..., 2), in units of cells: x along columns, y along rows."""
        world = np.asarray(points, dtype=np.float64)
        local = world - [self.origin.x, self.origin.y]
        if self.origin.yaw != 0.0:
            local = local @ self.origin.rotation
        return np.asarray(local / self.resolution)

    def index(self, points: ArrayLike) -> tuple[IntArray, IntArray]:
        """Return the row and the column of the cell that contains each point, shape (...).

        Both are −1 outside the map.  A cell includes its lower and left faces.
        """
        place = np.floor(self.to_grid(as_points("points", points, 2)))
        height, width = self.shape
        inside = ((place >= 0) & (place < [width, height])).all(axis=-1)
        cols, rows = (np.where(inside, place[..., k], -1).astype(np.int64) for k in (0, 1))
        return rows, cols

    def centres(self, rows: ArrayLike, cols: ArrayLike) -> FloatArray:
        """Return the world coordinates of the centres of cells, shape (..., 2), in m.

        Args:
            rows: Rows of the cells, shape (...).
            cols: Columns of the cells, shape (...).
        """
        place = np.stack(np.broadcast_arrays(cols, rows), axis=-1) + 0.5
        return self.origin.apply(place * self.resolution)

    def contains(self, points: ArrayLike) -> BoolArray:
        """Return whether each point lies in a free cell, shape (...)."""
        rows, cols = self.index(points)
        return np.asarray((rows >= 0) & (self.cells[rows, cols] == Cell.FREE))

    @cached_property
    def skip(self) -> NDArray[np.uint8]:
        """The cell codes and free distances for ray casting, shape (height + 2, width + 2).

        They are computed once, for `compute.rays.grid2d`.
        """
        return ray_codes(self.cells)

    @cached_property
    def runs(self) -> tuple[Any, Any]:
        """The runs of equal cells along rows and columns, which a sweep takes; computed once."""
        return runs_of(self.cells)

    def cast(self, origins: ArrayLike, directions: ArrayLike, *, maximum: float = np.inf) -> Hits:
        """Cast rays to the first cell that is not free, or to the edge of the map.

        The shapes (..., 2) of origins and directions broadcast against each other.

        Args:
            origins: Start points, shape (..., 2), in m.
            directions: Directions of any length but 0, shape (..., 2).
            maximum: Maximum length of a ray, in m.

        Returns:
            The hits.  `walls` are flat indices (row · width + column) of occupied or unknown cells.
        """
        from isovist.compute import cast_rays_2d

        start = self.to_grid(as_points("origins", origins, 2))
        along = as_points("directions", directions, 2) @ self.origin.rotation
        hits = cast_grid_rays(cast_rays_2d, self.skip, start, along, maximum, self.resolution)
        return replace(hits, normals=readonly(hits.normals @ self.origin.rotation.T))
