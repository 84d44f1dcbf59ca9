"""A tracker of robots in space that lean, and whose lidar turns while they move."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.support.drives import drive, errors, way
from tests.support.reference_space import at, house, house_atlas
from tests.support.sites import SPACE
from tests.support.worlds import TALL, tilt_between, untold

import isovist as iv
from isovist import Pose, Pose3, Tracker, Verdict

pytestmark = pytest.mark.slow

LEANING = [
    at(5.0 + 0.3 * k, 0.1 * k, 0.7 - 0.05 * k, roll=0.08 * (-1) ** k, pitch=0.05) for k in range(4)
]


@pytest.fixture(scope="module")
def scans():
    """Of a robot that leans though nobody says so."""
    return [
        untold(TALL.scan(house(), pose, np.random.default_rng(k))) for k, pose in enumerate(LEANING)
    ]


def level(scan):
    return replace(scan, roll=0.0, pitch=0.0)


def followed(scans, odometry, tracker=None):
    """Beliefs, ten scans a second."""
    tracker = Tracker(SPACE.atlas) if tracker is None else tracker
    pairs = enumerate(zip(odometry, scans, strict=True))
    return [tracker.update(told, scan, time=0.1 * k) for k, (told, scan) in pairs]


def test_the_tilt_is_fitted_where_nothing_knows_it():
    poses = way("space", tilt=0.04)
    wheels = [Pose3.lifted(pose.flat) for pose in poses]  # that do not know it either
    looks = [level(SPACE.look(pose, seed=k)) for k, pose in enumerate(poses)]
    beliefs = followed(looks, wheels, Tracker(SPACE.atlas, tilt=True))
    far, turned = errors(beliefs, poses)
    assert far.max() < 0.2
    assert turned.max() < 0.06
    told = np.array([pose.vector[4:] for pose in poses])
    lean = np.array([belief.best.pose.vector[4:] for belief in beliefs]) - told
    assert np.abs(lean).mean() < 0.7 * np.abs(told).mean()
    assert beliefs[-1].best.covariance.shape == (6, 6)


def test_a_lean_that_scans_or_odometry_know_is_taken_off_the_scan():
    poses = way("space", tilt=0.06)[:8]
    looks = [level(SPACE.look(pose, seed=k)) for k, pose in enumerate(poses)]
    by_odometry = followed(looks, [Pose3(1.0, 2.0) @ pose for pose in poses])
    for beliefs in (drive(Tracker(SPACE.atlas), "space", poses), by_odometry):
        far, turned = errors(beliefs, poses)
        assert far.max() < 0.12
        assert turned.max() < 0.03


def sweep(start, end, seed=0, slices=12):
    """What a lidar that turns once in 0.1 s sees on its way from one pose to another, roughly
    straight on; the stamp is that of its start.
    """
    seen, times, step = [], [], start.inverse @ end
    for k in range(slices):
        share = (k + 0.5) / slices
        here = start @ Pose3(*(share * step.position[:2]), share * step.yaw)
        scan = SPACE.look(here, seed=seed)
        azimuth = np.arctan2(scan.points[:, 1], scan.points[:, 0]) % (2.0 * np.pi)
        mine = np.floor(azimuth / (2.0 * np.pi) * slices) == k
        seen.append(scan.points[mine])
        times.append(np.full(mine.sum(), 0.1 * share))
    return iv.CloudScan(np.concatenate(seen), times=np.concatenate(times))


def test_a_sweep_is_straightened_by_the_motion_of_the_robot():
    motion, poses = Pose3(0.15, 0.0, 0.3), [Pose3(4.0, -0.6, 0.1, 1.45)]
    for _ in range(8):
        poses.append(poses[-1] @ motion)
    scans = [sweep(*pair, seed=k) for k, pair in enumerate(pairwise(poses))]
    poses, far = poses[:-1], {}
    for bent in (False, True):
        told = [replace(scan, times=None) for scan in scans] if bent else scans
        far[bent], turned = errors(followed(told, poses), poses)
        assert bent or turned[1:].max() < 0.02
    assert far[False][1:].max() < 0.1
    assert far[False][1:].mean() < 0.75 * far[True][1:].mean()


def test_joined_scans_that_lean_are_located_with_their_tilt(scans):
    flat = [Pose3.lifted(pose.flat) for pose in LEANING[:3]]
    motions = [a.inverse @ b for a, b in pairwise(flat)]
    answer, truth = iv.locate(house_atlas(), scans[:3], motions=motions), LEANING[2]
    assert answer.verdict is Verdict.UNIQUE
    assert np.linalg.norm(answer.best.pose.position - truth.position) < 0.1
    assert tilt_between(answer.best.pose, truth) < 1.0
    lean = tilt_between(answer.best.pose, Pose3())
    assert np.degrees(answer.facts["lean"]) == pytest.approx(lean)


@pytest.mark.parametrize("aided", [True, False])
def test_a_tracker_levels_scans_that_lean(scans, aided):
    tracker = Tracker(house_atlas())
    for k, (pose, scan) in enumerate(zip(LEANING, scans, strict=True)):
        odometry = Pose(*pose.flat.vector) if aided else None
        belief = tracker.update(odometry, scan, time=float(k))
        assert np.linalg.norm(belief.best.pose.position - pose.position) < 0.15
        assert tilt_between(belief.best.pose, pose) < 1.0
    assert belief.verdict is Verdict.UNIQUE
    assert belief.best.covariance.shape == (6, 6)
