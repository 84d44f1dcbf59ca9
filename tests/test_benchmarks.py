"""Every benchmark is run by `make bench` and has a row."""

from pathlib import Path

import pytest
from benchmarks import __main__ as bench

ROOT = Path(__file__).parent.parent
NAMES = sorted(path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))


def test_every_module_is_run_or_makes_a_world():
    assert sorted([*bench.RUNS, *bench.WORLDS]) == NAMES


@pytest.mark.parametrize("name", bench.RUNS)
def test_every_benchmark_has_a_row_with_its_command(name):
    assert f"`python -m benchmarks.{name}" in (ROOT / "BENCHMARK.md").read_text()


def test_what_lacks_its_data_is_skipped_in_one_line(tmp_path, capsys):
    assert bench.run("pair", tmp_path)
    missing = tmp_path / "3d"
    assert capsys.readouterr().out == f"\nbenchmarks.pair is skipped: there is no {missing}.\n"


def test_a_benchmark_that_fails_is_a_failure(monkeypatch, tmp_path):
    monkeypatch.setitem(bench.RUNS, "certificate", ("no number",))
    with pytest.raises(ValueError, match="no number"):
        bench.run("certificate", tmp_path)
