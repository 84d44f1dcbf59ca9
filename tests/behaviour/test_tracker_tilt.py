"""Several scans of a robot that leans though nobody said so: joined, and followed."""

from itertools import pairwise

import numpy as np
import pytest
from tests.support.leaning import TALL, tilt_between, untold
from tests.support.reference_space import at, house, house_atlas

import isovist as iv
from isovist import Pose, Pose3, Verdict
from isovist.sensing import all_on_level_ground, on_level_ground
from isovist.sensing.joined import joined

WAY = [
    at(5.0 + 0.3 * k, 0.1 * k, 0.7 - 0.05 * k, roll=0.08 * (-1) ** k, pitch=0.05) for k in range(4)
]


def flat_motions():
    """What wheels tell: they do not know that the robot leans."""
    level = [Pose3.lifted(pose.flat) for pose in WAY]
    return [a.inverse @ b for a, b in pairwise(level)]


@pytest.fixture(scope="module")
def scans():
    return [
        untold(TALL.scan(house(), pose, np.random.default_rng(k))) for k, pose in enumerate(WAY)
    ]


def test_each_of_several_scans_is_levelled_by_its_own_ground(scans):
    flat = all_on_level_ground(joined(scans, flat_motions()))
    for pose, one in zip(WAY, flat.scans, strict=True):
        np.testing.assert_allclose([one.roll, one.pitch], [pose.roll, pose.pitch], atol=0.01)
    # Level frames lie in each other as wheels say, whatever the robot leans by.
    start = Pose3.lifted(WAY[-1].flat).inverse
    for pose, place in zip(WAY, flat.views, strict=True):
        told = start @ Pose3.lifted(pose.flat)
        np.testing.assert_allclose(place.vector, told.vector, atol=0.02)


def test_a_motion_that_knows_the_tilt_and_a_scan_that_tells_it_are_kept(scans):
    known = [a.inverse @ b for a, b in pairwise(WAY)]
    flat = all_on_level_ground(joined(scans, known))
    assert flat.motions == tuple(known)
    told = iv.CloudScan(scans[0].points, roll=0.01)
    assert on_level_ground(told) is told
    level = untold(TALL.scan(house(), at(5.0, 0.0, 0.7), np.random.default_rng(0)))
    pair = joined([level, level], [Pose3()])
    assert all_on_level_ground(pair) is pair


@pytest.mark.slow
def test_joined_scans_that_lean_are_located_with_their_tilt(scans):
    answer = iv.locate(house_atlas(), scans[:3], motions=flat_motions()[:2])
    truth = WAY[2]
    assert answer.verdict is Verdict.UNIQUE
    assert np.linalg.norm(answer.best.pose.position - truth.position) < 0.1
    assert tilt_between(answer.best.pose, truth) < 1.0
    lean = tilt_between(answer.best.pose, Pose3())
    assert answer.advice.endswith(
        f"The sensor leans by {lean:.1f}° more than was told; roll and pitch were fitted."
    )


@pytest.mark.slow
@pytest.mark.parametrize("aided", [True, False])
def test_a_tracker_levels_scans_that_lean(scans, aided):
    tracker = iv.Tracker(house_atlas())
    for k, (pose, scan) in enumerate(zip(WAY, scans, strict=True)):
        odometry = Pose(*pose.flat.vector) if aided else None
        belief = tracker.update(odometry, scan, time=float(k))
        assert np.linalg.norm(belief.best.pose.position - pose.position) < 0.15
        assert tilt_between(belief.best.pose, pose) < 1.0
    assert belief.verdict is Verdict.UNIQUE
    assert belief.best.covariance.shape == (6, 6)
