import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.reference import random_point, random_room

from isovist import Descriptor, SegmentMap
from isovist.paper import (
    DescriptorGrid,
    MapField,
    PlaceTrajectory,
    Premises,
    StepLimits,
    gauss_newton,
    injectivity,
    paper_basis,
    paper_room,
    static_bound,
)

seeds = st.integers(0, 2**32 - 1)
DESCRIPTOR = Descriptor(paper_basis())


@pytest.mark.slow
@given(seeds)
def test_gauss_newton_finds_a_place_near_the_start(seed):
    rng = np.random.default_rng(seed)
    world = random_room(rng)
    place = random_point(rng, world, clearance=0.2)
    F, J = DESCRIPTOR.at(world, place, jacobian=True)
    start = place + 0.02 * rng.normal(size=2)
    descent = gauss_newton(DESCRIPTOR, world, F, start)
    assert (np.diff(descent.residuals) < 0.0).all()
    # Across a line through two corners J jumps, and a local minimum may lie on it.
    _, there = DESCRIPTOR.at(world, start, jacobian=True)
    assume(np.linalg.norm(there - J, ord=2) < 0.5 * injectivity(J))
    # Noise of the quadrature, amplified by 1/μ, is all that is left.
    assert np.linalg.norm(descent.positions[-1] - place) <= 1e-10 / injectivity(J)


def test_gauss_newton_never_leaves_free_space_or_the_trust_radius():
    world = paper_room()
    F, _ = DESCRIPTOR.at(world, [5.5, 3.5])
    descent = gauss_newton(DESCRIPTOR, world, F, [0.5, 0.5], StepLimits(trust_radius_m=0.3))
    assert world.contains(descent.positions).all()
    assert np.linalg.norm(np.diff(descent.positions, axis=0), axis=1).max() <= 0.3 + 1e-12


def test_the_nearest_node_is_that_of_the_smallest_descriptor_distance():
    world = paper_room()
    grid = DescriptorGrid.over(world, DESCRIPTOR, 0.5)
    F, _ = DESCRIPTOR.at(world, [1.3, 1.7])
    order, distances = grid.nearest(F, 5)
    plain = np.linalg.norm(grid.F - F, axis=1)
    np.testing.assert_array_equal(order, np.argsort(plain)[:5])
    np.testing.assert_allclose(distances, np.sort(plain)[:5])
    # A metric that sees only the first channel.
    order, _ = grid.nearest(F, 1, whiten=lambda gap: gap[:, :1])
    assert order[0] == np.argmin(np.abs(grid.F[:, 0] - F[0]))


def bound(world, node, premises):
    trajectory = PlaceTrajectory(MapField(DESCRIPTOR, world), np.zeros((1, 2)), np.ones(1))
    F, _ = DESCRIPTOR.at(world, node)
    return static_bound(trajectory, node, F, premises, is_node=True)


def test_the_static_bound_is_that_of_the_constants_over_the_disc():
    told = bound(paper_room(), [1.3, 1.7], Premises(0.02, 0.01, 0.002))
    assert told.holds
    largest, mu = np.linalg.svd(DESCRIPTOR.at(paper_room(), [1.3, 1.7], jacobian=True)[1])[1]
    assert told.mu == pytest.approx(mu)
    assert 1.25 * largest <= told.lipschitz < 1.3 * largest  # of samples, times 1.25
    ratio = (0.01 * told.lipschitz + 2.0 * 0.002) / (mu - told.variation)
    assert told.bound == pytest.approx(ratio)


def test_the_static_bound_says_when_it_cannot_hold():
    """Beside a wall, and in the middle of a long corridor, where J hardly sees motion along it."""
    world = SegmentMap.room(40.0, 2.0)
    beside, corridor = (
        bound(world, [20.0, y], Premises(radius, 0.2, 0.0))
        for y, radius in ((0.1, 0.3), (1.0, 0.5))
    )
    assert beside.bound == corridor.bound == np.inf
    assert not beside.holds
    assert not corridor.holds
    assert corridor.mu < 0.1
