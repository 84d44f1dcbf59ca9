"""Moments, gradients in directions and parameter, and the optimiser."""

import numpy as np
import pytest

from isovist import Descriptor, DirectionalBasis, SegmentMap
from isovist.basis import Bump, CosinePower, Softmax
from isovist.paper import (
    BoxScene,
    CircleSum,
    Moments,
    RoundField,
    captured_energy,
    directions,
    far_separation,
    fit_basis,
    free_points,
    mean_injectivity,
    paper_room,
    random_round,
    round_points,
    sphere_rule,
    squared_norms,
    worst_injectivity,
)

pytestmark = pytest.mark.slow

OUTLINE = [(0, 0), (5, 0), (5, -1), (6.2, -1), (6.2, 0), (12, 0), (12, 2), (0, 2)]
PLACES = free_points(paper_room(), np.random.default_rng(0), 8, 0.2)


def moments_of(dimension):
    if dimension == 2:
        return PLACES, Moments.from_segments(
            paper_room(), PLACES, DirectionalBasis.circle(16, 0.05)
        )
    rng = np.random.default_rng(1)
    scene = random_round(rng)
    places = round_points(scene, rng, 6)
    return places, scene.moments(places, nodes=16)


def uneven(dimension, profile):
    even = DirectionalBasis.circle(8) if dimension == 2 else DirectionalBasis.fibonacci(14)
    move = 0.05 * np.random.default_rng(2).normal(size=even.directions.shape)
    return DirectionalBasis.from_directions(even.directions + move, profile=profile)


def moved(basis, move=0.0, sharper=0.0):
    profile = basis.profile.with_parameter(basis.profile.parameter + sharper)
    return DirectionalBasis.from_directions(basis.directions + move, profile=profile)


def difference(f, h):
    """The central one of a function of a number."""
    return (f(h) - f(-h)) / (2.0 * h)


def test_moments_of_segments_give_the_descriptor_and_its_jacobian():
    basis = DirectionalBasis.circle(9, 0.3)
    moments = Moments.from_segments(paper_room(), PLACES, basis)
    F, J = moments.describe(basis)
    F_ref, J_ref = Descriptor(basis).at(paper_room(), PLACES, jacobian=True)
    np.testing.assert_allclose(F, F_ref, rtol=1e-11)
    np.testing.assert_allclose(J, J_ref, atol=1e-11)
    np.testing.assert_allclose(moments.energies, squared_norms(paper_room(), PLACES), rtol=1e-11)


def test_moments_of_a_rule_agree_with_exact_ones_to_the_accuracy_of_the_rule():
    basis, world, places = DirectionalBasis.circle(8, 0.5), SegmentMap.room(6, 4), PLACES[:3]
    F, J = Moments.from_rule(world, places, CircleSum(4096).rule(), step=1e-4).describe(basis)
    F_ref, J_ref = Descriptor(basis).at(world, places, jacobian=True)
    np.testing.assert_allclose(F, F_ref, rtol=1e-5)
    np.testing.assert_allclose(J, J_ref, atol=2e-3)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("profile", [Softmax(0.2), Bump(1.5), CosinePower(3.0)])
def test_gradients_in_directions_and_parameter_agree_with_differences(dimension, profile):
    (_, moments), basis = moments_of(dimension), uneven(dimension, profile)
    gradient, d = moments.direction_gradient(basis), basis.directions
    np.testing.assert_allclose(np.einsum("pijd,jd->pij", gradient, d), 0.0, atol=1e-12)
    move = np.random.default_rng(3).normal(size=d.shape)
    move -= np.einsum("nd,nd->n", move, d)[:, None] * d
    slope = np.einsum("pijd,jd->pi", gradient, move)
    expected = difference(lambda h: moments.describe(moved(basis, h * move))[0], 1e-5)
    assert np.abs(slope - expected).max() <= 1e-6 * np.abs(expected).max()
    step = 1e-5 * profile.parameter
    expected = difference(lambda h: moments.describe(moved(basis, sharper=h))[0], step)
    slope = moments.parameter_gradient(basis)
    assert np.abs(slope - expected).max() <= 1e-6 * np.abs(expected).max()


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("kind", ["mean", "worst", "captured", "separation"])
def test_slopes_of_the_objectives_agree_with_differences(dimension, kind):
    (places, moments), basis = moments_of(dimension), uneven(dimension, Softmax(0.25))
    objective = {
        "mean": mean_injectivity, "worst": worst_injectivity, "captured": captured_energy,
        "separation": lambda moments: far_separation(moments, places, 1.0, basis),
    }[kind](moments)  # fmt: skip
    slope, move = objective(basis), directions(np.random.default_rng(4), dimension, len(basis))
    by_move = difference(lambda h: objective(moved(basis, h * move)).value, 1e-5)
    assert (slope.directions * move).sum() == pytest.approx(by_move, rel=1e-5, abs=1e-8)
    by_width = difference(lambda h: objective(moved(basis, sharper=h)).value, 1e-5)
    assert slope.parameter == pytest.approx(by_width, rel=1e-5, abs=1e-8)


