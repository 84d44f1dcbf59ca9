"""Gram geometry: the matrix, its factor, the seminorm, the projection, the metric."""

import runpy

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from tests.support.angles import unit_vectors
from tests.support.paths import ROOT

from isovist import Descriptor, DirectionalBasis, Gram, Range, Scan
from isovist.basis import Bump, CosinePower
from isovist.paper import (
    KEEP,
    CircleSum,
    Lebedev,
    Sector,
    circle_rule,
    free_points,
    gram_sum,
    paper_room,
    plain_rule,
    random_signal,
    signal_distances,
    sphere_rule,
    squared_norms,
)

pytestmark = pytest.mark.slow

ROOM = paper_room()
PLACE = np.array([1.5, 2.0])


@pytest.mark.parametrize(("n", "temperature"), [(8, 0.5), (8, 0.1), (9, 0.3), (16, 0.5)])
def test_the_circulant_matrix_is_the_one_a_quadrature_gives(n, temperature):
    basis = DirectionalBasis.circle(n, temperature)
    by_fft, by_rule = Gram.from_basis(basis), Gram.from_rule(basis, circle_rule(basis))
    np.testing.assert_allclose(by_fft.matrix, by_rule.matrix, atol=1e-13)
    np.testing.assert_allclose(by_fft.spectrum, by_rule.spectrum, rtol=1e-6)
    np.testing.assert_allclose(
        by_fft.axes @ np.diag(by_fft.scales**2) @ by_fft.axes.T, by_fft.matrix, atol=1e-13
    )


@pytest.mark.parametrize(
    ("n", "temperature", "condition"), [(8, 0.5, 1.0e3), (16, 0.5, 3.4e9), (8, 0.1, 2.84)]
)
def test_condition_numbers_grow_with_the_overlap_of_the_weights(n, temperature, condition):
    found = Gram.from_basis(DirectionalBasis.circle(n, temperature)).condition
    assert found == pytest.approx(condition, rel=0.02)


def test_conditions_beyond_rounding_are_seen_since_the_factor_keeps_twice_the_digits():
    assert Gram.from_basis(DirectionalBasis.circle(32, 0.5)).condition > 1e16


@pytest.mark.parametrize("profile", [Bump(1.2), CosinePower(3.0)])
def test_profiles_with_an_edge_are_integrated_to_1e_9(profile):
    basis = DirectionalBasis.circle(8, profile=profile)
    fine = gram_sum(basis, CircleSum(200_000).rule())
    np.testing.assert_allclose(Gram.from_basis(basis).matrix, fine, atol=1e-9)


def test_on_the_sphere_the_product_rule_settles_where_lebedev_agrees():
    basis = DirectionalBasis.fibonacci(20, 0.3)
    G = Gram.from_basis(basis).matrix
    np.testing.assert_allclose(G, gram_sum(basis, Lebedev(131).rule()), atol=1e-11)
    assert G.sum() == pytest.approx(4.0 * np.pi, rel=1e-13)


@pytest.mark.parametrize(
    ("basis", "rank"),
    [
        (DirectionalBasis.circle(64, 0.5), 23),
        (DirectionalBasis.fibonacci(64, 0.5), 64),
        (DirectionalBasis.fibonacci(64, 2.0), None),
    ],
)
def test_64_flat_weights_neither_fail_nor_return_garbage(basis, rank):
    """n = 64, ε = 0.5: the seminorm is the norm of the projection computed without F or G."""
    gram = Gram.from_basis(basis)
    assert gram.condition > 1e9
    assert gram.rank == rank if rank is not None else gram.rank < 64
    rule = CircleSum(5000).rule() if basis.dimension == 2 else sphere_rule(101)
    A = np.sqrt(rule.coefficients)[:, None] * basis.weights(rule.directions)
    Q, s, _ = np.linalg.svd(A, full_matrices=False)
    Q = Q[:, s > KEEP * s[0]]
    assert Q.shape[1] == gram.rank
    f = np.exp(1.3 * rule.directions[:, 0]) + rule.directions[:, 1] ** 3
    direct = np.linalg.norm(Q.T @ (np.sqrt(rule.coefficients) * f))
    g = np.exp(1.3 * gram.rule.directions[:, 0]) + gram.rule.directions[:, 1] ** 3
    assert float(gram.seminorm(gram.features(g))) == pytest.approx(direct, rel=1e-6)


def test_64_flat_weights_on_the_paper_room_against_an_orthonormal_basis():
    """A jumping signal, integrated exactly against the Fourier modes that span the kept space."""
    basis = DirectionalBasis.circle(64, 0.5)
    gram = Gram.from_basis(basis)
    assert gram.rank == 23
    F, _ = Descriptor(basis).at(ROOM, PLACE)
    # Kept modes 0…11 of the basis; each is one function Σ_i e^(2πi m i/n) w_i, normalised here.
    fine = CircleSum(4096).rule()
    W = basis.weights(fine.directions)
    captured = 0.0
    for m in range(12):
        for part in (np.cos, np.sin) if m else (np.cos,):
            mix = part(2.0 * np.pi * m * np.arange(64) / 64)
            norm = np.sqrt(fine.coefficients @ (W @ mix) ** 2)
            captured += float(F @ mix / norm) ** 2
    assert float(gram.seminorm(F)) == pytest.approx(np.sqrt(captured), rel=1e-6)


