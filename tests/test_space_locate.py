"""Localization in space, from the scan to the verdict."""

from dataclasses import replace

import numba
import numpy as np
import pytest

import isovist as iv
from isovist.atlas.space import AROUND, KEPT, RINGS, search_rings
from isovist.bench.trials import simulated_trials
from isovist.errors import InputError
from isovist.localization.answer import Verdict
from isovist.localization.certificate import certified
from isovist.localization.space_certificate import certify_in_space
from isovist.localization.space_judge import average_blocks
from isovist.localization.space_search import COLUMNS, ROWS, describe_cloud
from isovist.maps.voxels import VoxelMap
from isovist.poses import Pose3, wrap_angle
from isovist.sensing.cloud_scan import CloudScan
from reference_space import LIDAR, at, house, house_atlas, house_cells, symmetric_room

PLACES = (at(5.0, 0.0, 0.7), at(10.5, 0.5, -2.5), at(4.2, 1.2, 3.0), at(7.6, -1.2, 1.5))


def gap(pose, truth):
    """Distance in m and angle in rad."""
    away = np.linalg.norm(np.array([pose.x - truth.x, pose.y - truth.y, pose.z - truth.z]))
    return float(away), abs(float(wrap_angle(pose.yaw - truth.yaw)))


@pytest.mark.parametrize("truth", PLACES)
def test_a_robot_finds_itself_in_the_house(truth):
    scan = LIDAR.scan(house(), truth, np.random.default_rng(1))
    answer = iv.locate(house_atlas(), scan)
    away, turn = gap(answer.best.pose, truth)
    assert answer.verdict is Verdict.UNIQUE
    assert away < 0.08
    assert turn < np.radians(1.0)
    assert answer.best.covariance.shape == (4, 4)
    assert (np.linalg.eigvalsh(answer.best.covariance) > 0.0).all()
    assert set(answer.timing_ms) == {"search", "refine", "judge", "total"}
    certificate = certified(house_atlas(), scan, answer).certificate
    assert certificate.mu > 0.0
    assert not certificate.holds
    assert certificate.bound == np.inf


def test_a_gap_between_the_rings_that_a_sensor_has_does_no_harm():
    truth = PLACES[0]
    scan = LIDAR.scan(house(), truth, np.random.default_rng(1))
    rise = np.arctan2(scan.points[:, 2], np.hypot(scan.points[:, 0], scan.points[:, 1]))
    outer = iv.Scan.from_points(scan.points[np.abs(rise) > np.radians(8.0)])
    _, seen = describe_cloud(outer)
    rings = seen.any(axis=(0, 2))
    assert not rings[np.flatnonzero(rings)[0] : np.flatnonzero(rings)[-1]].all()
    away, turn = gap(iv.locate(house_atlas(), outer).best.pose, truth)
    assert away < 0.1
    assert turn < np.radians(1.5)


def test_a_height_that_is_a_little_off_is_fitted():
    truth = at(5.0, 0.0, 0.7, z=1.68)
    answer = iv.locate(house_atlas(), LIDAR.scan(house(), truth, np.random.default_rng(2)))
    assert gap(answer.best.pose, truth)[0] < 0.1


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
    np.testing.assert_allclose(answer.best.pose.vector[4:], [0.03, -0.04], atol=0.012)
    assert answer.best.covariance.shape == (6, 6)
    assert gap(answer.best.pose, truth)[0] < 0.1


def test_a_prior_excludes_other_places():
    scan = LIDAR.scan(house(), PLACES[0], np.random.default_rng(1))
    near = iv.locate(house_atlas(), scan, prior=iv.Region.around(PLACES[0], 1.0))
    assert gap(near.best.pose, PLACES[0])[0] < 0.08
    nowhere = iv.locate(house_atlas(), scan, prior=iv.Region(centre=[90.0, 0.0], radius=1.0))
    assert nowhere.verdict is Verdict.LOST
    assert nowhere.estimates == ()


def test_the_answer_does_not_depend_on_the_number_of_threads():
    scan = LIDAR.scan(house(), PLACES[1], np.random.default_rng(5))
    threads = numba.get_num_threads()
    answers = []
    try:
        for count in (1, threads):
            numba.set_num_threads(count)
            atlas = iv.build(house(), spacing=0.5)
            answers.append((atlas.descriptors, iv.locate(atlas, scan)))
    finally:
        numba.set_num_threads(threads)
    (F, one), (G, many) = answers
    np.testing.assert_array_equal(F, G)
    assert one.verdict == many.verdict
    assert [e.pose for e in one.estimates] == [e.pose for e in many.estimates]
    for a, b in zip(one.estimates, many.estimates, strict=True):
        np.testing.assert_array_equal(a.covariance, b.covariance)


