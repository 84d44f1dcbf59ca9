"""Localization in space, where it differs from the plane; the rest is in test_localization."""

from dataclasses import replace

import numpy as np
import pytest
from tests.support.reference_space import LIDAR, at, atlas_of, house, house_atlas, symmetric_room

import isovist as iv
from isovist import AtlasSettings, CloudScan, Pose3, Verdict, VoxelMap, certify
from isovist.atlas import kept_rings, search_rings, window_of_cloud
from isovist.poses import wrap_angle

PLACES = (at(5.0, 0.0, 0.7), at(10.5, 0.5, -2.5), at(4.2, 1.2, 3.0), at(7.6, -1.2, 1.5))


def gap(pose, truth):
    """Distance in m and angle in rad."""
    away = np.linalg.norm(np.array([pose.x - truth.x, pose.y - truth.y, pose.z - truth.z]))
    return float(away), abs(float(wrap_angle(pose.yaw - truth.yaw)))


@pytest.mark.slow
def test_a_gap_between_the_rings_that_a_sensor_has_does_no_harm():
    truth = PLACES[0]
    scan = LIDAR.scan(house(), truth, np.random.default_rng(1))
    rise = np.arctan2(scan.points[:, 2], np.hypot(scan.points[:, 0], scan.points[:, 1]))
    outer = iv.Scan.from_points(scan.points[np.abs(rise) > np.radians(8.0)])
    rings = window_of_cloud(outer, AtlasSettings(), 0.4).seen.any(axis=(0, 2))
    assert rings[0]
    assert rings[-1]
    assert not rings.all()
    away, turn = gap(iv.locate(house_atlas(), outer).best.pose, truth)
    assert away < 0.1
    assert turn < np.radians(1.5)


@pytest.mark.slow
def test_a_height_that_is_a_little_off_is_fitted():
    truth = at(5.0, 0.0, 0.7, z=1.68)
    answer = iv.locate(house_atlas(), LIDAR.scan(house(), truth, np.random.default_rng(2)))
    assert gap(answer.best.pose, truth)[0] < 0.1


@pytest.mark.slow
def test_the_place_of_the_sensor_on_the_robot_and_its_tilt_are_taken_out():
    mount = Pose3(0.2, -0.1, 0.5, 0.4, 0.0, 0.1)
    T_world_robot = Pose3(5.0, 0.2, 0.3, 1.1, 0.05, -0.04)
    seen = LIDAR.scan(house(), T_world_robot @ mount, np.random.default_rng(3))
    scan = CloudScan(seen.points, T_robot_sensor=mount, roll=0.05, pitch=-0.04)
    found = iv.locate(house_atlas(), scan).best.pose
    np.testing.assert_allclose(found.vector, T_world_robot.vector, atol=0.06)


def test_a_tilt_that_nobody_told_is_fitted_when_asked():
    truth = at(5.0, 0.0, 0.7, roll=0.03, pitch=-0.04)
    # Walls say nothing of a tilt; floor and ceiling must be in view.
    tall = replace(LIDAR, rings=24, low=-0.7, high=0.7)
    scan = CloudScan(tall.scan(house(), truth, np.random.default_rng(4)).points)
    answer = iv.locate(house_atlas(), scan, tilt=True)
    # To 1°: in a small house cells of 0.1 m whose faces beams end at leave up to 0.7°.
    np.testing.assert_allclose(answer.best.pose.vector[4:], [0.03, -0.04], atol=np.radians(1.0))
    assert answer.best.covariance.shape == (6, 6)
    assert gap(answer.best.pose, truth)[0] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_intensity_tells_the_two_places_of_a_symmetric_room_apart(seed):
    rng = np.random.default_rng(seed)
    truth = Pose3(*rng.uniform((1.8, 0.7, -3.0, 1.05), (4.4, 3.5, 3.0, 1.15)))
    room = symmetric_room(True)
    atlas = atlas_of(room)
    scan = LIDAR.scan(room, truth, rng)
    assert iv.locate(atlas, CloudScan(scan.points)).verdict is Verdict.AMBIGUOUS
    both = iv.locate(atlas, scan)
    assert both.verdict is Verdict.UNIQUE
    assert gap(both.best.pose, truth)[0] < 0.1


@pytest.mark.slow
def test_intensities_in_other_units_are_left_out_and_this_is_said():
    room = symmetric_room(True)
    scan = LIDAR.scan(room, Pose3(2.2, 2.9, 0.4, 1.1), np.random.default_rng(6))
    other = CloudScan(scan.points, 255.0 * scan.intensities)
    answer = iv.locate(atlas_of(room), other)
    assert answer.verdict is Verdict.AMBIGUOUS
    assert answer.advice.endswith(
        " Intensities were left out: their median is 128, and the walls of the map have 0.2 to 0.9."
    )


@pytest.mark.slow
def test_a_scan_from_elsewhere_is_not_unique():
    rng = np.random.default_rng(7)
    elsewhere = symmetric_room(False)
    scan = LIDAR.scan(elsewhere, Pose3(2.2, 2.9, 0.4, 1.1), rng)
    assert iv.locate(house_atlas(), scan).verdict is not Verdict.UNIQUE
    noise = CloudScan(rng.normal(size=(300, 3)) * [4.0, 4.0, 0.5])
    assert iv.locate(house_atlas(), noise).verdict is Verdict.LOST


@pytest.mark.slow
def test_a_sliver_of_the_view_is_not_unique():
    scan = LIDAR.scan(house(), PLACES[0], np.random.default_rng(8))
    bearing = np.arctan2(scan.points[:, 1], scan.points[:, 0])
    sliver = CloudScan(scan.points[np.abs(bearing) < np.radians(12.0)])
    assert iv.locate(house_atlas(), sliver).verdict is not Verdict.UNIQUE


