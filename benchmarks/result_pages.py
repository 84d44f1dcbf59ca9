"""Write the pages of measured results from the files of `benchmarks/results`.

    python -m benchmarks.result_pages     # `make results`

docs/benchmarks.md has what users need, docs/benchmarks has everything, for maintainers.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from scipy.stats import beta

from benchmarks.results import UNKNOWN, Result, Row, results

DOCS = Path(__file__).resolve().parents[1] / "docs"
LEVEL = 0.95


class Population(NamedTuple):
    """One row of the page for users: rows of one result, taken together."""

    text: str
    benchmark: str
    sites: tuple[str, ...] = ()  # all of them if empty


POPULATIONS = (
    Population("Six real buildings, 180° lidar, map of the same day †", "carmen"),
    Population("The same, map from the first half of each log †", "carmen_revisit"),
    Population(
        "Three buildings, map and scans of different drives",
        "scans",
        ("late intel", "late fr079", "gh25_office"),
    ),
    Population("Architect's plan, lidar above the furniture", "scans", ("jarvis/nav_",)),
    Population(
        "The same plan, lidar at 0.2 m: most of what it sees is not on the plan",
        "scans",
        ("jarvis/sec_",),
    ),
    Population("Two maps, simulated 360° lidar of 10 m", "simulate"),
    Population("Scans on the maps of other buildings †", "cross"),
    Population("Generated plans with repeating rooms, one seed", "calibration", ("seed 81",)),
    Population("The same, nine seeds together", "calibration", ("nine seeds",)),
    Population("3D map of a building, simulated scans", "simulate3d", ("16 rings, ±15°",)),
    Population("3D maps of generated streets, tilted sensor", "street"),
    Population("Tracker from unknown starts, 8 to 15 m of driving †", "starts"),
)
"""Rows of the page for users, at most 12."""
PAGES = {
    "accuracy": (
        "Accuracy in 2D",
        ("carmen", "carmen_revisit", "scans", "simulate", "cross", "check", "demo",
         "twins", "exhaustive", "calibration", "calibrate", "several", "floors", "library"),
    ),
    "tracking": (
        "Tracking, exploring and surveying",
        ("starts", "follow", "kidnap", "explore", "survey", "survey_space"),
    ),
    "space": (
        "3D",
        ("simulate3d", "lean", "office3d", "tower", "pair", "elsewhere", "street", "track_space"),
    ),
    "speed": (
        "Speed",
        ("first_minutes", "growth", "many", "cores", "inner", "mesh", "voxels",
         "occupancy", "descriptor", "cuda", "proofs"),
    ),
    "applications": ("Server, ROS and studio", ("serve", "ros", "ros_bag", "studio")),
    "robustness": (
        "Robustness and bounds",
        ("misuse", "fuzz", "long", "static_bound", "static_bound_3d", "dynamic_bound",
         "certificate", "complete"),
    ),
    "paper": ("The paper's method", ("paper_method", "baselines", "basins", "statements")),
}  # fmt: skip
"""Pages for maintainers: the title, and the benchmarks on each."""
HEADINGS = {
    "queries": "scans",
    "area_m2": "m²",
    "success": "right",
    "unique_of_right": "unique of right",
    "false_confident": "unique and wrong",
    "wrong_and_unique": "unique and wrong",
    "median_error_m": "median error, m",
    "median_error_deg": "median error, °",
    "p95_error_m": "95 % error, m",
    "coverage95": "inside the 95 % ellipse",
    "median_ms": "median ms",
    "p95_ms": "95 % ms",
    "build_s": "build s",
}
SHARES = ("success", "unique", "unique_of_right", "false_confident", "listed", "coverage95")


def interval(count: int, total: int) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson for a share, at the confidence `LEVEL`."""
    tail = (1.0 - LEVEL) / 2.0
    low = beta.ppf(tail, count, total - count + 1) if count else 0.0
    high = beta.ppf(1.0 - tail, count + 1, total - count) if count < total else 1.0
    return float(low), float(high)


def latest(runs: Iterable[Result]) -> list[Result]:
    """Return the last result of each command."""
    return list({run.command: run for run in sorted(runs, key=lambda run: run.date)}.values())


def measured_on(result: Result) -> str:
    """Return the commit or version that was measured, and the day."""
    version = result.versions.get("isovist")
    commit = f"`{result.commit}`" if result.commit != UNKNOWN else "another commit, unknown"
    return f"{commit}{f' (version {version})' if version else ''}, {result.date}"


