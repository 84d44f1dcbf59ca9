"""Every benchmark is run by `make bench` and has a row."""

import sys
from importlib import import_module

import numpy as np
import pytest
from benchmarks import __main__ as bench
from tests.support.paths import ROOT

from isovist import FileError, InputError

FOLDER = ROOT / "benchmarks"
NAMES = sorted(
    [path.stem for path in FOLDER.glob("[!_]*.py")]
    + [path.parent.name for path in FOLDER.glob("*/__main__.py")]
)


def test_every_module_is_run_or_makes_a_world():
    assert sorted([*bench.RUNS, *bench.WORLDS]) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_finds_what_it_imports(name):
    module, known = f"benchmarks.{name}", set(sys.modules)
    import_module(module)
    if module not in known:  # others run it, and want it fresh
        del sys.modules[module]


@pytest.mark.parametrize("name", bench.RUNS)
def test_every_benchmark_has_a_row_with_its_command(name):
    assert f"`python -m benchmarks.{name}" in (ROOT / "BENCHMARK.md").read_text()


def test_a_case_of_the_fuzzing_is_always_the_same():
    from benchmarks.fuzz.mutations import damage

    content = b"ply\nformat ascii 1.0\nelement vertex 3\n"
    for k in range(50):
        a, b = (damage("a.ply", content, np.random.default_rng([7, k])) for _ in range(2))
        assert a == b
    for name, text in {
        "a.json": b'{"a": [1, 2]}',
        "a.yaml": b"image: a.pgm\norigin: [1, 2]\n",
    }.items():
        changed = [damage(name, text, np.random.default_rng(k)) for k in range(50)]
        assert len(set(changed)) > 30


def test_fuzzing_without_a_case_is_no_success():
    from benchmarks.fuzz import __main__ as fuzz

    with pytest.raises(SystemExit, match=r"^No case was begun\.$"):
        fuzz.tell([], 0, 5)


def test_the_fuzzing_tells_findings_from_refusals(tmp_path, monkeypatch):
    from benchmarks.fuzz import cases, readers

    home = tmp_path / "scan.csv"
    home.mkdir()
    (home / "seed.csv").write_text("bearing,range\n0.0,1.0\n0.1,1.0\n")
    monkeypatch.setattr(cases.scans, "ASKED", {})
    monkeypatch.setattr(cases.requests, "ASKED", {})
    for more in (cases.verbs, cases.serving):
        monkeypatch.setattr(more, "ASKED", {})
    said = {
        FileError("seed.csv: no."): "",
        FileError("it is broken."): "the file is not named first: 'it is broken.'",
        InputError("no full stop"): "no clear line: 'no full stop'",
        readers.WrongError("unique, and far off"): "unique, and far off",
    }
    for error, finding in said.items():

        def use(_path, error=error):
            raise error

        monkeypatch.setitem(readers.USES, "scan", use)
        outcome = cases.run_case(tmp_path, 0, "scan.csv", 3)
        assert (outcome.row, outcome.finding) == ("scan.csv", finding)
        assert outcome.refused == (not finding)

    def fail(_path):
        raise KeyError("x")

    monkeypatch.setitem(readers.USES, "scan", fail)
    outcome = cases.run_case(tmp_path, 0, "scan.csv", 3)
    assert outcome.finding.startswith("KeyError at ")


def test_what_lacks_its_data_is_skipped_in_one_line(tmp_path, capsys):
    assert bench.run("pair", tmp_path)
    missing = tmp_path / "3d"
    assert capsys.readouterr().out == f"\nbenchmarks.pair is skipped: there is no {missing}.\n"


def test_a_benchmark_that_fails_is_a_failure(monkeypatch, tmp_path):
    monkeypatch.setitem(bench.RUNS, "certificate", ("no number",))
    with pytest.raises(ValueError, match="no number"):
        bench.run("certificate", tmp_path)


def test_an_answer_that_lists_the_alias_of_a_survey_tells_it():
    from types import SimpleNamespace

    from benchmarks.survey_space import Row, tells

    from isovist import Answer, Estimate, Pose3, Verdict

    def answer(verdict, *poses):
        rows = (Estimate(pose, np.eye(4), 0.5, 0.9, 4.0, False) for pose in poses)
        return Answer(verdict, "", tuple(rows), {})

    places = np.array([[1.0, 1.0, 1.0], [4.0, 4.0, 1.0]])
    looks = SimpleNamespace(alias_xy=np.array([[8.0, 1.0], [4.2, 4.0]]))
    found = SimpleNamespace(places=places, looks=looks)
    here, there = Pose3(1.1, 1.0, 0.3, 1.0), Pose3(8.5, 1.2, 2.0, 1.0)
    assert tells(found, 0, here, answer(Verdict.AMBIGUOUS, here, there))
    assert not tells(found, 0, here, answer(Verdict.AMBIGUOUS, here, Pose3(9.5, 1.0, 0.0, 1.0)))
    # A place that is its own alias looks the same turned.
    near, turned = Pose3(4.1, 4.0, 0.3, 1.0), Pose3(4.1, 4.0, 3.4, 1.0)
    assert not tells(found, 1, near, answer(Verdict.AMBIGUOUS, near))
    assert tells(found, 1, near, answer(Verdict.AMBIGUOUS, near, turned))
    row = Row()
    row.add(answer(Verdict.UNIQUE, there), here, False, 0.9)
    row.add(answer(Verdict.AMBIGUOUS, here, there), here, True, 0.2)
    assert (row.asked, row.unique, row.wrong, row.listed) == (2, 1, 1, 1)
    assert row.predicted == pytest.approx(1.1)
