"""Completeness and stability: numbers and rates; convergence and bounds are in verify."""

import numpy as np
import pytest
from tests.support.angles import unit_vectors
from tests.support.paper_parts import Bump, CosinePower

from isovist import DirectionalBasis, Gram
from isovist.paper import (
    displacement,
    far_weight,
    far_weight_bound,
    fine_bases,
    interpolation,
    least_total,
    paper_constant,
    paper_room,
    parseval_gap,
    parseval_gap_of,
    separation,
    sharp_constant,
    signal_distances,
    summed_constant,
    weight_change,
)

pytestmark = pytest.mark.slow


def lobe(theta):
    return np.exp(2.0 * theta[:, 0])


@pytest.fixture(scope="module")
def jumping():
    return parseval_gap(fine_bases(2), paper_room(), [1.5, 2.0])


def test_the_parseval_gap_of_the_paper_room_falls_from_4_to_256_directions(jumping):
    np.testing.assert_array_equal(jumping.sizes, [4, 8, 16, 32, 64, 128, 256])
    np.testing.assert_allclose(jumping.temperatures, jumping.mesh_norms**2)
    assert jumping.falls
    assert np.sqrt(27.0 - jumping.values[-1]) == pytest.approx(np.sqrt(27.0), rel=5e-4)


def test_the_gap_of_a_jumping_signal_falls_like_h_and_of_a_smooth_one_like_h_squared(jumping):
    assert np.allclose(jumping.rates[-3:], 1.0, atol=0.05)
    smooth = parseval_gap_of(fine_bases(2), lobe)
    assert (smooth.rates[-3:] > 1.9).all()
    assert smooth.values[-1] < 1e-3 * jumping.values[-1]


@pytest.mark.parametrize("dimension", [2, 3])
def test_on_finer_bases_far_weights_vanish_and_interpolants_and_signals_are_found(dimension):
    bases = fine_bases(dimension, (6, 32, 128, 512))
    for basis in bases[:3]:
        reach = 1.5 * basis.mesh_norm
        assert 0.0 < far_weight(basis, reach) <= far_weight_bound(basis, reach) < len(basis)
    errors = interpolation(bases, lobe)
    assert errors.falls
    assert errors.values[-1] < 0.05 * errors.values[0]
    # A wave that 6 directions on the circle annihilate; its norm is √π there, √2π on the sphere.
    some = fine_bases(dimension, (6, 96))
    wave = []
    for gram in map(Gram.from_basis, some):
        theta = gram.rule.directions
        f = np.sin(6.0 * np.arctan2(theta[:, 1], theta[:, 0]))
        wave.append(float(gram.seminorm(gram.features(f))))
    total = np.sqrt(np.pi * (dimension - 1))
    assert wave[0] < (1e-9 if dimension == 2 else 0.35 * total)
    assert 0.6 * total < wave[1] <= total


def test_separation_tends_to_the_distance_of_the_signals_from_below():
    p, q = [1.5, 2.0], [1.3, 1.7]
    truth = signal_distances(paper_room(), [p], [q])[0]
    d = separation(fine_bases(2, (8, 32, 128)), paper_room(), p, q).values
    assert 0.0 < d[0] < d[1] < d[2] <= truth < d[2] / 0.8


def test_the_paper_constant_is_useless_where_the_sharp_one_is_20():
    basis = DirectionalBasis.circle(16, 0.05)
    assert paper_constant(basis) == pytest.approx(17 / 16 * np.exp(40.0) / 0.05)
    assert sharp_constant(basis) == pytest.approx(20.0)
    # All directions move along one chord of 0.01 rad.
    moved = DirectionalBasis.from_directions(
        unit_vectors(2.0 * np.pi * np.arange(16) / 16 + 0.01), 0.05
    )
    bound = summed_constant(basis) * displacement(basis, moved) * 3.0
    assert bound == pytest.approx(20.0 * 3.0 * 2.0 * np.sin(0.005))
    assert 0.0 < 3.0 * weight_change(basis, moved).max() <= bound


@pytest.mark.parametrize("profile", [Bump(1.0), CosinePower(4.0)])
def test_profiles_that_vanish_have_no_sharp_constant_but_a_summed_one(profile):
    basis = DirectionalBasis.circle(12, profile=profile)
    assert np.isinf(sharp_constant(basis))
    least = np.exp(profile.log(np.array([np.cos(np.pi / 12)]))[0])
    assert paper_constant(basis) == pytest.approx(13 * profile.lipschitz / least)
    assert summed_constant(basis) == pytest.approx(24 * profile.lipschitz / least)
    assert least_total(basis) >= least
