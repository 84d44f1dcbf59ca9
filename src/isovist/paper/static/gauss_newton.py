"""Localize as in the paper: Gauss–Newton on descriptors, and the error bound that it supports.

Given an observed descriptor F_obs, Gauss–Newton repeats

    p ← p + (JᵀJ + λI)⁻¹ Jᵀ (F_obs − F(p)),                                   (1)

with λ = 0 while the residual falls, a larger λ when it does not, and steps no longer than the
trust radius.  The local injectivity μ(p) = σ_min(J(p)) says how fast F leaves F(p).

The bound.  F is Lipschitz, so F(q) − F(p) = ∫₀¹ J(p + t(q − p)) (q − p) dt even where J jumps
(on lines through two corners).  If ‖J(x) − J(p̂)‖ ≤ κ < μ(p̂) on a disc of radius R around p̂
that holds the true place p*, then

    ‖p̂ − p*‖ ≤ ‖F(p̂) − F(p*)‖ / (μ − κ).                                     (2)

For p̂ the node with the nearest descriptor, ‖F(p̂) − F(p*)‖ ≤ L h + 2η.  The descriptor of the node
nearest to p* is at most L h from F(p*), hence L h + η from the observation.  That of p̂ is no
farther from the observation, which is within η of F(p*).  So

    ‖p̂ − p*‖ ≤ (L h + 2η) / (μ − κ).                                         (3)

Nothing in (3) excludes a far alias with the same descriptor: that p* lies in the disc is an
assumption, and must be checked by other means.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats, readonly
from isovist.maps import Map
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.settings import LocalizerSettings
from isovist.settings import default_of


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """The path of Gauss–Newton.

    Attributes:
        positions: Accepted places, the start first, shape (k, d), in m.
        residuals: ‖F(p) − F_obs‖₂ at each, shape (k,).
        converged: Whether the last step was below the tolerance.
    """

    positions: FloatArray
    residuals: FloatArray
    converged: bool


@dataclass(frozen=True, slots=True)
class StepLimits:
    """The limits on the steps of damped Gauss–Newton.

    Attributes:
        max_steps: Maximum number of accepted steps.
        max_tries: Maximum number of steps that are tried.
        tolerance_m: Length in m below which a step is the last one.
        trust_radius_m: Maximum length of a step, in m.
    """

    max_steps: int = default_of(LocalizerSettings).max_steps
    max_tries: float = np.inf
    tolerance_m: float = 1e-12
    trust_radius_m: float = default_of(LocalizerSettings).trust_radius_m

    @classmethod
    def bounded(cls, tolerance_m: float = 1e-12) -> "StepLimits":
        """Return limits that allow four tries for each step."""
        return cls(max_tries=4 * default_of(LocalizerSettings).max_steps, tolerance_m=tolerance_m)


@dataclass(frozen=True, slots=True)
class Linearization:
    """A least-squares problem at one place.

    Attributes:
        cost: The cost, which must fall.
        residuals: r, shape (m,).
        slopes: −∂r/∂p per m, shape (m, D).
    """

    cost: float
    residuals: FloatArray
    slopes: FloatArray

    @property
    def mu(self) -> float:
        """Return σ_min of the slopes, per m."""
        return float(injectivity(self.slopes))


@dataclass(frozen=True, slots=True)
class Problem:
    """A least-squares problem over places.

    Attributes:
        linearize: Gives the problem at a place, shape (D,).
        is_free: Whether a place may be stepped to.
        units: Length in m that a unit of each coordinate is worth, shape (D,).
    """

    linearize: Callable[[FloatArray], Linearization]
    is_free: Callable[[FloatArray], bool | BoolArray]
    units: FloatArray


@dataclass(frozen=True, slots=True)
class Solution:
    """The result of damped Gauss–Newton.

    Attributes:
        path: Accepted places, the start first, in m and rad.
        costs: Cost of each.
        end: The problem at the last place.
        last_step: Length of the last step that was tried, in m.
    """

    path: list[FloatArray]
    costs: list[float]
    end: Linearization
    last_step: float


def injectivity(J: FloatArray) -> FloatArray:
    """Return μ = σ_min(J) for J of shape (..., n, d)."""
    return np.asarray(np.linalg.svd(J, compute_uv=False)[..., -1], dtype=np.float64)


def gauss_newton(
    descriptor: Descriptor,
    world: Map,
    F_obs: ArrayLike,
    start: ArrayLike,
    limits: StepLimits | None = None,
) -> Descent:
    """Refine a place until its descriptor equals the observed one, equation (1).

    Args:
        descriptor: Computes F and J.
        world: The map.
        F_obs: The observed descriptor, shape (n,).
        start: Start, shape (d,), in m.
        limits: Limits on the steps.
    """
    limits = limits or StepLimits()
    target, d = as_floats("F_obs", F_obs, (len(descriptor.basis),)), world.dimension

    def linearize(p: FloatArray) -> Linearization:
        F, J = descriptor.at(world, p, jacobian=True)
        return Linearization(float(np.linalg.norm(F - target)), target - F, J)

    problem = Problem(linearize, world.contains, np.ones(d))
    solution = damped_gauss_newton(problem, as_floats("start", start, (d,)), limits)
    return Descent(
        readonly(np.array(solution.path)),
        readonly(np.array(solution.costs)),
        solution.last_step < max(limits.tolerance_m, 1e-9),
    )


def damped_gauss_newton(problem: Problem, start: FloatArray, limits: StepLimits) -> Solution:
    """Repeat step (1) while the cost falls, and with more damping where it does not.

    Args:
        problem: The residuals and their slopes.
        start: Where to begin, shape (D,), in m and rad.
        limits: When to stop, and the longest step.
    """
    point = problem.linearize(start)
    path, costs, damping, length, tries = [start], [point.cost], 0.0, np.inf, limits.max_tries
    while len(path) <= limits.max_steps and tries > 0 and not length < limits.tolerance_m:
        tries -= 1
        A = point.slopes
        H = A.T @ A
        step = np.linalg.lstsq(H + damping * np.eye(len(H)), A.T @ point.residuals, rcond=None)[0]
        length = float(np.linalg.norm(step))
        step *= min(1.0, limits.trust_radius_m / length) if length > 0.0 else 1.0
        q = path[-1] + step / problem.units
        if problem.is_free(q) and (trial := problem.linearize(q)).cost < costs[-1]:
            point, damping = trial, damping / 8.0
            path.append(q)
            costs.append(point.cost)
        else:
            damping = max(8.0 * damping, 1e-3 * float(np.trace(H)))
    return Solution(path, costs, point, length)
