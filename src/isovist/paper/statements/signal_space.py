"""Statements about energy and completeness (§5.1, §5.2)."""

import numpy as np

from isovist import DirectionalBasis
from isovist.arrays import FloatArray
from isovist.paper import (
    crowded_basis,
    far_weight_bound,
    hard_features,
    interpolation_error,
    spread,
)
from isovist.paper.completeness import Function
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.gram.gram import Gram
from isovist.paper.statements.statement import (
    Finding,
    Statement,
    Trial,
    each_case,
    each_room,
    shares,
    worst_of,
)
from isovist.paper.statements.worlds.cases import (
    directions,
    even_basis,
    plain_rule,
    random_basis,
    random_pairs,
    random_signal,
)
from isovist.paper.statements.worlds.scenes import (
    free_points,
    random_room,
    random_round,
    round_points,
)


@each_room(1e-9)
def _energy(trial: Trial, count: int) -> FloatArray:
    """Compare the sum of the features with ∫r: relative errors at random points."""
    if trial.dimension == 2:
        room = random_room(trial.rng)
        p = free_points(room, trial.rng, count)
        F, _ = Descriptor(random_basis(trial.rng, 2, low=0.05)).at(room, p)
        # The closed form of ∫r over hard bins is independent of the basis under test.
        mass = hard_features(room, p, DirectionalBasis.circle(4, 1.0)).sum(axis=1)
    else:
        scene = random_round(trial.rng)
        p = round_points(scene, trial.rng, count)
        F, _ = scene.moments(p, nodes=18).describe(random_basis(trial.rng, 3, low=0.3))
        fine = scene.moments(p, nodes=26)
        mass = np.add.reduceat(fine.values[:, 0], fine.offsets[:-1])
    return np.abs(F.sum(axis=1) / mass - 1.0)


@each_room(1e-10)
def _basis_free(trial: Trial, count: int) -> FloatArray:
    first = random_basis(trial.rng, trial.dimension, low=0.2)
    second = random_basis(trial.rng, trial.dimension, low=0.2)
    if trial.dimension == 2:
        room = random_room(trial.rng)
        p = free_points(room, trial.rng, count)
        sums = [Descriptor(basis).at(room, p)[0].sum(axis=1) for basis in (first, second)]
    else:
        scene = random_round(trial.rng)
        moments = scene.moments(round_points(scene, trial.rng, count))
        sums = [moments.describe(basis)[0].sum(axis=1) for basis in (first, second)]
    return np.abs(sums[0] / sums[1] - 1.0)


def _lobe(rng: np.random.Generator, d: int) -> tuple[Function, float]:
    """Return g(θ) = exp(k(θ·a − 1)) and k, a Lipschitz constant in the angle."""
    axis, k = directions(rng, d, 1)[0], float(rng.uniform(1.0, 6.0))
    return lambda theta: np.exp(k * (theta @ axis - 1.0)), k


@each_case(1.0)
def _interpolant(trial: Trial, _: int) -> float:
    theta = spread(trial.dimension, 512)
    even = even_basis(trial.rng, trial.dimension, max_count=200)
    g, k = _lobe(trial.rng, trial.dimension)
    error = interpolation_error(even, g, theta)
    bounds = [
        k * delta + 2.0 * far_weight_bound(even, delta)
        for delta in np.linspace(even.mesh_norm, np.pi, 40)
    ]
    return error / min(bounds)


def _opposite(d: int) -> tuple[DirectionalBasis, FloatArray]:
    """Return the corners of a regular simplex, and the direction opposite to one corner."""
    centred = np.eye(d + 1) - 1.0 / (d + 1)
    corners = centred @ np.linalg.svd(centred)[2][:d].T
    basis = DirectionalBasis.from_directions(corners, 0.25)
    return basis, -basis.directions[:1]


def _far_sum(trial: Trial, printed: bool) -> Finding:
    ratios, examples = [], []
    for k in range(trial.cases):
        if k == 0:
            basis, theta, delta = *_opposite(trial.dimension), 3.1
        else:
            even = even_basis(trial.rng, trial.dimension, max_count=40)
            sharper = even.temperature * 10.0 ** trial.rng.uniform(-1.7, 0.0)
            basis = DirectionalBasis.from_directions(even.directions, sharper)
            theta = directions(trial.rng, trial.dimension, 200)
            delta = float(trial.rng.uniform(1.2, 3.0)) * basis.mesh_norm
        far = theta @ basis.directions.T < np.cos(delta)
        far_weight = float((basis.weights(theta) * far).sum(axis=1).max())
        if printed:
            bound = len(basis) * np.exp((np.cos(delta) - 1.0) / basis.temperature)
        else:
            bound = far_weight_bound(basis, delta)
        # A weight of 1e-60 refutes nobody.
        ratios.append(far_weight / bound if far_weight > 1e-3 or not printed else 0.0)
        examples.append(
            f"n = {len(basis)}, ε = {basis.temperature:.3g}, δ = {delta:.3g}: "
            f"far weight {far_weight:.3g}, bound {bound:.3g}"
        )
    return worst_of(np.array(ratios), 1.0, examples.__getitem__ if printed else None)


