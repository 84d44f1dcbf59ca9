"""`isovist paper verify`: every statement of the paper, tried."""

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from isovist.apps import verify
from isovist.paper import Finding, Statement, registry, try_statement, worst_of

pytestmark = pytest.mark.slow

NUMBERS = {
    "§5.3 Proposition: G is positive definite and inverted": "n = 32, ε = 0.5 at (1.5, 2)",
    "§5.7 Proposition: derivative without the shadow term": "σ = (1.28530, 1.08001)",
    "§6.3 Remark: degenerate maps have measure zero in any family": "100%",
    "§6.3 Remark: degenerate maps have empty interior, for ranges that are cut off": "100%",
}


@pytest.mark.parametrize("statement", registry(), ids=lambda s: f"{s.name} {s.version}")
def test_every_statement_does_as_it_should(statement):
    row = try_statement(statement, 8)
    assert row.right, (row.worst, row.limit, row.example)
    if not statement.holds:
        assert statement.version == "as printed"
        assert row.example
        assert NUMBERS.get(row.name, "") in row.example


def test_the_rows_of_the_register_are_distinct():
    everything = registry()
    assert len({(s.name, s.version) for s in everything}) == len(everything)
    assert set(NUMBERS) <= {s.name for s in everything if not s.holds}


def test_a_value_that_is_no_number_never_holds():
    assert not worst_of(np.array([0.0, np.nan]), 1.0).holds
    assert not Finding(0, 0.0, 1.0).holds


@pytest.mark.parametrize(("worst", "exit_code"), [(0.5, 0), (2.0, 1)])
def test_what_should_hold_and_fails_ends_with_an_error(monkeypatch, worst, exit_code):
    rows = (
        Statement("weights", "One", "a ratio", lambda _: Finding(7, worst, 1.0, "a case")),
        Statement("weights", "Two", "a ratio", lambda _: Finding(1, 3.0, 1.0), "as printed", False),
    )
    monkeypatch.setattr("isovist.paper.statements.verification.registry", lambda: rows)
    app = typer.Typer()
    app.command()(verify)
    result = CliRunner().invoke(app, ["--json", "--quick"])
    assert result.exit_code == exit_code
    report = json.loads(result.stdout)
    assert [row["right"] for row in report["rows"]] == [exit_code == 0, True]
    assert report["right"] == (exit_code == 0)
    assert report["rows"][0]["worst"] == worst
    told = CliRunner().invoke(app, [])
    assert told.exit_code == exit_code
    assert ("One" in told.stdout, "Two" in told.stdout) == (True, True)
