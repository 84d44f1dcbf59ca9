"""Completeness: the paper's numbers and rates; convergence itself is in verify."""

import numpy as np
import pytest

from isovist.paper import fine_roses, paper_room, parseval_gap, parseval_gap_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def jumping():
    return parseval_gap(fine_roses(2), paper_room(), [1.5, 2.0])


def test_the_parseval_gap_of_the_paper_room_falls_from_4_to_256_directions(jumping):
    np.testing.assert_array_equal(jumping.sizes, [4, 8, 16, 32, 64, 128, 256])
    np.testing.assert_allclose(jumping.temperatures, jumping.mesh_norms**2)
    assert jumping.falls
    assert np.sqrt(27.0 - jumping.values[-1]) == pytest.approx(np.sqrt(27.0), rel=5e-4)


def test_the_gap_of_a_jumping_signal_falls_like_h_and_of_a_smooth_one_like_h_squared(jumping):
    assert np.allclose(jumping.rates[-3:], 1.0, atol=0.05)
    smooth = parseval_gap_of(fine_roses(2), lambda theta: np.exp(2.0 * theta[:, 0]))
    assert (smooth.rates[-3:] > 1.9).all()
    assert smooth.values[-1] < 1e-3 * jumping.values[-1]
