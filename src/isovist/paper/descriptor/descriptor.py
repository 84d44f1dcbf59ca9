"""The descriptor F(p) of a place, and its Jacobian J(p).

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

run over the valid beams; beam k owns the angles Δ_k halfway to its neighbours, though no more
than 1.5 times the usual beam spacing, so that a hole in the scan stays a hole.
"""

from dataclasses import dataclass, field
from typing import Literal, overload

import numpy as np

from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.basis import Band, DirectionalBasis
from isovist.errors import InputError
from isovist.maps.base import Map
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.paper.descriptor.faces import place_faces
from isovist.paper.descriptor.grazing import grazing_faces, grazing_term
from isovist.paper.descriptor.quadrature import (
    CircleSum,
    EqualArea,
    Exact,
    Quadrature,
    Rule,
    cast_signal,
    check_free,
    check_view,
    place_exact,
    sum_all,
    sum_channels,
)
from isovist.paper.descriptor.rims import rim_term
from isovist.paper.descriptor.shadows import find_jumps, jump_terms
from isovist.paper.descriptor.silhouette import silhouette_term
from isovist.poses import unit_vectors
from isovist.renamed import accept_old_names
from isovist.sensing.scan import Scan
from isovist.sensing.signals import Range, Signal, WallHits, measured_signal

