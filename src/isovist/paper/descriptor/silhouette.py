"""What moving silhouettes add to the Jacobian on a mesh.

F_i(p) = ∫ f_p w_i dσ, and f_p jumps across the curves on which edges of the mesh stand against
what is behind them.  Let an edge be seen on the great circle with unit normal m, and let f⁺ be
the signal on the side to which m points and f⁻ on the other.  When p moves by δ, the image of an
edge point at distance ρ moves by −m·δ/ρ across the circle, the side of f⁻ gains what the side of
f⁺ loses, and so

    ∂F_i/∂p = ∫ ∇f_p w_i dσ + Σ_edges ∫ (f⁺ − f⁻) w_i m/ρ dℓ.                             (1)

An edge can carry a jump of range only where all its faces lie on one side of the plane through p
and the edge; of another signal also where its faces differ in it.  With h the distance from p to
the line of the edge and s the place along it, the nodes are Gauss–Legendre in u = arsinh(s/h):

    ρ = h cosh u,   dℓ = du / cosh u,   hence   dℓ/ρ = du / (h cosh² u).                   (2)

Whether the edge is seen at a node and what is beside it comes from two rays, a hair to either
side: the first on the side of a face at the edge, which is what it meets if the edge is seen there.
Panels are halved until both halves together agree with the whole about ∫ (f⁺ − f⁻) dℓ/ρ, so they
gather where the edge goes behind something or the background changes.  Faces that pass through
each other without an edge there are not seen by (1); a jump at a longest range is that of `rims`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from isovist.arrays import BoolArray, FloatArray, IntArray
from isovist.basis import Band, DirectionalBasis
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.paper.descriptor.quadrature import sum_all
from isovist.sensing.signals import Signal, WallHits

_HAIR = 1e-7  # rad, to either side of an edge
_LONGEST = 0.15  # rad, a first panel
_HALVINGS = 14
_NODES, _COEFFICIENTS = np.polynomial.legendre.leggauss(2)


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """Nodes on panels of curves: their directions (k, 3), jump times dℓ and speed, and the sums."""

    directions: FloatArray
    rates: FloatArray

    @property
    def total(self) -> FloatArray:
        """Of the nodes of each panel."""
        return np.asarray(self.rates.reshape(-1, len(_NODES)).sum(axis=1))


class Curves(Protocol):
    """Curves on the sphere of directions on which a signal jumps.

    Attributes:
        normals: Along which a move of p moves each curve, shape (curves, 3).
    """

    normals: FloatArray

    def first_panels(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """The curve of each panel, and where on it the panel starts and stops."""

    def integrate(
        self,
        curve: IntArray,
        start: FloatArray,
        stop: FloatArray,
        signal: Signal,
        seen: Band | None,
    ) -> Panels:
        """The jumps at the nodes of panels."""


def candidate_edges(
    world: MeshMap, point: FloatArray, signal: Signal
) -> tuple[IntArray, FloatArray]:
    """Edges across which the signal may jump as seen from a point, shape (3,).

    Beside them, 1 where a face lies on the side of a × b, with a and b from the point to the ends
    of the edge, and −1 where all lie on the other.
    """
    edges = world.edges
    a, b = (world.vertices[edges.ends[:, k]] - point for k in (0, 1))
    planes = np.repeat(np.cross(a, b), edges.counts, axis=0)
    side = np.einsum("ij,ij->i", planes, world.vertices[edges.opposite] - point)
    starts = edges.offsets[:-1]
    least, most = np.minimum.reduceat(side, starts), np.maximum.reduceat(side, starts)
    jumps = (least >= 0.0) | (most <= 0.0)
    values = signal.of_walls(world)
    if values is not None:
        here = values[edges.faces]
        jumps |= np.minimum.reduceat(here, starts) != np.maximum.reduceat(here, starts)
    which = np.flatnonzero(jumps)
    return which, np.where(most[which] > 0.0, 1.0, -1.0)


def silhouette_term(
    world: MeshMap,
    point: FloatArray,
    basis: DirectionalBasis,
    signal: Signal,
    *,
    tolerance: float = 3e-6,
    seen: Band | None = None,
    halvings: int = _HALVINGS,
) -> FloatArray:
    """The sum over edges of equation (1) at a point, shape (n, 3).

    Args:
        world: The mesh.
        point: Where, shape (3,), in m.
        basis: The weights.
        signal: What is put on the directions.
        tolerance: Error allowed in a panel, as a share of the sum of all panels' sizes.
        seen: The directions that count, all by default.
        halvings: Of a panel, at most.
    """
    edges = _Edges(world, point, *candidate_edges(world, point, signal))
    return sum_curves(edges, basis, signal, tolerance=tolerance, seen=seen, halvings=halvings)


def sum_curves(
    curves: Curves,
    basis: DirectionalBasis,
    signal: Signal,
    *,
    tolerance: float,
    seen: Band | None,
    halvings: int = _HALVINGS,
) -> FloatArray:
    """What moving curves add to J, shape (n, 3); arguments as in `silhouette_term`."""
    curve, start, stop = curves.first_panels()
    values = curves.integrate(curve, start, stop, signal, seen).total
    allowed = tolerance * np.abs(values).sum()
    directions, terms = [], []
    for depth in range(halvings):
        middle = 0.5 * (start + stop)
        curve = np.repeat(curve, 2)
        start, stop = _interleave(start, middle), _interleave(middle, stop)
        halves = curves.integrate(curve, start, stop, signal, seen)
        rough = np.abs(halves.total.reshape(-1, 2).sum(axis=1) - values) > allowed
        if depth == halvings - 1:
            rough[:] = False
        again = np.repeat(rough, 2)
        # Most nodes are hidden or carry no jump.
        done = np.repeat(~again, len(_NODES)) & (halves.rates != 0.0)
        directions.append(halves.directions[done])
        normals = curves.normals[np.repeat(curve, len(_NODES))[done]]
        terms.append(halves.rates[done, None] * normals)
        curve, start, stop, values = curve[again], start[again], stop[again], halves.total[again]
        if curve.size == 0:
            break
    return sum_all(basis, np.concatenate(directions), np.concatenate(terms))


def split_evenly(
    low: FloatArray, high: FloatArray, width: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Each stretch from low to high in equal panels, as many as `width` (rad) asks for."""
    count = np.maximum(1, np.ceil(width / _LONGEST)).astype(np.int64)
    curve = np.repeat(np.arange(len(count)), count)
    k = np.arange(len(curve)) - np.repeat(np.cumsum(count) - count, count)
    step = ((high - low) / count)[curve]
    start = low[curve] + k * step
    return curve, start, start + step


