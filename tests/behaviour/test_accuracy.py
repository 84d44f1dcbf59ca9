"""Accuracy on one generated building, against rows stored here.

A change that makes answers worse fails; one that makes them better fails too, and the row is then
stored anew, in the same commit, with a line in CHANGELOG.md.
"""

import numpy as np
import pytest

from isovist import Lidar, OccupancyMap, build
from isovist.evaluation import run_trials, simulated_trials, summarise
from isovist.simulation import office_floor

pytestmark = pytest.mark.slow

EXPECTED = {
    # field of view in degrees, range in m: scans; right, unique, listed of them; median error in m
    (180.0, 8.0): (40, 36, 27, 40, 0.0291),
    (90.0, 4.0): (16, 6, 0, 8, 0.0394),  # fewer, as each that fits nowhere well takes long
}
ONE = 1.5
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
    scans, right, unique, listed, error = EXPECTED[degrees, reach]
    trials = simulated_trials(world, scans, lidar, seed=3)
    row = summarise(list(run_trials(atlas, trials)))
    assert scans * row["success"] == pytest.approx(right, abs=ONE)
    assert scans * row["unique"] == pytest.approx(unique, abs=ONE)
    assert scans * row["listed"] == pytest.approx(listed, abs=ONE)
    assert row["median_error_m"] == pytest.approx(error, rel=0.1)
    assert row["false_confident"] == 0.0
