"""Moments, gradients in directions and parameter, and the optimiser."""

import numpy as np
import pytest

from isovist import Descriptor, Rose, SegmentMap
from isovist.basis import Bump, CosinePower, Profile, Softmax
from isovist.paper import (
    BoxScene,
    Moments,
    Objective,
    RoundField,
    captured_energy,
    directions,
    fit_rose,
    free_points,
    mean_injectivity,
    paper_room,
    random_round,
    round_points,
    sphere_rule,
    squared_norms,
    worst_injectivity,
)
from isovist.types import FloatArray

pytestmark = pytest.mark.slow

OUTLINE = [(0, 0), (5, 0), (5, -1), (6.2, -1), (6.2, 0), (12, 0), (12, 2), (0, 2)]
PROFILES = [Softmax(0.2), Bump(1.5), CosinePower(3.0)]


def _places(count: int = 8) -> FloatArray:
    return free_points(paper_room(), np.random.default_rng(0), count, 0.2)


def _moments(dimension) -> Moments:
    if dimension == 2:
        return Moments.from_segments(paper_room(), _places(), Rose.circle(16, 0.05))
    rng = np.random.default_rng(1)
    scene = random_round(rng)
    return scene.moments(round_points(scene, rng, 6), nodes=16)


def _rose(dimension: int, profile: Profile) -> Rose:
    rng = np.random.default_rng(2)
    even = Rose.circle(8) if dimension == 2 else Rose.fibonacci(14)
    jittered = even.directions + 0.05 * rng.normal(size=even.directions.shape)
    return Rose.from_directions(jittered, profile=profile)


def _moved(rose: Rose, move: FloatArray) -> Rose:
    return Rose.from_directions(rose.directions + move, profile=rose.profile)


def test_moments_of_segments_give_the_descriptor_and_its_jacobian():
    rose = Rose.circle(9, 0.3)
    F, J = Moments.from_segments(paper_room(), _places(), rose).describe(rose)
    F_ref, J_ref = Descriptor(rose).at(paper_room(), _places(), jacobian=True)
    np.testing.assert_allclose(F, F_ref, rtol=1e-11)
    np.testing.assert_allclose(J, np.asarray(J_ref), atol=1e-11)
    energies = Moments.from_segments(paper_room(), _places(), rose).energies
    np.testing.assert_allclose(energies, squared_norms(paper_room(), _places()), rtol=1e-11)


def test_moments_of_a_rule_agree_with_exact_ones_to_the_accuracy_of_the_rule():
    from isovist.paper import CircleSum

    rose = Rose.circle(8, 0.5)
    world = SegmentMap.room(6, 4)
    F, J = Moments.from_rule(world, _places(3), CircleSum(4096).rule(), step=1e-4).describe(rose)
    F_ref, J_ref = Descriptor(rose).at(world, _places(3), jacobian=True)
    np.testing.assert_allclose(F, F_ref, rtol=1e-5)
    np.testing.assert_allclose(J, np.asarray(J_ref), atol=2e-3)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("profile", PROFILES)
def test_gradients_in_directions_and_parameter_agree_with_differences(dimension, profile):
    moments, rose = _moments(dimension), _rose(dimension, profile)
    gradient = moments.direction_gradient(rose)
    np.testing.assert_allclose(
        np.einsum("pijd,jd->pij", gradient, rose.directions), 0.0, atol=1e-12
    )
    rng = np.random.default_rng(3)
    move = rng.normal(size=rose.directions.shape)
    move -= np.einsum("nd,nd->n", move, rose.directions)[:, None] * rose.directions
    slope = np.einsum("pijd,jd->pi", gradient, move)
    h = 1e-5
    ends = [moments.describe(_moved(rose, s * h * move))[0] for s in (1.0, -1.0)]
    difference = (ends[0] - ends[1]) / (2.0 * h)
    assert np.abs(slope - difference).max() <= 1e-6 * np.abs(difference).max()

    by_parameter = moments.parameter_gradient(rose)
    step = 1e-5 * rose.profile.parameter
    ends = [
        moments.describe(
            Rose.from_directions(
                rose.directions,
                profile=rose.profile.with_parameter(rose.profile.parameter + s * step),
            )
        )[0]
        for s in (1.0, -1.0)
    ]
    difference = (ends[0] - ends[1]) / (2.0 * step)
    assert np.abs(by_parameter - difference).max() <= 1e-6 * np.abs(difference).max()


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("kind", ["mean", "worst", "captured"])
def test_slopes_of_the_objectives_agree_with_differences(dimension, kind):
    moments, rose = _moments(dimension), _rose(dimension, Softmax(0.25))
    objective: Objective = {
        "mean": mean_injectivity, "worst": worst_injectivity, "captured": captured_energy,
    }[kind](moments)  # fmt: skip
    slope = objective(rose)
    move = directions(np.random.default_rng(4), dimension, len(rose))
    h = 1e-5
    ahead, behind = (objective(_moved(rose, s * h * move)).value for s in (1.0, -1.0))
    assert float((slope.directions * move).sum()) == pytest.approx(
        (ahead - behind) / (2.0 * h), rel=1e-5, abs=1e-8
    )
    ahead, behind = (
        objective(Rose.from_directions(rose.directions, 0.25 + s * h)).value for s in (1.0, -1.0)
    )
    assert slope.parameter == pytest.approx((ahead - behind) / (2.0 * h), rel=1e-5, abs=1e-8)


