"""The descriptor grid of the paper: places p_k of free space, each with its F(p_k).

It is an h-covering when no free point is farther than h from a node.  The covering radius reported
here is an upper bound of the smallest such h.  On walls, free space lies within s/√2 of a finer
lattice of pitch s, so it is the largest distance from that lattice to the nodes, plus s/√2; on
cells it is the largest distance from the middle of a free cell, plus half the diagonal of a cell.
On a mesh it is that of free samples, plus half the diagonal of their lattice: an estimate, since a
crevice may lie between samples.

Maps of cells do not know everything.  With K_i the part of ∫ w_i that rays of known length have,

    F_i = (∫ w_i / K_i) Σ_s c_s known_s f(r_s) w_i(θ_s),                                    (1)

and a channel of which less than half is known is not seen.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import shapely
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from isovist.arrays import ArrayLike, BoolArray, FloatArray, IntArray, as_floats, readonly
from isovist.atlas.base import MAJORITY
from isovist.basis import Band
from isovist.errors import InputError
from isovist.maps.base import Ending, Map
from isovist.maps.grid2d.occupancy_map import Cell, OccupancyMap
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import CircleSum, EqualArea, Exact
from isovist.sensing.signals import Range, WallHits

MOST = 1e8
"""Nodes of a grid."""
DIRECTIONS = 4000
"""Of a sum in space, unless the descriptor says otherwise: F of a room to 1e-3."""
BLOCK = 2_000_000
"""Rays that are followed at once."""


@dataclass(frozen=True, slots=True, eq=False)
class DescriptorGrid:
    """Places p_k with their descriptors F(p_k).

    Attributes:
        nodes: Places, shape (K, d), in m.  Read-only.
        F: Descriptors, shape (K, n).  Read-only.
        spacing: Of the lattice, in m.
        covering_radius: Every free point has a node within this distance, in m.
        seen: Which channels of each node the map knows, shape (K, n).  Read-only.
    """

    nodes: FloatArray
    F: FloatArray
    spacing: float
    covering_radius: float
    seen: BoolArray

    @classmethod
    def over(
        cls,
        world: Map,
        descriptor: Descriptor,
        spacing: float,
        *,
        region: ArrayLike | None = None,
        view: Band | None = None,
    ) -> "DescriptorGrid":
        """Describe the free nodes of a square lattice.

        Args:
            world: The map.
            descriptor: Gives F.
            spacing: Of the lattice, in m; on cells of the plane in whole cells.
            region: Only places inside the box (x0, y0, x1, y1), in space with z, in m.
            view: In space, the band of directions that counts; all of them when `None`.
        """
        if not (np.isfinite(spacing) and spacing > 0.0):
            raise InputError.about("spacing", f"must be positive, got {spacing} m.")
        d = world.dimension
        if descriptor.basis.dimension != d:
            raise InputError(
                f"A basis of dimension {descriptor.basis.dimension} cannot describe a map of "
                f"dimension {d}.",
                code="wrong_dimension",
            )
        box = world.bounds if region is None else as_floats("region", region, (2 * d,))
        lo, hi = np.reshape(box, (2, d))
        if (np.maximum(hi - lo, spacing) / spacing).prod() > MOST:
            raise InputError(
                f"A spacing of {spacing:g} m gives more than 10⁸ nodes.", code="too_large"
            )
        points = _nodes(world, lo, hi, spacing)
        if len(points) == 0:
            raise InputError(
                f"No node of a lattice of {spacing:g} m lies in free space; use a smaller spacing.",
                code="empty",
            )
        F, seen = describe_places(world, descriptor, points, view)
        radius = _covering_radius(world, points, spacing, lo, hi)
        return cls(readonly(points), readonly(F), spacing, radius, readonly(seen))

    def nearest(
        self,
        F_obs: ArrayLike,
        count: int = 1,
        *,
        whiten: Callable[[FloatArray], FloatArray] | None = None,
    ) -> tuple[IntArray, FloatArray]:
        """Indices of the nodes with the nearest descriptors, and the distances.

        Args:
            F_obs: The observed descriptor, shape (n,).
            count: How many.
            whiten: Turns descriptors into coordinates whose Euclidean distance is the wanted
                metric, e.g. `Gram.whiten` for the Gram metric; plain ‖·‖₂ without it.
        """
        gap = self.F - as_floats("F_obs", F_obs, (self.F.shape[1],))
        distances = np.linalg.norm(gap if whiten is None else whiten(gap), axis=1)
        order = np.argsort(distances, kind="stable")[:count]
        return order, distances[order]


def describe_places(
    world: Map, descriptor: Descriptor, points: FloatArray, view: Band | None = None
) -> tuple[FloatArray, BoolArray]:
    """F at places, shape (P, d), and which channels the map knows, both of shape (P, n)."""
    n = len(descriptor.basis)
    if isinstance(world, SegmentMap | MeshMap):
        if isinstance(world, MeshMap) and descriptor.quadrature is None:
            descriptor = replace(descriptor, quadrature=EqualArea(DIRECTIONS))
        return descriptor.at(world, points, view=view)[0], np.ones((len(points), n), np.bool_)
    chosen = descriptor.quadrature or (
        CircleSum() if world.dimension == 2 else EqualArea(DIRECTIONS)
    )
    if isinstance(chosen, Exact):
        raise InputError("The exact quadrature needs a SegmentMap or a MeshMap.")
    rule = chosen.rule() if view is None else chosen.rule().within(view)
    W = rule.coefficients[:, None] * descriptor.basis.weights(rule.directions)
    if isinstance(world, OccupancyMap) and isinstance(descriptor.signal, Range):
        F, K = _swept(world, descriptor.signal, rule.directions, W, points)
    else:
        F, K = _cast(world, descriptor, rule.directions, W, points)
    share = K / np.maximum(W.sum(axis=0), 1e-300)
    seen = np.asarray(share >= MAJORITY)
    return np.where(seen, F / np.where(seen, share, 1.0), 0.0), seen


def known_rays(ranges: FloatArray, endings: NDArray[np.uint8], maximum: float) -> BoolArray:
    """Which rays have a length that the map knows: they end at a wall, or reach the maximum (m)."""
    return np.asarray((endings == Ending.WALL) | (ranges >= maximum))


def _swept(
    world: OccupancyMap, signal: Range, directions: FloatArray, W: FloatArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sums from the middles of cells, all at once."""
    from isovist.maps.sweep.sweep2d import Transform, describe_field

    angles = np.arctan2(directions[:, 1], directions[:, 0])
    F, K = describe_field(
        world, angles, W, *world.index(points),
        transform=cast(Transform, signal.transform), scale=signal.scale, maximum=signal.maximum,
    )  # fmt: skip
    return F.astype(np.float64), K.astype(np.float64)


