"""Results of benchmarks: kept with where they come from, compared, and shown on pages."""

import json
from dataclasses import replace

import pytest
from benchmarks import result_pages
from benchmarks.results import UNKNOWN, Result, add, changes, compare, parse, results, saving

ROWS = ({"site": "intel", "success": 0.98, "median_ms": 20.0, "false_confident": 0},)
RUN = Result("carmen", "isovist bench carmen LOG", ROWS, date="2026-01-01", machine="a")


def test_what_a_benchmark_prints_is_kept_as_rows_and_notes(tmp_path, capsys):
    with saving("a", "python -m benchmarks.a", tmp_path):
        print("| map | right |\n|---|---|\n| hall | 3 |\n| office | 2 of 4 |\nbar 5")
    ((result,),) = results(tmp_path).values()
    assert result.rows == ({"map": "hall", "right": 3}, {"map": "office", "right": "2 of 4"})
    assert result.notes == ("bar 5",)
    assert {"python", "isovist", "numba"} <= set(result.versions)
    assert UNKNOWN not in (result.date, result.machine, result.cpu)
    assert "| hall | 3 |" in capsys.readouterr().out


def test_a_benchmark_that_fails_leaves_no_result(tmp_path):
    with pytest.raises(SystemExit), saving("a", "a", tmp_path):
        raise SystemExit(1)
    assert results(tmp_path) == {}


def test_columns_of_one_name_are_told_apart():
    (row,), _ = parse("| a | a |\n|---|---|\n| 1 | 2.5 |\n")
    assert row == {"a": 1, "a (2)": 2.5}


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
def test_a_number_that_changed_is_better_or_worse(name, before, after, worse):
    old, new = (replace(RUN, rows=({"site": "intel", name: value},)) for value in (before, after))
    assert [is_worse for is_worse, _ in changes(old, new, 0.02)] == worse


def test_times_of_two_machines_are_not_compared():
    slower = replace(RUN, rows=({**ROWS[0], "median_ms": 90.0},), machine="b")
    assert list(changes(RUN, slower, 0.02)) == []


def test_the_last_two_results_of_a_benchmark_are_compared(tmp_path, capsys):
    RUN.write(tmp_path)
    add("carmen", RUN.command, [json.dumps([{**ROWS[0], "success": 0.5}])], tmp_path)
    assert compare(tmp_path, 0.02) == 1
    assert "worse: carmen intel: success" in capsys.readouterr().out


def test_every_result_is_on_one_page_and_the_pages_are_those_of_the_results():
    placed = [name for _, names in result_pages.PAGES.values() for name in names]
    assert sorted(placed) == sorted(results())
    for path, text in result_pages.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make results`"


def test_the_page_for_users_has_at_most_twelve_rows():
    assert len(result_pages.POPULATIONS) <= 12
    assert result_pages.interval(0, 1762)[1] == pytest.approx(0.0021, abs=1e-4)
