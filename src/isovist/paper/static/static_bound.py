"""The static bound at a place, with its assumptions one by one, heading known or not.

A single observation is a course of one step (`course`), so the start s is the place, with the
heading where it is not known.  With μ = σ_min(J̃(ŝ)), L = sup ‖J̃‖ and κ = sup ‖J̃ − J̃(ŝ)‖ over a ball
of radius R around ŝ that holds the true s*, and η the error of the observation,

    nearest node   ‖ŝ − s*‖ ≤ (L h + 2η)/(μ − κ),                                           (1)
    estimate       ‖ŝ − s*‖ ≤ (‖F_obs − F(ŝ)‖ + η)/(μ − κ),                                 (2)

as in (2) and (3) of `static`.  The truth has a node within h of it, whose descriptor is within
L h + η of the observed one; when every node outside the ball is farther off than that, the truth is
not out there, as far as L holds there too.
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import ArrayLike, FloatArray, as_floats
from isovist.errors import InputError
from isovist.paper.dynamic.dynamic_bound import MARGIN, Assumption, ball
from isovist.paper.dynamic.observations import Course

SAMPLES = 64
"""Of the ball."""


@dataclass(frozen=True, slots=True)
class PlaceBound:
    """A bound on the error of a place, and what it rests on.

    Attributes:
        mu: μ, per m.
        lipschitz: L.
        variation: κ.
        bound: In m; `inf` when it does not hold.
        assumptions: One by one.
    """

    mu: float
    lipschitz: float
    variation: float
    bound: float
    assumptions: tuple[Assumption, ...]

    @property
    def holds(self) -> bool:
        """Whether every assumption that can be checked was checked and holds."""
        return all(assumption.holds for assumption in self.assumptions)


def no_bound(mu: float, why: str) -> PlaceBound:
    """None, because J is not known to be the derivative of F."""
    assumption = Assumption("derivative", False, np.nan, np.nan, why)
    return PlaceBound(mu, np.inf, np.inf, np.inf, (assumption,))


def place_bound(
    course: Course,
    place: ArrayLike,
    observed: FloatArray,
    *,
    covering_radius: float,
    noise: float,
    radius: float,
    alias: float,
    node: bool,
    samples: int = SAMPLES,
) -> PlaceBound:
    """The bound (1) or (2).

    Args:
        course: Of one observation.
        place: ŝ, shape (D,), in m and rad.
        observed: F_obs, shape (n,).
        covering_radius: h of the grid, in m.
        noise: η, bound on ‖F_obs − F(s*)‖.
        radius: R in m.
        alias: Distance of F_obs to the nearest node outside the ball.
        node: Whether ŝ is the nearest node, (1), or any place, (2).
        samples: Of the ball.
    """
    s = as_floats("place", place, course.units.shape)
    if not radius > 0.0 or covering_radius < 0.0 or noise < 0.0:
        raise InputError.about(
            "radius", "must be positive, `covering_radius` and `noise` not negative."
        )
    around = s + ball(len(s), samples) * radius / course.units
    clearance = course.clearance(s)
    if clearance is None:
        free, room = bool(np.asarray(course.free(around)).all()), np.nan
    else:
        room = float(clearance.min())
        free = room > radius * (1.0 + 1e-9)
    F, J = (part[0] for part in course.at(s))
    J = J / course.units
    mu = float(np.linalg.svd(J, compute_uv=False)[-1])
    L = kappa = np.inf
    if free:
        Js = course.at(around)[1][:, 0] / course.units
        L = MARGIN * float(np.linalg.norm(Js, ord=2, axis=(1, 2)).max())
        kappa = MARGIN * float(np.linalg.norm(Js - J, ord=2, axis=(1, 2)).max())
    off = float(np.linalg.norm(observed - F))
    reach = L * covering_radius + noise
    sampled = f"largest of {samples} samples, times {MARGIN:g}"
    assumptions = (
        Assumption("derivative", course.exact, np.nan, np.nan, "J is the derivative of F"
                   if course.exact else "J is a difference quotient on this map: not verified"),
        Assumption("room", free, room, radius, f"no wall is within {radius:g} m"),
        Assumption("variation", kappa < mu, kappa, mu,
                   f"J varies by less than μ within {radius:g} m ({sampled})"),
        Assumption("node", covering_radius <= radius, covering_radius, radius,
                   "a node is as near to the true place as the grid covers, inside that"),
        Assumption("noise", True, noise, np.inf,
                   f"the observed descriptor is within {noise:.3g} of the true one (assumed)"),
        Assumption("alias", alias > reach, alias, reach,
                   "no node farther off explains the observation, if L holds there too"),
    )  # fmt: skip
    holds = all(assumption.holds for assumption in assumptions)
    gap = reach + noise if node else off + noise
    return PlaceBound(mu, L, kappa, gap / (mu - kappa) if holds else np.inf, assumptions)
