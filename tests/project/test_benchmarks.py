"""Benchmarks are there, fuzzing tells findings from refusals, and a fault is not passed over."""

import sys
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import __main__ as bench
from tests.support.paths import ROOT

import isovist as iv

FOLDER = ROOT / "benchmarks"
NAMES = sorted(
    [path.stem for path in FOLDER.glob("[!_]*.py")]
    + [path.parent.name for path in FOLDER.glob("*/__main__.py")]
)


def test_every_benchmark_is_run_quickly_or_says_why_not():
    assert sorted([*bench.RUNS, *bench.NOT_RUN]) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_benchmark_finds_what_it_imports(name):
    module, known = f"benchmarks.{name}", set(sys.modules)
    import_module(module)
    if module not in known:  # others run it, and want it fresh
        del sys.modules[module]


def test_fuzzing_without_a_case_is_no_success():
    from benchmarks.fuzz import __main__ as fuzz

    with pytest.raises(SystemExit, match=r"^No case was begun\.$"):
        fuzz.tell([], 0, 5)


def test_the_fuzzing_tells_findings_from_refusals(tmp_path, monkeypatch):
    from benchmarks.fuzz import cases, readers

    home = tmp_path / "scan.csv"
    home.mkdir()
    (home / "seed.csv").write_text("bearing,range\n0.0,1.0\n0.1,1.0\n")

    def outcome(error):
        def use(_path):
            raise error

        monkeypatch.setitem(readers.USES, "scan", use)
        told = cases.run_case(tmp_path, 0, "scan.csv", 3)
        assert (told.row, told.refused) == ("scan.csv", not told.finding)
        return told.finding

    assert outcome(iv.FileError("seed.csv: no.")) == ""
    assert "not named" in outcome(iv.FileError("it is broken."))
    assert "no clear line" in outcome(iv.InputError("no full stop"))
    assert outcome(readers.WrongError("far off")) == "far off"
    assert outcome(KeyError("x")).startswith("KeyError at ")


def test_what_lacks_its_data_is_skipped_and_what_fails_is_a_failure(tmp_path, capsys, monkeypatch):
    assert bench.run("pair", tmp_path)
    assert str(tmp_path / "3d") in capsys.readouterr().out
    monkeypatch.setitem(bench.RUNS, "certificate", ("no number",))
    monkeypatch.delitem(sys.modules, "benchmarks.certificate", raising=False)  # another test's
    with pytest.raises(ValueError, match="no number"):
        bench.run("certificate", tmp_path)


def test_an_answer_that_lists_the_alias_of_a_survey_tells_it():
    from benchmarks.survey_space import Row, tells

    def answer(verdict, *poses):
        rows = (iv.Estimate(pose, np.eye(4), 0.5, 0.9, 4.0, False) for pose in poses)
        return iv.Answer(verdict, (), tuple(rows), {})

    places = np.array([[1.0, 1.0, 1.0], [4.0, 4.0, 1.0]])
    summary = SimpleNamespace(alias_xy=np.array([[8.0, 1.0], [4.2, 4.0]]))
    found = SimpleNamespace(places=places, summary=summary)
    both, unique = iv.Verdict.AMBIGUOUS, iv.Verdict.UNIQUE
    here, there = iv.Pose3(1.1, 1.0, 0.3, 1.0), iv.Pose3(8.5, 1.2, 2.0, 1.0)
    assert tells(found, 0, here, answer(both, here, there))
    assert not tells(found, 0, here, answer(both, here, iv.Pose3(9.5, 1.0, 0.0, 1.0)))
    # A place that is its own alias looks the same turned.
    near, turned = iv.Pose3(4.1, 4.0, 0.3, 1.0), iv.Pose3(4.1, 4.0, 3.4, 1.0)
    assert not tells(found, 1, near, answer(both, near))
    assert tells(found, 1, near, answer(both, near, turned))
    row = Row()
    row.add(answer(unique, there), here, False, 0.9)
    row.add(answer(both, here, there), here, True, 0.2)
    assert (row.asked, row.unique, row.wrong, row.listed) == (2, 1, 1, 1)
    assert row.predicted == pytest.approx(1.1)
