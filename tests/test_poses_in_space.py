"""Poses in space are a group, and those of the plane lie in it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isovist.poses import Pose, Pose3

lengths = st.floats(-20.0, 20.0)
angles = st.floats(-3.1, 3.1)
tilts = st.floats(-1.4, 1.4)
poses = st.builds(Pose3, lengths, lengths, angles, lengths, tilts, tilts)
points = st.tuples(lengths, lengths, lengths)


@given(poses, poses, points)
def test_frames_cancel(a, b, p):
    np.testing.assert_allclose((a @ b).apply(p), a.apply(b.apply(p)), atol=1e-9)


@given(poses, points)
def test_the_inverse_undoes_a_pose(a, p):
    np.testing.assert_allclose(a.inverse.apply(a.apply(p)), p, atol=1e-9)
    np.testing.assert_allclose((a @ a.inverse).vector, np.zeros(6), atol=1e-9)


@given(poses)
def test_a_pose_comes_back_from_its_matrix_and_its_vector(a):
    again = Pose3.from_matrix(a.rotation, a.position)
    np.testing.assert_allclose(again.vector, a.vector, atol=1e-9)
    assert Pose3.from_vector(a.vector) == a


@given(poses)
def test_rotations_are_rotations(a):
    np.testing.assert_allclose(a.rotation @ a.rotation.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(a.rotation) > 0.0


@given(lengths, lengths, angles, lengths, lengths, angles)
def test_poses_of_the_plane_compose_alike_in_space(x, y, yaw, u, v, turn):
    a, b = Pose(x, y, yaw), Pose(u, v, turn)
    flat = a @ b
    for lifted in (Pose3.lifted(a) @ b, a @ Pose3.lifted(b)):
        assert isinstance(lifted, Pose3)
        np.testing.assert_allclose(lifted.vector[:2], flat.vector[:2], atol=1e-9)
        np.testing.assert_allclose(np.exp(1j * lifted.yaw), np.exp(1j * flat.yaw), atol=1e-9)
        assert lifted.z == 0.0
    assert type(flat) is Pose


def test_pitch_looks_down_and_roll_leans_to_the_right():
    np.testing.assert_allclose(
        Pose3(pitch=0.1).rotation @ [1.0, 0.0, 0.0], [np.cos(0.1), 0.0, -np.sin(0.1)]
    )
    np.testing.assert_allclose(
        Pose3(roll=0.1).rotation @ [0.0, 1.0, 0.0], [0.0, np.cos(0.1), np.sin(0.1)]
    )
    assert Pose.in_space(1.0, 2.0, 3.0, 0.4, 0.5, 0.6) == Pose3(1.0, 2.0, 0.4, 3.0, 0.5, 0.6)
