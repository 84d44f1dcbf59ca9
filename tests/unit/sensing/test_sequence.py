"""Scans joined by odometry, as numbers: no map is needed."""

import numpy as np
import pytest
from tests.support.fits import together

import isovist as iv

MOTIONS = [iv.Pose(0.5, 0.0, 0.0), iv.Pose(0.4, 0.1, 0.5)]


def scan(longest=4.0, mount=None):
    bearings = np.linspace(-1.0, 1.0, 21)
    ranges = np.linspace(1.0, longest, 21)
    return iv.Scan(bearings, ranges, T_robot_sensor=iv.Pose() if mount is None else mount)


def cloud():
    return iv.CloudScan(np.random.default_rng(3).uniform(-3.0, 3.0, (300, 3)))


def test_robots_and_views_lie_where_the_motions_put_them():
    mount = iv.Pose(0.2, 0.0, np.pi)
    several = together([scan(mount=mount), scan(mount=mount), scan(mount=mount)], MOTIONS)
    whole = MOTIONS[0] @ MOTIONS[1]
    first, middle, last = (robot.vector for robot in several.robot_poses)
    np.testing.assert_allclose(first, whole.inverse.vector, atol=1e-12)
    np.testing.assert_allclose(middle, MOTIONS[1].inverse.vector, atol=1e-12)
    assert not last.any()
    seen = mount.inverse @ whole.inverse @ mount
    np.testing.assert_allclose(several.view_poses[0].vector, seen.vector, atol=1e-12)
    assert several.span == pytest.approx(np.hypot(whole.x, whole.y))
    assert len(several.distances) == 63
    assert several.last is several.scans[2]


def test_errors_grow_from_the_last_scan_to_the_first():
    several = together([scan(), scan(), scan()], MOTIONS, drift=iv.Drift(along=0.1))
    errors = several.view_variances
    assert errors.shape == (3, 6)
    assert not errors[2].any()
    assert (errors[0] > errors[1]).all()
    assert errors[1, 0] > 0.1**2 * np.hypot(0.4, 0.1)


def test_beams_are_cut_mirrored_and_scaled_in_all_scans():
    several = together([scan(), scan(6.0)], MOTIONS[:1])
    assert several.within(0.5) is None
    assert several.within(3.0).distances.max() <= 3.0
    assert several.mirrored().scans[0].bearings[0] == pytest.approx(-1.0)
    double = several.scaled(2.0)
    assert double.motions[0].x == pytest.approx(1.0)
    assert double.distances.max() == pytest.approx(12.0)


def test_clouds_are_joined_by_motions_of_the_plane_and_of_space():
    flat = together([cloud(), cloud()], [iv.Pose(0.5, 0.0, 0.2)])
    deep = together([cloud(), cloud()], [iv.Pose3(0.5, 0.0, 0.2)])
    np.testing.assert_allclose(flat.view_poses[0].vector, deep.view_poses[0].vector, atol=1e-12)
    assert flat.scaled(3.0).span == deep.scaled(3.0).span == pytest.approx(1.5)
