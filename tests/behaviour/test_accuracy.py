"""Accuracy on one generated building, against rows stored here.

A change that makes answers worse fails; one that makes them better fails too, and the row is then
stored anew, in the same commit, with a line in CHANGELOG.md.
"""

from functools import lru_cache

import numpy as np
import pytest
from tests.support.worlds import office, row_of

import isovist as iv

EXPECTED = {
    # field of view in degrees, range in m: scans; right, unique, listed of them; median error in m
    (180.0, 8.0): (40, 36, 27, 40, 0.0291),
    (90.0, 4.0): (16, 6, 0, 8, 0.0394),  # fewer, as each that fits nowhere well takes long
}
ONE = 1.5
"""One scan more or less may fall differently where the last bits of a machine differ."""


@lru_cache
def atlas():
    return iv.build(office(11, 24.0))


@pytest.mark.slow
@pytest.mark.parametrize(("degrees", "reach"), EXPECTED)
def test_answers_are_as_good_as_the_stored_row(degrees, reach):
    lidar = iv.Lidar(np.radians(degrees), int(degrees), reach, noise=0.03, clutter=0.1)
    scans, right, unique, listed, error = EXPECTED[degrees, reach]
    row = row_of(atlas(), lidar, scans, seed=3)
    assert scans * row["success"] == pytest.approx(right, abs=ONE)
    assert scans * row["unique"] == pytest.approx(unique, abs=ONE)
    assert scans * row["listed"] == pytest.approx(listed, abs=ONE)
    assert row["median_error_m"] == pytest.approx(error, rel=0.1)
    assert row["false_confident"] == 0.0
