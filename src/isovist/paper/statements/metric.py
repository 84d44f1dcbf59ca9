"""Statements about the Gram matrix, the seminorm and the pseudo-metric (§5.3)."""

import numpy as np

from isovist import DirectionalBasis
from isovist.arrays import FloatArray
from isovist.paper import (
    KEEP,
    CircleSum,
    bi_lipschitz,
    circle_rule,
    gram_sum,
    paper_room,
    sphere_rule,
    squared_norms,
)
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
    field_points,
    plain_rule,
    random_basis,
    random_field,
    random_pairs,
    random_signal,
)
from isovist.paper.statements.worlds.scenes import free_points, random_room


def _signals(trial: Trial, gram: Gram, count: int) -> tuple[FloatArray, FloatArray]:
    f = np.array([random_signal(trial.rng, gram.rule.directions) for _ in range(count)])
    return f, np.sqrt(f**2 @ gram.rule.coefficients)


@each_case(1e-7)
def _gram(trial: Trial, _: int) -> float:
    if trial.dimension == 2:
        basis = random_basis(trial.rng, 2, low=0.2, max_count=12)
        other = gram_sum(basis, CircleSum(1024).rule())
    else:
        basis = random_basis(trial.rng, 3, low=0.5, max_count=8)
        other = gram_sum(basis, sphere_rule(50))
    G = Gram.from_basis(basis, tolerance=1e-8).matrix
    return max(np.abs(G - other).max(), np.abs(G - G.T).max())


def _inverted(trial: Trial) -> Finding:
    """Compare FᵀG⁻¹F by plain inversion with the square of the seminorm from a factor of G."""
    room = paper_room()
    point = np.array([[1.5, 2.0]])
    excess, notes = [], []
    for k in range(trial.cases):
        n, eps = (32, 0.5) if k == 0 else (int(trial.rng.integers(32, 65)), 0.5)
        basis = DirectionalBasis.circle(n, eps)
        p = point if k == 0 else free_points(room, trial.rng, 1)
        F, _ = Descriptor(basis).at(room, p)
        gram = Gram.from_basis(basis)
        square = float(F[0] @ np.linalg.inv(gram.matrix) @ F[0])
        truth = float(gram.seminorm(F)[0] ** 2)
        excess.append(abs(square / truth - 1.0))
        notes.append(
            f"n = {n}, ε = {eps} at ({p[0, 0]:.3g}, {p[0, 1]:.3g}): condition "
            f"{gram.condition:.0e}, FᵀG⁻¹F = {square:.4g} but ‖P f‖² = {truth:.4g} "
            f"(effective rank {gram.rank})"
        )
    worst = int(np.argmax(excess))
    lowest = float(np.linalg.eigvalsh(Gram.from_basis(DirectionalBasis.circle(32, 0.5)).matrix)[0])
    example = f"{notes[0]}; least eigenvalue of G computed as {lowest:.1e}"
    return Finding(len(excess), float(excess[worst]), 1e-6, example)


@each_room(1e-6, 30)
def _projection(trial: Trial, count: int) -> FloatArray:
    """Compare |f| from F with the norm of the projection of f onto the span."""
    rule = plain_rule(trial.dimension)
    root = np.sqrt(rule.coefficients)[:, None]
    n = int(trial.rng.integers(8, 65))
    eps = float(trial.rng.uniform(0.1, 0.6))
    make = DirectionalBasis.circle if trial.dimension == 2 else DirectionalBasis.fibonacci
    gram = Gram.from_rule(make(n, eps), rule)
    f, norm = _signals(trial, gram, count)
    U, s, _ = np.linalg.svd(root * gram.basis.weights(rule.directions), full_matrices=False)
    U = U[:, s > KEEP * s[0]]
    direct = np.linalg.norm((f * root[:, 0]) @ U, axis=1)
    return np.abs(gram.seminorm(gram.features(f)) - direct) / norm


