"""Descriptor fields: values at nodes, and between them."""

import numpy as np
import pytest

from isovist.errors import InputError
from isovist.maps.base import Ending
from isovist.maps.cells import Cell, OccupancyMap
from isovist.maps.sweep import describe_field, free_nodes
from isovist.poses import Pose
from isovist.theory.field import DescriptorField

ANGLES = 2 * np.pi * np.arange(180) / 180


def weights(n=8):
    W = np.exp((np.cos(ANGLES[:, None] - 2 * np.pi * np.arange(n) / n) - 1) / 0.3)
    return W / W.sum(axis=1, keepdims=True) / len(ANGLES)


def rooms(origin=None):
    """Two rooms with a wall of two cells between them, and a door."""
    cells = np.zeros((80, 120), dtype=np.uint8)
    cells[[0, -1], :] = cells[:, [0, -1]] = Cell.OCCUPIED
    cells[:, 60:62] = Cell.OCCUPIED
    cells[60:70, 60:62] = Cell.FREE
    cells[20:30, 25:28] = Cell.OCCUPIED
    return OccupancyMap.from_array(cells, 0.1, origin)


def fill(world, stride, function):
    """A field whose channels are functions of the place."""
    rows, cols = free_nodes(world, stride)
    values = function(world.centres(rows, cols)).astype(np.float32)
    nodes = np.stack([rows, cols], axis=-1).astype(np.int32)
    return DescriptorField(world, stride, nodes, values, np.ones_like(values))


def linear(p):
    return np.stack([p[:, 0], p[:, 1], np.ones(len(p))], axis=-1)


def quadratic(p):
    x, y = p.T
    return np.stack([x * x - y, x * y, y * y + 2 * x], axis=-1)


def quadratic_jacobian(p):
    x, y = p.T
    one = np.ones_like(x)
    rows = [(2 * x, -one), (y, x), (2 * one, 2 * y)]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=1)


@pytest.mark.parametrize("order", ["bilinear", "bicubic"])
@pytest.mark.parametrize("stride", [1, 4, 5])
def test_nodes_keep_their_values(order, stride):
    field = DescriptorField.over(rooms(Pose(1.0, 2.0, 0.3)), ANGLES, weights(), stride)
    np.testing.assert_allclose(field.at(field.positions, order), field.F, rtol=1e-5, atol=1e-6)
    K = field.known_at(field.positions)
    np.testing.assert_allclose(K, field.K, rtol=1e-5, atol=1e-6)


def test_bilinear_reproduces_linear_functions():
    world = OccupancyMap.from_array(np.zeros((40, 50), dtype=np.uint8), 0.1, Pose(1.0, 2.0, 0.4))
    field = fill(world, 4, linear)
    grid = np.random.default_rng(0).uniform([0.3, 0.3], [4.5, 3.5], (100, 2))
    points = world.origin.apply(grid)
    F, J = field.jacobian_at(points, "bilinear")
    np.testing.assert_allclose(F, linear(points), atol=1e-5)
    np.testing.assert_allclose(J, np.broadcast_to([[1, 0], [0, 1], [0, 0]], J.shape), atol=1e-4)


def test_bicubic_reproduces_quadratic_functions():
    world = OccupancyMap.from_array(np.zeros((40, 50), dtype=np.uint8), 0.1, Pose(1.0, 2.0, 0.4))
    field = fill(world, 3, quadratic)
    grid = np.random.default_rng(1).uniform([0.6, 0.6], [4.2, 3.2], (100, 2))
    points = world.origin.apply(grid)
    F, J = field.jacobian_at(points)
    np.testing.assert_allclose(F, quadratic(points), atol=1e-4)
    np.testing.assert_allclose(J, quadratic_jacobian(points), atol=1e-3)


@pytest.mark.parametrize("order", ["bilinear", "bicubic"])
def test_the_jacobian_is_the_derivative(order):
    world = rooms(Pose(0.5, -1.0, 0.7))
    field = DescriptorField.over(world, ANGLES, weights(), 5, transform="logarithmic")
    rng = np.random.default_rng(4)
    inside = world.origin.apply(rng.uniform([0.2, 0.2], [11.8, 7.8], (400, 2)))
    F, J = field.jacobian_at(inside, order)
    step = 1e-6
    checked = 0
    for axis in range(2):
        aside = step * np.eye(2)[axis]
        change = (field.at(inside + aside, order) - field.at(inside - aside, order)) / (2 * step)
        # Squares meet, and nodes go out of sight, between the two ends of a few differences.
        agree = np.abs(change - J[..., axis]).max(axis=-1) < 1e-4
        checked += np.count_nonzero(agree)
    seen = np.count_nonzero(np.isfinite(F[:, 0]))
    assert seen > 300
    assert checked > 2 * 0.98 * seen


def test_the_other_side_of_a_wall_takes_no_part():
    world = rooms()
    field = fill(world, 5, lambda p: np.where(p[:, :1] < 6.05, 1.0, 5.0))
    y = np.linspace(0.3, 5.5, 60)
    for x, expected in ((5.97, 1.0), (6.23, 5.0)):
        for order in ("bilinear", "bicubic"):
            values = field.at(np.stack([np.full_like(y, x), y], axis=-1), order)
            np.testing.assert_allclose(values, expected, rtol=1e-6)


def test_points_in_walls_or_outside_have_no_descriptor():
    field = DescriptorField.over(rooms(), ANGLES, weights(), 5)
    F, J = field.jacobian_at([[6.1, 3.0], [-1.0, 2.0], [50.0, 50.0]])
    assert np.isnan(F).all()
    assert np.isnan(J).all()


def test_a_point_on_the_line_of_missing_nodes_has_finite_values():
    world = rooms()
    field = DescriptorField.over(world, ANGLES, weights(), 5)
    F, J = field.jacobian_at(world.centres([25, 19], [24, 27]))
    assert np.isfinite(F).all()
    assert np.isfinite(J).all()


def test_fields_agree_with_direct_evaluation():
    world = rooms()
    W = weights()
    rng = np.random.default_rng(6)
    points = rng.uniform([0.8, 0.8], [5.3, 1.6], (200, 2))
    along = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=-1)
    hits = world.cast(points[:, None], along)
    direct = (np.log1p(hits.ranges) * (hits.endings == Ending.WALL)) @ W
    for order in ("bilinear", "bicubic"):
        field = DescriptorField.over(world, ANGLES, W, 3, transform="logarithmic")
        errors = np.abs(field.at(points, order) - direct).max(axis=-1) / direct.max(axis=-1)
        assert np.median(errors) < 0.01
        assert np.quantile(errors, 0.95) < 0.03


def test_a_field_is_what_describe_field_gives():
    world = rooms()
    field = DescriptorField.over(world, ANGLES, weights(), 7, transform="saturating", maximum=3.0)
    rows, cols = field.nodes.T
    F, K = describe_field(world, ANGLES, weights(), rows, cols, transform="saturating", maximum=3.0)
    np.testing.assert_array_equal(field.F, F)
    np.testing.assert_array_equal(field.K, K)
    assert field.at(np.full((2, 3, 2), 1.0)).shape == (2, 3, 8)


def test_bad_questions_are_refused():
    field = fill(rooms(), 5, linear)
    with pytest.raises(InputError) as error:
        field.at([1.0, 1.0], "quintic")
    assert str(error.value) == "`order` must be bilinear or bicubic, got quintic."
    with pytest.raises(InputError) as error:
        field.at([1.0])
    assert str(error.value) == "`points` must have shape (..., 2), got (1,)."
