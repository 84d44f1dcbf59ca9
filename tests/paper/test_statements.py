"""`isovist verify`: every statement of the paper, tried."""

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from isovist.apps import verify
from isovist.paper import Finding, Statement, registry, try_statement, worst_of
from isovist.theory.verify import statements

pytestmark = pytest.mark.slow

REFUTED = {
    "§5.3 Proposition: G is positive definite and inverted": "n = 32, ε = 0.5 at (1.5, 2)",
    "§5.7 Proposition: derivative without the shadow term": "σ = (1.28530, 1.08001), truly",
    "§6.1 Proposition: static error, constant": "(Lh + η)/μ",
    "§6.1 Proposition: static error, aliases": "two equal rooms",
    "§6.2 Gramian: increments have rank one": "eigenvalues of JᵀJ",
    "§6.3 Remark: degenerate maps have measure zero in any family": "100% are degenerate",
    "§6.3 Remark: degenerate maps have empty interior, for ranges that are cut off": "100%",
}


@pytest.mark.parametrize("statement", registry(), ids=lambda s: f"{s.name} {s.version}")
def test_every_statement_does_as_it_should(statement: Statement):
    row = try_statement(statement, 8)
    assert row.right, (row.worst, row.limit, row.example)
    if not statement.holds:
        assert row.example
        assert REFUTED.get(row.name, "") in row.example


def test_the_register_is_complete_and_its_rows_are_distinct():
    everything = registry()
    assert len(everything) >= 25
    assert len({(s.name, s.version) for s in everything}) == len(everything)
    assert {d for s in everything for d in s.dimensions} == {2, 3}
    assert set(REFUTED) <= {s.name for s in everything if not s.holds}
    assert all(s.version == "as printed" for s in everything if not s.holds)


def test_a_value_that_is_no_number_never_holds():
    assert not worst_of(np.array([0.0, np.nan]), 1.0).holds
    assert not Finding(0, 0.0, 1.0).holds


def _run(monkeypatch: pytest.MonkeyPatch, broken: bool, *arguments: str) -> tuple[int, str]:
    def check(_: statements.Trial) -> Finding:
        return Finding(7, 2.0 if broken else 0.5, 1.0, "a case")

    rows = (
        Statement("weights", "One", "a ratio", check),
        Statement("weights", "Two", "a ratio", lambda _: Finding(1, 3.0, 1.0, "seen"), "as printed",
                  False),
    )  # fmt: skip
    monkeypatch.setattr(statements, "registry", lambda: rows)
    app = typer.Typer()
    app.command()(verify)
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout


def test_the_table_says_what_failed_as_known_and_the_exit_code_is_0(
    monkeypatch: pytest.MonkeyPatch,
):
    code, out = _run(monkeypatch, False)
    assert code == 0
    assert "refuted" in out
    assert "✗ Two (as printed): seen; seen" in out
    summary = "2 statements, 16 cases: 1 hold, 1 printed ones are refuted as known, 0 surprises."
    assert summary in " ".join(out.split())


def test_a_statement_that_should_hold_and_fails_gives_exit_code_1(monkeypatch: pytest.MonkeyPatch):
    code, out = _run(monkeypatch, True, "--json", "--quick")
    assert code == 1
    report = json.loads(out)
    assert not report["right"]
    assert [row["right"] for row in report["rows"]] == [False, True]
    assert report["rows"][0]["worst"] == 2.0
