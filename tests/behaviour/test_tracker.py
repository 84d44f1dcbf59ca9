"""Tracking on small buildings."""

import json
from itertools import pairwise

import numpy as np
import pytest
from tests.support.reference_locate import UNIT, building, twin_rooms
from tests.support.sites import ABSURD, PLANE, SPACE

from isovist import (
    Drift,
    InputError,
    Lidar,
    LocalizationSettings,
    OccupancyMap,
    Pose,
    Region,
    Scan,
    Tracker,
    TrackingSettings,
    Verdict,
    build,
)
from isovist.exploration import Ground
from isovist.exploration.propose import propose
from isovist.maps import Cell
from isovist.poses import wrap_angle
from isovist.tracking.bank import Bank, Frame

LIDAR = Lidar(field_of_view=1.5 * np.pi, beams=270, range_max=12.0, noise=0.02)


@pytest.fixture(scope="module")
def atlas():
    return build(building())


def way(corners, step=0.3):
    """Poses along a polyline, turning on the spot at its corners."""
    poses = []
    for a, b in pairwise(np.array(corners)):
        heading = float(np.arctan2(*(b - a)[::-1]))
        count = max(2, round(np.hypot(*(b - a)) / step))
        poses += [Pose(*(a + (b - a) * s), heading) for s in np.linspace(0.0, 1.0, count)]
    return poses


CORRIDOR = way([(1.0, 4.7), (7.0, 4.7), (10.0, 4.7), (10.0, 2.0), (7.0, 1.5)])


def drive(tracker, world, poses, *, seed=1, noise=0.02, mount=None, slip=None):
    """Beliefs along a way, with odometry that drifts, and perhaps slips once."""
    random = np.random.default_rng(seed)
    mount = Pose() if mount is None else mount
    odometry, beliefs = Pose(5.0, -3.0, 1.0), []
    for k, pose in enumerate(poses):
        if k:
            step = poses[k - 1].inverse @ pose
            odometry = odometry @ Pose(
                step.x * (1.0 + noise * random.normal()),
                step.y,
                step.yaw + noise * random.normal() * abs(step.x),
            )
        if slip is not None and k == slip[0]:
            odometry = odometry @ slip[1]
        seen = LIDAR.scan(world, pose @ mount, random)
        scan = Scan(
            seen.bearings, np.where(seen.valid, seen.ranges, np.inf), range_max=12.0,
            T_robot_sensor=mount,
        )  # fmt: skip
        beliefs.append(tracker.update(odometry, scan))
    return beliefs


def errors(beliefs, poses):
    pairs = [(b.best.pose, p) for b, p in zip(beliefs, poses, strict=True)]
    far = np.array([np.hypot(e.x - p.x, e.y - p.y) for e, p in pairs])
    return far, np.array([abs(float(wrap_angle(e.yaw - p.yaw))) for e, p in pairs])


@pytest.mark.parametrize("mount", [None, Pose(0.3, 0.1, 0.5)])
def test_an_unknown_start_becomes_unique_and_is_followed(atlas, mount):
    beliefs = drive(Tracker(atlas), atlas.world, CORRIDOR, mount=mount)
    far, turn = errors(beliefs, CORRIDOR)
    unique = np.array([b.verdict is Verdict.UNIQUE for b in beliefs])
    assert unique[10:].all()
    assert far[unique].max() < 0.1
    assert turn[unique].max() < 0.03
    length = sum(np.hypot(b.x - a.x, b.y - a.y) for a, b in pairwise(CORRIDOR))
    assert beliefs[-1].travelled == pytest.approx(length, rel=0.02)


@pytest.mark.slow
def test_the_truth_lies_in_the_ellipsoid_that_is_claimed(atlas):
    inside = []
    for seed in range(4):
        beliefs = drive(Tracker(atlas), atlas.world, CORRIDOR, seed=seed)
        for belief, pose in zip(beliefs[5:], CORRIDOR[5:], strict=True):
            e = belief.best.pose.vector - pose.vector
            e[2] = wrap_angle(e[2])
            inside.append(e @ np.linalg.solve(belief.best.covariance, e) < 7.815)
    assert np.mean(inside) > 0.95


