"""Statements about F as a function of the place (§5.6, §5.7)."""

import numpy as np

from isovist import DirectionalBasis, SegmentMap
from isovist.arrays import FloatArray
from isovist.paper import (
    MapField,
    changes,
    hard_features,
    jacobian_bounds,
    paper_room,
    range_drop,
    remainders,
)
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.statements.statement import (
    Finding,
    Statement,
    Trial,
    each,
    each_room,
    shares,
    worst_of,
)
from isovist.paper.statements.worlds.cases import (
    RoomField,
    directions,
    field_points,
    random_field,
    words,
)
from isovist.paper.statements.worlds.scenes import BoxScene, RoundField, free_points, random_room
from isovist.sensing import WallHits, range_gradients


@each_room(1.0)
def _continuous(trial: Trial, count: int) -> FloatArray:
    """Return ‖F(p + v) − F(p)‖ over ‖v‖ times the largest ‖J‖ between, plus a margin."""
    field = random_field(trial.rng, trial.dimension)
    p = field_points(trial.rng, field, count, 0.3)
    v = trial.rng.uniform(0.001, 0.2, (count, 1)) * directions(trial.rng, trial.dimension, count)
    on_the_way = (p[:, None] + np.linspace(0, 1, 9)[:, None] * v[:, None]).reshape(-1, p.shape[1])
    J = field.at(on_the_way)[1].reshape(count, 9, *field.at(p[:1])[1].shape[1:])
    L = np.linalg.norm(J, ord=2, axis=(-2, -1)).max(axis=1)
    return changes(field, p, v) / (1.25 * L * np.linalg.norm(v, axis=1))


def _world_and_points(trial: Trial, count: int) -> tuple[SegmentMap | BoxScene, FloatArray]:
    """Return a random 2D room, or a box with two balls, and places in it."""
    if trial.dimension == 2:
        room = random_room(trial.rng)
        return room, free_points(room, trial.rng, count)
    box = BoxScene.from_size([6.0, 5.0, 3.0], [[3.0, 2.5, 1.5, 0.6], [4.0, 4.0, 1.0, 0.5]])
    return box, trial.rng.uniform([0.2, 0.2, 0.2], [2.2, 4.8, 2.8], (count, 3))


@each_room(1e-3)
def _semicontinuous(trial: Trial, count: int) -> FloatArray:
    """Return how far the range falls below r(p, θ) within 1e-7 m of p, for almost every θ, in m."""
    theta = directions(trial.rng, trial.dimension, count)
    world, p = _world_and_points(trial, count)
    return np.array([range_drop(world, q, t, 1e-7) for q, t in zip(p, theta, strict=True)])


@each_room(1.0)
def _lower_features(trial: Trial, count: int) -> FloatArray:
    """Return how far F_i falls within 1e-6 m, relative to the fall that L allows."""
    field = random_field(trial.rng, trial.dimension)
    p = field_points(trial.rng, field, count)
    F, J = field.at(p)
    lowest = np.full(F.shape, np.inf)
    for _ in range(4):
        v = 1e-6 * directions(trial.rng, trial.dimension, count)
        lowest = np.minimum(lowest, field.at(p + v)[0])
    L = np.linalg.norm(J, ord=2, axis=(1, 2))
    return (F - lowest).max(axis=1) / (1.5 * L * 1e-6)


def _jumps_up(trial: Trial) -> Finding:
    """Return the largest rise of a range over 1e-6 m of travel, in m."""
    room = paper_room()
    corner = np.array([3.0, 3.0])
    p = trial.rng.uniform([0.5, 0.5], [2.5, 2.5], (trial.cases, 2))
    gap = corner - p
    theta = gap / np.linalg.norm(gap, axis=1, keepdims=True)
    across = np.stack([-theta[:, 1], theta[:, 0]], axis=1)
    before, after = (room.cast(p + s * 5e-7 * across, theta).ranges for s in (-1.0, 1.0))
    rises = after - before
    k = int(rises.argmax())
    return worst_of(
        rises, 1e-3,
        lambda _: f"from {words(p[k])} towards the wall's end: {before[k]:.3f} m, then "
        f"{after[k]:.3f} m a step of 1e-6 m further",
    )  # fmt: skip


