"""The table of `isovist verify`."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from isovist.verify.statements import Row


def print_statements(rows: Sequence[Row]) -> None:
    """One table per group, the counter-examples below it, and a summary."""
    console = Console()
    for group in dict.fromkeys(row.group for row in rows):
        table = Table(title=group.capitalize(), title_justify="left", title_style="bold")
        table.add_column("statement", ratio=5)
        table.add_column("version")
        table.add_column("computed", ratio=4)
        table.add_column("d")
        for name in ("cases", "worst", "limit"):
            table.add_column(name, justify="right")
        table.add_column("verdict")
        here = [row for row in rows if row.group == group]
        for row in here:
            table.add_row(
                row.name, row.version, row.computed,
                ", ".join(str(d) for d in row.dimensions), str(row.cases),
                f"{row.worst:.3g}", f"{row.limit:.3g}", _verdict(row),
            )  # fmt: skip
        console.print(table)
        for row in here:
            if row.example and not row.holds:
                console.print(f"  ✗ {row.name}: {row.example}", style="dim", highlight=False)
    held = sum(row.holds for row in rows)
    refuted = sum(not row.holds and not row.should_hold for row in rows)
    wrong = [row for row in rows if not row.right]
    console.print(
        f"{len(rows)} statements, {sum(row.cases for row in rows)} cases: {held} hold, "
        f"{refuted} printed ones are refuted as known, {len(wrong)} surprises.",
        highlight=False,
    )


def _verdict(row: Row) -> str:
    if row.holds:
        return "[green]holds[/green]" if row.right else "[red]holds, but should not[/red]"
    return "[yellow]fails, as known[/yellow]" if row.right else "[red]FAILS[/red]"
