"""A tracker follows a robot on one map, in the plane and in space."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.support.drives import AWAY, drive, errors, exact, unique, way
from tests.support.errors import refused
from tests.support.reference_survey import raised
from tests.support.sites import PLANE, SITES, SPACE, gap, round_hall
from tests.support.workers import in_one_thread

from isovist import Drift, LocalizationSettings, Pose, Pose3, Reason, Region, Tracker, Verdict

both = pytest.mark.parametrize("name", SITES)
DECIDED = {(Reason.ONLY_PLACE,), (Reason.RECENT_SCANS_DECIDE,)}
CHI_SQUARED = {3: 7.815, 4: 9.488}
"""That 95 % of errors in so many coordinates stay below."""


def step_of(name, *values):
    """A motion on a site."""
    return (Pose if name == "plane" else Pose3)(*values)


@pytest.mark.slow
@both
@pytest.mark.parametrize("mounted", [False, True])
def test_an_unknown_start_becomes_unique_and_is_followed(name, mounted):
    site, poses = SITES[name], way(name, tilt=0.03)
    look = {"mount": site.mount} if mounted else {}
    beliefs = drive(Tracker(site.atlas), name, poses, **look)
    first = int(np.argmax(unique(beliefs)))
    assert 0.0 <= beliefs[first].travelled < 5.0
    assert unique(beliefs[first:]).all()
    assert {belief.reasons for belief in beliefs[first:]} <= DECIDED
    far, turned = errors(beliefs[first:], poses[first:])
    assert far.max() < 0.15
    assert turned.max() < 0.05
    length = sum(np.linalg.norm((a.inverse @ b).position) for a, b in pairwise(poses))
    assert beliefs[-1].travelled == pytest.approx(length, rel=0.02)
    least = [belief.least for belief in beliefs]
    assert least[-1] > 2.0 * least[0] > 0.0
    for belief in beliefs:
        chances = [estimate.probability for estimate in belief.estimates]
        assert chances == sorted(chances, reverse=True)
        assert sum(chances) <= 1.0 + 1e-9
        assert belief.best is belief.estimates[0]
    metres, radians = LocalizationSettings().covariance.min_std
    sigma = np.sqrt(np.diag(beliefs[-1].best.covariance))
    assert (sigma > [metres, metres, radians, metres][: site.atlas.dimension + 1]).all()
    assert (sigma < 0.2).all()


@pytest.mark.slow
@both
def test_the_truth_lies_in_the_ellipsoid_that_is_claimed(name):
    inside, poses = [], way(name, tilt=0.03)
    for seed in range(4 if name == "plane" else 2):
        beliefs = drive(Tracker(SITES[name].atlas), name, poses, seed=seed)
        for belief, pose in zip(beliefs[5:], poses[5:], strict=True):
            C = belief.best.covariance
            e = (belief.best.pose.vector - pose.vector)[: len(C)]
            e[2] = (e[2] + np.pi) % (2.0 * np.pi) - np.pi
            inside.append(e @ np.linalg.solve(C, e) < CHI_SQUARED[len(C)])
    assert np.mean(inside) > 0.95


@pytest.mark.slow
@both
@pytest.mark.parametrize("aided", [True, False])
def test_a_kidnapping_is_noticed_within_five_updates_and_the_robot_found(name, aided):
    poses = way(name, step=0.2)[:14] + way(name, AWAY[name], step=0.1)
    beliefs = drive(Tracker(SITES[name].atlas), name, poses, jump=14, aided=aided)
    assert beliefs[13].verdict is Verdict.UNIQUE
    far, _ = errors(beliefs[14:], poses[14:])
    assert not (unique(beliefs[14:]) & (far > 0.5))[5:].any()
    assert beliefs[-1].verdict is Verdict.UNIQUE
    assert far[-1] < 0.15


@pytest.mark.slow
@both
def test_odometry_that_slips_once_is_caught_up(name):
    poses = way(name)
    slip = len(poses) - 8, step_of(name, 0.6, 0.3, 0.4)
    far, turned = errors(drive(Tracker(SITES[name].atlas), name, poses, slip=slip), poses)
    assert far[slip[0] + 2 :].max() < 0.15
    assert turned[slip[0] + 2 :].max() < 0.05


@pytest.mark.slow
@both
def test_without_odometry_the_scans_say_how_the_robot_moves(name):
    poses = way(name, step=0.12)
    tracker = Tracker(SITES[name].atlas)
    beliefs = drive(tracker, name, poses, aided=False, pause=0.1)
    assert tracker.drift.still > 100.0 * Drift().still
    first = int(np.argmax(unique(beliefs)))
    far, turned = errors(beliefs[first:], poses[first:])
    assert beliefs[-1].verdict is Verdict.UNIQUE
    assert far.max() < 0.2
    assert turned.max() < 0.06
    length = sum(np.linalg.norm((a.inverse @ b).position) for a, b in pairwise(poses))
    assert beliefs[-1].travelled == pytest.approx(length, rel=0.15)
    own = Tracker(SITES[name].atlas, drift=Drift(still=0.2))
    own.update(None, SITES[name].look(poses[0]))
    assert own.drift == Drift(still=0.2)


@pytest.mark.slow
@both
@pytest.mark.parametrize(("aided", "near"), [(True, None), (False, None), (True, 1.5)])
def test_a_tracker_goes_on_from_its_state_bit_for_bit_whatever_the_threads(name, aided, near):
    atlas, poses = SITES[name].atlas, way(name)[:8]
    prior = None if near is None else Region.around(poses[0], near)
    tracker = Tracker(atlas, region=prior, drift=Drift(along=0.06))
    drive(tracker, name, poses[:5], aided=aided, noise=0.0)
    again = Tracker.from_state(atlas, json.loads(json.dumps(tracker.state())))
    assert again.drift == tracker.drift == Drift(along=0.06)

    def go_on(one):
        told = [exact(name, poses, k) if aided else None for k in (5, 6, 7)]
        looks = [SITES[name].look(pose) for pose in poses[5:]]
        pairs = enumerate(zip(told, looks, strict=True))
        return [one.update(there, look, time=9.0 + k) for k, (there, look) in pairs]

    for a, b in zip(go_on(tracker), in_one_thread(lambda: go_on(again)), strict=True):
        assert (a.verdict, a.reasons, a.facts, a.least) == (b.verdict, b.reasons, b.facts, b.least)
        for one, two in zip(a.estimates, b.estimates, strict=True):
            assert one.pose == two.pose
            np.testing.assert_array_equal(one.covariance, two.covariance)


@pytest.mark.slow
@both
def test_a_reset_tracker_is_a_new_one_that_has_driven(name):
    atlas, poses = SITES[name].atlas, way(name)[:6]
    used, scan = Tracker(atlas), SITES[name].look(poses[-1])
    driven = drive(used, name, poses, noise=0.0)[-1].travelled
    assert driven > 1.0
    used.reset(Region.around(poses[0], 1.0))
    assert used.travelled == driven
    assert used.move(exact(name, poses)).reasons == (Reason.NO_SCAN,)
    assert used.update(exact(name, poses), scan).verdict is not Verdict.UNIQUE
    used.reset()
    a, b = used.update(exact(name, poses), scan), Tracker(atlas).update(poses[-1], scan)
    assert (a.best.pose, a.reasons) == (b.best.pose, b.reasons)


@both
def test_a_dock_is_kept_to_and_odometry_alone_carries_on(name):
    site, poses = SITES[name], way(name, tilt=0.03)[:4]
    dock = Region.around(poses[0], 0.5, 0.5)
    tracker = Tracker(site.atlas, region=dock)
    nothing = tracker.move(exact(name, poses, 0))
    assert (nothing.verdict, nothing.reasons) == (Verdict.LOST, (Reason.NO_SCAN,))
    beliefs = drive(tracker, name, poses, noise=0.0)
    assert all(dock.holds(beliefs[0].best.pose.vector[None]))
    last, step = beliefs[-1], step_of(name, 0.2)
    moved = tracker.move(exact(name, poses) @ step)
    away, turned = gap(moved.best.pose, last.best.pose @ step)
    assert away < 1e-9
    assert turned < 1e-9
    assert moved.verdict is last.verdict is Verdict.UNIQUE
    assert moved.travelled == pytest.approx(last.travelled + 0.2)
    assert np.trace(moved.best.covariance) > np.trace(last.best.covariance)
    far = tracker.move(exact(name, poses) @ step_of(name, 60.0))
    assert (far.verdict, far.reasons) == (Verdict.AMBIGUOUS, (Reason.POSITION_SLIDES,))
    assert far.facts["position_std"] > 0.25
    assert far.best.probability == last.best.probability


@pytest.mark.slow
@both
def test_scans_that_see_next_to_nothing_are_carried_over_by_odometry(name):
    site, poses = SITES[name], way(name)[:12]

    def few(scan):
        if name == "plane":
            seen = np.arange(len(scan.ranges)) < 10
            return replace(scan, ranges=np.where(seen, scan.ranges, np.inf))
        return replace(scan, points=scan.points[np.abs(np.arctan2(*scan.points.T[1::-1])) < 0.1])

    blind = Tracker(site.atlas).update(None, few(site.look(poses[0])))
    assert (blind.verdict, blind.reasons, blind.best) == (
        Verdict.LOST, (Reason.SCAN_BLIND,), None
    )  # fmt: skip
    tracker = Tracker(site.atlas)
    before = drive(tracker, name, poses[:8], noise=0.0)[-1].best
    for k in range(8, 12):
        after = tracker.update(exact(name, poses, k), few(site.look(poses[k]))).best
    assert gap(after.pose, poses[-1])[0] < 0.12
    assert np.trace(after.covariance) > np.trace(before.covariance)


@pytest.mark.slow
@both
def test_a_robot_that_stands_does_not_become_surer_than_its_map(name):
    pose = way(name)[3]
    beliefs = drive(Tracker(SITES[name].atlas), name, [pose] * 12)
    sigma = [np.sqrt(np.diag(b.best.covariance))[:2].max() for b in beliefs]
    assert sigma[-1] > 0.6 * sigma[0]
    assert gap(beliefs[-1].best.pose, pose)[0] < 0.12


@pytest.mark.slow
@both
def test_places_that_are_alike_stay_ambiguous_however_one_drives(name):
    site = SITES[name]
    (x, y), rest = site.lonely.position[:2], site.lonely.vector[3:]
    flat = way("plane", [(x, y), (x - 0.9, y - 0.3), (x - 0.3, y - 0.8)])
    poses = [step_of(name, *pose.vector, *rest[:1]) for pose in flat]
    for belief in drive(Tracker(site.twin_atlas), name, poses, world=site.twins):
        assert belief.verdict is Verdict.AMBIGUOUS
        assert Reason.COMPETITORS in belief.reasons
        assert belief.facts["competitors"] >= 1
        assert belief.estimates[1].probability > 0.05


@pytest.mark.slow
@both
def test_a_robot_elsewhere_is_lost(name):
    world = round_hall() if name == "plane" else raised(round_hall())
    flat = way("plane", [(2.5, 4.0), (4.0, 3.5), (3.5, 2.5)])
    poses = flat if name == "plane" else [Pose3(*pose.vector, 1.1) for pose in flat]
    for belief in drive(Tracker(SITES[name].atlas), name, poses, world=world):
        assert (belief.verdict, belief.reasons) == (Verdict.LOST, (Reason.POOR_FIT,))


@both
def test_odometry_that_jumps_across_the_earth_is_borne(name):
    tracker, scan = Tracker(SITES[name].atlas), SITES[name].look(way(name)[0])
    for place in ((-1e7, 1e7), (1e7, -1e7), (1e7, -1e7)):
        belief = tracker.update(step_of(name, *place), scan)
        for estimate in belief.estimates:
            assert np.isfinite(estimate.pose.vector).all()
            assert (np.linalg.eigvalsh(estimate.covariance) > 0.0).all()


def look(site=PLANE):
    return site.look(site.places[0])


def moved_twice(*times):
    tracker = Tracker(PLANE.atlas)
    for time in times:
        tracker.move(Pose(), time=time)


def told_once(site):
    tracker = Tracker(site.atlas)
    tracker.update(None, look(site))
    tracker.update(site.places[0], look(site))


@pytest.mark.parametrize(
    ("make", "field", "code"),
    [
        (lambda: Tracker(PLANE.world), "space", "invalid_value"),
        (lambda: Tracker(SPACE.world), "space", "invalid_value"),
        (lambda: Tracker(PLANE.atlas, region=Pose()), "region", "invalid_value"),
        (lambda: Tracker(PLANE.atlas, tilt=True), "tilt", "wrong_dimension"),
        (lambda: Tracker(PLANE.atlas).update(Pose(), None), "scan", "invalid_value"),
        (lambda: Tracker(PLANE.atlas).update(Pose(), look(SPACE)), "scan", "wrong_dimension"),
        (lambda: Tracker(SPACE.atlas).update(Pose3(), look()), "scan", "wrong_dimension"),
        (lambda: Tracker(PLANE.atlas).update([0.0] * 3, look()), "odometry", "invalid_value"),
        (lambda: Tracker(SPACE.atlas).update([0.0] * 6, look(SPACE)), "odometry", "invalid_value"),
        (lambda: Tracker(PLANE.atlas).update(Pose(np.nan), look()), "odometry", "invalid_value"),
        (lambda: Tracker(PLANE.atlas).move([0.0] * 3), "odometry", "invalid_value"),
        (lambda: Tracker(PLANE.atlas).move(Pose(0.0, -1.1e7)), "odometry", "invalid_value"),
        (lambda: Tracker(PLANE.atlas).move(Pose(0.0, -1e308)), "odometry", "invalid_value"),
        (lambda: Tracker(SPACE.atlas).move(Pose3(z=1.1e7)), "odometry", "invalid_value"),
        (lambda: Tracker(SPACE.atlas).move(Pose3(pitch=np.pi / 2)), "roll", "invalid_value"),
        (lambda: Tracker(PLANE.atlas).move(None), "odometry", "missing"),
        (lambda: told_once(PLANE), "odometry", "conflict"),
        (lambda: told_once(SPACE), "odometry", "conflict"),
        (lambda: moved_twice(3.0, 1.0), "time", "invalid_value"),
        (lambda: moved_twice(np.nan), "time", "invalid_value"),
        (lambda: Tracker(SPACE.atlas).refine_start(), "refine_start", "wrong_dimension"),
    ],
)
def test_misuse_is_refused(make, field, code):
    with refused(field, code):
        make()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda state: state | {"version": 9}, "outdated_file"),
        (lambda state: state | {"poses": [[0.0, 0.0, 1e308]]}, "invalid_file"),
        (lambda state: state | {"flags": None}, "invalid_file"),
        (lambda state: state | {"frames": [1]}, "invalid_file"),
        (lambda state: {k: v for k, v in state.items() if k != "crc32"}, "invalid_file"),
        (lambda _: [1], "invalid_file"),
        (lambda _: Tracker(PLANE.twin_atlas).state(), "conflict"),
    ],
)
def test_a_state_of_something_else_is_refused(change, code):
    with refused("state", code):
        Tracker.from_state(PLANE.atlas, change(Tracker(PLANE.atlas).state()))
