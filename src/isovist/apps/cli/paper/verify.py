"""`isovist paper verify`: every statement of the paper with its numerical evidence."""

import json
from typing import Annotated

import typer

from isovist.apps.cli.support.options import Json

Quick = Annotated[
    bool, typer.Option("--quick", help="Try 40 cases of each statement instead of 1000.")
]


def verify(as_json: Json = False, quick: Quick = False) -> None:
    """Try every statement of the paper on random cases, beside its correction where it needs one.

    Exit code 1 if a statement that should hold fails, or one that is known to be wrong does not.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from isovist.paper import print_statements, run

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        rows = run(
            quick=quick,
            progress=lambda name, done, total: bar.update(
                task, description=name, completed=done, total=total
            ),
        )
    right = all(row.right for row in rows)
    if as_json:
        typer.echo(json.dumps({"right": right, "rows": [row.as_dict() for row in rows]}, indent=1))
    else:
        print_statements(rows)
    raise typer.Exit(0 if right else 1)
