"""Hard bins, votes of points, and the bin-boundary effect."""

import numpy as np
import pytest

from isovist import Descriptor, DirectionalBasis, SegmentMap, report
from isovist.paper import (
    directions,
    free_points,
    hard_features,
    localization_errors,
    paper_room,
    point_features,
    sectors,
    tradeoff,
    votes,
    walk,
)
from isovist.paper.report import theory_figures

ROOM = paper_room()


def _cloud(d):
    theta = directions(np.random.default_rng(0), d, 150)
    return 3.0 * theta / np.abs(theta).max(axis=1, keepdims=True)


def test_hard_features_are_the_limit_of_sharp_weights():
    p = free_points(ROOM, np.random.default_rng(1), 10)
    basis = DirectionalBasis.from_directions(
        [[1.0, 0.1], [-0.2, 1.0], [-1.0, -0.3], [0.4, -1.0], [1.0, 1.0]], 0.5
    )
    sharp = DirectionalBasis.from_directions(basis.directions, 1e-5)
    soft, _ = Descriptor(sharp).at(ROOM, p)
    np.testing.assert_allclose(hard_features(ROOM, p, basis), soft, atol=1e-4)
    whole, _ = Descriptor(basis).at(ROOM, p)
    np.testing.assert_allclose(
        hard_features(ROOM, p, basis).sum(axis=1), whole.sum(axis=1), rtol=1e-11
    )


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_slope_of_soft_votes_agrees_with_differences(dimension):
    basis = (
        DirectionalBasis.circle(8, 0.2) if dimension == 2 else DirectionalBasis.fibonacci(12, 0.2)
    )
    cloud, p, h = _cloud(dimension), np.full(dimension, 0.3), 1e-6
    _, J = point_features(basis, cloud, p)
    for k, e in enumerate(h * np.eye(dimension)):
        ahead, back = (point_features(basis, cloud, p + s)[0] for s in (e, -e))
        np.testing.assert_allclose(J[:, k], (ahead - back) / (2.0 * h), atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_hard_votes_jump_where_soft_ones_glide(dimension):
    basis = (
        DirectionalBasis.circle(8, 0.2) if dimension == 2 else DirectionalBasis.fibonacci(12, 0.2)
    )
    start = np.full(dimension, -0.3)
    steps = walk(basis, _cloud(dimension), start, -start, steps=600)
    size = steps.travelled[1] - steps.travelled[0]
    assert steps.soft_steps.max() <= 1.05 * steps.soft_slope.max() * size
    assert steps.hard_steps.max() > 10.0 * steps.hard_slope.max() * size
    assert steps.hard_steps.max() > 5.0 * steps.soft_steps.max()


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_soft_votes_localize_better_than_hard_ones_under_noise(dimension):
    basis = (
        DirectionalBasis.circle(8, 0.3) if dimension == 2 else DirectionalBasis.fibonacci(14, 0.3)
    )
    places = np.random.default_rng(2).uniform(-0.8, 0.8, (40, dimension))
    clean = localization_errors(basis, _cloud(dimension), places, noise=0.0)
    assert np.median(clean[0]) < 1e-4
    soft, hard = localization_errors(basis, _cloud(dimension), places, noise=0.02)
    assert np.median(soft) < 0.5 * np.median(hard)


def test_sectors_share_each_vote_out_whole():
    theta = directions(np.random.default_rng(3), 3, 500)
    for shared in (False, True):
        np.testing.assert_allclose(sectors(theta, shared=shared).sum(axis=1), 1.0, atol=1e-12)
    assert set(np.unique(sectors(theta, shared=False))) == {0.0, 1.0}
    edge = np.array([[1.0, 1e-9, 0.9], [1.0, -1e-9, 0.9]]) / np.hypot(1.0, 0.9)
    hard, soft = sectors(edge, shared=False), sectors(edge, shared=True)
    assert np.abs(hard[0] - hard[1]).max() == 1.0
    assert np.abs(soft[0] - soft[1]).max() < 1e-8


def test_votes_are_the_weights_summed_up():
    basis, theta = DirectionalBasis.fibonacci(10, 0.3), directions(np.random.default_rng(4), 3, 7)
    np.testing.assert_allclose(votes(basis, theta, np.ones(7)).sum(), 7.0)
    assert votes(basis, theta, np.ones(7), hard=True).sum() == 7.0


@pytest.mark.slow
def test_each_figure_puts_its_artists_into_the_axes():
    axes = report.new_figure(8.0, 6.0).subplots(2, 3).ravel()
    basis, room, line = DirectionalBasis.circle(6), SegmentMap.room(4, 3), np.arange(3.0)
    cloud = np.array([[3.0, 0.1], [0.2, 3.0], [-3.0, 0.3], [0.1, -3.0]])
    steps = walk(basis, cloud, [0.0, 0.0], [0.5, 0.2], steps=20)
    assert len(theory_figures.draw_channels(axes[0], steps, 0)) == 2
    assert len(theory_figures.draw_steps(axes[1], steps)) == 4
    assert len(theory_figures.draw_errors(axes[2], line, line, line)) == 2
    assert len(theory_figures.draw_bars(axes[3], {"a": 1.0, "b": 2.0}, "value")) == 2
    place = np.array([2.0, 1.5])
    assert len(theory_figures.draw_basis_over_map(axes[4], room, place, {"six": basis}, 1.0)) == 6
    assert len(theory_figures.draw_tradeoff(axes[5], tradeoff(basis, [1.0, 0.5]))) == 2
