"""Rows that are kept, and what got worse since the row before."""

import io
import json
import sys

import pytest
from benchmarks import history

ROW = {"site": "intel", "success": 0.98, "median_ms": 20.0, "median_error_m": 0.02, "note": "x",
       "calibration": {}, "build_s": float("nan")}  # fmt: skip


def entry(values, machine="a", row="carmen intel"):
    return {"date": "2026-01-01", "version": "0", "machine": machine, "row": row, "values": values}


def run(monkeypatch, capsys, *words, rows=None):
    monkeypatch.setattr(sys, "argv", ["history", *map(str, words)])
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(rows)))
    code = 0
    try:
        history.main()
    except SystemExit as end:
        code = end.code
    return code, capsys.readouterr().out.splitlines()


def test_rows_are_kept_by_name_with_their_numbers_alone():
    (kept,) = history.entries([ROW], "carmen")
    assert kept["row"] == "carmen intel"
    assert kept["values"] == {"success": 0.98, "median_ms": 20.0, "median_error_m": 0.02}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"success": 0.98}, {"success": 0.90},
         [("worse: carmen intel: success 0.98 → 0.9 (0.918 ×)", True)]),
        ({"median_ms": 20.0}, {"median_ms": 10.0},
         [("better: carmen intel: median_ms 20 → 10 (0.5 ×)", False)]),
        ({"false_confident": 0}, {"false_confident": 1},
         [("worse: carmen intel: false_confident 0 → 1 (from 0)", True)]),
        ({"success": 0.98}, {"success": 0.975}, []),
        ({"area_m2": 10.0}, {"area_m2": 20.0}, []),
    ],
)  # fmt: skip
def test_what_changed_is_told_with_its_ratio(before, after, told):
    assert list(history.changes(entry(before), entry(after), 0.02)) == told


def test_times_of_two_machines_are_not_compared():
    slow, fast = entry({"median_ms": 90.0}, "a"), entry({"median_ms": 9.0}, "b")
    assert list(history.changes(slow, fast, 0.02)) == []


def test_the_command_adds_rows_and_says_what_is_worse(tmp_path, monkeypatch, capsys):
    path = tmp_path / "history.jsonl"
    told = run(monkeypatch, capsys, "--file", path, "--add", "carmen", rows=[ROW])
    assert told == (0, ["1 rows of carmen added to history.jsonl."])
    assert run(monkeypatch, capsys, "--file", path) == (
        0, ["1 rows, 1 entries: 0 worse, 0 better."]
    )  # fmt: skip
    slower = {**ROW, "median_ms": 30.0, "success": 1.0}
    run(monkeypatch, capsys, "--file", path, "--add", "carmen", rows=[slower])
    code, lines = run(monkeypatch, capsys, "--file", path)
    assert code == 1
    assert lines == [
        "worse: carmen intel: median_ms 20 → 30 (1.5 ×)",
        "better: carmen intel: success 0.98 → 1 (1.02 ×)",
        "1 rows, 2 entries: 1 worse, 1 better.",
    ]


def test_the_history_that_is_kept_can_be_read():
    lines = history.FILE.read_text(encoding="utf-8").splitlines()
    assert len(lines) >= 26
    for line in map(json.loads, lines):
        assert {"date", "version", "machine", "row", "values"} == set(line)
        assert line["values"]
