"""Make quadrature rules for products of weights, over all directions or over a view.

The inner product of a Gram matrix needs only the weights, which are smooth, so few nodes do:

    ∫_Ω w_i w_j dσ = Σ_s c_s w_i(θ_s) w_j(θ_s).                               (1)

On the circle the nodes are Gauss–Legendre between the poles of the weights, as in `Exact`. On the
sphere they are Gauss–Legendre in z times an equally spaced sum in azimuth, or Gauss–Legendre there
too if the azimuth is restricted. They are refined until (1) settles.
"""

from dataclasses import dataclass

import numpy as np

from isovist import DirectionalBasis, InputError
from isovist.arrays import ArrayLike, FloatArray, readonly
from isovist.paper.descriptor.quadrature import EqualArea, Exact, Rule, check_view
from isovist.poses import unit_vectors

_LARGEST_DEGREE = 1024
_BLOCK = 8192  # nodes whose weights are held at once


@dataclass(frozen=True, slots=True)
class Sector:
    """The directions that a 3D sensor sees: azimuths times elevations, in rad."""

    azimuth: tuple[float, float] = (0.0, 2.0 * np.pi)
    elevation: tuple[float, float] = (-0.5 * np.pi, 0.5 * np.pi)

    def __post_init__(self) -> None:
        turn = self.azimuth[1] - self.azimuth[0]
        low, high = self.elevation
        if not 0.0 < turn <= 2.0 * np.pi + 1e-12:
            raise InputError.about(
                "azimuth", f"must span more than 0 and at most 2π rad, got {turn:g}."
            )
        if not -0.5 * np.pi - 1e-12 <= low < high <= 0.5 * np.pi + 1e-12:
            raise InputError.about(
                "elevation", f"must rise within [−π/2, π/2] rad, got ({low:g}, {high:g})."
            )

    @property
    def area(self) -> float:
        """Return ∫_Ω dσ."""
        low, high = self.elevation
        return float((self.azimuth[1] - self.azimuth[0]) * (np.sin(high) - np.sin(low)))


def circle_rule(
    basis: DirectionalBasis, *, tolerance: float = 1e-12, view: ArrayLike | None = None
) -> Rule:
    """Return a rule on the circle, or on intervals `view` of angles in rad, shape (v, 2)."""
    length, edges, poles = Exact(tolerance).lengths(basis)
    # An m-node rule errs by about 4.64^(−2m) on the pieces that `lengths` allows.
    x, w = np.polynomial.legendre.leggauss(int(np.ceil(-0.75 * np.log10(tolerance))) + 2)
    angles, coefficients = [], []
    for start, stop in check_view(view):
        cuts = _cuts(float(start), float(stop), length, edges, poles)
        half = 0.5 * np.diff(cuts)[:, None]
        angles.append((cuts[:-1, None] + half * (1.0 + x)).ravel())
        coefficients.append((half * w).ravel())
    return Rule(
        readonly(unit_vectors(np.concatenate(angles))), readonly(np.concatenate(coefficients))
    )


def _cuts(
    start: float, stop: float, length: float, edges: FloatArray, poles: FloatArray
) -> FloatArray:
    """Cut angles from start to stop into pieces, short near the poles of the weights."""
    if len(edges) == 0:
        return np.linspace(start, stop, int(np.ceil((stop - start) / length)) + 1)
    turn = 2.0 * np.pi
    around = np.concatenate([edges[-1:] - turn, edges, edges[:1] + turn])
    heights = np.concatenate([poles[-1:], poles, poles[:1]])
    cuts, at = [start], start
    while at < stop - 1e-14:
        k = int(np.searchsorted(around, at + 1e-14))
        to_next, from_last = around[k] - at, at - around[k - 1]
        widening = 0.9 * float(np.hypot(from_last, heights[k - 1]))
        at += min(widening, max(0.9 * heights[k], 0.47 * to_next), length, to_next, stop - at)
        cuts.append(at)
    return np.array(cuts)


def sphere_rule(degree: int, band: Sector | None = None) -> Rule:
    """Return a product rule, exact for polynomials up to `degree` on the whole sphere."""
    if degree < 1:
        raise InputError.about("degree", f"must be at least 1, got {degree}.")
    sector = Sector() if band is None else band
    count = degree // 2 + 1
    x, w = np.polynomial.legendre.leggauss(count)
    low, high = np.sin(sector.elevation)
    z, c_z = 0.5 * (high + low) + 0.5 * (high - low) * x, 0.5 * (high - low) * w
    turn = sector.azimuth[1] - sector.azimuth[0]
    if turn >= 2.0 * np.pi - 1e-12:
        # Half a step apart in the two halves would change nothing; half a step from 0 keeps the
        # nodes off the planes of symmetry.
        azimuth = 2.0 * np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1)
        c_a = np.full(degree + 1, 2.0 * np.pi / (degree + 1))
    else:
        y, v = np.polynomial.legendre.leggauss(degree + 1)
        azimuth, c_a = sector.azimuth[0] + 0.5 * turn * (1.0 + y), 0.5 * turn * v
    radius = np.sqrt(np.maximum(1.0 - z * z, 0.0))
    directions = np.stack(
        [
            np.outer(radius, np.cos(azimuth)),
            np.outer(radius, np.sin(azimuth)),
            np.repeat(z[:, None], len(azimuth), axis=1),
        ],
        axis=-1,
    )
    return Rule(
        readonly(np.ascontiguousarray(directions.reshape(-1, 3))),
        readonly(np.outer(c_z, c_a).ravel()),
    )


def converged_sphere_rule(
    basis: DirectionalBasis, tolerance: float, band: Sector | None = None
) -> Rule:
    """Return the first rule of degree 32, 64, … whose Gram matrix the next one confirms."""
    degree, rule = 32, sphere_rule(32, band)
    G = gram_sum(basis, rule)
    while degree < _LARGEST_DEGREE:
        degree *= 2
        finer = sphere_rule(degree, band)
        G_finer = gram_sum(basis, finer)
        change = float(np.abs(G_finer - G).max())
        if change <= tolerance * float(G_finer.diagonal().max()):
            return finer
        G = G_finer
    raise InputError(
        f"The weights are too sharp to integrate to {tolerance:g}: a rule of degree {degree} "
        f"still changes by {change:.1e}. Use a larger temperature or tolerance."
    )


def in_blocks(basis: DirectionalBasis, rule: Rule) -> list[tuple[FloatArray, FloatArray]]:
    """Split a rule into blocks of directions and coefficients, to bound memory."""
    size = max(1, _BLOCK * 64 // max(64, len(basis)))
    return [
        (rule.directions[k : k + size], rule.coefficients[k : k + size])
        for k in range(0, len(rule.coefficients), size)
    ]


def gram_sum(basis: DirectionalBasis, rule: Rule) -> FloatArray:
    """Return the right-hand side of (1), shape (n, n)."""
    G = np.zeros((len(basis), len(basis)))
    for directions, coefficients in in_blocks(basis, rule):
        w = basis.weights(directions)
        G += w.T @ (coefficients[:, None] * w)
    return G


def spread(dimension: int, count: int = 4096) -> FloatArray:
    """Return directions that cover the circle or the sphere evenly, shape (count, d)."""
    if dimension == 2:
        return unit_vectors(2.0 * np.pi * (np.arange(count) + 0.5) / count)
    return EqualArea(count).rule().directions
