"""The protocols of locating and of tracking: what is asked, and answers held against the truth."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from benchmarks.worlds.drives3d import ROOM, SHORT, STRIDE, drive, wander
from benchmarks.worlds.drives3d import building as office
from tests.support.corridor_drive import BEARINGS, corridor_drive
from tests.support.errors import refused
from tests.support.readers import ScanSet
from tests.support.reference_locate import building
from tests.support.reference_space import house
from tests.support.sites import PLANE, SITES

import isovist as iv
from isovist import Cell, Lidar, OccupancyMap, Pose, SpinningLidar, Verdict
from isovist.evaluation import (
    AFTER,
    BEFORE,
    Outcome,
    calibration,
    carmen_trials,
    kidnap_logs,
    measure,
    outcome_of,
    simulated_trials,
    start_logs,
    summarise,
    summarise_drive,
    summarise_kidnaps,
    summarise_starts,
)
from isovist.maps import standing_cells
from isovist.poses import way_of, wrap_angle
from isovist.sensing import Placement
from isovist.simulation import HEIGHT, shared_wall_share, similar_floors
from isovist.tracking import Update

pytestmark = pytest.mark.slow

PLANAR = Lidar(range_max=10.0, noise=0.05)
RINGS = SpinningLidar(rings=4, azimuths=90, range_max=12.0)


def ends_of(scan):
    return scan.ranges if isinstance(scan, iv.Scan) else scan.points


@pytest.mark.parametrize(("world", "lidar"), [(building(), PLANAR), (house(), RINGS)])
def test_simulated_scans_repeat_with_their_seed_and_stand_in_free_places(world, lidar):
    first, again = (simulated_trials(world, 3, lidar, seed=5) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        assert a.truth == b.truth
        assert (ends_of(a.scan()) == ends_of(b.scan())).all()
        assert world.contains(a.truth.position)
        if world.dimension == 3:  # 1 m above the floor
            assert a.truth.z == pytest.approx(1.5, abs=0.06)


@pytest.mark.parametrize(
    ("world", "lidar", "options", "field", "code"),
    [
        (building, Lidar(range_max=0.06), {}, "lidar", "empty"),
        (house, SpinningLidar(range_max=0.06), {}, "lidar", "empty"),
        (building, PLANAR, {"count": 0}, "count", "invalid_value"),
        (house, RINGS, {"count": 0}, "count", "invalid_value"),
        (building, PLANAR, {"clearance": 50.0}, None, "empty"),
        (house, RINGS, {"height": 7.0}, None, "empty"),
        (building, RINGS, {}, "lidar", "wrong_dimension"),
        (house, PLANAR, {}, "lidar", "wrong_dimension"),
    ],
)
def test_bad_simulations_are_refused(world, lidar, options, field, code):
    with refused(field, code):
        count = options.pop("count", 1)
        simulated_trials(world(), count, lidar, placement=Placement(**options))


def test_there_is_standing_room_only_in_the_largest_part():
    cells = np.full((60, 100), Cell.OCCUPIED, dtype=np.uint8)
    cells[2:58, 2:50] = cells[2:58, 60:80] = Cell.FREE
    room = standing_cells(OccupancyMap(cells, 0.05))
    assert (room[30, 25], room[30, 70], room[3, 25]) == (True, False, False)


def test_storeys_share_most_of_their_walls():
    floors, again = (similar_floors(1, 3, length=30.0) for _ in range(2))
    common = [
        shared_wall_share(a, b) for a, b in zip(floors, [*floors[1:], floors[0]], strict=True)
    ]
    assert 0.75 < min(common) <= max(common) < 0.85
    assert all(shared_wall_share(a, b) == 1.0 for a, b in zip(floors, again, strict=True))


@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_a_list_is_complete_when_nothing_in_it_is_missed(site):
    place, other, *_ = site.places
    scan = site.look(place, mount=site.mount)
    answer = iv.locate(site.atlas, scan)

    def told(truth, *estimates):
        came = outcome_of(site.atlas, scan, replace(answer, estimates=estimates), truth)
        return came, (came.right, came.listed, came.complete)

    whole, shares = told(place, *answer.estimates)
    assert shares == (True, True, True)
    assert whole.mahalanobis < 9.0
    # The scan fits nowhere near the other place, so nothing is missed there.
    assert told(other, answer.estimates[0])[1] == (False, False, True)
    assert not told(place, replace(answer.estimates[0], pose=other, score=1.0))[0].complete
    nothing, shares = told(place)
    assert shares == (False, False, False)
    assert nothing.probability == 0.0


def test_a_proof_is_wrong_when_it_leaves_out_the_truth_or_proves_another_place():
    place, other, *_ = PLANE.places
    scan = PLANE.look(place)
    answer = iv.locate(PLANE.atlas, scan, prove=True)

    def told(truth, **proof):
        changed = replace(answer, proof=replace(answer.proof, **proof))
        came = outcome_of(PLANE.atlas, scan, changed, truth)
        return came.proved, came.disproved

    assert told(place) == (True, False)
    assert told(other)[1]
    empty = {"unique": False, "regions": np.empty((0, 5))}
    assert told(place, **empty)[1]
    assert not told(place, **empty, complete=False)[1]


def outcome(probability, right, off=0.1, **more):
    times = {"search": 1.0, "prove": 8.0, "total": 9.0}
    error = 0.1 if right else 9.0
    return Outcome(Verdict.UNIQUE, error, 0.0, right, right, right, probability, off, times, **more)


def test_calibration_counts_the_right_ones_in_bins_and_ellipses():
    given = [(0.4, False, 0.1), (0.95, True, 1.0), (0.91, False, 0.1), (1, True, 2), (1, True, 7)]
    told = calibration([outcome(*each) for each in given])
    assert told["probabilities"] == [
        [0.0, 0.5, 1.0, 0.4, 0.0],
        [0.9, 0.99, 2.0, pytest.approx(0.93), 0.5],
        [0.999, 1.0, 2.0, 1.0, 1.0],
    ]
    # The ellipses reach to 0.76, 1.53 and 10.2 squared standard deviations.
    third = pytest.approx(1 / 3)
    assert told["ellipses"] == {"0.5": 0.0, "0.68": third, "0.95": 1.0}


def test_a_summary_counts_the_proved_and_what_is_wrong_and_sure():
    """Ambiguous is said and lost is not; neither asks whether the truth is listed."""
    unique, ambiguous, lost = Verdict
    given = [(True, unique, True), (False, ambiguous, False), (False, lost, True),
             (True, lost, True), (False, unique, True)]  # fmt: skip
    row = summarise([
        replace(outcome(0.9, right), verdict=verdict, listed=listed, proved=k == 0,
                disproved=k == 4)
        for k, (right, verdict, listed) in enumerate(given)
    ])  # fmt: skip
    shares = {"success": 0.4, "unique": 0.4, "unique_of_right": 0.5, "lost": 0.4, "listed": 0.8,
              "listed_complete": 0.4, "right_or_ambiguous": 0.6, "false_confident": 0.2,
              "proved_unique": 0.5, "proof_wrong": 1, "prove_ms": 8.0, "median_ms": 9.0,
              "median_error_m": pytest.approx(0.1)}  # fmt: skip
    assert {key: row[key] for key in shares} == shares


@pytest.fixture(scope="module")
def scans():
    poses, ranges, odometry = corridor_drive()
    times = 0.3 * np.arange(len(poses))
    return ScanSet(ranges, BEARINGS, poses, 30.0, times=times, odometry=odometry)


def test_every_fifth_scan_is_a_query_and_the_map_is_of_the_others(scans):
    world, trials = carmen_trials(scans)
    assert [trial.truth.x for trial in trials] == scans.poses[2::5, 0].tolist()
    assert world.resolution == 0.05
    row = measure("walk", world, trials[:12])
    assert (row["queries"], row["success"], row["false_confident"]) == (12, 1.0, 0.0)
    with refused(code="empty"):
        measure("walk", world, [])


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
    with refused("count"):
        start_logs(scans, 0, 3.0, noise=(0.02, 0.02))


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
    log = iv.Log.from_set(scans, scans.odometry, scans.poses, Pose(), 0.0)
    for piece in kidnap_logs(log, 4, seed=1):
        assert len(piece) == BEFORE + AFTER
        truth, steps = (
            np.hypot(*np.diff(poses[:, :2], axis=0).T) for poses in (piece.truth, piece.odometry)
        )
        assert truth[BEFORE - 1] >= 5.0
        assert steps.max() < 0.3
        assert steps[BEFORE - 1] < 1e-9
        assert (np.diff(piece.times) > 0.0).all()
    blind = iv.Log.from_set(scans, scans.odometry, None, Pose(), 0.0)
    with refused(code="empty"):
        kidnap_logs(blind, 2)
    with refused(code="empty"):
        kidnap_logs(log.take(np.arange(9)), 2)
    still = log.take(np.zeros(2 * (BEFORE + AFTER), dtype=np.int64))
    with refused(code="empty"):
        kidnap_logs(still, 2)


def update(travelled, unique, error):
    estimate = iv.Estimate(Pose(error, 0.0, 0.01), np.diag([4e-4, 4e-4, 4e-4]), 1.0, 0.9, 4.0)
    verdict = Verdict.UNIQUE if unique else Verdict.AMBIGUOUS
    belief = iv.Belief(verdict, (), (estimate,), 0.0, travelled, {"total": 2.0})
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


@pytest.fixture(scope="module")
def site():
    return office(3, length=16.0, rows=2)


@pytest.fixture(scope="module")
def atlas(site):
    return iv.build(site.plan, height=HEIGHT, spacing=0.5)


def test_a_robot_wanders_where_there_is_room(site):
    poses = wander(site.ground, 8.0, np.random.default_rng(5))
    way, turns = np.array([way_of(a.flat.inverse @ b.flat) for a, b in pairwise(poses)]).T
    assert way.sum() >= 8.0
    assert way.max() < STRIDE[0] + 1e-9
    assert turns.max() < STRIDE[1] + 1e-9
    assert min(site.ground.clearance(pose.position[:2]) for pose in poses) > ROOM - 1e-9
    assert min((a.flat.inverse @ b.flat).x for a, b in pairwise(poses)) > -1e-9  # it looks ahead


@pytest.mark.nightly
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
    run = drive(iv.Tracker(atlas), site.reality, narrow, poses, rng, **options)
    assert max(abs(update.offset[3]) for update in run) < most
