"""Bound how far a candidate start is from the true one: the dynamic error bound, made sound.

Let ŝ be a candidate start, s* the true one, δ = s* − ŝ, and F(t; s), J̃(t; s) what a trajectory
should observe.  F is Lipschitz, so even where J̃ jumps, as it does under occlusion,

    F(t; s*) − F(t; ŝ) = ∫₀¹ J̃(t; ŝ + uδ) δ du = J̃(t; ŝ) δ + r(t),           (1)
    ‖r(t)‖ ≤ κ ‖δ‖,     κ = sup ‖J̃(t; s) − J̃(t; ŝ)‖ over t and ‖s − ŝ‖ ≤ R,   (2)

as long as ‖δ‖ ≤ R and the space between is free.  The paper has Λ‖δ‖/2 in the place of κ, which
occlusion makes infinite.  Multiply (1) by J̃ᵀ and integrate; with L = sup ‖J̃(t; ŝ)‖ and
μ = λ_min(W) along the candidate,

    (μ − L T κ) ‖δ‖ ≤ L ∫ ‖F(t; s*) − F(t; ŝ)‖ dt.                            (3)

If L T κ ≤ μ/2, which is what T5 is for, this is the paper's

    ‖δ‖ ≤ (2L/μ) ∫ ‖F(t; s*) − F(t; ŝ)‖ dt.                                   (4)

A sharper form.  Stack the observations, each times the root of its weight, to one long
descriptor; then W = J̃ᵀJ̃, and with κ₂ = sup ‖J̃(s) − J̃(ŝ)‖ of the stack

    ‖δ‖ ≤ (∫ ‖F(t; s*) − F(t; ŝ)‖² dt)^½ / (√μ − κ₂)    whenever κ₂ < √μ.     (5)

Integrals over time are sums with positive weights, for which (1) to (5) hold as they stand.

The observation differs from F(t; s*).  Let its error be at most η, and that of the motion at most
e, so that a trajectory through s* misses each pose by at most e in the sense of (4) of
`observations`.  Then

    ‖F(t; s*) − F(t; ŝ)‖ ≤ ‖F_obs(t) − F(t; ŝ)‖ + η + L_R S e,                (6)

where L_R = sup ‖J̃‖ over the ball that is S e wider. S = (a + √(a² + 4))/2, with a the largest
‖Δ_t‖/ℓ (0 with a known heading), is the largest factor by which an error of a pose grows on its way
back to the start.

L is exact.  κ, κ₂ and L_R are suprema over samples, times a margin that is stated: estimates.  On
maps of cells F is a sum over rays and J a difference quotient, for which (1) does not hold; there
T3 is not verified.  That s* lies within R is an assumption: a far alias satisfies (4) as well.
"""

from dataclasses import dataclass

import numpy as np

from isovist import InputError
from isovist.arrays import ArrayLike, FloatArray, as_floats
from isovist.paper.dynamic.observability import gramians
from isovist.paper.settings import BoundSettings
from isovist.paper.static.assumptions import Assumption, ball_points
from isovist.paper.static.trajectory import Trajectory
from isovist.settings import default_of

_BLIND = 1e-10  # λ_min below this share of λ_max is rounding


@dataclass(frozen=True, slots=True)
class DynamicBound:
    """The bounds (4) and (5) at a candidate, and their assumptions.

    Attributes:
        mu: μ, least eigenvalue of W along the candidate, per m².
        lipschitz: L.
        variation: κ.
        bound: Of (4) on the size of the error of the start, in m; `inf` when it does not hold.
        sharp: Of (5) in m; it can hold where (4) does not.
        assumptions: T1 to T5 and the free space, one by one.
    """

    mu: float
    lipschitz: float
    variation: float
    bound: float
    sharp: float
    assumptions: tuple[Assumption, ...]

    @property
    def holds(self) -> bool:
        """Return whether every assumption that can be checked was checked and holds."""
        return all(assumption.holds for assumption in self.assumptions)


@dataclass(frozen=True, slots=True)
class DynamicPremises:
    """The premises of a dynamic bound.

    Attributes:
        radius: R, the distance within which the true start is assumed to be, in m.
        noise: η, bound on ‖F_obs(t) − F(t; s*)‖ for an exact motion.
        drift: e, bound on the error of the motion, in m.
    """

    radius: float
    noise: float = 0.0
    drift: float = 0.0

    def __post_init__(self) -> None:
        if not self.radius > 0.0 or self.noise < 0.0 or self.drift < 0.0:
            raise InputError.about("radius", "must be positive, `noise` and `drift` not negative.")