def test_half_the_squared_norm_is_the_area_of_the_visible_polygon_anywhere():
    points = np.concatenate([PLACE[None], free_points(ROOM, np.random.default_rng(2), 40)])
    halves = 0.5 * squared_norms(ROOM, points)
    assert halves[0] == pytest.approx(13.5, rel=1e-13)
    pieces = ROOM.see(points)
    for p, angles, count, half in zip(points, pieces.angles, pieces.counts, halves, strict=True):
        ends = np.stack([angles[:count] + 1e-9, angles[1 : count + 1] - 1e-9], axis=1).ravel()
        corners = p + ROOM.cast(p, unit_vectors(ends)).ranges[:, None] * unit_vectors(ends)
        assert shapely.Polygon(corners).area == pytest.approx(half, rel=1e-6)


def test_the_distance_of_signals_is_that_of_densely_sampled_ones():
    p, q = free_points(ROOM, np.random.default_rng(3), 20).reshape(2, 10, 2)
    theta = CircleSum(20_000).rule()
    for a, b, d in zip(p, q, signal_distances(ROOM, p, q), strict=True):
        gap = ROOM.cast(a, theta.directions).ranges - ROOM.cast(b, theta.directions).ranges
        assert np.sqrt(gap**2 @ theta.coefficients) == pytest.approx(d, rel=5e-3)


@given(seed=st.integers(0, 10_000), n=st.integers(3, 20), three=st.booleans())
def test_gap_bounds_and_projection_fit_together(seed, n, three):
    rng = np.random.default_rng(seed)
    basis = DirectionalBasis.fibonacci(n) if three else DirectionalBasis.circle(n)
    gram = Gram.from_rule(basis, plain_rule(3 if three else 2))
    c = gram.rule.coefficients
    f = random_signal(rng, gram.rule.directions)
    F = gram.features(f)
    projected = gram.projection(F)(gram.rule.directions)
    assert np.sqrt(c @ projected**2) == pytest.approx(float(gram.seminorm(F)), rel=1e-9)
    assert float(gram.gap(F, c @ f**2)) == pytest.approx(float(c @ (f - projected) ** 2), abs=1e-8)
    low, high = gram.bounds(F)
    assert low * (1.0 - 1e-12) <= gram.seminorm(F) <= high * (1.0 + 1e-12)
    np.testing.assert_allclose(gram.features(projected), F, rtol=1e-8)
    np.testing.assert_allclose(gram.matrix @ gram.coefficients(F), F, rtol=1e-8)


def test_restricted_to_a_field_of_view_everything_is_an_integral_over_it():
    view = np.array([[-2.0, 1.0]])
    basis = DirectionalBasis.circle(12, 0.2)
    gram = Gram.from_basis(basis, view=view)
    assert gram.matrix.sum() == pytest.approx(3.0, rel=1e-13)
    F, _ = Descriptor(basis).at(ROOM, PLACE, view=view)
    energy = float(squared_norms(ROOM, PLACE[None], view=view)[0])
    assert 0.0 < float(gram.gap(F, energy)) < 0.05 * energy
    whole = squared_norms(ROOM, PLACE[None])[0]
    other = squared_norms(ROOM, PLACE[None], view=[[1.0, 2.0 * np.pi - 2.0]])[0]
    assert energy + other == pytest.approx(whole, rel=1e-12)


def test_a_band_of_the_sphere_has_its_own_gram_matrix():
    band = Sector(azimuth=(0.3, 2.8), elevation=(-0.2, 0.7))
    gram = Gram.from_basis(DirectionalBasis.fibonacci(16, 0.4), view=band)
    assert gram.matrix.sum() == pytest.approx(band.area, rel=1e-12)
    assert gram.condition > 1e6


def test_a_scan_with_missing_beams_is_compared_only_where_it_saw():
    bearings = np.linspace(-np.pi, np.pi, 180, endpoint=False)
    ranges = ROOM.cast(PLACE, unit_vectors(bearings)).ranges.copy()
    ranges[40:90] = np.nan
    scan = Scan(bearings, ranges)
    basis = DirectionalBasis.circle(16)
    gram = Gram.from_scan(basis, scan)
    F = Descriptor(basis, signal=Range()).of_scan(scan).F
    seen = scan.valid
    energy = float(scan.beam_widths[seen] @ scan.ranges[seen] ** 2)
    assert 0.0 < float(gram.gap(F, energy)) < 0.02 * energy
    assert gram.rank < 16 or gram.condition > 10.0


def test_a_signal_in_the_span_is_captured_whole():
    gram = Gram.from_basis(DirectionalBasis.circle(32, 0.1))
    f = gram.basis.weights(gram.rule.directions) @ np.linspace(1.0, 2.0, 32)
    assert float(gram.gap(gram.features(f), gram.rule.coefficients @ f**2)) == pytest.approx(
        0.0, abs=1e-10
    )


def test_the_example_of_reconstruction_prints_its_numbers_and_writes_its_picture(tmp_path, capsys):
    example = runpy.run_path(str(ROOT / "examples" / "gram_reconstruction.py"))
    example["main"](tmp_path / "figure.png")
    out = capsys.readouterr().out
    assert "13.5000 m²" in out  # the visible area
    assert "rank 23 of 64" in out
    assert (tmp_path / "figure.png").stat().st_size > 10_000
