"""Scans of a robot that stands: one scan with less noise, and a covariance that stays honest."""

from dataclasses import replace

import numpy as np
import pytest

import isovist as iv
from isovist.errors import InputError
from isovist.sensing.standing import merge
from sites import PLANE, SPACE, gap

SCANS = 9


def noisy(truth, seed, noise=0.08):
    """What a worse sensor sees."""
    scan, random = PLANE.look(truth, seed=seed), np.random.default_rng([seed, 1])
    ranges = np.where(scan.valid, scan.ranges, np.inf)
    return replace(scan, ranges=ranges + random.normal(0.0, noise, ranges.shape))


def test_standing_sharpens_the_pose_and_its_covariance_honestly():
    alone, together, spreads, inside = [], [], [], []
    for k, truth in enumerate(PLANE.places):
        for part in range(3):
            scans = [noisy(truth, 100 * k + 20 * part + n) for n in range(SCANS)]
            one, all_ = (iv.locate(PLANE.atlas, scan).best for scan in (scans[0], merge(scans)))
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
    merged = merge([scan])
    np.testing.assert_array_equal(merged.valid, scan.valid)
    np.testing.assert_array_equal(merged.ranges[merged.valid], scan.ranges[scan.valid])


def test_who_walks_by_vanishes():
    truth = PLANE.places[0]
    scans = []
    for n in range(SCANS):
        scan = noisy(truth, n, 0.0)
        near = np.abs(scan.bearings - (n - 4) * 0.6) < 0.3
        ranges = np.where(scan.valid, scan.ranges, np.inf)
        scans.append(replace(scan, ranges=np.where(near, 0.5 * ranges, ranges)))
    shares = [iv.check(PLANE.atlas, scan, truth).inliers for scan in (*scans, merge(scans))]
    assert shares[-1] > max(shares[:-1])


def test_a_robot_that_moves_is_refused():
    with pytest.raises(InputError) as error:
        merge([PLANE.look(place) for place in PLANE.places])
    assert str(error.value).startswith("Half of the ranges vary by more than ")
    assert str(error.value).endswith(
        " m, so the robot does not stand still. Merge scans of one place only."
    )


def test_bad_input_is_one_line():
    scan = PLANE.look(PLANE.places[0])
    mounted = PLANE.look(PLANE.places[0], mount=PLANE.mount)
    few = iv.Scan(np.linspace(-1.0, 1.0, 11), np.full(11, 2.0))
    blind = [
        replace(scan, ranges=np.where(np.arange(len(scan.ranges)) == k, 1.0, np.inf))
        for k in range(5)
    ]
    cloud = SPACE.look(SPACE.places[0])
    told = {
        "There is no scan to merge; give at least one.": [],
        "`scans` must be scans of the plane, got CloudScan. In space noise hides behind what the "
        "voxels have wrong.": [scan, cloud],
        "The scans must have one `T_robot_sensor`, since it is one sensor.": [scan, mounted],
        "The scans must have the same bearings, since it is one sensor.": [scan, few],
        "No direction has a return in half of the scans.": blind,
    }
    for text, scans in told.items():
        with pytest.raises(InputError) as error:
            merge(scans)
        assert str(error.value) == text
