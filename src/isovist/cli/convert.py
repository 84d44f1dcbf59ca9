"""`isovist convert`: one map format into another."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.cli.options import Resolution


def convert(
    source: Annotated[Path, typer.Argument(help="Map to read: .yaml (ROS) or .geojson.")],
    target: Annotated[Path, typer.Argument(help="Map to write: .yaml (ROS) or .geojson.")],
    resolution: Resolution = 0.05,
    tolerance: Annotated[float, typer.Option(help="Of outlines of cells, in m.")] = 0.0,
) -> None:
    """Convert a map: ROS maps to plans of walls and back."""
    from isovist.io.maps.read import convert_map, read_map, write_map

    world = convert_map(read_map(source), target, resolution=resolution, tolerance=tolerance)
    write_map(world, target)
    typer.echo(f"{source} → {target}")