def _without_shadow(trial: Trial) -> Finding:
    """Return ‖J u − differences‖ for J as printed."""
    worst, notes = [], []
    for count in shares(trial.cases, 20):
        field = random_field(trial.rng, trial.dimension)
        p = field_points(trial.rng, field, count)
        u = directions(trial.rng, trial.dimension, count)
        slope = (field.at(p + 1e-6 * u)[0] - field.at(p - 1e-6 * u)[0]) / 2e-6
        promised = np.einsum("pnd,pd->pn", _bare_jacobian(field, p), u)
        worst.append(np.linalg.norm(slope - promised, axis=1))
        notes += [f"slope {words(a[:2])}… where {words(b[:2])}… is promised"
                  for a, b in zip(slope, promised, strict=True)]  # fmt: skip
    if trial.dimension == 3:
        return worst_of(np.concatenate(worst), 1e-3, notes.__getitem__)
    field = MapField(Descriptor(DirectionalBasis.circle(8, 0.5)), paper_room())
    p = np.array([[1.5, 1.5]])
    true, without = (
        np.linalg.svd(J[0], compute_uv=False) for J in (field.at(p)[1], _bare_jacobian(field, p))
    )
    note = (
        f"the paper's room at (1.5, 1.5): σ = ({without[0]:.5f}, {without[1]:.5f}), "
        f"truly ({true[0]:.5f}, {true[1]:.5f})"
    )
    return worst_of(np.concatenate(worst), 1e-3, lambda _: note)


@each_room(1e-3)
def _with_shadow(trial: Trial, count: int) -> FloatArray:
    field = random_field(trial.rng, trial.dimension)
    p = field_points(trial.rng, field, count)
    return remainders(field, p, 1e-6 * directions(trial.rng, trial.dimension, count))


def _bare_jacobian(field: RoomField, p: FloatArray) -> FloatArray:
    """Return J without the shadow term."""
    if isinstance(field, RoundField):
        return RoundField(field.scene, field.basis, field.nodes, shadow=False).at(p)[1]
    return np.asarray(field.descriptor.at(field.world, p, jacobian=True, shadow=False)[1])


def _shape(trial: Trial) -> Finding:
    """Return whether ∫∇f wᵀ dσ has the shape (n, d) that is claimed for it: 1 when it has not."""
    room = SegmentMap.room(6, 4)
    p = np.array([1.5, 1.5])
    theta = directions(trial.rng, 2, trial.cases)
    hits = room.cast(p, theta)
    gradient = range_gradients(WallHits(room, theta, hits.ranges, hits.walls, hits.normals))
    product = gradient[0][:, None] * DirectionalBasis.circle(8, 0.5).weights(theta[0])[None, :]
    wrong = float(product.shape != (8, 2))
    return Finding(1, wrong, 0.0, f"∇f wᵀ has shape {product.shape}, J has (8, 2)")


def _row_sums(trial: Trial, printed: bool) -> Finding:
    """Compare 1ᵀJ with central differences of E, which needs no basis."""
    # The smaller the step, the rarer a line through two corners, where J jumps, comes between.
    worst, notes, h = [], [], 1e-7
    for count in shares(trial.cases, 20):
        field = random_field(trial.rng, trial.dimension)
        p = field_points(trial.rng, field, count)
        slope = np.stack(
            [(_energy(field, p + h * e) - _energy(field, p - h * e)) / (2 * h)
             for e in np.eye(trial.dimension)], axis=1,
        )  # fmt: skip
        J = _bare_jacobian(field, p) if printed else field.at(p)[1]
        off = np.linalg.norm(J.sum(axis=1) - slope, axis=1)
        worst.append(off)
        notes += [
            f"{words(q)}: ∫∇f = {words(a)}, ∇E = {words(b)}"
            for q, a, b in zip(p, J.sum(axis=1), slope, strict=True)
        ]
    return worst_of(np.concatenate(worst), 1e-4, notes.__getitem__ if printed else None)


def _energy(field: RoomField, p: FloatArray) -> FloatArray:
    if isinstance(field, RoundField):
        moments = field.scene.moments(p, nodes=22)
        return np.add.reduceat(moments.values[:, 0], moments.offsets[:-1])
    assert isinstance(field.world, SegmentMap)  # 2D rooms are
    return hard_features(field.world, p, DirectionalBasis.circle(4, 1.0)).sum(axis=1)


