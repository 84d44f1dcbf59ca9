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
side.  Panels are halved until both halves together agree with the whole, so they gather where
the edge goes behind something or the background changes.  Faces that pass through each other
without an edge there, and a jump at a longest range, are not seen by (1).
"""

import numpy as np

from isovist.maps.mesh import MeshMap
from isovist.roses import Band, Rose
from isovist.sensing.signals import Seen, Signal
from isovist.types import BoolArray, FloatArray, IntArray

_HAIR = 1e-7  # rad, to either side of an edge
_LONGEST = 0.3  # rad, a first panel
_HALVINGS = 14
_NODES, _COEFFICIENTS = np.polynomial.legendre.leggauss(4)


def candidate_edges(world: MeshMap, point: FloatArray, signal: Signal) -> IntArray:
    """Edges across which the signal may jump as seen from a point, shape (3,)."""
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
    return np.flatnonzero(jumps)


def silhouette_term(
    world: MeshMap,
    point: FloatArray,
    rose: Rose,
    signal: Signal,
    *,
    tolerance: float = 1e-5,
    seen: Band | None = None,
) -> FloatArray:
    """The sum over edges of equation (1) at a point, shape (n, 3).

    Args:
        world: The mesh.
        point: Where, shape (3,), in m.
        rose: The weights.
        signal: What is put on the directions.
        tolerance: Error allowed in a panel, as a share of the sum of all panels.
        seen: The directions that count, all by default.
    """
    edges = _Edges(world, point, candidate_edges(world, point, signal))
    edge, start, stop = edges.first_panels()
    values = edges.integrate(edge, start, stop, rose, signal, seen)
    total = np.zeros((len(rose), 3))
    allowed = tolerance * np.abs(values).sum(axis=0).max(initial=0.0)
    for depth in range(_HALVINGS):
        middle = 0.5 * (start + stop)
        edge = np.repeat(edge, 2)
        start, stop = _interleave(start, middle), _interleave(middle, stop)
        halves = edges.integrate(edge, start, stop, rose, signal, seen)
        whole = halves.reshape(-1, 2, len(rose)).sum(axis=1)
        rough = np.abs(whole - values).max(axis=1, initial=0.0) > allowed
        if depth == _HALVINGS - 1:
            rough[:] = False
        total += np.einsum("kn,kd->nd", whole[~rough], edges.normals[edge[::2][~rough]])
        again = np.repeat(rough, 2)
        edge, start, stop, values = edge[again], start[again], stop[again], halves[again]
        if edge.size == 0:
            break
    return total


def _interleave(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.stack([a, b], axis=1).ravel()


class _Edges:
    """Some edges of a mesh as seen from a point, in the variables of equation (2)."""

    def __init__(self, world: MeshMap, point: FloatArray, which: IntArray) -> None:
        ends = world.edges.ends[which]
        a, b = (world.vertices[ends[:, k]] - point for k in (0, 1))
        length = np.linalg.norm(b - a, axis=1)
        normal = np.cross(a, b)
        size = np.linalg.norm(normal, axis=1)
        # An edge that points at p is seen as a point and sweeps over nothing.
        keep = size > 1e-12 * (np.linalg.norm(a, axis=1) + length) * length
        a, b, ends, length, normal, size = (x[keep] for x in (a, b, ends, length, normal, size))
        self.world, self.point, self.ends = world, point, ends
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
        count = np.maximum(1, np.ceil(width / _LONGEST)).astype(np.int64)
        edge = np.repeat(np.arange(len(count)), count)
        k = np.arange(len(edge)) - np.repeat(np.cumsum(count) - count, count)
        step = ((self.high - self.low) / count)[edge]
        start = self.low[edge] + k * step
        return edge, start, start + step

    def integrate(
        self,
        edge: IntArray,
        start: FloatArray,
        stop: FloatArray,
        rose: Rose,
        signal: Signal,
        seen: Band | None,
    ) -> FloatArray:
        """∫ (f⁺ − f⁻) w_i dℓ/ρ over panels, shape (panels, n)."""
        half = 0.5 * (stop - start)
        u = (0.5 * (start + stop))[:, None] + half[:, None] * _NODES
        e = np.repeat(edge, len(_NODES))
        u, c = u.ravel(), (half[:, None] * _COEFFICIENTS).ravel()
        reach = self.foot[e] + (self.height[e] * np.sinh(u))[:, None] * self.along[e]
        theta = reach / np.linalg.norm(reach, axis=1)[:, None]
        after, on_after = self._beside(theta + _HAIR * self.normals[e], e)
        before, on_before = self._beside(theta - _HAIR * self.normals[e], e)
        visible = on_after | on_before
        jump = np.zeros(len(e))
        jump[visible] = (signal.values(after) - signal.values(before))[visible]
        if seen is not None:
            jump *= seen.mask(theta)
        rate = c * jump / (self.height[e] * np.cosh(u) ** 2)
        # Most nodes are hidden or carry no jump; the weights are needed at the others only.
        terms = np.zeros((len(e), len(rose)))
        some = rate != 0.0
        terms[some] = rate[some, None] * rose.weights(theta[some])
        return terms.reshape(len(edge), len(_NODES), len(rose)).sum(axis=1)

    def _beside(self, theta: FloatArray, edge: IntArray) -> tuple[Seen, BoolArray]:
        """What is met along θ, and whether it is a face at the edge."""
        hits = self.world.cast(self.point, theta)
        corners = self.world.faces[hits.walls]
        a, b = (self.ends[edge, k, None] for k in (0, 1))
        at_edge = (corners == a).any(axis=1) & (corners == b).any(axis=1) & (hits.walls >= 0)
        return Seen(self.world, theta, hits.ranges, hits.walls, hits.normals), at_edge
