"""`isovist explore`: a simulated lost robot that drives until it knows where it is."""

import json
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def explore(
    world: options.World,
    rule: Annotated[
        str, options.choice(("rivals", "gramian", "random"), "How to choose where to drive.")
    ] = "rivals",
    seed: options.Seed = 0,
    field_of_view: options.FieldOfView = 360.0,
    range_max: options.RangeMax = 6.0,
    rings: Annotated[int, options.rings(", ±15°")] = 16,
    height: options.Height = None,
    limit: Annotated[float, options.number("M", "Maximum distance to drive, in m.")] = 40.0,
    figure: Annotated[Path | None, options.figure(".png, .pdf, .svg, or .gif that moves")] = None,
    as_json: options.Json = False,
) -> None:
    """Drive a simulated lost robot. Exit code: 0 unique at the end, 1 not, 2 bad input."""
    from isovist.apps.cli.support.maps import BuildOptions, open_atlas
    from isovist.apps.cli.support.progress import bar, busy
    from isovist.apps.cli.support.sensors import SensorOptions
    from isovist.exploration import Ground, Rule
    from isovist.report import check_suffix, run_json, run_text, save_run
    from isovist.simulation import explore as drive
    from isovist.simulation import lost_start

    policy = Rule.from_text(rule)
    check_suffix(figure, ".gif")
    atlas = open_atlas(world, BuildOptions(height=height))
    sensor = SensorOptions(field_of_view, range_max=range_max, rings=rings)
    lidar = sensor.lidar(atlas.dimension)
    ground = Ground.from_atlas(atlas)
    with busy("Looking for an ambiguous start"):
        start, noise = lost_start(atlas, lidar, seed)
    with bar("Driving") as advance:
        run = drive(
            atlas, start, lidar, policy, seed=noise, limit=limit, ground=ground, progress=advance
        )
    if figure is not None:
        save_run(ground.world, run, figure)
    typer.echo(json.dumps(run_json(run), indent=1) if as_json else run_text(run))
    raise typer.Exit(0 if run.unique else 1)
