"""Derivatives of F by places, corners, directions and temperature, also in PyTorch."""

import importlib.util

import numpy as np
import pytest
from tests.support.differentiable import (
    DIRECTIONS,
    EPSILON,
    POINTS,
    RNG,
    SIGNALS,
    Plan,
    describe,
    of_a_field,
    room,
)
from tests.support.errors import refused
from tests.support.paper_parts import CircleSum, EqualArea, paper_room

import isovist as iv
from isovist import Descriptor, DirectionalBasis, MissingExtraError

has_torch = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not has_torch, reason="PyTorch is not installed")
SIGNAL, CIRCLE = of_a_field(), iv.DirectionalBasis.circle(8, 0.5)
MESH = iv.MeshMap.extrude(iv.SegmentMap.room(3.0, 2.0), 0.0, 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("signal", SIGNALS)
def test_what_a_loss_is_worth_in_everything_agrees_with_differences(signal):
    plan, u = room(), RNG.normal(size=(len(POINTS), len(DIRECTIONS)))

    def loss(points, corners, directions, epsilon):
        basis = DirectionalBasis.from_directions(directions, epsilon)
        return (
            u * plan.with_corners(corners).moments(points, basis, signal).describe(basis)[0]
        ).sum()

    given = [POINTS, plan.corners, DIRECTIONS, np.array(EPSILON)]
    basis = DirectionalBasis.from_directions(DIRECTIONS, EPSILON)
    pulled = plan.pull(plan.moments(POINTS, basis, signal), basis, u)
    lengths = np.linalg.norm(DIRECTIONS, axis=1)
    told = [pulled.points, pulled.corners, pulled.directions / lengths[:, None], pulled.parameter]
    step = 1e-5
    for k, (value, slope) in enumerate(zip(given, told, strict=True)):
        expected = np.zeros(value.shape)
        for index in np.ndindex(value.shape):
            ends = []
            for sign in (1.0, -1.0):
                moved = value.copy()
                moved[index] += sign * step
                ends.append(loss(*given[:k], moved, *given[k + 1 :]))
            expected[index] = (ends[0] - ends[1]) / (2.0 * step)
        np.testing.assert_allclose(slope, expected, atol=2e-7)


def test_moving_all_corners_is_moving_the_places_the_other_way():
    plan, basis = room(), DirectionalBasis.circle(8, 0.3)
    moments = plan.moments(POINTS, basis)
    _, J = Descriptor(basis).at(plan.world, POINTS, jacobian=True)
    for channel in range(8):
        u = np.zeros((len(POINTS), 8))
        u[:, channel] = 1.0
        pulled = plan.pull(moments, basis, u)
        np.testing.assert_allclose(pulled.points, J[:, channel], atol=1e-10)
        np.testing.assert_allclose(
            pulled.corners.sum(axis=0), -J[:, channel].sum(axis=0), atol=1e-9
        )


def test_a_plan_is_the_map_it_came_from():
    world = paper_room()
    plan = Plan.from_map(world)
    np.testing.assert_array_equal(plan.world.walls, world.walls)
    basis = DirectionalBasis.circle(8, 0.5)
    F, _ = Descriptor(basis).at(world, [[1.5, 1.5]])
    np.testing.assert_array_equal(plan.moments([[1.5, 1.5]], basis).describe(basis)[0], F)


def test_signals_that_hang_on_places_are_refused():
    with refused(code="conflict"):
        room().moments(POINTS, DirectionalBasis.circle(4), iv.SurfaceGradient())


@pytest.mark.skipif(has_torch, reason="torch is installed")
def test_without_torch_the_extra_is_named():
    with refused("torch", "missing_extra", MissingExtraError):
        describe(room(), POINTS, directions=DIRECTIONS, temperature=EPSILON)


@pytest.mark.slow
def test_a_wall_is_found_to_a_millimetre_from_scans():
    """What examples/fit_a_wall.py does in PyTorch."""
    from examples.fit_a_wall import DRAWN, RIGHT, scans
    from examples.fit_a_wall import room as room_with
    from scipy.optimize import minimize

    basis, world = DirectionalBasis.circle(16), room_with(DRAWN)
    places = np.random.default_rng(0).uniform(0.2, (4.8, 3.8), (240, 2))
    places = places[world.contains(places) & (world.clearance(places) > 0.3)][:60]
    seen, plan = scans(places, basis), Plan.from_map(world)
    ends = [int(np.linalg.norm(plan.corners - end, axis=1).argmin()) for end in DRAWN]

    def cost(x):
        corners = plan.corners.copy()
        corners[ends] = x.reshape(2, 2)
        here = plan.with_corners(corners)
        moments = here.moments(places, basis)
        gap = moments.describe(basis)[0] - seen
        pulled = here.pull(moments, basis, 2.0 * gap / gap.size)
        return (gap**2).mean(), pulled.corners[ends].ravel()

    found = minimize(
        cost, DRAWN.ravel(), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}
    )
    assert np.linalg.norm(found.x.reshape(2, 2) - RIGHT, axis=1).max() < 1e-3


