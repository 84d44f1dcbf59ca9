"""F as a function of the place."""

import numpy as np
import pytest

from isovist import Descriptor, Gram, Rose
from isovist.paper import (
    BoxScene,
    MapField,
    Moments,
    bi_lipschitz,
    changes,
    directions,
    field_points,
    free_points,
    jacobian_bounds,
    paper_room,
    random_field,
    range_drop,
    remainders,
    row_sum_defect,
)
from isovist.poses import unit_vectors

ROOM = paper_room()


def _field(n: int = 8, temperature: float = 0.5) -> MapField:
    return MapField(Descriptor(Rose.circle(n, temperature)), ROOM)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_the_remainder_of_the_derivative_vanishes_with_the_step(dimension: int) -> None:
    rng = np.random.default_rng(0)
    field = random_field(rng, dimension)
    p = field_points(rng, field, 30, 0.4)
    u = directions(rng, dimension, 30)
    coarse, fine = (np.median(remainders(field, p, h * u)) for h in (1e-2, 1e-4))
    assert fine < 0.03 * coarse
    assert remainders(field, p, 1e-6 * u).max() < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_f_is_lipschitz_with_the_estimated_constant(dimension: int) -> None:
    rng = np.random.default_rng(1)
    field = random_field(rng, dimension)
    centre = field_points(rng, field, 1, 0.75)[0]
    bounds = jacobian_bounds(field, centre - 0.3, centre + 0.3, pitch=0.15)
    assert bounds.samples == 5**dimension
    p, q = centre + rng.uniform(-0.3, 0.3, (2, 60, dimension))
    step = np.linalg.norm(q - p, axis=1)
    assert (changes(field, p, q - p) <= bounds.L * step).all()
    gap = np.linalg.norm(field.at(p)[1] - field.at(q)[1], ord=2, axis=(1, 2))
    allowed = [bounds.variation(float(s), dimension) for s in step]
    assert (gap <= np.array(allowed)).all()


def test_row_sums_are_the_gradient_of_the_energy_whatever_the_rose() -> None:
    p = free_points(ROOM, np.random.default_rng(2), 20)
    moments = Moments.from_segments(ROOM, p, Rose.circle(8, 0.5))
    slope = np.add.reduceat(moments.values[:, 1:], moments.offsets[:-1])
    for field in (_field(), _field(13, 0.2), _field(3, 1.0)):
        assert row_sum_defect(field, p, slope).max() < 1e-9


@pytest.mark.parametrize("temperature", [0.1, 0.3])
def test_bi_lipschitz_constants_enclose_the_metric_and_lie_within_the_loose_ones(
    temperature: float,
) -> None:
    rng = np.random.default_rng(3)
    field = _field(8, temperature)
    gram = Gram.from_rose(field.rose)
    for p in free_points(ROOM, rng, 20):
        u = 1e-6 * unit_vectors(rng.uniform(0.0, 2.0 * np.pi, 8))
        F, J = field.at(np.concatenate([p[None], p + u]))
        bounds = bi_lipschitz(gram, J[0])
        rate = gram.distance(F[1:], F[0]) / 1e-6
        assert (rate >= bounds.lower * (1.0 - 1e-4)).all()
        assert (rate <= bounds.upper * (1.0 + 1e-4)).all()
        assert bounds.loose_lower <= bounds.lower * (1.0 + 1e-12)
        assert bounds.upper <= bounds.loose_upper * (1.0 + 1e-12)


def test_the_constants_of_the_paper_do_not_enclose_the_metric() -> None:
    field = _field(8, 0.1)
    gram = Gram.from_rose(field.rose)
    _, J = field.at(np.array([[1.5, 1.5]]))
    assert bi_lipschitz(gram, J[0]).upper > 1.2 * np.linalg.norm(J[0], ord=2)


def test_the_range_is_lower_semicontinuous_even_on_a_shadow_line() -> None:
    # Along the wall x = 3 from below: its end (3, 1) is touched.
    p = np.array([3.0, 0.5])
    assert float(ROOM.cast(p[None], np.array([[0.0, 1.0]])).ranges[0]) in (0.5, 3.5)
    q = np.array([1.5, 2.0])
    for angle in (0.3, 1.0, 2.0, 4.0):
        assert range_drop(ROOM, q, unit_vectors(angle), 1e-7) < 1e-5
    box = BoxScene.from_size([4.0, 4.0, 3.0], [[2.0, 2.0, 1.5, 0.5]])
    for theta in directions(np.random.default_rng(4), 3, 20):
        assert range_drop(box, [0.5, 0.6, 0.7], theta, 1e-7) < 1e-3
