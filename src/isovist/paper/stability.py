"""Bound how much F can change when the directions of a basis move.

Let δ = max_i ‖d_i − d_i′‖.  The paper bounds each weight by

    |w_i − w_i′| ≤ C δ,     C = (n + 1) L_ψ / Z_min,                          (1)

with L_ψ a Lipschitz constant of ψ and Z_min the smallest Σ_j ψ(θ·d_j) of either basis.  Hence |F_i
− F_i′| ≤ C δ ‖f‖₁ and ‖F − F′‖₂ ≤ √n C δ ‖f‖₁.  For softmax Z_min ≥ n e^(−1/ε) gives C ≤ (n + 1)
e^(2/ε)/(n ε): 8e19 at n = 16, ε = 0.05, too large to be of use.

The sharp constant.  Let g = (log ψ)′ be bounded by K on [−1, 1].  Then

    ‖F − F′‖₁ ≤ K δ ‖f‖₁,                                                     (2)

and K = 1/ε for softmax: no n, no exponential.

Proof.  Move along d_i(τ) = d_i + τ (d_i′ − d_i), 0 ≤ τ ≤ 1; d_i(τ) lies in the unit ball, so
t_i = θ·d_i(τ) stays in [−1, 1], and |dt_i/dτ| ≤ δ.  With y_i = g(t_i) dt_i/dτ, |y_i| ≤ Kδ, and ȳ
the mean of y under the weights,

    dw_i/dτ = w_i (y_i − ȳ),     Σ_i |dw_i/dτ| = Σ_i w_i |y_i − ȳ| ≤ K δ,     (3)

because the mean absolute deviation of numbers in [−M, M] is at most M. It is at most the standard
deviation, whose square is at most the mean of y_i² ≤ M².  Integrate over τ, then against |f|. ∎

It is attained to first order: where two weights are ½ each and their directions move in opposite
ways along θ, (3) is an equality.

Profiles that vanish somewhere have no bounded g.  For them, with ρ_i = ψ(t_i), and
Σ_i |w_i − w_i′| ≤ Σ_i |ρ_i − ρ_i′|/Z + Σ_i w_i′ |Z − Z′|/Z ≤ 2 Σ_j |ρ_j − ρ_j′|/Z,

    ‖F − F′‖₁ ≤ (2 n L_ψ/Z_min) δ ‖f‖₁,                                       (4)

which bounds all channels together by less than twice what (1) allows to each of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isovist import DirectionalBasis, InputError
from isovist.arrays import FloatArray, readonly
from isovist.basis import Softmax
from isovist.paper.gram.weight_rules import spread


@dataclass(frozen=True, slots=True, eq=False)
class Tradeoff:
    """Sharpness against stability, along temperatures.

    Attributes:
        temperatures: ε, shape (k,).
        paper: C of equation (1) with the paper's closed form, shape (k,).
        sharp: K of equation (2), shape (k,).
        sharpness: How much of its own bin each weight owns: the mean over θ of the largest
            weight, from 1/n (flat) to 1 (hard bins), shape (k,).
    """

    temperatures: FloatArray
    paper: FloatArray
    sharp: FloatArray
    sharpness: FloatArray


def displacement(basis: DirectionalBasis, other: DirectionalBasis) -> float:
    """Return δ = max_i ‖d_i − d_i′‖."""
    if basis.directions.shape != other.directions.shape:
        raise InputError(
            "The two bases must have the same number of directions and dimension.", code="conflict"
        )
    return float(np.linalg.norm(basis.directions - other.directions, axis=1).max())


def least_total(basis: DirectionalBasis, theta: FloatArray | None = None) -> float:
    """Return Z_min = inf_θ Σ_j ψ(θ·d_j), over samples of θ."""
    points = spread(basis.dimension) if theta is None else theta
    logs = basis.profile.log(np.clip(points @ basis.directions.T, -1.0, 1.0))
    return float(np.exp(np.logaddexp.reduce(logs, axis=1).min()))


def paper_constant(basis: DirectionalBasis, other: DirectionalBasis | None = None) -> float:
    """Return C of equation (1): in closed form for softmax, otherwise with Z_min ≥ ψ(cos h_n)."""
    n = len(basis)
    if isinstance(basis.profile, Softmax):
        eps = basis.temperature
        with np.errstate(over="ignore"):
            return float((n + 1) / n * np.exp(2.0 / eps) / eps)
    return (n + 1) * basis.profile.lipschitz / _min_total_bound(basis, other)


def sharp_constant(basis: DirectionalBasis) -> float:
    """Return K of equation (2), `inf` for a profile that vanishes somewhere."""
    return 1.0 / basis.temperature if isinstance(basis.profile, Softmax) else np.inf


def summed_constant(basis: DirectionalBasis, other: DirectionalBasis | None = None) -> float:
    """Return the constant of ‖F − F′‖₁: (2) where finite, (4) otherwise."""
    if isinstance(basis.profile, Softmax):
        return sharp_constant(basis)
    return 2.0 * len(basis) * basis.profile.lipschitz / _min_total_bound(basis, other)


def weight_change(
    basis: DirectionalBasis, other: DirectionalBasis, theta: FloatArray | None = None
) -> FloatArray:
    """Return Σ_i |w_i − w_i′| at each θ, shape (m,)."""
    points = spread(basis.dimension) if theta is None else theta
    return np.abs(basis.weights(points) - other.weights(points)).sum(axis=1)


def tradeoff(
    basis: DirectionalBasis, temperatures: Sequence[float], *, samples: int = 4096
) -> Tradeoff:
    """Compute the curve of the paper's remark for the directions of a basis."""
    theta = spread(basis.dimension, samples)
    bases = [DirectionalBasis.from_directions(basis.directions, float(t)) for t in temperatures]
    return Tradeoff(
        readonly(np.array(temperatures, dtype=np.float64)),
        readonly(np.array([paper_constant(r) for r in bases])),
        readonly(np.array([sharp_constant(r) for r in bases])),
        readonly(np.array([float(r.weights(theta).max(axis=1).mean()) for r in bases])),
    )


def _min_total_bound(basis: DirectionalBasis, other: DirectionalBasis | None) -> float:
    """Return a lower bound of Z_min: ψ rises and a d_j lies within h_n of any θ."""
    h = basis.mesh_norm if other is None else max(basis.mesh_norm, other.mesh_norm)
    return float(np.exp(basis.profile.log(np.array([np.cos(h)]))[0]))
