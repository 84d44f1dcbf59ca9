"""Scans that brute force rates beside `bench calibrate`."""

import pytest
from benchmarks.exhaustive.calibrate import rated_rows_of, run_rated
from tests.support.errors import refused

from isovist.evaluation import CalibrationRun

pytestmark = pytest.mark.slow


def test_one_scan_of_so_many_is_rated_by_brute_force_and_nothing_else_changes():
    (plain,), (line,) = CalibrationRun(1, 2).run(), run_rated(1, 2, 0, None, 2)
    (which,) = (k for k, asked in enumerate(line["asked"]) if "brute" in asked)
    told = line["asked"][which]["brute"]
    row = rated_rows_of([line])[0]
    assert (row["brute"]["rated"], row["brute"]["unique"]) == (1, told["unique"] is True)
    assert (told["withheld"] == "") == (line["asked"][which]["verdict"] == "unique")
    del line["asked"][which]["brute"]
    assert line == plain
    with refused("every"):
        run_rated(1, 2, 0, None, 0)
