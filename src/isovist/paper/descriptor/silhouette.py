"""Compute what moving silhouettes add to the Jacobian on a mesh.

F_i(p) = ∫ f_p w_i dσ, and f_p jumps across the curves on which edges of the mesh occlude other
faces.  Let the image of an edge lie on the great circle with unit normal m.  Let f⁺ be the signal
on the side to which m points, and f⁻ the signal on the other side.  When p moves by δ, the image of
an edge point at distance ρ moves by −m·δ/ρ across the circle.  The side of f⁻ gains the angle that
the side of f⁺ loses, and so

    ∂F_i/∂p = ∫ ∇f_p w_i dσ + Σ_edges ∫ (f⁺ − f⁻) w_i m/ρ dℓ.                             (1)

An edge can have a jump of the range only if all its faces lie on one side of the plane through p
and the edge.  Another signal can also jump at an edge whose faces differ in it.  With h the
distance from p to the line of the edge and s the place along it, the nodes are Gauss–Legendre in u
= arsinh(s/h):

    ρ = h cosh u,   dℓ = du / cosh u,   hence   dℓ/ρ = du / (h cosh² u).                   (2)

Two rays, a hair to either side, show whether the edge is visible at a node and what is beside it.
The first is on the side of a face at the edge, and meets that face if the edge is visible there.
Panels are halved until both halves together agree with the whole about ∫ (f⁺ − f⁻) dℓ/ρ, so they
gather where the edge goes behind something or the background changes.  Faces that pass through each
other without an edge there are not seen by (1); a jump at a longest range is that of `rims`.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from isovist import DirectionalBasis, MeshMap
from isovist.arrays import BoolArray, FloatArray, IntArray
from isovist.basis import Band
from isovist.maps import Hits
from isovist.paper.descriptor.quadrature import sum_all
from isovist.paper.settings import SilhouetteSettings
from isovist.sensing import Signal, WallHits
from isovist.settings import default_of

_HAIR = 1e-7  # rad, to either side of an edge
_NODES, _COEFFICIENTS = np.polynomial.legendre.leggauss(2)


@dataclass(frozen=True, slots=True, eq=False)
class MeshView:
    """The view of a mesh from a point.

    Attributes:
        world: The mesh.
        point: Point of view, shape (3,), in m.
        band: The directions that count; all when `None`.
    """

    world: MeshMap
    point: FloatArray
    band: Band | None = None

    def in_band(self, theta: FloatArray) -> BoolArray:
        """Return a mask of the directions, shape (m, 3), that count."""
        return np.ones(len(theta), np.bool_) if self.band is None else self.band.mask(theta)

    def look(self, theta: FloatArray) -> tuple[Hits, WallHits]:
        """Cast rays from the point along directions, shape (m, 3)."""
        hits = self.world.cast(self.point, theta)
        return hits, WallHits(self.world, theta, hits.ranges, hits.walls, hits.normals, self.point)


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """Nodes on panels of curves.

    Attributes:
        directions: Directions of the nodes, shape (k, 3).
        rates: Jump of the signal times dℓ and speed at each node, shape (k,).
    """

    directions: FloatArray
    rates: FloatArray

    @property
    def total(self) -> FloatArray:
        """Return the sum over the nodes of each panel."""
        return np.asarray(self.rates.reshape(-1, len(_NODES)).sum(axis=1))


class Curves(Protocol):
    """Curves on the sphere of directions on which a signal jumps.

    Attributes:
        normals: Directions along which a move of p moves each curve, shape (curves, 3).
    """

    normals: FloatArray

    def first_panels(self, longest: float) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return the curve of each panel, no longer than this (rad), with its start and stop."""

    def integrate(
        self, curve: IntArray, start: FloatArray, stop: FloatArray, signal: Signal
    ) -> Panels:
        """Return the jumps at the nodes of panels."""


def silhouette_term(
    view: MeshView,
    basis: DirectionalBasis,
    signal: Signal,
    settings: SilhouetteSettings | None = None,
) -> FloatArray:
    """Return the sum over edges of equation (1) at a point, shape (n, 3).

    Args:
        view: The mesh and the point of view.
        basis: The weights.
        signal: The signal on the directions.
        settings: Settings of the division of edges.
    """
    return sum_curves(_Edges(view, *_candidate_edges(view, signal)), basis, signal, settings)


def sum_curves(
    curves: Curves,
    basis: DirectionalBasis,
    signal: Signal,
    settings: SilhouetteSettings | None = None,
) -> FloatArray:
    """Return the contribution of moving curves to J, shape (n, 3).

    `silhouette_term` describes the other arguments.
    """
    settings = settings or default_of(SilhouetteSettings)
    curve, start, stop = curves.first_panels(settings.first_panel_rad)
    values = curves.integrate(curve, start, stop, signal).total
    max_error = settings.tolerance * np.abs(values).sum()
    directions, terms = [], []
    for depth in range(settings.max_halvings):
        middle = 0.5 * (start + stop)
        curve = np.repeat(curve, 2)
        start, stop = _interleave(start, middle), _interleave(middle, stop)
        halves = curves.integrate(curve, start, stop, signal)
        rough = np.abs(halves.total.reshape(-1, 2).sum(axis=1) - values) > max_error
        if depth == settings.max_halvings - 1:
            rough[:] = False
        halve = np.repeat(rough, 2)
        # Most nodes are hidden or carry no jump.
        finished = np.repeat(~halve, len(_NODES)) & (halves.rates != 0.0)
        directions.append(halves.directions[finished])
        normals = curves.normals[np.repeat(curve, len(_NODES))[finished]]
        terms.append(halves.rates[finished, None] * normals)
        curve, start, stop, values = curve[halve], start[halve], stop[halve], halves.total[halve]
        if curve.size == 0:
            break
    return sum_all(basis, np.concatenate(directions), np.concatenate(terms))


