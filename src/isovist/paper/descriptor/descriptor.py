"""Compute the descriptor F(p) of a place, and its Jacobian J(p).

With weights w_i of a basis and a signal f_p on directions,

    F_i(p) = ∫ f_p(θ) w_i(θ) dσ(θ).                                          (1)

Where f_p is smooth in p its gradient goes under the integral.  But a range jumps where a ray
grazes a corner, and the angle a of the jump moves with p; so on a map of segments

    ∂F_i/∂p = ∫ ∇f_p w_i dθ + Σ_a (f(a⁻) − f(a⁺)) w_i(a) (sin a, −cos a)/ρ_a,   (2)

where ρ_a is the distance to the corner (the nearer of the two walls).  The sum is the shadow
term (see `shadows`); without it J is wrong wherever something occludes something.  On a mesh it
is a sum of integrals over silhouettes (see `silhouette`); on cells J is a central difference of F.
A signal that jumps at its longest range has one more term, of its rims (see `rims`).

A scan sees only some directions Ω.  Its descriptor and its mass,

    F_i = Σ_k f(r_k) Δ_k w_i(b_k),    m_i = Σ_k Δ_k w_i(b_k),                (3)

run over the valid beams. Beam k covers the angle Δ_k halfway to its neighbours, but at most 1.5
times the median beam spacing. So a hole in the scan stays a hole.
"""

from dataclasses import dataclass, field
from typing import Literal, overload

import numpy as np

from isovist import DirectionalBasis, InputError, MeshMap, Range, Scan, SegmentMap
from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.basis import Band
from isovist.maps import Map
from isovist.paper.descriptor.faces import place_faces
from isovist.paper.descriptor.grazing import grazing_faces, grazing_term
from isovist.paper.descriptor.quadrature import (
    CircleSum,
    EqualArea,
    Exact,
    Nodes,
    Quadrature,
    Rule,
    SegmentView,
    cast_signal,
    check_dimension,
    check_free,
    place_exact,
    sum_all,
    sum_channels,
)
from isovist.paper.descriptor.rims import rim_term
from isovist.paper.descriptor.shadows import find_jumps, jump_terms
from isovist.paper.descriptor.silhouette import MeshView, silhouette_term
from isovist.paper.settings import SilhouetteSettings
from isovist.poses import unit_vectors
from isovist.renamed import accept_old_names
from isovist.sensing import Signal, measured_signal
from isovist.settings import default_of

_BLOCK = 256  # points whose quadrature nodes are held at once


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """A descriptor over the observed directions only.

    Attributes:
        F: Integrals of the signal over Ω, shape (n,).
        mass: Integrals of the weights over Ω, shape (n,); 0 for a channel that saw nothing.
    """

    F: FloatArray
    mass: FloatArray


