"""Statements about signals, bases and weights (§3, §4)."""

from collections.abc import Callable

import numpy as np

from isovist import DirectionalBasis
from isovist.arrays import FloatArray
from isovist.basis import Softmax
from isovist.paper import (
    CircleSum,
    EqualArea,
    displacement,
    paper_constant,
    sharp_constant,
    weight_change,
)
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.statements.statement import Statement, Trial, each, each_case, each_room, shares
from isovist.paper.statements.worlds.cases import covered_basis, directions, nudged, random_basis
from isovist.paper.statements.worlds.scenes import (
    BoxScene,
    RoundField,
    free_points,
    random_room,
    random_round,
    round_points,
)


@each_room(1e-9)
def _signal(trial: Trial, count: int) -> FloatArray:
    theta = directions(trial.rng, trial.dimension, count)
    if trial.dimension == 2:
        room = random_room(trial.rng)
        p = free_points(room, trial.rng, count, 0.01)
        return room.clearance(p + room.cast(p, theta).ranges[:, None] * theta)
    box = BoxScene.from_size([6.0, 5.0, 3.0], [[3.0, 2.5, 1.5, 0.8]])
    p = trial.rng.uniform([0, 0, 0], [2.0, 5.0, 3.0], (count, 3))
    hit = p + box.cast(p, theta).ranges[:, None] * theta
    sides = np.minimum(hit, box.size - hit).min(axis=1)
    ball = np.abs(np.linalg.norm(hit - box.balls[0, :3], axis=1) - 0.8)
    return np.minimum(np.abs(sides), ball)


@each_case(1.0 + 1e-9)
def _basis(trial: Trial, _: int) -> float:
    basis = random_basis(trial.rng, trial.dimension)
    theta = directions(trial.rng, trial.dimension, 200)
    nearest = np.arccos(np.clip((theta @ basis.directions.T).max(axis=1), -1.0, 1.0))
    return nearest.max() / basis.mesh_norm


@each(1.0, lambda trial: shares(trial.cases, 20 if trial.dimension == 2 else 10))
def _component(trial: Trial, count: int) -> FloatArray:
    if trial.dimension == 2:
        room, basis = random_room(trial.rng), DirectionalBasis.circle(8, 0.5)
        p = free_points(room, trial.rng, count)
        exact, _ = Descriptor(basis).at(room, p)
        summed, _ = Descriptor(basis, quadrature=CircleSum(256)).at(room, p)
        theta = CircleSum(4096).rule().directions
        fw = room.cast(p[:, None], theta).ranges[..., None] * basis.weights(theta)
        variation = np.abs(np.diff(fw, axis=1, append=fw[:, :1])).sum(axis=1)
        return (np.abs(exact - summed) / (2.0 * np.pi / 256 * variation)).max(axis=1)
    rule = EqualArea(4000).rule()
    scene, basis = random_round(trial.rng), DirectionalBasis.fibonacci(10, 0.5)
    p = round_points(scene, trial.rng, count)
    exact, _ = RoundField(scene, basis).at(p)
    summed = (scene.ranges(p, rule.directions) * rule.coefficients) @ basis.weights(rule.directions)
    # A cell of area 4π/S is lost or won along each rim at worst.
    return np.abs(exact - summed).max(axis=1) / (scene.radius * 4.0 / np.sqrt(4000))


@each_case(1.0)
def _hard_limit(trial: Trial, _: int) -> float:
    basis = random_basis(trial.rng, trial.dimension, low=1e-3, high=0.1)
    theta = directions(trial.rng, trial.dimension, 50)
    t = np.sort(theta @ basis.directions.T, axis=1)
    bound = len(basis) * np.exp(-(t[:, -1] - t[:, -2]) / basis.temperature) + 1e-14
    off = np.abs(basis.weights(theta) - basis.hard_weights(theta)).max(axis=1)
    return (off / bound).max()


@each_case(1.0)
def _flat_limit(trial: Trial, _: int) -> float:
    basis = random_basis(trial.rng, trial.dimension, low=2.0, high=1e4)
    w = basis.weights(directions(trial.rng, trial.dimension, 50))
    bound = (np.expm1(2.0 / basis.temperature)) / len(basis) + 1e-15
    return np.abs(w - 1.0 / len(basis)).max() / bound


@each_case(1e-13)
def _unity(trial: Trial, k: int) -> float:
    d = trial.dimension
    basis = covered_basis(trial.rng, d) if k % 4 == 0 else random_basis(trial.rng, d, low=1e-3)
    w = basis.weights(directions(trial.rng, d, 100))
    return max(np.abs(w.sum(axis=1) - 1.0).max(), -w.min())


@each_case(1e-5)
def _smooth(trial: Trial, k: int) -> float:
    h = 1e-5
    d = trial.dimension
    basis = covered_basis(trial.rng, d) if k % 4 == 0 else random_basis(trial.rng, d, low=0.1)
    theta = directions(trial.rng, d, 1)[0]
    tangent = directions(trial.rng, d, 1)[0]
    tangent -= (tangent @ theta) * theta
    tangent /= np.linalg.norm(tangent)
    after = np.cos(h) * theta + np.sin(h) * tangent
    before = np.cos(h) * theta - np.sin(h) * tangent
    difference = (basis.weights(after) - basis.weights(before)) / (2.0 * h)
    return np.abs(basis.gradient(theta) @ tangent - difference).max()