def test_probabilities_add_up_and_estimates_are_sorted(atlas):
    for belief in drive(Tracker(atlas), atlas.world, CORRIDOR[:6]):
        chances = [e.probability for e in belief.estimates]
        assert chances == sorted(chances, reverse=True)
        assert sum(chances) <= 1.0 + 1e-9
        assert belief.best is belief.estimates[0]


@pytest.mark.slow
def test_the_same_way_gives_the_same_bits_whatever_the_threads(atlas, monkeypatch):
    def last(threads):
        monkeypatch.setattr("isovist.kernels.threads.COUNT", threads)
        belief = drive(Tracker(atlas), atlas.world, CORRIDOR[:12])[-1]
        return belief.best.pose.vector.tobytes() + belief.best.covariance.tobytes()

    assert last(1) == last(2)


def test_a_robot_carried_away_is_noticed_and_found_again(atlas):
    before, after = CORRIDOR[:15], way([(4.0, 6.5), (8.0, 6.2)])
    tracker = Tracker(atlas)
    assert drive(tracker, atlas.world, before)[-1].verdict is Verdict.UNIQUE
    # Odometry starts anew from where it ended, as if nothing had happened.
    beliefs = drive(tracker, atlas.world, after)
    far, _ = errors(beliefs, after)
    wrong = [b.verdict is Verdict.UNIQUE and e > 0.5 for b, e in zip(beliefs, far, strict=True)]
    assert not any(wrong[2:])
    assert beliefs[-1].verdict is Verdict.UNIQUE
    assert far[-1] < 0.1


def carried_next_door(cupboard, before, after):
    """Which beliefs are unique and how far they are off, before and after a robot is carried.

    From one of two rooms that are alike, but for a cupboard in the second, to that one; odometry
    says that the robot went straight on.
    """
    cells, (low, high, left, right) = np.array(twin_rooms().cells), cupboard
    cells[low:high, 106 + left : 106 + right] = Cell.OCCUPIED
    atlas, beside = build(OccupancyMap(cells, UNIT)), Pose(104 * UNIT, 0.0, 0.0)
    first, second = way(before), [beside @ pose for pose in way(after)]
    jump = len(first), second[0].inverse @ first[-1] @ Pose(0.3, 0.0, 0.0)
    beliefs = drive(Tracker(atlas), atlas.world, [*first, *second], noise=0.0, slip=jump)
    far, _ = errors(beliefs, [*first, *second])
    unique = np.array([b.verdict is Verdict.UNIQUE for b in beliefs])
    return np.split(unique, jump[:1]), np.split(far, jump[:1])


@pytest.mark.parametrize("cupboard", [(2, 40, 48, 60), (2, 30, 70, 94), (40, 98, 2, 12)])
def test_a_robot_carried_to_a_room_that_is_nearly_the_same_is_noticed(cupboard):
    """The room that was believed explains what is seen, but for the cupboard of the other one."""
    before = [(1.0, 4.0), (3.2, 4.0), (3.2, 3.0)]
    after = [(3.2, 2.7), (3.2, 2.2), (2.4, 2.2), (2.4, 3.4)]
    unique, far = carried_next_door(cupboard, before, after)
    assert unique[0][-1]
    assert not (unique[1] & (far[1] > 0.1)).any()
    assert unique[1][-1]


@pytest.mark.parametrize("start", [(3.6, 1.6), (3.8, 2.0), (4.4, 2.4)])
def test_a_slip_and_a_room_next_door_that_looks_the_same_are_not_told_apart(start):
    """The cupboard was seen before the jump, and is hidden after it: it may be either room."""
    before = [(1.0, 4.0), (3.0, 4.3), (3.0, 2.5), (4.3, 1.2)]
    unique, far = carried_next_door((80, 98, 80, 96), before, [start, (4.4, 1.0), (4.4, 1.8)])
    assert unique[0][-1]
    assert far[0].max() < 0.1
    assert not unique[1].any()


