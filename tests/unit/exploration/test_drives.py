"""Where to drive, and drives until the robot knows where it is, in the plane and in space."""

import json

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.reference_explore import LIDAR, START, hall_atlas, walled
from tests.support.reference_space import house, house_atlas
from tests.support.reference_survey import raised
from tests.support.sites import PLANE

import isovist as iv
from isovist.exploration import Ground, Rivals, Rule
from isovist.exploration.propose import propose
from isovist.report import draw_run, run_json, run_text, save_run
from isovist.simulation import RobotSettings, explore, lost_start, twofold_hall

pytestmark = pytest.mark.slow

BODY, STRIDE = RobotSettings().radius_m, RobotSettings().max_stride_m
SENSORS = {
    "plane": LIDAR,
    "space": iv.SpinningLidar(8, azimuths=180, range_max=3.0, noise=0.02),
}  # fmt: skip
both = pytest.mark.parametrize("kind", SENSORS)


@pytest.fixture(scope="module")
def halls():
    """Atlases of a hall that is the same after half a turn, and with one crate that is not."""
    raise_ = lambda odd: iv.build(raised(twofold_hall(9.0, 6.0, odd=odd)))  # noqa: E731
    return {
        "plane": {odd: hall_atlas(odd) for odd in (True, False)},
        "space": {odd: raise_(odd) for odd in (True, False)},
    }


def looked(atlas, pose=START, lidar=LIDAR):
    """A tracker after one scan, and the scan."""
    tracker = iv.Tracker(atlas)
    scan = lidar.scan(atlas.world, pose, np.random.default_rng(0))
    tracker.update(iv.Pose(), scan)
    return tracker, scan


@both
def test_a_lost_robot_drives_to_where_the_places_differ(halls, kind, tmp_path):
    atlas = halls[kind][True]
    ground = Ground.from_atlas(atlas)
    run = explore(atlas, START, SENSORS[kind], seed=3, limit=15.0, ground=ground)
    assert run.unique
    assert run.right
    assert 0.0 < run.distance < 10.0
    assert run.verdicts[0] is iv.Verdict.AMBIGUOUS
    assert run.proposals[0].rule is Rule.RIVALS
    assert "rule out 1 of 1 other place" in run.proposals[0].text
    assert (ground.clearance(run.poses[:, :2]) >= BODY).all()
    steps = np.hypot(*np.diff(run.poses[:, :2], axis=0).T)
    assert steps.max() <= STRIDE + 1e-9
    assert steps.sum() == pytest.approx(run.distance)
    again = explore(atlas, START, SENSORS[kind], seed=3, limit=15.0)
    np.testing.assert_array_equal(again.poses, run.poses)
    plain = json.loads(json.dumps(run_json(run)))
    assert ("z" in plain["steps"][0]["estimates"][0]) == (kind == "space")
    first, *legs, last, outcome = run_text(run).splitlines()
    assert run.steps[0].belief.advice in first
    assert len(legs) == len(run.proposals)
    assert f" {run.distance:.1f} m: unique: {run.steps[-1].belief.advice}" in last
    assert "right" in outcome
    draw_run(ground.world, run).draw_without_rendering()
    with refused(None, "unknown_format"):
        save_run(ground.world, run, tmp_path / "drive.txt")


@both
def test_a_twofold_hall_stays_ambiguous_however_one_drives(halls, kind):
    limit = 3.0 if kind == "plane" else 1.2
    for rule in Rule:
        run = explore(halls[kind][False], START, SENSORS[kind], rule, seed=1, limit=limit)
        assert not run.unique
        assert not run.right
        assert run.distance >= limit
        assert set(run.verdicts) == {iv.Verdict.AMBIGUOUS}
        assert run.steps[-1].belief.best.probability < 0.999


@both
def test_a_start_to_get_lost_at_is_ambiguous_and_has_room(halls, kind):
    atlas = halls[kind][True]
    start, seed = lost_start(atlas, SENSORS[kind], 2)
    assert Ground.from_atlas(atlas).clearance(start.position) >= 0.15
    run = explore(atlas, start, SENSORS[kind], "random", seed=seed, limit=0.3)
    assert run.verdicts[0] is iv.Verdict.AMBIGUOUS


def test_a_hall_is_the_same_after_half_a_turn_but_for_its_crate(halls):
    cells, odd = (halls["plane"][odd].world.cells for odd in (False, True))
    assert (cells == cells[::-1, ::-1]).all()
    differ = cells != odd
    assert np.count_nonzero(differ) == 16 * 16
    assert not (differ & differ[::-1, ::-1]).any()