# One case in ten or so grazes or changes its wall, and is left out.
@each(1e-5, lambda trial: shares(trial.cases + trial.cases // 4, 20))
def _range_gradient(trial: Trial, count: int) -> FloatArray:
    """Return |−n/(n·θ) − differences| where the ray is not within 0.2 of grazing or of an edge."""
    d, h = trial.dimension, 1e-6
    theta = directions(trial.rng, d, count)
    world, p = _world_and_points(trial, count)
    hits = world.cast(p, theta)
    gradient = range_gradients(WallHits(world, theta, hits.ranges, hits.walls, hits.normals))
    good = np.abs((hits.normals * theta).sum(axis=1)) > 0.2
    difference = np.empty_like(p)
    for k, e in enumerate(np.eye(d)):
        after, before = world.cast(p + h * e, theta), world.cast(p - h * e, theta)
        good &= (after.walls == hits.walls) & (before.walls == hits.walls)
        difference[:, k] = (after.ranges - before.ranges) / (2.0 * h)
    return np.abs(gradient - difference).max(axis=1)[good]


@each_room(1.0, 10)
def _constants(trial: Trial, count: int) -> FloatArray:
    """Return new samples of ‖J‖ and ‖J(p) − J(q)‖ over the estimated L and Λ of a box."""
    field = random_field(trial.rng, trial.dimension)
    centre = field_points(trial.rng, field, 1, 0.75)[0]
    half = 0.4
    bounds = jacobian_bounds(
        field, centre - half, centre + half, pitch=0.1 if trial.dimension == 2 else 0.2
    )
    p = centre + trial.rng.uniform(-half, half, (count, trial.dimension))
    q = centre + trial.rng.uniform(-half, half, (count, trial.dimension))
    J, K = field.at(p)[1], field.at(q)[1]
    gap = np.linalg.norm(p - q, axis=1)
    allowed = np.array([bounds.variation(float(g), trial.dimension) for g in gap])
    variation = np.linalg.norm(J - K, ord=2, axis=(1, 2)) / allowed
    return np.maximum(variation, np.linalg.norm(J, ord=2, axis=(1, 2)) / bounds.L)


_G = "map space"
STATEMENTS = (
    Statement(_G, "§5.6 Proposition: F is continuous in p",
              "‖F(p + v) − F(p)‖ / (1.25 sup‖J‖ ‖v‖)", _continuous),
    Statement(_G, "§5.6 Proposition: the range is lower semicontinuous",
              "fall of the range within 1e-7 m, m", _semicontinuous),
    Statement(_G, "§5.6 Proposition: features are lower semicontinuous",
              "fall of F_i within 1e-6 m / (1.5‖J‖ 1e-6 m)", _lower_features),
    Statement(_G, "§5.6 Remark: the range never jumps upwards",
              "rise over 1e-6 m of travel, m", _jumps_up, "as printed", False, (2,)),
    Statement(_G, "§5.7 Proposition: derivative without the shadow term",
              "‖J u − differences‖", _without_shadow, "as printed", False),
    Statement(_G, "§5.7 Proposition: derivative with the shadow term",
              "‖F(p + v) − F(p) − J v‖/‖v‖ at 1e-6 m", _with_shadow, "corrected"),
    Statement(_G, "§5.7 Proposition: shape of the Jacobian formula",
              "1 if ∫∇f wᵀ is not n × d", _shape, "as printed", False, (2,)),
    Statement(_G, "§5.7 Remark: row sum is ∫∇f dσ", "|∫∇f dσ − ∇E|",
              lambda t: _row_sums(t, True), "as printed", False),
    Statement(_G, "§5.7 Remark: row sum is ∇E", "|1ᵀJ − ∇E|",
              lambda t: _row_sums(t, False), "corrected"),
    Statement(_G, "§5.7 Remark: ∇r = −n/(n·θ)", "|formula − differences|", _range_gradient),
    Statement(_G, "§6.2 Constants L and Λ over a region, margin 2",
              "fresh ‖J‖/L and ‖J − J′‖/Λ-bound", _constants),
)  # fmt: skip