@pytest.mark.slow
def test_odometry_that_slips_once_is_caught_up(atlas):
    slip = (20, Pose(0.6, 0.3, 0.4))
    beliefs = drive(Tracker(atlas), atlas.world, CORRIDOR, slip=slip)
    far, turn = errors(beliefs, CORRIDOR)
    assert far[22:].max() < 0.15
    assert turn[22:].max() < 0.05


@pytest.mark.slow
def test_twin_rooms_stay_ambiguous_however_one_drives():
    atlas = build(twin_rooms())
    poses = way([(2.0, 4.0), (3.0, 3.8), (3.0, 1.5), (2.2, 2.6)])
    for belief in drive(Tracker(atlas), atlas.world, poses):
        assert belief.verdict is Verdict.AMBIGUOUS
        assert len(belief.estimates) >= 2
        assert belief.estimates[1].probability > 0.05


@pytest.mark.slow
def test_a_scan_from_elsewhere_is_never_unique(atlas):
    cells = np.full((120, 120), Cell.OCCUPIED, dtype=np.uint8)
    y, x = np.mgrid[:120, :120]
    cells[(x - 60) ** 2 + (y - 60) ** 2 < 50**2] = Cell.FREE
    other = OccupancyMap(cells, 0.05)
    poses = way([(2.0, 3.0), (4.0, 3.0), (3.0, 4.5)])
    verdicts = [b.verdict for b in drive(Tracker(atlas), other, poses)]
    assert Verdict.UNIQUE not in verdicts


def test_odometry_must_be_finite(atlas):
    tracker, scan = Tracker(atlas), Scan([0.0, 0.1], [1.0, 1.0])
    with pytest.raises(InputError, match=r"^`odometry` must be finite, got Pose\(x=nan, y=0"):
        tracker.update(Pose(float("nan")), scan)


@pytest.mark.slow
def test_absurd_ranges_do_not_disturb_a_drive(atlas):
    """Every fourth range of every scan is one of them."""
    random, tracker = np.random.default_rng(2), Tracker(atlas)
    for pose in CORRIDOR[:6]:
        seen = LIDAR.scan(atlas.world, pose, random)
        ranges = np.where(seen.valid, seen.ranges, np.inf)
        ranges[::4] = np.resize(ABSURD, len(ranges[::4]))
        scan = Scan(seen.bearings, ranges)
        belief = tracker.update(pose, scan)
        json.dumps(tracker.state(), allow_nan=False)
    assert belief.verdict is Verdict.UNIQUE
    far, _ = errors([belief], [pose])
    assert far[0] < 0.1
    proposal = propose(tracker, Ground.from_atlas(atlas), scan)
    assert np.isfinite([proposal.direction, proposal.gain]).all()


@pytest.mark.parametrize("far", [2e7, 1e18, 1e308])
def test_odometry_off_the_earth_is_refused(atlas, far):
    tracker = Tracker(atlas)
    with pytest.raises(InputError) as caught:
        tracker.move(Pose(0.0, -far))
    assert str(caught.value) == (
        f"`odometry` must lie within 1e+07 m of its origin, got {Pose(0.0, -far)}. "
        "Is it in m, and is it sound?"
    )


def test_odometry_that_jumps_across_the_earth_is_borne(atlas):
    random, tracker = np.random.default_rng(3), Tracker(atlas)
    for place in (Pose(-1e7, 1e7), Pose(1e7, -1e7), Pose(1e7, -1e7)):
        belief = tracker.update(place, LIDAR.scan(atlas.world, CORRIDOR[0], random))
        for estimate in belief.estimates:
            assert np.isfinite(estimate.pose.vector).all()
            assert (np.linalg.eigvalsh(estimate.covariance) > 0.0).all()


def test_drift_must_be_positive():
    with pytest.raises(InputError, match=r"^`heading` must be a positive number, got -1.0\.$"):
        Drift(heading=-1.0)