def test_the_gramian_rule_drives_to_the_end_of_a_corridor():
    atlas = iv.build(iv.OccupancyMap(walled(40, 400), 0.05))
    tracker, scan = looked(atlas, iv.Pose(17.2, 1.0, 0.0), iv.Lidar(beams=180, range_max=4.0))
    proposal = propose(tracker, Ground.from_atlas(atlas), scan, Rule.GRAMIAN)
    assert proposal.rule is Rule.GRAMIAN
    assert proposal.gain > 0.0
    best = tracker.bank.poses[0]
    assert np.sign(best[0] - 10.0) * np.cos(best[2] + proposal.direction) > 0.8


def test_no_drive_is_proposed_where_none_helps(halls):
    atlas = halls["plane"][False]
    tracker, scan = looked(atlas, lidar=iv.Lidar(beams=360, range_max=12.0))
    proposal = propose(tracker, Ground.from_atlas(atlas), scan)
    assert (proposal.gain, proposal.distance, len(proposal.path)) == (0.0, 0.0, 1)


def test_a_random_walk_gets_about(halls):
    atlas = halls["plane"][True]
    run = explore(atlas, START, LIDAR, Rule.RANDOM, seed=2, limit=6.0)
    assert run.proposals == ()
    assert run.right or run.distance >= 6.0
    assert Ground.from_atlas(atlas).clearance(run.poses[:, :2]).min() >= BODY


def test_a_narrow_view_may_be_told_to_turn(halls):
    atlas, lidar = halls["plane"][True], iv.Lidar(np.pi / 2.0, beams=90, range_max=4.0)
    tracker, scan = looked(atlas, lidar=lidar)
    proposal = propose(tracker, Ground.from_atlas(atlas), scan)
    assert proposal.gain > 0.0
    if proposal.distance == 0.0:
        said, (*_, heading) = np.degrees(abs(proposal.direction)), proposal.path[-1]
        assert heading == proposal.direction
    else:
        said = np.degrees(abs(np.arctan2(*proposal.path[-1, 1::-1])))
        assert f" {proposal.distance:.1f} m" in proposal.text
    assert f" {said:.0f}° " in proposal.text
    assert explore(atlas, START, lidar, seed=1, limit=15.0).right


def test_absurd_ranges_leave_a_proposal_finite(halls):
    atlas = halls["plane"][True]
    tracker, scan = looked(atlas)
    ranges = np.where(scan.valid, scan.ranges, np.inf)
    ranges[::4] = np.resize([np.nan, -np.inf, 1e308, 5e-324, -1.0, 9999.0], len(ranges[::4]))
    proposal = propose(tracker, Ground.from_atlas(atlas), iv.Scan(scan.bearings, ranges))
    assert np.isfinite([proposal.direction, proposal.gain]).all()


def test_rivals_hold_what_the_bank_holds(halls):
    tracker, scan = looked(halls["plane"][True])
    rivals, (t, d) = Rivals.from_tracker(tracker, scan), tracker.bank.margins()
    assert rivals.poses.shape == (2,)
    A, Q, D, W = rivals.sums
    assert (A[0] / np.sqrt(Q[0] + 0.05))[1] in t
    assert (D[0] / np.sqrt(W[0]))[1] in d
    np.testing.assert_allclose(A, -A.T)
    assert rivals.chances.sum() == pytest.approx(1.0)


def test_a_robot_that_cannot_get_away_gives_up():
    cells = walled(60, 80)
    cells[20:31, 20] = cells[20:31, 30] = cells[20, 20:31] = cells[30, 20:31] = 1
    atlas = iv.build(iv.OccupancyMap(cells, 0.05))
    run = explore(atlas, iv.Pose(1.27, 1.27, 0.0), LIDAR, "random", limit=0.5)
    assert run.unique or run.distance < 0.5


def test_letters_name_the_rules():
    rules = [Rule.GRAMIAN, Rule.RIVALS, Rule.RANDOM]
    assert [Rule.from_text(text) for text in ("a", "b", "random")] == rules


def test_the_same_hall_gives_the_same_ground(halls):
    flat, tall = (Ground.from_atlas(halls[kind][True]) for kind in SENSORS)
    assert flat.level is None
    assert tall.level.height == 1.0
    places = np.random.default_rng(0).uniform([1.0, 1.0], [8.0, 5.0], (200, 2))
    np.testing.assert_allclose(tall.clearance(places), flat.clearance(places), atol=0.2)
    assert tall.level.stand(START) == iv.Pose3(START.x, START.y, START.yaw, 1.1)


