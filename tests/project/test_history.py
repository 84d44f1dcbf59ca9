"""Rows that are kept, and what got worse since the row before."""

import json
import subprocess
import sys

import pytest
from benchmarks import history
from tests.support.paths import ROOT

ROW = {"site": "intel", "success": 0.98, "median_ms": 20.0, "median_error_m": 0.02, "note": "x",
       "calibration": {}, "build_s": float("nan")}  # fmt: skip


def entry(values, machine="a", row="carmen intel"):
    return {"date": "2026-01-01", "version": "0", "machine": machine, "row": row, "values": values}


def changes(before, after, **how):
    """Name of the value and whether it got worse, of every change."""
    told = history.changes(entry(before), entry(after, **how), 0.02)
    return [(text.split()[3], worse) for text, worse in told]


def test_rows_are_kept_by_name_with_their_numbers_alone():
    (kept,) = history.entries([ROW], "carmen")
    assert kept["row"] == "carmen intel"
    assert kept["values"] == {"success": 0.98, "median_ms": 20.0, "median_error_m": 0.02}


@pytest.mark.parametrize(
    ("name", "before", "after", "worse"),
    [
        ("success", 0.98, 0.90, [True]),
        ("median_ms", 20.0, 10.0, [False]),
        ("false_confident", 0, 1, [True]),
        ("success", 0.98, 0.975, []),
        ("area_m2", 10.0, 20.0, []),
    ],
)
def test_what_changed_is_better_or_worse(name, before, after, worse):
    assert changes({name: before}, {name: after}) == [(name, one) for one in worse]


def test_times_of_two_machines_are_not_compared():
    assert changes({"median_ms": 90.0}, {"median_ms": 9.0}, machine="b") == []


@pytest.mark.slow
def test_the_command_adds_rows_and_says_what_is_worse(tmp_path):
    def run(*words, rows=None):
        command = [sys.executable, "-m", "benchmarks.history", "--file", str(path), *words]
        done = subprocess.run(
            command, input=json.dumps(rows), capture_output=True, text=True, cwd=ROOT, check=False
        )
        return done.returncode, done.stdout

    path = tmp_path / "history.jsonl"
    assert run("--add", "carmen", rows=[ROW])[0] == 0
    assert run()[0] == 0
    run("--add", "carmen", rows=[{**ROW, "median_ms": 30.0, "success": 1.0}])
    code, out = run()
    assert code == 1
    assert [line.split(":")[0] for line in out.splitlines()[:2]] == ["worse", "better"]
    assert "2 entries: 1 worse, 1 better" in out


def test_the_history_that_is_kept_can_be_read():
    rows = [json.loads(line) for line in history.FILE.read_text(encoding="utf-8").splitlines()]
    assert rows
    assert list(history.changes(rows[0], rows[0], 0.02)) == []
