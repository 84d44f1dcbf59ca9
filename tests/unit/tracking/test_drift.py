"""How odometry goes astray: over a way, over a turn, over time, and with the heading."""

import numpy as np
import pytest
from tests.support.angles import wrap_angle
from tests.support.errors import refused

from isovist import Drift, Pose, Pose3


@pytest.mark.parametrize("wrong", [-1.0, 0.0, np.nan, np.inf])
@pytest.mark.parametrize("name", ["along", "heading", "turning", "still"])
def test_a_drift_that_is_not_positive_is_refused(name, wrong):
    with refused(name):
        Drift(**{name: wrong})


def test_drift_grows_with_the_way_with_turning_and_with_time():
    drift = Drift(along=0.1, heading=0.2, turning=0.3, still=0.01)
    driven, still = drift.covariance(Pose(2.0), 0.0), drift.covariance(Pose(), 4.0)
    np.testing.assert_allclose(driven, np.diag([0.02, 0.02, 0.08]))
    np.testing.assert_allclose(still, np.diag([4e-4, 4e-4, 0.09 * 4e-4]))
    assert drift.covariance(Pose(yaw=-2.0), 0.0)[2, 2] == pytest.approx(0.18)
    np.testing.assert_allclose(drift.covariance(Pose(2.0), 4.0), driven + still)
    in_space = drift.covariance(Pose3(2.0), 4.0)
    np.testing.assert_allclose(in_space, np.diag(np.diag(driven + still)[[0, 0, 2, 0, 2, 2]]))


def test_simulated_odometry_spreads_as_the_drift_says():
    random, motion, drift = np.random.default_rng(0), Pose(1.0, 0.2, 0.3), Drift()
    off = [(motion.inverse @ drift.simulate(motion, random)).vector for _ in range(4000)]
    np.testing.assert_allclose(np.cov(np.array(off).T), drift.covariance(motion), atol=4e-4)


def test_errors_of_the_heading_come_up_all_along_the_way():
    """Of x, y and yaw after s m straight on: h² s³/3 across, h² s²/2 with the heading, h² s."""
    drift = Drift(along=1e-9, heading=0.1, turning=1e-9, still=1e-9)
    _, spread = drift.carry(np.zeros((1, 3)), np.zeros((1, 3, 3)), Pose(3.0))
    expected = 0.01 * np.array([[0.0, 0.0, 0.0], [0.0, 9.0, 4.5], [0.0, 4.5, 3.0]])
    np.testing.assert_allclose(spread[0], expected, atol=1e-12)


def test_places_move_as_poses_do_and_their_spread_by_differences():
    random, motion = np.random.default_rng(5), Pose(0.4, -0.2, 0.7)
    poses, root = random.normal(0.0, 2.0, (6, 3)), random.normal(0.0, 0.1, (6, 3, 3))
    drift = Drift(1e-9, 1e-9, 1e-9, 1e-9)
    moved, spreads = drift.carry(poses, root @ root.transpose(0, 2, 1), motion)

    def after(rows):
        vectors = (Pose.from_vector(rows) @ motion).vector
        return np.column_stack([vectors[:, :2], wrap_angle(vectors[:, 2])])

    np.testing.assert_allclose(moved, after(poses), atol=1e-12)
    steps = [after(poses + 1e-6 * e) - after(poses - 1e-6 * e) for e in np.eye(3)]
    A = np.stack(steps, axis=-1) / 2e-6
    A[..., 2, :] = wrap_angle(A[..., 2, :] * 2e-6) / 2e-6
    wide = A @ root @ root.transpose(0, 2, 1) @ A.transpose(0, 2, 1)
    np.testing.assert_allclose(spreads, wide, atol=1e-7)
