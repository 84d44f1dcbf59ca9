"""Refining the start when odometry drifts."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.reference_locate import building

from isovist import Lidar, Pose, StartFit, build
from isovist.poses import wrap_angle
from isovist.tracking.gramian import Gramian, carry
from isovist.tracking.start import _backwards, refine_chain, refine_start

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def atlas():
    return build(building())


def random_spread(rng, rank=3):
    root = rng.normal(size=(3, rank))
    return root @ root.T


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_the_filter_run_backwards_is_the_least_squares_of_the_whole_chain(seed):
    """Its twin solves for all poses at once and takes the block of the start."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 6))
    steps = [Pose(*rng.normal(size=3)) for _ in range(k - 1)]
    poses = [Pose(*rng.normal(size=3))]
    for step in steps:
        poses.append(poses[-1] @ step)
    Q = np.array([random_spread(rng) + 0.1 * np.eye(3) for _ in steps]).reshape(-1, 3, 3)
    # All but the last may be blind along something.
    H = [random_spread(rng, int(rng.integers(1, 4))) for _ in range(k - 1)] + [random_spread(rng)]
    gaps = 0.3 * rng.normal(size=(k, 3))
    fits = [
        StartFit(pose.vector + gap, h, h, 0.0, 0, True, np.empty((0, 3)))
        for pose, gap, h in zip(poses, gaps, H, strict=True)
    ]
    information, pull = _backwards(poses, steps, fits, Q)
    N, g = np.zeros((3 * k, 3 * k)), np.zeros(3 * k)
    for t in range(k):
        own = slice(3 * t, 3 * t + 3)
        N[own, own] += H[t]
        g[own] += H[t] @ gaps[t]
        if t < k - 1:
            turn = np.eye(3)
            turn[:2, :2] = poses[t].rotation
            link = np.zeros((3, 3 * k))
            link[:, own] = -carry(steps[t], poses[t].yaw)
            link[:, 3 * t + 3 : 3 * t + 6] = np.eye(3)
            N += link.T @ np.linalg.solve(turn @ Q[t] @ turn.T, link)
    spread = np.linalg.inv(N)
    np.testing.assert_allclose(np.linalg.inv(information), spread[:3, :3], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(
        np.linalg.solve(information, pull), (spread @ g)[:3], rtol=1e-5, atol=1e-7
    )


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_information_fades_as_a_covariance_grows(seed):
    rng = np.random.default_rng(seed)
    H, Q = random_spread(rng) + 0.1 * np.eye(3), random_spread(rng)
    motion, yaw = Pose(*rng.normal(size=3)), rng.uniform(-3.0, 3.0)
    A = carry(motion, yaw)
    after = Gramian.pose(arm=0.6).add_information(H).carried(motion, yaw=yaw, drift=Q)
    np.testing.assert_allclose(
        np.linalg.inv(after.information), A @ np.linalg.inv(H) @ A.T + Q, rtol=1e-6, atol=1e-8
    )
    # What was never seen stays unseen.
    blind = Gramian.pose().add_information(np.diag([0.0, 4.0, 1.0]))
    faded = blind.carried(Pose(), drift=np.eye(3))
    np.testing.assert_allclose(faded.information, np.diag([0.0, 0.8, 0.5]), atol=1e-12)


def drive(rng, world, steps):
    square = np.stack(np.meshgrid([-0.15, 0.0, 0.15], [-0.15, 0.0, 0.15]), axis=-1).reshape(-1, 2)
    while True:
        path = [Pose(rng.uniform(0.5, 11.5), rng.uniform(0.5, 7.5), rng.uniform(-3.0, 3.0))]
        for _ in range(steps - 1):
            path.append(path[-1] @ Pose(rng.uniform(0.1, 0.3), 0.0, rng.normal(0.0, 0.2)))
        places = np.array([[p.x, p.y] for p in path])
        if np.asarray(world.contains(places[:, None] + square)).all():
            return path


def test_with_drifting_odometry_the_chain_stays_honest_and_the_pool_does_not(atlas):
    rng = np.random.default_rng(0)
    lidar = Lidar(field_of_view=1.5 * np.pi, beams=270, noise=0.02)
    error = np.diag([0.03, 0.03, 0.03])
    squares = {"chain": [], "pool": []}
    for _ in range(12):
        path = drive(rng, atlas.world, 6)
        scans = [lidar.scan(atlas.world, p, rng) for p in path]
        odometry = [Pose(1.0, 2.0, 3.0)]
        for a, b in pairwise(path):
            step = (a.inverse @ b).vector + error @ rng.normal(size=3)
            odometry.append(odometry[-1] @ Pose.from_vector(step))
        guess = path[0] @ Pose(*rng.normal(0.0, [0.1, 0.1, 0.04]))
        drift = np.broadcast_to(error**2, (5, 3, 3))
        for name, fit in (
            ("chain", refine_chain(atlas, scans, odometry, guess, drift)),
            ("pool", refine_start(atlas, scans, odometry, guess)),
        ):
            gap = fit.start - path[0].vector
            gap[2] = wrap_angle(gap[2])
            squares[name].append(gap @ np.linalg.solve(fit.covariance, gap))
            if name == "chain":
                assert fit.converged
                assert np.hypot(gap[0], gap[1]) < 0.05
    assert np.max(squares["chain"]) < 16.3
    assert np.mean(squares["chain"]) < 4.0 < np.mean(squares["pool"])


def test_without_drift_the_chain_knows_as_much_as_the_pool(atlas):
    rng = np.random.default_rng(1)
    path = drive(rng, atlas.world, 4)
    scans = [Lidar(noise=0.01).scan(atlas.world, p, rng) for p in path]
    chain = refine_chain(atlas, scans, path, path[0], np.zeros((3, 3, 3)))
    pool = refine_start(atlas, scans, path, path[0])
    assert chain.least == pytest.approx(pool.least, rel=0.3)
    assert np.abs(chain.start - pool.start)[:2].max() < 0.02
    alone = refine_chain(atlas, scans[:1], path[:1], path[0], np.empty((0, 3, 3)))
    assert alone.least < chain.least
    blurred = refine_chain(atlas, scans, path, path[0], np.broadcast_to(np.eye(3), (3, 3, 3)))
    assert alone.least <= blurred.least < 1.1 * alone.least
