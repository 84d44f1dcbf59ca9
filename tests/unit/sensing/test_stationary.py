"""Scans of a robot that stands: one scan with less noise, and a covariance that stays honest."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.fits import merged
from tests.support.sites import PLANE, SPACE, gap

import isovist as iv
from isovist import Pose

SCANS = 9


def noisy(truth, seed, noise=0.08):
    """What a worse sensor sees."""
    scan, random = PLANE.look(truth, seed=seed), np.random.default_rng([seed, 1])
    ranges = np.where(scan.valid, scan.ranges, np.inf)
    return replace(scan, ranges=ranges + random.normal(0.0, noise, ranges.shape))


@pytest.mark.slow
def test_standing_sharpens_the_pose_and_its_covariance_honestly():
    alone, together, spreads, inside = [], [], [], []
    for k, truth in enumerate(PLANE.places):
        for part in range(3):
            scans = [noisy(truth, 100 * k + 20 * part + n) for n in range(SCANS)]
            one, all_ = (iv.locate(PLANE.atlas, scan).best for scan in (scans[0], merged(scans)))
            alone.append(gap(one.pose, truth)[0])
            together.append(gap(all_.pose, truth)[0])
            spreads.append(np.trace(all_.covariance[:2, :2]) / np.trace(one.covariance[:2, :2]))
            d = all_.pose.vector - truth.vector
            inside.append(d @ np.linalg.solve(all_.covariance, d) <= 7.815)
    assert np.mean(together) < np.mean(alone)
    assert max(spreads) < 1.0
    assert np.mean(inside) >= 8 / 9


def test_one_scan_stays_as_it_is():
    scan = PLANE.look(PLANE.places[0])
    same = merged([scan])
    np.testing.assert_array_equal(same.valid, scan.valid)
    np.testing.assert_array_equal(same.ranges[same.valid], scan.ranges[scan.valid])


@pytest.mark.slow
def test_who_walks_by_vanishes():
    truth = PLANE.places[0]
    scans = []
    for n in range(SCANS):
        scan = noisy(truth, n, 0.0)
        near = np.abs(scan.bearings - (n - 4) * 0.6) < 0.3
        ranges = np.where(scan.valid, scan.ranges, np.inf)
        scans.append(replace(scan, ranges=np.where(near, 0.5 * ranges, ranges)))
    shares = [iv.check(PLANE.atlas, scan, truth).inliers for scan in (*scans, merged(scans))]
    assert shares[-1] > max(shares[:-1])


def test_scans_that_are_not_of_one_sensor_at_one_place_are_refused():
    scan = PLANE.look(PLANE.places[0])
    mounted = PLANE.look(PLANE.places[0], mount=PLANE.mount)
    few = iv.Scan(np.linspace(-1.0, 1.0, 11), np.full(11, 2.0))
    blind = [
        replace(scan, ranges=np.where(np.arange(len(scan.ranges)) == k, 1.0, np.inf))
        for k in range(5)
    ]
    told = [
        ([PLANE.look(place) for place in PLANE.places], "conflict"),
        ([], "missing"),
        ([scan, SPACE.look(SPACE.places[0])], "invalid_value"),
        ([scan, mounted], "conflict"),
        ([scan, few], "conflict"),
        (blind, "empty"),
    ]
    for scans, code in told:
        with refused("scans", code):
            merged(scans)


def stood(truth, count, *, noise=0.06, seed=0):
    """A tracker that began at a place and stood there, and its beliefs."""
    tracker = iv.Tracker(PLANE.atlas, region=iv.Region.around(truth, 1.0, 0.5))
    scans = (noisy(truth, 1000 * seed + n, noise) for n in range(count))
    return tracker, [tracker.update(Pose(), scan, time=0.1 * n) for n, scan in enumerate(scans)]


def variance(belief):
    return float(np.trace(belief.best.covariance[:2, :2]))


def places():
    """Poses all over the building."""
    random = np.random.default_rng(5)
    return [
        place @ Pose(*random.uniform(-0.2, 0.2, 2), random.uniform(-3.0, 3.0))
        for place in PLANE.places * 5
    ]


@pytest.mark.slow
def test_a_tracker_sharpens_while_it_stands_and_its_ellipse_holds():
    first, last, spreads, inside = [], [], [], []
    for k, truth in enumerate(places()):
        beliefs = stood(truth, 20, seed=k)[1]
        first.append(gap(beliefs[0].best.pose, truth)[0])
        last.append(gap(beliefs[-1].best.pose, truth)[0])
        spreads.append(variance(beliefs[-1]) / variance(beliefs[0]))
        long, short, turn = beliefs[-1].best.ellipse(0.95)
        d = Pose(0.0, 0.0, turn).inverse.apply(beliefs[-1].best.pose.position - truth.position)
        inside.append((d[0] / long) ** 2 + (d[1] / short) ** 2 <= 1.0)
    assert np.mean(last) < np.mean(first)
    assert np.mean(spreads) < 0.5
    assert np.mean(inside) >= 0.92


@pytest.mark.slow
def test_the_covariance_of_a_standing_tracker_has_a_floor():
    """Scans on the spot are not independent: sixty know no more than twenty."""
    for k, truth in enumerate(PLANE.places[:2]):
        tracker, beliefs = stood(truth, 60, seed=k)
        spreads = np.array([variance(belief) for belief in beliefs])
        assert spreads[-1] > 0.8 * spreads[19]
        assert spreads[-1] > 2.0 * tracker.settings.estimates.map_position_std_m**2
        assert len(tracker.bank.keyframes) == 1
        assert tracker.bank.keyframes[0].weight == 1.0
        assert tracker.bank.share == 1.0


@pytest.mark.slow
def test_a_standing_tracker_that_is_carried_away_is_found_though_it_had_a_prior():
    """Odometry says nothing of it."""
    for away in PLANE.places[1:]:
        tracker, beliefs = stood(PLANE.places[0], 12)
        assert beliefs[-1].verdict is iv.Verdict.UNIQUE
        for n in range(4):
            belief = tracker.update(Pose(), PLANE.look(away, seed=n), time=2.0 + 0.1 * n)
            right = gap(belief.best.pose, away)[0] < 0.1
            assert right or belief.verdict is not iv.Verdict.UNIQUE
        assert (belief.verdict, right) == (iv.Verdict.UNIQUE, True)


@pytest.mark.slow
def test_a_standing_tracker_survives_a_restart():
    truth = PLANE.places[1]
    tracker, _ = stood(truth, 7)
    again = iv.Tracker.from_state(PLANE.atlas, json.loads(json.dumps(tracker.state())))
    for n in range(3):
        scan = noisy(truth, 50 + n, 0.06)
        a, b = (each.update(Pose(), scan, time=5.0 + n) for each in (tracker, again))
        assert a.best.pose == b.best.pose
        np.testing.assert_array_equal(a.best.covariance, b.best.covariance)


@pytest.mark.slow
def test_returns_that_come_and_go_and_another_sensor_end_a_stand():
    truth, random = PLANE.places[0], np.random.default_rng(0)
    tracker, _ = stood(truth, 3)
    for n in range(12):
        scan = noisy(truth, n, 0.02)
        kept = random.random(scan.ranges.shape) < 0.4
        flaky = replace(scan, ranges=np.where(kept & scan.valid, scan.ranges, np.inf))
        belief = tracker.update(Pose(), flaky, time=1.0 + n)
        assert gap(belief.best.pose, truth)[0] < 0.2
    mounted = PLANE.look(truth, mount=PLANE.mount)
    assert gap(tracker.update(Pose(), mounted, time=20.0).best.pose, truth)[0] < 0.3
    few = iv.Lidar(beams=90, range_max=20.0).scan(PLANE.world, truth, random)
    assert gap(tracker.update(Pose(), few, time=21.0).best.pose, truth)[0] < 0.3


@pytest.mark.slow
def test_a_robot_that_creeps_does_not_stand():
    tracker = iv.Tracker(PLANE.atlas, region=iv.Region.around(PLANE.places[0], 1.0, 0.5))
    for n in range(30):
        step = Pose(0.012 * n, 0.0, 0.0)
        truth = PLANE.places[0] @ step
        belief = tracker.update(step, noisy(truth, n, 0.03), time=0.1 * n)
    assert gap(belief.best.pose, truth)[0] < 0.06