def test_on_a_corridor_an_adapted_basis_captures_more_and_raises_the_injectivity():
    world = SegmentMap.from_polygons([OUTLINE])
    x, y = np.meshgrid(np.arange(0.6, 12.0, 1.2), (0.6, 1.4))
    places = np.stack([x.ravel(), y.ravel()], axis=1)
    moments = Moments.from_segments(
        world, places, DirectionalBasis.circle(16, 0.03), tolerance=1e-8
    )
    objective = captured_energy(moments)
    best = max(objective(DirectionalBasis.circle(8, t)).value for t in (0.03, 0.05, 0.1, 0.2, 0.5))
    fit = fit_basis(
        DirectionalBasis.circle(8, 0.1), objective, parameter_range=(0.03, 0.5), steps=60
    )
    assert 1.0 - fit.after < 0.5 * (1.0 - best)
    for make, margin in ((mean_injectivity, 1.03), (worst_injectivity, 1.02)):
        objective = make(moments)
        even = max(
            (DirectionalBasis.circle(8, t) for t in (0.03, 0.1, 0.3)),
            key=lambda r: objective(r).value,
        )
        fit = fit_basis(even, objective, parameter_range=(0.03, 0.5), steps=40)
        assert fit.after > margin * fit.before
        assert fit.basis.mesh_norm != pytest.approx(even.mesh_norm)


def test_in_space_an_adapted_basis_beats_the_spiral_in_a_corridor_with_balls():
    box = BoxScene.from_size([12.0, 2.0, 2.5], [[4.0, 0.5, 1.0, 0.4], [9.0, 1.6, 1.5, 0.3]])
    places = np.array([[2.0, 1.0, 1.2], [6.0, 1.1, 1.0], [7.5, 0.8, 1.6], [10.5, 1.0, 1.2]])
    moments = Moments.from_rule(box, places, sphere_rule(40), step=0.02)
    objective, start = captured_energy(moments), DirectionalBasis.fibonacci(12, 0.2)
    fit = fit_basis(start, objective, parameter_range=(0.05, 0.5), steps=40)
    best = max(objective(DirectionalBasis.fibonacci(12, t)).value for t in (0.05, 0.1, 0.2, 0.4))
    assert 1.0 - fit.after < 0.7 * (1.0 - best)
    mu = fit_basis(start, mean_injectivity(moments), steps=15)
    assert mu.after > 1.02 * mu.before


def test_a_round_room_is_described_to_1e_8_by_20_nodes():
    rng = np.random.default_rng(6)
    scene = random_round(rng)
    p, basis = round_points(scene, rng, 5), DirectionalBasis.fibonacci(12, 0.3)
    fine = RoundField(scene, basis, nodes=32)
    (F, J), (F_fine, J_fine) = RoundField(scene, basis).at(p), fine.at(p)
    np.testing.assert_allclose(F, F_fine, atol=1e-8)
    np.testing.assert_allclose(J, J_fine, atol=1e-7)
    slopes = [difference(lambda h, e=e: fine.at(p + h * e)[0], 1e-4) for e in np.eye(3)]
    np.testing.assert_allclose(J_fine, np.stack(slopes, axis=-1), atol=1e-6)