def tensor(value):
    import torch

    return torch.tensor(np.array(value), dtype=torch.float64, requires_grad=True)


@needs_torch
@pytest.mark.parametrize("signal", SIGNALS)
def test_gradcheck_passes_in_every_argument(signal):
    import torch

    plan = room()

    def F(points, corners, directions, temperature):
        return describe(
            plan, points, corners=corners, directions=directions, temperature=temperature,
            signal=signal,
        )  # fmt: skip

    given = tensor(POINTS), tensor(plan.corners), tensor(DIRECTIONS), tensor(EPSILON)
    assert torch.autograd.gradcheck(F, given)


@needs_torch
def test_any_shape_of_places_and_no_corners_of_its_own():
    plan = room()
    options = {"directions": DIRECTIONS, "temperature": EPSILON}
    one = describe(plan, POINTS[0], **options)
    many = describe(plan, POINTS[None], **options)
    assert one.shape == (7,)
    assert many.shape == (1, 3, 7)
    np.testing.assert_array_equal(one, many[0, 0])


@needs_torch
def test_places_of_no_plane_are_refused():
    with refused("points"):
        describe(room(), [1.0, 2.0, 3.0], directions=DIRECTIONS, temperature=EPSILON)


@needs_torch
def test_a_wall_is_found_to_a_millimetre_by_the_example():
    from examples.fit_a_wall import main

    assert main() < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("world", "basis", "quadrature", "places", "step", "atol"),
    [
        (paper_room(), CIRCLE, None, [[1.5, 1.5], [3.6, 2.2], [5.5, 3.1]], 1e-4, 1e-4),
        (
            MESH,
            iv.DirectionalBasis.fibonacci(6, 0.5),
            EqualArea(20_000),
            [[1.3, 0.9, 0.8]],
            1e-2,
            5e-3,
        ),
    ],
    ids=["plane", "space"],
)
def test_the_jacobian_of_a_field_agrees_with_differences_behind_shadows_too(
    world, basis, quadrature, places, step, atol
):
    descriptor = Descriptor(basis, SIGNAL, quadrature)
    for p in np.array(places):
        _, J = descriptor.at(world, p, jacobian=True)
        steps = step * np.eye(len(p))
        ahead, back = (descriptor.at(world, p + s)[0] for s in (steps, -steps))
        np.testing.assert_allclose(J, ((ahead - back) / (2.0 * step)).T, atol=atol)


def test_the_sum_of_a_field_over_rays_agrees_with_the_exact_quadrature():
    exact, _ = Descriptor(CIRCLE, SIGNAL).at(paper_room(), [1.5, 2.0])
    summed, _ = Descriptor(CIRCLE, SIGNAL, CircleSum(16384)).at(paper_room(), [1.5, 2.0])
    np.testing.assert_allclose(summed, exact, atol=1e-3)


def test_of_a_field_beyond_the_maximum_there_is_nothing():
    world = iv.SegmentMap.room(6.0, 4.0)
    near = of_a_field(maximum=1e-3, missing=0.25)
    F, _ = Descriptor(iv.DirectionalBasis.circle(4), near).at(world, [3.0, 2.0])
    assert F.sum() == pytest.approx(0.25 * 2.0 * np.pi)
