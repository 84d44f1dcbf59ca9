"""Print the tables of the paper's example."""

from typing import Any

from rich.console import Console
from rich.table import Table


def _place(position: Any) -> str:
    return f"({position[0]:.3f}, {position[1]:.3f})"


def place_text(position: Any) -> str:
    """Format a position for a title, in m."""
    return f"({position[0]:.2f}, {position[1]:.2f})"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(column, justify="right")
    return table


def print_example(rows: dict[str, Any]) -> None:
    """Print the tables of section 7 of the paper, with the exact value beside each number."""
    console = Console()
    exact = rows["phi_exact"]
    channels = (0, 1, len(exact) // 2)
    table = _table(
        f"Sums of S terms at {place_text(rows['summary']['described'])} m", "S",
        *[f"φ{i + 1}" for i in channels], "to S = 16384", "to exact",
    )  # fmt: skip
    for row in rows["convergence"]:
        phi = row["phi"]
        true = max(abs(a - b) for a, b in zip(phi, exact, strict=True))
        gap = f"{row['error']:.1e}" if row["error"] else "—"
        cells = [f"{phi[i]:.4f}" for i in channels]
        table.add_row(str(row["S"]), *cells, gap, f"{true:.1e}")
    table.add_row("exact", *[f"{exact[i]:.4f}" for i in channels], "", "0")
    console.print(table)

    ratios = ", ".join(f"{ratio:.1f}" for ratio in rows["error_ratios"])
    console.print(f"Errors fall by {ratios} for four times the terms: the range jumps, at")
    for jump in rows["jumps"]:
        console.print(
            f"  {jump['angle']:.3f} rad from {jump['before']:.2f} to {jump['after']:.2f} m"
        )

    table = _table("Nearest nodes", "rank", "node (m)", "‖F − F_obs‖", "true error (m)")
    for rank, row in enumerate(rows["nearest"], start=1):
        cells = [f"{row['distance']:.4f}", f"{row['true_error']:.3f}"]
        table.add_row(str(rank), _place(row["node"]), *cells)
    console.print(table)

    for key, title in (
        ("gauss_newton", "Gauss–Newton as in the paper (S = 1024, differences of 0.05 m)"),
        ("gauss_newton_exact", "Gauss–Newton with exact F and J"),
    ):
        table = _table(title, "step", "position (m)", "‖F − F_obs‖", "error (m)")
        for step, row in enumerate(rows[key]):
            digits = "{:.4f}" if key == "gauss_newton" else "{:.1e}"
            cells = [digits.format(row["residual"]), digits.format(row["error"])]
            table.add_row(str(step), _place(row["position"]), *cells)
        console.print(table)

    table = _table("Certificate at the nearest node", "Jacobian", "σ1", "σ2 = μ")
    for key, name in (
        ("singular_values", "differences of 0.05 m (paper)"),
        ("singular_values_exact", "exact"),
        ("singular_values_without_shadow", "closed form without the shadow term"),
    ):
        table.add_row(name, *[f"{s:.3f}" for s in rows[key]])
    console.print(table)

    comparison = rows["static_and_dynamic"]
    title = f"Static against dynamic, to first order, η = {comparison['noise']:g}"
    table = _table(title, "", "static", "dynamic, 0.5 m in 1 s")
    table.add_row("observation", "F_obs", "F_obs(t)")
    mu, lambda_min = comparison["mu"], comparison["lambda_min"]
    table.add_row("told apart by", f"μ = {mu:.3f}", f"λ_min(W) = {lambda_min:.3f}")
    bounds = (f"{comparison[f'{kind}_bound']:.4f}" for kind in ("static", "dynamic"))
    table.add_row("error bound (m)", *bounds)
    table.add_row("improves with", "n, and a finer grid", "λ_min, not with time as such")
    console.print(table)

    summary = rows["summary"]
    table = _table("Summary", "", "paper's way", "exact")
    table.add_row("nodes", str(summary["nodes"]), "")
    table.add_row("spacing (m)", f"{summary['spacing']:.1f}", "")
    table.add_row("covering radius (m), at most", "", f"{summary['covering_radius']:.3f}")
    table.add_row("nearest-node error (m)", f"{summary['nearest_error']:.3f}", "")
    table.add_row(
        "Gauss–Newton error (m)",
        f"{summary['gauss_newton_error']:.1e}",
        f"{summary['gauss_newton_exact_error']:.1e}",
    )
    table.add_row("μ", f"{rows['mu']:.3f}", f"{rows['mu_exact']:.3f}")
    console.print(table)
