"""Measure sites for `isovist bench`, and print rows as a table or as JSON."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import typer

from isovist.apps.cli.support.progress import bar
from isovist.arrays import IntArray
from isovist.errors import InputError
from isovist.evaluation import DEFAULT, LocateOptions, Row, Trial, measure, simulated_trials
from isovist.maps import AnyMap, MeshMap
from isovist.sensing import ScanSet
from isovist.storage import read_npz

if TYPE_CHECKING:
    from isovist.sensing import Lidar, Log, Placement, SpinningLidar
    from isovist.tracking import Update

COLUMNS = {
    "site": "site",
    "queries": "queries",
    "area_m2": "m²",
    "success": "right",
    "unique": "unique",
    "false_confident": "wrong and unique",
    "median_error_m": "median m",
    "median_error_deg": "median °",
    "coverage95": "coverage",
    "search_ms": "search ms",
    "refine_ms": "refine ms",
    "judge_ms": "judge ms",
    "median_ms": "median ms",
    "p95_ms": "95 % ms",
    "build_s": "build s",
}
PROOF_COLUMNS = {
    "proved_unique": "unique proved",
    "proof_wrong": "proofs wrong",
    "prove_ms": "prove ms",
}
Site = tuple[str, AnyMap, list[Trial]]


def simulate_site(
    world: AnyMap,
    lidar: "Lidar | SpinningLidar",
    count: int,
    seed: int,
    placement: "Placement | None" = None,
) -> tuple[AnyMap, list[Trial]]:
    """Return a map as cells, with simulated scans on it; the sensor sees a mesh as it is."""
    from isovist.atlas import as_cells

    cells, reality = as_cells(world), world if isinstance(world, MeshMap) else None
    return cells, simulated_trials(
        cells, count, lidar, seed=seed, placement=placement, reality=reality
    )


def simulate_sites(
    paths: Iterable[Path],
    lidar: "Lidar | SpinningLidar",
    count: int,
    seed: int,
    placement: "Placement | None" = None,
) -> Iterator[Site]:
    """Yield name, map and simulated trials of each map."""
    from isovist.apps.cli.support.scans import existing_files
    from isovist.io import read_map

    for path in existing_files(paths, "a map"):
        yield path.stem, *simulate_site(read_map(path), lidar, count, seed, placement)


def measure_sites(
    sites: Iterable[Site],
    as_json: bool,
    options: LocateOptions = DEFAULT,
    height: float | None = None,
) -> None:
    """Measure each site, and print its row as soon as it is there."""
    rows = []
    columns = COLUMNS | (PROOF_COLUMNS if options.prove else {})
    if not as_json:
        _print_head(columns.values())
    for site, world, trials in sites:
        if not trials:
            typer.echo(
                f"isovist: {site} has no query under this protocol; it is left out.", err=True
            )
            continue
        with bar(site) as advance:
            shares = iter(np.arange(1, len(trials) + 1) / len(trials))
            row = measure(
                site, world, trials,
                lambda: advance(float(next(shares))),  # noqa: B023
                height=height, options=options,
            )  # fmt: skip
        rows.append(row)
        if not as_json:
            typer.echo("| " + " | ".join(_cell(key, row[key]) for key in columns) + " |")
    if as_json:
        print_rows(rows, as_json)


def track_logs(site: str, world: AnyMap, logs: Sequence["Log"]) -> list[list["Update"]]:
    """Track all logs on one map, each from an unknown start, with a bar."""
    from isovist.atlas.build import build
    from isovist.tracking import Tracker
    from isovist.tracking.replay import replay

    atlas = build(world)
    list(replay(Tracker(atlas), logs[0], range(min(2, len(logs[0])))))  # loads the kernels
    total = sum(len(log) for log in logs)
    runs: list[list[Update]] = []
    with bar(site) as advance:
        for log in logs:
            runs.append([])
            for update in replay(Tracker(atlas), log):
                runs[-1].append(update)
                advance(sum(map(len, runs)) / total)
    return runs


def print_rows(rows: Sequence[Row], as_json: bool) -> None:
    """Print rows with the same keys, as a table or as JSON."""
    if as_json:
        typer.echo(json.dumps([_without_nan(row) for row in rows], indent=1))
        return
    _print_head(rows[0])
    for row in rows:
        typer.echo("| " + " | ".join(_cell("", row.get(key)) for key in rows[0]) + " |")


def _print_head(names: Iterable[str]) -> None:
    names = list(names)
    typer.echo("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|")


def _without_nan(value: object) -> object:
    """Replace NaN, the value without any right answer, by null."""
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def _cell(key: str, value: object) -> str:
    """Return a value with the digits of its column; without a column three digits."""
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "—"
    if not key:
        return f"{value:.3g}"
    if key in ("success", "unique", "false_confident", "coverage95", "proved_unique"):
        return f"{value:.1%}"
    digits = {"median_error_m": 3, "median_error_deg": 2, "build_s": 2}
    return f"{value:.{digits.get(key, 0)}f}"


def query_numbers(scans: ScanSet, held_out: bool, index: Path | None) -> IntArray:
    """Return the numbers of the scans of a set that are queries."""
    numbers = np.arange(len(scans))
    if held_out:
        if scans.in_map_split is None:
            raise InputError("These scans do not say which of them are in the map.", code="missing")
        numbers = numbers[~scans.in_map_split]
    if index is not None:
        listed = read_npz(index, "an index of scans", 1 << 26).get("index")
        if listed is None:
            raise InputError(f"{index.name}: the array `index` is missing.", code="missing")
        numbers = np.intersect1d(numbers, listed)
    return numbers
