"""How far a candidate start can be from the true one: the dynamic error bound, made sound.

Let ŝ be a candidate start, s* the true one, δ = s* − ŝ, and F(t; s), J̃(t; s) what a course should
observe.  F is Lipschitz, so even where J̃ jumps, as it does under occlusion,

    F(t; s*) − F(t; ŝ) = ∫₀¹ J̃(t; ŝ + uδ) δ du = J̃(t; ŝ) δ + r(t),           (1)
    ‖r(t)‖ ≤ κ ‖δ‖,     κ = sup ‖J̃(t; s) − J̃(t; ŝ)‖ over t and ‖s − ŝ‖ ≤ R,   (2)

as long as ‖δ‖ ≤ R and the way between is free.  The paper has Λ‖δ‖/2 in the place of κ, which
occlusion makes infinite.  Multiply (1) by J̃ᵀ and integrate; with L = sup ‖J̃(t; ŝ)‖ and
μ = λ_min(W) along the candidate,

    (μ − L T κ) ‖δ‖ ≤ L ∫ ‖F(t; s*) − F(t; ŝ)‖ dt.                            (3)

If L T κ ≤ μ/2, which is what T5 is for, this is the paper's

    ‖δ‖ ≤ (2L/μ) ∫ ‖F(t; s*) − F(t; ŝ)‖ dt.                                   (4)

A sharper form.  Stack the observations, each times the root of its weight, to one long
descriptor; then W = J̃ᵀJ̃, and with κ₂ = sup ‖J̃(s) − J̃(ŝ)‖ of the stack

    ‖δ‖ ≤ (∫ ‖F(t; s*) − F(t; ŝ)‖² dt)^½ / (√μ − κ₂)    whenever κ₂ < √μ.     (5)

Integrals over time are sums with positive weights, for which (1) to (5) hold as they stand.

What is observed is not F(t; s*).  If it is off by at most η, and the motion by at most e (so that
a course through s* misses each pose by e at most, in the sense of (4) of `course`), then

    ‖F(t; s*) − F(t; ŝ)‖ ≤ ‖F_obs(t) − F(t; ŝ)‖ + η + L_R S e,                (6)

where S = (a + √(a² + 4))/2, with a = ‖Δ_t‖/ℓ at its largest (0 with a known heading), is how much
an error of a pose can grow when it is taken back to the start, and L_R = sup ‖J̃‖ over the ball
that is S e wider.

L is exact.  κ, κ₂ and L_R are suprema over samples, times a margin that is stated: estimates.  On
maps of cells F is a sum over rays and J a difference quotient, for which (1) does not hold; there
T3 is not verified.  That s* lies within R is an assumption: a far alias satisfies (4) as well.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from isovist.arrays import ArrayLike, FloatArray, as_floats
from isovist.errors import InputError
from isovist.paper.dynamic.observability import gramians
from isovist.paper.dynamic.observations import Course

MARGIN = 1.25
"""On suprema that are known only at samples."""
SAMPLES = 32
"""Starts at which a ball is sampled."""
_BLIND = 1e-10  # λ_min below this share of λ_max is rounding


@dataclass(frozen=True, slots=True)
class Assumption:
    """One of T1 to T5, or the free way.

    Attributes:
        name: "T1" to "T5", or "way".
        holds: Whether it does, as far as it can be checked.
        value: What was found.
        limit: What it may be at most (T4: must exceed).
        text: What was checked and what had to be assumed.
    """

    name: str
    holds: bool
    value: float
    limit: float
    text: str


@dataclass(frozen=True, slots=True)
class DynamicBound:
    """The bounds (4) and (5) at a candidate, and what they rest on.

    Attributes:
        mu: μ, least eigenvalue of W along the candidate, per m².
        lipschitz: L.
        variation: κ.
        bound: Of (4) on the size of the error of the start, in m; `inf` when it does not hold.
        sharp: Of (5), likewise; it can hold where (4) does not.
        assumptions: T1 to T5 and the free way, one by one.
    """

    mu: float
    lipschitz: float
    variation: float
    bound: float
    sharp: float
    assumptions: tuple[Assumption, ...]

    @property
    def holds(self) -> bool:
        """Whether every assumption that can be checked was checked and holds."""
        return all(assumption.holds for assumption in self.assumptions)


def dynamic_bound(
    course: Course,
    start: ArrayLike,
    observed: ArrayLike,
    *,
    radius: float,
    noise: float = 0.0,
    drift: float = 0.0,
    samples: int = SAMPLES,
) -> DynamicBound:
    """The bounds for a candidate start.

    Args:
        course: The motion, and what it should observe.
        start: ŝ, shape (D,), in m and rad.
        observed: F_obs, shape (k, n).
        radius: R in m: the true start is taken to be within it.
        noise: η, bound on ‖F_obs(t) − F(t; s*)‖ if the motion were exact.
        drift: e in m, bound on the error of the motion.
        samples: Starts at which the ball is sampled.
    """
    s = as_floats("start", start, course.units.shape)
    if not radius > 0.0 or noise < 0.0 or drift < 0.0:
        raise InputError.about("radius", "must be positive, `noise` and `drift` not negative.")
    c, T = course.weights, float(course.weights.sum())
    lever = float(np.sqrt(course.swing.max() ** 2 - 1.0))
    grown = 0.5 * (lever + float(np.hypot(lever, 2.0))) * drift
    wide = radius + grown
    around = s + ball(len(s), samples) * wide / course.units
    way, way_text = _way(course, s, wide, around)
    if not way:
        return _without_a_way(wide, way_text)
    F, J = course.at(s)
    gaps = np.linalg.norm(as_floats("observed", observed, F.shape) - F, axis=1)
    J = J / course.units
    Js = course.at(around)[1] / course.units
    mu, largest = np.linalg.eigvalsh(gramians(J, c)[-1])[[0, -1]]
    L = float(np.linalg.norm(J, ord=2, axis=(1, 2)).max())
    L_wide = max(L, MARGIN * float(np.linalg.norm(Js, ord=2, axis=(-2, -1)).max()))
    kappa = MARGIN * float(np.linalg.norm(Js - J, ord=2, axis=(-2, -1)).max())
    kappa_2 = MARGIN * float(np.linalg.norm(stack(Js - J, c), ord=2, axis=(-2, -1)).max())
    extra = noise + L_wide * grown
    assumptions = (
        Assumption("T1", True, drift, np.inf,
                   "odometry gives the motion exactly (assumed)" if drift == 0.0 else
                   f"odometry errs by at most {drift:g} m (assumed); what that does to F is added"),
        Assumption("T2", bool(np.isfinite(L)), L, np.inf, "‖J‖ is bounded along the candidate"),
        Assumption("T3", course.exact, kappa, np.inf,
                   f"J varies by at most κ over the ball ({samples} samples, times {MARGIN:g})"
                   if course.exact else "not verified: J is a difference quotient on this map"),
        Assumption("T4", bool(mu > _BLIND * largest), float(mu), 0.0,
                   "the least eigenvalue of W is positive"),
        Assumption("T5", bool(L * T * kappa <= 0.5 * mu), L * T * kappa, 0.5 * float(mu),
                   f"L T κ ≤ μ/2, and the true start is within {radius:g} m (assumed)"),
        Assumption("way", True, wide, np.inf, way_text),
    )  # fmt: skip
    holds = all(a.holds for a in assumptions)
    bound = 2.0 * L / mu * float((gaps + extra) @ c) if holds else np.inf
    root = float(np.sqrt(max(mu, 0.0)))
    able = all(a.holds for a in assumptions if a.name != "T5") and kappa_2 < root
    sharp = float(np.sqrt((gaps + extra) ** 2 @ c)) / (root - kappa_2) if able else np.inf
    return DynamicBound(float(mu), L, kappa, float(bound), sharp, assumptions)


def ball(d: int, samples: int) -> FloatArray:
    """Points of the unit ball: the ends of the axes, then spread evenly, shape (samples, d)."""
    ends = np.concatenate([np.eye(d), -np.eye(d)])
    k = np.arange(max(0, samples - 2 * d)) + 0.5
    # Multiples of the roots of x^(d+1) = x + 1 fill the cube evenly.
    root = 2.0
    for _ in range(64):
        root = (1.0 + root) ** (1.0 / (d + 1))
    cube = (k[:, None] * root ** -np.arange(1.0, d + 1.0)) % 1.0
    radius = cube[:, :1] ** (1.0 / d)
    turn = 2.0 * np.pi * cube[:, 1]
    if d == 2:
        unit = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    elif d > 3:
        radius = ((k[:, None] * (0.5 * np.sqrt(5.0) - 0.5)) % 1.0) ** (1.0 / d)
        unit = ndtri(cube)
        unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    else:
        z = 2.0 * cube[:, 2] - 1.0
        flat = np.sqrt(1.0 - z * z)
        unit = np.stack([flat * np.cos(turn), flat * np.sin(turn), z], axis=1)
    return np.concatenate([ends, radius * unit])[:samples]


def stack(J: FloatArray, weights: FloatArray) -> FloatArray:
    """Observations times the roots of their weights, one below the other, (..., k n, D)."""
    scaled = J * np.sqrt(weights)[:, None, None]
    return scaled.reshape(*J.shape[:-3], -1, J.shape[-1])


def _way(course: Course, start: FloatArray, wide: float, around: FloatArray) -> tuple[bool, str]:
    """Whether the places between candidate and truth are free, and how that was found out."""
    if not bool(course.free(start)):
        return False, "a place of the candidate is not in free space"
    clearance = course.clearance(start)
    if clearance is None:
        free = bool(np.asarray(course.free(around)).all())
        return free, f"the places of {len(around)} starts in the ball are free (samples)"
    return bool((clearance > wide * course.swing).all()), "no wall is as near as the ball reaches"


def _without_a_way(wide: float, text: str) -> DynamicBound:
    unknown = tuple(
        Assumption(name, False, np.nan, np.nan, "not checked: the way is not free")
        for name in ("T1", "T2", "T3", "T4", "T5")
    )
    way = Assumption("way", False, wide, np.inf, text)
    return DynamicBound(0.0, np.inf, np.inf, np.inf, np.inf, (*unknown, way))
