"""The protocols of tracking, on drives made here, in the plane and in space."""

import json
from itertools import pairwise

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.reference_locate import building
from typer.testing import CliRunner

from isovist import Belief, Estimate, Log, Pose, SpinningLidar, Tracker, Verdict, build, write_map
from isovist.apps import app
from isovist.evaluation import (
    AFTER,
    BEFORE,
    kidnap_logs,
    start_logs,
    summarise_drive,
    summarise_kidnaps,
    summarise_starts,
)
from isovist.io import ScanSet
from isovist.poses import unit_vectors, way_of, wrap_angle
from isovist.simulation import HEIGHT, ROOM, SHORT, STRIDE, drive, wander
from isovist.simulation import building as office
from isovist.tracking import Update

pytestmark = pytest.mark.slow

BEARINGS = np.deg2rad(np.arange(-90.0, 90.0))


@pytest.fixture(scope="module")
def scans():
    """A drive up and down the corridor of the building and through its large room."""
    corners = np.array([[1.0, 4.7], [7.0, 4.7], [9.9, 4.7], [9.9, 2.0], [7.0, 2.0], [7.0, 1.2]])
    poses = []
    for a, b in pairwise(np.concatenate([corners, corners[::-1][1:]])):
        count = round(np.hypot(*(b - a)) / 0.15)
        heading = np.arctan2(*(b - a)[::-1])
        poses += [[*(a + (b - a) * s), heading] for s in np.arange(count) / count]
    poses, world, random = np.array(poses), building(), np.random.default_rng(0)
    ranges = [world.cast(p[:2], unit_vectors(BEARINGS + p[2])).ranges for p in poses]
    drift = np.cumsum(random.normal(0.0, 0.002, poses.shape), axis=0)
    ranges = np.array(ranges) + random.normal(0.0, 0.01, (len(poses), 180))
    times = np.arange(len(poses)) * 0.3
    return ScanSet(ranges, BEARINGS, poses, 30.0, times=times, odometry=poses + drift)


def test_the_robot_sees_only_scans_that_are_not_in_the_map(scans):
    world, logs = start_logs(scans, 5, 3.0, noise=(0.02, 0.02))
    assert (len(logs), world.resolution) == (5, 0.05)
    odd = {scans.poses[i].tobytes(): i for i in range(1, len(scans), 2)}
    for log in logs:
        assert 2.5 < np.hypot(*np.diff(log.truth[:, :2], axis=0).T).sum() <= 3.0
        for k, pose in enumerate(log.truth):
            seen = scans.ranges[odd[pose.tobytes()]]
            np.testing.assert_allclose(log.scan(k).ranges, seen, rtol=1e-6)
    with refused(code="too_large"):
        start_logs(scans, 5, 500.0, noise=(0.02, 0.02))


def test_noise_of_starts_is_what_was_asked_for(scans):
    _, logs = start_logs(scans, 60, 6.0, noise=(0.05, 0.1), seed=3)
    off = []
    for log in logs:
        for (a, b), (c, d) in zip(pairwise(log.truth), pairwise(log.odometry), strict=True):
            true = Pose.from_vector(a).inverse @ Pose.from_vector(b)
            step = Pose.from_vector(c).inverse @ Pose.from_vector(d)
            way = np.hypot(true.x, true.y)
            turned = float(wrap_angle(step.yaw - true.yaw)) / way
            off.append([np.hypot(step.x, step.y) / way - 1.0, turned])
    assert np.std(off, axis=0) == pytest.approx([0.05, 0.1], rel=0.1)


def test_a_kidnapped_robot_jumps_and_its_odometry_does_not(scans):
    log = Log.from_set(scans, scans.odometry, scans.poses, Pose(), 0.0)
    for piece in kidnap_logs(log, 4, seed=1):
        assert len(piece) == BEFORE + AFTER
        truth, steps = (
            np.hypot(*np.diff(poses[:, :2], axis=0).T) for poses in (piece.truth, piece.odometry)
        )
        assert truth[BEFORE - 1] >= 5.0
        assert steps.max() < 0.3
        assert steps[BEFORE - 1] < 1e-9
        assert (np.diff(piece.times) > 0.0).all()
    blind = Log.from_set(scans, scans.odometry, None, Pose(), 0.0)
    with refused(code="empty"):
        kidnap_logs(blind, 2)
    with refused(code="empty"):
        kidnap_logs(log.take(np.arange(9)), 2)


