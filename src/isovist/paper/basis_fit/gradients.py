"""Fit bases to a map: gradients in directions and parameter, and an optimiser over them.

Three objectives over places p of a map, each to be made large at a fixed number of directions:

    mean      (1/P) Σ_p μ(p),         μ = σ_min(J),                           (1)
    worst     min_p μ(p), through −(1/β) log Σ_p exp(−β μ(p)) + (log P)/β,    (2)
    captured  Σ_p |f_p|² / Σ_p ‖f_p‖².                                        (3)

μ = uᵀ J v with singular vectors u, v, hence dμ = uᵀ dJ v.  For the captured energy,

    |f|² = max_α 2 αᵀF − αᵀ(G + ridge·I) α                                    (4)

up to a small fixed ridge that keeps it smooth where G is singular, so that at α = (G + ridge)⁻¹F

    d|f|² = 2 αᵀ dF − αᵀ dG α.                                                (5)

Everything is thus a sum Σ_s b_s uᵀ dw(θ_s), and with g = (log ψ)′ and ū = Σ_i w_i u_i

    ∂/∂d_j Σ_s b_s uᵀ w(θ_s) = Σ_s b_s w_j g_j (u_j − ū) θ_s.                 (6)

The optimiser works on free vectors x_i with d_i = x_i/‖x_i‖, whose gradient is tangent to the
sphere. If the parameter λ of the profile is free, it works on log λ too.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from isovist import DirectionalBasis, InputError
from isovist.arrays import FloatArray
from isovist.paper.descriptor.moments import Moments
from isovist.paper.descriptor.pull_back import pull_back
from isovist.paper.descriptor.quadrature import CircleSum, Rule
from isovist.paper.gram.weight_rules import sphere_rule
from isovist.renamed import accept_old_names


@dataclass(frozen=True, slots=True, eq=False)
class Slope:
    """An objective and its gradient.

    Attributes:
        value: The objective.
        directions: Its gradient in the directions, tangent to the sphere, shape (n, d).
        parameter: Its derivative in the parameter of the profile.
    """

    value: float
    directions: FloatArray
    parameter: float


Objective = Callable[[DirectionalBasis], Slope]
"""A function that returns the value of an objective at a basis, and its derivatives."""


@accept_old_names
@dataclass(frozen=True, slots=True, eq=False)
class OptimizedBasis:
    """An optimised basis.

    Attributes:
        basis: The basis.
        before: Objective of the start.
        after: Objective of the optimised basis.
        evaluations: Number of evaluations of the objective.
    """

    basis: DirectionalBasis
    before: float
    after: float
    evaluations: int


def mean_injectivity(moments: Moments) -> Objective:
    """Return the objective (1)."""

    def objective(basis: DirectionalBasis) -> Slope:
        mu, u, v = _smallest(moments.describe(basis)[1])
        return _injectivity_slope(basis, moments, float(mu.mean()), u, v, np.full(len(mu), 1.0))

    return objective


def worst_injectivity(moments: Moments, *, sharpness: float = 50.0) -> Objective:
    """Return the objective (2); `sharpness` is β, per unit of μ."""

    def objective(basis: DirectionalBasis) -> Slope:
        mu, u, v = _smallest(moments.describe(basis)[1])
        share = np.exp(-sharpness * (mu - mu.min()))
        value = mu.min() - np.log(share.mean()) / sharpness
        return _injectivity_slope(basis, moments, float(value), u, v, len(mu) * share / share.sum())

    return objective


def captured_energy(moments: Moments, *, ridge: float = 1e-12, terms: int = 512) -> Objective:
    """Return the objective (3).

    Args:
        moments: Moments of the places.
        ridge: Ridge of equation (4).
        terms: Terms of the sum for G on the circle; the sphere uses a rule of degree 3·√terms.
    """
    d = moments.directions.shape[1]
    rule = CircleSum(terms).rule() if d == 2 else sphere_rule(int(3.0 * np.sqrt(terms)))
    total = float(moments.energies.sum())

    def objective(basis: DirectionalBasis) -> Slope:
        F, _ = moments.describe(basis)
        w = basis.weights(rule.directions)
        G = w.T @ (rule.coefficients[:, None] * w)
        alpha = np.asarray(np.linalg.solve(G + ridge * np.eye(len(basis)), F.T).T, np.float64)
        value = float((2.0 * alpha * F).sum() - ((alpha @ G) * alpha).sum())
        value -= ridge * float((alpha**2).sum())
        by_signal = pull_back(
            basis, moments.directions, moments.values[:, 0], moments.owners, alpha
        )
        by_gram = _pull_back_gram(basis, rule, w, alpha)
        return Slope(
            value / total,
            2.0 * (by_signal[0] - by_gram[0]) / total,
            2.0 * (by_signal[1] - by_gram[1]) / total,
        )

    return objective


def fit_basis(
    basis: DirectionalBasis,
    objective: Objective,
    *,
    parameter_range: tuple[float, float] | None = None,
    steps: int = 100,
) -> OptimizedBasis:
    """Maximise an objective over bases by L-BFGS-B.

    Args:
        basis: Initial basis, with the number of directions of the result.
        objective: Objective, such as `mean_injectivity(moments)`.
        parameter_range: Smallest and largest parameter of the profile; fixed by default.
        steps: Maximum number of iterations.
    """
    n, d = basis.directions.shape
    if parameter_range is not None and not 0.0 < parameter_range[0] < parameter_range[1]:
        raise InputError.about("parameter_range", f"must be 0 < low < high, got {parameter_range}.")
    free = parameter_range is not None
    start = basis.directions.ravel()
    bounds: list[tuple[float | None, float | None]] = [(None, None)] * (n * d)
    if parameter_range is not None:
        low, high = parameter_range
        first = float(np.clip(basis.profile.parameter, low, high))
        start = np.append(start, np.log(first))
        bounds.append((float(np.log(low)), float(np.log(high))))
    before = objective(basis).value
    count = 0

    def at(x: FloatArray) -> DirectionalBasis:
        parameter = float(np.exp(x[-1])) if free else basis.profile.parameter
        return DirectionalBasis.from_directions(
            x[: n * d].reshape(n, d), profile=basis.profile.with_parameter(parameter)
        )

    def cost(x: FloatArray) -> tuple[float, FloatArray]:
        nonlocal count
        count += 1
        candidate = at(x)
        slope = objective(candidate)
        lengths = np.linalg.norm(x[: n * d].reshape(n, d), axis=1)
        gradient = (slope.directions / lengths[:, None]).ravel()
        if free:
            gradient = np.append(gradient, slope.parameter * candidate.profile.parameter)
        return -slope.value, -gradient

    solution = minimize(
        cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}
    )
    best = at(solution.x)
    return OptimizedBasis(best, before, objective(best).value, count)


def _smallest(J: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return μ, shape (P,), with its singular vectors u (P, n) and v (P, d)."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    return s[:, -1], np.ascontiguousarray(U[:, :, -1]), np.ascontiguousarray(Vt[:, -1, :])


def _injectivity_slope(
    basis: DirectionalBasis,
    moments: Moments,
    value: float,
    u: FloatArray,
    v: FloatArray,
    share: FloatArray,
) -> Slope:
    owners = moments.owners
    b = np.einsum("sd,sd->s", moments.values[:, 1:], (share[:, None] * v)[owners]) / len(share)
    by_direction, by_parameter = pull_back(basis, moments.directions, b, owners, u)
    return Slope(value, by_direction, by_parameter)


def _pull_back_gram(
    basis: DirectionalBasis, rule: Rule, w: FloatArray, alpha: FloatArray
) -> tuple[FloatArray, float]:
    """Return ½ Σ_p αᵀ dG α: (6) with b = c_t P f_p(θ_t), for all places at once."""
    t = np.clip(rule.directions @ basis.directions.T, -1.0, 1.0)
    # Σ_p (Pf)(α_j − Pf), with Pf = α·w: needs only A = Σ_p α αᵀ.
    A = alpha.T @ alpha
    wA = w @ A
    spread = w * (wA - np.einsum("tn,tn->t", wA, w)[:, None]) * rule.coefficients[:, None]
    gradient = (spread * basis.profile.slope(t)).T @ rule.directions
    along = np.einsum("nd,nd->n", gradient, basis.directions)
    slope = float((spread * basis.profile.parameter_slope(t)).sum())
    return gradient - along[:, None] * basis.directions, slope
