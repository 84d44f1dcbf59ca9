"""What a tracker makes of drives in the plane that are hard in one way each."""

import json

import numpy as np
import pytest
from tests.support.drives import drive, errors, unique, way
from tests.support.reference_locate import UNIT, twin_rooms
from tests.support.sites import ABSURD, PLANE, gap

import isovist as iv

LIDAR = iv.Lidar(field_of_view=1.5 * np.pi, beams=270, range_max=12.0, noise=0.02)
CORRIDOR = way("plane")
MOUNT = iv.Pose(0.2, 0.1, np.pi)
OTHER = iv.Pose(5.2, 0.0)
"""From a place in the first of the twin rooms to its like in the second."""


@pytest.fixture(scope="module")
def twins():
    return iv.build(twin_rooms())


def follow(tracker, poses, world=None, lidar=LIDAR, seed=1):
    """Beliefs by odometry that is exact, of a sensor that does not see all around."""
    random, world = np.random.default_rng(seed), PLANE.world if world is None else world
    return [tracker.update(pose, lidar.scan(world, pose, random)) for pose in poses]


def carried_next_door(cupboard, before, after):
    """Which beliefs are unique and how far they are off, before and after a robot is carried.

    From one of two rooms that are alike, but for a cupboard in the second, to that one; odometry
    says that the robot went straight on.
    """
    cells, (low, high, left, right) = np.array(twin_rooms().cells), cupboard
    cells[low:high, 106 + left : 106 + right] = 1
    atlas = iv.build(iv.OccupancyMap(cells, UNIT))
    first, second = way("plane", before), [OTHER @ pose for pose in way("plane", after)]
    astray = first[-1] @ iv.Pose(0.3) @ second[0].inverse
    told, tracker = [*first, *(astray @ pose for pose in second)], iv.Tracker(atlas)
    random = np.random.default_rng(1)
    beliefs = [
        tracker.update(odometry, LIDAR.scan(atlas.world, pose, random))
        for odometry, pose in zip(told, [*first, *second], strict=True)
    ]
    far, _ = errors(beliefs, [*first, *second])
    return np.split(unique(beliefs), [len(first)]), np.split(far, [len(first)])


@pytest.mark.parametrize("cupboard", [(2, 40, 48, 60), (2, 30, 70, 94), (40, 98, 2, 12)])
def test_a_robot_carried_to_a_room_that_is_nearly_the_same_is_noticed(cupboard):
    """The room that was believed explains what is seen, but for the cupboard of the other one."""
    before = [(1.0, 4.0), (3.2, 4.0), (3.2, 3.0)]
    after = [(3.2, 2.7), (3.2, 2.2), (2.4, 2.2), (2.4, 3.4)]
    settled, far = carried_next_door(cupboard, before, after)
    assert settled[0][-1]
    assert not (settled[1] & (far[1] > 0.1)).any()
    assert settled[1][-1]


@pytest.mark.parametrize("start", [(3.6, 1.6), (3.8, 2.0), (4.4, 2.4)])
def test_a_slip_and_a_room_next_door_that_looks_the_same_are_not_told_apart(start):
    """The cupboard was seen before the jump, and is hidden after it: it may be either room."""
    before = [(1.0, 4.0), (3.0, 4.3), (3.0, 2.5), (4.3, 1.2)]
    settled, far = carried_next_door((80, 98, 80, 96), before, [start, (4.4, 1.0), (4.4, 1.8)])
    assert settled[0][-1]
    assert far[0].max() < 0.1
    assert not settled[1].any()


@pytest.mark.slow
def test_absurd_ranges_do_not_disturb_a_drive():
    """Every fourth range of every scan is one of them."""
    random, tracker = np.random.default_rng(2), iv.Tracker(PLANE.atlas)
    for pose in CORRIDOR[:6]:
        seen = LIDAR.scan(PLANE.world, pose, random)
        ranges = np.where(seen.valid, seen.ranges, np.inf)
        ranges[::4] = np.resize(ABSURD, len(ranges[::4]))
        belief = tracker.update(pose, iv.Scan(seen.bearings, ranges))
        json.dumps(tracker.state(), allow_nan=False)
    assert belief.verdict is iv.Verdict.UNIQUE
    assert gap(belief.best.pose, pose)[0] < 0.1


@pytest.mark.parametrize("turn", [0.0, 0.6])
def test_twice_the_rate_gives_the_same_spread_over_the_same_way(turn):
    """Six metres and twelve seconds in 12 and in 24 parts, straight on and along an arc."""
    start, found = iv.Pose(2.3, 2.4, 0.7), []
    for parts in (12, 24):
        prior = iv.Region.around(start, 0.5, 0.2)
        tracker = iv.Tracker(PLANE.atlas, region=prior, drift=iv.Drift(still=0.02))
        odometry = iv.Pose()
        tracker.update(odometry, PLANE.look(start), time=50.0)
        for k in range(parts):
            bow, chord = turn / parts, 6.0 / parts * np.sinc(turn / parts / (2.0 * np.pi))
            odometry = odometry @ iv.Pose(chord * np.cos(bow / 2), chord * np.sin(bow / 2), bow)
            belief = tracker.move(odometry, time=50.0 + 12.0 * (k + 1) / parts)
        found.append(belief.best.covariance)
    # Along an arc the chords of longer steps are a little shorter.
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9 if turn == 0.0 else 2e-3, atol=1e-9)


