"""`isovist map make`: a ROS map of a log whose poses are known."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def make(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="A corrected CARMEN log, or scans with poses.")
    ],
    output: Annotated[Path, options.output("the map as this .yaml file")],
    resolution: Annotated[float, typer.Option(help="Side of a cell of the map, in m.")] = 0.05,
    prefix: options.Prefix = "",
) -> None:
    """Make a ROS map of a log with poses: cells that beams end in, and cells that they pass."""
    from isovist.apps.cli.support.progress import bar, busy
    from isovist.io.logs.posed_scans import read_posed_scans
    from isovist.io.maps.read import check_ros_name, write_map
    from isovist.maps.grid2d.occupancy_map import OccupancyMap

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
