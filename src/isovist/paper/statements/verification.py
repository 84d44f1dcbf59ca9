"""All statements of the paper, and how they are run."""

from isovist.paper.statements import (
    dynamic,
    errata,
    genericity,
    heading,
    localization,
    map_space,
    metric,
    signal_space,
    stability,
    weights,
)
from isovist.paper.statements.statement import FULL, QUICK, Progress, Row, Statement, try_statement
from isovist.paper.statements.worlds import buildings


def registry() -> tuple[Statement, ...]:
    """Return all statements, in the order of the paper."""
    signals = (weights, signal_space, metric, stability)
    places = (map_space, buildings, localization, dynamic, heading, errata, genericity)
    return tuple(statement for part in (*signals, *places) for statement in part.STATEMENTS)


def run(*, quick: bool = False, progress: Progress | None = None) -> list[Row]:
    """Check every statement on 1000 cases or more, or on 40 with `quick`."""
    statements = registry()
    rows = []
    for k, statement in enumerate(statements):
        if progress is not None:
            progress(statement.name, k, len(statements))
        rows.append(try_statement(statement, QUICK if quick else FULL))
    if progress is not None:
        progress("", len(statements), len(statements))
    return rows