def test_drift_grows_with_the_way_and_with_turning():
    drift = Drift(along=0.1, heading=0.2, turning=0.3, still=1e-6)
    once, twice = (drift.covariance(Pose(s, 0.0, 0.0)) for s in (1.0, 2.0))
    np.testing.assert_allclose(np.diag(once), [0.01, 0.01, 0.04], rtol=1e-6)
    np.testing.assert_allclose(twice, 2.0 * once, rtol=1e-6)
    assert drift.covariance(Pose(yaw=-2.0))[2, 2] == pytest.approx(0.18, rel=1e-6)


@pytest.mark.slow
def test_simulated_odometry_spreads_as_the_drift_says():
    random, motion = np.random.default_rng(0), Pose(1.0, 0.2, 0.3)
    drift = Drift()
    errors = [(motion.inverse @ drift.simulate(motion, random)).vector for _ in range(4000)]
    np.testing.assert_allclose(np.cov(np.array(errors).T), drift.covariance(motion), atol=4e-4)


@pytest.mark.parametrize("turn", [0.0, 0.6])
def test_twice_the_rate_gives_the_same_spread_over_the_same_way(atlas, turn):
    """Six metres and twelve seconds in 12 and in 24 parts, straight on and along an arc."""
    start, found = Pose(2.3, 2.4, 0.7), []
    for parts in (12, 24):
        tracker = Tracker(atlas, prior=Region.around(start, 0.5, 0.2), drift=Drift(still=0.02))
        random = np.random.default_rng(1)
        odometry = Pose()
        tracker.update(odometry, LIDAR.scan(atlas.world, start, random), time=50.0)
        for k in range(parts):
            bow, chord = turn / parts, 6.0 / parts * np.sinc(turn / parts / (2.0 * np.pi))
            odometry = odometry @ Pose(chord * np.cos(bow / 2), chord * np.sin(bow / 2), bow)
            belief = tracker.move(odometry, time=50.0 + 12.0 * (k + 1) / parts)
        found.append(belief.best.covariance)
    # Along an arc the chords of longer steps are a little shorter.
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9 if turn == 0.0 else 2e-3, atol=1e-9)


def test_errors_of_the_heading_come_up_all_along_the_way():
    """Of x, y and yaw after s m straight on: h² s³/3 across, h² s²/2 with the heading, h² s."""
    drift = Drift(along=1e-9, heading=0.1, turning=1e-9, still=1e-9)
    _, spread = drift.carry(np.zeros((1, 3)), np.zeros((1, 3, 3)), Pose(3.0))
    expected = 0.01 * np.array([[0.0, 0.0, 0.0], [0.0, 9.0, 4.5], [0.0, 4.5, 3.0]])
    np.testing.assert_allclose(spread[0], expected, atol=1e-12)


def test_a_robot_that_stands_becomes_unsure_with_time_not_with_updates(atlas):
    drift = Drift(still=0.01)
    once = drift.covariance(Pose(), 4.0)
    np.testing.assert_allclose(once, sum(drift.covariance(Pose(), 1.0) for _ in range(4)))
    assert once[0, 0] == pytest.approx(4e-4)
    tracker = Tracker(atlas)
    tracker.move(Pose(), time=3.0)
    with pytest.raises(InputError) as caught:
        tracker.move(Pose(), time=1.0)
    assert str(caught.value) == (
        "`time` must not run backwards, got 1 s after 3 s. Take a new tracker for a new drive."
    )
    with pytest.raises(InputError, match=r"^`time` must be finite, in s, got nan\.$"):
        tracker.move(Pose(), time=np.nan)