def dynamic_bound(
    trajectory: Trajectory,
    start: ArrayLike,
    observed: ArrayLike,
    premises: DynamicPremises,
    settings: BoundSettings | None = None,
) -> DynamicBound:
    """Return the bounds (4) and (5) for a candidate start.

    Args:
        trajectory: The motion, and the descriptors expected along it.
        start: ŝ, shape (D,), in m and rad.
        observed: F_obs, shape (k, n).
        premises: The ball, the noise and the drift.
        settings: Settings of the estimate of suprema over the ball.
    """
    settings = settings or default_of(BoundSettings)
    s = as_floats("start", start, trajectory.units.shape)
    lever = float(np.sqrt(trajectory.swing.max() ** 2 - 1.0))
    growth = 0.5 * (lever + float(np.hypot(lever, 2.0))) * premises.drift
    reach = premises.radius + growth
    around = s + ball_points(len(s), settings.trajectory_samples) * reach / trajectory.units
    free_space = _check_free_space(trajectory, s, reach, around)
    if not free_space.holds:
        return _unchecked_bound(free_space)
    c, T = trajectory.weights, float(trajectory.weights.sum())
    F, J = trajectory.at(s)
    gaps = np.linalg.norm(as_floats("observed", observed, F.shape) - F, axis=1)
    J = J / trajectory.units
    Js = trajectory.at(around)[1] / trajectory.units
    mu, largest = (float(x) for x in np.linalg.eigvalsh(gramians(J, c)[-1])[[0, -1]])
    L = float(np.linalg.norm(J, ord=2, axis=(1, 2)).max())
    L_ball, kappa, kappa_2 = (
        settings.margin * float(np.linalg.norm(matrices, ord=2, axis=(-2, -1)).max())
        for matrices in (Js, Js - J, stack(Js - J, c))
    )
    errors = gaps + (premises.noise + max(L, L_ball) * growth)
    assumptions = (
        *_motion_assumptions(premises.drift, L),
        _smoothness_assumption(trajectory.is_exact, kappa, settings),
        Assumption("T4", mu > _BLIND * largest, mu, 0.0,
                   "the least eigenvalue of W is positive"),
        Assumption("T5", L * T * kappa <= 0.5 * mu, L * T * kappa, 0.5 * mu,
                   f"L T κ ≤ μ/2, and the true start is within {premises.radius:g} m (assumed)"),
        free_space,
    )  # fmt: skip
    holds = all(a.holds for a in assumptions)
    bound = 2.0 * L / mu * float(errors @ c) if holds else np.inf
    root = float(np.sqrt(max(mu, 0.0)))
    is_sharp = all(a.holds for a in assumptions if a.name != "T5") and kappa_2 < root
    sharp = float(np.sqrt(errors**2 @ c)) / (root - kappa_2) if is_sharp else np.inf
    return DynamicBound(mu, L, kappa, float(bound), sharp, assumptions)


def _motion_assumptions(drift: float, L: float) -> tuple[Assumption, Assumption]:
    """Return T1 and T2 for a drift in m and L."""
    text = "odometry gives the motion exactly (assumed)"
    if drift != 0.0:
        text = f"odometry errs by at most {drift:g} m (assumed); what that does to F is added"
    return (
        Assumption("T1", True, drift, np.inf, text),
        Assumption("T2", bool(np.isfinite(L)), L, np.inf, "‖J‖ is bounded along the candidate"),
    )


def _smoothness_assumption(exact: bool, kappa: float, settings: BoundSettings) -> Assumption:
    """Return T3 for κ, which means something only where J is the derivative of F."""
    text = "not verified: J is a difference quotient on this map"
    if exact:
        samples, margin = settings.trajectory_samples, settings.margin
        text = f"J varies by at most κ over the ball ({samples} samples, times {margin:g})"
    return Assumption("T3", exact, kappa, np.inf, text)


def stack(J: FloatArray, weights: FloatArray) -> FloatArray:
    """Stack observations times the roots of their weights, shape (..., k n, D)."""
    scaled = J * np.sqrt(weights)[:, None, None]
    return scaled.reshape(*J.shape[:-3], -1, J.shape[-1])


def _check_free_space(
    trajectory: Trajectory, start: FloatArray, reach: float, around: FloatArray
) -> Assumption:
    """Check that the places between candidate and truth, `reach` m apart at most, are free."""
    clearance = trajectory.clearance(start)
    if not bool(trajectory.is_free(start)):
        is_free, text = False, "a place of the candidate is not in free space"
    elif clearance is None:
        is_free = bool(np.asarray(trajectory.is_free(around)).all())
        text = f"the places of {len(around)} starts in the ball are free (samples)"
    else:
        is_free = bool((clearance > reach * trajectory.swing).all())
        text = "no wall is as near as the ball reaches"
    return Assumption("way", is_free, reach, np.inf, text)


def _unchecked_bound(free_space: Assumption) -> DynamicBound:
    """Return no bound, because the space between candidate and truth is not free."""
    unchecked = tuple(
        Assumption(name, False, np.nan, np.nan, "not checked: the space between is not free")
        for name in ("T1", "T2", "T3", "T4", "T5")
    )
    return DynamicBound(0.0, np.inf, np.inf, np.inf, np.inf, (*unchecked, free_space))
