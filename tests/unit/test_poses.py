"""SE(2) and SE(3) are groups, also as arrays and where the pitch is 90°."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.errors import refused

from isovist import Pose, Pose3

length = st.floats(-20.0, 20.0)
angle = st.floats(-np.pi, np.pi)
tilt = st.one_of(angle, st.sampled_from([np.pi / 2.0, -np.pi / 2.0, np.pi / 2.0 - 1e-9, np.pi]))
flat = st.builds(Pose, length, length, angle)
solid = st.builds(Pose3, length, length, tilt, length, tilt, tilt)
either = st.one_of(st.tuples(flat, flat, flat), st.tuples(solid, solid, solid))


def matrix(pose):
    d = pose.position.shape[-1]
    T = np.zeros((*pose.shape, d + 1, d + 1))
    T[..., :d, :d], T[..., :d, d], T[..., d, d] = pose.rotation, pose.position, 1.0
    return T


def assert_same(a, b, atol=1e-9):
    np.testing.assert_allclose(matrix(a), matrix(b), atol=atol)


@pytest.mark.slow
@given(either)
def test_poses_are_a_group(three):
    a, b, c = three
    assert_same((a @ b) @ c, a @ (b @ c))
    assert_same(a @ a.inverse, type(a)())
    assert_same(a.inverse @ a, type(a)())
    assert_same(a @ type(a)(), a)
    assert_same(type(a)() @ a, a)
    assert_same((a @ b).inverse, b.inverse @ a.inverse)
    assert_same(a.inverse.inverse, a)


@pytest.mark.slow
@given(either)
def test_composing_is_multiplying_matrices_and_acts_on_points(three):
    a, b, _ = three
    np.testing.assert_allclose(matrix(a @ b), matrix(a) @ matrix(b), atol=1e-9)
    points = np.random.default_rng(0).normal(size=(5, a.position.size))
    np.testing.assert_allclose((a @ b).apply(points), a.apply(b.apply(points)), atol=1e-9)


@pytest.mark.slow
@given(solid)
def test_coordinates_give_the_pose_back_everywhere(pose):
    assert_same(Pose3.from_vector(pose.vector), pose, atol=2e-7)
    assert_same(Pose3.from_matrix(pose.rotation, pose.position), pose)
    assert_same(Pose3.from_quaternion(-3.0 * pose.quaternion, pose.position), pose)
    np.testing.assert_allclose(np.linalg.norm(pose.quaternion), 1.0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.det(pose.rotation), 1.0, atol=1e-12)


@pytest.mark.slow
@given(length, length, st.floats(-3.0, 3.0), length, st.floats(-3.0, 3.0), st.floats(-1.5, 1.5))
def test_angles_away_from_the_singularity_are_those_given(x, y, yaw, z, roll, pitch):
    pose = Pose3(x, y, yaw, z, roll, pitch)
    np.testing.assert_allclose(pose.vector, [x, y, yaw, z, roll, pitch], atol=1e-9)
    assert (pose.x, pose.y, pose.z) == (x, y, z)


def test_looking_straight_down_leaves_yaw_and_no_roll():
    pose = Pose3(1.0, 2.0, 0.3, 1.0, 0.5, np.pi / 2.0)
    np.testing.assert_allclose(pose.vector[2:], [-0.2, 1.0, 0.0, np.pi / 2.0], atol=1e-12)


@pytest.mark.parametrize("kind", [Pose, Pose3])
def test_arrays_of_poses_compose_one_by_one(kind):
    width = 3 if kind is Pose else 6
    rng = np.random.default_rng(1)
    many = kind.from_vector(rng.normal(size=(4, 1, width)))
    more = kind.from_vector(rng.normal(size=(5, width)))
    both = many @ more
    assert both.shape == (4, 5)
    for i in range(4):
        for j in range(5):
            assert_same(both[i, j], many[i, 0] @ more[j])
            assert_same(both.inverse[i, j], (many[i, 0] @ more[j]).inverse)
    points = rng.normal(size=(5, width // 3 + 1))
    np.testing.assert_allclose(more.apply(points)[2], more[2].apply(points[2]), atol=1e-12)


@pytest.mark.slow
@given(flat, flat)
def test_poses_of_the_plane_compose_alike_in_space(a, b):
    for lifted in (Pose3.lifted(a) @ b, a @ Pose3.lifted(b)):
        assert isinstance(lifted, Pose3)
        assert_same(lifted.flat, a @ b)
        assert lifted.z == 0.0


def test_positive_pitch_looks_down_and_positive_roll_leans_right():
    ahead = Pose3(pitch=0.1).rotation @ [1.0, 0.0, 0.0]
    np.testing.assert_allclose(ahead, [np.cos(0.1), 0.0, -np.sin(0.1)])
    left = Pose3(roll=0.1).rotation @ [0.0, 1.0, 0.0]
    np.testing.assert_allclose(left, [0.0, np.cos(0.1), np.sin(0.1)])


@pytest.mark.parametrize("pose", [Pose(1.0, 2.0, 0.5), Pose3(1.0, 2.0, 0.5, 3.0, 0.1, 0.2)])
def test_a_pose_is_a_value(pose):
    again = pickle.loads(pickle.dumps(pose))
    assert again == pose
    assert hash(again) == hash(pose)
    assert pose != type(pose)()
    with pytest.raises(AttributeError, match="A pose cannot be changed"):
        pose.position = np.zeros(2)
    with pytest.raises(ValueError, match="read-only"):
        pose.position[0] = 1.0


def test_a_pose_shows_what_it_is():
    assert repr(Pose(1.0, -2.0, 0.5)) == "Pose(x=1, y=-2, yaw=0.5)"
    assert repr(Pose([1.0, 2.0])) == "Pose(shape (2,))"
    assert repr(Pose3(z=1.5)) == "Pose3(x=0, y=0, yaw=0, z=1.5, roll=0, pitch=0)"


@pytest.mark.slow
@given(st.floats(-1e3, 1e3))
def test_angles_are_wrapped_when_poses_compose(a):
    yaw = (Pose(yaw=a) @ Pose()).yaw
    assert -np.pi <= yaw < np.pi
    assert (np.cos(yaw), np.sin(yaw)) == pytest.approx((np.cos(a), np.sin(a)), abs=1e-9)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Pose.from_vector([1.0, 2.0]), "vector"),
        (lambda: Pose3.from_quaternion([0, 0, 0, 0], [0, 0, 0]), "quaternion"),
        (lambda: Pose([1.0, 2.0]).x, None),
    ],
)
def test_what_is_no_pose_is_refused(make, field):
    with refused(field):
        make()
