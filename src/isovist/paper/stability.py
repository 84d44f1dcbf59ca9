"""Stability: how much F can change when the directions of a rose move.

Let δ = max_i ‖d_i − d_i′‖.  The paper bounds each weight by

    |w_i − w_i′| ≤ C δ,     C = (n + 1) L_ψ / Z_min,                          (1)

with L_ψ a Lipschitz constant of ψ and Z_min the smallest Σ_j ψ(θ·d_j) of either rose; hence
|F_i − F_i′| ≤ C δ ‖f‖₁ and ‖F − F′‖₂ ≤ √n C δ ‖f‖₁.  For softmax Z_min ≥ n e^(−1/ε) gives
C ≤ (n + 1) e^(2/ε)/(n ε): 8e19 at n = 16, ε = 0.05, too large to be of use.

The sharp constant.  Let g = (log ψ)′ be bounded by K on [−1, 1].  Then

    ‖F − F′‖₁ ≤ K δ ‖f‖₁,                                                     (2)

and K = 1/ε for softmax: no n, no exponential.

Proof.  Move along d_i(τ) = d_i + τ (d_i′ − d_i), 0 ≤ τ ≤ 1; d_i(τ) lies in the unit ball, so
t_i = θ·d_i(τ) stays in [−1, 1], and |dt_i/dτ| ≤ δ.  With y_i = g(t_i) dt_i/dτ, |y_i| ≤ Kδ, and ȳ
the mean of y under the weights,

    dw_i/dτ = w_i (y_i − ȳ),     Σ_i |dw_i/dτ| = Σ_i w_i |y_i − ȳ| ≤ K δ,     (3)

because the mean absolute deviation of numbers in [−M, M] is at most M: it is at most the standard
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

from isovist.basis import Rose, Softmax
from isovist.errors import InputError
from isovist.paper.gram.weight_rules import spread
from isovist.types import FloatArray, readonly


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


def displacement(rose: Rose, other: Rose) -> float:
    """δ = max_i ‖d_i − d_i′‖."""
    if rose.directions.shape != other.directions.shape:
        raise InputError(
            "The two roses must have the same number of directions and dimension.", code="conflict"
        )
    return float(np.linalg.norm(rose.directions - other.directions, axis=1).max())


def least_total(rose: Rose, theta: FloatArray | None = None) -> float:
    """Z_min = inf_θ Σ_j ψ(θ·d_j), as found at samples of θ."""
    points = spread(rose.dimension) if theta is None else theta
    logs = rose.profile.log(np.clip(points @ rose.directions.T, -1.0, 1.0))
    return float(np.exp(np.logaddexp.reduce(logs, axis=1).min()))


def paper_constant(rose: Rose, other: Rose | None = None) -> float:
    """C of equation (1): in closed form for softmax, otherwise with Z_min ≥ ψ(cos h_n)."""
    n = len(rose)
    if isinstance(rose.profile, Softmax):
        eps = rose.temperature
        with np.errstate(over="ignore"):
            return float((n + 1) / n * np.exp(2.0 / eps) / eps)
    return (n + 1) * rose.profile.lipschitz / _least_of_both(rose, other)


def sharp_constant(rose: Rose) -> float:
    """K of equation (2), `inf` for a profile that vanishes somewhere."""
    return 1.0 / rose.temperature if isinstance(rose.profile, Softmax) else np.inf


def summed_constant(rose: Rose, other: Rose | None = None) -> float:
    """The constant of ‖F − F′‖₁ that is best known: (2) where finite, (4) otherwise."""
    if isinstance(rose.profile, Softmax):
        return sharp_constant(rose)
    return 2.0 * len(rose) * rose.profile.lipschitz / _least_of_both(rose, other)


def change_bound(rose: Rose, other: Rose, signal_mass: float) -> float:
    """Bound on ‖F − F′‖₁ for two roses of one profile and a signal with ∫|f| = `signal_mass`."""
    if rose.profile != other.profile:
        raise InputError("The two roses must share their profile.", code="conflict")
    return summed_constant(rose, other) * displacement(rose, other) * signal_mass


def weight_change(rose: Rose, other: Rose, theta: FloatArray | None = None) -> FloatArray:
    """Σ_i |w_i − w_i′| at each θ, shape (m,)."""
    points = spread(rose.dimension) if theta is None else theta
    return np.abs(rose.weights(points) - other.weights(points)).sum(axis=1)


def tradeoff(rose: Rose, temperatures: Sequence[float], *, samples: int = 4096) -> Tradeoff:
    """The curve of the paper's remark for the directions of a rose, averaged over samples of θ."""
    theta = spread(rose.dimension, samples)
    roses = [Rose.from_directions(rose.directions, float(t)) for t in temperatures]
    return Tradeoff(
        readonly(np.array(temperatures, dtype=np.float64)),
        readonly(np.array([paper_constant(r) for r in roses])),
        readonly(np.array([sharp_constant(r) for r in roses])),
        readonly(np.array([float(r.weights(theta).max(axis=1).mean()) for r in roses])),
    )


def _least_of_both(rose: Rose, other: Rose | None) -> float:
    """A lower bound of Z_min: some d_j lies within h_n of any θ, and ψ rises, so Z ≥ ψ(cos h_n)."""
    h = rose.mesh_norm if other is None else max(rose.mesh_norm, other.mesh_norm)
    return float(np.exp(rose.profile.log(np.array([np.cos(h)]))[0]))
