"""Measure how F varies with the place: continuity, derivative, constants over a region.

The range seen along one direction is only lower semicontinuous in p: at the place where a corner
begins to hide something, the near value is the one that counts.  F integrates over directions
and is continuous all the same, even Lipschitz; its derivative J jumps only across lines through
two corners.  So along any segment in free space

    F(q) − F(p) = ∫₀¹ J(p + t (q − p)) (q − p) dt,                            (1)

and ‖F(q) − F(p)‖ ≤ L ‖q − p‖ with L = sup ‖J‖ on it.  Summing the channels,

    1ᵀ J(p) = ∇E(p),     E(p) = Σ_i F_i(p) = ∫ f_p dσ,                        (2)

whatever the basis.

The pseudo-metric.  With the whitening z = diag(1/s) Vᵀ F of a Gram matrix and q → p,

    d(p, q) = ‖z(p) − z(q)‖ ≈ ‖diag(1/s) Vᵀ J(p) (q − p)‖,                    (3)

so the local bi-Lipschitz constants are the singular values of the whitened J, and

    σ_min(J)/√λ_max(G) ≤ σ_min(z′) ≤ d/‖p − q‖ ≤ σ_max(z′) ≤ σ_max(J)/√λ_min(G)   (4)

to first order, where G may be replaced by its kept part only on the right.  The paper leaves the
eigenvalues of G out.

L and Λ over a region are estimated from samples, with a margin that is stated.  On a lattice of
pitch s let D be the largest ‖J(a) − J(b)‖ between neighbours a, b; then with a margin m

    L = max ‖J‖ + m D,        Λ = m D/s,                                      (5)
    ‖J(p) − J(q)‖ ≤ Λ max(‖p − q‖, s)√d.                                      (6)

Jumps of J count in D, so the estimate includes them. It is no proof; the margin covers what lies
between the nodes.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from isovist import DirectionalBasis, InputError
from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats
from isovist.maps import Map
from isovist.paper.descriptor.descriptor import Descriptor, stencil
from isovist.paper.gram.gram import Gram


class Field(Protocol):
    """Anything that gives F and J at places."""

    @property
    def basis(self) -> DirectionalBasis:
        """Return the weights."""

    def at(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return F, shape (P, n), and J, shape (P, n, d), at places of shape (P, d), in m."""

    def is_free(self, points: FloatArray) -> BoolArray:
        """Return whether each place lies in free space, shape (P,)."""


