"""The same drives of a tracker in the plane and in space."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from benchmarks.fuzz.mutations import damage_tree
from tests.support.drives import AWAY, drive, errors, way
from tests.support.sites import SITES, SPACE, gap

import isovist as iv
from isovist import Drift, InputError, LocalizationSettings, Pose, Pose3, Tracker, Verdict
from isovist.localization.spread import by_coordinate
from isovist.poses import part_of, swing, way_of
from isovist.tracking.motion import UNAIDED
from isovist.tracking.state import checksum

NAMES = list(SITES)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mounted", [False, True])
def test_an_unknown_start_becomes_unique_and_is_followed(name, mounted):
    site = SITES[name]
    poses = way(name, tilt=0.03)
    look = {"mount": site.mount} if mounted else {}
    tracker = Tracker(site.atlas)
    beliefs = drive(tracker, name, poses, **look)
    first = next(k for k, b in enumerate(beliefs) if b.verdict is Verdict.UNIQUE)
    assert beliefs[first].travelled < 5.0
    assert all(b.verdict is Verdict.UNIQUE for b in beliefs[first:])
    far, turned = errors(beliefs[first:], poses[first:])
    assert far.max() < 0.15
    assert turned.max() < 0.05
    least = [belief.least for belief in beliefs]
    assert least[-1] > 2.0 * least[0] > 0.0
    n = 3 if name == "plane" else 4
    assert beliefs[-1].best.covariance.shape == (n, n)
    sigma = np.sqrt(np.diag(beliefs[-1].best.covariance))
    assert (sigma > by_coordinate(*LocalizationSettings().floor, n)).all()
    assert (sigma < 0.2).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("aided", [True, False])
def test_a_kidnapping_is_noticed_within_five_updates_and_the_robot_found(name, aided):
    poses = way(name, step=0.2)[:14] + way(name, AWAY[name], step=0.1)
    beliefs = drive(Tracker(SITES[name].atlas), name, poses, jump=14, aided=aided)
    assert beliefs[13].verdict is Verdict.UNIQUE
    far, _ = errors(beliefs[14:], poses[14:])
    wrong = [
        b.verdict is Verdict.UNIQUE and e > 0.5 for b, e in zip(beliefs[14:], far, strict=True)
    ]
    assert not any(wrong[5:])
    found = [
        b.verdict is Verdict.UNIQUE and e < 0.15 for b, e in zip(beliefs[14:], far, strict=True)
    ]
    assert found[-1]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_without_odometry_the_scans_say_how_the_robot_moves(name):
    poses = way(name, step=0.12)
    tracker = Tracker(SITES[name].atlas)
    beliefs = drive(tracker, name, poses, aided=False, pause=0.1)
    assert tracker.drift == UNAIDED
    first = next(k for k, b in enumerate(beliefs) if b.verdict is Verdict.UNIQUE)
    far, turned = errors(beliefs[first:], poses[first:])
    assert far.max() < 0.2
    assert turned.max() < 0.06
    length = sum(way_of(a.inverse @ b)[0] for a, b in pairwise(poses))
    assert abs(beliefs[-1].travelled - length) < 0.15 * length
    own = Tracker(SITES[name].atlas, drift=Drift(still=0.2))
    own.update(None, SITES[name].look(poses[0]))
    assert own.drift == Drift(still=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("aided", [True, False])
def test_a_state_goes_on_bit_for_bit(name, aided):
    atlas, poses = SITES[name].atlas, way(name)
    tracker = Tracker(atlas)
    drive(tracker, name, poses[:5], aided=aided)
    again = Tracker.from_state(atlas, json.loads(json.dumps(tracker.state())))
    odometry = poses[6] if aided else None
    for one, look in zip((tracker, again), (SITES[name].look(poses[6]),) * 2, strict=True):
        one.told = [one.update(odometry, look, time=9.0 + k) for k in range(2)]
    for a, b in zip(tracker.told, again.told, strict=True):
        assert (a.verdict, a.advice, a.least) == (b.verdict, b.advice, b.least)
        for one, two in zip(a.estimates, b.estimates, strict=True):
            assert one.pose == two.pose
            np.testing.assert_array_equal(one.covariance, two.covariance)


@pytest.mark.parametrize("name", NAMES)
def test_a_dock_is_kept_to_and_odometry_alone_carries_on(name):
    site, poses = SITES[name], way(name)[:4]
    dock = iv.Region.around(poses[0], 0.5, 0.5)
    tracker = Tracker(site.atlas, prior=dock)
    beliefs = drive(tracker, name, poses)
    assert all(dock.holds(beliefs[0].best.pose.vector[None]))
    last = beliefs[-1].best
    start = tracker._odometry
    step = Pose(0.2) if name == "plane" else Pose3(0.2)
    moved = tracker.move(start @ step).best
    away, turned = gap(moved.pose, last.pose @ step)
    assert away < 1e-9
    assert turned < 1e-9
    assert np.trace(moved.covariance) > np.trace(last.covariance)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_robot_that_stands_does_not_become_surer_than_its_map(name):
    tracker, pose = Tracker(SITES[name].atlas), way(name)[3]
    beliefs = drive(tracker, name, [pose] * 12)
    sigma = [np.sqrt(np.diag(b.best.covariance))[:2].max() for b in beliefs]
    assert sigma[-1] > 0.6 * sigma[0]
    assert gap(beliefs[-1].best.pose, pose)[0] < 0.12


def test_several_maps_in_space_are_told_apart():
    maps = {"house": SPACE.atlas, "room": SPACE.twin_atlas}
    poses = way("space")[:6]
    beliefs = drive(Tracker(maps), "space", poses)
    assert beliefs[-1].verdict is Verdict.UNIQUE
    assert beliefs[-1].map == "house"
    assert gap(beliefs[-1].best.pose, poses[-1])[0] < 0.15


@pytest.mark.slow
def test_the_tilt_is_fitted_where_nothing_knows_it():
    poses = way("space", tilt=0.04)
    tracker = Tracker(SPACE.atlas, tilt=True)
    odometry, beliefs = Pose3(), []
    for k, pose in enumerate(poses):
        if k:  # of wheels, that do not know it either
            step = Pose3.lifted(poses[k - 1].flat).inverse @ Pose3.lifted(pose.flat)
            odometry = odometry @ step
        scan = level(SPACE.look(pose, seed=k))
        beliefs.append(tracker.update(odometry, scan, time=0.1 * k))
    far, turned = errors(beliefs, poses)
    assert far.max() < 0.2
    assert turned.max() < 0.06
    lean = np.array(
        [b.best.pose.vector[4:] - p.vector[4:] for b, p in zip(beliefs, poses, strict=True)]
    )
    told = np.array([p.vector[4:] for p in poses])
    assert np.abs(lean).mean() < 0.7 * np.abs(told).mean()
    assert beliefs[-1].best.covariance.shape == (6, 6)


@pytest.mark.slow
def test_a_lean_that_odometry_knows_is_taken_off_the_scan():
    poses = way("space", tilt=0.06)[:8]
    told = drive(Tracker(SPACE.atlas), "space", poses)
    for beliefs in (told, _aligned(poses, level)):
        far, turned = errors(beliefs, poses)
        assert far.max() < 0.12
        assert turned.max() < 0.03


def _aligned(poses, change):
    """Beliefs by odometry that knows up from down."""
    tracker = Tracker(SPACE.atlas)
    return [
        tracker.update(Pose3(1.0, 2.0) @ pose, change(SPACE.look(pose, seed=k)), time=0.1 * k)
        for k, pose in enumerate(poses)
    ]


def sweep(pose, motion, seed=0, slices=12):
    """What a lidar that turns once in 0.1 s sees while it moves; the stamp is that of its start."""
    seen, times, order = [], [], np.arange(slices)
    for k in order:
        share = (k + 0.5) / slices
        scan = SPACE.look(pose @ part_of(motion, share), seed=seed)
        azimuth = np.arctan2(scan.points[:, 1], scan.points[:, 0]) % (2.0 * np.pi)
        mine = np.floor(azimuth / (2.0 * np.pi) * slices) == k
        seen.append(scan.points[mine])
        times.append(np.full(mine.sum(), 0.1 * share))
    return iv.CloudScan(np.concatenate(seen), times=np.concatenate(times))


@pytest.mark.slow
def test_a_sweep_is_straightened_by_the_motion_of_the_robot():
    motion = Pose3(0.15, 0.0, 0.3)
    poses = [Pose3(4.0, -0.6, 0.1, 1.45)]
    for _ in range(7):
        poses.append(poses[-1] @ motion)
    scans = [sweep(pose, motion, seed=k) for k, pose in enumerate(poses)]
    far = {}
    for kind in ("straightened", "bent"):
        bent = kind == "bent"
        tracker = Tracker(SPACE.atlas)
        beliefs = [
            tracker.update(pose, replace(scan, times=None) if bent else scan, time=0.1 * k)
            for k, (pose, scan) in enumerate(zip(poses, scans, strict=True))
        ]
        far[kind], turned = errors(beliefs, poses)
        if not bent:
            assert turned[1:].max() < 0.02
    assert far["straightened"][1:].max() < 0.1
    assert far["straightened"][1:].mean() < 0.75 * far["bent"][1:].mean()


def level(scan):
    return replace(scan, roll=0.0, pitch=0.0)


def cloud():
    return SPACE.look(SPACE.places[0])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (
            lambda plane, _: Tracker(plane).update(Pose(), cloud()),
            "The scan is a cloud of points, and the atlas is of a map of the plane. Build the "
            "atlas of a map in space, or take a scan of the plane.",
        ),
        (
            lambda _, space: Tracker(space).update(Pose3(), iv.Scan([0.0, 0.1], [1.0, 1.0])),
            "The scan is of the plane, and the atlas is of a map in space. Give points: "
            "Scan.from_points.",
        ),
        (
            lambda _, space: Tracker(space).update([0.0] * 6, cloud()),
            "`odometry` must be a pose, Pose3(x, y, yaw, z, roll, pitch), got list.",
        ),
        (
            lambda _, space: Tracker(space).update(Pose3(pitch=np.pi / 2), cloud()),
            "`roll` and `pitch` must tilt the robot by less than 90°, got 90°. A sensor that lies "
            "on its side says so by `T_robot_sensor`.",
        ),
        (
            lambda _, space: Tracker(space).update(Pose3(1e9), cloud()),
            "`odometry` must lie within 1e+07 m of its origin, got Pose3(x=1e+09, y=0, yaw=0, z=0, "
            "roll=0, pitch=0). Is it in m, and is it sound?",
        ),
        (
            lambda plane, _: Tracker(plane, tilt=True),
            "`tilt` is for maps in space; this atlas is of the plane.",
        ),
        (
            lambda plane, _: Tracker(plane).move(None),
            "A tracker moves by odometry, got None. Update it with a scan.",
        ),
        (
            lambda _, space: Tracker(space).refine_start(),
            "`refine_start` is for maps of the plane; this atlas is in space.",
        ),
    ],
)
def test_misuse_is_said_in_words(make, text):
    with pytest.raises(InputError) as error:
        make(SITES["plane"].atlas, SPACE.atlas)
    assert str(error.value) == text


@pytest.mark.parametrize("name", NAMES)
def test_odometry_is_told_always_or_never(name):
    tracker, pose = Tracker(SITES[name].atlas), way(name)[0]
    tracker.update(None, SITES[name].look(pose))
    with pytest.raises(InputError) as error:
        tracker.update(pose, SITES[name].look(pose))
    assert str(error.value) == "`odometry` must be told at every update or at none, got both."


def test_what_is_fixed_to_a_pose_swings_with_it():
    """Equation (2) of `poses`, against differences."""
    random = np.random.default_rng(3)
    rows = random.normal(size=(5, 6)) * [5.0, 5.0, 1.0, 2.0, 0.4, 0.4]
    motion = Pose3(*(random.normal(size=6) * [1.0, 1.0, 1.0, 0.3, 0.3, 0.3]))

    def moved(values):
        return (Pose3.from_vector(values) @ motion).vector

    steps = 1e-6 * np.eye(6)
    J = np.stack([(moved(rows + e) - moved(rows - e)) / 2e-6 for e in steps], axis=-1)
    before = Pose3.from_vector(rows)
    np.testing.assert_allclose(swing(before, before @ motion, 6), J, atol=1e-7)
    flat, turn = Pose.from_vector(rows[:, :3]), Pose(0.4, -0.2, 0.3)
    level = Pose3.lifted(flat)
    np.testing.assert_allclose(
        swing(flat, flat @ turn, 3), swing(level, level @ turn, 4)[:, :3, :3], atol=1e-12
    )


@pytest.mark.parametrize("motion", [Pose(0.3, -0.1, 0.4), Pose3(0.3, -0.1, 0.4, 0.2, 0.1, -0.2)])
def test_parts_of_a_motion_make_up_its_turn(motion):
    half = part_of(motion, 0.5)
    whole = way_of(motion)[1]
    assert way_of(half)[1] == pytest.approx(0.5 * whole)
    assert way_of(half @ half)[1] == pytest.approx(whole)
    np.testing.assert_allclose(part_of(motion, 1.0).vector, motion.vector, atol=1e-12)
    np.testing.assert_allclose(part_of(motion, 0.0).vector, 0.0, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_state_that_was_forged_goes_on_or_is_refused_in_words(name):
    """Whoever can write a state can write its checksum; what it says is still looked at."""
    tracker = Tracker(SITES[name].atlas)
    poses = way(name)
    drive(tracker, name, poses[:3])
    state = json.loads(json.dumps(tracker.state()))
    scan = SITES[name].look(poses[3])
    odometry = tracker._odometry @ (poses[2].inverse @ poses[3])
    random = np.random.default_rng(7)
    refused = []
    for _ in range(60):
        forged = damage_tree(state, random)
        if not isinstance(forged, dict):
            continue
        forged["crc32"] = checksum(forged)
        try:
            belief = Tracker.from_state(SITES[name].atlas, forged).update(odometry, scan)
        except InputError as error:
            refused.append(str(error))
        else:
            assert np.isfinite(belief.best.pose.vector).all()
    assert 20 < len(refused) < 60
    assert all(text.isprintable() for text in refused)
