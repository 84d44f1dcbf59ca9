"""Completeness: sequences of roses, interpolants, Parseval."""

import numpy as np
import pytest

from isovist.paper import (
    annihilation,
    crowded_rose,
    far_weight,
    far_weight_bound,
    fine_roses,
    interpolation,
    interpolation_error,
    paper_room,
    parseval_gap,
    parseval_gap_of,
    separation,
    signal_distances,
    spread,
)

ROOM = paper_room()


def lobe(theta: np.ndarray) -> np.ndarray:
    return np.exp(2.0 * theta[:, 0])


@pytest.mark.slow
def test_the_parseval_gap_of_the_paper_room_falls_from_4_to_256_directions() -> None:
    gap = parseval_gap(fine_roses(2), ROOM, [1.5, 2.0])
    np.testing.assert_array_equal(gap.sizes, [4, 8, 16, 32, 64, 128, 256])
    np.testing.assert_allclose(gap.temperatures, gap.mesh_norms**2)
    assert gap.falls
    captured = np.sqrt(27.0 - gap.values[-1])
    assert captured == pytest.approx(np.sqrt(27.0), rel=5e-4)


@pytest.mark.slow
def test_the_gap_of_a_jumping_signal_falls_like_h_and_of_a_smooth_one_like_h_squared() -> None:
    jumping = parseval_gap(fine_roses(2), ROOM, [1.5, 2.0])
    assert np.allclose(jumping.rates[-3:], 1.0, atol=0.05)
    smooth = parseval_gap_of(fine_roses(2), lobe)
    assert (smooth.rates[-3:] > 1.9).all()
    assert smooth.values[-1] < 1e-3 * jumping.values[-1]


@pytest.mark.slow
def test_in_space_the_gap_falls_too() -> None:
    gap = parseval_gap_of(fine_roses(3, (8, 16, 32, 64)), lobe)
    assert gap.falls
    assert gap.values[-1] < 0.02 * gap.values[0]


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_the_rule_satisfies_the_rate_condition(dimension: int) -> None:
    sizes = (16, 64, 256) if dimension == 2 else (64, 512, 4096)
    bounds = [far_weight_bound(rose, 0.6) for rose in fine_roses(dimension, sizes)]
    assert bounds[0] > bounds[1] > bounds[2]
    assert bounds[2] < 1e-3


@pytest.mark.parametrize("dimension", [2, 3])
def test_measured_far_weights_stay_below_their_bound(dimension: int) -> None:
    for rose in fine_roses(dimension, (8, 32, 128)):
        for delta in (1.1, 1.5, 2.0):
            reach = min(delta * rose.mesh_norm, 3.0)
            assert far_weight(rose, reach) <= far_weight_bound(rose, reach) * (1.0 + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_the_interpolant_converges_uniformly(dimension: int) -> None:
    errors = interpolation(fine_roses(dimension, (8, 32, 128, 512)), lobe)
    assert errors.falls
    assert errors.values[-1] < 0.05 * errors.values[0]


def test_a_crowd_of_directions_defeats_the_interpolant_however_small_the_mesh() -> None:
    theta = spread(2, 24)
    errors = [
        interpolation_error(crowded_rose(size, eps, surplus=5.0), lobe, theta)
        for size, eps in ((8, 0.5), (16, 0.3))
    ]
    assert min(errors) > 0.9 * (np.exp(2.0) - np.exp(-2.0))


def test_separation_tends_to_the_distance_of_the_signals_from_below() -> None:
    p, q = [1.5, 2.0], [1.3, 1.7]
    truth = signal_distances(ROOM, [p], [q])[0]
    d = separation(fine_roses(2, (8, 32, 128)), ROOM, p, q).values
    assert (d > 0.0).all()
    assert (d <= truth).all()
    assert d[-1] > 0.8 * truth


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [2, 3])
def test_what_a_coarse_rose_annihilates_a_finer_one_sees(dimension: int) -> None:
    def wave(theta: np.ndarray) -> np.ndarray:
        return np.cos(6.0 * np.arctan2(theta[:, 1], theta[:, 0]) + 0.5 * np.pi)

    sizes = (6, 48) if dimension == 2 else (6, 96)
    seen = annihilation(fine_roses(dimension, sizes), wave).values
    total = np.sqrt(np.pi if dimension == 2 else 2.0 * np.pi)
    assert seen[0] < (1e-9 if dimension == 2 else 0.35 * total)
    assert seen[1] > 0.6 * total
