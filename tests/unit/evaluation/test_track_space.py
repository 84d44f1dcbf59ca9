"""Small drives of the benchmark of tracking in space."""

from itertools import pairwise

import numpy as np
import pytest
from tests.support.drives import way as along
from tests.support.reference_locate import UNIT, twin_rooms

from isovist import Pose3, SpinningLidar, Tracker, Verdict, VoxelMap, build
from isovist.bench.demonstration import HEIGHT
from isovist.evaluation import summarise_kidnaps, summarise_starts
from isovist.poses import way_of
from isovist.simulation import ROOM, SHORT, STRIDE, building, drive, wander

pytestmark = pytest.mark.slow

LIDAR = SpinningLidar(16, azimuths=360, range_max=30.0, noise=0.02, clutter=0.05)


@pytest.fixture(scope="module")
def site():
    return building(3, length=16.0, rows=2)


@pytest.fixture(scope="module")
def atlas(site):
    return build(site.plan, height=HEIGHT, spacing=0.5)


def test_a_robot_wanders_where_there_is_room(site):
    poses = wander(site.ground, 8.0, np.random.default_rng(5))
    steps = [way_of(a.flat.inverse @ b.flat) for a, b in pairwise(poses)]
    way, turns = np.array(steps).T
    assert way.sum() >= 8.0
    assert way.max() < STRIDE[0] + 1e-9
    assert turns.max() < STRIDE[1] + 1e-9
    assert min(site.ground.clearance(pose.position[:2]) for pose in poses) > ROOM - 1e-9


@pytest.mark.parametrize("aided", [True, False])
def test_starts_are_found_and_none_is_wrong(site, atlas, aided):
    rng, (stride, pause) = np.random.default_rng(0), (STRIDE, 0.3) if aided else (SHORT, 0.1)
    runs = [
        drive(
            Tracker(atlas),
            site.reality,
            LIDAR,
            wander(site.ground, 3.0, rng, stride),
            rng,
            aided=aided,
            pause=pause,
        )
        for _ in range(2)
    ]
    row = summarise_starts("office", runs)
    assert (row["found"], row["wrong"]) == (1.0, 0.0)
    last = [run[-1] for run in runs]
    assert max(update.error[0] for update in last) < 0.2
    assert all(update.covered for update in last)


def test_a_robot_that_is_carried_away_is_found_again(site, atlas):
    rng = np.random.default_rng(2)
    first, second = wander(site.ground, 2.0, rng), wander(site.ground, 4.0, rng)
    away = len(first)
    run = drive(Tracker(atlas), site.reality, LIDAR, [*first, *second], rng, carried=[away])
    row = summarise_kidnaps("office", [run[away - 1 :]], 1, 4.0)
    assert (row["noticed"], row["found_again"]) == (1.0, 1.0)


def test_the_height_is_not_taken_from_what_stands_in_the_way(site, atlas):
    """Beams cut short end above the floor; steps as wide as odometry errs would sink to it."""
    narrow = SpinningLidar(16, -0.2, 0.2, azimuths=180, noise=0.02, clutter=0.3)
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        run = drive(Tracker(atlas), site.reality, narrow, wander(site.ground, 5.0, rng), rng)
        assert max(abs(update.offset[3]) for update in run) < 0.15


@pytest.mark.parametrize("seed", [1, 2])
def test_a_height_that_is_put_right_does_not_go_on_without_odometry(site, atlas, seed):
    """Where neither floor nor ceiling is in view nothing would stop it."""
    flat, rng = (
        SpinningLidar(16, -0.1, 0.1, azimuths=180, clutter=0.05),
        np.random.default_rng(seed),
    )
    way = wander(site.ground, 4.0, rng, SHORT)
    run = drive(Tracker(atlas), site.reality, flat, way, rng, aided=False, pause=0.1)
    assert max(abs(update.offset[3]) for update in run) < 0.2


@pytest.mark.parametrize("cupboard", [(2, 40, 48, 60), (2, 30, 70, 94), (40, 98, 2, 12)])
def test_a_robot_carried_to_a_room_that_is_nearly_the_same_is_noticed(cupboard):
    """As in the plane (`test_tracker`), with a floor and a ceiling, and 2.4 m high."""
    flat, (low, high, left, right) = np.array(twin_rooms().cells), cupboard
    flat[low:high, 106 + left : 106 + right] = flat[0, 0]
    cells = np.repeat(flat[None, ::2, ::2], 24, axis=0)
    cells[[0, -1]] = flat[0, 0]
    world = VoxelMap.from_array(cells, 2.0 * UNIT)
    before, after = (
        along("space", corners)
        for corners in (
            [(1.0, 4.0), (3.2, 4.0), (3.2, 3.0)],
            [(3.2, 2.7), (3.2, 2.2), (2.4, 2.2), (2.4, 3.4)],
        )
    )
    beside = Pose3(104 * UNIT)
    poses, away = [*before, *(beside @ pose for pose in after)], len(before)
    run = drive(
        Tracker(build(world, height=1.45)), world, LIDAR, poses, np.random.default_rng(0),
        carried=[away],
    )  # fmt: skip
    unique = [update.belief.verdict is Verdict.UNIQUE for update in run]
    assert unique[away - 1]
    assert unique[-1]
    # Two scans in a row must fit elsewhere before what was seen is forgotten.
    wrong = [u for u, one in zip(unique, run, strict=True) if u and one.error[0] > 0.2]
    assert len(wrong) <= 1, (unique, [round(one.error[0], 2) for one in run])