def test_places_move_as_poses_do_and_their_spread_by_differences():
    random = np.random.default_rng(5)
    poses = random.normal(0.0, 2.0, (6, 3))
    motion = Pose(0.4, -0.2, 0.7)
    drift = Drift(1e-9, 1e-9, 1e-9, 1e-9)
    root = random.normal(0.0, 0.1, (6, 3, 3))
    moved, spreads = drift.carry(poses, root @ root.transpose(0, 2, 1), motion)
    for k in range(6):
        after = (Pose.from_vector(poses[k]) @ motion).vector
        np.testing.assert_allclose(moved[k], [*after[:2], wrap_angle(after[2])], atol=1e-12)
        h = 1e-6
        steps = [
            (Pose.from_vector(poses[k] + h * e) @ motion).vector
            - (Pose.from_vector(poses[k] - h * e) @ motion).vector
            for e in np.eye(3)
        ]
        A = np.stack([[*d[:2], wrap_angle(d[2])] for d in steps], axis=1) / (2.0 * h)
        np.testing.assert_allclose(spreads[k], A @ root[k] @ root[k].T @ A.T, atol=1e-7)


def test_a_place_found_late_is_compared_on_the_whole_way(atlas):
    random = np.random.default_rng(2)
    poses = CORRIDOR[:8]
    usual = TrackingSettings(), LocalizationSettings()
    early, late = Bank(atlas, Drift(), *usual), Bank(atlas, Drift(), *usual)
    tight = np.diag([0.01, 0.01, 0.001])[None]
    early.poses, early.spreads = poses[0].vector[None], tight
    for k, pose in enumerate(poses):
        scan = LIDAR.scan(atlas.world, pose, random)
        motion = Pose() if k == 0 else poses[k - 1].inverse @ pose
        early.carry(motion)
        late.carry(motion)
        beams = atlas.beams(scan, (120, 0.0), (np.radians(10.0), 1.0))
        early.look(Frame(beams, pose, 1.0), 1.0)
        late.look(Frame(beams, pose, 1.0), 1.0)
    assert len(late) == 0
    late.add(poses[-1].vector[None] + 0.03, tight)
    assert late.evidence()[0] == pytest.approx(early.evidence()[0], rel=0.02)
    assert len(late.frames) == len(poses)
    late.add(late.poses, late.spreads)
    assert len(late) == 1


def test_margins_are_those_of_their_definition(atlas):
    random = np.random.default_rng(4)
    usual = TrackingSettings(), LocalizationSettings()
    bank = Bank(atlas, Drift(), *usual, np.zeros((3, 3)), np.stack([np.eye(3)] * 3))
    for weight, few in ((1.0, 9), (0.3, 14)):
        scan = LIDAR.scan(atlas.world, CORRIDOR[0], random)
        beams = atlas.beams(scan, (few, 0.0), (0.2, 1.0))
        assert 2 < len(beams.columns) < beams.blocks
        values = random.normal(2.0, 1.0, (3, beams.blocks))
        frame = Frame(beams, Pose(), weight, values, values.mean(axis=1),
                      np.array([0.1, 0.2, 0.3]), np.ones(3))  # fmt: skip
        bank.frames.append(frame)
    t, d = bank.margins()
    a, b = bank.frames
    for j in (1, 2):
        first, second = (
            np.array([c.mean() for c in np.split(f.blocks[0] - f.blocks[j], f.beams.columns[1:])])
            for f in (a, b)
        )
        total = first.sum() + 0.3 * second.sum()
        square = (first**2).sum() + 0.3 * (second**2).sum()
        assert t[j - 1] == pytest.approx(total / np.sqrt(square + 0.05))
        first, second = (f.blocks[0] - f.blocks[j] for f in (a, b))
        assert d[j - 1] == pytest.approx((first.mean() + 0.3 * second.mean()) / np.sqrt(1.3))
        E = a.blocks[j].sum() - a.slips[j] + 0.3 * (b.blocks[j].sum() - b.slips[j])
        assert bank.evidence()[j] == pytest.approx(E)


@pytest.mark.slow
def test_what_the_way_has_told_grows_and_the_start_can_be_refined(atlas):
    tracker = Tracker(atlas)
    poses = CORRIDOR[8:20]
    beliefs = drive(tracker, atlas.world, poses, noise=0.005)
    assert 0.0 < beliefs[0].least < beliefs[-1].least
    assert tracker.refine_start(accuracy=1e-4) is None
    guess, fit = tracker.refine_start()
    true = next(p for p in poses if np.hypot(p.x - guess.x, p.y - guess.y) < 0.12)
    assert np.hypot(fit.pose.x - true.x, fit.pose.y - true.y) < 0.05
    assert abs(float(wrap_angle(fit.pose.yaw - true.yaw))) < 0.02


