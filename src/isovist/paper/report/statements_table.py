"""Print the table of `isovist paper verify`."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from isovist.paper.statements.statement import Row


def print_statements(rows: Sequence[Row]) -> None:
    """Print one table per group, with counter-examples below it, and a summary."""
    console = Console()
    for group in dict.fromkeys(row.group for row in rows):
        of_group = [row for row in rows if row.group == group]
        console.print(_table(group, of_group))
        for row in of_group:
            if row.example and not row.holds:
                console.print(
                    Text.assemble(("✗ ", "yellow"), _name(row), ": ", (row.example, "dim"))
                )
        console.print()
    holding = sum(row.holds for row in rows)
    refuted = sum(not row.holds and not row.should_hold for row in rows)
    surprises = sum(not row.right for row in rows)
    console.print(
        f"{len(rows)} statements, {sum(row.cases for row in rows)} cases: {holding} hold, "
        f"{refuted} printed ones are refuted as known, {surprises} surprises.",
        highlight=False,
    )


def _table(group: str, rows: Sequence[Row]) -> Table:
    table = Table(title=group.capitalize(), title_justify="left", title_style="bold")
    table.add_column("statement, and what was computed", ratio=1)
    table.add_column("d", no_wrap=True)
    for name in ("cases", "worst", "limit"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        table.add_row(
            Text.assemble(_name(row), "\n", (row.computed, "dim")),
            ",".join(str(d) for d in row.dimensions), str(row.cases),
            f"{row.worst:.2g}", f"{row.limit:.2g}", _verdict(row),
        )  # fmt: skip
    return table


def _name(row: Row) -> str:
    return f"{row.name} ({row.version})" if row.version else row.name


def _verdict(row: Row) -> Text:
    if row.holds:
        return Text("holds", "green") if row.right else Text("HOLDS?", "bold red")
    return Text("refuted", "yellow") if row.right else Text("FAILS", "bold red")
