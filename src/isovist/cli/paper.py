"""`isovist paper`: every table of the paper's example, beside the exact values."""

import json
from pathlib import Path
from typing import Annotated

import typer

from isovist.cli.options import Figure, Json


def paper(
    channels: Annotated[int, typer.Option(help="Number of directions of the rose.")] = 8,
    temperature: Annotated[
        float, typer.Option(help="ε, how wide the weights are; small is sharp.")
    ] = 0.5,
    profile: Annotated[
        str, typer.Option(help="How weights fall off: softmax, bump or cosine.")
    ] = "softmax",
    room: Annotated[
        Path | None, typer.Option(help="Plan of walls (.geojson) instead of the paper's room.")
    ] = None,
    place: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="X Y", help="Where the robot is, in m; chosen if not given."),
    ] = None,
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Every table and figure of the paper's example, beside the exact values."""
    from isovist.cli.inputs import plan_of
    from isovist.report.tables import print_example
    from isovist.theory import example as example_of
    from isovist.viz.figures import check_suffix, save
    from isovist.viz.paper import draw_example

    check_suffix(figure)
    world = None if room is None else plan_of(room)
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