@pytest.mark.parametrize(
    ("height", "blocked", "seen"), [(0.1, False, False), (0.5, True, False), (1.8, True, True)]
)
def test_what_is_lower_than_the_sensor_stands_in_the_way_and_is_no_wall(height, blocked, seen):
    """In a room of 6 × 4 m in which something of this height stands on the floor."""
    cells = np.zeros((26, 40, 60), dtype=np.uint8)
    for axis in range(3):
        np.moveaxis(cells, axis, 0)[[0, -1]] = 1
    cells[1 : 1 + round(10 * height), 15:25, 25:35] = 1
    ground = Ground.from_atlas(iv.build(iv.VoxelMap.from_array(cells, 0.1), height=1.0))
    assert (ground.clearance(np.array([3.0, 2.0])) < 0.0) == blocked
    assert (ground.plane.world.cells[20, 30] == 1) == seen
    hits = ground.walls.cast([1.0, 2.0], [1.0, 0.0])
    assert hits.ranges == pytest.approx(1.5 if seen else 4.9)


def test_the_level_of_a_cloud_has_the_nearest_returns_between_curb_and_sensor():
    ground = Ground.from_atlas(house_atlas())
    points = np.array([[2.0, 0.0, -0.1], [1.0, 0.0, -0.95], [3.0, 0.0, 0.0], [0.0, 1.5, 0.9]])
    filler = np.tile([[-4.0, 0.01, 0.0]], (60, 1))
    mount = iv.Pose3(0.2, 0.1, np.pi / 2, 0.4)
    scan = ground.flatten(iv.CloudScan(np.vstack([points, filler]), T_robot_sensor=mount))
    assert len(scan.bearings) == iv.ExplorationSettings().foresight.level_beams
    assert scan.valid.sum() == 2
    ends = scan.T_robot_sensor.apply(scan.endpoints)
    np.testing.assert_allclose(ends[np.argmax(ends[:, 1])], [0.2, 2.1], atol=0.02)
    np.testing.assert_allclose(np.sort(scan.ranges[scan.valid]), [2.0, 4.0], atol=1e-3)
    pose, random = iv.Pose3(5.0, 0.0, 0.7, 1.5), np.random.default_rng(0)
    whole = ground.flatten(SENSORS["space"].scan(house(), pose, random))
    assert ground.flatten(whole) is whole


def of_both(halls):
    """Ask for a way on the ground of the plane by a scan in space."""
    atlas = halls["space"][True]
    level, tracker = Ground.from_atlas(atlas).level, iv.Tracker(atlas)
    scan = SENSORS["space"].scan(level.walls, level.stand(START), np.random.default_rng(0))
    tracker.update(iv.Pose3(), scan)
    propose(tracker, Ground.from_atlas(halls["plane"][True]), scan)


def on_hall(halls, *given, **how):
    explore(halls["plane"][True], *given, **how)


@pytest.mark.parametrize(
    ("call", "field", "code"),
    [
        (lambda _: Rule.from_text("c"), None, "invalid_value"),
        (lambda h: on_hall(h, START, LIDAR, limit=0.0), "limit", "invalid_value"),
        (lambda h: on_hall(h, START, LIDAR, limit=np.inf), "limit", "invalid_value"),
        (lambda h: on_hall(h, START, LIDAR, seed=-1), "seed", "invalid_value"),
        (lambda h: on_hall(h, iv.Pose(0.4, 0.4, 0.0), LIDAR), None, "not_free"),
        (lambda h: on_hall(h, START, iv.Lidar(range_max=0.2), limit=0.5), None, "empty"),
        (lambda _: propose(iv.Tracker(hall_atlas(True)), None, None, Rule.RANDOM), None,
         "invalid_value"),
        (lambda h: Rivals.from_tracker(iv.Tracker(h["plane"][True]), None), None, "empty"),
        (lambda h: Ground.from_atlas(h["plane"][True], RobotSettings()), "settings",
         "invalid_value"),
        (lambda _: twofold_hall(3.0, 5.0), None, "invalid_value"),
        (lambda _: lost_start(PLANE.atlas, iv.Lidar(), 0), None, "empty"),
        (lambda _: Ground.from_atlas(iv.build(house(), height=(0.8, 1.4))), None, "conflict"),
        (of_both, None, "wrong_dimension"),
    ],
)  # fmt: skip
def test_what_cannot_be_driven_is_refused(halls, call, field, code):
    with refused(field, code):
        call(halls)
