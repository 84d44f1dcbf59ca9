"""Measure completeness: which signals sequences of ever finer bases distinguish.

A basis smooths a continuous function g into its interpolant

    g⁽ⁿ⁾(θ) = Σ_i g(d_i) w_i(θ),                                              (1)

and sup |g⁽ⁿ⁾ − g| ≤ ω_g(δ) + 2 ‖g‖_∞ R_n(δ) for every δ, where ω_g is the modulus of continuity
and R_n(δ) the largest weight that any θ gives to directions farther than δ.  Some direction lies
within the mesh norm h_n of θ, hence for softmax

    R_n(δ) ≤ n exp((cos δ − cos h_n)/ε_n).                                    (2)

Let the right-hand side of (2) tend to 0 for every δ > 0.  Then g⁽ⁿ⁾ → g uniformly, the functionals
F_i are total, and F separates any two signals in the limit.  This rate condition links n, h_n and
ε_n; it is sufficient and not necessary.  For the uniform limit ε_n → 0 alone is not enough.  Pack N
directions together: once N exceeds e^(2/ε) they outweigh the nearest direction everywhere, and g⁽ⁿ⁾
is nearly constant however small ε is.  The rule used here,

    ε_n = κ h_n²,                                                             (3)

keeps the weights about as wide as the directions are apart.  For well-spread directions n grows
like h_n^(1−d), and (2) falls like h^(1−d) exp(−δ²/(2κh²)), faster than any power of h.

Parseval: |f|_n → ‖f‖. The gap ‖f‖² − |f|_n² = ‖f − P_n f‖² falls like h_n (that is 1/n on the
circle) for a signal that jumps, since a fixed share of the energy in a cell around each jump is
lost. For a smooth signal it falls much faster.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from isovist import DirectionalBasis, InputError, SegmentMap
from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.norms import squared_norms
from isovist.paper.gram.gram import Gram
from isovist.paper.gram.weight_rules import spread
from isovist.poses import unit_vectors

SIZES = (4, 8, 16, 32, 64, 128, 256)

Function = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Convergence:
    """A quantity measured along a sequence of bases.

    Attributes:
        sizes: n, shape (k,).
        mesh_norms: h_n in rad, shape (k,).
        temperatures: ε_n, shape (k,).
        values: The quantity, shape (k,).
    """

    sizes: FloatArray
    mesh_norms: FloatArray
    temperatures: FloatArray
    values: FloatArray

    @property
    def rates(self) -> FloatArray:
        """Return the observed orders in h between neighbours, Δ log v/Δ log h, shape (k − 1,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.diff(np.log(self.values)) / np.diff(np.log(self.mesh_norms))

    @property
    def falls(self) -> bool:
        """Return whether each value is below the one before."""
        return bool((np.diff(self.values) < 0.0).all())


def fine_bases(
    dimension: int, sizes: Sequence[int] = SIZES, *, factor: float = 1.0
) -> tuple[DirectionalBasis, ...]:
    """Make uniform (2D) or Fibonacci (3D) bases with ε_n = factor·h_n², equation (3)."""
    if dimension not in (2, 3):
        raise InputError.about("dimension", f"must be 2 or 3, got {dimension}.")
    if factor <= 0.0:
        raise InputError.about("factor", f"must be positive, got {factor}.")
    make = DirectionalBasis.circle if dimension == 2 else DirectionalBasis.fibonacci
    bases = [make(n) for n in sizes]
    return tuple(
        DirectionalBasis(
            r.directions, r.profile.with_parameter(factor * r.mesh_norm**2), r.mesh_norm
        )
        for r in bases
    )


def far_weight_bound(basis: DirectionalBasis, delta: float) -> float:
    """Return the right-hand side of (2) for δ in rad."""
    exponent = (np.cos(delta) - np.cos(basis.mesh_norm)) / basis.temperature
    return float(np.exp(min(np.log(len(basis)) + exponent, 700.0)))


def far_weight(basis: DirectionalBasis, delta: float, theta: FloatArray | None = None) -> float:
    """Return R_n(δ), the largest total weight beyond δ rad from θ, over samples of θ."""
    points = spread(basis.dimension) if theta is None else theta
    far = points @ basis.directions.T < np.cos(delta)
    return float((basis.weights(points) * far).sum(axis=1).max())


def interpolant(basis: DirectionalBasis, g: Function) -> Function:
    """Return g⁽ⁿ⁾ of equation (1) as a function of unit vectors, shape (m, d)."""
    values = np.asarray(g(basis.directions), dtype=np.float64)
    return lambda theta: basis.weights(theta) @ values


def interpolation_error(
    basis: DirectionalBasis, g: Function, theta: FloatArray | None = None
) -> float:
    """Return sup |g⁽ⁿ⁾ − g| over samples of the directions."""
    points = spread(basis.dimension) if theta is None else theta
    return float(np.abs(interpolant(basis, g)(points) - g(points)).max())


def interpolation(bases: Sequence[DirectionalBasis], g: Function) -> Convergence:
    """Return the uniform error of the interpolant for each basis of a sequence."""
    return _along(bases, [interpolation_error(basis, g) for basis in bases])


def crowded_basis(size: int, temperature: float, *, surplus: float = 20.0) -> DirectionalBasis:
    """Return a 2D basis with a small mesh norm for which completeness fails.

    It has `size` directions in equal steps, and surplus·size·e^(2/ε) more within 1e-3 rad of the
    first. With ε → 0 and `size` → ∞ all assumptions of the paper's theorem hold.  Yet the
    interpolant tends to the constant g(d_0), since the rate condition does not hold.
    """
    crowd = int(np.ceil(surplus * size * np.exp(2.0 / temperature)))
    if crowd > 5_000_000:
        raise InputError(f"A temperature of {temperature} needs a crowd of {crowd} directions.")
    angles = np.concatenate(
        [2.0 * np.pi * np.arange(size) / size, 1e-3 * (np.arange(crowd) + 0.5) / crowd]
    )
    return DirectionalBasis.from_directions(unit_vectors(angles), temperature)


def parseval_gap(
    bases: Sequence[DirectionalBasis], world: SegmentMap, point: ArrayLike, *, keep: float = 1e-8
) -> Convergence:
    """Return ‖r_p‖² − |r_p|_n² of the range from a point, in m², for each basis of a sequence."""
    p = as_floats("point", point, (2,))
    energy = float(squared_norms(world, p[None])[0])
    gaps = []
    for basis in bases:
        F, _ = Descriptor(basis).at(world, p)
        gaps.append(float(Gram.from_basis(basis, keep=keep).gap(F, energy)))
    return _along(bases, gaps)


def parseval_gap_of(bases: Sequence[DirectionalBasis], f: Function) -> Convergence:
    """Return the Parseval gap of a function f of directions, by the rule of each Gram matrix.

    The result is accurate for smooth f.  Jumps of f are resolved only to the distance between
    nodes.
    """
    gaps = []
    for basis in bases:
        gram = Gram.from_basis(basis)
        values = np.asarray(f(gram.rule.directions), dtype=np.float64)
        energy = float(gram.rule.coefficients @ values**2)
        gaps.append(float(gram.gap(gram.features(values), energy)))
    return _along(bases, gaps)


def separation(
    bases: Sequence[DirectionalBasis], world: SegmentMap, p: ArrayLike, q: ArrayLike
) -> Convergence:
    """Return d_n(p, q) for each basis of a sequence on the circle; its limit is ‖r_p − r_q‖."""
    ends = np.stack([as_floats("p", p, (2,)), as_floats("q", q, (2,))])
    values = []
    for basis in bases:
        F, _ = Descriptor(basis).at(world, ends)
        values.append(float(Gram.from_basis(basis).distance(F[0], F[1])))
    return _along(bases, values)


def _along(bases: Sequence[DirectionalBasis], values: Sequence[float]) -> Convergence:
    return Convergence(
        readonly(np.array([len(r) for r in bases], dtype=np.float64)),
        readonly(np.array([r.mesh_norm for r in bases])),
        readonly(np.array([r.profile.parameter for r in bases])),
        readonly(np.array(values, dtype=np.float64)),
    )
