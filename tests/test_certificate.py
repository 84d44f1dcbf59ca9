import numpy as np
import pytest

from isovist.localization.certificate import certify
from isovist.maps.cells import OccupancyMap
from isovist.maps.segments import SegmentMap
from isovist.poses import Pose
from isovist.sensing.lidar import Lidar


@pytest.fixture(scope="module")
def room():
    walls = SegmentMap.room(6.0, 4.0).walls.reshape(-1, 2, 2)
    return OccupancyMap.from_segments(walls, 0.02)


def test_the_bound_is_not_violated_where_the_certificate_holds():
    """A small sample of benchmarks/certificate.py, which counts thousands."""
    from benchmarks.certificate import try_cases

    tally = try_cases(120, seed=3)
    assert tally.violations == 0
    assert tally.held >= 5


def test_a_clear_view_of_a_room_is_certified(room):
    truth = Pose(2.0, 1.5, 0.4)
    scan = Lidar(beams=720, noise=0.005).scan(room, truth, np.random.default_rng(0))
    certificate = certify(room, scan, truth, [])
    assert certificate.holds
    assert certificate.mu > 0.1
    assert certificate.bound < 0.1
    assert certificate.separation == np.inf


def test_a_rival_leaves_nothing_certain(room):
    truth = Pose(2.0, 1.5, 0.4)
    scan = Lidar(beams=720, noise=0.005).scan(room, truth, np.random.default_rng(0))
    certificate = certify(room, scan, truth, [Pose(4.0, 2.5, 0.4 - np.pi)])
    assert not certificate.holds
    assert certificate.separation == pytest.approx(np.hypot(2.0, 1.0))


def test_a_corridor_is_not_certified_along_its_axis():
    walls = SegmentMap.room(60.0, 2.0).walls.reshape(-1, 2, 2)
    world = OccupancyMap.from_segments(walls, 0.05)
    truth = Pose(30.0, 1.0, 0.2)
    scan = Lidar(range_max=10.0, noise=0.01).scan(world, truth, np.random.default_rng(0))
    certificate = certify(world, scan, truth, [])
    assert not certificate.holds
    assert certificate.mu < 0.05


def test_a_scan_that_does_not_fit_is_not_certified(room):
    scan = Lidar(beams=360).scan(room, Pose(2.0, 1.5, 0.4), np.random.default_rng(0))
    assert not certify(room, scan, Pose(4.5, 3.0, 2.0), []).holds
