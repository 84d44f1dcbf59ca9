"""Bound the error of a place from one observation, with every assumption, heading known or not.

A single observation is a trajectory of one step (`observations`), so the start s is the place, with
the heading where it is not known.  With μ = σ_min(J̃(ŝ)), L = sup ‖J̃‖ and κ = sup ‖J̃ − J̃(ŝ)‖ over a
ball of radius R around ŝ that holds the true s*, and η the error of the observation,

    nearest node   ‖ŝ − s*‖ ≤ (L h + 2η)/(μ − κ),                                           (1)
    estimate       ‖ŝ − s*‖ ≤ (‖F_obs − F(ŝ)‖ + η)/(μ − κ),                                 (2)

as in (2) and (3) of `gauss_newton`.  The truth has a node within h of it, whose descriptor is
within L h + η of the observed one.  If every node outside the ball differs more than that, the
truth is not out there, as far as L holds there too.
"""

from dataclasses import dataclass

import numpy as np

from isovist import InputError
from isovist.arrays import ArrayLike, FloatArray, as_floats
from isovist.paper.settings import BoundSettings
from isovist.paper.static.assumptions import Assumption, ball_points
from isovist.paper.static.gauss_newton import injectivity
from isovist.paper.static.trajectory import Trajectory
from isovist.settings import default_of


@dataclass(frozen=True, slots=True)
class Premises:
    """The premises of a static bound.

    Attributes:
        radius: R, the distance within which the true place is assumed to be, in m.
        covering_radius: Covering radius h of the grid, in m.
        noise: η, bound on ‖F_obs − F(s*)‖.
        alias_distance: Distance of F_obs to the nearest node outside the ball.
    """

    radius: float
    covering_radius: float
    noise: float
    alias_distance: float = np.inf

    def __post_init__(self) -> None:
        if not self.radius > 0.0 or self.covering_radius < 0.0 or self.noise < 0.0:
            raise InputError.about(
                "radius", "must be positive, `covering_radius` and `noise` not negative."
            )


@dataclass(frozen=True, slots=True)
class StaticBound:
    """A bound on the error of a place, and its assumptions.

    Attributes:
        mu: μ, per m.
        lipschitz: L.
        variation: κ.
        bound: Bound on the error in m; `inf` when it does not hold.
        assumptions: The assumptions, one by one.
    """

    mu: float
    lipschitz: float
    variation: float
    bound: float
    assumptions: tuple[Assumption, ...]

    @property
    def holds(self) -> bool:
        """Return whether every assumption that can be checked was checked and holds."""
        return all(assumption.holds for assumption in self.assumptions)


def refuse_bound(mu: float, reason: str) -> StaticBound:
    """Return no bound, because J is not known to be the derivative of F."""
    assumption = Assumption("derivative", False, np.nan, np.nan, reason)
    return StaticBound(mu, np.inf, np.inf, np.inf, (assumption,))


def static_bound(
    trajectory: Trajectory,
    place: ArrayLike,
    observed: FloatArray,
    premises: Premises,
    *,
    is_node: bool,
    settings: BoundSettings | None = None,
) -> StaticBound:
    """Return the bound (1) of a nearest node, or (2) of any place.

    Args:
        trajectory: One observation as a function of the place.
        place: ŝ, shape (D,), in m and rad.
        observed: F_obs, shape (n,).
        premises: The ball, the grid and the noise.
        is_node: Whether ŝ is the nearest node (1) or any place (2).
        settings: Settings of the estimate of suprema over the ball.
    """
    settings = settings or default_of(BoundSettings)
    s = as_floats("place", place, trajectory.units.shape)
    F, J = (part[0] for part in trajectory.at(s))
    J = J / trajectory.units
    mu, R, h, eta = float(injectivity(J)), premises.radius, premises.covering_radius, premises.noise
    ball = _sample_ball(trajectory, s, J, R, settings)
    reach = ball.lipschitz * h + eta
    sampled = f"largest of {settings.place_samples} samples, times {settings.margin:g}"
    exact = trajectory.is_exact
    assumptions = (
        Assumption("derivative", exact, np.nan, np.nan, "J is the derivative of F"
                   if exact else "J is a difference quotient on this map: not verified"),
        Assumption("room", ball.is_free, ball.room, R, f"no wall is within {R:g} m"),
        Assumption("variation", ball.variation < mu, ball.variation, mu,
                   f"J varies by less than μ within {R:g} m ({sampled})"),
        Assumption("node", h <= R, h, R,
                   "a node is as near to the true place as the grid covers, inside that"),
        Assumption("noise", True, eta, np.inf,
                   f"the observed descriptor is within {eta:.3g} of the true one (assumed)"),
        Assumption("alias", premises.alias_distance > reach, premises.alias_distance, reach,
                   "no node farther off explains the observation, if L holds there too"),
    )  # fmt: skip
    holds = all(assumption.holds for assumption in assumptions)
    gap = (reach if is_node else float(np.linalg.norm(observed - F))) + eta
    bound = gap / (mu - ball.variation) if holds else np.inf
    return StaticBound(mu, ball.lipschitz, ball.variation, bound, assumptions)


@dataclass(frozen=True, slots=True)
class _Ball:
    """Samples of a ball around a place: L, κ, and whether it is free of walls."""

    lipschitz: float
    variation: float
    is_free: bool
    room: float


def _sample_ball(
    trajectory: Trajectory, s: FloatArray, J: FloatArray, radius: float, settings: BoundSettings
) -> _Ball:
    """Estimate the suprema L and κ over a ball (radius in m) from samples."""
    around = s + ball_points(len(s), settings.place_samples) * radius / trajectory.units
    clearance = trajectory.clearance(s)
    if clearance is None:
        is_free, room = bool(np.asarray(trajectory.is_free(around)).all()), np.nan
    else:
        room = float(clearance.min())
        is_free = room > radius * (1.0 + 1e-9)
    if not is_free:
        return _Ball(np.inf, np.inf, is_free, room)
    Js = trajectory.at(around)[1][:, 0] / trajectory.units
    L, kappa = (
        settings.margin * float(np.linalg.norm(matrices, ord=2, axis=(1, 2)).max())
        for matrices in (Js, Js - J)
    )
    return _Ball(L, kappa, is_free, room)
