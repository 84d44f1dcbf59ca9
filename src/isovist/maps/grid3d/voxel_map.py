"""Maps of cubic cells: free, occupied or unknown.

Rays are exact: they go from face to face in float64 and end where they first touch a cell that is
not free.  Cells are closed, so a ray along a face of a wall ends there too.  Small maps are dense,
with one byte per cell, and one more once rays are cast; large maps store only the blocks of cells
that contain walls (`maps.grid3d.grids`).
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

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
    checked_cells,
    checked_reflectance,
)
from isovist.maps.grid3d.blocks import Shape, blocks_of
from isovist.maps.grid3d.grids import (
    MAX_DENSE_CELLS,
    Grid,
    check_size,
    grid_of_cells,
    grid_of_walls,
)
from isovist.maps.grid3d.ray_fields import RayGrid
from isovist.maps.settings import CloudSettings
from isovist.renamed import accept_old_names

if TYPE_CHECKING:
    from isovist.maps.surfaces.mesh_map import MeshMap

CLOUDS = CloudSettings()
"""The limits of point clouds as maps."""
MAX_INDEX = 2.0**53
"""Cells from the origin: beyond it floats do not tell one from the next."""


@dataclass(frozen=True, eq=False)
class VoxelMap:
    """A 3D voxel map of free, occupied and unknown cells.

    Attributes:
        grid: Grid of `Cell` codes, along z, y and x.
        resolution: Side of a cell, in m.
        corner: Smallest (x, y, z) of cell (0, 0, 0), in m.
        reflectance: Reflectance of each cell by its flat index, shape (cells,), or `None`.
    """

    grid: Grid
    resolution: float
    corner: FloatArray
    reflectance: FloatArray | None = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "resolution", check_length("resolution", self.resolution))
        set_(self, "corner", readonly(as_floats("corner", self.corner, (3,)).copy()))
        set_(self, "reflectance", checked_reflectance(self.reflectance, self.grid.size))

    __setstate__ = restore

    @classmethod
    def from_array(
        cls,
        cells: ArrayLike,
        resolution: float,
        corner: ArrayLike = (0.0, 0.0, 0.0),
        *,
        reflectance: ArrayLike | None = None,
    ) -> "VoxelMap":
        """Make a map from an array of `Cell` codes.

        Args:
            cells: `Cell` codes along z, y and x, shape (levels, rows, columns).
            resolution: Side of a cell, in m.
            corner: Smallest (x, y, z) of cell (0, 0, 0), in m.
            reflectance: Reflectance of each cell by its flat index, shape (cells,), or `None`.

        Raises:
            InputError: If a code or a shape is not valid, or no cell is free.
        """
        codes = np.asarray(cells)
        if codes.ndim != 3 or codes.size == 0:
            raise InputError.about(
                "cells", f"must be a block of levels, rows and columns, got {codes.shape}."
            )
        check_size(codes.shape, "map")
        values = None if reflectance is None else np.asarray(reflectance, dtype=np.float64)
        return cls(grid_of_cells(checked_cells(codes)), resolution, np.asarray(corner), values)

    @classmethod
    @accept_old_names
    def from_points(
        cls,
        points: ArrayLike,
        resolution: float,
        *,
        reflectance: ArrayLike | None = None,
        rest: Cell = Cell.FREE,
        min_points: int = 1,
    ) -> "VoxelMap":
        """Make a map from a cloud of points on surfaces.

        Cell faces lie at multiples of the resolution.  The map has a border of one cell around the
        points.

        Args:
            points: The points, shape (k, 3), in m.
            resolution: Side of a cell, in m.
            reflectance: One value per point, shape (k,); a cell has the mean of its points.
            rest: Code of the cells without points.  A cloud alone cannot tell free space from the
                inside of walls, which rays seldom reach.
            min_points: Minimum number of points in an occupied cell.

        Raises:
            InputError: If the points cannot be a map.

        Examples:
            >>> import isovist as iv
            >>> import numpy as np
            >>> points = np.random.default_rng(0).uniform(0.0, 1.0, (1000, 3))
            >>> iv.VoxelMap.from_points(points, 0.2).shape
            (7, 7, 7)
        """
        cloud = check_points(points)
        check_length("resolution", resolution)
        if min_points < 1:
            raise InputError.about("min_points", f"must be at least 1 point, got {min_points}.")
        low, shape = _block_around(cloud, resolution)
        if reflectance is not None or rest != Cell.FREE:
            check_size(shape, "map")
        flat = np.zeros(len(cloud), dtype=np.int64)
        for axis in (2, 1, 0):  # one by one: clouds are large
            flat *= shape[2 - axis]
            flat += np.floor(cloud[:, axis] / resolution).astype(np.int64) - low[axis]
        cells, counts = _count_points(flat, shape)
        values = None
        if reflectance is not None:
            own = as_floats("reflectance", reflectance, (len(cloud),))
            values = _sum_by_cell(flat, own, shape)
            values[cells] /= counts
        grid = grid_of_walls(cells[counts >= min_points], shape)
        if rest != Cell.FREE:
            codes = grid.array()
            grid = grid_of_cells(np.where(codes == Cell.OCCUPIED, codes, np.uint8(rest)))
        return cls(grid, resolution, low.astype(np.float64) * resolution, values)

    @classmethod
    def from_mesh(cls, mesh: "MeshMap", resolution: float) -> "VoxelMap":
        """Make a map from a mesh; every cell that touches a face is occupied.

        If the mesh is closed, cells outside its free space are unknown (`maps.grid3d.voxelise`).

        Args:
            mesh: The mesh.
            resolution: Side of a cell, in m.
        """
        from isovist.maps.grid3d.voxelise import cells_of_mesh

        check_length("resolution", resolution)
        cells, corner, values = cells_of_mesh(mesh, resolution)
        return cls(grid_of_cells(cells), resolution, corner, values)

    def with_cells(self, cells: NDArray[np.uint8]) -> "VoxelMap":
        """Return a map with other cells, and with the same corner, resolution and reflectances."""
        return VoxelMap(grid_of_cells(cells), self.resolution, self.corner, self.reflectance)

    @property
    def cells(self) -> NDArray[np.uint8]:
        """The `Cell` codes along z, y and x, uint8, shape (levels, rows, columns).  Read-only.

        Each access to this property of a map in blocks makes a new array.

        Raises:
            InputError: If there are more than 2³⁰ cells.
        """
        check_size(self.shape, "map")
        return readonly(self.grid.array())

    @property
    def dimension(self) -> int:
        """The dimension of the map: 3."""
        return 3

    @property
    def shape(self) -> tuple[int, int, int]:
        """The size of the map (levels, rows, columns), in cells."""
        return self.grid.shape

    @property
    def bounds(self) -> FloatArray:
        """The smallest and largest coordinates of the map, shape (2, 3), in m."""
        size = np.array(self.shape[::-1]) * self.resolution
        return np.stack([self.corner, self.corner + size])

    def to_grid(self, points: ArrayLike) -> FloatArray:
        """Return world points (x, y, z), shape (..., 3), in units of cells."""
        return np.asarray((np.asarray(points) - self.corner) / self.resolution)

    def index(self, points: ArrayLike) -> IntArray:
        """Return the flat index of the cell that contains each point, shape (...).

        It is −1 outside the map.  A cell includes its faces with the smaller coordinates.
        """
        place = np.floor(self.to_grid(as_points("points", points, 3)))
        levels, rows, columns = self.shape
        inside = ((place >= 0) & (place < [columns, rows, levels])).all(axis=-1)
        x, y, z = (np.where(inside, place[..., k], 0).astype(np.int64) for k in range(3))
        return np.where(inside, (z * rows + y) * columns + x, -1)

    def centres(self, index: ArrayLike) -> FloatArray:
        """Return the world coordinates of cell centres by flat index, shape (..., 3), in m."""
        levels_rows_columns = np.unravel_index(np.asarray(index), self.shape)
        place = np.stack(levels_rows_columns[::-1], axis=-1) + 0.5
        return self.corner + place * self.resolution

    def contains(self, points: ArrayLike) -> BoolArray:
        """Return whether each point lies in a free cell, shape (...)."""
        index = self.index(points)
        inside = index >= 0
        return np.asarray(inside & (self.grid.at(np.where(inside, index, 0)) == Cell.FREE))

    @cached_property
    def skip(self) -> RayGrid:
        """The grid prepared for ray casting, for `compute.rays.grid3d`; computed once."""
        return RayGrid.from_grid(self.grid)

    def cast(self, origins: ArrayLike, directions: ArrayLike, *, maximum: float = np.inf) -> Hits:
        """Cast rays to the first cell that is not free, or to the edge of the map.

        The shapes (..., 3) of origins and directions broadcast against each other.

        Args:
            origins: Start points, shape (..., 3), in m.
            directions: Directions of any length but 0, shape (..., 3).
            maximum: Maximum length of a ray, in m.

        Returns:
            The hits.  `walls` are flat indices of occupied or unknown cells.
        """
        from isovist.compute import cast_rays_3d, cast_rays_by_blocks

        start = self.to_grid(as_points("origins", origins, 3))
        along = as_points("directions", directions, 3)
        cast = cast_rays_3d if self.skip.dense.size else cast_rays_by_blocks
        return cast_grid_rays(cast, self.skip.parts, start, along, maximum, self.resolution)


def _block_around(points: FloatArray, resolution: float) -> tuple[IntArray, Shape]:
    """Return the first cell (x, y, z) of the block around points, with a border, and its shape."""
    ends = np.floor(np.stack([points.min(0), points.max(0)]) / resolution)
    if not np.abs(ends).max() < MAX_INDEX:
        raise InputError(
            f"The cloud lies up to {np.abs(points).max():.3g} m from its origin, too far for cells "
            f"of {resolution:g} m.",
            code="too_large",
        )
    first, last = ends.astype(np.int64)
    columns, rows, levels = (int(k) for k in last - first + 3)
    blocks_of((levels, rows, columns))
    return first - 1, (levels, rows, columns)


def _count_points(flat: IntArray, shape: Shape) -> tuple[IntArray, IntArray]:
    """Return the cells with points, ascending, and how many each has, shape (k,) both."""
    if math.prod(shape) > MAX_DENSE_CELLS:
        return np.unique(flat, return_counts=True)
    counts = np.bincount(flat)
    cells = np.flatnonzero(counts)
    return cells, counts[cells]


def _sum_by_cell(flat: IntArray, values: FloatArray, shape: Shape) -> FloatArray:
    """Return the sum of the values in each cell of a block, shape (cells,)."""
    try:
        sums = np.bincount(flat, values, minlength=math.prod(shape))
    except MemoryError:
        levels, rows, columns = shape
        raise InputError(
            f"Reflectances of {columns} × {rows} × {levels} cells take more memory than there is. "
            "Take a coarser `resolution`, cut the cloud, or leave its intensities out.",
            code="too_large",
            field="resolution",
        ) from None
    return np.asarray(sums, dtype=np.float64)


def check_points(points: ArrayLike) -> FloatArray:
    """Check a cloud and return its points, shape (k, 3), in m.

    Raises:
        InputError: If the points cannot be a map.
    """
    p = np.asarray(points, dtype=np.float64)
    if p.ndim != 2 or p.shape[1] != 3:
        raise InputError.about("points", f"must have shape (any, 3), got {p.shape}.")
    if len(p) < CLOUDS.min_points:
        raise InputError(
            f"A cloud needs at least {CLOUDS.min_points} points to be a map, got {len(p)}.",
            code="empty",
        )
    bad = np.flatnonzero(~np.isfinite(p).all(axis=1))
    if bad.size:
        raise InputError(
            f"The cloud has {len(bad)} points that are not finite, the first is point {bad[0]}. "
            "Remove them.",
            field="points",
        )
    with np.errstate(over="ignore"):
        size = np.ptp(p, axis=0)
    if size.max() > CLOUDS.max_width_m:
        raise InputError(
            f"The cloud spans {size[0]:.6g} × {size[1]:.6g} × {size[2]:.6g} m. Is it in mm? Scale "
            f"it to m (scale=0.001), or cut it to at most {CLOUDS.max_width_m:.0f} m.",
            code="too_large",
        )
    return p
