"""`python -m benchmarks.baselines descriptors`: descriptors side by side, on the same rays."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.baselines.availability import Only
from benchmarks.baselines.basins import basin_rows
from benchmarks.baselines.descriptors import Contest, chosen_methods, contest_rows, left_out
from isovist.apps.cli.bench.rows import print_rows, simulate_sites
from isovist.apps.cli.support import options
from isovist.apps.cli.support.progress import bar
from isovist.apps.cli.support.scans import existing_files
from isovist.atlas.build import build
from isovist.errors import InputError
from isovist.evaluation.protocols import Trial, carmen_trials
from isovist.io.logs.carmen import read_carmen
from isovist.maps.kinds import AnyMap
from isovist.sensing.models.lidar2d import Lidar

Sites = Annotated[
    list[Path], typer.Argument(metavar="LOG_OR_MAP", help="CARMEN logs, or maps of the plane.")
]


def descriptors(
    sites: Sites,
    count: Annotated[int, typer.Option(help="Number of queries on each site.")] = 60,
    field_of_view: options.FieldOfView = 360.0,
    basin: Annotated[
        bool, typer.Option("--basin", help="Say from how far away refinements come home instead.")
    ] = False,
    only: Only = None,
    condition: Annotated[
        list[str] | None,
        typer.Option(help='Only this condition, e.g. clean or "changed map"; may be repeated.'),
    ] = None,
    spacing: options.Spacing = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Recall of descriptors, norms, channels and widths, under noise, people and narrow views."""
    methods = chosen_methods(only)
    for line in [] if basin else left_out(methods):
        typer.echo(line, err=True)
    lidar = Lidar(math.radians(field_of_view), 360, 15.0, 0.02)
    rows = []
    for name, world, trials in sites_of(sites, lidar, count, seed):
        atlas = build(world, spacing=spacing)
        with bar(name) as advance:
            if basin:
                rows += basin_rows(name, atlas, trials, seed=seed, progress=advance)
            else:
                rows += contest_rows(
                    name, Contest(atlas), trials, methods, condition, seed=seed, progress=advance
                )
    if not rows:
        raise InputError("No scan of these sites sees more than this condition leaves of it.")
    print_rows(rows, as_json)


def sites_of(
    paths: Iterable[Path], lidar: Lidar, count: int, seed: int
) -> Iterator[tuple[str, AnyMap, list[Trial]]]:
    """Logs with held-out scans, and maps with simulated ones, at most `count` queries each."""
    for path in existing_files(paths, "a log or a map"):
        if path.suffix in (".gz", ".bz2", ".log"):
            world, trials = carmen_trials(read_carmen(path))
            few = np.linspace(0, len(trials) - 1, min(count, len(trials))).astype(np.int64)
            yield path.name.split(".")[0], world, [trials[int(k)] for k in few]
        else:
            yield from simulate_sites([path], lidar, count, seed)
