import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.angles import unit_vectors
from tests.support.differences import richardson
from tests.support.reference import describe_plainly, random_point, random_room

from isovist import (
    Descriptor,
    DirectionalBasis,
    Intensity,
    Range,
    Scan,
    SegmentMap,
    SurfaceGradient,
)
from isovist.basis import Bump, CosinePower
from isovist.paper import EqualArea, Exact, Lebedev, MapField, Moments, free_points, paper_room

pytestmark = pytest.mark.slow

seeds = st.integers(0, 2**32 - 1)
BASES = {
    "paper": DirectionalBasis.circle(8, 0.5),
    "many": DirectionalBasis.circle(48),
    "sharp": DirectionalBasis.circle(8, 0.004),
    "uneven": DirectionalBasis.from_directions(unit_vectors([0.1, 0.5, 1.9, 3.0, 3.1, 5.0]), 0.2),
    "bump": DirectionalBasis.circle(8, profile=Bump(1.2)),
    "power": DirectionalBasis.circle(8, profile=CosinePower(4.0)),
}
SIGNALS = {
    "range": Range(),
    "short": Range(maximum=2.5),
    "saturating": Range(transform="saturating", scale=2.0),
    "logarithmic": Range(maximum=4.0, transform="logarithmic", scale=0.7),
}


@pytest.mark.parametrize("name", BASES)
def test_the_exact_quadrature_agrees_with_a_long_sum(name):
    rng = np.random.default_rng(7)
    basis = BASES[name]
    for _ in range(2):
        world = random_room(rng)
        p = random_point(rng, world)
        F = [Descriptor(basis, signal).at(world, p)[0] for signal in SIGNALS.values()]
        long = describe_plainly(
            world, p, basis, 100_000, lambda r: np.stack([s.of_ranges(r) for s in SIGNALS.values()])
        )
        np.testing.assert_allclose(F, long, atol=4e-4)


@pytest.mark.parametrize("name", ["paper", "many", "sharp", "uneven"])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8, 1e-12])
def test_the_exact_quadrature_keeps_its_tolerance(name, tolerance):
    rng = np.random.default_rng(11)
    basis = BASES[name]
    for _ in range(10):
        world = random_room(rng)
        p = random_point(rng, world)
        F, _ = Descriptor(basis, quadrature=Exact(tolerance)).at(world, p)
        best, _ = Descriptor(basis, quadrature=Exact(1e-15)).at(world, p)
        assert np.abs(F - best).max() <= tolerance * best.sum()


def test_grazing_walls_cost_no_accuracy():
    """A corridor 200 m long and 2 m wide: r grows a hundredfold within a degree."""
    world = SegmentMap.room(200.0, 2.0)
    F, _ = Descriptor(BASES["paper"]).at(world, [70.0, 0.7])
    best, _ = Descriptor(BASES["paper"], quadrature=Exact(1e-15)).at(world, [70.0, 0.7])
    assert np.abs(F - best).max() <= 1e-12 * best.sum()
    # ∫ r dθ over one wall at distance c between angles φ is c·[artanh sin φ].
    total = 0.0
    for c, left, right in ((0.7, 70.0, 130.0), (1.3, 70.0, 130.0)):
        total += c * (np.arcsinh(left / c) + np.arcsinh(right / c))
    for c in (70.0, 130.0):
        total += c * (np.arcsinh(0.7 / c) + np.arcsinh(1.3 / c))
    assert F.sum() == pytest.approx(total, rel=1e-13)


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("kind", SIGNALS)
def test_the_jacobian_agrees_with_differences_for_every_basis_and_signal(name, kind):
    rng = np.random.default_rng(5)
    descriptor = Descriptor(BASES[name], SIGNALS[kind], Exact(1e-14))
    for _ in range(6):
        world = random_room(rng)
        p = random_point(rng, world)
        _, J = descriptor.at(world, p, jacobian=True)
        D = richardson(lambda q, world=world: descriptor.at(world, q)[0], p, 8e-4)
        # Where the maximum range passes a corner F has a kink; tell such places by J itself.
        around = descriptor.at(world, p + 8e-4 * np.array([[1, 1], [-1, -1]]), jacobian=True)[1]
        if np.linalg.norm(around[0] - around[1]) > 0.02 * np.linalg.norm(J):
            continue
        assert np.linalg.norm(J - D) <= 2e-6 * np.linalg.norm(J)


