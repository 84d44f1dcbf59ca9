"""`isovist track`: where is the robot, all along a log?"""

import json
from pathlib import Path
from typing import Annotated

import typer

from isovist.cli.options import Figure


def track(
    world: Annotated[
        Path, typer.Argument(metavar="MAP_OR_ATLAS", help="A map, or a folder of `isovist build`.")
    ],
    log: Annotated[Path, typer.Argument(help="A bag, a CARMEN log, or scans with odometry.")],
    scan_topic: Annotated[str | None, typer.Option(help="LaserScan topic of a bag.")] = None,
    odometry_topic: Annotated[
        str | None, typer.Option(help="Odometry topic of a bag, or /tf.")
    ] = None,
    sensor: Annotated[
        tuple[float, float, float] | None,
        typer.Option(metavar="X Y YAW", help="Of the sensor on the robot, in m and rad."),
    ] = None,
    prefix: Annotated[str, typer.Option(help="Of the keys of an .npz, e.g. nav_.")] = "",
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Only scans of an .npz that are not in the map.")
    ] = False,
    every: Annotated[int, typer.Option(help="Use every so many scans.")] = 1,
    start: Annotated[int, typer.Option(help="The first scan, counted from 0.")] = 0,
    stop: Annotated[int | None, typer.Option(help="The scan after the last.")] = None,
    tum: Annotated[Path | None, typer.Option(help="Write the unique poses as TUM text.")] = None,
    figure: Figure = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per update.")
    ] = False,
) -> None:
    """Follow a robot from an unknown start.  Exit code 0: unique at the end, 1: not, 2: bad input."""
    from isovist.cli.tracks import follow, write_figure, write_unique
    from isovist.cli.worlds import atlas_of
    from isovist.io.logs import read_log
    from isovist.poses import Pose
    from isovist.track.replay import summarise
    from isovist.viz.track_reports import track_text, update_json
