"""Scans that brute force rates beside `bench calibrate`."""

import pytest
from benchmarks.exhaustive.calibrate import rated_rows_of, rated_text_of, run_rated
from tests.support.errors import refused

from isovist.evaluation import CalibrationRun, clopper_pearson

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


def asked(verdict, right=True, brute="", fits=True, why="", p=0.995, sensor="180°, 8 m"):
    told = {"sensor": sensor, "verdict": verdict, "right": right, "listed": right,
            "probability": 0.95, "off": 1.0, "error_m": 0.1}  # fmt: skip
    rating = {"unique": brute, "right": fits, "probability": p, "ahead": 1.0,
              "judged": "unique", "withheld": why}  # fmt: skip
    return told if brute == "" else told | {"brute": rating}


def test_rows_tell_how_many_scans_are_unique_where_brute_force_calls_them_so():
    one, two, three, four = (
        [asked("unique", brute=True, p=0.999), asked("unique")],
        [asked("unique", brute=True, p=0.985), asked("ambiguous", brute=True, why="competitors"),
         asked("ambiguous", brute=True, fits=False, why="lead"), asked("ambiguous", brute=False),
         asked("unique", right=False, brute=False), asked("lost", brute=None)],
        [asked("ambiguous", brute=False)], [asked("unique")],
    )  # fmt: skip
    kinds = zip(("office", "hall", "warehouse", "symmetric"), (one, two, three, four), strict=True)
    lines = [{"plan": k, "kind": kind, "asked": some} for k, (kind, some) in enumerate(kinds)]
    rows = {row["what"]: row for row in rated_rows_of(lines)}
    assert rows["all"]["brute"] == {
        "rated": 8, "given_up": 1, "unique": 4, "too": 2, "share": 0.5,
        "interval": clopper_pearson(2, 4), "wrong": 1, "wrong_too": 1,
        "withheld": {"competitors": 1, "lead": 1},
        "levels": [
            {"probability": 0.99, "unique": 3, "too": 1, "share": 1 / 3,
             "interval": clopper_pearson(1, 3), "wrong": 1},
            {"probability": 0.998, "unique": 1, "too": 1, "share": 1.0,
             "interval": clopper_pearson(1, 1), "wrong": 0}],
    }  # fmt: skip
    assert (rows["office"]["brute"]["share"], rows["hall"]["brute"]["share"]) == (1.0, 1 / 3)
    assert (rows["warehouse"]["brute"]["share"], "brute" in rows["symmetric"]) == (None, False)
    assert rows["warehouse"]["brute"]["interval"] == (0.0, 1.0)
    assert rated_text_of([*rows.values()])
