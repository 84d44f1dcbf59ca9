"""Scans of the plane: what counts as a return, what a beam owns, and motion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isovist import Pose, Scan, SegmentMap


def test_missing_returns_are_masked():
    ranges = [1.0, np.nan, np.inf, 0.0, -1.0, 0.05, 10.0, 9.99]
    scan = Scan.from_laserscan(-1.0, 0.1, ranges, range_min=0.1, range_max=10.0)
    np.testing.assert_array_equal(scan.valid, [True] + [False] * 6 + [True])
    np.testing.assert_array_equal(scan.ranges[~scan.valid], 0.0)
    assert scan.field_of_view == pytest.approx(0.7)
    np.testing.assert_allclose(scan.endpoints[0], [np.cos(-1.0), np.sin(-1.0)], atol=1e-15)


def test_beams_are_sorted_with_their_intensities():
    scan = Scan(np.array([1.0, -1.0, 0.0]), np.array([3.0, 1.0, 2.0]), intensities=[30, 10, 20])
    np.testing.assert_array_equal(scan.bearings, [-1.0, 0.0, 1.0])
    np.testing.assert_array_equal(scan.ranges, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(scan.intensities, [10, 20, 30])


@pytest.mark.slow
@given(st.integers(2, 400), st.floats(0.3, 2.0 * np.pi - 1e-6))
def test_beams_own_the_view_and_no_more(n, fov):
    scan = Scan(np.linspace(-fov / 2, fov / 2, n), np.ones(n))
    spacing = fov / (n - 1)
    owned = scan.beam_widths
    assert (owned > 0.0).all()
    assert owned.sum() <= min(fov + spacing, 2.0 * np.pi) + 1e-9
    assert owned.sum() >= fov - 1e-9


def test_a_full_turn_owns_the_circle():
    bearings = 2.0 * np.pi * np.arange(360) / 360
    assert Scan(bearings, np.ones(360)).beam_widths.sum() == pytest.approx(2.0 * np.pi)


@pytest.mark.parametrize("apart", [0.0, 1e-9])
@pytest.mark.parametrize("returns", [2, 3])
def test_beams_that_repeat_a_bearing_share_what_it_owns(apart, returns):
    bearings = np.linspace(-2.0, 2.0, 181)
    once = Scan(bearings, np.full(181, 2.0)).beam_widths
    many = np.repeat(bearings, returns) + apart * np.tile(np.arange(returns), 181)
    owned = Scan(many, np.full(len(many), 2.0)).beam_widths.reshape(181, returns)
    np.testing.assert_allclose(owned, np.repeat(once[:, None], returns, 1) / returns, atol=1e-8)


def test_beams_that_all_look_one_way_own_nothing():
    assert (Scan(np.zeros(5), np.ones(5)).beam_widths == 0.0).all()


@pytest.mark.slow
def test_a_sweep_in_motion_is_straightened():
    room = SegmentMap.room(6.0, 4.0)
    bearings = np.linspace(-np.pi, np.pi, 721)[:-1]
    middle, motion = Pose(2.5, 1.7, 0.4), Pose(0.06, -0.02, 0.08)
    first = middle @ Pose(yaw=-motion.yaw / 2.0)
    half = first.rotation @ np.array([motion.x, motion.y]) / 2.0
    late = np.arange(bearings.size) / (bearings.size - 1) - 0.5
    ranges = []
    for share, bearing in zip(late, bearings, strict=True):
        place = np.array([middle.x, middle.y]) + 2.0 * share * half
        angle = middle.yaw + share * motion.yaw + bearing
        ranges.append(float(room.cast(place, [[np.cos(angle), np.sin(angle)]]).ranges[0]))
    straight = Scan(bearings, ranges).straighten(motion)
    angles = middle.yaw + straight.bearings
    still = room.cast([middle.x, middle.y], np.stack([np.cos(angles), np.sin(angles)], -1)).ranges
    assert np.abs(straight.ranges - still).max() < 1e-9
    assert np.abs(np.array(ranges) - room.cast(
        [middle.x, middle.y],
        np.stack([np.cos(middle.yaw + bearings), np.sin(middle.yaw + bearings)], -1),
    ).ranges).max() > 0.03  # fmt: skip


def test_a_scan_at_rest_is_straight_already():
    scan = Scan([-1.0, 0.0, 1.0], [2.0, np.inf, 3.0])
    straight = scan.straighten(Pose())
    np.testing.assert_allclose(straight.bearings, scan.bearings)
    np.testing.assert_allclose(straight.ranges, scan.ranges)
    assert straight.valid.tolist() == [True, False, True]