@pytest.mark.slow
def test_a_corridor_tells_nothing_along_its_axis():
    cells = np.full((60, 600), Cell.OCCUPIED, dtype=np.uint8)
    cells[15:45] = Cell.FREE
    atlas = build(OccupancyMap(cells, 0.05))
    lidar = Lidar(field_of_view=np.pi, beams=180, range_max=4.0, noise=0.01)
    random, tracker = np.random.default_rng(0), Tracker(atlas)
    for k in range(6):
        pose = Pose(14.0 + 0.3 * k, 1.5, 0.0)
        belief = tracker.update(pose, lidar.scan(atlas.world, pose, random))
        assert belief.verdict is not Verdict.UNIQUE
    assert belief.least < 1.0


@pytest.mark.slow
def test_turning_on_the_spot_is_no_new_view_for_a_sensor_that_sees_all_around(atlas):
    lidar = Lidar(beams=360, range_max=12.0, noise=0.02)
    random, tracker = np.random.default_rng(1), Tracker(atlas)
    for k in range(6):
        pose = Pose(3.0, 4.7, 1.0 * k)
        tracker.update(pose, lidar.scan(atlas.world, pose, random))
    assert sum(frame.weight for frame in tracker.bank.frames) < 1.2
    narrow, tracker = Lidar(np.pi, 180, 12.0, 0.02), Tracker(atlas)
    for k in range(6):
        pose = Pose(3.0, 4.7, 1.0 * k)
        tracker.update(pose, narrow.scan(atlas.world, pose, random))
    assert sum(frame.weight for frame in tracker.bank.frames) > 3.0


@pytest.mark.slow
def test_scans_that_see_next_to_nothing_are_carried_over_by_odometry(atlas):
    poses = CORRIDOR[:14]
    bearings = np.radians(np.arange(0.0, 270.0, 2.0))
    few = Scan(bearings, np.where(np.arange(135) < 5, 2.0, np.inf))
    tracker = Tracker(atlas)
    belief = tracker.update(Pose(), few)
    assert belief.verdict is Verdict.LOST
    assert belief.advice == "The scan sees next to nothing of what is around. Drive on."
    tracker = Tracker(atlas)
    random = np.random.default_rng(0)
    for pose in poses[:10]:
        belief = tracker.update(pose, LIDAR.scan(atlas.world, pose, random))
    before = belief.best
    for pose in poses[10:]:
        belief = tracker.update(pose, few)
    assert np.hypot(belief.best.pose.x - poses[-1].x, belief.best.pose.y - poses[-1].y) < 0.1
    assert np.trace(belief.best.covariance) > np.trace(before.covariance)


def scans_along(world, poses, seed=1):
    random = np.random.default_rng(seed)
    return [LIDAR.scan(world, pose, random) for pose in poses]


@pytest.mark.slow
def test_a_prior_of_the_robot_settles_twin_rooms_at_once():
    world = twin_rooms()
    atlas = build(world)
    poses = way([(2.0, 4.0), (3.0, 3.8)])
    other = Pose(5.2, 0.0)
    for start in (poses[0], other @ poses[0]):
        tracker = Tracker(atlas, prior=Region.around(start, 1.0))
        for pose, scan in zip(poses, scans_along(world, poses), strict=True):
            belief = tracker.update(pose, scan)
            assert belief.verdict is Verdict.UNIQUE
            moved = start @ poses[0].inverse @ pose
            assert np.hypot(belief.best.pose.x - moved.x, belief.best.pose.y - moved.y) < 0.1


def test_a_prior_counts_the_mount_of_the_sensor():
    atlas = build(twin_rooms())
    poses, mount = way([(2.0, 4.0), (3.0, 3.8)]), Pose(0.2, 0.1, np.pi)
    tracker = Tracker(atlas, prior=Region.around(poses[0], 0.8, 0.5))
    beliefs = drive(tracker, atlas.world, poses, mount=mount, noise=0.0)
    far, _ = errors(beliefs, poses)
    assert far.max() < 0.1