_BLOCK = 256  # points whose quadrature nodes are held at once
FINEST, HALVINGS = 1e-9, 26
"""Tolerance of silhouettes face by face, and how often a panel of theirs is halved."""


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
    """A basis, a signal and a quadrature: gives F and J.

    Attributes:
        basis: The weights.
        signal: What is put on the directions.
        quadrature: How to integrate.  By default `Exact` on maps of segments, a sum of 1024
            terms on other maps of the plane, and one of 20 000 terms in space, which errs by
            about 1e-4 of F and 2e-3 of J; `Exact` on a mesh goes face by face.
        step: Half-width in m of the central differences that stand in for J on maps of cells,
            where it is at least the side of a cell, and on walls when the quadrature is not exact.
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
        """F, shape (..., n), and J, shape (..., n, d), or `None` unless asked for.

        Args:
            world: The map.
            points: Places in free space, shape (..., d), in m.
            jacobian: Whether to compute J too.
            shadow: Set to false to leave out the shadow term of (2), as the paper does, and what
                the rims at a longest range add.
            view: Angles that are seen, in the world frame: intervals (from, to) in rad, shape
                (v, 2), disjoint, counter-clockwise, with `Exact`; in space a `Band`.
        """
        p = self._check_points(world, points)
        flat = np.ascontiguousarray(p.reshape(-1, p.shape[-1]))
        quadrature = self._choose(world)
        if isinstance(quadrature, Exact):
            if isinstance(world, MeshMap) and view is None:
                out = self._faced(world, flat, quadrature, jacobian, shadow)
            elif isinstance(world, SegmentMap) and not isinstance(view, Band):
                out = self._exact(world, flat, quadrature, jacobian, shadow, check_view(view))
            else:
                raise InputError(
                    "The exact quadrature needs a SegmentMap without a Band, "
                    "or a MeshMap without a view.",
                    code="conflict",
                )
        else:
            if view is not None and not (isinstance(view, Band) and world.dimension == 3):
                raise InputError.about(
                    "view",
                    "needs the exact quadrature and a SegmentMap, or a Band in space.",
                    code="conflict",
                )
            rule = quadrature.rule()
            if view is not None:
                rule = rule.within(view)
            if jacobian and isinstance(world, MeshMap):
                out = self._meshed(world, flat, rule, shadow, view)
            else:
                out = self._summed(world, flat, rule, jacobian)
        n, d = len(self.basis), p.shape[-1]
        F = np.ascontiguousarray(out[:, :, 0]).reshape(*p.shape[:-1], n)
        if not jacobian:
            return F, None
        return F, np.ascontiguousarray(out[:, :, 1:]).reshape(*p.shape[:-1], n, d)

    def of_scan(self, scan: Scan) -> Observed:
        """F and mass of a scan in the frame of the sensor, equation (3)."""
        if self.basis.dimension != 2:
            raise InputError("A planar scan needs a basis on the circle.", code="wrong_dimension")
        owned = scan.beam_widths[scan.valid]
        w = self.basis.weights(unit_vectors(scan.bearings[scan.valid]))
        strengths = None if scan.intensities is None else scan.intensities[scan.valid]
        f = measured_signal(self.signal, scan.ranges[scan.valid], strengths)
        return Observed(readonly((f * owned) @ w), readonly(owned @ w))

    def difference(self, world: Map) -> float:
        """Step in m of the differences that J is made of; 0 where it is exact."""
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
        if self.basis.dimension != d:
            raise InputError(
                f"A basis of dimension {self.basis.dimension} cannot describe a map of "
                f"dimension {d}.",
                code="wrong_dimension",
            )
        check_free(world, p)
        return p

    def _exact(
        self,
        world: SegmentMap,
        points: FloatArray,
        quadrature: Exact,
        jacobian: bool,
        shadow: bool,
        view: FloatArray,
    ) -> FloatArray:
        out = np.empty((len(points), len(self.basis), 3 if jacobian else 1))
        for first in range(0, len(points), _BLOCK):
            block, rows = points[first : first + _BLOCK], out[first : first + _BLOCK]
            pieces = world.see(block)
            nodes = place_exact(
                world, block, pieces, self.basis, quadrature, self.signal.kinks, view
            )
            parts = [self.signal.values(nodes.seen)[:, None]]
            if jacobian:
                parts.append(self.signal.gradients(nodes.seen))
            value = nodes.coefficients[:, None] * np.concatenate(parts, axis=1)
            rows[:] = sum_channels(self.basis, nodes.offsets, nodes.seen.directions, value)
            if jacobian and shadow:
                jumps = find_jumps(world, block, pieces, view, self.signal.kinks)
                moved = jump_terms(self.signal, jumps)
                rows[:, :, 1:] += sum_channels(
                    self.basis, jumps.offsets, jumps.before.directions, moved
                )
        return out

    def _summed(self, world: Map, points: FloatArray, rule: Rule, jacobian: bool) -> FloatArray:
        d = points.shape[1]
        if not jacobian:
            return self._sums(world, points, rule)[:, :, None]
        step = self.difference(world)
        places = around(points, step).reshape(-1, d)
        if not np.asarray(world.contains(places)).all():
            raise InputError(
                f"A point lies within {step:g} m of a wall, too near for differences of F. "
                "Use the exact quadrature or a smaller `step`.",
                code="not_free",
            )
        F = self._sums(world, places, rule).reshape(len(points), 2 * d + 1, -1)
        slopes = (F[:, 1 : d + 1] - F[:, d + 1 :]) / (2.0 * step)
        return np.concatenate([F[:, 0, :, None], np.moveaxis(slopes, 1, 2)], axis=2)

    def _meshed(
        self, world: MeshMap, points: FloatArray, rule: Rule, shadow: bool, band: Band | None
    ) -> FloatArray:
        weights = rule.coefficients[:, None] * self.basis.weights(rule.directions)
        out = np.empty((len(points), len(self.basis), 4))
        spacing = float(np.sqrt(rule.coefficients.max()))
        for point, rows in zip(points, out, strict=True):
            hits = world.cast(point, rule.directions)
            seen = WallHits(world, rule.directions, hits.ranges, hits.walls, hits.normals, point)
            rows[:, 0] = self.signal.values(seen) @ weights
            edge_on = grazing_faces(world, point, spacing)
            slopes = np.where(
                np.isin(hits.walls, edge_on)[:, None], 0.0, self.signal.gradients(seen)
            )
            rows[:, 1:] = weights.T @ slopes
            rows[:, 1:] += grazing_term(
                world, point, edge_on, self.basis, self.signal, spacing=spacing, seen=band
            )
            if shadow:
                rows[:, 1:] += silhouette_term(world, point, self.basis, self.signal, seen=band)
                rows[:, 1:] += rim_term(world, point, self.basis, self.signal, seen=band)
        return out

    def _faced(
        self, world: MeshMap, points: FloatArray, quadrature: Exact, jacobian: bool, shadow: bool
    ) -> FloatArray:
        """Face by face (`faces`); silhouettes to the same tolerance."""
        out = np.empty((len(points), len(self.basis), 4 if jacobian else 1))
        for point, rows in zip(points, out, strict=True):
            nodes = place_faces(world, point, self.basis, quadrature)
            if any(nodes.seen.ranges.max() > limit for limit in self.signal.kinks):
                raise InputError(
                    "Face by face the signal must be smooth on faces: some of them are beyond its "
                    "`maximum`. Make that larger, or use EqualArea.",
                    code="conflict",
                )
            parts = [self.signal.values(nodes.seen)[:, None]]
            if jacobian:
                parts.append(self.signal.gradients(nodes.seen))
            values = nodes.coefficients[:, None] * np.concatenate(parts, axis=1)
            rows[:] = sum_all(self.basis, nodes.seen.directions, values)
            if jacobian and shadow:
                fine = max(quadrature.tolerance, FINEST)
                rows[:, 1:] += silhouette_term(
                    world, point, self.basis, self.signal, tolerance=fine, halvings=HALVINGS
                )
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


def around(points: FloatArray, step: float) -> FloatArray:
    """Points, and a step along and against each axis from them, shape (..., 2 d + 1, d)."""
    d = points.shape[-1]
    steps = np.concatenate([np.zeros((1, d)), step * np.eye(d), -step * np.eye(d)])
    return np.asarray(points[..., None, :] + steps)
