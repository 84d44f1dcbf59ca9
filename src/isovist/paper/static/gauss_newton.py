"""Static localization as in the paper: a grid, Gauss–Newton on descriptors, what they certify.

Given an observed descriptor F_obs, Gauss–Newton repeats

    p ← p + (JᵀJ + λI)⁻¹ Jᵀ (F_obs − F(p)),                                   (1)

with λ = 0 while the residual falls, a larger λ when it does not, and steps no longer than the
trust radius.  The local injectivity μ(p) = σ_min(J(p)) says how fast F leaves F(p).

The bound.  F is Lipschitz, so F(q) − F(p) = ∫₀¹ J(p + t(q − p)) (q − p) dt even where J jumps
(on lines through two corners).  If ‖J(x) − J(p̂)‖ ≤ κ < μ(p̂) on a disc of radius R around p̂
that holds the true place p*, then

    ‖p̂ − p*‖ ≤ ‖F(p̂) − F(p*)‖ / (μ − κ).                                     (2)

For the nearest node in descriptor space, ‖F(p̂) − F(p*)‖ ≤ L h + 2η: the node nearest in space
is at most L h away from F(p*), hence L h + η from the observation, p̂ is no farther from it,
and the observation is within η of F(p*).  So

    ‖p̂ − p*‖ ≤ (L h + 2η) / (μ − κ).                                         (3)

Nothing in (3) excludes a far alias with the same descriptor: that p* lies in the disc is an
assumption, and must be checked by other means.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats, readonly
from isovist.errors import InputError
from isovist.maps.base import Map
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.paper.descriptor.descriptor import Descriptor

MARGIN = 1.25  # on suprema that are known only at samples
SAMPLES = 96  # places at which a disc is sampled

Rows = tuple[float, FloatArray, FloatArray]


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
class StaticBound:
    """The corrected static bound (3) at an estimate, and what it rests on.

    Attributes:
        mu: μ, smallest singular value of J at the estimate.
        lipschitz: L on the disc.
        variation: κ on the disc.
        bound: Bound on the position error in m; `inf` when it does not hold.
        holds: Whether the assumptions that can be checked here do.
        assumptions: All of them, in words.
    """

    mu: float
    lipschitz: float
    variation: float
    bound: float
    holds: bool
    assumptions: tuple[str, ...]


def injectivity(J: FloatArray) -> FloatArray:
    """μ = σ_min(J) for J of shape (..., n, d)."""
    return np.asarray(np.linalg.svd(J, compute_uv=False)[..., -1], dtype=np.float64)


def gauss_newton(
    descriptor: Descriptor,
    world: Map,
    F_obs: ArrayLike,
    start: ArrayLike,
    *,
    steps: int = 20,
    tolerance: float = 1e-12,
    trust_radius: float = 0.5,
) -> Descent:
    """Refine a place until its descriptor is the observed one, equation (1).

    Args:
        descriptor: Gives F and J.
        world: The map.
        F_obs: The observed descriptor, shape (n,).
        start: Where to begin, shape (d,), in m.
        steps: At most so many accepted steps.
        tolerance: Stop after a step shorter than this, in m.
        trust_radius: Longest step, in m.
    """
    target, d = as_floats("F_obs", F_obs, (len(descriptor.basis),)), world.dimension

    def rows(p: FloatArray) -> Rows:
        F, J = descriptor.at(world, p, jacobian=True)
        return float(np.linalg.norm(F - target)), target - F, J

    positions, residuals, _, length = damped_steps(
        rows, world.contains, as_floats("start", start, (d,)), np.ones(d),
        steps=steps, tries=np.inf, tolerance=tolerance, trust_radius=trust_radius,
    )  # fmt: skip
    return Descent(
        readonly(np.array(positions)), readonly(np.array(residuals)), length < max(tolerance, 1e-9)
    )


def damped_steps(
    rows: Callable[[FloatArray], Rows],
    free: Callable[[FloatArray], bool | BoolArray],
    start: FloatArray,
    units: FloatArray,
    *,
    steps: int,
    tries: float,
    tolerance: float,
    trust_radius: float,
) -> tuple[list[FloatArray], list[float], Rows, float]:
    """Accepted places of (1), their costs, the last rows and the length of the last step, in m.

    `rows` gives the cost of a place, which must fall, the residuals and their slopes per m; `units`
    is what each coordinate is worth in m.  At most `steps` are accepted, of at most `tries`.
    """
    here = rows(start)
    path, costs, damping, length = [start], [here[0]], 0.0, np.inf
    while len(path) <= steps and tries > 0 and not length < tolerance:
        tries -= 1
        _, r, A = here
        H = A.T @ A
        step = np.linalg.lstsq(H + damping * np.eye(len(H)), A.T @ r, rcond=None)[0]
        length = float(np.linalg.norm(step))
        step *= min(1.0, trust_radius / length) if length > 0.0 else 1.0
        q = path[-1] + step / units
        if free(q) and (there := rows(q))[0] < costs[-1]:
            here, damping = there, damping / 8.0
            path.append(q)
            costs.append(here[0])
        else:
            damping = max(8.0 * damping, 1e-3 * float(np.trace(H)))
    return path, costs, here, length


def static_bound(
    descriptor: Descriptor,
    world: SegmentMap,
    estimate: ArrayLike,
    *,
    covering_radius: float,
    noise: float,
    radius: float,
) -> StaticBound:
    """The bound (3) for a nearest node.

    Args:
        descriptor: Gives J; exact, with the shadow term.
        world: The map.
        estimate: p̂, shape (2,), in m.
        covering_radius: h of the grid, in m.
        noise: η, bound on ‖F_obs − F(p*)‖₂.
        radius: R of the disc, in m.
    """
    p = as_floats("estimate", estimate, (2,))
    if radius <= 0.0 or covering_radius < 0.0 or noise < 0.0:
        raise InputError.about(
            "radius", "must be positive, `covering_radius` and `noise` not negative."
        )
    assumptions = (
        f"the true place lies within {radius:g} m of the estimate (no alias elsewhere)",
        f"the disc of {radius:g} m around the estimate is free of walls",
        f"J varies by less than μ over the disc (largest of {SAMPLES} samples, times {MARGIN:g})",
        f"a node lies within {covering_radius:g} m of the true place, inside the disc",
        f"the observed descriptor is within {noise:g} of that of the true place",
    )
    _, J = descriptor.at(world, p, jacobian=True)
    mu = float(injectivity(J))
    if float(world.clearance(p)) <= radius:
        return StaticBound(mu, np.inf, np.inf, np.inf, False, assumptions)
    k = np.arange(SAMPLES) + 0.5
    ring = radius * np.sqrt(k / SAMPLES)
    turn = np.pi * (1.0 + np.sqrt(5.0)) * k
    disc = p + np.stack([ring * np.cos(turn), ring * np.sin(turn)], axis=1)
    _, Js = descriptor.at(world, disc, jacobian=True)
    lipschitz = MARGIN * float(np.linalg.norm(Js, ord=2, axis=(1, 2)).max())
    variation = MARGIN * float(np.linalg.norm(Js - J, ord=2, axis=(1, 2)).max())
    if variation >= mu:
        return StaticBound(mu, lipschitz, variation, np.inf, False, assumptions)
    bound = (lipschitz * covering_radius + 2.0 * noise) / (mu - variation)
    return StaticBound(mu, lipschitz, variation, bound, True, assumptions)