@pytest.mark.parametrize("mount", [Pose(), Pose(0.2, 0.1, np.pi)])
def test_a_prior_is_of_the_start_also_when_nothing_is_seen_there(mount):
    """The robot leaves its dock blind; a metre on, the prior still says where it began."""
    world = twin_rooms()
    poses = way([(2.0, 4.0), (3.2, 3.7)])
    bearings = np.radians(np.arange(0.0, 270.0, 2.0))
    ranges = np.where(np.arange(135) < 5, 2.0, np.inf)
    blind = Scan(bearings, ranges, T_robot_sensor=mount)
    tracker = Tracker(build(world), prior=Region.around(poses[0], 0.5, 0.5))
    assert tracker.update(poses[0], blind).verdict is Verdict.LOST
    seen = LIDAR.scan(world, poses[-1] @ mount, np.random.default_rng(0))
    kept = np.where(seen.valid, seen.ranges, np.inf)
    scan = Scan(seen.bearings, kept, range_max=12.0, T_robot_sensor=mount)
    belief = tracker.update(poses[-1], scan)
    assert belief.verdict is Verdict.UNIQUE
    assert np.hypot(belief.best.pose.x - poses[-1].x, belief.best.pose.y - poses[-1].y) < 0.1


@pytest.mark.slow
def test_a_reset_tracker_is_a_new_one_that_has_driven(atlas):
    poses = CORRIDOR[:6]
    scans = scans_along(atlas.world, poses)
    used, fresh = Tracker(atlas), Tracker(atlas)
    for pose, scan in zip(poses, scans, strict=True):
        used.update(pose, scan)
    driven = used.travelled
    assert driven > 0.0
    used.reset(Region.around(poses[-1], 1.0))
    assert len(used.bank) == 0
    assert used.travelled == driven
    used.reset()
    a, b = used.update(poses[-1], scans[-1]), fresh.update(poses[-1], scans[-1])
    assert a.best.pose == b.best.pose
    assert a.verdict is b.verdict


@pytest.mark.slow
def test_odometry_alone_moves_the_belief_and_widens_it(atlas):
    poses = CORRIDOR[:14]
    tracker = Tracker(atlas)
    assert tracker.move(poses[0]).verdict is Verdict.LOST
    for pose, scan in zip(poses[:12], scans_along(atlas.world, poses[:12]), strict=True):
        belief = tracker.update(pose, scan)
    moved = tracker.move(poses[13])
    step = poses[11].inverse @ poses[13]
    expected = belief.best.pose @ step
    np.testing.assert_allclose(moved.best.pose.vector, expected.vector, atol=1e-9)
    assert np.trace(moved.best.covariance) > np.trace(belief.best.covariance)
    assert moved.travelled == pytest.approx(belief.travelled + np.hypot(step.x, step.y))
    assert moved.verdict is Verdict.UNIQUE
    far = tracker.move(poses[13] @ Pose(60.0))
    assert far.verdict is Verdict.AMBIGUOUS
    assert "can slide" in far.advice


@pytest.mark.slow
@pytest.mark.parametrize("prior", [None, Region.around(CORRIDOR[0], 1.5)])
def test_a_tracker_goes_on_from_its_state_bit_for_bit(atlas, prior):
    poses = CORRIDOR[:10]
    scans = scans_along(atlas.world, poses)
    tracker = Tracker(atlas, prior=prior, drift=Drift(along=0.06))
    for pose, scan in zip(poses[:4], scans[:4], strict=True):
        tracker.update(pose, scan)
    again = Tracker.from_state(atlas, json.loads(json.dumps(tracker.state())))
    for pose, scan in zip(poses[4:], scans[4:], strict=True):
        a, b = tracker.update(pose, scan), again.update(pose, scan)
        assert a.verdict is b.verdict
        assert [e.pose for e in a.estimates] == [e.pose for e in b.estimates]
        assert a.least == b.least
    assert again.drift == Drift(along=0.06)


