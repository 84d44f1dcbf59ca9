"""`isovist map make`: make a ROS map from a log with poses."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def make(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="Corrected CARMEN log, or scans with poses.")
    ],
    output: Annotated[Path, options.output("the map to this .yaml file")],
    resolution: Annotated[float, options.number("M", "Side of a cell, in m.")] = 0.05,
    prefix: options.Prefix = "",
) -> None:
    """Make a ROS map from a log with poses, by counting beams that end in and pass cells."""
    from isovist.apps.cli.support.progress import bar, busy
    from isovist.io import check_ros_name, read_posed_scans, write_map
    from isovist.maps import OccupancyMap

    check_ros_name(output)
    with busy("Reading"):
        scans, poses = read_posed_scans(log, prefix)
    with bar("Counting") as advance:
        world = OccupancyMap.from_scans(scans, poses, resolution, progress=advance)
    write_map(world, output)
    rows, columns = world.shape
    typer.echo(
        f"{output}: {columns} × {rows} cells of {resolution:g} m, {world.free_area:.0f} m² free, "
        f"from {len(scans)} scans."
    )
