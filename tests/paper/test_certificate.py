"""What the descriptors certify, and where no bound is claimed."""

import re

import numpy as np
import pytest
from tests.support.sites import SPACE

import isovist as iv
from isovist import Pose, Pose3


@pytest.fixture(scope="module")
def room():
    return iv.SegmentMap.room(6.0, 4.0)


def look(world, truth, **options):
    lidar = iv.Lidar(**{"beams": 720, "noise": 0.005, **options})
    return lidar.scan(world, truth, np.random.default_rng(0))


@pytest.mark.slow
def test_the_bound_is_not_violated_where_the_certificate_holds():
    """A small sample of benchmarks/certificate.py, which counts thousands."""
    from benchmarks.certificate import try_cases

    tally = try_cases(60, seed=3)
    assert tally.violations == 0
    assert tally.held >= 3


@pytest.mark.parametrize("mount", [Pose(), Pose(-0.3, 0.1, 3.0)])
def test_a_clear_view_of_a_room_is_certified_wherever_the_sensor_sits(room, mount):
    truth = Pose(2.0, 1.5, 0.4)
    seen = look(room, truth @ mount)
    scan = iv.Scan(seen.bearings, np.where(seen.valid, seen.ranges, np.inf), T_robot_sensor=mount)
    certificate = iv.certify(room, scan, truth)
    assert certificate.holds is True
    assert certificate.mu > 0.1
    assert certificate.bound < 0.1
    assert certificate.separation == np.inf


def test_a_rival_leaves_nothing_certain(room):
    truth = Pose(2.0, 1.5, 0.4)
    scan = look(room, truth)
    certificate = iv.certify(room, scan, truth, [Pose(4.0, 2.5, 0.4 - np.pi)])
    assert certificate.holds is False
    assert certificate.separation == pytest.approx(np.hypot(2.0, 1.0))
    assert iv.certify(room, scan, Pose(4.5, 3.0, 2.0)).holds is False  # nor a wrong pose


def test_a_corridor_is_not_certified_along_its_axis():
    world = iv.SegmentMap.room(60.0, 2.0)
    truth = Pose(30.0, 1.0, 0.2)
    certificate = iv.certify(world, look(world, truth, range_max=10.0), truth)
    assert certificate.holds is False
    assert certificate.mu < 0.05


def test_on_cells_slopes_are_told_and_no_bound_is_claimed(room):
    cells = iv.OccupancyMap.from_segments(room.walls.reshape(-1, 2, 2), 0.02)
    truth = Pose(2.0, 1.5, 0.4)
    scan = look(room, truth)
    exact, steps = iv.certify(room, scan, truth), iv.certify(cells, scan, truth)
    assert steps.mu == pytest.approx(exact.mu, rel=0.2)
    assert steps.bound == np.inf
    assert steps.holds is False


def test_a_fitted_tilt_is_looked_along():
    """Beams of a tilted scan that does not know its tilt agree with the map at the true pose."""
    truth = Pose3(5.0, 0.0, 0.7, 1.5, 0.05, -0.06)
    scan = iv.CloudScan(SPACE.look(truth).points)
    tilted = iv.certify(SPACE.world, scan, truth)
    level = iv.certify(SPACE.world, scan, Pose3(5.0, 0.0, 0.7, 1.5))

    def agree(certificate):
        return int(re.search(r"(\d+)%", " ".join(certificate.assumptions))[1])

    assert agree(tilted) > agree(level) + 1