def test_a_state_of_something_else_is_refused(atlas):
    state = Tracker(atlas).state()
    with pytest.raises(InputError, match=r"^The state is of a tracker on another map\.$"):
        Tracker.from_state(build(twin_rooms()), state)
    with pytest.raises(InputError, match=r"^This is the state of another version, 9; 5 is read"):
        Tracker.from_state(atlas, {**state, "version": 9})
    damaged = r"^The state is damaged: its checksum differs\. Begin with a new tracker\.$"
    for change in ({"poses": [[0.0, 0.0, 1e308]]}, {"flags": None}, {"frames": [1]}):
        with pytest.raises(InputError, match=damaged):
            Tracker.from_state(atlas, {**state, **change})
    del state["crc32"]
    with pytest.raises(
        InputError, match=r"^This is not the state of a tracker: 'crc32' is missing\.$"
    ):
        Tracker.from_state(atlas, state)
    with pytest.raises(InputError, match=r"^This is not the state of a tracker: list ind"):
        Tracker.from_state(atlas, [1])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda atlas: Tracker(atlas.world),
            "A tracker needs an atlas, got OccupancyMap. Build one of the map: "
            "Tracker(build(world)).",
        ),
        (
            lambda _: Tracker(SPACE.world),
            "A tracker needs an atlas, got VoxelMap. Build one of the map: Tracker(build(world)).",
        ),
        (
            lambda atlas: Tracker(atlas, prior=Pose()),
            "`prior` must be a Region, e.g. Region.around(pose, 2.0), got Pose.",
        ),
        (
            lambda atlas: Tracker(atlas).update([0.0, 0.0, 0.0], PLANE.look(PLANE.places[0])),
            "`odometry` must be a pose, Pose(x, y, yaw), got list.",
        ),
        (
            lambda atlas: Tracker(atlas).update([0.0, 0.0, 0.0], None),
            "A tracker follows robots by scans, got NoneType.",
        ),
        (
            lambda atlas: Tracker(atlas).move([0.0, 0.0, 0.0]),
            "`odometry` must be a pose, Pose(x, y, yaw), got list.",
        ),
    ],
)
def test_misuse_is_said_in_words(atlas, make, text):
    with pytest.raises(InputError) as error:
        make(atlas)
    assert str(error.value) == text


@pytest.mark.slow
def test_the_last_frames_asked_as_one_scan_refute_what_the_way_leaves(atlas, monkeypatch):
    """Whatever the rule for the whole way says, a place that three frames alone have is settled."""
    never = TrackingSettings(agreement=(99.0, 99.0), clear=(99.0, 99.0), hopeless=99.0)
    beliefs = drive(Tracker(atlas, settings=never), atlas.world, CORRIDOR)
    settled = next(belief for belief in beliefs if belief.verdict is Verdict.UNIQUE)
    assert settled.advice == "One place explains the last scans, and the way so far best."
    assert [e.probability for e in settled.estimates] == [1.0]
    assert settled.travelled >= 2 * never.keep[0]
    monkeypatch.setattr("isovist.tracking.window.FRAMES", 99)
    beliefs = drive(Tracker(atlas, settings=never), atlas.world, CORRIDOR)
    assert all(belief.verdict is not Verdict.UNIQUE for belief in beliefs)


@pytest.mark.slow
def test_margins_of_the_last_frames_are_those_of_a_bank_without_the_others(atlas, monkeypatch):
    monkeypatch.setattr("isovist.tracking.window.FRAMES", 99)  # nothing is settled early
    tracker = Tracker(atlas, settings=TrackingSettings(clear=(99.0, 99.0), agreement=(99.0, 99.0)))
    drive(tracker, atlas.world, CORRIDOR[:8])
    bank = tracker.bank
    assert len(bank.frames) > 2
    whole, last = bank.margins(), bank.margins(2)
    del bank.frames[:-2]
    for a, b in zip(bank.margins(), last, strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(whole[0], last[0])
