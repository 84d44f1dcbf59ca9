import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.reference import random_point, random_room

from isovist import Descriptor, SegmentMap
from isovist.paper import (
    DescriptorGrid,
    Exact,
    gauss_newton,
    injectivity,
    paper_room,
    paper_rose,
    static_bound,
)

seeds = st.integers(0, 2**32 - 1)
DESCRIPTOR = Descriptor(paper_rose())


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
    descent = gauss_newton(DESCRIPTOR, world, F, [0.5, 0.5], trust_radius=0.3)
    assert world.contains(descent.positions).all()
    assert np.linalg.norm(np.diff(descent.positions, axis=0), axis=1).max() <= 0.3 + 1e-12


def test_gauss_newton_with_exact_descriptors_converges_quadratically():
    world, exact = paper_room(), Descriptor(paper_rose(), quadrature=Exact(1e-14))
    F, _ = exact.at(world, [1.3, 1.7])
    path = gauss_newton(exact, world, F, [1.5, 1.5]).positions
    errors = np.linalg.norm(path - [1.3, 1.7], axis=1)
    assert errors[3] < 1e-9
    assert errors[4] < 1e-14


@pytest.mark.slow
def test_every_free_place_has_a_node_within_the_covering_radius():
    rng = np.random.default_rng(3)
    for _ in range(10):
        world = random_room(rng)
        grid = DescriptorGrid.over(world, DESCRIPTOR, 0.5)
        assert world.contains(grid.nodes).all()
        places = rng.uniform(*world.bounds, (2000, 2))
        places = places[world.contains(places)]
        gaps = np.linalg.norm(places[:, None] - grid.nodes, axis=2).min(axis=1)
        assert gaps.max() <= grid.covering_radius
        assert grid.covering_radius >= 0.5 / np.sqrt(2.0)


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


@pytest.mark.slow
def test_the_static_bound_is_not_violated_where_it_holds():
    """A small sample of benchmarks/static_bound.py, which counts thousands."""
    from benchmarks.static_bound import try_cases

    tally = try_cases(75, seed=1)
    assert tally.violations == 0
    assert tally.held >= 10


def test_the_static_bound_says_when_it_cannot_hold():
    world = SegmentMap.room(40.0, 2.0)
    beside_a_wall = static_bound(
        DESCRIPTOR, world, [20.0, 0.1], covering_radius=0.2, noise=0.0, radius=0.3
    )
    assert not beside_a_wall.holds
    assert beside_a_wall.bound == np.inf
    # In the middle of a long corridor J hardly sees motion along it.
    corridor = static_bound(
        DESCRIPTOR, world, [20.0, 1.0], covering_radius=0.2, noise=0.0, radius=0.5
    )
    assert corridor.mu < 0.1
    assert not corridor.holds
