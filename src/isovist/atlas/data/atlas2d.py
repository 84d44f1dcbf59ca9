"""The atlas of a 2D map: how it is built, fitted to and rated on."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import Float32Array, FloatArray, IntArray, check_memory, readonly, restore
from isovist.atlas.base import AnyScan, Atlas
from isovist.atlas.data.surfaces import bare_walls, bridge_gaps
from isovist.atlas.description.blocks import PlaneBlock, rays_of
from isovist.atlas.description.tiles import Workers, describe_nodes
from isovist.atlas.matching.beams import Beams, Fit
from isovist.atlas.matching.channels import Window
from isovist.atlas.matching.reflectance import (
    ReflectanceRange,
    add_intensity_ratings,
    describe_brightness,
    explain_ignored,
    is_comparable,
    nearest_reflectance,
)
from isovist.atlas.matching.unknown import FAR, MAJORITY
from isovist.atlas.matching.windows import (
    SCANS,
    basis_from_json,
    basis_json,
    rings_of,
    units_of,
    window_of_scan,
)
from isovist.atlas.settings import AtlasSettings, BeamModel
from isovist.basis import DirectionalBasis
from isovist.compute import (
    AlignAndScoreRequest,
    AlignedPoses,
    AlignRequest,
    BeamRatings,
    DescribeMapRequest,
    MapDescription,
    RayMap,
    RaySet,
    ScoreRequest,
    active_backend,
)
from isovist.errors import InputError
from isovist.maps import (
    Cell,
    OccupancyMap,
    RangeSum,
    distance_to_walls,
    free_nodes,
    without_negligible,
)
from isovist.poses import Pose, unit_vectors
from isovist.sensing import Scan

SIGNALS = ("range", "range+intensity")
"""Signals that a 2D atlas can be searched by."""
PEAK = (12, 1450)
"""Bytes per cell and per node that describing a map takes, measured."""
PEAK_OF_CLUSTER = (12, 280)
"""Bytes per cell and per node where a cluster describes the nodes, measured."""
SYMMETRIC = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
"""Where the elements of a normal matrix stand in what `compute.fitting.align2d` gives."""
TILE = 2048
"""Side of the largest block of nodes in cells.  With the usual reach and cells of 5 cm, rays pass
4.7 times as many cells as in one piece, which is a fifth of the work; a worker takes 500 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class PlaneAtlas(Atlas):
    """The atlas of a 2D map.

    The first ring of a descriptor holds ranges, a second one intensities ((3) of
    `atlas.data.reflectance`).  If the basis has unequal steps, each channel is a ring of its own:
    the first n rings hold ranges, the second n intensities.

    Attributes:
        reflectances: Range of the reflectances of the walls, or `None`.
        nearest_reflectance: Reflectance of the wall nearest to each cell, or `None`.
        basis: Directions of the descriptors; `None` for the default directions.
    """

    world: OccupancyMap
    wall_distance: Float32Array
    clear: NDArray[np.uint8]
    walls: NDArray[np.uint8]
    reflectances: ReflectanceRange | None = None
    nearest_reflectance: Float32Array | None = None
    basis: DirectionalBasis | None = None

    dimension: ClassVar[int] = 2

    __setstate__ = restore

    @property
    def signal(self) -> str:
        """Name of the signal that the search compares, one of `SIGNALS`."""
        return SIGNALS[self.descriptors[0].size > self.settings.channels]

    @property
    def positions(self) -> FloatArray:
        return self.world.centres(*self.rows_columns)

    @property
    def rows_columns(self) -> tuple[IntArray, IntArray]:
        """The row and the column of the cell of each node, two arrays of shape (N,)."""
        rows, columns = np.divmod(self.nodes, self.world.shape[1])
        return rows, columns

    def nodes_in(self, low: FloatArray, high: FloatArray) -> IntArray:
        """Return the numbers of the nodes in the rows of cells that a box touches, in order."""
        bounds = self.world.bounds
        x, y = np.stack([np.maximum(low, bounds[0]), np.minimum(high, bounds[1])], axis=1)
        if x[0] > x[1] or y[0] > y[1]:
            return np.empty(0, dtype=np.int64)
        corners = np.stack(np.meshgrid(x, y), axis=-1)
        rows = self.world.to_grid(corners)[..., 1]
        ends = np.array([np.floor(rows.min()) - 1.0, np.floor(rows.max()) + 2.0])
        first, last = np.searchsorted(self.nodes, ends.astype(np.int64) * self.world.shape[1])
        return np.arange(first, last)

    @property
    def area(self) -> float:
        return self.world.free_area

    @property
    def heading(self) -> float:
        return self.world.origin.yaw

    def check(self, scan: AnyScan) -> None:
        """Check that the scan is 2D; raise an error otherwise."""
        if not isinstance(scan, Scan):
            raise InputError(
                "The scan is a point cloud, and the atlas is 2D. "
                "Build the atlas of a 3D map, or give a 2D scan.",
                code="wrong_dimension",
                field="scan",
            )

    def window(self, scan: AnyScan, share: float) -> Window:
        flat, walls = _planar(scan), None
        if self.signal == SIGNALS[1] and flat.intensities is not None:
            is_alike = is_comparable(self.reflectances, flat.intensities[flat.valid])
            walls = self.reflectances if is_alike else None
        return window_of_scan(flat, self.settings, share, self.basis, walls)

    def beams(self, scan: AnyScan, thin: tuple[int, float], block: tuple[float, float]) -> Beams:
        """Select at most `thin[0]` valid beams of the scan, evenly spread."""
        return _beams(_planar(scan), thin[0], block, self.reflectances)

    def ignored_intensities(self, scan: AnyScan) -> tuple[float, ...] | None:
        flat = _planar(scan)
        if flat.intensities is None:
            return None
        return explain_ignored(self.reflectances, flat.intensities[flat.valid])

    def fit(
        self,
        beams: Beams,
        poses: FloatArray,
        widths: FloatArray,
        fitted: int,
        *,
        held: float = np.inf,
    ) -> Fit:
        del fitted, held
        return self._fit(active_backend().align(self._align_request(beams, poses, widths)))

    def _align_request(self, beams: Beams, poses: FloatArray, widths: FloatArray) -> AlignRequest:
        """Return the poses and the beams in cells."""
        unit = self.world.resolution
        ends, sigmas = beams.ends / unit, beams.sigmas / unit
        start, damping = self.to_cells(poses), self.settings.wall_fit.damping
        return AlignRequest(self.wall_distance, ends, sigmas, widths / unit, damping, start)

    def _fit(self, aligned: AlignedPoses) -> Fit:
        """Return a fit in m from one in cells."""
        sums = aligned.sums * _in_metres(self.world.resolution)
        H = sums[:, SYMMETRIC]
        if self.heading != 0.0:
            turn = np.eye(3)
            turn[:2, :2] = self.world.origin.rotation
            H = turn @ H @ turn.T
        return Fit(self.from_cells(aligned.poses), H, sums[:, 6], sums[:, 7])

    def fit_and_rate(
        self,
        beams: Beams,
        poses: FloatArray,
        widths: FloatArray,
        fitted: int,
        models: Sequence[BeamModel],
        most: int | None = None,
    ) -> tuple[Fit, list[BeamRatings]]:
        if beams.strengths.size:
            return Atlas.fit_and_rate(self, beams, poses, widths, fitted, models, most)
        scored = active_backend().align_and_score(
            AlignAndScoreRequest(
                self._align_request(beams, poses, widths), self._ray_map,
                tuple(self.model(model) for model in models), beams.ends, beams.sigmas,
                len(poses) if most is None else most,
            )
        )  # fmt: skip
        return self._fit(scored.aligned), list(scored.ratings)

    @property
    def _ray_map(self) -> RayMap:
        return RayMap(self.clear, self.walls, self.wall_distance, self.world.resolution)

    def fit_scaled(
        self,
        beams: Beams,
        start: FloatArray,
        widths: FloatArray,
        fitted: int,
        model: BeamModel,
        factors: Sequence[float],
    ) -> tuple[FloatArray, FloatArray]:
        if beams.strengths.size:
            return Atlas.fit_scaled(self, beams, start, widths, fitted, model, factors)
        backend, align = active_backend(), self._align_request(beams, start, widths)
        world, row, unit = self._ray_map, self.model(model), self.world.resolution
        scores, poses = np.empty(len(factors)), np.empty((len(factors), 3))
        for k, factor in enumerate(factors):
            ends, sigmas = factor * beams.ends, factor * beams.sigmas
            request = align._replace(ends=ends / unit, sigmas=factor * align.sigmas)
            poses[k] = backend.align(request).poses[0]
            rated = backend.score(ScoreRequest(world, row, ends, sigmas, poses[k : k + 1]))
            scores[k] = np.add.reduce(rated.ratings[0], dtype=np.float64)
        return scores / len(beams), self.from_cells(poses)

    def rate(self, beams: Beams, poses: FloatArray, model: BeamModel) -> BeamRatings:
        request = ScoreRequest(
            self._ray_map, self.model(model), beams.ends, beams.sigmas, self.to_cells(poses)
        )
        rated, near = active_backend().score(request), self.nearest_reflectance
        if beams.strengths.size and self.reflectances is not None and near is not None:
            cells = self.world.index(Pose.from_vector(poses[:, None]).apply(beams.ends))
            numbers = self.reflectances.intensity_model(model)
            add_intensity_ratings(near, numbers, cells, beams.strengths, rated.kinds, rated.ratings)
        return rated

    def model(self, model: BeamModel) -> FloatArray:
        """Return the numbers of a beam model as kernels take them.

        The standard deviation includes that of a wall anywhere in its cell.
        """
        return _row(model, self.settings.reach, self.world.resolution)

    @staticmethod
    @cache
    def kernels() -> tuple[Any, ...]:
        from isovist.compute import (
            align_2d,
            channels_of,
            compose,
            order_by_place,
            score_2d,
            thin_beams,
        )

        return align_2d, score_2d, order_by_place, thin_beams, channels_of, compose

    def fitted(self, tilt: bool) -> int:
        """Return 3: a fit adjusts x, y and yaw."""
        if tilt:
            raise InputError.about(
                "tilt", "is for 3D maps; this atlas is 2D.", code="wrong_dimension"
            )
        return 3

    def lift(self, poses: FloatArray) -> Pose:
        return Pose.from_vector(poses)

    def to_cells(self, poses: FloatArray) -> FloatArray:
        """Return poses in the frame of the grid, in cells and rad."""
        origin = self.world.origin
        cells = np.subtract(poses, origin.vector, order="C")
        if origin.vector[2] != 0.0:
            cells[..., :2] = cells[..., :2] @ origin.rotation
        cells /= _lengths(self.world.resolution)
        return cells

    def from_cells(self, poses: FloatArray) -> FloatArray:
        """Return poses of the grid (cells, rad) as poses in the world (m, rad)."""
        origin = self.world.origin
        world: FloatArray = poses * _lengths(self.world.resolution)
        if origin.vector[2] != 0.0:
            world[..., :2] = world[..., :2] @ origin.rotation.T
        world += origin.vector
        return world

    def arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {
            "cells": self.world.cells, "nodes": self.nodes, "descriptors": self.descriptors,
            "wall_distance": self.wall_distance, "clear": self.clear, "bare": self.walls,
        }  # fmt: skip
        if self.world.reflectance is not None:
            arrays["reflectance"] = self.world.reflectance
        return arrays

    def meta(self) -> dict[str, Any]:
        basis = {} if self.basis is None else {"rose": basis_json(self.basis)}
        return basis | {
            "signal": self.signal,
            "resolution": self.world.resolution,
            "origin": [float(v) for v in self.world.origin.vector],
            "spacing": self.spacing,
            "settings": self.settings.to_json(),
        }

    @classmethod
    def from_arrays(
        cls, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> "PlaneAtlas":
        origin = Pose.from_vector(meta["origin"])
        settings = AtlasSettings.from_json(meta["settings"])
        world = OccupancyMap(
            arrays["cells"], float(meta["resolution"]), origin, arrays.get("reflectance")
        )
        return cls(
            world, arrays["nodes"], arrays["descriptors"], arrays["wall_distance"],
            arrays["clear"], arrays["bare"], float(meta["spacing"]), settings,
            reflectances=ReflectanceRange.of(world, settings.reflectance),
            nearest_reflectance=nearest_reflectance(world),
            basis=basis_from_json(meta["rose"], settings.channels) if "rose" in meta else None,
        )  # fmt: skip


def build_plane(
    world: OccupancyMap,
    settings: AtlasSettings,
    progress: Callable[[float], None],
    basis: DirectionalBasis | None = None,
    workers: Workers | None = None,
    signal: str = SIGNALS[0],
) -> PlaneAtlas:
    """Build the atlas of a 2D map; the arguments are those of `build`.

    Peak memory is about 1.5 kB per node and 12 bytes per cell, or 0.3 kB per node with workers.

    Raises:
        InputError: If the machine has less memory.
    """
    if min(world.shape) < 2:
        raise InputError(
            f"A map to describe needs at least 2 × 2 cells, got {world.shape}.", code="empty"
        )
    walls = _reflectances_for(world, signal, settings)
    stride = max(1, round(settings.spacing / world.resolution))
    count = int(np.count_nonzero(world.cells == Cell.FREE)) // stride**2
    per_cell, per_node = PEAK if workers is None else PEAK_OF_CLUSTER
    check_memory(
        f"Describing a map of {world.cells.size} cells with about {count} nodes",
        per_cell * world.cells.size + (per_node << (walls is not None)) * count,
        "Take a larger `spacing`, make the cells larger, or crop the map.",
    )
    parts = _in_one_piece(world, stride, settings, basis) if workers is None else None
    if parts is None:
        parts = _in_blocks(world, stride, settings, basis, workers, progress)
    rings, near = [rings_of(parts.descriptors, basis)], nearest_reflectance(world)
    if walls is not None and near is not None:
        clear, b = bridge_gaps(world, settings.gap), walls.brightness(near)
        nodes = np.divmod(parts.nodes, world.shape[1])
        B = describe_brightness(clear, b, nodes, *rays_of(settings, basis), settings.reach)
        rings.append(rings_of(B, basis))
    atlas = PlaneAtlas(
        world,
        readonly(parts.nodes),
        readonly(np.concatenate(rings, axis=1) if len(rings) > 1 else rings[0]),
        readonly(parts.wall_distance),
        readonly(parts.clear),
        readonly(parts.walls),
        stride * world.resolution,
        settings,
        ReflectanceRange.of(world, settings.reflectance),
        near,
        basis,
    )
    progress(1.0)
    return atlas


def _reflectances_for(
    world: OccupancyMap, signal: str, settings: AtlasSettings
) -> ReflectanceRange | None:
    """Return the reflectances of a map to be searched by intensities, else `None`."""
    if signal not in SIGNALS:
        raise InputError.about(
            "signal",
            f"must be {' or '.join(SIGNALS)}, got {signal!r}. "
            "theory.paper.PaperLocalizer takes any signal.",
        )
    if signal == SIGNALS[0]:
        return None
    walls = ReflectanceRange.of(world, settings.reflectance)
    if walls is None:
        raise InputError.about(
            "signal",
            f"{signal} needs a map whose walls differ in `reflectance`; those of this map "
            f"{'have none' if world.reflectance is None else 'are all alike'}.",
            code="missing",
        )
    return walls


def _in_one_piece(
    world: OccupancyMap, stride: int, settings: AtlasSettings, basis: DirectionalBasis | None
) -> MapDescription | None:
    """Describe a map by a backend that does all of it at once; `None` if it does not."""
    turns, W = rays_of(settings, basis)
    signal = RangeSum("logarithmic", maximum=settings.reach).signal(world)
    rays = RaySet(unit_vectors(turns), without_negligible(W), signal)
    gap = (settings.gap - 1e-9) / world.resolution
    return active_backend().describe_map(
        DescribeMapRequest(world.cells, stride, gap, rays, MAJORITY, FAR)
    )


def _in_blocks(
    world: OccupancyMap, stride: int, settings: AtlasSettings, basis: DirectionalBasis | None,
    workers: Workers | None, progress: Callable[[float], None],
) -> MapDescription:  # fmt: skip
    """Describe a map on the cores, block by block."""
    clear = bridge_gaps(world, settings.gap)
    rows, columns = free_nodes(clear, stride)
    block = PlaneBlock(np.arange(len(rows)), clear, rows, columns, None, settings, basis)
    blocks = iter([block]) if workers is None else block.split(workers.side(world.cells.size, TILE))
    F = describe_nodes(blocks, workers, len(rows), lambda share: progress(0.9 * share))
    nodes = rows.astype(np.int64) * world.shape[1] + columns
    walls = bare_walls(world).skip
    return MapDescription(nodes, F, distance_to_walls(world.cells), clear.skip, walls)


@lru_cache
def _lengths(cell: float) -> FloatArray:
    """Return the units of x, y and yaw in the grid."""
    return readonly(np.array([cell, cell, 1.0]))


@lru_cache
def _in_metres(cell: float) -> FloatArray:
    """Return the factors that turn sums of `compute.fitting.align2d` from cells to m."""
    return readonly(np.array([1.0, 1.0, cell, 1.0, cell, cell**2, 1.0, cell**2]))


@lru_cache
def _row(model: BeamModel, reach: float, cell: float) -> FloatArray:
    return readonly(model.row(reach, cell / math.sqrt(12.0)))


@lru_cache(maxsize=SCANS)
def _beams(
    scan: Scan, count: int, block: tuple[float, float], walls: ReflectanceRange | None
) -> Beams:
    """Return at most `count` valid beams, evenly spread."""
    from isovist.compute import thin_beams

    index, ends = np.empty(count, np.int64), np.empty((count, 2))
    begins, counts = np.empty((2, count), np.int64), np.empty(3, np.int64)
    along = units_of(scan.bearings)
    thin_beams(scan.ranges, scan.bearings, along, scan.valid, *block, index, ends, begins, counts)
    m, blocks, things = counts.tolist()
    index, none = index[:m], np.empty(0)
    strengths = sigmas = none
    if scan.intensities is not None and is_comparable(walls, scan.intensities[scan.valid]):
        strengths = scan.intensities[index]
    if scan.sigmas is not None:
        sigmas = scan.sigmas[index]
    starts, columns = begins[0, :blocks], begins[1, :things]
    return Beams(ends[:m], strengths, sigmas, np.arange(m), starts, columns)


def _planar(scan: AnyScan) -> Scan:
    assert isinstance(scan, Scan)  # `check` stands at every door
    return scan
