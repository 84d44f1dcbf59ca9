"""The paper's surface gradient of any field of places."""

import numpy as np
import pytest

import isovist as iv
from isovist import Descriptor
from isovist.paper import CircleSum, EqualArea, paper_room
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


SIGNAL, CIRCLE = FieldGradient(slope, bend), iv.Rose.circle(8, 0.5)
MESH = iv.MeshMap.extrude(iv.SegmentMap.room(3.0, 2.0), 0.0, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "rose", "quadrature", "places", "step", "atol"),
    [
        (paper_room(), CIRCLE, None, [[1.5, 1.5], [3.6, 2.2], [5.5, 3.1]], 1e-4, 1e-4),
        (MESH, iv.Rose.fibonacci(6, 0.5), EqualArea(20_000), [[1.3, 0.9, 0.8]], 1e-2, 5e-3),
    ],
    ids=["plane", "space"],
)
def test_the_jacobian_agrees_with_differences_behind_shadows_too(
    world, rose, quadrature, places, step, atol
):
    descriptor = Descriptor(rose, SIGNAL, quadrature)
    for p in np.array(places):
        _, J = descriptor.at(world, p, jacobian=True)
        steps = step * np.eye(len(p))
        ahead, back = (descriptor.at(world, p + s)[0] for s in (steps, -steps))
        np.testing.assert_allclose(J, ((ahead - back) / (2.0 * step)).T, atol=atol)


def test_the_sum_over_rays_agrees_with_the_exact_quadrature():
    exact, _ = Descriptor(CIRCLE, SIGNAL).at(paper_room(), [1.5, 2.0])
    summed, _ = Descriptor(CIRCLE, SIGNAL, CircleSum(16384)).at(paper_room(), [1.5, 2.0])
    np.testing.assert_allclose(summed, exact, atol=1e-3)


def test_beyond_the_maximum_there_is_nothing():
    world = iv.SegmentMap.room(6.0, 4.0)
    near = FieldGradient(slope, bend, maximum=1e-3, missing=0.25)
    F, _ = Descriptor(iv.Rose.circle(4), near).at(world, [3.0, 2.0])
    assert F.sum() == pytest.approx(0.25 * 2.0 * np.pi)
