"""Trajectories, the descriptor in the frame of the body, and the Gramian of a motion."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.angles import unit_vectors
from tests.support.reference import random_point, random_room

from isovist import Cell, Descriptor, DirectionalBasis, Intensity, OccupancyMap, Pose, SegmentMap
from isovist.basis import Bump
from isovist.paper import (
    Exact,
    PoseTrajectory,
    SegmentView,
    free_points,
    gramian_along,
    gramians,
    observe,
    place_exact,
    random_field,
    rotate_basis,
    time_weights,
)
from isovist.tracking import Gramian, carry, whiten

pytestmark = pytest.mark.slow

seeds = st.integers(0, 2**32 - 1)
BASIS = DirectionalBasis.circle(8, 0.5)
few = settings(max_examples=25)


def pose_trajectory(rng, world, start, arm=1.0):
    """A random drive, told in some frame of its own, that stays in free space from this start."""
    while True:
        poses = [Pose(*rng.normal(size=3))]
        for _ in range(9):
            poses.append(poses[-1] @ Pose(rng.uniform(0.0, 0.06), 0.0, rng.normal(0.0, 0.3)))
        when = np.cumsum(rng.uniform(0.05, 0.3, 10))
        trajectory = PoseTrajectory.along(Descriptor(BASIS), world, poses, when, arm=arm)
        if trajectory.is_free(start):
            return trajectory


def check_slopes(descriptor, world, poses, atol=3e-6):
    """Compare the derivative by the pose with central differences."""
    _, K = observe(descriptor, world, poses)
    for axis, step in enumerate(1e-6 * np.eye(3)):
        ahead, behind = (observe(descriptor, world, poses + s)[0] for s in (step, -step))
        np.testing.assert_allclose(K[:, :, axis], (ahead - behind) / 2e-6, atol=atol)


def test_the_derivative_by_the_pose_agrees_with_differences():
    rng, bump = np.random.default_rng(0), DirectionalBasis.circle(9, profile=Bump(1.2))
    for basis in (BASIS, DirectionalBasis.circle(5, 0.9), DirectionalBasis.circle(8, 0.02), bump):
        world = random_room(rng)
        points = np.stack([random_point(rng, world, 0.1) for _ in range(4)])
        check_slopes(Descriptor(basis), world, np.column_stack([points, rng.uniform(-7.0, 7.0, 4)]))
    # The rims of a longest range move too.
    square = [[0, 0, 9, 0], [9, 0, 9, 6], [9, 6, 0, 6], [0, 6, 0, 0]]
    world = SegmentMap.from_segments(square, reflectance=[0.9, 0.2, 0.5, 0.7])
    poses = np.array([[2.0, 2.2, 0.7], [7.1, 4.9, -2.0]])
    check_slopes(Descriptor(BASIS, Intensity(2.5, 0.1)), world, poses)


def test_the_body_observes_the_descriptor_of_the_turned_basis():
    rng = np.random.default_rng(1)
    world = random_room(rng)
    point = random_point(rng, world, 0.1)
    for yaw in (-2.0, 0.3, 4.0):
        F, K = observe(Descriptor(BASIS), world, np.array([[*point, yaw]]))
        F_turned, J_turned = Descriptor(rotate_basis(BASIS, yaw)).at(world, point, jacobian=True)
        np.testing.assert_allclose(F[0], F_turned, atol=1e-12)
        np.testing.assert_allclose(K[0, :, :2], J_turned, atol=1e-11)
    # Turning by a channel is a shift, and all channels together do not see the heading.
    F, K = observe(Descriptor(BASIS), world, np.array([[*point, 0.2], [*point, 0.2 + np.pi / 4]]))
    np.testing.assert_allclose(F[1], np.roll(F[0], -1), atol=1e-12)
    np.testing.assert_allclose(K[:, :, 2].sum(axis=1), 0.0, atol=1e-10)


def test_by_parts_the_heading_derivative_is_that_of_the_weights():
    """(3) of `heading` against (2), which needs no derivative of the signal."""
    rng = np.random.default_rng(9)
    for _ in range(5):
        world = random_room(rng)
        point, yaw = random_point(rng, world, 0.1)[None], rng.uniform(-4.0, 4.0)
        _, K = observe(Descriptor(BASIS), world, np.array([[*point[0], yaw]]))
        basis = rotate_basis(BASIS, yaw)
        nodes = place_exact(SegmentView.of(world, point), basis, Exact(), ())
        theta = nodes.rays.directions
        across = np.stack([-theta[:, 1], theta[:, 0]], axis=1)
        slopes = np.einsum("mnd,md->mn", basis.gradient(theta), across)
        twin = -(nodes.coefficients * nodes.rays.ranges) @ slopes
        np.testing.assert_allclose(K[0, :, 2], twin, atol=1e-9)


def test_on_cells_the_heading_derivative_is_that_of_the_sum():
    cells = np.full((80, 100), Cell.OCCUPIED, dtype=np.uint8)
    cells[2:78, 2:98] = Cell.FREE
    cells[20:30, 60:64] = Cell.OCCUPIED
    world = OccupancyMap(cells, 0.05)
    descriptor = Descriptor(BASIS)
    pose = np.array([[1.51, 2.02, 0.4]])
    F, K = observe(descriptor, world, pose)
    step = np.array([0.0, 0.0, 1e-5])
    slope = observe(descriptor, world, pose + step)[0] - observe(descriptor, world, pose - step)[0]
    np.testing.assert_allclose(K[..., 2], slope / 2e-5, atol=1e-6)
    assert F.shape == (1, 8)


def test_at_the_centre_of_a_round_room_turning_on_the_spot_never_shows_the_heading():
    ring = 3.0 * unit_vectors(2.0 * np.pi * np.arange(256) / 256)
    world = SegmentMap.from_segments(np.stack([ring, np.roll(ring, -1, axis=0)], axis=1))
    drive = [Pose(0.0, 0.0, 0.4 * k) for k in range(6)]
    gramian = gramian_along(PoseTrajectory.along(Descriptor(BASIS), world, drive), [0.0, 0.0, 0.1])
    assert abs(gramian.least) < 1e-6 * np.trace(gramian.W)
    np.testing.assert_allclose(np.abs(gramian.weakest), [0.0, 0.0, 1.0], atol=1e-6)


def test_adding_one_by_one_is_the_whole():
    rng = np.random.default_rng(4)
    world = random_room(rng)
    start = np.array([*random_point(rng, world, 0.2), 0.3])
    trajectory = pose_trajectory(rng, world, start, arm=2.5)
    _, J = trajectory.at(start)
    gramian = Gramian.pose(arm=2.5)
    for row, dt in zip(J, trajectory.weights, strict=True):
        gramian = gramian.add(row, float(dt), noise=0.1)
    whole = gramian_along(trajectory, start, noise=0.1)
    np.testing.assert_allclose(gramian.W, whole.W, rtol=1e-10)
    assert gramian.duration == pytest.approx(trajectory.weights.sum())
    assert gramian.arm == whole.arm == 2.5
    # In m and rad W does not depend on the arm.
    plain = PoseTrajectory(
        trajectory.descriptor, trajectory.world, trajectory.motions, trajectory.weights, 1.0
    )
    information = gramian_along(plain, start, noise=0.1).information
    np.testing.assert_allclose(information, whole.information, rtol=1e-10)


@given(seeds)
@few
def test_whitening_is_the_inverse_covariance(seed):
    rng = np.random.default_rng(seed)
    J, root = rng.normal(size=(6, 3)), rng.normal(size=(6, 6))
    covariance = root @ root.T + 0.1 * np.eye(6)
    rows = whiten(J, covariance)
    np.testing.assert_allclose(rows.T @ rows, J.T @ np.linalg.solve(covariance, J), rtol=1e-8)
    # What a singular covariance says nothing about is left out, not taken for certain.
    flat = np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    rows = whiten(J, flat)
    np.testing.assert_allclose(rows.T @ rows, J[:3].T @ J[:3], rtol=1e-12)


@given(seeds)
@few
def test_information_about_a_later_pose_is_carried_to_the_start(seed):
    """(4) is the chain rule of (2) of `trajectory`: the same whether F or the pose carries it."""
    rng = np.random.default_rng(seed)
    yaw = rng.uniform(-4.0, 4.0)
    motion = Pose(*rng.normal(size=2), rng.uniform(-3.0, 3.0))
    root = rng.normal(size=(3, 3))
    H = root @ root.T
    start = Pose(*rng.normal(size=2), yaw)
    A = carry(motion, yaw)
    for axis in range(3):
        step = 1e-6 * np.eye(3)[axis]
        ahead, behind = (
            (Pose.from_vector(start.vector + s) @ motion).vector for s in (step, -step)
        )
        change = ahead - behind
        change[2] = (change[2] + np.pi) % (2 * np.pi) - np.pi
        np.testing.assert_allclose(A[:, axis], change / 2e-6, atol=1e-8)
    gramian = Gramian.pose(arm=0.7).add_information(H, motion, yaw=yaw)
    np.testing.assert_allclose(gramian.information, A.T @ H @ A, atol=1e-9)
    # Carried to the present pose it is what was put in; in the axes of the start likewise.
    np.testing.assert_allclose(gramian.carried(motion, yaw=yaw).information, H, atol=1e-8)
    turn = np.eye(3)
    turn[:2, :2] = start.rotation
    own = Gramian.pose(arm=0.7).add_information(turn.T @ H @ turn, motion)
    np.testing.assert_allclose(turn @ own.information @ turn.T, gramian.information, atol=1e-9)
    assert own.least == pytest.approx(gramian.least, abs=1e-9)


@given(seeds)
@few
def test_the_least_eigenvalue_grows_as_promised(seed):
    rng = np.random.default_rng(seed)
    gramian = Gramian.zero(2).add(rng.normal(size=(4, 2)))
    J, h = rng.normal(size=(5, 2)), 1e-7
    growth = (gramian.add(J, h).least - gramian.least) / h
    assert gramian.growth(J) == pytest.approx(growth, rel=1e-3, abs=1e-5)
    # Nothing learnt yet: both eigenvalues are 0, and the weaker axis of J counts.
    weaker = np.linalg.svd(J, compute_uv=False)[-1] ** 2
    assert Gramian.zero(2).growth(J) == pytest.approx(weaker)


def test_time_is_shared_out_by_the_trapezoidal_rule():
    np.testing.assert_allclose(time_weights(3, [0.0, 1.0, 3.0]), [0.5, 1.5, 1.0])
    np.testing.assert_array_equal(time_weights(3, None), [1.0, 1.0, 1.0])
    rng = np.random.default_rng(5)
    field = random_field(rng, 2)
    places = free_points(field.world, rng, 4)
    J = field.at(places)[1]
    np.testing.assert_allclose(gramians(J, np.ones(4))[-1], np.einsum("kni,knj->ij", J, J))