@dataclass(frozen=True, slots=True, eq=False)
class MapField:
    """The field of a descriptor on a map."""

    descriptor: Descriptor
    world: Map

    @property
    def basis(self) -> DirectionalBasis:
        return self.descriptor.basis

    def at(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self.descriptor.at(self.world, points, jacobian=True)

    def is_free(self, points: FloatArray) -> BoolArray:
        """Return which points are free and have room for the differences that replace J."""
        step = self.descriptor.difference(self.world)
        if step == 0.0:
            return np.asarray(self.world.contains(points))
        return np.asarray(np.all(self.world.contains(stencil(points, step)), axis=-1))


@dataclass(frozen=True, slots=True)
class JacobianBounds:
    """L and Λ over a box, equation (5).

    Attributes:
        L: Bound of ‖J‖.
        Lambda: Bound of the variation of J per m, at the scale of the pitch and above.
        pitch: Distance s between samples, in m.
        margin: Factor m in (5).
        samples: Number of places that were sampled.
    """

    L: float
    Lambda: float
    pitch: float
    margin: float
    samples: int

    def variation(self, distance: float, dimension: int) -> float:
        """Return the right-hand side of (6)."""
        return self.Lambda * max(distance, self.pitch) * float(np.sqrt(dimension))


@dataclass(frozen=True, slots=True)
class BiLipschitz:
    """Local constants of d(p, q)/‖p − q‖, equation (4).

    Attributes:
        lower: σ_min of the whitened J.
        upper: σ_max of the whitened J.
        loose_lower: σ_min(J)/√λ_max(G), for J on the kept space.
        loose_upper: σ_max(J)/√λ_min(G), λ_min the smallest kept eigenvalue.
    """

    lower: float
    upper: float
    loose_lower: float
    loose_upper: float


def bi_lipschitz(gram: Gram, J: ArrayLike) -> BiLipschitz:
    """Return the constants at a place with Jacobian J, shape (n, d)."""
    slope = as_floats("J", J)
    projected = gram.axes.T @ slope
    whitened = np.linalg.svd(projected / gram.scales[:, None], compute_uv=False)
    singular = np.linalg.svd(projected, compute_uv=False)
    return BiLipschitz(
        float(whitened[-1]),
        float(whitened[0]),
        float(singular[-1] / gram.scales[0]),
        float(singular[0] / gram.scales[-1]),
    )


def jacobian_bounds(
    field: Field, low: ArrayLike, high: ArrayLike, *, pitch: float, margin: float = 2.0
) -> JacobianBounds:
    """Estimate L and Λ over a box without walls.

    Args:
        field: Field that returns J.
        low: Smallest coordinates of the box, shape (d,), in m.
        high: Largest coordinates of the box, shape (d,), in m.
        pitch: Distance s between samples, in m.
        margin: Factor m in (5), 1 or more.
    """
    lo, hi = as_floats("low", low), as_floats("high", high)
    if lo.ndim != 1 or lo.shape != hi.shape or (hi <= lo).any():
        raise InputError.about(("low", "high"), "must be corners of a box, low < high.")
    if pitch <= 0.0 or margin < 1.0:
        raise InputError.about("pitch", "must be positive and `margin` at least 1.")
    counts = np.maximum(np.ceil((hi - lo) / pitch - 1e-9).astype(int) + 1, 2)
    axes = [np.linspace(a, b, k) for a, b, k in zip(lo, hi, counts, strict=True)]
    lattice = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(lo))
    if not field.is_free(lattice).all():
        raise InputError("The box must lie in free space.", code="not_free")
    _, J = field.at(lattice)
    J = J.reshape(*counts, *J.shape[1:])
    change = max(
        float(np.linalg.norm(np.diff(J, axis=k), ord=2, axis=(-2, -1)).max())
        for k in range(len(lo))
    )
    norms = np.linalg.norm(J, ord=2, axis=(-2, -1))
    return JacobianBounds(
        float(norms.max()) + margin * change, margin * change / pitch, pitch, margin, norms.size
    )


def remainders(field: Field, points: FloatArray, moves: FloatArray) -> FloatArray:
    """Return ‖F(p + v) − F(p) − J(p) v‖/‖v‖ for places and moves of shape (P, d); shape (P,)."""
    F, J = field.at(points)
    F_moved, _ = field.at(points + moves)
    rest = F_moved - F - np.einsum("pnd,pd->pn", J, moves)
    return np.linalg.norm(rest, axis=1) / np.linalg.norm(moves, axis=1)


def changes(field: Field, points: FloatArray, moves: FloatArray) -> FloatArray:
    """Return ‖F(p + v) − F(p)‖ for places and moves of shape (P, d); shape (P,)."""
    return np.linalg.norm(field.at(points + moves)[0] - field.at(points)[0], axis=1)


def range_drop(world: Map, point: ArrayLike, theta: ArrayLike, radius: float) -> float:
    """Return the largest drop of the range below r(p, θ) within a radius of p; all in m.

    By lower semicontinuity it tends to 0 with the radius.  A rise of the range has no limit.
    """
    p, t = as_floats("point", point), as_floats("theta", theta)
    around = np.random.default_rng(0).normal(size=(256, len(p)))
    around *= (
        radius
        * np.linspace(0.05, 1.0, 256)[:, None]
        / np.linalg.norm(around, axis=1, keepdims=True)
    )
    middle = float(world.cast(p[None], t[None]).ranges[0])
    ranges = world.cast(p + around, t[None]).ranges
    return max(0.0, middle - float(ranges.min()))
