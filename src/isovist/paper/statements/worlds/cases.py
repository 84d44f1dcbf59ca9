"""Make random bases, signals and places for the statements, in 2D and 3D."""

from functools import cache
from typing import TypeAlias

import numpy as np

from isovist import DirectionalBasis, SegmentMap
from isovist.arrays import FloatArray
from isovist.basis import Bump, CosinePower
from isovist.paper import CircleSum, MapField, signal_distances, sphere_rule
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import Rule
from isovist.paper.gram.gram import Gram
from isovist.paper.statements.worlds.scenes import (
    BoxScene,
    RoundField,
    free_points,
    random_room,
    random_round,
    round_points,
)

RoomField: TypeAlias = MapField | RoundField


def directions(rng: np.random.Generator, d: int, *shape: int) -> FloatArray:
    """Return random unit vectors, shape (*shape, d)."""
    v = rng.normal(size=(*shape, d))
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def random_basis(
    rng: np.random.Generator, d: int, *, low: float = 0.05, high: float = 1.0, max_count: int = 24
) -> DirectionalBasis:
    """Return random directions and a random softmax temperature between `low` and `high`."""
    n = int(rng.integers(4, max_count + 1))
    temperature = float(np.exp(rng.uniform(np.log(low), np.log(high))))
    return DirectionalBasis.from_directions(directions(rng, d, n), temperature)


def even_basis(rng: np.random.Generator, d: int, *, max_count: int = 24) -> DirectionalBasis:
    """Return evenly spread directions with ε between h²/2 and 2h²."""
    n = int(rng.integers(6, max_count + 1))
    even = DirectionalBasis.circle(n) if d == 2 else DirectionalBasis.fibonacci(n)
    factor = float(rng.uniform(0.5, 2.0))
    return DirectionalBasis.from_directions(even.directions, factor * even.mesh_norm**2)


def covered_basis(rng: np.random.Generator, d: int) -> DirectionalBasis:
    """Return jittered even directions with a bump or cosine power that covers the sphere."""
    n = int(rng.integers(8, 24))
    even = DirectionalBasis.circle(n) if d == 2 else DirectionalBasis.fibonacci(n + 8)
    jittered = even.directions + 0.05 * rng.normal(size=even.directions.shape)
    h = DirectionalBasis.from_directions(jittered).mesh_norm
    if rng.random() < 0.5:
        return DirectionalBasis.from_directions(
            jittered, profile=Bump(min(np.pi, rng.uniform(1.6, 2.5) * h))
        )
    return DirectionalBasis.from_directions(
        jittered, profile=CosinePower(float(rng.uniform(2.0, 6.0)))
    )


def nudged(rng: np.random.Generator, basis: DirectionalBasis, size: float) -> DirectionalBasis:
    """Return the basis with every direction moved by about `size`."""
    shifted = basis.directions + size * rng.normal(size=basis.directions.shape)
    return DirectionalBasis.from_directions(shifted, profile=basis.profile)


@cache
def plain_rule(d: int) -> Rule:
    """Return a rule for signals and weights, of 720 terms in 2D and of degree 39 in 3D."""
    return CircleSum(720).rule() if d == 2 else sphere_rule(39)


def random_signal(rng: np.random.Generator, theta: FloatArray) -> FloatArray:
    """Return values at θ of a positive signal with two smooth lobes and two jumps, shape (m,)."""
    d = theta.shape[1]
    f = np.full(len(theta), rng.uniform(1.0, 4.0))
    for axis in directions(rng, d, 2):
        f += rng.uniform(0.2, 2.0) * np.exp(rng.uniform(1.0, 8.0) * (theta @ axis - 1.0))
    for axis in directions(rng, d, 2):
        f += rng.uniform(0.2, 2.0) * (theta @ axis > rng.uniform(0.3, 0.95))
    return f


def random_field(
    rng: np.random.Generator, d: int, *, clutter: bool = True, max_count: int = 16
) -> RoomField:
    """Make a field in a random room, with a random even basis whose integrals are exact."""
    if d == 2:
        basis = DirectionalBasis.circle(
            int(rng.integers(6, max_count + 1)), float(rng.uniform(0.1, 0.6))
        )
        return MapField(Descriptor(basis), random_room(rng, clutter=clutter))
    basis = DirectionalBasis.fibonacci(int(rng.integers(8, 15)), float(rng.uniform(0.3, 0.7)))
    return RoundField(random_round(rng), basis, nodes=18)


def field_points(
    rng: np.random.Generator, field: RoomField, count: int, clearance: float = 0.25
) -> FloatArray:
    """Return random places of the field's room at least `clearance` m from every wall."""
    if isinstance(field, RoundField):
        return round_points(field.scene, rng, count, clearance)
    assert isinstance(field.world, SegmentMap)  # 2D rooms are
    return free_points(field.world, rng, count, clearance)


def random_pairs(
    rng: np.random.Generator, gram: Gram, count: int, room: SegmentMap | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return d(p, q) and ‖f_p − f_q‖ for random pairs of places in a room or a box."""
    if room is not None:
        p = free_points(room, rng, 2 * count)
        F, _ = Descriptor(gram.basis).at(room, p)
        return gram.distance(F[:count], F[count:]), signal_distances(room, p[:count], p[count:])
    box = BoxScene.from_size([6.0, 5.0, 3.0], [[3.0, 2.5, 1.5, 0.6]])
    p = rng.uniform([0.2, 0.2, 0.2], [2.2, 4.8, 2.8], (2 * count, 3))
    f = box.cast(p[:, None, :], gram.rule.directions).ranges
    gap = f[:count] - f[count:]
    return gram.seminorm(gram.features(gap)), np.sqrt(gap**2 @ gram.rule.coefficients)


def words(p: FloatArray) -> str:
    """Return a place as text."""
    return "(" + ", ".join(f"{x:.4g}" for x in p) + ")"
