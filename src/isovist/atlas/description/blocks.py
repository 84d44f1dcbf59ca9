"""Describe groups of nodes: equation (1) of `atlas.base`, in 2D and in 3D."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import Float32Array, FloatArray, IntArray
from isovist.atlas.description.tiles import around, inside, squares
from isovist.atlas.matching.channels import RAYS
from isovist.atlas.matching.unknown import FAR, MAJORITY
from isovist.atlas.matching.windows import described_rings, search_basis, search_rings
from isovist.atlas.settings import AtlasSettings
from isovist.basis import DirectionalBasis
from isovist.maps import (
    Ending,
    MapPart,
    OccupancyMap,
    RangeSum,
    VoxelMap,
    VoxelSweep,
    describe_field,
    direction_blocks_2d,
    direction_blocks_3d,
)
from isovist.poses import unit_vectors

PARTS = 8
"""Parts in which the directions are swept, with progress after each."""
CHUNK = 4096
"""Nodes whose means are taken together, in place."""


@dataclass(frozen=True, slots=True, eq=False)
class PlaneBlock:
    """A group of nodes of a 2D map that are described together (`atlas.description.tiles`).

    Attributes:
        slots: Places of the nodes among all nodes, shape (N,).
        clear: The map, or as much of it as their rays reach, with gaps closed.
        rows: Row of each node in it, shape (N,).
        columns: Column of each node in it, shape (N,).
        part: Where this piece lies in the map; `None` for all of it.
        settings: Settings of the atlas.
        basis: Directions of the channels; `None` for the usual ones.
    """

    slots: IntArray
    clear: OccupancyMap
    rows: IntArray
    columns: IntArray
    part: MapPart | None
    settings: AtlasSettings
    basis: DirectionalBasis | None

    def describe(self, progress: Callable[[float], None]) -> Float32Array:
        """Compute the descriptor F of each node, `FAR` where unknown, shape (N, n)."""
        turns, W = rays_of(self.settings, self.basis)
        ranges = RangeSum("logarithmic", maximum=self.settings.reach)
        F = np.zeros((len(self.rows), self.settings.channels), dtype=np.float32)
        K = np.zeros_like(F)
        for part in range(PARTS):
            sector = slice(part, None, PARTS)
            f, k = describe_field(
                self.clear, turns[sector] + self.clear.origin.yaw, W[sector],
                (self.rows, self.columns), ranges, self.part,
            )  # fmt: skip
            F += f
            K += k
            progress((part + 1) / PARTS)
        del f, k
        unknown = K / W.sum(axis=0, dtype=np.float32) < MAJORITY
        with np.errstate(divide="ignore", invalid="ignore"):
            F /= K
        F[unknown] = FAR
        return F

    def split(self, side: int) -> Iterator["PlaneBlock"]:
        """Yield blocks of the nodes in squares of `side` cells."""
        cells, shape = self.clear.cells, self.clear.shape
        blocks, reach = (
            direction_blocks_2d(self.clear, self.rows, self.columns),
            self.settings.reach,
        )
        for box in squares(shape, side):
            slots = inside(box, self.rows, self.columns)
            if slots.size:
                row, column = window = around(box, shape, reach / self.clear.resolution)
                yield replace(
                    self, slots=slots, part=MapPart((row.start, column.start), shape, blocks),
                    clear=OccupancyMap(
                        cells[window].copy(), self.clear.resolution, self.clear.origin
                    ),
                    rows=self.rows[slots] - row.start, columns=self.columns[slots] - column.start,
                )  # fmt: skip


def rays_of(
    settings: AtlasSettings, basis: DirectionalBasis | None
) -> tuple[FloatArray, FloatArray]:
    """Return the angles of the rays in the grid in rad, shape (S,), and their weights W.

    W is that of `maps.sweep.sweep2d` (1).
    """
    count = RAYS * settings.channels
    turns = 2.0 * np.pi * np.arange(count) / count
    basis = search_basis(settings.channels) if basis is None else basis
    return turns, basis.weights(unit_vectors(turns))


@dataclass(frozen=True, slots=True, eq=False)
class SpaceBlock:
    """A group of nodes of a 3D map that are described together (`atlas.description.tiles`).

    Attributes:
        slots: Places of the nodes among all nodes, shape (N,).
        clear: The map, or as much of it as their rays reach, with gaps closed.
        walls: That piece of the map with nothing but walls: unknown cells are free.
        nodes: Flat index of each node in it, shape (N,).
        part: Where this piece lies in the map; `None` for all of it.
        settings: Settings of the atlas.
        basis: Directions of the channels, each a ring of one; `None` for the usual rings.
    """

    slots: IntArray
    clear: VoxelMap
    walls: VoxelMap
    nodes: IntArray
    part: MapPart | None
    settings: AtlasSettings
    basis: DirectionalBasis | None = None

    def describe(self, progress: Callable[[float], None]) -> Float32Array:
        """Compute the descriptor F of each node, `FAR` where unknown, shape (N, rings, n)."""
        has_unknown = self.clear.grid.has_unknown
        part = 0.5 if has_unknown else 1.0
        sweep = VoxelSweep.over(self.clear, self.nodes, self.part)
        F, share = _describe(sweep, self.settings, self.basis, lambda k: progress(part * k))
        if has_unknown:
            del sweep
            sweep = VoxelSweep.over(self.walls, self.nodes, self.part)
            rest: Callable[[float], None] = lambda k: progress(0.5 + 0.5 * k)  # noqa: E731
            see_through = _describe(sweep, self.settings, self.basis, rest)
            F, share = (
                np.where(share >= MAJORITY, a, b)
                for a, b in zip((F, share), see_through, strict=True)
            )
        F[share < MAJORITY] = FAR
        return F

    def split(self, side: int) -> Iterator["SpaceBlock"]:
        """Yield blocks of the nodes in squares of `side` cells."""
        shape = self.clear.shape
        levels, rows, columns = np.unravel_index(self.nodes, shape)
        blocks, reach = direction_blocks_3d(self.nodes), self.settings.reach / self.clear.resolution
        for box in squares(shape[1:], side):
            slots = inside(box, rows, columns)
            if slots.size:
                row, column = around(box, shape[1:], reach)
                clear, walls = (
                    VoxelMap(world.grid.crop(row, column), world.resolution, world.corner)
                    for world in (self.clear, self.walls)
                )
                at = levels[slots], rows[slots] - row.start, columns[slots] - column.start
                yield replace(
                    self, slots=slots, clear=clear, walls=walls,
                    nodes=np.ravel_multi_index(at, clear.shape),
                    part=MapPart((0, row.start, column.start), shape, blocks),
                )  # fmt: skip


def _describe(
    sweep: VoxelSweep,
    settings: AtlasSettings,
    own: DirectionalBasis | None,
    progress: Callable[[float], None],
) -> tuple[Float32Array, Float32Array]:
    """Return F of each node and the known share of each channel, shape (N, rings, n) each."""
    n, around = settings.rings, settings.channels
    basis, described = search_rings(n, around), described_rings(settings)
    rings = range(*described.indices(n))
    side = round(np.sqrt(RAYS))
    azimuth = 2.0 * np.pi * np.arange(around * side) / (around * side)
    shape = (len(rings), around) if own is None else (len(own), 1)
    F = np.zeros((len(sweep.nodes), *shape), dtype=np.float32)
    K, total = np.zeros_like(F), np.zeros(shape)
    for k, ring in enumerate(rings):
        z = 2.0 * (ring + (np.arange(side) + 0.5) / side) / n - 1.0
        flat = np.sqrt(1.0 - z * z)[:, None]
        rays = np.stack(
            np.broadcast_arrays(flat * np.cos(azimuth), flat * np.sin(azimuth), z[:, None]), -1
        ).reshape(-1, 3)
        if own is None:  # a ray matters to its own ring and the two beside it
            near = slice(max(k - 1, 0), min(k + 2, len(rings)))
            W = basis.weights(rays).reshape(-1, n, around)[:, described][:, near]
        else:
            near, W = slice(None), own.weights(rays)[..., None]
        ranges = RangeSum("logarithmic", maximum=settings.reach, endings=(Ending.WALL,))
        f, mass = sweep.describe(rays, W.reshape(len(rays), -1), ranges)
        F[:, near] += f.reshape(len(F), -1, shape[1])
        K[:, near] += mass.reshape(len(F), -1, shape[1])
        total[near] += W.sum(axis=0)
        progress((k + 1) / len(rings))
    total = np.maximum(total, 1e-12)
    for first in range(0, len(F), CHUNK):
        f, mass = F[first : first + CHUNK], K[first : first + CHUNK]
        f /= np.maximum(mass, np.float32(1e-12))
        np.divide(mass, total, out=mass, casting="same_kind")
    return F, K
