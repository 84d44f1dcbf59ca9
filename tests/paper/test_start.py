"""Refining the start of a trajectory: on descriptors, on wall distances, and when."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.angles import wrap_angle
from tests.support.reference_locate import building

from isovist import (
    Cell,
    Descriptor,
    DirectionalBasis,
    Gram,
    Lidar,
    OccupancyMap,
    Pose,
    Range,
    Scan,
    SegmentMap,
    StartFit,
    build,
)
from isovist.paper import (
    Exact,
    History,
    MapField,
    PlaceTrajectory,
    PoseTrajectory,
    StepLimits,
    convergence_radius,
    descriptor_noise,
    fit_start,
    gramian_along,
    paper_room,
    refine_start,
    refine_starts,
)
from isovist.paper.dynamic.start_fit import _backwards
from isovist.tracking import Gramian, carry, least_needed

pytestmark = pytest.mark.slow

DESCRIPTOR = Descriptor(DirectionalBasis.circle(12, 0.3), quadrature=Exact(1e-13))
ROOM = SegmentMap.room(6.0, 4.0, pillars=[(4.5, 1.5, 5.0, 2.5)], walls=[[[3.0, 1.0], [3.0, 3.0]]])
DRIVE = [Pose(0.1 * k, 0.02 * k * k, 0.15 * k) for k in range(5)]


def random_drive(rng, world, steps, stride=(0.05, 0.2)):
    """Poses of a drive that keeps 15 cm from what is not free."""
    square = np.stack(np.meshgrid([-0.15, 0.0, 0.15], [-0.15, 0.0, 0.15]), axis=-1).reshape(-1, 2)
    while True:
        path = [Pose(rng.uniform(0.5, 11.5), rng.uniform(0.5, 7.5), rng.uniform(-3.0, 3.0))]
        for _ in range(steps - 1):
            path.append(path[-1] @ Pose(rng.uniform(*stride), 0.0, rng.normal(0.0, 0.2)))
        places = np.array([[p.x, p.y] for p in path])
        if np.asarray(world.contains(places[:, None] + square)).all():
            return path


def error(fit, pose):
    gap = fit.start - pose.vector
    gap[2] = wrap_angle(gap[2])
    return gap


@pytest.fixture(scope="module")
def atlas():
    return build(building())


def test_with_exact_descriptors_the_start_converges_quadratically():
    truth = np.array([1.3, 1.7, 0.4])
    trajectory = PoseTrajectory.along(DESCRIPTOR, ROOM, DRIVE)
    observed, _ = trajectory.at(truth)
    fit = fit_start(trajectory, observed, truth + np.array([0.05, -0.04, 0.06]))
    errors = np.linalg.norm(fit.path - truth, axis=1)
    assert fit.converged
    assert errors[-1] < 1e-12
    for before, after in pairwise(errors):
        assert after <= 2.0 * before**2 + 1e-12
    assert fit.iterations == len(fit.path) - 1 <= 6
    assert fit.pose.yaw == pytest.approx(0.4)


def test_with_a_known_heading_it_converges_likewise_and_a_bad_step_is_damped():
    field = MapField(DESCRIPTOR, paper_room())
    trajectory = PlaceTrajectory.along(field, [[p.x, p.y] for p in DRIVE], 0.5 * np.arange(5))
    truth = np.array([1.3, 1.7])
    observed, _ = trajectory.at(truth)
    fit = fit_start(trajectory, observed, [1.5, 1.5])
    assert np.linalg.norm(fit.start - truth) < 1e-11
    assert len(fit.start) == 2
    assert np.linalg.eigvalsh(fit.covariance).min() > 0.0
    far = fit_start(trajectory, observed, [0.4, 0.3], limits=StepLimits(trust_radius_m=0.2))
    assert np.linalg.norm(np.diff(far.path, axis=0), axis=1).max() <= 0.2 + 1e-12
    assert trajectory.is_free(far.path).all()


def test_with_noisy_ranges_the_start_lies_within_its_covariance():
    """Mean of 40 Mahalanobis squares with 3 degrees: 3 ± 0.4 if Σ were exact; it is cautious."""
    rng, squares, noise = np.random.default_rng(0), [], 0.02
    lidar = Lidar(beams=360, noise=noise)
    worlds = (ROOM, SegmentMap.room(5.0, 4.0))
    while len(squares) < 40:
        world = worlds[len(squares) % 2]
        start = Pose(rng.uniform(0.6, 2.4), rng.uniform(0.6, 3.4), rng.uniform(-3.0, 3.0))
        path = [start @ p for p in DRIVE]
        places = np.array([[p.x, p.y] for p in path])
        if not world.contains(places).all() or world.clearance(places).min() < 0.3:
            continue
        scans = [lidar.scan(world, p, rng) for p in path]
        observed = np.stack([DESCRIPTOR.of_scan(scan).F for scan in scans])
        sigma = np.stack([descriptor_noise(DESCRIPTOR, scan, noise) for scan in scans])
        trajectory = PoseTrajectory.along(DESCRIPTOR, world, path)
        fit = fit_start(trajectory, observed, start.vector + rng.normal(0.0, 0.02, 3), noise=sigma)
        assert fit.converged
        gap = error(fit, start)
        squares.append(gap @ np.linalg.solve(fit.covariance, gap))
        information = gramian_along(trajectory, fit.start, noise=sigma)
        np.testing.assert_allclose(np.linalg.inv(fit.covariance), information.W, rtol=1e-6)
        assert fit.least == pytest.approx(information.least, rel=1e-9)
    assert 1.0 < np.mean(squares) < 4.0
    assert np.max(squares) < 16.3  # exceeded once in a thousand


def test_the_noise_of_even_beams_is_the_gram_matrix():
    basis = DirectionalBasis.circle(8, 0.5)
    bearings = 2.0 * np.pi * np.arange(720) / 720
    scan = Scan(bearings, np.full(720, 3.0))
    noise = descriptor_noise(Descriptor(basis), scan, 0.02)
    expected = 0.02**2 * (2.0 * np.pi / 720) * Gram.from_basis(basis).matrix
    np.testing.assert_allclose(noise, expected, rtol=1e-9, atol=1e-15)


def test_the_needed_information_is_that_of_the_chi_square_radius():
    # 9.2103 and 11.3449 are the 99 % quantiles of χ² with 2 and 3 degrees.
    assert least_needed(0.1, dimension=2) == pytest.approx(921.03, rel=1e-5)
    assert least_needed(0.1) == pytest.approx(1134.49, rel=1e-5)
    assert least_needed(0.1, basin=0.05) == pytest.approx(4 * 1134.49, rel=1e-5)


def test_the_start_is_refined_once_a_niche_has_told_enough():
    """Stage (ii) of the paper in a corridor: wait for λ_min, then refine, and be right."""
    line = [[-60.0, 2.0], [5.0, 2.0], [5.0, 2.8], [6.0, 2.8], [6.0, 2.0], [60.0, 2.0]]
    walls = [[[-60.0, 0.0], [60.0, 0.0]], *[list(pair) for pair in pairwise(line)]]
    world = SegmentMap.from_segments(walls)
    descriptor = Descriptor(DirectionalBasis.circle(12, 0.3), signal=Range(maximum=3.0))
    path = [Pose(0.3 * k, 0.9, 0.02 * k) for k in range(20)]
    trajectory = PoseTrajectory.along(descriptor, world, path)
    truth, guess = path[0].vector, path[0].vector + np.array([0.15, 0.05, 0.02])
    rng = np.random.default_rng(8)
    scan = Scan(2.0 * np.pi * np.arange(360) / 360, np.full(360, 2.0))
    sigma = descriptor_noise(descriptor, scan, 0.05)
    observed, _ = trajectory.at(truth)
    observed = observed + rng.multivariate_normal(np.zeros(12), sigma, len(path))
    history = History.along(trajectory, guess, noise=sigma)
    needed = least_needed(0.05)
    first = history.first_ready(needed)
    assert first is not None
    # The niche begins at 5 m and is seen from 3 m away.
    assert 2.0 <= path[first].x <= 5.0
    assert history.min_eigenvalues[first - 1] < needed <= history.min_eigenvalues[first]
    assert History(history.elapsed[:3], history.W[:3]).first_ready(needed) is None
    # Before, the start can slide along the corridor, and the covariance says so.
    blind = PoseTrajectory.along(descriptor, world, path[:3])
    loose = fit_start(blind, observed[:3], guess, noise=sigma)
    assert np.sqrt(loose.covariance[0, 0]) > 1.0
    some = PoseTrajectory.along(descriptor, world, path[: first + 1])
    fit = fit_start(some, observed[: first + 1], guess, noise=sigma)
    assert fit.least >= 0.5 * needed
    assert np.linalg.norm(error(fit, path[0])) < 0.05


def test_from_within_the_convergence_radius_every_start_converges():
    rng = np.random.default_rng(1)
    truth = np.array([1.3, 1.7, 0.4])
    trajectory = PoseTrajectory.along(DESCRIPTOR, ROOM, DRIVE)
    observed, _ = trajectory.at(truth)
    radius = convergence_radius(trajectory, truth, largest=0.4)
    assert 1e-3 < radius < 0.4
    for _ in range(10):
        step = rng.normal(size=3)
        step *= radius / np.linalg.norm(step)
        fit = fit_start(trajectory, observed, truth + step)
        errors = np.linalg.norm(fit.path - truth, axis=1)
        assert (errors[1:] < np.maximum(errors[:-1], 1e-12)).all()
        assert errors[-1] < 1e-11
    corridor = SegmentMap.room(60.0, 2.0)
    blind = PoseTrajectory.along(
        Descriptor(DirectionalBasis.circle(6, 0.5)), corridor, [Pose(), Pose(0.1)]
    )
    assert convergence_radius(blind, [30.0, 1.0, 0.0], largest=0.2) < radius


def test_on_walls_the_start_lies_within_its_covariance(atlas):
    rng, squares = np.random.default_rng(2), []
    lidar = Lidar(field_of_view=1.5 * np.pi, beams=270, noise=0.02, clutter=0.05)
    for _ in range(25):
        path = random_drive(rng, atlas.world, 6)
        scans = [lidar.scan(atlas.world, p, rng) for p in path]
        odometry = [Pose(5.0, -2.0, 1.0) @ path[0].inverse @ p for p in path]
        guess = path[0] @ Pose(*rng.normal(0.0, [0.1, 0.1, 0.04]))
        fit = refine_start(atlas, scans, odometry, guess)
        gap = error(fit, path[0])
        assert fit.converged
        assert np.hypot(gap[0], gap[1]) < 0.05
        squares.append(gap @ np.linalg.solve(fit.covariance, gap))
    assert 0.2 < np.mean(squares) < 4.0
    assert np.max(squares) < 16.3


def long_corridor():
    """A corridor of 20 m whose only feature is a niche 12 m from the left."""
    cells = np.full((60, 404), Cell.OCCUPIED, dtype=np.uint8)
    cells[2:42, 2:402] = Cell.FREE
    cells[42:56, 240:262] = Cell.FREE
    return OccupancyMap(cells, 0.05)


def test_a_niche_that_comes_into_view_later_fixes_the_start():
    world = long_corridor()
    atlas = build(world)
    rng = np.random.default_rng(3)
    lidar = Lidar(beams=360, range_max=3.0, noise=0.02)
    path = [Pose(7.0 + 0.5 * k, 1.1 + 0.02 * k, 0.05) for k in range(10)]
    scans = [lidar.scan(world, p, rng) for p in path]
    guess = Pose(7.25, 1.1, 0.05)
    alone = refine_start(atlas, scans[:1], path[:1], guess)
    whole = refine_start(atlas, scans, path, guess)
    needed = least_needed(0.2)
    assert alone.least < needed < whole.least
    assert np.sqrt(alone.covariance[0, 0]) > 1.0
    assert np.sqrt(whole.covariance[0, 0]) < 0.1
    assert abs(error(alone, path[0])[0]) > 0.15
    assert abs(error(whole, path[0])[0]) < 0.05


def test_several_guesses_at_once_are_each_on_its_own(atlas):
    rng = np.random.default_rng(5)
    path = random_drive(rng, atlas.world, 3)
    scans = [Lidar(beams=180).scan(atlas.world, p, rng) for p in path]
    guesses = [path[0], path[0] @ Pose(0.1, 0.0, 0.05)]
    together = refine_starts(atlas, scans, path, guesses)
    assert refine_starts(atlas, scans, path, []) == []
    for fit, guess in zip(together, guesses, strict=True):
        alone = refine_start(atlas, scans, path, guess)
        np.testing.assert_allclose(fit.start, alone.start, atol=2e-3)
        assert np.linalg.norm(fit.path[0] - guess.vector) < 0.21


def test_the_frame_of_the_map_does_not_matter(atlas):
    origin = Pose(3.0, -2.0, 0.7)
    moved = build(building(origin))
    rng = np.random.default_rng(6)
    mount = Pose(0.2, 0.1, 0.5)
    path = random_drive(rng, atlas.world, 3)
    scans = []
    for p in path:
        plain = Lidar(beams=180).scan(atlas.world, p @ mount, rng)
        scans.append(Scan(plain.bearings, plain.ranges, T_robot_sensor=mount))
    here = refine_start(atlas, scans, path, path[0])
    there = refine_start(moved, scans, path, origin @ path[0])
    np.testing.assert_allclose((origin @ here.pose).vector, there.pose.vector, atol=1e-9)
    turn = np.eye(3)
    turn[:2, :2] = origin.rotation
    np.testing.assert_allclose(turn @ here.covariance @ turn.T, there.covariance, atol=1e-9)
    assert here.least == pytest.approx(there.least)


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
