"""The atlas of a 3D map: how it is built, fitted to and rated on.

Nodes lie on a lattice over the floor (`maps.floor`), at one height above it or at several.  The
channels lie on rings of latitude, so that yaw is a cyclic shift.  Only rays that end at a wall
count.  A ray that leaves the map, or is longer than the reach, gives no information.  A cloud of
points does not say which of the empty cells are known to be empty.  A ray that enters unknown space
ends at the wall behind it at the latest.  So a channel whose larger part is unknown holds the range
through the unknown space.  No scan can be longer there.  A shorter scan costs no more than at an
unknown channel.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray, IntArray, check_memory, readonly, restore
from isovist.atlas.base import AnyScan, Atlas
from isovist.atlas.data.surfaces import bare_walls, bridge_gaps
from isovist.atlas.description.blocks import SpaceBlock
from isovist.atlas.description.tiles import Workers, describe_nodes
from isovist.atlas.matching.beams import Beams, Fit
from isovist.atlas.matching.channels import Window
from isovist.atlas.matching.reflectance import ReflectanceRange, explain_ignored, is_comparable
from isovist.atlas.matching.windows import basis_from_json, basis_json, window_of_cloud
from isovist.atlas.settings import AtlasSettings, BeamModel
from isovist.basis import DirectionalBasis
from isovist.compute import BeamRatings, empty_ratings
from isovist.errors import InputError
from isovist.maps import (
    BlockGrid,
    Cell,
    DenseGrid,
    Grid,
    RayGrid,
    VoxelMap,
    WallDistances,
    checked_cells,
    close_floor,
    floor_levels,
)
from isovist.poses import Pose3
from isovist.sensing import CloudScan

PEAK = 60
"""Bytes per cell that describing a map takes, measured; by blocks, where cells are unknown, since
gaps are then closed on the whole grid."""
PEAK_BLOCKS = (90_000, 150)
"""Bytes per block with walls and per column of cells that it takes by blocks."""
PEAK_OF_NODE, PEAK_OF_CLUSTER = 9_000, 3_200
"""Bytes per node that it takes here, and where a cluster describes the nodes."""
TILE = 512
"""Side of the largest block of nodes in cells.  With one node per 3 × 3 columns, a worker takes
600 MB for the nodes, and the memory of the cells that its rays reach."""

Height = float | tuple[float, float] | None


@dataclass(frozen=True, slots=True, eq=False)
class SpaceAtlas(Atlas):
    """The atlas of a 3D map.

    Attributes:
        heights: Lowest and highest node above the floor, in m.
        reflectances: Range of the reflectances of the walls, or `None`.
        basis: Directions of the descriptors, each a ring of its own; `None` for the default rings.
    """

    world: VoxelMap
    wall_distance: WallDistances
    clear: RayGrid
    walls: RayGrid
    heights: tuple[float, float]
    reflectances: ReflectanceRange | None = None
    basis: DirectionalBasis | None = None

    dimension: ClassVar[int] = 3

    __setstate__ = restore

    @property
    def positions(self) -> FloatArray:
        return self.world.centres(self.nodes)

    @property
    def area(self) -> float:
        levels = self.world.shape[1] * self.world.shape[2]
        return float(np.unique(self.nodes % levels).size) * self.spacing**2

    @property
    def heading(self) -> float:
        return 0.0

    def check(self, scan: AnyScan) -> None:
        """Check that the scan is 3D; raise an error otherwise."""
        if not isinstance(scan, CloudScan):
            raise InputError(
                "The scan is 2D, and the atlas is 3D. Give points: Scan.from_points.",
                code="wrong_dimension",
                field="scan",
            )

    def window(self, scan: AnyScan, share: float) -> Window:
        return window_of_cloud(_solid(scan), self.settings, share, self.basis)

    def beams(self, scan: AnyScan, thin: tuple[int, float], block: tuple[float, float]) -> Beams:
        """Select one return of the scan for each patch of `thin[1]` rad that holds any.

        A narrow field of view has few such patches.  They are then divided, up to `thin[0]`
        returns.

        An object on the floor fills several blocks above each other, whose errors are correlated.
        Such blocks, of equal azimuth, form a column.
        """
        cloud = _solid(scan)
        index = cloud.spread(thin[1])
        finer = thin[1] * float(np.sqrt(len(index) / thin[0]))
        finer = max(finer, self.settings.wall_fit.beam_spacing_rad)
        if finer < thin[1]:
            index = cloud.spread(finer)
        return self.beams_of(cloud, index, block)

    def beams_of(self, cloud: CloudScan, index: IntArray, block: tuple[float, float]) -> Beams:
        """Return the given returns of a point cloud as beams, sorted into blocks."""
        ends = cloud.level_points[index]
        column = np.floor(np.arctan2(ends[:, 1], ends[:, 0]) / block[0]).astype(np.int64)
        elevation = np.arctan2(ends[:, 2], np.hypot(ends[:, 0], ends[:, 1]))
        row = np.floor(elevation / block[0]).astype(np.int64)
        strengths = np.empty(0)
        if is_comparable(self.reflectances, cloud.intensities):
            strengths = np.ascontiguousarray(np.asarray(cloud.intensities)[index])
        return Beams.of(ends, row, column, strengths)

    def fit(
        self,
        beams: Beams,
        poses: FloatArray,
        widths: FloatArray,
        fitted: int,
        *,
        held: float = np.inf,
    ) -> Fit:
        unit = self.world.resolution
        cells = self.to_cells(poses)
        normal, sums = np.zeros((len(poses), 6, 6)), np.zeros((len(poses), 2))
        align, _ = self.kernels()
        align(
            self.wall_distance.parts, beams.ends / unit, widths / unit,
            self.settings.wall_fit.damping, held, fitted, cells, normal, sums,
        )  # fmt: skip
        per = np.array([1.0, 1.0, unit, 1.0, unit, unit])[:fitted]
        half = np.tril(normal[:, :fitted, :fitted])
        H = (half + np.tril(half, -1).swapaxes(1, 2)) * np.outer(per, per)
        return Fit(self.from_cells(cells), H, sums[:, 0], sums[:, 1] * unit**2)

    def rate(self, beams: Beams, poses: FloatArray, model: BeamModel) -> BeamRatings:
        unit, rated = self.world.resolution, empty_ratings(len(poses), len(beams))
        reflectance, numbers = np.empty(0), np.ones(3)
        if beams.strengths.size and self.reflectances is not None:
            reflectance = np.asarray(self.world.reflectance)
            numbers = self.reflectances.intensity_model(model)
        # Beams end at faces of cells, half a side before their centres.
        row = model.row(self.settings.reach, 0.5 * unit, extra=unit)
        _, score = self.kernels()
        score(
            self.clear.parts, self.walls.parts, self.wall_distance.parts, unit, row,
            reflectance, numbers, beams.ends, beams.strengths, self.to_cells(poses), *rated,
        )  # fmt: skip
        return rated

    def kernels(self) -> tuple[Any, ...]:
        from isovist.compute import align_3d, align_3d_by_blocks, score_3d, score_3d_by_blocks

        is_dense = isinstance(self.world.grid, DenseGrid)
        return (align_3d, score_3d) if is_dense else (align_3d_by_blocks, score_3d_by_blocks)

    def fitted(self, tilt: bool) -> int:
        """Return 4 for x, y, yaw and z, or 6 with roll and pitch if the tilt is unknown."""
        return 6 if tilt else 4

    def lift(self, poses: FloatArray) -> Pose3:
        return Pose3.from_vector(poses)

    def to_cells(self, poses: FloatArray) -> FloatArray:
        """Return poses in the frame of the grid, in cells and rad."""
        cells = np.array(poses)
        cells[..., [0, 1, 3]] = self.world.to_grid(cells[..., [0, 1, 3]])
        return cells

    def from_cells(self, poses: FloatArray) -> FloatArray:
        """Return poses of the grid (cells, rad) as poses in the world (m, rad)."""
        world = np.array(poses)
        world[..., [0, 1, 3]] *= self.world.resolution
        world[..., [0, 1, 3]] += self.world.corner
        return world

    def ignored_intensities(self, scan: AnyScan) -> tuple[float, ...] | None:
        return explain_ignored(self.reflectances, _solid(scan).intensities)

    def arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {"nodes": self.nodes, "descriptors": self.descriptors}
        grid = self.world.grid
        if isinstance(grid, DenseGrid):
            arrays |= {
                "cells": grid.cells, "wall_distance": self.wall_distance.dense,
                "clear": self.clear.dense, "bare": self.walls.dense,
            }  # fmt: skip
        else:
            parts: dict[str, BlockGrid | WallDistances | RayGrid] = {
                "cells": grid, "walls": self.wall_distance, "clear": self.clear,
            }  # fmt: skip
            if self.walls is not self.clear:
                parts["bare"] = self.walls
            for name, part in parts.items():
                arrays |= {f"{name}_index": part.index, f"{name}_table": part.table}
        if self.world.reflectance is not None:
            arrays["reflectance"] = self.world.reflectance
        return arrays

    def meta(self) -> dict[str, Any]:
        extra: dict[str, Any] = {} if self.basis is None else {"rose": basis_json(self.basis)}
        if isinstance(self.world.grid, BlockGrid):
            extra |= {"shape": list(self.world.shape), "near": self.wall_distance.limit}
        return extra | {
            "dimension": 3,
            "resolution": self.world.resolution,
            "corner": [float(v) for v in self.world.corner],
            "spacing": self.spacing,
            "heights": list(self.heights),
            "shine": None
            if self.reflectances is None
            else [self.reflectances.dull, self.reflectances.bright],
            "settings": self.settings.to_json(),
        }

    @classmethod
    def from_arrays(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> "SpaceAtlas":
        grids = _dense(arrays) if "cells" in arrays else _by_blocks(meta, arrays)
        corner, reflectance = np.asarray(meta["corner"]), arrays.get("reflectance")
        world = VoxelMap(grids[0], float(meta["resolution"]), corner, reflectance)
        low, high = (float(v) for v in meta["heights"])
        settings = AtlasSettings.from_json(meta["settings"])
        dull, bright = meta["shine"] or (0.0, 0.0)
        walls = ReflectanceRange(dull, bright, settings.reflectance.max_offset)
        return cls(
            world, arrays["nodes"], arrays["descriptors"], *grids[1:],
            spacing=float(meta["spacing"]), settings=settings,
            heights=(low, high), reflectances=walls if meta["shine"] else None,
            basis=basis_from_json(meta["rose"], arrays["descriptors"].shape[1], 3)
            if "rose" in meta else None,
        )  # fmt: skip


Grids = tuple[Grid, WallDistances, RayGrid, RayGrid]
"""Cells, distances, and what rays walk on, with gaps closed and with walls alone."""


def _dense(arrays: Mapping[str, NDArray[Any]]) -> Grids:
    grid = DenseGrid(checked_cells(arrays["cells"]))
    shape = grid.shape
    clear, walls = (RayGrid.from_dense(arrays[name], shape) for name in ("clear", "bare"))
    return grid, WallDistances.from_dense(arrays["wall_distance"], shape), clear, walls


def _by_blocks(meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Grids:
    levels, rows, columns = (int(v) for v in meta["shape"])

    def parts(name: str) -> tuple[NDArray[Any], NDArray[Any], tuple[int, int, int]]:
        return arrays[f"{name}_index"], arrays[f"{name}_table"], (levels, rows, columns)

    clear = RayGrid(*parts("clear"))
    walls = RayGrid(*parts("bare")) if "bare_index" in arrays else clear
    return (
        BlockGrid(*parts("cells")),
        WallDistances(*parts("walls"), int(meta["near"])),
        clear,
        walls,
    )


def build_space(
    world: VoxelMap, settings: AtlasSettings, height: Height, progress: Callable[[float], None],
    workers: Workers | None = None, basis: DirectionalBasis | None = None,
) -> SpaceAtlas:  # fmt: skip
    """Build the atlas of a 3D map; the arguments are those of `build`.

    Memory of a small box:

    - peak: about 9 kB per node and 60 bytes per cell
    - afterwards: 3.1 kB per node and 7 bytes per cell, 15 with reflectances

    Memory of a large box (`maps.grid3d.grids`):

    - peak: 90 kB per block of 16³ cells with walls, and 150 bytes per column of cells
    - afterwards: 50 kB per block

    Reflectances and unknown cells of a large box are stored for every cell.

    Raises:
        InputError: If the machine has less memory.
    """
    if min(world.shape) < 2:
        raise InputError(
            f"A map to describe needs at least 2 × 2 × 2 cells, got {world.shape}.", code="empty"
        )
    low, high = _heights(height, settings.height)
    stride = max(1, round(settings.spacing / world.resolution))
    per_node = PEAK_OF_NODE if workers is None else PEAK_OF_CLUSTER
    _check_memory(world, 0, per_node)
    world = close_floor(world)
    clear, walls = bridge_gaps(world, settings.gap), bare_walls(world)
    nodes = _nodes_above_floor(clear, floor_levels(world), stride, low, high)
    _check_memory(world, len(nodes), per_node)
    progress(0.05)
    block = SpaceBlock(np.arange(len(nodes)), clear, walls, nodes, None, settings, basis)
    floor = world.shape[1] * world.shape[2]
    blocks = iter([block]) if workers is None else block.split(workers.side(floor, TILE))
    F = describe_nodes(blocks, workers, len(nodes), lambda share: progress(0.05 + 0.8 * share))
    atlas = SpaceAtlas(
        world,
        readonly(nodes),
        readonly(F),
        WallDistances.from_grid(
            world.grid, near_limit(settings, stride * world.resolution, world.resolution)
        ),
        clear.skip,
        clear.skip if walls is clear else walls.skip,
        stride * world.resolution,
        settings,
        (low, high),
        ReflectanceRange.of(world, settings.reflectance),
        basis,
    )
    progress(1.0)
    return atlas


def near_limit(settings: AtlasSettings, spacing: float, resolution: float) -> int:
    """Return how far from walls distances are stored, in cells.

    That is where beams still pull a fit, and a cell more.

    Args:
        settings: Settings of the atlas.
        spacing: Spacing of the nodes in m.
        resolution: Side of a cell in m.
    """
    fit = settings.wall_fit
    pull = fit.pull_spacings * max(fit.min_spacing_m, spacing)
    limit = max(fit.max_pull_m, fit.pull_spacings * settings.spacing_cells * resolution)
    return 2 + math.ceil(min(pull, limit) / resolution - 1e-9)


def _check_memory(world: VoxelMap, nodes: int, per_node: int) -> None:
    check_memory(
        f"Describing a map of {world.grid.size} cells" + (f" with {nodes} nodes" if nodes else ""),
        _bytes(world.grid) + per_node * nodes,
        "Take a larger `spacing` or larger cells, or cut the map.",
    )


def _bytes(grid: Grid) -> int:
    """Return the bytes that describing a grid takes at the peak, without nodes."""
    dense = PEAK * grid.size
    if isinstance(grid, DenseGrid):
        return dense
    _, rows, columns = grid.shape
    per_block, per_column = PEAK_BLOCKS
    return per_block * len(grid.table) + per_column * rows * columns + dense * grid.has_unknown


def _heights(height: Height, usual: float) -> tuple[float, float]:
    values = np.atleast_1d(np.asarray(usual if height is None else height, dtype=np.float64))
    if values.size not in (1, 2) or not np.isfinite(values).all() or (np.diff(values) < 0).any():
        raise InputError.about(
            "height",
            f"must be a height above the floor in m, or a lowest and a highest one, got {height}.",
        )
    return float(values[0]), float(values[-1])


def _nodes_above_floor(
    clear: VoxelMap, floor: FloatArray, stride: int, low: float, high: float
) -> IntArray:
    """Return flat indices of free cells at heights above the floor, on a lattice of columns."""
    first = stride // 2
    rows, columns = np.meshgrid(
        *(np.arange(first, n, stride) for n in clear.shape[1:]), indexing="ij"
    )
    lift = np.arange(low, high + 1e-9, stride * clear.resolution)
    z = floor[rows, columns] + lift[:, None, None]
    level = np.floor((z - clear.corner[2]) / clear.resolution).astype(np.int64)
    inside = (level >= 0) & (level < clear.shape[0])
    rows, columns = (np.broadcast_to(k, level.shape)[inside] for k in (rows, columns))
    index = np.ravel_multi_index((level[inside], rows, columns), clear.shape)
    nodes = np.unique(index[clear.grid.at(index) == Cell.FREE])
    if nodes.size == 0:
        where = f"{low:g} m" if low == high else f"{low:g} to {high:g} m"
        raise InputError(
            f"No free cell lies {where} above the floor; take another `height`.",
            code="empty",
            field="height",
        )
    return nodes


def _solid(scan: AnyScan) -> CloudScan:
    assert isinstance(scan, CloudScan)  # `check` stands at every door
    return scan
