import numpy as np
import pytest
from tests.support.angles import unit_vectors
from tests.support.command_line import run

from isovist import Lidar, Pose, SegmentMap

ROOM = SegmentMap.room(6.0, 4.0)
POSE = Pose(2.0, 1.5, 0.7)


def test_without_noise_a_scan_is_the_cast_ranges():
    scan = Lidar(noise=0.0).scan(ROOM, POSE, np.random.default_rng(0))
    expected = ROOM.cast([2.0, 1.5], unit_vectors(scan.bearings + 0.7)).ranges
    np.testing.assert_array_equal(scan.ranges, expected)
    assert scan.valid.all()


def test_noise_clutter_and_reach_are_those_asked_for():
    rng = np.random.default_rng(1)
    lidar = Lidar(beams=20_000, noise=0.03, clutter=0.2, range_max=3.0)
    scan = lidar.scan(ROOM, POSE, rng)
    truth = ROOM.cast([2.0, 1.5], unit_vectors(scan.bearings + 0.7)).ranges
    # What clutter ends before its wall is seen, whatever stands behind it.
    assert 0.1 < scan.valid[truth > 3.2].mean() < 0.3
    assert scan.ranges.max() < 3.0
    near = truth < 2.5
    gap = (scan.ranges - truth)[near]
    assert np.mean(gap < -0.15) == pytest.approx(0.2, abs=0.03)
    assert np.std(gap[np.abs(gap) < 0.12]) == pytest.approx(0.03, rel=0.15)


@pytest.mark.parametrize("degrees", [90.0, 180.0, 270.0, 360.0])
def test_beams_span_the_field_of_view(degrees):
    scan = Lidar(np.deg2rad(degrees), beams=181).scan(ROOM, POSE, np.random.default_rng(0))
    step = degrees / (181 if degrees == 360.0 else 180)
    np.testing.assert_allclose(np.rad2deg(np.diff(scan.bearings)), step, rtol=1e-9)
    assert np.rad2deg(scan.bearings[0]) == pytest.approx(-degrees / 2.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_demonstration_finds_the_robot(seed, tmp_path):
    told = run("demo", "--seed", seed, "--json", "--figure", tmp_path / "demo.png").json
    assert told["right"]
    assert told["verdict"] != "lost"