def split_evenly(
    low: FloatArray, high: FloatArray, width: FloatArray, longest: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Cut stretches from low to high, `width` (rad) wide, into equal panels, none longer than this.

    Returns the stretch of each panel, and where it starts and stops.
    """
    count = np.maximum(1, np.ceil(width / longest)).astype(np.int64)
    curve = np.repeat(np.arange(len(count)), count)
    k = np.arange(len(curve)) - np.repeat(np.cumsum(count) - count, count)
    step = ((high - low) / count)[curve]
    start = low[curve] + k * step
    return curve, start, start + step


def place_nodes(
    curve: IntArray, start: FloatArray, stop: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the curve, the place and the coefficient of each Gauss–Legendre node of panels."""
    half = 0.5 * (stop - start)
    u = (0.5 * (start + stop))[:, None] + half[:, None] * _NODES
    return np.repeat(curve, len(_NODES)), u.ravel(), (half[:, None] * _COEFFICIENTS).ravel()


def _interleave(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.stack([a, b], axis=1).ravel()


def _candidate_edges(view: MeshView, signal: Signal) -> tuple[IntArray, FloatArray]:
    """Return the edges across which the signal may jump, and the side of their faces.

    The side is 1 where a face lies on the side of a × b, with a and b from the point to the ends
    of the edge, and −1 where all lie on the other.
    """
    edges, vertices = view.world.edges, view.world.vertices
    a, b = (vertices[edges.ends[:, k]] - view.point for k in (0, 1))
    planes = np.repeat(np.cross(a, b), edges.counts, axis=0)
    side = np.einsum("ij,ij->i", planes, vertices[edges.opposite] - view.point)
    starts = edges.offsets[:-1]
    lowest, highest = np.minimum.reduceat(side, starts), np.maximum.reduceat(side, starts)
    jumps = (lowest >= 0.0) | (highest <= 0.0)
    values = signal.of_walls(view.world)
    if values is not None:
        beside = values[edges.faces]
        jumps |= np.minimum.reduceat(beside, starts) != np.maximum.reduceat(beside, starts)
    numbers = np.flatnonzero(jumps)
    return numbers, np.where(highest[numbers] > 0.0, 1.0, -1.0)


class _Edges:
    """Edges of a mesh as seen from a point, in the variables of equation (2)."""

    def __init__(self, view: MeshView, numbers: IntArray, sides: FloatArray) -> None:
        vertices, ends = view.world.vertices, view.world.edges.ends[numbers]
        a, b = (vertices[ends[:, k]] - view.point for k in (0, 1))
        length = np.linalg.norm(b - a, axis=1)
        normal = np.cross(a, b)
        size = np.linalg.norm(normal, axis=1)
        # An edge that points at p is seen as a point and sweeps over nothing.
        keep = size > 1e-12 * (np.linalg.norm(a, axis=1) + length) * length
        a, b, ends, length, normal, size = (x[keep] for x in (a, b, ends, length, normal, size))
        self.view, self.ends, self.sides = view, ends, sides[keep]
        self.along = (b - a) / length[:, None]
        self.normals = normal / size[:, None]
        self.height = size / length
        s = np.einsum("ij,ij->i", a, self.along)
        self.foot = a - s[:, None] * self.along
        self.low = np.arcsinh(s / self.height)
        self.high = np.arcsinh((s + length) / self.height)

    def first_panels(self, longest: float) -> tuple[IntArray, FloatArray, FloatArray]:
        """Cut every edge into panels of equal u, none longer than this (rad) as seen from p."""
        angle = np.arctan(np.sinh(self.high)) - np.arctan(np.sinh(self.low))
        width = np.maximum(angle, 0.5 * (self.high - self.low))
        return split_evenly(self.low, self.high, width, longest)

    def integrate(
        self, curve: IntArray, start: FloatArray, stop: FloatArray, signal: Signal
    ) -> Panels:
        """Return (f⁺ − f⁻) dℓ/ρ at the nodes of panels."""
        e, u, c = place_nodes(curve, start, stop)
        reach = self.foot[e] + (self.height[e] * np.sinh(u))[:, None] * self.along[e]
        theta = reach / np.linalg.norm(reach, axis=1)[:, None]
        shift = (_HAIR * self.sides[e])[:, None] * self.normals[e]
        near, visible = self._look_beside(theta + shift, e)
        visible &= self.view.in_band(theta)
        k = np.flatnonzero(visible)
        far, _ = self._look_beside((theta - shift)[k], e[k])
        jump = self.sides[e[k]] * (signal.values(near)[k] - signal.values(far))
        rates = np.zeros(len(e))
        rates[k] = c[k] * jump / (self.height[e[k]] * np.cosh(u[k]) ** 2)
        return Panels(theta, rates)

    def _look_beside(self, theta: FloatArray, edge: IntArray) -> tuple[WallHits, BoolArray]:
        """Return the hits of rays along θ, and whether each is on a face at the edge."""
        hits, rays = self.view.look(theta)
        corners = self.view.world.faces[hits.walls]
        a, b = (self.ends[edge, k, None] for k in (0, 1))
        at_edge = (corners == a).any(axis=1) & (corners == b).any(axis=1) & (hits.walls >= 0)
        return rays, at_edge
