"""Accuracy on one generated building, against rows stored here.

A change that makes answers worse fails; one that makes them better fails too, and the row is then
stored anew, in the same commit, with a line in CHANGELOG.md.
"""

import numpy as np
import pytest

from isovist.atlas.build import build
from isovist.bench.outcomes import summarise
from isovist.bench.trials import run_trials, simulated_trials
from isovist.bench.worlds import office_floor
from isovist.maps.cells import OccupancyMap
from isovist.sensing.lidar import Lidar

SCANS = 40
EXPECTED = {
    # field of view in degrees, range in m: right, unique, listed of SCANS; median error in m
    (180.0, 8.0): (36, 30, 40, 0.0291),
    (90.0, 4.0): (13, 0, 22, 0.0368),
}
ONE = 1.5 / SCANS
"""One scan more or less may fall differently where the last bits of a machine differ."""


@pytest.fixture(scope="module")
def world():
    walls = office_floor(11, length=24.0, rows=2).plan.walls
    return OccupancyMap.from_segments(walls.reshape(-1, 2, 2), 0.05)


@pytest.fixture(scope="module")
def atlas(world):
    return build(world)


@pytest.mark.parametrize(("degrees", "reach"), EXPECTED)
def test_answers_are_as_good_as_the_stored_row(world, atlas, degrees, reach):
    lidar = Lidar(np.radians(degrees), int(degrees), reach, noise=0.03, clutter=0.1)
    trials = simulated_trials(world, SCANS, lidar, seed=3)
    row = summarise(list(run_trials(atlas, trials)))
    right, unique, listed, error = EXPECTED[degrees, reach]
    assert row["success"] == pytest.approx(right / SCANS, abs=ONE)
    assert row["unique"] == pytest.approx(unique / SCANS, abs=ONE)
    assert row["listed"] == pytest.approx(listed / SCANS, abs=ONE)
    assert row["median_error_m"] == pytest.approx(error, rel=0.1)
    assert row["false_confident"] == 0.0
