"""The paper's surface gradient of any field of places."""

import numpy as np
import pytest

import isovist as iv
from isovist import Descriptor
from isovist.paper import EqualArea, paper_room
from isovist.sensing import FieldGradient


def slope(x):
    """∇ of s = 3x + sin(x) cosh(y/3), in space with z² / 4 added: never 0."""
    parts = [
        3.0 + np.cos(x[:, 0]) * np.cosh(x[:, 1] / 3.0),
        np.sin(x[:, 0]) * np.sinh(x[:, 1] / 3.0) / 3,
    ]
    return np.stack([*parts, *(0.5 * x[:, k] for k in range(2, x.shape[1]))], axis=1)


def bend(x):
    """The Hessian, by differences fine enough for the tests."""
    steps = 1e-6 * np.eye(x.shape[1])
    return np.stack([(slope(x + s) - slope(x - s)) / 2e-6 for s in steps], axis=2)


SIGNAL = FieldGradient(slope, bend)


def test_the_jacobian_agrees_with_differences_behind_shadows_too():
    world, descriptor = paper_room(), Descriptor(iv.Rose.circle(8, 0.5), SIGNAL)
    for place in ([1.5, 1.5], [3.6, 2.2], [5.5, 3.1]):
        p = np.array(place)
        _, J = descriptor.at(world, p, jacobian=True)
        steps = 1e-4 * np.eye(2)
        F = descriptor.at(world, np.concatenate([p + steps, p - steps]))[0]
        np.testing.assert_allclose(J, ((F[:2] - F[2:]) / 2e-4).T, atol=1e-4)


def test_the_sum_over_rays_agrees_with_the_exact_quadrature():
    from isovist.paper import CircleSum

    world, rose = paper_room(), iv.Rose.circle(8, 0.5)
    exact, _ = Descriptor(rose, SIGNAL).at(world, [1.5, 2.0])
    summed, _ = Descriptor(rose, SIGNAL, CircleSum(16384)).at(world, [1.5, 2.0])
    np.testing.assert_allclose(summed, exact, atol=1e-3)


@pytest.mark.slow
def test_in_space_the_slope_is_that_of_differences():
    plan = iv.SegmentMap.room(3.0, 2.0)
    world = iv.MeshMap.extrude(plan, 0.0, 2.0)
    descriptor = Descriptor(iv.Rose.fibonacci(6, 0.5), SIGNAL, EqualArea(20_000))
    p, step = np.array([1.3, 0.9, 0.8]), 1e-2
    _, J = descriptor.at(world, p, jacobian=True)
    for k in range(3):
        e = step * np.eye(3)[k]
        F = descriptor.at(world, np.stack([p + e, p - e]))[0]
        np.testing.assert_allclose(J[:, k], (F[0] - F[1]) / (2.0 * step), atol=5e-3)


def test_beyond_the_maximum_there_is_nothing():
    world = iv.SegmentMap.room(6.0, 4.0)
    near = FieldGradient(slope, bend, maximum=1e-3, missing=0.25)
    F, _ = Descriptor(iv.Rose.circle(4), near).at(world, [3.0, 2.0])
    assert F.sum() == pytest.approx(0.25 * 2.0 * np.pi)