def update(travelled, unique, error):
    estimate = Estimate(Pose(error, 0.0, 0.01), np.diag([4e-4, 4e-4, 4e-4]), 1.0, 0.9, 4.0)
    verdict = Verdict.UNIQUE if unique else Verdict.AMBIGUOUS
    belief = Belief(verdict, (), (estimate,), 0.0, travelled, {"total": 2.0})
    return Update(0, 0.0, Pose(), belief, Pose())


def test_summaries_count_what_they_say():
    found = [update(0.0, False, 9.0), update(1.0, True, 0.1), update(2.0, True, 0.3)]
    wrong = [update(0.0, True, 4.0), update(1.0, True, 0.2)]
    never = [update(0.0, False, 0.1), update(2.0, False, 0.1)]
    row = summarise_starts("x", [found, wrong, never])
    assert (row["found"], row["wrong"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert row["median_way_m"] == 1.0
    one = summarise_drive("x", found)
    assert (one["unique_after_m"], one["wrong"]) == (1.0, 0)
    told = one["rmse_m"], one["shift_x_m"], one["centred_rmse_m"]
    assert told == pytest.approx((np.sqrt((0.1**2 + 0.3**2) / 2), 0.2, 0.1))
    assert "rmse_m" not in summarise_drive("x", never)
    before = [update(0.1 * k, True, 0.0) for k in range(3)]
    good = [*before, update(1.0, True, 8.0), update(1.0, False, 8.0), update(2.0, True, 0.1)]
    late = [*before, *(update(1.0 + k, True, 8.0) for k in range(3)), update(9.0, True, 0.1)]
    row = summarise_kidnaps("x", [good, late], 3, 5.0)
    assert (row["noticed"], row["found_again"]) == (0.5, 0.5)
    assert row["p95_way_m"] == pytest.approx(0.95 * 8.0 + 0.05 * 1.0)
    lost = [*before, *(update(1.0 + k, False, 8.0) for k in range(3))]
    assert summarise_kidnaps("x", [good, late, lost], 3, 5.0)["p95_way_m"] == np.inf


def test_the_benchmarks_run_and_find_the_robot(scans, tmp_path):
    write_map(building(), tmp_path / "map.yaml")
    np.savez(
        tmp_path / "scans.npz", ranges_m=scans.ranges, pose=scans.poses, odom=scans.odometry,
        t=scans.times, angle_min=BEARINGS[0], angle_inc=BEARINGS[1] - BEARINGS[0], range_max=30.0,
    )  # fmt: skip
    files = [str(tmp_path / "map.yaml"), str(tmp_path / "scans.npz"), "--json"]
    (row,) = json.loads(CliRunner().invoke(app, ["bench", "follow", *files]).stdout)
    assert row["wrong"] == 0
    assert row["rmse_m"] < 0.05
    (row,) = json.loads(CliRunner().invoke(app, ["bench", "kidnap", *files, "--count", "3"]).stdout)
    assert (row["kidnaps"], row["noticed"]) == (3, 1.0)


@pytest.fixture(scope="module")
def site():
    return office(3, length=16.0, rows=2)


@pytest.fixture(scope="module")
def atlas(site):
    return build(site.plan, height=HEIGHT, spacing=0.5)


def test_a_robot_wanders_where_there_is_room(site):
    poses = wander(site.ground, 8.0, np.random.default_rng(5))
    way, turns = np.array([way_of(a.flat.inverse @ b.flat) for a, b in pairwise(poses)]).T
    assert way.sum() >= 8.0
    assert way.max() < STRIDE[0] + 1e-9
    assert turns.max() < STRIDE[1] + 1e-9
    assert min(site.ground.clearance(pose.position[:2]) for pose in poses) > ROOM - 1e-9


@pytest.mark.parametrize(
    ("seed", "up", "clutter", "way", "options", "most"),
    [
        # Beams cut short end above the floor; steps as wide as odometry errs would sink to it.
        *((seed, 0.2, 0.3, (5.0, STRIDE), {}, 0.15) for seed in (1, 2)),
        # Without odometry, and neither floor nor ceiling in view, nothing would stop it.
        *((seed, 0.1, 0.05, (4.0, SHORT), {"aided": False, "pause": 0.1}, 0.2) for seed in (1, 2)),
    ],
)
def test_the_height_does_not_sink_or_rise(site, atlas, seed, up, clutter, way, options, most):
    rng = np.random.default_rng(seed)
    narrow = SpinningLidar(16, -up, up, azimuths=180, noise=0.02, clutter=clutter)
    poses = wander(site.ground, way[0], rng, way[1])
    run = drive(Tracker(atlas), site.reality, narrow, poses, rng, **options)
    assert max(abs(update.offset[3]) for update in run) < most