@accept_old_names
@dataclass(frozen=True, slots=True)
class Descriptor:
    """The descriptor of the paper: a basis, a signal and a quadrature, which give F and J.

    Attributes:
        basis: Directions and weights.
        signal: Function of direction, such as the range.
        quadrature: Rule for the integrals.  By default `Exact` on maps of segments, a sum of 1024
            terms on other 2D maps, and a sum of 20 000 terms in 3D.  The last one has errors of
            about 5e-4 of F and 2e-3 of J.  `Exact` on a mesh integrates face by face.
        step: Half-width in m of the central differences that replace J on maps of cells, where it
            is at least the side of a cell.  It is used on walls too if the quadrature is not exact.

    Examples:
        >>> import isovist as iv
        >>> descriptor = iv.Descriptor(iv.DirectionalBasis.circle(16))
        >>> F, J = descriptor.at(iv.SegmentMap.room(6.0, 4.0), [[1.3, 1.7]], jacobian=True)
        >>> F.shape, J.shape
        ((1, 16), (1, 16, 2))
    """

    basis: DirectionalBasis
    signal: Signal = field(default_factory=Range)
    quadrature: Quadrature | None = None
    step: float = 0.05

    @overload
    def at(
        self,
        world: Map,
        points: ArrayLike,
        *,
        jacobian: Literal[True],
        shadow: bool = ...,
        view: ArrayLike | Band | None = ...,
    ) -> tuple[FloatArray, FloatArray]: ...

    @overload
    def at(
        self,
        world: Map,
        points: ArrayLike,
        *,
        jacobian: bool = ...,
        shadow: bool = ...,
        view: ArrayLike | Band | None = ...,
    ) -> tuple[FloatArray, FloatArray | None]: ...

    def at(
        self,
        world: Map,
        points: ArrayLike,
        *,
        jacobian: bool = False,
        shadow: bool = True,
        view: ArrayLike | Band | None = None,
    ) -> tuple[FloatArray, FloatArray | None]:
        """Describe places: return F, shape (..., n), and J, shape (..., n, d).

        Args:
            world: The map.
            points: Places in free space, shape (..., d), in m.
            jacobian: Whether to compute J; otherwise J is `None`.
            shadow: Whether to include the shadow term of (2), which the paper leaves out, and the
                terms of rims at a maximum range.
            view: Directions that count, in the world frame.  With `Exact` in 2D, disjoint intervals
                (from, to) in rad, counter-clockwise, shape (v, 2).  In 3D, a `Band`.

        Raises:
            InputError: If a place is not in free space, or an argument does not suit the map.
        """
        p = self._check_points(world, points)
        flat = np.ascontiguousarray(p.reshape(-1, p.shape[-1]))
        out = self._describe(world, flat, jacobian, shadow, view)
        n, d = len(self.basis), p.shape[-1]
        F = np.ascontiguousarray(out[:, :, 0]).reshape(*p.shape[:-1], n)
        if not jacobian:
            return F, None
        return F, np.ascontiguousarray(out[:, :, 1:]).reshape(*p.shape[:-1], n, d)

    def of_scan(self, scan: Scan) -> Observed:
        """Describe a 2D scan in the frame of the sensor: F and the mass of equation (3)."""
        if self.basis.dimension != 2:
            raise InputError("A 2D scan needs a basis on the circle.", code="wrong_dimension")
        owned = scan.beam_widths[scan.valid]
        w = self.basis.weights(unit_vectors(scan.bearings[scan.valid]))
        strengths = None if scan.intensities is None else scan.intensities[scan.valid]
        f = measured_signal(self.signal, scan.ranges[scan.valid], strengths)
        return Observed(readonly((f * owned) @ w), readonly(owned @ w))

    def difference(self, world: Map) -> float:
        """Return the step in m of the differences that replace J; 0 where J is exact."""
        if isinstance(world, MeshMap) or isinstance(self._choose(world), Exact):
            return 0.0
        return max(self.step, getattr(world, "resolution", 0.0))

    def _choose(self, world: Map) -> Quadrature:
        if self.quadrature is not None:
            return self.quadrature
        if isinstance(world, SegmentMap):
            return Exact()
        return CircleSum() if world.dimension == 2 else EqualArea()

    def _check_points(self, world: Map, points: ArrayLike) -> FloatArray:
        p = as_floats("points", points)
        d = world.dimension
        if p.ndim == 0 or p.shape[-1] != d:
            raise InputError.about("points", f"must have shape (..., {d}), got {p.shape}.")
        check_dimension(self.basis, world)
        check_free(world, p)
        return p

    def _describe(
        self,
        world: Map,
        points: FloatArray,
        jacobian: bool,
        shadow: bool,
        view: ArrayLike | Band | None,
    ) -> FloatArray:
        """Return F and, if wanted, J at points (P, d), shape (P, n, 1 + d) or (P, n, 1)."""
        quadrature = self._choose(world)
        out = np.empty((len(points), len(self.basis), 1 + points.shape[1] if jacobian else 1))
        if isinstance(quadrature, Exact):
            if isinstance(world, MeshMap) and view is None:
                return self._faced(world, points, quadrature, jacobian, shadow)
            if isinstance(world, SegmentMap) and not isinstance(view, Band):
                for first in range(0, len(points), _BLOCK):
                    block = slice(first, first + _BLOCK)
                    visible = SegmentView.of(world, points[block], view)
                    out[block] = self._exact(visible, quadrature, jacobian, shadow)
                return out
            raise InputError(
                "The exact quadrature needs a SegmentMap without a Band, "
                "or a MeshMap without a view.",
                code="conflict",
            )
        if view is not None and not (isinstance(view, Band) and world.dimension == 3):
            raise InputError.about(
                "view",
                "needs the exact quadrature and a SegmentMap, or a Band in 3D.",
                code="conflict",
            )
        band = view if isinstance(view, Band) else None
        rule = quadrature.rule() if band is None else quadrature.rule().within(band)
        if jacobian and isinstance(world, MeshMap):
            for point, rows in zip(points, out, strict=True):
                rows[:] = self._meshed(MeshView(world, point, band), rule, shadow)
            return out
        return self._summed(world, points, rule, jacobian)

    def _exact(
        self, view: SegmentView, quadrature: Exact, jacobian: bool, shadow: bool
    ) -> FloatArray:
        """Return F and J of points of a map of segments, equation (2)."""
        nodes = place_exact(view, self.basis, quadrature, self.signal.kinks)
        out = sum_channels(
            self.basis, nodes.offsets, nodes.rays.directions, self._integrand(nodes, jacobian)
        )
        if jacobian and shadow:
            jumps = find_jumps(view, self.signal.kinks)
            terms = jump_terms(self.signal, jumps)
            out[:, :, 1:] += sum_channels(self.basis, jumps.offsets, jumps.before.directions, terms)
        return out

    def _integrand(self, nodes: Nodes, jacobian: bool) -> FloatArray:
        """Return the signal and, if wanted, its gradient, times the coefficients of the nodes."""
        parts = [self.signal.values(nodes.rays)[:, None]]
        if jacobian:
            parts.append(self.signal.gradients(nodes.rays))
        return np.asarray(nodes.coefficients[:, None] * np.concatenate(parts, axis=1))

    def _summed(self, world: Map, points: FloatArray, rule: Rule, jacobian: bool) -> FloatArray:
        d = points.shape[1]
        if not jacobian:
            return self._sums(world, points, rule)[:, :, None]
        step = self.difference(world)
        places = stencil(points, step).reshape(-1, d)
        if not np.asarray(world.contains(places)).all():
            raise InputError(
                f"A point lies within {step:g} m of a wall, too near for differences of F. "
                "Use the exact quadrature or a smaller `step`.",
                code="not_free",
            )
        F = self._sums(world, places, rule).reshape(len(points), 2 * d + 1, -1)
        slopes = (F[:, 1 : d + 1] - F[:, d + 1 :]) / (2.0 * step)
        return np.concatenate([F[:, 0, :, None], np.moveaxis(slopes, 1, 2)], axis=2)

    def _meshed(self, view: MeshView, rule: Rule, shadow: bool) -> FloatArray:
        """Return F and J of one point of a mesh by a sum over directions, shape (n, 4)."""
        weights = rule.coefficients[:, None] * self.basis.weights(rule.directions)
        out = np.empty((len(self.basis), 4))
        spacing = float(np.sqrt(rule.coefficients.max()))
        hits, rays = view.look(rule.directions)
        out[:, 0] = self.signal.values(rays) @ weights
        edge_on = grazing_faces(view.world, view.point, spacing)
        slopes = np.where(np.isin(hits.walls, edge_on)[:, None], 0.0, self.signal.gradients(rays))
        out[:, 1:] = weights.T @ slopes
        out[:, 1:] += grazing_term(view, edge_on, self.basis, self.signal, spacing)
        if shadow:
            out[:, 1:] += silhouette_term(view, self.basis, self.signal)
            out[:, 1:] += rim_term(view, self.basis, self.signal)
        return out

    def _faced(
        self, world: MeshMap, points: FloatArray, quadrature: Exact, jacobian: bool, shadow: bool
    ) -> FloatArray:
        """Return F and J face by face (`faces`), with silhouettes to the same tolerance."""
        limits = default_of(SilhouetteSettings)
        fine = SilhouetteSettings(
            tolerance=max(quadrature.tolerance, limits.min_tolerance_exact),
            max_halvings=limits.max_halvings_exact,
        )
        out = np.empty((len(points), len(self.basis), 4 if jacobian else 1))
        for point, rows in zip(points, out, strict=True):
            nodes = place_faces(world, point, self.basis, quadrature)
            if any(nodes.rays.ranges.max() > limit for limit in self.signal.kinks):
                raise InputError(
                    "Face by face the signal must be smooth on faces: some of them are beyond its "
                    "`maximum`. Make that larger, or use EqualArea.",
                    code="conflict",
                )
            rows[:] = sum_all(self.basis, nodes.rays.directions, self._integrand(nodes, jacobian))
            if jacobian and shadow:
                view = MeshView(world, point)
                rows[:, 1:] += silhouette_term(view, self.basis, self.signal, fine)
        return out

    def _sums(self, world: Map, points: FloatArray, rule: Rule) -> FloatArray:
        weights = rule.coefficients[:, None] * self.basis.weights(rule.directions)
        out = np.empty((len(points), len(self.basis)))
        per_block = max(1, 2_000_000 // len(rule.coefficients))
        for first in range(0, len(points), per_block):
            block = points[first : first + per_block]
            values = cast_signal(world, block, rule.directions, self.signal)
            out[first : first + per_block] = values @ weights
        return out


def stencil(points: FloatArray, step: float | FloatArray) -> FloatArray:
    """Return points with a step along and against each axis of each, (..., 2 d + 1, d).

    Args:
        points: Shape (..., d).
        step: One for all axes, or one for each, shape (d,).
    """
    d = points.shape[-1]
    steps = np.concatenate([np.zeros((1, d)), step * np.eye(d), -step * np.eye(d)])
    return np.asarray(points[..., None, :] + steps)
