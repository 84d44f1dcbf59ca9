"""Rows of `isovist bench`, as a table or as JSON."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from isovist.apps.cli.support.progress import bar
from isovist.arrays import IntArray
from isovist.errors import InputError
from isovist.evaluation.metrics import Row
from isovist.evaluation.protocols import Trial, measure, simulated_trials
from isovist.maps.kinds import AnyMap
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.sensing.scan_set import ScanSet
from isovist.storage.files import read_npz

if TYPE_CHECKING:
    from isovist.sensing.log import Log
    from isovist.sensing.models.lidar2d import Lidar
    from isovist.sensing.models.spinning import SpinningLidar
    from isovist.tracking.replay import Update

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
PROVED = {"proved_unique": "unique proved", "proof_wrong": "proofs wrong", "prove_ms": "prove ms"}


def simulated(
    paths: Iterable[Path],
    lidar: "Lidar | SpinningLidar",
    count: int,
    seed: int,
    height: float = 1.0,
    **turned: Any,
) -> Iterator[tuple[str, AnyMap, list[Trial]]]:
    """Sites with simulated trials; where the map is a mesh, the sensor sees the mesh."""
    from isovist.apps.cli.support.inputs import all_there
    from isovist.io.maps.read import read_map

    for path in all_there(paths, "a map"):
        yield path.stem, *simulated_on(read_map(path), lidar, count, seed, height, **turned)


def simulated_on(
    world: AnyMap,
    lidar: "Lidar | SpinningLidar",
    count: int,
    seed: int,
    height: float,
    **turned: Any,
) -> tuple[AnyMap, list[Trial]]:
    """Return a map as cells, with simulated scans that are asked on it."""
    from isovist.atlas.build import as_cells

    cells, seen = as_cells(world), world if isinstance(world, MeshMap) else None
    return cells, simulated_trials(
        cells, count, lidar, seed=seed, height=height, reality=seen, **turned
    )


def report(
    sites: Iterable[tuple[str, AnyMap, Sequence[Trial]]],
    as_json: bool,
    height: float | None = None,
    **how: Any,
) -> None:
    """Measure each site, with options of `locate`, and print its row as soon as it is there."""
    rows = []
    columns = COLUMNS | (PROVED if how.get("prove") else {})
    if not as_json:
        typer.echo("| " + " | ".join(columns.values()) + " |\n" + "|---" * len(columns) + "|")
    for site, world, trials in sites:
        if not trials:
            typer.echo(
                f"isovist: {site} has no query under this protocol; it is left out.", err=True
            )
            continue
        with bar(site) as advance:
            done = count(1)
            tell = lambda: advance(next(done) / len(trials))  # noqa: B023, E731
            row = measure(site, world, trials, tell, height=height, **how)
        rows.append(row)
        if not as_json:
            typer.echo("| " + " | ".join(_cell(key, row[key]) for key in columns) + " |")
    if as_json:
        print_rows(rows, as_json)


def print_rows(rows: Sequence[Row], as_json: bool) -> None:
    """Rows with the same keys, as a table or as JSON."""
    if as_json:
        plain = [{k: _plain(v) for k, v in row.items()} for row in rows]
        typer.echo(json.dumps(plain, indent=1))
        return
    keys = list(rows[0])
    typer.echo("| " + " | ".join(keys) + " |\n" + "|---" * len(keys) + "|")
    for row in rows:
        cells = (_short(row.get(key)) for key in keys)
        typer.echo("| " + " | ".join(cells) + " |")


def tracked(site: str, world: AnyMap, logs: Sequence["Log"]) -> list[list["Update"]]:
    """Track all logs on one map, each from an unknown start, with a bar."""
    from isovist.atlas.build import build
    from isovist.tracking.replay import replay
    from isovist.tracking.tracker import Tracker

    atlas = build(world)
    list(replay(Tracker(atlas), logs[0], range(min(2, len(logs[0])))))  # loads the kernels
    total, done = sum(len(log) for log in logs), 0
    runs: list[list[Update]] = []
    with bar(site) as advance:
        for log in logs:
            runs.append([])
            for update in replay(Tracker(atlas), log):
                runs[-1].append(update)
                done += 1
                advance(done / total)
    return runs


def _plain(value: object) -> object:
    """NaN, where nothing was right, becomes null."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


def _short(value: object) -> str:
    """Three digits of a number, — where there is none."""
    if not isinstance(value, float):
        return str(value)
    return "—" if math.isnan(value) else f"{value:.3g}"


def _cell(key: str, value: object) -> str:
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "—"
    if key in ("success", "unique", "false_confident", "coverage95", "proved_unique"):
        return f"{value:.1%}"
    digits = {"median_error_m": 3, "median_error_deg": 2, "build_s": 2}
    return f"{value:.{digits.get(key, 0)}f}"


def chosen(scans: ScanSet, held_out: bool, index: Path | None) -> IntArray:
    """Which scans of a set ask."""
    which = np.arange(len(scans))
    if held_out:
        if scans.in_map_split is None:
            raise InputError("These scans do not say which of them are in the map.", code="missing")
        which = which[~scans.in_map_split]
    if index is not None:
        named = read_npz(index, "an index of scans", 1 << 26).get("index")
        if named is None:
            raise InputError(f"{index.name}: the array `index` is missing.", code="missing")
        which = np.intersect1d(which, named)
    return which