def _crowd(trial: Trial) -> Finding:
    """Return the interpolant's error along crowded bases: it should fall to 0 and does not."""
    theta = spread(2, 24)
    last = []
    for _ in range(max(1, trial.cases // 100)):
        g, _ = _lobe(trial.rng, 2)
        for size, temperature in ((8, 0.5), (12, 1.0 / 3.0), (16, 0.25)):
            basis = crowded_basis(size, temperature, surplus=5.0)
            error = interpolation_error(basis, g, theta)
        last.append(error)
    k = int(np.argmax(last))
    return Finding(
        len(last), float(last[k]), 0.1,
        f"h_n = π/16, ε = 0.25, {len(basis)} directions: uniform error {last[k]:.2f} of 1",
    )  # fmt: skip


def _total(trial: Trial) -> Finding:
    """Return 1 − |f|/‖f‖ for lobes, jumps and waves that a coarser basis would miss."""
    gram = Gram.from_rule(
        DirectionalBasis.circle(64) if trial.dimension == 2 else DirectionalBasis.fibonacci(64),
        plain_rule(trial.dimension),
    )
    theta, c = gram.rule.directions, gram.rule.coefficients
    signals = np.array([random_signal(trial.rng, theta) for _ in range(trial.cases)])
    highest = 20 if trial.dimension == 2 else 4
    for k in range(0, trial.cases, 2):
        axis = directions(trial.rng, trial.dimension, 1)[0]
        order = int(trial.rng.integers(1, highest + 1))
        signals[k] = np.cos(order * np.arccos(np.clip(theta @ axis, -1.0, 1.0)))
    captured = gram.seminorm(gram.features(signals))
    return worst_of(1.0 - captured / np.sqrt(signals**2 @ c), 0.5)


def _injective(trial: Trial) -> Finding:
    """Return 1 − d_n(p, q)/‖f_p − f_q‖ at n = 64."""
    short, plane = [], trial.dimension == 2
    fine = DirectionalBasis.circle(64) if plane else DirectionalBasis.fibonacci(64)
    gram = Gram.from_basis(fine) if plane else Gram.from_rule(fine, plain_rule(3))
    for count in shares(trial.cases, 10):
        room = random_room(trial.rng) if plane else None
        d, truth = random_pairs(trial.rng, gram, count, room)
        short.append(1.0 - d / truth)
    return worst_of(np.concatenate(short), 0.9)


_G = "signal space"
STATEMENTS = (
    Statement(_G, "§5.1 Proposition: energy preservation", "|ΣF/∫f − 1|", _energy),
    Statement(_G, "§5.1 Remark: energy does not depend on the basis",
              "|ΣF/ΣF′ − 1| for two bases", _basis_free),
    Statement(_G, "§5.2 Theorem: completeness, far weight",
              "R(θ, δ) / n exp((cos δ − 1)/ε)", lambda t: _far_sum(t, True), "as printed", False),
    Statement(_G, "§5.2 Theorem: completeness, far weight",
              "R(θ, δ) / n exp((cos δ − cos h)/ε)", lambda t: _far_sum(t, False), "corrected"),
    Statement(_G, "§5.2 Theorem: interpolant converges as h, ε → 0",
              "sup|g⁽ⁿ⁾ − g| along crowded bases", _crowd, "as printed", False, (2,)),
    Statement(_G, "§5.2 Theorem: interpolant converges at the right rate",
              "sup|g⁽ⁿ⁾ − g| / (ω(δ) + 2R(δ))", _interpolant, "corrected"),
    Statement(_G, "§5.2 Theorem: totality", "1 − |f|/‖f‖ at n = 64", _total),
    Statement(_G, "§5.2 Theorem: asymptotic injectivity",
              "1 − d_n(p, q)/‖f_p − f_q‖ at n = 64", _injective),
)  # fmt: skip
