"""`isovist paper tables`: every table of the paper's example, beside the exact values."""

import json
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def tables(
    channels: Annotated[int, options.CHANNELS] = 8,
    temperature: Annotated[float, options.TEMPERATURE] = 0.5,
    profile: Annotated[str, options.PROFILE] = "softmax",
    room: Annotated[
        Path | None, typer.Option(help="Plan of walls (.geojson) instead of the paper's room.")
    ] = None,
    place: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="X Y", help="Where the robot is, in m; chosen if not given."),
    ] = None,
    figure: options.Figure = None,
    as_json: options.Json = False,
) -> None:
    """Print every table and figure of the paper's example, beside the exact values."""
    from isovist.apps.cli.support.maps import read_plan
    from isovist.paper import draw_example
    from isovist.paper import example as example_of
    from isovist.report import check_suffix, print_example, save

    check_suffix(figure)
    world = None if room is None else read_plan(room)
    setup = example_of.Setup.of(channels, temperature, profile, world, place)
    example = example_of.run_example(setup)
    if figure is not None:
        save(draw_example(example), figure)
    rows = example_of.as_json(example)
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    print_example(rows)
    if figure is not None:
        typer.echo(f"Picture: {figure}")
