"""Scans in space: what counts as a return, thinning, and the simulated lidar."""

import numpy as np
import pytest
from tests.support.reference_space import house

import isovist as iv
from isovist import CloudScan, MeshMap, Pose3, SpinningLidar


def cloud(k=400, seed=0):
    d = np.random.default_rng(seed).normal(size=(k, 3))
    return 3.0 * d / np.linalg.norm(d, axis=1)[:, None]


def test_missing_returns_are_left_out_with_their_intensities():
    points = cloud()
    points[0], points[1, 2], points[2, 0], points[3] = 0.0, np.nan, np.inf, [0.0, 0.0, 40.0]
    scan = iv.Scan.from_points(points, intensities=np.arange(400.0), range_max=30.0)
    assert isinstance(scan, CloudScan)
    np.testing.assert_array_equal(scan.points, points[4:])
    np.testing.assert_array_equal(scan.intensities, np.arange(4.0, 400.0))
    assert not scan.points.flags.writeable


def test_thinning_keeps_one_return_of_each_bin_whatever_their_order():
    points = cloud(5000)
    scan = CloudScan(points)
    width = np.radians(12.0)
    few = scan.spread(width)
    p = points[few]
    columns = np.floor((np.arctan2(p[:, 1], p[:, 0]) / (2 * np.pi) + 0.5) * 30).astype(int) % 30
    rows = np.floor((np.arcsin(p[:, 2] / 3.0) + np.pi / 2) / width).astype(int)
    assert len(np.unique(rows * 30 + columns)) == len(few) > 300
    order = np.random.default_rng(1).permutation(len(points))
    again = CloudScan(points[order])
    assert {tuple(q) for q in again.points[again.spread(width)]} == {tuple(q) for q in p}


def test_gravity_levels_the_points():
    tilted = Pose3(roll=0.1, pitch=-0.2)
    mount = Pose3(0.3, 0.1, 0.4, 0.5)
    level = cloud()
    seen = (level @ tilted.rotation) @ mount.rotation
    scan = CloudScan(seen, T_robot_sensor=mount, roll=0.1, pitch=-0.2)
    np.testing.assert_allclose(scan.level_points, level, atol=1e-12)


def test_a_silent_lidar_puts_points_on_walls():
    lidar = SpinningLidar(8, azimuths=90, noise=0.0)
    pose = Pose3(5.0, 0.0, 0.7, 1.5, 0.02, -0.03)
    world = house()
    scan = lidar.scan(world, pose, np.random.default_rng(0))
    d = lidar.directions @ pose.rotation.T
    np.testing.assert_allclose(
        np.linalg.norm(scan.points, axis=1), world.cast(pose.position, d).ranges, atol=1e-12
    )
    assert (scan.roll, scan.pitch) == pytest.approx((0.02, -0.03), abs=1e-15)


def test_the_lidar_reports_reflectances_and_clutter():
    room = MeshMap.box((0, 0, 0), (6, 4, 3), reflectance=[1, 2, 3, 4, 5, 6])
    lidar = iv.Lidar.spinning(4, azimuths=200, clutter=0.3, noise=0.0)
    scan = lidar.scan(room, Pose3(2.0, 2.0, 0.0, 1.5), np.random.default_rng(0))
    ahead = (np.abs(scan.points[:, 1]) < 0.3) & (scan.points[:, 0] > 3.99)
    assert ahead.any()
    assert (scan.intensities[ahead] == 2.0).all()
    exact = np.abs(np.linalg.norm(scan.points, axis=1) - room.cast([2, 2, 1.5], scan.points).ranges)
    assert 0.2 < (exact > 1e-9).mean() < 0.4


@pytest.mark.parametrize("degrees", [12.0, 5.0])
@pytest.mark.parametrize("mount", [Pose3(), Pose3(yaw=0.3, roll=0.1)])
def test_the_last_bits_of_the_points_do_not_choose_who_stands_for_a_bin(degrees, mount):
    """Even angles, as lidars have them: edges of bins and ties are everywhere."""
    turn, rise = np.meshgrid(np.radians(np.arange(0, 360)), np.radians(np.arange(-30.0, 31.0, 2.0)))
    flat = np.cos(rise)
    d = np.stack([flat * np.cos(turn), flat * np.sin(turn), np.sin(rise)], axis=-1).reshape(-1, 3)
    random = np.random.default_rng(5)
    points = random.uniform(1.0, 9.0, len(d))[:, None] * d
    chosen = CloudScan(points, T_robot_sensor=mount).spread(np.radians(degrees))
    for _ in range(5):
        bits = random.integers(-2, 3, points.shape) * np.finfo(float).eps
        again = CloudScan(points * (1.0 + bits), T_robot_sensor=mount)
        np.testing.assert_array_equal(again.spread(np.radians(degrees)), chosen)


def test_a_lidar_that_does_not_turn_looks_ahead():
    lidar = SpinningLidar(5, azimuths=70, field_of_view=np.radians(70.0))
    azimuth = np.degrees(np.arctan2(lidar.directions[:, 1], lidar.directions[:, 0]))
    np.testing.assert_allclose(np.unique(np.round(azimuth, 6)), np.arange(-34.5, 35.0))


def test_the_level_frames_are_those_of_tilt_and_mount():
    mount = Pose3(0.2, -0.1, 0.5, 0.3, 0.1, -0.2)
    scan = CloudScan(cloud(), T_robot_sensor=mount, roll=0.05, pitch=-0.04)
    tilt = Pose3(roll=0.05, pitch=-0.04)
    np.testing.assert_allclose(scan.T_level_sensor.rotation, tilt.rotation @ mount.rotation)
    there = scan.T_level_robot @ mount
    np.testing.assert_allclose(there.vector, scan.T_level_sensor.vector, atol=1e-12)


def test_points_are_brought_to_where_the_sensor_was_at_time_0():
    motion, points = Pose3(0.3, -0.1, 0.4, 0.05, 0.02, -0.03), cloud(96)
    axis = motion.quaternion[:3] / np.linalg.norm(motion.quaternion[:3])
    angle = 2.0 * np.arccos(motion.quaternion[3])
    times = np.linspace(-0.05, 0.1, 96)
    seen = []
    for point, time in zip(points, times, strict=True):
        half = 0.5 * angle * time / 0.2
        turn = [*(np.sin(half) * axis), np.cos(half)]
        T = Pose3.from_quaternion(turn, motion.position * time / 0.2)
        seen.append(T.inverse.apply(point))
    one = CloudScan(np.array(seen), times=times, intensities=np.arange(96))
    still = one.straighten(motion, 0.2)
    np.testing.assert_allclose(still.points, points, atol=1e-9)
    assert still.times is None
    np.testing.assert_array_equal(still.intensities, one.intensities)
    assert still.straighten(motion, 0.2) is still
    np.testing.assert_allclose(one.straighten(Pose3(), 0.2).points, one.points)