def _corridor() -> Moments:
    world = SegmentMap.from_polygons([OUTLINE])
    x, y = np.meshgrid(np.arange(0.6, 12.0, 1.2), (0.6, 1.4))
    places = np.stack([x.ravel(), y.ravel()], axis=1)
    return Moments.from_segments(world, places, Rose.circle(16, 0.03), tolerance=1e-8)


def test_on_a_corridor_an_adapted_rose_captures_what_the_uniform_one_loses():
    moments = _corridor()
    objective = captured_energy(moments)
    best = max(objective(Rose.circle(8, t)).value for t in (0.03, 0.05, 0.1, 0.2, 0.5))
    fit = fit_rose(Rose.circle(8, 0.1), objective, parameter_range=(0.03, 0.5), steps=60)
    assert 1.0 - fit.after < 0.5 * (1.0 - best)


def test_on_a_corridor_an_adapted_rose_raises_the_mean_and_the_worst_injectivity():
    moments = _corridor()
    for make, margin in ((mean_injectivity, 1.03), (worst_injectivity, 1.02)):
        objective = make(moments)
        uniform = max(
            (Rose.circle(8, t) for t in (0.03, 0.1, 0.3)), key=lambda r: objective(r).value
        )
        fit = fit_rose(uniform, objective, parameter_range=(0.03, 0.5), steps=40)
        assert fit.after > margin * fit.before
        assert fit.rose.mesh_norm != pytest.approx(uniform.mesh_norm)


def test_in_space_an_adapted_rose_beats_the_spiral_in_a_corridor_with_balls():
    box = BoxScene.from_size([12.0, 2.0, 2.5], [[4.0, 0.5, 1.0, 0.4], [9.0, 1.6, 1.5, 0.3]])
    places = np.array([[2.0, 1.0, 1.2], [6.0, 1.1, 1.0], [7.5, 0.8, 1.6], [10.5, 1.0, 1.2]])
    moments = Moments.from_rule(box, places, sphere_rule(40), step=0.02)
    objective = captured_energy(moments)
    start = Rose.fibonacci(12, 0.2)
    fit = fit_rose(start, objective, parameter_range=(0.05, 0.5), steps=40)
    best = max(objective(Rose.fibonacci(12, t)).value for t in (0.05, 0.1, 0.2, 0.4))
    assert 1.0 - fit.after < 0.7 * (1.0 - best)
    mu = fit_rose(start, mean_injectivity(moments), steps=15)
    assert mu.after > 1.02 * mu.before


def test_a_round_room_is_described_to_1e_8_by_20_nodes():
    rng = np.random.default_rng(6)
    scene = random_round(rng)
    p, rose = round_points(scene, rng, 5), Rose.fibonacci(12, 0.3)
    F, J = RoundField(scene, rose).at(p)
    F_fine, J_fine = RoundField(scene, rose, nodes=32).at(p)
    np.testing.assert_allclose(F, F_fine, atol=1e-8)
    np.testing.assert_allclose(J, J_fine, atol=1e-7)
    h = 1e-4
    slopes = [
        (
            RoundField(scene, rose, 32).at(p + h * e)[0]
            - RoundField(scene, rose, 32).at(p - h * e)[0]
        )
        / (2.0 * h)
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(J_fine, np.stack(slopes, axis=-1), atol=1e-6)