@pytest.mark.slow
def test_the_start_can_be_refined_once_the_way_has_told_enough():
    tracker, poses = iv.Tracker(PLANE.atlas), CORRIDOR[8:20]
    drive(tracker, "plane", poses, noise=0.005)
    assert tracker.refine_start(accuracy=1e-4) is None
    guess, fit = tracker.refine_start()
    truth = next(pose for pose in poses if gap(pose, guess)[0] < 0.12)
    away, turn = gap(fit.pose, truth)
    assert away < 0.05
    assert turn < 0.02


@pytest.mark.slow
def test_a_corridor_tells_nothing_along_its_axis():
    cells = np.ones((60, 600), dtype=np.uint8)
    cells[15:45] = 0
    atlas = iv.build(iv.OccupancyMap(cells, 0.05))
    lidar = iv.Lidar(field_of_view=np.pi, beams=180, range_max=4.0, noise=0.01)
    poses = [iv.Pose(14.0 + 0.3 * k, 1.5, 0.0) for k in range(6)]
    for belief in follow(iv.Tracker(atlas), poses, atlas.world, lidar):
        assert belief.verdict is iv.Verdict.AMBIGUOUS
    assert 0.0 <= belief.least < 1.0


@pytest.mark.slow
def test_turning_on_the_spot_is_no_new_view_for_a_sensor_that_sees_all_around():
    weights = []
    for view in (2.0 * np.pi, np.pi):
        tracker = iv.Tracker(PLANE.atlas)
        lidar = iv.Lidar(view, 360 if view > 4.0 else 180, 12.0, 0.02)
        follow(tracker, [iv.Pose(3.0, 4.7, 1.0 * k) for k in range(6)], lidar=lidar)
        weights.append(sum(frame["weight"] for frame in tracker.state()["frames"]))
    assert 1.0 <= weights[0] < 1.2
    assert weights[1] > 3.0


@pytest.mark.slow
@pytest.mark.parametrize("aside", [iv.Pose(), OTHER])
def test_a_prior_of_the_robot_settles_twin_rooms_at_once(twins, aside):
    poses = way("plane", [(2.0, 4.0), (3.0, 3.8)])
    prior = iv.Region.around(aside @ poses[0], 0.8, 0.5)
    beliefs = drive(iv.Tracker(twins, region=prior), "plane", poses, world=twins.world, mount=MOUNT)
    assert unique(beliefs).all()
    far, _ = errors(beliefs, [aside @ pose for pose in poses])
    assert far.max() < 0.1


@pytest.mark.parametrize("mount", [iv.Pose(), MOUNT])
def test_a_prior_is_of_the_start_also_when_nothing_is_seen_there(twins, mount):
    """The robot leaves its dock blind; a metre on, the prior still says where it began."""
    poses = way("plane", [(2.0, 4.0), (3.2, 3.7)])
    bearings = np.radians(np.arange(0.0, 270.0, 2.0))
    blind = iv.Scan(bearings, np.where(np.arange(135) < 5, 2.0, np.inf), T_robot_sensor=mount)
    tracker = iv.Tracker(twins, region=iv.Region.around(poses[0], 0.5, 0.5))
    assert tracker.update(poses[0], blind).reasons == (iv.Reason.SCAN_BLIND,)
    scan = PLANE.look(poses[-1], world=twins.world, mount=mount)
    belief = tracker.update(poses[-1], scan)
    assert belief.verdict is iv.Verdict.UNIQUE
    assert gap(belief.best.pose, poses[-1])[0] < 0.1


@pytest.mark.slow
def test_the_last_frames_asked_as_one_scan_refute_what_the_way_leaves():
    """Whatever the rule for the whole way says, a place that three frames alone have is settled."""
    never = iv.TrackingSettings().with_values({
        "competitors.min_agreement": 99.0, "competitors.immediate_agreement": 99.0,
        "competitors.clear_agreement": 99.0, "search.max_score_gap_nats": 99.0,
    })  # fmt: skip
    beliefs = follow(iv.Tracker(PLANE.atlas, settings=never), CORRIDOR)
    first = next(belief for belief in beliefs if belief.verdict is iv.Verdict.UNIQUE)
    assert first.reasons == (iv.Reason.RECENT_SCANS_DECIDE,)
    assert [estimate.probability for estimate in first.estimates] == [1.0]
    assert first.travelled >= 2 * never.keyframes.min_distance_m
    # Where they may settle nothing, nothing does.
    strict = iv.LocalizationSettings().with_values({"refutation.min_agreement": 99.0})
    tracker = iv.Tracker(PLANE.atlas, settings=never, localization=strict)
    assert not unique(follow(tracker, CORRIDOR[:12])).any()
