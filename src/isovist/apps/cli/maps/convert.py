"""`isovist map convert`: convert a map to another format."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="MAP", help="Map to read: .yaml (ROS) or .geojson.")
    ],
    target: Annotated[
        Path, typer.Argument(metavar="TARGET", help="Map to write: .yaml (ROS) or .geojson.")
    ],
    resolution: Annotated[
        float | None, options.number("M", "Side of a cell, in m.", default="of the map, or 0.05")
    ] = None,
    tolerance: Annotated[
        float,
        options.number("M", "Maximum distance of a wall from the outline of the cells, in m."),
    ] = 0.0,
) -> None:
    """Convert a ROS map to a plan of walls, a plan to a ROS map, or change the cell size."""
    from isovist.io import convert_map, read_map, write_map

    world = convert_map(read_map(source), target, resolution=resolution, tolerance=tolerance)
    write_map(world, target)
    typer.echo(f"{source} → {target}")
