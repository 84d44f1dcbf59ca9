"""Make the descriptor grid of the paper: places p_k of free space, each with its F(p_k).

It is an h-covering when no free point is farther than h from a node.  The covering radius reported
here is an upper bound of the smallest such h.  On walls, free space lies within s/√2 of a finer
lattice of pitch s, so h is the largest distance from that lattice to the nodes, plus s/√2.  On
cells it is the largest distance from the middle of a free cell to the nodes, plus half the diagonal
of a cell.  On a mesh it is that of free samples, plus half the diagonal of their lattice.  This is
an estimate, since a crevice may lie between samples.

Maps of cells do not know everything.  With K_i the part of ∫ w_i that rays of known length have,

    F_i = (∫ w_i / K_i) Σ_s c_s known_s f(r_s) w_i(θ_s),                                    (1)

and a channel is masked if less than half of it is known.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import shapely
from scipy.spatial import cKDTree

from isovist import Cell, InputError, MeshMap, OccupancyMap, Range, SegmentMap, VoxelMap
from isovist.arrays import ArrayLike, BoolArray, FloatArray, IntArray, as_floats, readonly
from isovist.atlas import MAJORITY
from isovist.basis import Band
from isovist.maps import Ending, Map
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import CircleSum, EqualArea, Exact, check_dimension
from isovist.paper.gram.partial_distances import PartialFeatures
from isovist.paper.settings import LocalizerSettings
from isovist.sensing import Signal, WallHits
from isovist.settings import default_of

MAX_NODES = 1e8
_BLOCK = 2_000_000  # rays that are followed at once


@dataclass(frozen=True, slots=True, eq=False)
class DescriptorGrid:
    """A grid of places p_k with their descriptors F(p_k).

    Attributes:
        nodes: Places, shape (K, d), in m.  Read-only.
        F: Descriptors, shape (K, n).  Read-only.
        spacing: Pitch of the lattice, in m.
        covering_radius: Largest distance from a free point to the nearest node, in m.
        mask: True for channels of a node that the map knows, shape (K, n).  Read-only.
    """

    nodes: FloatArray
    F: FloatArray
    spacing: float
    covering_radius: float
    mask: BoolArray

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
        """Describe the free nodes of a square grid on a map.

        Args:
            world: The map.
            descriptor: Computes F.
            spacing: Distance between nodes in m; on 2D cells, rounded to whole cells.
            region: Box (x0, y0, x1, y1) of the nodes in m, in 3D also with z; no limit when `None`.
            view: In 3D, the band of directions that count; all when `None`.
        """
        if not (np.isfinite(spacing) and spacing > 0.0):
            raise InputError.about("spacing", f"must be positive, got {spacing} m.")
        d = world.dimension
        check_dimension(descriptor.basis, world)
        box = world.bounds if region is None else as_floats("region", region, (2 * d,))
        lo, hi = np.reshape(box, (2, d))
        if (np.maximum(hi - lo, spacing) / spacing).prod() > MAX_NODES:
            raise InputError(
                f"A spacing of {spacing:g} m gives more than 10⁸ nodes.", code="too_large"
            )
        points = _nodes(world, lo, hi, spacing)
        if len(points) == 0:
            raise InputError(
                f"No node of a lattice of {spacing:g} m lies in free space; use a smaller spacing.",
                code="empty",
            )
        part = describe_places(world, descriptor, points, view)
        radius = _covering_radius(world, points, spacing, lo, hi)
        return cls(readonly(points), readonly(part.F), spacing, radius, readonly(part.mask))

    @property
    def features(self) -> PartialFeatures:
        """Return F of the nodes with the channels that the map knows."""
        return PartialFeatures(self.F, self.mask)

    def nearest(
        self,
        F_obs: ArrayLike,
        count: int = 1,
        *,
        whiten: Callable[[FloatArray], FloatArray] | None = None,
    ) -> tuple[IntArray, FloatArray]:
        """Return the indices of the nodes with the nearest descriptors, and the distances.

        Args:
            F_obs: The observed descriptor, shape (n,).
            count: Number of nodes.
            whiten: Function that turns descriptors into coordinates with a Euclidean metric, such
                as `Gram.whiten`; ‖·‖₂ of F if `None`.
        """
        gap = self.F - as_floats("F_obs", F_obs, (self.F.shape[1],))
        distances = np.linalg.norm(gap if whiten is None else whiten(gap), axis=1)
        order = np.argsort(distances, kind="stable")[:count]
        return order, distances[order]


def describe_places(
    world: Map, descriptor: Descriptor, points: FloatArray, view: Band | None = None
) -> PartialFeatures:
    """Describe places, shape (P, d), by F with the channels that the map knows."""
    n, rays = len(descriptor.basis), default_of(LocalizerSettings).rays_3d
    if isinstance(world, SegmentMap | MeshMap):
        if isinstance(world, MeshMap) and descriptor.quadrature is None:
            descriptor = replace(descriptor, quadrature=EqualArea(rays))
        F, _ = descriptor.at(world, points, view=view)
        return PartialFeatures(F, np.ones((len(points), n), np.bool_))
    quadrature = descriptor.quadrature or (CircleSum() if world.dimension == 2 else EqualArea(rays))
    if isinstance(quadrature, Exact):
        raise InputError("The exact quadrature needs a SegmentMap or a MeshMap.")
    rule = quadrature.rule() if view is None else quadrature.rule().within(view)
    W = rule.coefficients[:, None] * descriptor.basis.weights(rule.directions)
    if isinstance(world, OccupancyMap) and isinstance(descriptor.signal, Range):
        F, K = _swept(world, descriptor.signal, rule.directions, W, points)
    else:
        F, K = _cast(world, descriptor, rule.directions, W, points)
    share = K / np.maximum(W.sum(axis=0), 1e-300)
    mask = np.asarray(share >= MAJORITY)
    return PartialFeatures(np.where(mask, F / np.where(mask, share, 1.0), 0.0), mask)


def _swept(
    world: OccupancyMap, signal: Range, directions: FloatArray, W: FloatArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sum (1) and K from the centres of cells, all at once."""
    from isovist.maps import RangeSum, Transform, describe_field

    angles = np.arctan2(directions[:, 1], directions[:, 0])
    ranges = RangeSum(cast(Transform, signal.transform), signal.scale, signal.maximum)
    F, K = describe_field(world, angles, W, world.index(points), ranges)
    return F.astype(np.float64), K.astype(np.float64)