def place_nodes(
    curve: IntArray, start: FloatArray, stop: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """The curve, the place and the coefficient of each Gauss–Legendre node of panels."""
    half = 0.5 * (stop - start)
    u = (0.5 * (start + stop))[:, None] + half[:, None] * _NODES
    return np.repeat(curve, len(_NODES)), u.ravel(), (half[:, None] * _COEFFICIENTS).ravel()


def _interleave(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.stack([a, b], axis=1).ravel()


class _Edges:
    """Some edges of a mesh as seen from a point, in the variables of equation (2)."""

    def __init__(
        self, world: MeshMap, point: FloatArray, which: IntArray, sides: FloatArray
    ) -> None:
        ends = world.edges.ends[which]
        a, b = (world.vertices[ends[:, k]] - point for k in (0, 1))
        length = np.linalg.norm(b - a, axis=1)
        normal = np.cross(a, b)
        size = np.linalg.norm(normal, axis=1)
        # An edge that points at p is seen as a point and sweeps over nothing.
        keep = size > 1e-12 * (np.linalg.norm(a, axis=1) + length) * length
        a, b, ends, length, normal, size = (x[keep] for x in (a, b, ends, length, normal, size))
        self.world, self.point, self.ends, self.sides = world, point, ends, sides[keep]
        self.along = (b - a) / length[:, None]
        self.normals = normal / size[:, None]
        self.height = size / length
        s = np.einsum("ij,ij->i", a, self.along)
        self.foot = a - s[:, None] * self.along
        self.low = np.arcsinh(s / self.height)
        self.high = np.arcsinh((s + length) / self.height)

    def first_panels(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Every edge in panels of equal u, none wider than `_LONGEST` as seen from p."""
        angle = np.arctan(np.sinh(self.high)) - np.arctan(np.sinh(self.low))
        width = np.maximum(angle, 0.5 * (self.high - self.low))
        return split_evenly(self.low, self.high, width)

    def integrate(
        self,
        curve: IntArray,
        start: FloatArray,
        stop: FloatArray,
        signal: Signal,
        seen: Band | None,
    ) -> Panels:
        """(f⁺ − f⁻) dℓ/ρ at the nodes of panels."""
        e, u, c = place_nodes(curve, start, stop)
        reach = self.foot[e] + (self.height[e] * np.sinh(u))[:, None] * self.along[e]
        theta = reach / np.linalg.norm(reach, axis=1)[:, None]
        aside = (_HAIR * self.sides[e])[:, None] * self.normals[e]
        near, visible = self._beside(theta + aside, e)
        if seen is not None:
            visible &= seen.mask(theta)
        k = np.flatnonzero(visible)
        far, _ = self._beside((theta - aside)[k], e[k])
        jump = self.sides[e[k]] * (signal.values(near)[k] - signal.values(far))
        rates = np.zeros(len(e))
        rates[k] = c[k] * jump / (self.height[e[k]] * np.cosh(u[k]) ** 2)
        return Panels(theta, rates)

    def _beside(self, theta: FloatArray, edge: IntArray) -> tuple[WallHits, BoolArray]:
        """What is met along θ, and whether it is a face at the edge."""
        hits = self.world.cast(self.point, theta)
        corners = self.world.faces[hits.walls]
        a, b = (self.ends[edge, k, None] for k in (0, 1))
        at_edge = (corners == a).any(axis=1) & (corners == b).any(axis=1) & (hits.walls >= 0)
        seen = WallHits(self.world, theta, hits.ranges, hits.walls, hits.normals, self.point)
        return seen, at_edge
