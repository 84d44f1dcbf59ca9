"""Localization in the plane, where it differs from space; the rest is in test_localization."""

import numpy as np
import pytest
from tests.support.reference_locate import building

from isovist import AtlasSettings, InputError, OccupancyMap, Pose, Scan, Verdict, build, locate
from isovist.atlas import FAR, bridge_gaps, window_of_scan
from isovist.maps import Cell
from isovist.poses import wrap_angle


@pytest.fixture(scope="module")
def atlas():
    return build(building())


def look(world, pose, beams=180, view=np.pi, noise=0.02, seed=3, mount=None):
    """A scan from a pose of the robot, of walls alone."""
    sensor = pose if mount is None else pose @ mount
    bearings = view * (np.arange(beams) / beams - 0.5)
    angles = sensor.yaw + bearings
    hits = world.cast([sensor.x, sensor.y], np.stack([np.cos(angles), np.sin(angles)], -1))
    random = np.random.default_rng(seed)
    ranges = hits.ranges + noise * random.standard_normal(beams)
    return Scan(bearings, ranges, T_robot_sensor=Pose() if mount is None else mount)


def error(estimate, pose):
    turn = abs(float(wrap_angle(estimate.pose.yaw - pose.yaw)))
    return float(np.hypot(estimate.pose.x - pose.x, estimate.pose.y - pose.y)), turn


@pytest.mark.slow
@pytest.mark.parametrize(
    "pose", [Pose(2.3, 2.4, 0.7), Pose(8.1, 1.4, 2.9), Pose(5.2, 6.4, -1.9), Pose(3.9, 4.5, 0.2)]
)
@pytest.mark.parametrize("view", [np.pi, 1.5 * np.pi, 2.0 * np.pi])
def test_a_scan_is_found_with_its_heading(atlas, pose, view):
    answer = locate(atlas, look(atlas.world, pose, view=view))
    distance, turn = error(answer.best, pose)
    assert distance < 0.05
    assert turn < 0.01
    if view > np.pi:
        assert answer.verdict is Verdict.UNIQUE


@pytest.mark.slow
def test_people_around_the_robot_do_not_hide_the_place(atlas):
    pose = Pose(8.1, 1.4, 2.9)
    scan = look(atlas.world, pose, view=2.0 * np.pi)
    ranges = scan.ranges.copy()
    ranges[10:50] = 0.7
    ranges[90:110] = 0.5
    answer = locate(atlas, Scan(scan.bearings, np.minimum(ranges, scan.ranges)))
    assert error(answer.best, pose)[0] < 0.05


def test_few_beams_are_never_unique(atlas):
    scan = look(atlas.world, Pose(8.1, 1.4, 2.9), beams=5, view=0.3)
    answer = locate(atlas, scan)
    assert answer.verdict is not Verdict.UNIQUE


@pytest.mark.slow
def test_a_turned_map_gives_turned_answers():
    origin = Pose(3.0, -7.0, 2.2)
    world = building(origin)
    inside = Pose(5.2, 6.4, -1.9)
    answer = locate(build(world), look(world, origin @ inside))
    assert error(answer.best, origin @ inside)[0] < 0.05
    upright = locate(build(building()), look(building(), inside))
    turned = origin.rotation @ upright.best.covariance[:2, :2] @ origin.rotation.T
    np.testing.assert_allclose(answer.best.covariance[:2, :2], turned, rtol=0.3, atol=2e-5)


@pytest.mark.slow
def test_the_covariance_is_positive_and_wider_along_a_corridor():
    cells = np.full((60, 800), Cell.OCCUPIED, dtype=np.uint8)
    cells[10:50, 4:796] = Cell.FREE
    cells[10:14, 380:384] = Cell.OCCUPIED
    world = OccupancyMap(cells, 0.05)
    scan = look(world, Pose(12.0, 1.5, 0.0))
    near = Scan(scan.bearings, np.where(scan.ranges < 6.0, scan.ranges, 0.0))
    answer = locate(build(world), near)
    C = answer.best.covariance
    assert (np.linalg.eigvalsh(C) > 0.0).all()
    assert C[0, 0] > 10.0 * C[1, 1]
    assert answer.verdict is not Verdict.UNIQUE


def test_channels_that_look_into_unknown_space_are_far():
    cells = np.full((60, 80), Cell.UNKNOWN)
    cells[10:50, 10:50] = Cell.FREE
    cells[10:50, 9] = cells[9, 10:50] = cells[50, 10:50] = Cell.OCCUPIED
    open_to_the_right = build(OccupancyMap(cells, 0.1), spacing=0.5)
    cells = np.stack(open_to_the_right.rows_columns, axis=1)
    middle = np.argmin(np.abs(cells - [30, 30]).sum(axis=1))
    row, col = cells[middle]
    described = open_to_the_right.descriptors[middle, 0]
    assert described[0] == FAR
    assert described[32] == pytest.approx(np.log1p((col + 0.5 - 10) * 0.1), abs=0.02)
    assert described[16] == pytest.approx(np.log1p((50 - row - 0.5) * 0.1), abs=0.02)


def test_gaps_between_rays_are_bridged():
    cells = building().cells.copy()
    cells[40, 50:60] = Cell.UNKNOWN
    bridged = bridge_gaps(OccupancyMap(cells, 0.05), 0.15)
    assert (bridged.cells[40, 50:60] == Cell.FREE).all()
    assert (bridged.cells[130:140, 200:210] == Cell.UNKNOWN).all()


def test_a_window_is_the_arc_that_the_scan_saw():
    scan = Scan(np.radians(np.arange(-45.0, 46.0)), np.full(91, 2.0))
    window = window_of_scan(scan, AtlasSettings(), 0.3)
    assert 16 <= window.values.shape[2] <= 18
    np.testing.assert_allclose(window.values[window.seen], np.log(3.0), rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda: build(building(), spacing=-0.1),
            "`spacing` must be a positive length in m, got -0.1.",
        ),
        (
            lambda: build(OccupancyMap(np.zeros((1, 20), np.uint8), 0.05)),
            "A map to describe needs at least 2 × 2 cells, got (1, 20).",
        ),
        (
            lambda: build(OccupancyMap(np.zeros((20, 20), np.uint8), 0.05)),
            "The map has no wall that borders free space, so no scan can fit it.",
        ),
    ],
)
def test_bad_input_is_refused_in_words(make, text):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == text
