"""What the planes that a scan in space shows tell of how a robot leans."""

from itertools import pairwise

import numpy as np
import pytest
from tests.support.fits import together
from tests.support.reference_space import at, house
from tests.support.worlds import TALL, untold

from isovist import CloudScan, Pose3
from isovist.sensing import level_scan, level_scans, plane_normals

WAY = [
    at(5.0 + 0.3 * k, 0.1 * k, 0.7 - 0.05 * k, roll=0.08 * (-1) ** k, pitch=0.05) for k in range(4)
]


def look(pose, seed):
    return untold(TALL.scan(house(), pose, np.random.default_rng(seed)))


@pytest.fixture(scope="module")
def scans():
    return [look(pose, k) for k, pose in enumerate(WAY)]


def test_each_of_several_scans_is_levelled_by_its_own_ground(scans):
    level = [Pose3.lifted(pose.flat) for pose in WAY]  # what wheels tell
    flat = level_scans(together(scans, [a.inverse @ b for a, b in pairwise(level)]))
    for pose, one in zip(WAY, flat.scans, strict=True):
        np.testing.assert_allclose([one.roll, one.pitch], [pose.roll, pose.pitch], atol=0.01)
    # Level frames lie in each other as wheels say, whatever the robot leans by.
    for pose, place in zip(level, flat.view_poses, strict=True):
        np.testing.assert_allclose(place.vector, (level[-1].inverse @ pose).vector, atol=0.02)


def test_a_motion_that_knows_the_tilt_and_a_scan_that_tells_it_are_kept(scans):
    known = [a.inverse @ b for a, b in pairwise(WAY)]
    assert level_scans(together(scans, known)).motions == tuple(known)
    told = CloudScan(scans[0].points, roll=0.01)
    assert level_scan(told) is told
    pair = together([look(at(5.0, 0.0, 0.7), 0)] * 2, [Pose3()])
    assert level_scans(pair) is pair


def test_a_scan_in_space_that_looks_one_way_has_no_plane():
    some = CloudScan(np.linspace(1.0, 2.0, 100)[:, None] * [1.0, 0.5, 0.2])
    assert plane_normals(some).shape == (0, 3)