def user_page(by_name: dict[str, list[Result]]) -> str:
    """Return the page for users: one row for each population."""
    lines = [
        "# Benchmarks",
        "",
        "How often one scan gives the right pose, and how often the verdict `unique` is wrong.",
        "",
        "- *Right* is within 0.5 m and 10° of the true pose. The heading is unknown, and no "
        "search region is given.",
        "- *Unique and wrong* is the error that matters: the answer claims to be sure and is not.",
        "- Brackets are 95 % intervals (Clopper and Pearson), as if scans were independent.",
        "- † marks sites that were looked at while the limits were chosen. Only the other rows "
        "are a clean test.",
        "- Every number is of the commit in the last column, which may differ from yours.",
        "",
        "| population | scans | right | unique | unique and wrong | median error | median time "
        "| measured on |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for population in POPULATIONS:
        (*_, result) = sorted(by_name[population.benchmark], key=lambda run: run.date)
        rows = [
            row for row in result.rows if not population.sites or row["site"] in population.sites
        ]
        lines.append(f"| {population.text} | {' | '.join(user_cells(rows))} "
                     f"| {measured_on(result)} |")  # fmt: skip
    lines += ["", "The commands, the sites one by one, and everything else that is measured:", ""]
    lines += [f"- [{title}](benchmarks/{page}.md)" for page, (title, _) in PAGES.items()]
    lines += ["- [How the limits of `unique` were calibrated](benchmarks/calibration.md)"]
    lines += [
        "",
        "Those pages name the machine of each time. `python -m benchmarks --save NAME ARGUMENT…` "
        "keeps a new result, and `make results` writes these pages.",
    ]
    return "\n".join(lines) + "\n"


def user_cells(rows: Sequence[Row]) -> list[str]:
    """Return the number of scans, three shares with intervals, the error and the time."""
    total = sum(row["queries"] for row in rows)
    cells = [spaced(total)]
    for key in ("success", "unique", "false_confident"):
        if not all(key in row for row in rows):
            cells.append("–")
            continue
        count = round(sum(row[key] * row["queries"] for row in rows))
        cells.append(share(count, total, as_count=key == "false_confident"))
    for key, unit in (("median_error_m", "m"), ("median_ms", "ms")):
        values = [row[key] for row in rows if row.get(key) is not None]
        ends = [f"{value:g}" for value in sorted({min(values), max(values)})] if values else []
        cells.append(f"{'–'.join(ends)} {unit}" if values else "–")
    return cells


def share(count: int, total: int, as_count: bool) -> str:
    """Return a share and its interval, or for a rare event the count and its upper end."""
    low, high = interval(count, total)
    if as_count:
        return f"{count} (≤ {100 * high:.2g} %)"
    return f"{100 * count / total:.1f} % ({100 * low:.1f}–{100 * high:.1f})"


def spaced(number: int) -> str:
    """Return a number with a thin space between thousands."""
    return f"{number:,}".replace(",", "\u202f")


def page(title: str, names: Sequence[str], by_name: dict[str, list[Result]]) -> str:
    """Return a page for maintainers: every result of these benchmarks, with its command."""
    lines = [f"# {title}", "", "Written by `make results` from `benchmarks/results`.", ""]
    for name in names:
        runs = latest(by_name.get(name, ()))
        lines += [f"## {name}", ""]
        for run in runs:
            lines += [f"`{run.command}`", ""]
            lines += [run.conditions, ""] if run.conditions else []
            lines += [*tables(run.rows)]
            lines += [*(f"- {note}" for note in run.notes), ""] if run.notes else []
            load = f"load {run.load:g}" if run.load is not None else "load unknown"
            lines += [f"Measured on: {measured_on(run)}; {run.cpu}; {load}; {origin(run)}.", ""]
        earlier = len(by_name.get(name, ())) - len(runs)
        lines += [f"Earlier results: {earlier}.", ""] if earlier else []
    return "\n".join(lines)


def origin(run: Result) -> str:
    """Return where the rows come from."""
    return "written by the benchmark" if run.source == "run" else f"copied from {run.source}"


def tables(rows: Sequence[Row]) -> Iterable[str]:
    """Yield the lines of one table for each run of rows with the same columns."""
    for columns, group in groupby(rows, key=tuple):
        yield f"| {' | '.join(HEADINGS.get(key, key) for key in columns)} |"
        yield "|---" * len(columns) + "|"
        for row in group:
            yield f"| {' | '.join(cell(key, value) for key, value in row.items())} |"
        yield ""


def cell(key: str, value: object) -> str:
    """Return a value as it is shown: shares in percent, other numbers with four digits."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{100 * value:.3g} %" if key in SHARES and 0 <= value <= 1 else f"{value:.4g}"
    return spaced(value) if isinstance(value, int) else str(value)


def pages() -> dict[Path, str]:
    """Return the text of every page by its file."""
    by_name = results()
    return {
        DOCS / "benchmarks.md": user_page(by_name),
        **{
            DOCS / "benchmarks" / f"{name}.md": page(title, names, by_name)
            for name, (title, names) in PAGES.items()
        },
    }


def main() -> None:
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
