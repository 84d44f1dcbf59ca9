"""`isovist bench descriptors`: the paper's descriptor beside others, on the same rays."""

import math
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options
from isovist.errors import InputError

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
    only: options.Only = None,
    condition: Annotated[
        list[str] | None,
        typer.Option(help='Only this condition, e.g. clean or "changed map"; may be repeated.'),
    ] = None,
    spacing: options.Spacing = None,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Recall of descriptors, norms, channels and widths, under noise, people and narrow views."""
    from isovist.apps.cli.bench.rows import print_rows, sites_of
    from isovist.apps.cli.support.progress import bar
    from isovist.atlas.build import build
    from isovist.evaluation.baselines.basins import basin_rows
    from isovist.evaluation.baselines.descriptors import (
        Contest,
        chosen_methods,
        contest_rows,
        left_out,
    )
    from isovist.sensing.models.lidar2d import Lidar

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
