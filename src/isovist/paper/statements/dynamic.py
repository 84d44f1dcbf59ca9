"""Statements about trajectories and the Gramian (§6.2, §6.3).

Trajectories are short arcs in random rooms, p(t) = p₀ + ∫v with a velocity that turns. Integrals
over time are Gauss–Legendre sums of 12 nodes. Their weights are positive, so every statement about
W is valid for the sums too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import FloatArray
from isovist.paper import gramians, rate
from isovist.paper.settings import BoundSettings
from isovist.paper.statements.localization import corridor
from isovist.paper.statements.statement import Finding, Statement, Trial, each, worst_of
from isovist.paper.statements.worlds.cases import RoomField, directions, field_points, random_field
from isovist.paper.static.map_space import Field
from isovist.settings import default_of

MARGIN = default_of(BoundSettings).margin
_NODES = 12


@dataclass(frozen=True, slots=True, eq=False)
class _Arc:
    """Trajectories: times t (k,) with weights c (k,), places (P, k, d), velocities (P, k, d).

    Along them F (P, k, n) and J (P, k, n, d).
    """

    field: RoomField
    duration: float
    times: FloatArray
    weights: FloatArray
    places: FloatArray
    velocities: FloatArray
    F: FloatArray
    J: FloatArray


def _arcs(trial: Trial, field: RoomField, count: int, duration: float = 1.0) -> _Arc:
    """Make half-metre arcs from random places; v turns at a constant rate."""
    d = trial.dimension
    start = field_points(trial.rng, field, count, 0.75)
    along = directions(trial.rng, d, count)
    across = directions(trial.rng, d, count)
    across -= np.einsum("pd,pd->p", across, along)[:, None] * along
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    speed, rate = 0.4, trial.rng.uniform(0.3, 1.5, count)
    x, w = np.polynomial.legendre.leggauss(_NODES)
    t = 0.5 * duration * (1.0 + x)
    turn = rate[:, None] * t
    forward = np.sin(turn) / rate[:, None]
    sideways = (1.0 - np.cos(turn)) / rate[:, None]
    places = start[:, None] + speed * (
        forward[..., None] * along[:, None] + sideways[..., None] * across[:, None]
    )
    velocities = speed * (
        np.cos(turn)[..., None] * along[:, None] + np.sin(turn)[..., None] * across[:, None]
    )
    return _Arc(field, duration, t, 0.5 * duration * w, places, velocities, *_along(field, places))


def _along(field: Field, places: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return F (P, k, n) and J (P, k, n, d) along trajectories."""
    P, k, d = places.shape
    F, J = field.at(places.reshape(-1, d))
    return F.reshape(P, k, -1), J.reshape(P, k, -1, d)