def _cast(
    world: Map, descriptor: Descriptor, directions: FloatArray, W: FloatArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sum (1) and K from any places, ray by ray."""
    F, K = np.empty((2, len(points), W.shape[1]))
    per_block = max(1, _BLOCK // len(directions))
    for first in range(0, len(points), per_block):
        block = slice(first, first + per_block)
        values, mask = cast_masked_signal(world, descriptor.signal, points[block], directions)
        F[block], K[block] = values @ W, mask @ W
    return F, K


def cast_masked_signal(
    world: Map, signal: Signal, points: FloatArray, directions: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Return the signal along rays, 0 where the map does not know it, and where it does.

    A map knows the length of rays that end at a wall or reach the maximum of the signal.

    Args:
        world: The map.
        signal: The function on the directions.
        points: Where the rays begin, shape (P, d), in m.
        directions: Where they go, shape (S, d) or (P, S, d).

    Returns:
        Values and mask, both of shape (P, S).
    """
    hits = world.cast(points[:, None, :], directions)
    maximum = getattr(signal, "maximum", np.inf)
    mask = np.asarray((hits.endings == Ending.WALL) | (hits.ranges >= maximum))
    along = np.broadcast_to(directions, (*mask.shape, points.shape[1]))
    origins = np.broadcast_to(points[:, None], along.shape)[mask]
    rays = WallHits(
        world, along[mask], hits.ranges[mask], hits.walls[mask], hits.normals[mask], origins
    )
    values = np.zeros(mask.shape)
    values[mask] = signal.values(rays)
    return values, mask


def _nodes(world: Map, lo: FloatArray, hi: FloatArray, spacing: float) -> FloatArray:
    """Return the free places of the lattice in a box, shape (K, d)."""
    if isinstance(world, OccupancyMap):
        from isovist.maps import free_nodes

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
