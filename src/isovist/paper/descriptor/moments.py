"""Reduce the views of places to numbers on directions, so that bases can be exchanged.

F and J are linear in the weights.  With nodes θ_s and, for each, the signal times its
coefficient, m_s = c_s f(θ_s), and the same for its gradient in p, M_s ∈ R^d,

    F_i = Σ_s w_i(θ_s) m_s,        J_i = Σ_s w_i(θ_s) M_s.                    (1)

On a map of segments each visible corner is one more node, with m_s = 0 and M_s its shadow term.  So
is each rim of a signal that jumps at a longest range.  Only w depends on the basis, so with C_ij of
`DirectionalBasis.direction_slopes`

    ∂F_i/∂d_j = (I − d_j d_jᵀ) Σ_s C_ij(θ_s) m_s θ_s,                         (2)
    ∂F_i/∂λ   = Σ_s m_s ∂w_i/∂λ (θ_s),                                        (3)

on the tangent space of the sphere at d_j, with λ the parameter of the profile.  The same holds
for J.

What moves a node when p moves is the wall that it stands on; a corner or rim stands on the nearer
of its two walls.  Moving that wall is moving p in the opposite direction.  So a node that lies the
share t along a wall from its first end A to its second B adds to the derivatives by them

    ∂F_i/∂A = −Σ_s (1 − t_s) w_i(θ_s) M_s,    ∂F_i/∂B = −Σ_s t_s w_i(θ_s) M_s,   (4)

where what is seen of a wall does not depend on where it stands (a range, a reflectance).
"""

from dataclasses import dataclass

import numpy as np