def _collect(trial: Trial) -> Iterator[_Arc]:
    """Yield arcs in random rooms, twenty in each."""
    for _ in range(-(-trial.cases // 20)):
        yield _arcs(trial, random_field(trial.rng, trial.dimension), 20)


@each(1e-4, _collect)
def _dynamics(_: Trial, arc: _Arc) -> FloatArray:
    h = 1e-6
    k = _NODES // 2
    p, v = arc.places[:, k], arc.velocities[:, k]
    slope = (arc.field.at(p + h * v)[0] - arc.field.at(p - h * v)[0]) / (2.0 * h)
    return np.abs(slope - rate(arc.J[:, k], v)).max(axis=1)


@each(1e-12, _collect)
def _semidefinite(_: Trial, arc: _Arc) -> FloatArray:
    """Return −λ_min of W and of its increments, relative to λ_max."""
    W = gramians(arc.J, arc.weights)
    steps = np.concatenate([W[:, :1], np.diff(W, axis=1)], axis=1)
    smallest = np.minimum(np.linalg.eigvalsh(W)[..., 0], np.linalg.eigvalsh(steps)[..., 0])
    return -(smallest / np.linalg.eigvalsh(W)[:, -1:, -1]).min(axis=1)


def _rank_one(trial: Trial) -> Finding:
    """Return σ₂/σ₁ of an increment JᵀJ dt, which is claimed to have rank one."""
    second, notes = [], []
    for arc in _collect(trial):
        s = np.linalg.svd(arc.J[:, 0], compute_uv=False)
        second.append(s[:, 1] ** 2 / s[:, 0] ** 2)
        notes += [f"eigenvalues of JᵀJ: {', '.join(f'{x:.3g}' for x in row**2)}" for row in s]
    return worst_of(np.concatenate(second), 1e-9, notes.__getitem__)


@each(1e-12, _collect)
def _null_space(_: Trial, arc: _Arc) -> FloatArray:
    """Compare uᵀWu with ∫‖Ju‖²; in a corridor both vanish for u along it."""
    W = gramians(arc.J, arc.weights)[:, -1]
    u = np.linalg.eigh(W)[1][:, :, 0]
    total = (np.linalg.norm(np.einsum("pknd,pd->pkn", arc.J, u), axis=2) ** 2) @ arc.weights
    value = np.einsum("pi,pij,pj->p", u, W, u)
    return np.abs(value - total) / np.linalg.eigvalsh(W)[:, -1]


def _bound(trial: Trial, occluded: bool) -> Finding:
    """Return ‖δ₀‖ over (2L/μ_T) ∫‖F(p) − F(q)‖, where the assumptions hold.

    With occlusion J jumps, T3 fails, and κ = sup‖J(p(t)) − J(p(t) − sδ₀)‖ takes the place of
    Λ‖δ₀‖: then LTκ ≤ μ_T/2 is what is needed.
    """
    ratios: list[float] = []
    batch = min(25, trial.cases)
    s = np.linspace(0.0, 1.0, 5)[1:]
    for _ in range(20 * trial.cases):
        field = random_field(trial.rng, trial.dimension, clutter=occluded)
        arc = _arcs(trial, field, batch)
        F, J = arc.F, arc.J
        size = 10.0 ** trial.rng.uniform(-4.0, -1.5, batch)
        delta = size[:, None] * directions(trial.rng, trial.dimension, batch)
        nearby = [_along(field, arc.places - x * delta[:, None]) for x in s]
        change = np.stack([np.linalg.norm(K - J, ord=2, axis=(2, 3)) for _, K in nearby])
        L = np.linalg.norm(J, ord=2, axis=(2, 3)).max(axis=1)
        mu = np.linalg.eigvalsh(gramians(J, arc.weights)[:, -1])[:, 0]
        if occluded:
            kappa = MARGIN * change.max(axis=(0, 2))
            is_bounded = L * arc.duration * kappa <= 0.5 * mu
        else:
            Lambda = MARGIN * (change / (s[:, None, None] * size[:, None])).max(axis=(0, 2))
            is_bounded = size <= mu / (Lambda * L * arc.duration)
        gap = np.linalg.norm(F - nearby[-1][0], axis=2) @ arc.weights
        ratios += list((size / (2.0 * L / mu * gap))[is_bounded])
        if len(ratios) >= trial.cases:
            break
    return worst_of(np.array(ratios), 1.0)


@each(1e-12, _collect)
def _accumulates(_: Trial, arc: _Arc) -> FloatArray:
    """Return the largest fall of λ_min(W(0, t)) between nodes, relative to its last value."""
    smallest = np.linalg.eigvalsh(gramians(arc.J, arc.weights))[..., 0]
    return -(np.diff(smallest, axis=1) / smallest[:, -1:]).min(axis=1)


@each(1.0, _collect)
def _generic(_: Trial, arc: _Arc) -> FloatArray:
    """Return 1e-4 over λ_min(W)/T: above 1 a trajectory would be blind."""
    smallest = np.linalg.eigvalsh(gramians(arc.J, arc.weights)[:, -1])[:, 0] / arc.duration
    return 1e-4 / np.maximum(smallest, 1e-300)


def _corridor(trial: Trial) -> Finding:
    """Return 1e-4 over λ_min(W) along a corridor, which motion is said to resolve."""
    field = corridor()
    count = max(1, trial.cases // 10)
    start = trial.rng.uniform([-100.0, 0.5], [100.0, 1.0], (count, 2))
    x, w = np.polynomial.legendre.leggauss(_NODES)
    t = 0.5 * (1.0 + x)
    places = start[:, None] + np.stack([2.0 * t, 0.3 * np.sin(3.0 * t)], axis=1)
    _, J = _along(field, places)
    smallest = np.linalg.eigvalsh(gramians(J, 0.5 * w)[:, -1])[:, 0]
    return worst_of(
        1e-4 / np.maximum(np.abs(smallest), 1e-12), 1.0,
        lambda k: f"2 m along a corridor 2 m wide: λ_min(W) = {smallest[k]:.1e}",
    )  # fmt: skip


# Half of the cases have eigenvalues too close to each other to follow one of them.
@each(1e-3, lambda trial: _collect(replace(trial, cases=3 * trial.cases)))
def _growth(_: Trial, arc: _Arc) -> FloatArray:
    """Compare dλ_min/dt, from steps of 1e-5 s, with uᵀJᵀJu, relative to ‖J‖²."""
    h = 1e-5
    W = gramians(arc.J, arc.weights)[:, -1]
    p = arc.places[:, -1] + (arc.duration - arc.times[-1]) * arc.velocities[:, -1]
    v = arc.velocities[:, -1]
    J_here = arc.field.at(p)[1]
    # One Gauss node carries each half step.
    J_after, J_before = (arc.field.at(p + sign * 0.5 * h * v)[1] for sign in (1.0, -1.0))
    W_after = W + h * np.einsum("pni,pnj->pij", J_after, J_after)
    W_before = W - h * np.einsum("pni,pnj->pij", J_before, J_before)
    growth = (np.linalg.eigvalsh(W_after)[:, 0] - np.linalg.eigvalsh(W_before)[:, 0]) / (2.0 * h)
    values, vectors = np.linalg.eigh(W)
    formula = np.linalg.norm(np.einsum("pnd,pd->pn", J_here, vectors[:, :, 0]), axis=1) ** 2
    scale = np.linalg.norm(J_here, ord=2, axis=(1, 2)) ** 2
    simple = values[:, 1] - values[:, 0] > 0.05 * values[:, -1]
    return (np.abs(growth - formula) / scale)[simple]


_G = "localization"
STATEMENTS = (
    Statement(_G, "§6.2 Descriptor dynamics", "|dF/dt − J v|", _dynamics),
    Statement(_G, "§6.2 Gramian: W ⪰ 0 and Löwner-monotone",
              "−λ_min of W and its increments / λ_max", _semidefinite),
    Statement(_G, "§6.2 Gramian: increments have rank one",
              "second / first eigenvalue of JᵀJ", _rank_one, "as printed", False),
    Statement(_G, "§6.2 Gramian: null space", "|uᵀWu − ∫‖Ju‖²| / λ_max", _null_space),
    Statement(_G, "§6.2 Proposition: dynamic error bound (T1–T5), no jumps of J",
              "‖δ₀‖ / ((2L/μ_T) ∫‖ΔF‖)", lambda t: _bound(t, False), "as printed"),
    Statement(_G, "§6.2 Proposition: dynamic error bound under occlusion",
              "‖δ₀‖ / ((2L/μ_T) ∫‖ΔF‖), LTκ ≤ μ_T/2", lambda t: _bound(t, True),
              "corrected", True, (2,)),
    Statement(_G, "§6.2 Remark: information accumulates",
              "largest fall of λ_min(W(0, t)), relative", _accumulates),
    Statement(_G, "§6.1 Remark: motion resolves a corridor",
              "1e-4 / (λ_min(W)/T)", _corridor, "as printed", False, (2,)),
    Statement(_G, "§6.3 Proposition: generic observability", "1e-4 / (λ_min(W)/T)", _generic),
    Statement(_G, "§6.4 Growth rate of λ_min", "|dλ_min/dt − uᵀJᵀJu| / ‖J‖²", _growth),
)  # fmt: skip