@each_room(1e-12, 50)
def _seminorm(trial: Trial, count: int) -> FloatArray:
    """Return the largest excess in Bessel, triangle and homogeneity."""
    gram = Gram.from_rule(even_basis(trial.rng, trial.dimension), plain_rule(trial.dimension))
    f, norm = _signals(trial, gram, count)
    g, _ = _signals(trial, gram, count)
    F, H = gram.features(f), gram.features(g)
    scale = trial.rng.normal()
    bessel = gram.seminorm(F) / norm - 1.0
    triangle = (gram.seminorm(F + H) - gram.seminorm(F) - gram.seminorm(H)) / norm
    even = np.abs(gram.seminorm(scale * F) - abs(scale) * gram.seminorm(F)) / norm
    return np.maximum(np.maximum(bessel, triangle), even)


def _limit(trial: Trial) -> Finding:
    """Return the share of energy that the finest of three bases misses; it must fall."""
    sizes = (8, 32, 128)
    if trial.dimension == 2:
        bases = [DirectionalBasis.circle(n) for n in sizes]
        grams = [Gram.from_basis(basis) for basis in bases]
        shares_left = []
        for count in shares(trial.cases, 10):
            room = random_room(trial.rng)
            p = free_points(room, trial.rng, count)
            energy = squared_norms(room, p)
            shares_left.append(
                [
                    g.gap(Descriptor(r).at(room, p)[0], energy) / energy
                    for r, g in zip(bases, grams, strict=True)
                ]
            )
        left = np.concatenate(shares_left, axis=1)
    else:
        grams = [Gram.from_rule(DirectionalBasis.fibonacci(n), plain_rule(3)) for n in sizes]
        f, norm = _signals(trial, grams[0], trial.cases)
        left = np.array([g.gap(g.features(f), norm**2) / norm**2 for g in grams])
    stalled = (left[2] > left[0]).astype(float)
    return worst_of(left[2] + stalled, 0.03)


@each_room(1e-10, 50)
def _gap(trial: Trial, count: int) -> FloatArray:
    gram = Gram.from_rule(even_basis(trial.rng, trial.dimension), plain_rule(trial.dimension))
    f, norm = _signals(trial, gram, count)
    F = gram.features(f)
    rest = f - gram.projection(F)(gram.rule.directions)
    direct = rest**2 @ gram.rule.coefficients
    return np.abs(gram.gap(F, norm**2) - direct) / norm**2


@each_room(1.0 + 1e-9, 50)
def _raw_norm(trial: Trial, count: int) -> FloatArray:
    gram = Gram.from_rule(even_basis(trial.rng, trial.dimension), plain_rule(trial.dimension))
    F = gram.features(_signals(trial, gram, count)[0])
    low, high = gram.bounds(F)
    norm = gram.seminorm(F)
    return np.maximum(low / norm, norm / high)


@each_case(2.5)
def _orthogonal(trial: Trial, _: int) -> float:
    """Return ‖G/G_11 − I‖ for sharp weights, relative to their overlap."""
    n = int(trial.rng.integers(4, 32))
    eps = float(10.0 ** trial.rng.uniform(-2.5, -1.5)) * (np.pi / n) ** 2
    basis = DirectionalBasis.circle(n, eps)
    G = gram_sum(basis, circle_rule(basis, tolerance=1e-8))
    # Two neighbours share angles within a few ε/(2 sin(π/n)) of their boundary.
    overlap = eps / (2.0 * np.sin(np.pi / n)) / (np.pi / n)
    return np.linalg.norm(G / G[0, 0] - np.eye(n), ord=2) / overlap


def _bessel_pairs(trial: Trial) -> Finding:
    excess, rng = [], trial.rng
    plane = trial.dimension == 2
    for count in shares(20 * trial.cases, 20) if plane else shares(trial.cases, 10):
        if plane:
            room = random_room(rng)
            basis = DirectionalBasis.circle(int(rng.integers(4, 40)), float(rng.uniform(0.03, 0.6)))
            d, truth = random_pairs(rng, Gram.from_basis(basis), count, room)
        else:
            gram = Gram.from_rule(even_basis(rng, 3), plain_rule(3))
            d, truth = random_pairs(rng, gram, count)
        excess.append(d / truth - 1.0)
    return worst_of(np.concatenate(excess), 1e-7 if plane else 1e-9)