from isovist import DirectionalBasis, InputError, Range, SegmentMap
from isovist.arrays import ArrayLike, FloatArray, IntArray, as_floats, readonly
from isovist.maps import Map
from isovist.paper.descriptor.quadrature import (
    Exact,
    Rule,
    SegmentView,
    cast_signal,
    place_exact,
    sum_channels,
)
from isovist.paper.descriptor.shadows import find_jumps, jump_terms
from isovist.sensing import Signal


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """The quadrature nodes of many places, one place after another.

    Attributes:
        offsets: Index of the first node of each place, and the end, shape (P + 1,).
        directions: Directions θ_s, shape (m, d).
        values: m_s, then M_s, shape (m, 1 + d).
        energies: ‖f_p‖² of each place, shape (P,).
        walls: On a map of segments, wall of each node, −1 for none, shape (m,).
        shares: t of (4), shape (m,).
    """

    offsets: IntArray
    directions: FloatArray
    values: FloatArray
    energies: FloatArray
    walls: IntArray | None = None
    shares: FloatArray | None = None

    @classmethod
    def from_segments(
        cls,
        world: SegmentMap,
        points: ArrayLike,
        basis: DirectionalBasis,
        signal: Signal | None = None,
        *,
        tolerance: float = 1e-12,
    ) -> "Moments":
        """Compute moments exactly, for bases whose weights are no sharper than this basis."""
        p = np.ascontiguousarray(as_floats("points", points, (None, 2)))
        if not np.asarray(world.contains(p)).all():
            raise InputError("Every point must lie in free space.", code="not_free")
        f = Range() if signal is None else signal
        view = SegmentView.of(world, p)
        nodes = place_exact(view, basis, Exact(tolerance), f.kinks)
        c = nodes.coefficients[:, None]
        value = f.values(nodes.rays)
        smooth = c * np.concatenate([value[:, None], f.gradients(nodes.rays)], axis=1)
        energies = np.add.reduceat(nodes.coefficients * value**2, nodes.offsets[:-1])
        jumps = find_jumps(view, f.kinks)
        corners = np.pad(jump_terms(f, jumps), ((0, 0), (1, 0)))
        # Nodes and corners of one place stand together.
        owner = np.concatenate([_owners(nodes.offsets), _owners(jumps.offsets)])
        order = np.argsort(owner, kind="stable")
        directions = np.concatenate([nodes.rays.directions, jumps.before.directions])[order]
        near = jumps.before.ranges <= jumps.after.ranges
        walls = np.where(near, jumps.before.walls, jumps.after.walls)
        ranges = np.minimum(jumps.before.ranges, jumps.after.ranges)
        walls = np.concatenate([nodes.rays.walls, walls])[order]
        ranges = np.concatenate([nodes.rays.ranges, ranges])[order]
        places = p[owner[order]] + np.where(walls >= 0, ranges, 0.0)[:, None] * directions
        return cls(
            readonly(nodes.offsets + jumps.offsets),
            readonly(np.ascontiguousarray(directions)),
            readonly(np.concatenate([smooth, corners])[order]),
            readonly(energies),
            readonly(walls),
            readonly(_shares(world, places, walls)),
        )

    @classmethod
    def from_rule(
        cls,
        world: Map,
        points: ArrayLike,
        rule: Rule,
        signal: Signal | None = None,
        *,
        step: float = 0.02,
    ) -> "Moments":
        """Cast rays along the nodes of a rule, on any map.

        M_s are central differences of f, with a step in m.
        """
        d = world.dimension
        p = as_floats("points", points, (None, d))
        f = Range() if signal is None else signal
        moves = np.concatenate([np.zeros((1, d)), step * np.eye(d), -step * np.eye(d)])
        places = (p[:, None, :] + moves).reshape(-1, d)
        if not np.asarray(world.contains(places)).all():
            raise InputError(
                f"Every point must lie in free space, {step:g} m from the walls.", code="not_free"
            )
        parts = [cast_signal(world, place[None], rule.directions, f) for place in places]
        values = np.concatenate(parts).reshape(len(p), 2 * d + 1, -1)
        slopes = (values[:, 1 : d + 1] - values[:, d + 1 :]) / (2.0 * step)
        values_and_slopes = np.concatenate([values[:, :1], slopes], axis=1) * rule.coefficients
        S = len(rule.coefficients)
        return cls(
            readonly(S * np.arange(len(p) + 1, dtype=np.int64)),
            readonly(np.tile(rule.directions, (len(p), 1))),
            readonly(np.ascontiguousarray(values_and_slopes.transpose(0, 2, 1).reshape(-1, d + 1))),
            readonly(values[:, 0] ** 2 @ rule.coefficients),
        )

    @property
    def owners(self) -> IntArray:
        """Return the number of the place of each node, shape (m,)."""
        return _owners(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def describe(self, basis: DirectionalBasis) -> tuple[FloatArray, FloatArray]:
        """Return F, shape (P, n), and J, shape (P, n, d), equation (1)."""
        out = sum_channels(basis, self.offsets, self.directions, self.values)
        return np.ascontiguousarray(out[:, :, 0]), np.ascontiguousarray(out[:, :, 1:])

    def direction_gradient(self, basis: DirectionalBasis) -> FloatArray:
        """Return ∂F_i/∂d_j of equation (2), shape (P, n, n, d)."""
        n, d = basis.directions.shape
        out = np.empty((len(self), n, n, d))
        for k in range(len(self)):
            nodes_of_place = slice(self.offsets[k], self.offsets[k + 1])
            theta = self.directions[nodes_of_place]
            pull = self.values[nodes_of_place, :1] * theta
            out[k] = np.einsum("sij,sd->ijd", basis.direction_slopes(theta), pull, optimize=True)
        along = np.einsum("pijd,jd->pij", out, basis.directions)
        return out - along[..., None] * basis.directions

    def parameter_gradient(self, basis: DirectionalBasis) -> FloatArray:
        """Return ∂F_i/∂λ of equation (3), shape (P, n)."""
        slopes = self.values[:, :1] * basis.parameter_slopes(self.directions)
        return np.add.reduceat(slopes, self.offsets[:-1], axis=0)


def _owners(offsets: IntArray) -> IntArray:
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def _shares(world: SegmentMap, places: FloatArray, walls: IntArray) -> FloatArray:
    """Return how far along its wall each place lies, from 0 to 1, shape (m,)."""
    start, along = world.walls[walls, :2], (world.walls[:, 2:] - world.walls[:, :2])[walls]
    distances = np.einsum("ij,ij->i", places - start, along)
    return np.clip(distances / np.einsum("ij,ij->i", along, along), 0.0, 1.0)