def test_row_sums_of_the_jacobian_are_the_gradient_of_the_energy_whatever_the_basis():
    world = paper_room()
    places = free_points(world, np.random.default_rng(2), 20)
    moments = Moments.from_segments(world, places, BASES["paper"])
    slope = np.add.reduceat(moments.values[:, 1:], moments.offsets[:-1])
    for name in ("paper", "many", "uneven"):
        field = MapField(Descriptor(BASES[name]), world)
        assert np.abs(field.at(places)[1].sum(axis=1) - slope).max() < 1e-8


@given(seeds)
def test_what_is_not_in_view_does_not_count(seed):
    rng = np.random.default_rng(seed)
    world = random_room(rng)
    p = random_point(rng, world)
    descriptor = Descriptor(BASES["paper"])
    a, b = np.sort(rng.uniform(0.0, 2.0 * np.pi, 2))
    whole, J = descriptor.at(world, p, jacobian=True)
    inside, J_in = descriptor.at(world, p, view=[[a, b]], jacobian=True)
    outside, J_out = descriptor.at(world, p, view=[[b, a + 2.0 * np.pi]], jacobian=True)
    np.testing.assert_allclose(inside + outside, whole, rtol=1e-10)
    np.testing.assert_allclose(J_in + J_out, J, rtol=1e-7, atol=1e-7)
    assert (inside <= whole + 1e-12).all()


def test_a_scan_gives_the_descriptor_of_the_place_it_was_taken_from():
    world = paper_room()
    bearings = 2.0 * np.pi * np.arange(1440) / 1440
    ranges = world.cast([1.3, 1.7], unit_vectors(bearings)).ranges
    descriptor = Descriptor(BASES["paper"])
    observed = descriptor.of_scan(Scan(bearings, ranges))
    F, _ = descriptor.at(world, [1.3, 1.7])
    np.testing.assert_allclose(observed.F, F, atol=5e-3)
    np.testing.assert_allclose(observed.mass.sum(), 2.0 * np.pi, rtol=1e-12)


def test_a_sensor_with_two_returns_gives_the_descriptor_of_one_with_one():
    bearings = 2.0 * np.pi * np.arange(720) / 720
    ranges = paper_room().cast([1.3, 1.7], unit_vectors(bearings)).ranges
    descriptor = Descriptor(BASES["paper"])
    once = descriptor.of_scan(Scan(bearings, ranges))
    twice = descriptor.of_scan(Scan(np.repeat(bearings, 2), np.repeat(ranges, 2)))
    np.testing.assert_allclose(twice.F, once.F, rtol=1e-12)
    np.testing.assert_allclose(twice.mass, once.mass, rtol=1e-12)
    # Where the returns differ, each counts for half.
    both = np.stack([ranges, ranges + 0.5], axis=1).ravel()
    between = descriptor.of_scan(Scan(np.repeat(bearings, 2), both))
    np.testing.assert_allclose(between.F, once.F + 0.25 * once.mass, rtol=1e-12)


def test_missing_beams_leave_a_hole_in_the_mass():
    bearings = np.linspace(-np.pi / 2, np.pi / 2, 181)
    ranges = np.full(181, 2.0)
    ranges[60:120] = np.nan
    observed = Descriptor(DirectionalBasis.circle(8, 0.02)).of_scan(Scan(bearings, ranges))
    step = np.pi / 180
    assert observed.mass.sum() == pytest.approx(121 * step, rel=1e-9)
    np.testing.assert_allclose(observed.F, 2.0 * observed.mass, rtol=1e-12)
    assert observed.mass[4] < 1e-6  # behind: never seen
    view = [[-np.pi / 2 - step / 2, -30.5 * step], [29.5 * step, np.pi / 2 + step / 2]]
    F, _ = Descriptor(DirectionalBasis.circle(8, 0.02)).at(
        SegmentMap.from_polygons([2.0 * unit_vectors(np.arange(720) * np.pi / 360)]),
        [0.0, 0.0],
        view=view,
    )
    np.testing.assert_allclose(observed.F, F, atol=2e-3)