@pytest.mark.slow
def test_channels_of_a_scan_are_weighted_means_of_its_bins():
    scan = LIDAR.scan(house(), PLACES[2], np.random.default_rng(9))
    settings = AtlasSettings()
    window = window_of_cloud(scan, settings, 0.4)
    rings, around = settings.rings, settings.channels
    p, columns, rows = scan.points, 4 * around, 8 * rings
    column = np.floor(np.arctan2(p[:, 1], p[:, 0]) / (2.0 * np.pi) * columns).astype(int) % columns
    row = np.floor((np.arcsin(p[:, 2] / np.linalg.norm(p, axis=1)) / np.pi + 0.5) * rows).astype(
        int
    )
    signal = np.log1p(np.linalg.norm(p, axis=1))
    bins = np.unique(np.stack([row, column]), axis=1)
    means = np.array([signal[(row == r) & (column == c)].mean() for r, c in bins.T])
    elevation = ((bins[0] + 0.5) / rows - 0.5) * np.pi
    azimuth = 2.0 * np.pi * (bins[1] + 0.5) / columns
    for phase in range(2):
        turned = azimuth + phase * np.pi / around
        d = np.stack(
            [
                np.cos(elevation) * np.cos(turned),
                np.cos(elevation) * np.sin(turned),
                np.sin(elevation),
            ],
            axis=1,
        )
        W = search_rings(rings, around).weights(d).reshape(len(d), rings, around)
        W = W[:, kept_rings(settings)][:, window.ring : window.ring + 4]
        W *= np.cos(elevation)[:, None, None]
        mass = W.sum(axis=0)
        exact = np.einsum("b,brc->rc", means, W) / np.maximum(mass, 1e-12)
        seen = window.seen[phase]
        assert seen.any(axis=1).sum() == 4
        np.testing.assert_allclose(window.values[phase][seen], exact[seen], rtol=1e-4)


@pytest.mark.slow
def test_a_map_of_points_is_enough():
    """A cloud knows no free space from unseen: the walls alone must do."""
    rng = np.random.default_rng(11)
    dense = replace(LIDAR, rings=40, low=-0.6, high=0.6, clutter=0.0)
    truths = PLACES[0], PLACES[3], at(10.5, -0.5, 0.0)
    cloud = np.concatenate([p.apply(dense.scan(house(), p, rng).points) for p in truths])
    atlas = iv.build(VoxelMap.from_points(cloud, 0.1))
    truth = at(6.0, 0.3, 2.0)
    answer = iv.locate(atlas, LIDAR.scan(house(), truth, rng))
    away, turn = gap(answer.best.pose, truth)
    assert away < 0.12
    assert turn < np.radians(2.0)


@pytest.mark.slow
def test_a_drone_finds_its_height():
    drone = iv.build(house(), spacing=0.4, height=(0.5, 2.0))
    truth = at(10.2, 0.9, -1.0, z=2.2)
    answer = iv.locate(drone, LIDAR.scan(house(), truth, np.random.default_rng(12)))
    assert gap(answer.best.pose, truth)[0] < 0.1


@pytest.mark.slow
def test_the_slope_of_the_descriptor_vanishes_along_a_tunnel():
    cells = np.zeros((26, 30, 240), np.uint8)
    cells[[0, -1]] = 1
    cells[:, [0, -1]] = 1
    tunnel = iv.build(VoxelMap.from_array(cells, 0.1))
    bare = np.zeros((26, 30, 60), np.uint8)
    for axis in range(3):
        np.moveaxis(bare, axis, 0)[[0, -1]] = 1
    room = iv.build(VoxelMap.from_array(bare, 0.1))
    lidar = iv.Lidar.spinning(16, range_max=8.0, noise=0.0)
    values = []
    for atlas, x in ((tunnel, 12.0), (room, 2.2)):
        pose = Pose3(x, 1.3, 0.4, 1.05)
        scan = lidar.scan(atlas.world, pose, np.random.default_rng(0))
        values.append(certify(atlas.world, scan, pose).mu)
    assert values[0] < 1e-3 * values[1]
    assert values[1] > 0.0


@pytest.mark.slow
@pytest.mark.parametrize("band", [(50.0, 89.0), (-90.0, -50.0), (89.9, 90.0), (48.0, 49.0)])
@pytest.mark.parametrize("asked", [{}, {"tilt": True}, {"certificate": True}])
def test_a_cloud_above_what_the_atlas_describes_is_not_unique(band, asked):
    rng = np.random.default_rng(8)
    rise, turn = np.radians(rng.uniform(*band, 400)), rng.uniform(-np.pi, np.pi, 400)
    flat = np.cos(rise)
    cloud = CloudScan(2.5 * np.stack([flat * np.cos(turn), flat * np.sin(turn), np.sin(rise)], 1))
    answer = iv.locate(house_atlas(), cloud, **asked)
    assert answer.verdict is not Verdict.UNIQUE
    if band[0] > 49.0 or band[1] < -49.0:
        assert answer.verdict is Verdict.LOST
        assert answer.estimates == ()


@pytest.mark.slow
def test_a_sensor_that_looks_everywhere_finds_itself():
    dome = replace(LIDAR, rings=33, low=-np.pi / 2.0, high=np.pi / 2.0)
    for k, truth in enumerate(PLACES[:2]):
        answer = iv.locate(house_atlas(), dome.scan(house(), truth, np.random.default_rng(k)))
        assert answer.verdict is Verdict.UNIQUE
        assert gap(answer.best.pose, truth)[0] < 0.1