def _cast(
    world: Map, descriptor: Descriptor, directions: FloatArray, W: FloatArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sums from any places, ray by ray."""
    F, K = np.empty((len(points), W.shape[1])), np.empty((len(points), W.shape[1]))
    per_block = max(1, BLOCK // len(directions))
    for first in range(0, len(points), per_block):
        some = slice(first, first + per_block)
        values, known = look(world, descriptor, points[some], directions)
        F[some], K[some] = values @ W, known @ W
    return F, K


def look(
    world: Map, descriptor: Descriptor, points: FloatArray, directions: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """The signal along directions, (S, d) or (P, S, d), from points, (P, d), 0 where not known.

    Also which rays the map knows the length of; both of shape (P, S).
    """
    signal = descriptor.signal
    hits = world.cast(points[:, None, :], directions)
    maximum = getattr(signal, "maximum", np.inf)
    known = known_rays(hits.ranges, hits.endings, maximum)
    along = np.broadcast_to(directions, (*known.shape, points.shape[1]))
    origins = np.broadcast_to(points[:, None], along.shape)[known]
    seen = WallHits(
        world, along[known], hits.ranges[known], hits.walls[known], hits.normals[known], origins
    )
    values = np.zeros(known.shape)
    values[known] = signal.values(seen)
    return values, known


def _nodes(world: Map, lo: FloatArray, hi: FloatArray, spacing: float) -> FloatArray:
    """Free places of the lattice in a box, shape (K, d)."""
    if isinstance(world, OccupancyMap):
        from isovist.maps.sweep.sweep2d import free_nodes

        stride = max(1, round(spacing / world.resolution))
        points = world.centres(*free_nodes(world, stride))
        return points[((points >= lo) & (points <= hi)).all(axis=1)]
    inset = np.where(hi > lo, spacing, 0.0)
    points = _lattice(lo, hi, spacing, inset)
    return points[np.asarray(world.contains(points))]


def _lattice(lo: FloatArray, hi: FloatArray, pitch: float, inset: float | FloatArray) -> FloatArray:
    start = lo + inset
    axes = [np.arange(a, b + 1e-9 * pitch, pitch) for a, b in zip(start, hi, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))


def _covering_radius(
    world: Map, nodes: FloatArray, spacing: float, lo: FloatArray, hi: FloatArray
) -> float:
    tree = cKDTree(nodes)
    if isinstance(world, OccupancyMap | VoxelMap):
        free = world.cells == Cell.FREE
        places = (
            world.centres(*np.nonzero(free))
            if isinstance(world, OccupancyMap)
            else world.centres(np.flatnonzero(free))
        )
        slack = 0.5 * world.resolution * np.sqrt(world.dimension)
        near = places[((places >= lo - slack) & (places <= hi + slack)).all(axis=1)]
        return float(np.max(tree.query(near)[0]) + slack)
    if isinstance(world, SegmentMap):
        box = shapely.box(*lo, *hi)
        free_area = box if world.free is None else world.free.intersection(box)
        pitch = spacing / 8.0
        slack = pitch / np.sqrt(2.0)
        samples = _lattice(lo - pitch, hi + pitch, pitch, inset=0.0)
        shapely.prepare(free_area)
        near = samples[shapely.dwithin(free_area, shapely.points(samples), slack)]
        return float(np.max(tree.query(near)[0]) + slack)
    pitch = spacing / 2.0
    samples = _lattice(lo, hi, pitch, inset=np.where(hi > lo, 0.25 * spacing, 0.0))
    near = samples[np.asarray(world.contains(samples))]
    thick = np.sqrt(float((hi > lo).sum()))
    return float(np.max(tree.query(near)[0]) + 0.5 * pitch * thick)