@each_room(1e-9, 10)
def _nested(trial: Trial, count: int) -> FloatArray:
    """Check that merging channels in pairs, repeatedly, never raises the seminorm."""
    make = DirectionalBasis.circle if trial.dimension == 2 else DirectionalBasis.fibonacci
    gram = Gram.from_rule(make(32), plain_rule(trial.dimension))
    F = gram.features(_signals(trial, gram, count)[0])
    finer, F_merged = gram.seminorm(F), F
    current, worst = gram, np.full(count, -np.inf)
    while len(current.axes) > 2:
        current, B = current.merge(np.arange(len(current.axes)) // 2)
        F_merged = F_merged @ B.T
        coarser = current.seminorm(F_merged)
        worst = np.maximum(worst, coarser / finer - 1.0)
        finer = coarser
    return worst


def _bi_lipschitz(trial: Trial, printed: bool) -> Finding:
    """Return the share by which d(p, q)/‖p − q‖ exceeds its bounds for tiny steps.

    With `printed` the bounds are those of the paper as printed, which fail.
    """
    worst, notes = [], []
    for count in shares(trial.cases, 20):
        field = random_field(trial.rng, trial.dimension)
        basis = field.basis
        gram = Gram.from_basis(basis, tolerance=1e-9)
        p = field_points(trial.rng, field, count)
        step = 1e-6 * directions(trial.rng, trial.dimension, count)
        ends = field.at(np.concatenate([p, p + step]))
        rate = gram.distance(ends[0][:count], ends[0][count:]) / 1e-6
        for k in range(count):
            J = ends[1][k]
            bounds = bi_lipschitz(gram, J)
            sigma = np.linalg.svd(J, compute_uv=False)
            low, high = (sigma[-1], sigma[0]) if printed else (bounds.lower, bounds.upper)
            worst.append(max(rate[k] / high, low / rate[k]) - 1.0)
            notes.append(
                f"n = {len(basis)}, ε = {basis.temperature:.2g}: d/‖p − q‖ = {rate[k]:.3g}, "
                f"outside [{low:.3g}, {high:.3g}]"
            )
    return worst_of(np.array(worst), 1e-3, notes.__getitem__ if printed else None)


_G = "signal space"
STATEMENTS = (
    Statement(_G, "§5.3 Definition: Gram matrix", "|G − another quadrature|, |G − Gᵀ|", _gram),
    Statement(_G, "§5.3 Proposition: G is positive definite and inverted",
              "|FᵀG⁻¹F/‖P f‖² − 1|, n ≥ 32, ε = 0.5",
              _inverted, "as printed", False, (2,)),
    Statement(_G, "§5.3 Proposition (i): |f| = ‖P f‖, rank-revealing",
              "||f| − ‖P f‖| / ‖f‖, n ≤ 64, ε ≤ 0.6", _projection, "corrected"),
    Statement(_G, "§5.3 Proposition (ii): seminorm below ‖f‖",
              "excess in Bessel, triangle, homogeneity", _seminorm),
    Statement(_G, "§5.3 Proposition (iii): |f| → ‖f‖",
              "share of energy left at n = 128, having fallen from n = 8", _limit),
    Statement(_G, "§5.3 Corollary: Parseval gap", "|gap − ‖f − P f‖²| / ‖f‖²", _gap),
    Statement(_G, "§5.3 Remark: |f| against ‖F‖₂",
              "max of lower bound / |f| and |f| / upper bound", _raw_norm),
    Statement(_G, "§5.3 Remark: nearly orthogonal weights",
              "‖G/G₁₁ − I‖ / (ε/(2 sin(π/n)) per half bin)", _orthogonal, "", True, (2,)),
    Statement(_G, "§5.3 Remark: d_n ≤ ‖f_p − f_q‖", "d_n/‖f_p − f_q‖ − 1", _bessel_pairs),
    Statement(_G, "§5.3 Remark: nested spaces, nested bounds",
              "coarser / finer seminorm − 1", _nested),
    Statement(_G, "§5.3 Remark: d_n is locally bi-Lipschitz",
              "relative distance outside [σ_min(J), ‖J‖]",
              lambda t: _bi_lipschitz(t, True), "as printed", False),
    Statement(_G, "§5.3 Remark: d_n is locally bi-Lipschitz",
              "relative distance outside the whitened singular values",
              lambda t: _bi_lipschitz(t, False), "corrected"),
)  # fmt: skip
