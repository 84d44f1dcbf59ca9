"""What is no scan and no sensor: fields and codes."""

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.reference_space import house
from tests.support.sites import PLANE

from isovist import (
    CloudScan,
    Lidar,
    OccupancyMap,
    Pose,
    Pose3,
    Scan,
    SegmentMap,
    SpinningLidar,
    locate,
)

INVALID, EMPTY, MISSING = "invalid_value", "empty", "missing"
RANDOM = np.random.default_rng(0)
CLOUD = RANDOM.normal(size=(400, 3))
CAMERA, SIZE = (120.0, 120.0, 79.5, 59.5), (120, 160)
ROOM, FLAT = SegmentMap.room(6.0, 4.0), OccupancyMap(np.zeros((9, 9), np.uint8), 0.1)
STEPS = [Pose(0.5)]


def scan(ranges=(1.0, 1.0, 1.0), bearings=(0.0, 0.1, 0.2), **options):
    return Scan(np.array(bearings), np.array(ranges), **options)


def cloud(points=CLOUD, **options):
    return Scan.from_points(points, **options)


def joined(scans, motions=STEPS, **options):
    return locate(PLANE.atlas, scans, motions=motions, **options)


def depth(image, camera=CAMERA):
    return Scan.from_depth(image, camera)


@pytest.mark.parametrize(
    ("make", "field", "code"),
    [
        (*row, INVALID)[:3]
        for row in (
            (lambda: scan(np.zeros(181), np.zeros(360)), "ranges"),
            (lambda: scan([np.nan, np.inf, 0.0]), "ranges", EMPTY),
            (lambda: scan(range_min=2.0, range_max=1.0), "range_min"),
            (lambda: scan(range_min=1.0, range_max=1.0), "range_min"),
            (lambda: scan(intensities=np.ones(2)), "intensities"),
            (lambda: scan(bearings=[np.nan, 0.0, 1.0]), "bearings"),
            (lambda: scan(np.full(181, 2.0), np.arange(-90.0, 91.0)), "bearings"),
            (lambda: Scan.from_laserscan(0.0, 0.1, [[1.0]]), "ranges"),
            (lambda: cloud(np.zeros((0, 3))), "points", EMPTY),
            (lambda: cloud(np.ones((49, 3))), "points", EMPTY),
            (lambda: cloud(np.zeros((500, 3))), "points", EMPTY),
            (lambda: cloud(np.full((500, 3), np.nan)), "points", EMPTY),
            (lambda: cloud(np.ones((60, 2))), "points"),
            (lambda: cloud([["a", "b", "c"]]), "points"),
            (lambda: cloud(intensities=np.ones(3)), "intensities"),
            (lambda: cloud(intensities=np.full(400, np.nan)), "intensities"),
            (lambda: cloud(roll=np.nan), "roll"),
            (lambda: cloud(roll=np.pi / 2), "roll"),
            (lambda: cloud(pitch=-np.pi / 2), "roll"),
            (lambda: cloud(roll=np.pi, pitch=0.3), "roll"),
            (lambda: cloud(range_min=2.0, range_max=1.0), "range_min"),
            (lambda: CloudScan(CLOUD, times=[0.0]), "times"),
            (lambda: CloudScan(CLOUD, times=np.zeros(400)).straighten(Pose3(), 0.0), "seconds"),
            (lambda: Lidar(0.0), "field_of_view"),
            (lambda: Lidar(beams=0), "beams"),
            (lambda: Lidar(clutter=1.0), "clutter"),
            (lambda: Lidar(noise=-1.0), "noise"),
            (lambda: Lidar(range_max=12.0, noise=20.0), "noise"),
            (lambda: Lidar().scan(ROOM, Pose(9.0, 9.0), RANDOM), "pose", "not_free"),
            (lambda: SpinningLidar(rings=0), "rings"),
            (lambda: SpinningLidar(clutter=1.0), "clutter"),
            (lambda: SpinningLidar(low=1.0), "low"),
            (lambda: SpinningLidar(5, field_of_view=7.0), "field_of_view"),
            (lambda: SpinningLidar().scan(house(), Pose3(3.05, 0, 0, 1.5), RANDOM), "pose",
             "not_free"),
            (lambda: SpinningLidar().scan(FLAT, Pose3(), RANDOM), "world", "wrong_dimension"),
            (lambda: depth(np.full(SIZE, 2500.0)), "depth"),
            (lambda: depth(np.full(SIZE, 3, np.uint16)), "depth"),
            (lambda: depth(np.zeros(SIZE)), "depth", EMPTY),
            (lambda: depth(np.ones(5)), "depth"),
            (lambda: depth(np.ones(SIZE), (0.6, 0.6, 0.5, 0.5)), "intrinsics", "conflict"),
            (lambda: depth(np.ones(SIZE), None), "intrinsics", MISSING),
            (lambda: depth(np.ones(SIZE), (100.0, 100.0)), "intrinsics"),
            (lambda: joined([], []), "scan", MISSING),
            (lambda: joined([scan(), 3]), "scan"),
            (lambda: joined([scan(), cloud()]), "scan", "wrong_dimension"),
            (lambda: joined([scan(), scan(frame="mast")]), "scan", "conflict"),
            (lambda: joined([scan()]), "motions"),
            (lambda: joined([scan()] * 2, [Pose3()]), "motions"),
            (lambda: joined([scan()] * 2, [Pose(np.nan)]), "motions"),
            (lambda: joined([scan()] * 2, drift=0.1), "drift"),
            (lambda: joined(scan()), "motions", "conflict"),
        )
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(make, field, code):
    with refused(field, code):
        make()


def test_what_is_just_within_the_limits_is_no_error():
    assert len(cloud(np.ones((50, 3))).points) == 50
    assert CloudScan(CLOUD, roll=1.57).roll == 1.57
    assert CloudScan(CLOUD, T_robot_sensor=Pose3(roll=np.pi, pitch=0.3)).roll == 0.0
    assert scan(np.full(400, 2.0), np.linspace(-np.pi, 1.2 * np.pi, 400)).valid.all()
    assert Lidar(range_max=12.0, noise=11.9).noise == 11.9