@each_case(1e-9)
def _denominator(trial: Trial, k: int) -> float:
    d = trial.dimension
    basis = covered_basis(trial.rng, d) if k % 4 == 0 else random_basis(trial.rng, d)
    t = directions(trial.rng, d, 200) @ basis.directions.T
    log_z = np.logaddexp.reduce(basis.profile.log(np.clip(t, -1.0, 1.0)), axis=1).min()
    floor = float(basis.profile.log(np.array([np.cos(basis.mesh_norm)]))[0])
    if isinstance(basis.profile, Softmax):
        floor = max(floor, np.log(len(basis)) - 1.0 / basis.temperature)
    return floor - log_z


def _basis_pair(
    trial: Trial, make: Callable[[np.random.Generator, int], DirectionalBasis], largest: float
) -> tuple[DirectionalBasis, DirectionalBasis, FloatArray]:
    """Return a basis, a copy moved by 10⁻⁶ to 10^largest, and directions to compare at."""
    basis = make(trial.rng, trial.dimension)
    other = nudged(trial.rng, basis, float(10.0 ** trial.rng.uniform(-6, largest)))
    return basis, other, directions(trial.rng, trial.dimension, 100)


@each_case(1.0)
def _weights_in_basis(trial: Trial, _: int) -> float:
    basis, other, theta = _basis_pair(trial, covered_basis, -2)
    change = np.abs(basis.weights(theta) - other.weights(theta)).max()
    return change / (paper_constant(basis, other) * displacement(basis, other))


@each_case(1.0)
def _softmax_paper(trial: Trial, _: int) -> float:
    basis, other, theta = _basis_pair(trial, random_basis, -0.5)
    change = np.abs(basis.weights(theta) - other.weights(theta)).max()
    return change / (paper_constant(basis) * displacement(basis, other))


@each_case(1.0 + 1e-9)
def _softmax_sharp(trial: Trial, _: int) -> float:
    basis, other, theta = _basis_pair(trial, random_basis, -0.5)
    change = weight_change(basis, other, theta).max()
    return change / (sharp_constant(basis) * displacement(basis, other))


@each_case(0.05)
def _sharp_is_attained(trial: Trial, _: int) -> float:
    """Return 1 − change/bound for two directions beside θ that move in opposite ways."""
    half = float(trial.rng.uniform(1.3, 1.5))
    angles = np.array([half, -half])
    step = 1e-5
    pad = np.zeros((2, trial.dimension - 2))
    first = np.concatenate([np.cos(angles)[:, None], np.sin(angles)[:, None], pad], axis=1)
    rotated = angles + np.array([step, step])
    second = np.concatenate([np.cos(rotated)[:, None], np.sin(rotated)[:, None], pad], axis=1)
    eps = float(trial.rng.uniform(0.1, 1.0))
    basis, other = (
        DirectionalBasis.from_directions(first, eps),
        DirectionalBasis.from_directions(second, eps),
    )
    theta = np.eye(trial.dimension)[:1]
    change = weight_change(basis, other, theta)[0]
    return 1.0 - change / (displacement(basis, other) / eps)


@each_case(1e-6)
def _slopes_in_basis(trial: Trial, k: int) -> float:
    h = 1e-6
    d = trial.dimension
    basis = covered_basis(trial.rng, d) if k % 4 == 0 else random_basis(trial.rng, d, low=0.1)
    theta = directions(trial.rng, d, 1)[0]
    move = trial.rng.normal(size=basis.directions.shape)
    move -= np.einsum("nd,nd->n", move, basis.directions)[:, None] * basis.directions
    slope = basis.direction_slopes(theta) @ (move @ theta)
    ends = [
        DirectionalBasis.from_directions(basis.directions + s * h * move, profile=basis.profile)
        for s in (1.0, -1.0)
    ]
    difference = (ends[0].weights(theta) - ends[1].weights(theta)) / (2.0 * h)
    return np.abs(slope - difference).max() / max(1.0, np.abs(slope).max())


_G = "weights"
STATEMENTS = (
    Statement(_G, "§3 Definition: environment signal (range)",
              "distance of p + rθ from the nearest wall, m", _signal),
    Statement(_G, "§3 Definition: directional basis, mesh norm",
              "angle to the nearest direction / h_n", _basis),
    Statement(_G, "§3 Definition: feature vector, S-term sum",
              "|F_S − F| / its O(1/S) bound (3D: O(1/√S))", _component),
    Statement(_G, "§4 Remark: ε → 0 gives hard bins",
              "|w − 1_A| / n exp(−(t₁ − t₂)/ε)", _hard_limit),
    Statement(_G, "§4 Remark: ε → ∞ gives 1/n", "|w − 1/n| / ((e^(2/ε) − 1)/n)", _flat_limit),
    Statement(_G, "§4 Proposition: partition of unity", "max(|Σw − 1|, −min w)", _unity),
    Statement(_G, "§4 Proposition: w is C^k", "|gradient − differences|", _smooth),
    Statement(_G, "§4 Lemma: denominator", "log of its lower bound / Z_min", _denominator),
    Statement(_G, "§4 Proposition: continuity of weights in the basis",
              "sup|w − w′| / ((n + 1)L_ψ δ/Z_min)", _weights_in_basis),
    Statement(_G, "§4 Remark: Lipschitz constant of softmax",
              "sup|w − w′| / ((n + 1)e^(2/ε)δ/nε)", _softmax_paper, "as printed"),
    Statement(_G, "§4 Remark: Lipschitz constant of softmax",
              "Σ|w_i − w_i′| / (δ/ε)", _softmax_sharp, "corrected"),
    Statement(_G, "§4 Remark: the sharp constant is attained",
              "1 − Σ|w_i − w_i′|/(δ/ε) for an opposed pair", _sharp_is_attained, "corrected"),
    Statement(_G, "§4 Remark: derivative of weights in the basis",
              "|formula − differences|, relative", _slopes_in_basis),
)  # fmt: skip