def test_walls_that_differ_only_in_reflectance_make_a_shadow_term_of_their_own():
    square = [[[0, 0], [4, 0]], [[4, 0], [4, 4]], [[4, 4], [0, 4]], [[0, 4], [0, 0]]]
    world = SegmentMap.from_segments(square, reflectance=[0.1, 0.9, 0.4, 0.6])
    descriptor = Descriptor(BASES["paper"], Intensity(), Exact(1e-14))
    p = np.array([1.3, 2.2])
    _, J = descriptor.at(world, p, jacobian=True)
    D = richardson(lambda q: descriptor.at(world, q)[0], p, 8e-4)
    np.testing.assert_allclose(J, D, atol=1e-9)
    assert np.linalg.norm(J) > 0.1


def furnished(rng, world):
    """The same room with walls of unlike reflectance and attributes."""
    m = len(world.walls)
    return SegmentMap.from_segments(
        world.walls, free=world.free, reflectance=rng.uniform(0.1, 1.0, m),
        attribute=rng.uniform(0.0, 2.0, (m, 2)),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["paper", "many", "uneven", "bump"])
@pytest.mark.parametrize("signal", [Intensity(2.5, 0.3), SurfaceGradient(maximum=2.0)])
def test_a_signal_that_jumps_at_its_longest_range_has_the_jacobian_of_its_rims(name, signal):
    rng = np.random.default_rng(17)
    descriptor = Descriptor(BASES[name], signal, Exact(1e-14))
    tried = 0
    for _ in range(8):
        world = furnished(rng, random_room(rng))
        p = random_point(rng, world)
        _, J = descriptor.at(world, p, jacobian=True)
        D = richardson(lambda q, world=world: descriptor.at(world, q)[0], p, 8e-4)
        # Where the longest range passes a corner or a foot F has a kink; J itself tells.
        around = descriptor.at(world, p + 8e-4 * np.array([[1, 1], [-1, -1]]), jacobian=True)[1]
        if np.linalg.norm(around[0] - around[1]) > 0.02 * np.linalg.norm(J):
            continue
        tried += 1
        assert np.linalg.norm(J - D) <= 1e-5 * np.linalg.norm(J)
        moments = Moments.from_segments(world, p[None], BASES[name], signal)
        np.testing.assert_allclose(moments.describe(BASES[name])[1][0], J, atol=1e-9)
    assert tried >= 4


def test_rims_count_within_the_view_alone():
    world = furnished(np.random.default_rng(2), SegmentMap.room(9.0, 6.0))
    descriptor = Descriptor(BASES["paper"], Intensity(2.5), Exact(1e-14))
    p = np.array([2.0, 2.2])
    _, J = descriptor.at(world, p, jacobian=True)
    _, left = descriptor.at(world, p, jacobian=True, view=[[0.0, 3.0]])
    _, right = descriptor.at(world, p, jacobian=True, view=[[3.0, 2.0 * np.pi]])
    np.testing.assert_allclose(left + right, J, atol=1e-12)
    D = richardson(lambda q: descriptor.at(world, q, view=[[0.0, 3.0]])[0], p, 8e-4)
    np.testing.assert_allclose(left, D, atol=1e-8)


@pytest.mark.parametrize("rule", [Lebedev(65), EqualArea(40_000)])
def test_rules_on_the_sphere_integrate_polynomials(rule):
    nodes = rule.rule()
    x, y, z = nodes.directions.T
    assert nodes.coefficients.sum() == pytest.approx(4.0 * np.pi, rel=1e-12)
    assert nodes.coefficients @ (x**2 * z**4) == pytest.approx(4.0 * np.pi / 35.0, rel=1e-5)
    assert nodes.coefficients @ (x * y**3) == pytest.approx(0.0, abs=1e-5)
