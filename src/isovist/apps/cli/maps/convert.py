"""`isovist map convert`: one map format into another."""

from pathlib import Path
from typing import Annotated

import typer


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="MAP", help="The map to read: .yaml (ROS) or .geojson.")
    ],
    target: Annotated[
        Path, typer.Argument(metavar="TARGET", help="The map to write: .yaml (ROS) or .geojson.")
    ],
    resolution: Annotated[
        float | None,
        typer.Option(help="Side of a cell, in m; that of the map that is read, else 0.05."),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(help="Most that a wall may differ from the outlines of the cells, in m."),
    ] = 0.0,
) -> None:
    """Convert a map: ROS maps to plans of walls and back, or to cells of another size."""
    from isovist.io.maps.read import convert_map, read_map, write_map

    world = convert_map(read_map(source), target, resolution=resolution, tolerance=tolerance)
    write_map(world, target)
    typer.echo(f"{source} → {target}")