def test_a_symmetric_room_is_ambiguous_and_lists_the_other_place():
    truth = Pose3(2.2, 2.9, 0.4, 1.1)
    room = symmetric_room(False)
    answer = iv.locate(iv.build(room), LIDAR.scan(room, truth, np.random.default_rng(6)))
    assert answer.verdict is Verdict.AMBIGUOUS
    twin = Pose3(6.2 - truth.x, 4.2 - truth.y, truth.yaw + np.pi, truth.z)
    for place in (truth, twin):
        assert min(gap(e.pose, place)[0] for e in answer.estimates[:2]) < 0.1


@pytest.mark.parametrize("seed", range(4))
def test_intensity_tells_the_two_places_of_a_symmetric_room_apart(seed):
    rng = np.random.default_rng(seed)
    truth = Pose3(*rng.uniform((1.8, 0.7, -3.0, 1.05), (4.4, 3.5, 3.0, 1.15)))
    room = symmetric_room(True)
    atlas = iv.build(room)
    scan = LIDAR.scan(room, truth, rng)
    assert iv.locate(atlas, CloudScan(scan.points)).verdict is Verdict.AMBIGUOUS
    both = iv.locate(atlas, scan)
    assert both.verdict is Verdict.UNIQUE
    assert gap(both.best.pose, truth)[0] < 0.1


def test_intensities_in_other_units_are_left_out_and_this_is_said():
    room = symmetric_room(True)
    scan = LIDAR.scan(room, Pose3(2.2, 2.9, 0.4, 1.1), np.random.default_rng(6))
    other = CloudScan(scan.points, 255.0 * scan.intensities)
    answer = iv.locate(iv.build(room), other)
    assert answer.verdict is Verdict.AMBIGUOUS
    assert answer.advice.endswith(
        " Intensities were left out: their median is 128, and the walls of the map have 0.2 to 0.9."
    )


def test_a_scan_from_elsewhere_is_not_unique():
    rng = np.random.default_rng(7)
    elsewhere = symmetric_room(False)
    scan = LIDAR.scan(elsewhere, Pose3(2.2, 2.9, 0.4, 1.1), rng)
    assert iv.locate(house_atlas(), scan).verdict is not Verdict.UNIQUE
    noise = CloudScan(rng.normal(size=(3000, 3)) * [4.0, 4.0, 0.5])
    assert iv.locate(house_atlas(), noise).verdict is Verdict.LOST


def test_a_sliver_of_the_view_is_not_unique():
    scan = LIDAR.scan(house(), PLACES[0], np.random.default_rng(8))
    bearing = np.arctan2(scan.points[:, 1], scan.points[:, 0])
    sliver = CloudScan(scan.points[np.abs(bearing) < np.radians(12.0)])
    assert iv.locate(house_atlas(), sliver).verdict is not Verdict.UNIQUE


def test_scans_and_atlases_of_different_dimension_do_not_mix():
    cloud = LIDAR.scan(house(), PLACES[0], np.random.default_rng(1))
    cells = np.pad(np.zeros((60, 80), np.uint8), 2, constant_values=1)
    plane = iv.build(iv.OccupancyMap(cells, 0.05))
    flat = iv.Scan(np.linspace(-1.0, 1.0, 90), np.full(90, 1.5))
    for atlas, scan, options, words in (
        (
            plane,
            cloud,
            {},
            "The scan is a cloud of points, and the atlas is of a map of the plane. "
            "Build the atlas of a map in space, or take a scan of the plane.",
        ),
        (
            house_atlas(),
            flat,
            {},
            "The scan is of the plane, and the atlas is of a map in space. "
            "Give points: Scan.from_points.",
        ),
        (plane, flat, {"tilt": True}, "`tilt` is for maps in space; this atlas is of the plane."),
        (house(), cloud, {}, "`locate` needs an atlas and a scan, got VoxelMap and CloudScan."),
    ):
        with pytest.raises(InputError) as error:
            iv.locate(atlas, scan, **options)
        assert str(error.value) == words


