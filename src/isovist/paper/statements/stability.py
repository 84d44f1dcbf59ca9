"""Statements about moving the directions of a basis (§5.4, §5.5)."""

import numpy as np

from isovist import DirectionalBasis
from isovist.arrays import FloatArray
from isovist.paper import displacement, paper_constant, sharp_constant, summed_constant, tradeoff
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.statements.statement import Statement, Trial, each_case, each_room
from isovist.paper.statements.worlds.cases import (
    covered_basis,
    nudged,
    plain_rule,
    random_basis,
    random_signal,
)
from isovist.paper.statements.worlds.scenes import (
    free_points,
    random_room,
    random_round,
    round_points,
)


def _change(
    trial: Trial, basis: DirectionalBasis, other: DirectionalBasis
) -> tuple[FloatArray, float]:
    """Return F − F′ of a random signal under two bases, and ∫|f|."""
    rule = plain_rule(trial.dimension)
    f = random_signal(trial.rng, rule.directions) * rule.coefficients
    F = f @ basis.weights(rule.directions)
    return F - f @ other.weights(rule.directions), float(np.abs(f).sum())


@each_case(1e-5)
def _continuous(trial: Trial, k: int) -> float:
    """Return ‖F(τ) − F(τ₀)‖ for moves of 1e-7 and profiles of all kinds."""
    d = trial.dimension
    basis = covered_basis(trial.rng, d) if k % 2 else random_basis(trial.rng, d, low=0.1)
    gap, mass = _change(trial, basis, nudged(trial.rng, basis, 1e-7))
    return np.abs(gap).max() / mass


@each_case(1.0)
def _paper(trial: Trial, k: int) -> float:
    d = trial.dimension
    basis = covered_basis(trial.rng, d) if k % 2 else random_basis(trial.rng, d)
    other = nudged(trial.rng, basis, float(10.0 ** trial.rng.uniform(-5, -2)))
    gap, mass = _change(trial, basis, other)
    bound = paper_constant(basis, other) * displacement(basis, other) * mass
    return max(np.abs(gap).max() / bound, np.linalg.norm(gap) / (np.sqrt(len(basis)) * bound))


@each_case(1.0 + 1e-9)
def _sharp(trial: Trial, k: int) -> float:
    d = trial.dimension
    basis = covered_basis(trial.rng, d) if k % 4 == 0 else random_basis(trial.rng, d, low=0.03)
    other = nudged(trial.rng, basis, float(10.0 ** trial.rng.uniform(-5, -0.5 if k % 4 else -2)))
    gap, mass = _change(trial, basis, other)
    bound = summed_constant(basis, other) * displacement(basis, other) * mass
    return np.abs(gap).sum() / bound


@each_room(1.0 + 1e-9, 25)
def _sharp_in_rooms(trial: Trial, count: int) -> FloatArray:
    if trial.dimension == 2:
        basis = random_basis(trial.rng, 2, low=0.1)
        other = nudged(trial.rng, basis, 0.05)
        room = random_room(trial.rng)
        p = free_points(room, trial.rng, count)
        F, H = (Descriptor(r).at(room, p)[0] for r in (basis, other))
    else:
        basis = random_basis(trial.rng, 3, low=0.3)
        other = nudged(trial.rng, basis, 0.05)
        scene = random_round(trial.rng)
        moments = scene.moments(round_points(scene, trial.rng, count), nodes=14)
        F, H = (moments.describe(r)[0] for r in (basis, other))
    bound = sharp_constant(basis) * displacement(basis, other) * F.sum(axis=1)
    return np.abs(F - H).sum(axis=1) / bound


@each_case(0.0)
def _tradeoff(trial: Trial, _: int) -> float:
    """Check that cooling a basis raises both constants and the share of the largest weight."""
    basis = random_basis(trial.rng, trial.dimension)
    cooling = np.sort(trial.rng.uniform(0.05, 1.0, 4))[::-1]
    curve = tradeoff(basis, [float(t) for t in cooling], samples=256)
    drops = [(np.diff(v) / v[1:]).min() for v in (curve.paper, curve.sharp, curve.sharpness)]
    return -min(drops)


_G = "stability"
STATEMENTS = (
    Statement(_G, "§5.4 Proposition: features are continuous in the basis",
              "max|F − F′|/‖f‖₁ for moves of 1e-7", _continuous),
    Statement(_G, "§5.5 Proposition: Lipschitz stability",
              "|F_i − F_i′| / (C δ ‖f‖₁)", _paper, "as printed"),
    Statement(_G, "§5.5 Proposition: Lipschitz stability, all channels",
              "‖F − F′‖₁ / (K δ ‖f‖₁), K = 1/ε for softmax", _sharp, "corrected"),
    Statement(_G, "§5.5 Proposition: the same in rooms",
              "‖F − F′‖₁ / (δ ‖f‖₁/ε)", _sharp_in_rooms, "corrected"),
    Statement(_G, "§5.5 Remark: sharpness against stability",
              "largest fall of a constant or of the sharpness on cooling", _tradeoff),
)  # fmt: skip