def test_channels_of_a_scan_are_weighted_means_of_its_bins():
    scan = LIDAR.scan(house(), PLACES[2], np.random.default_rng(9))
    values, seen = describe_cloud(scan)
    p = scan.points
    column = np.floor(np.arctan2(p[:, 1], p[:, 0]) / (2.0 * np.pi) * COLUMNS).astype(int) % COLUMNS
    row = np.floor((np.arcsin(p[:, 2] / np.linalg.norm(p, axis=1)) / np.pi + 0.5) * ROWS).astype(
        int
    )
    signal = np.log1p(np.linalg.norm(p, axis=1))
    bins = np.unique(np.stack([row, column]), axis=1)
    means = np.array([signal[(row == r) & (column == c)].mean() for r, c in bins.T])
    elevation = ((bins[0] + 0.5) / ROWS - 0.5) * np.pi
    azimuth = 2.0 * np.pi * (bins[1] + 0.5) / COLUMNS
    for phase in range(2):
        turned = azimuth + phase * np.pi / AROUND
        d = np.stack(
            [
                np.cos(elevation) * np.cos(turned),
                np.cos(elevation) * np.sin(turned),
                np.sin(elevation),
            ],
            axis=1,
        )
        W = search_rings().weights(d).reshape(len(d), RINGS, AROUND)[:, KEPT]
        W *= np.cos(elevation)[:, None, None]
        mass = W.sum(axis=0)
        exact = np.einsum("b,brc->rc", means, W) / np.maximum(mass, 1e-12)
        assert seen[phase].any(axis=1).sum() == 4
        np.testing.assert_allclose(values[phase][seen[phase]], exact[seen[phase]], rtol=1e-4)


def test_blocks_are_means_and_columns_are_sums_of_blocks():
    rng = np.random.default_rng(10)
    ends = rng.normal(size=(300, 3)) * [1.0, 1.0, 0.2]
    ratings = rng.normal(size=(3, 300))
    blocks, columns = average_blocks(ratings, ends)
    azimuth = np.floor(np.degrees(np.arctan2(ends[:, 1], ends[:, 0])) / 10.0)
    row = np.floor(np.degrees(np.arcsin(ends[:, 2] / np.linalg.norm(ends, axis=1))) / 10.0)
    means, sums = [], []
    for a in np.unique(azimuth):
        here = [
            ratings[:, (azimuth == a) & (row == r)].mean(axis=1)
            for r in np.unique(row[azimuth == a])
        ]
        means += here
        sums.append(np.sum(here, axis=0))
    np.testing.assert_allclose(blocks, np.array(means).T, atol=1e-12)
    np.testing.assert_allclose(columns, np.array(sums).T, atol=1e-12)


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


def test_a_drone_finds_its_height():
    drone = iv.build(house(), spacing=0.4, height=(0.5, 2.0))
    truth = at(10.2, 0.9, -1.0, z=2.2)
    answer = iv.locate(drone, LIDAR.scan(house(), truth, np.random.default_rng(12)))
    assert gap(answer.best.pose, truth)[0] < 0.1


def test_simulated_trials_stand_in_free_places():
    trials = simulated_trials(house(), 5, LIDAR, seed=3)
    for trial in trials:
        assert house().contains(trial.truth.position)
        assert trial.truth.z == pytest.approx(1.5, abs=0.06)
        assert len(trial.scan().points) > 1000
    again = simulated_trials(house(), 5, LIDAR, seed=3)
    assert [t.truth for t in trials] == [t.truth for t in again]
    with pytest.raises(InputError, match="`count` must be at least 1, got 0"):
        simulated_trials(house(), 0, LIDAR)
    with pytest.raises(InputError, match="No free place 7 m above the floor"):
        simulated_trials(VoxelMap.from_array(house_cells(), 0.1), 1, LIDAR, height=7.0)


def test_the_slope_of_the_descriptor_vanishes_along_a_tunnel():
    cells = np.zeros((26, 30, 400), np.uint8)
    cells[[0, -1]] = 1
    cells[:, [0, -1]] = 1
    tunnel = iv.build(VoxelMap.from_array(cells, 0.1))
    bare = np.zeros((26, 30, 60), np.uint8)
    for axis in range(3):
        np.moveaxis(bare, axis, 0)[[0, -1]] = 1
    room = iv.build(VoxelMap.from_array(bare, 0.1))
    lidar = iv.Lidar.spinning(16, range_max=8.0, noise=0.0)
    values = []
    for atlas, x in ((tunnel, 20.0), (room, 2.2)):
        pose = Pose3(x, 1.3, 0.4, 1.05)
        scan = lidar.scan(atlas.world, pose, np.random.default_rng(0))
        values.append(certify_in_space(atlas, scan, pose, []).mu)
    assert values[0] < 1e-3 * values[1]
    assert values[1] > 0.0
