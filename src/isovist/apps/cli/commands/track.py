"""`isovist track`: where is the robot, all along a log?"""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def track(
    maps: options.Worlds,
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG", help="A bag, a CARMEN log, scans with odometry, or a KITTI folder."
        ),
    ],
    links: options.Links = None,
    scan_topic: options.ScanTopic = None,
    odometry_topic: options.OdometryTopic = None,
    sensor: options.Sensor = None,
    sweep: options.Sweep = 0.0,
    prefix: options.Prefix = "",
    held_out: options.HeldOut = False,
    height: options.Height = None,
    highest: options.Highest = None,
    any_attitude: options.AnyAttitude = False,
    every: options.Every = 1,
    start: options.Start = 0,
    stop: options.Stop = None,
    tum: Annotated[
        Path | None, typer.Option(help="Write the unique poses to this file as TUM text (s and m).")
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write every update to this file as a row of CSV.")
    ] = None,
    figure: options.Figure = None,
    as_json: options.JsonLines = False,
) -> None:
    """Follow a robot, start unknown.  Exit code 0: unique at the end, 1: not, 2: bad input."""
    from isovist.apps.cli.commands.following import follow_log
    from isovist.apps.cli.support.inputs import drive_in, place_of
    from isovist.report.figures.figures import check_suffix

    check_suffix(figure)
    seen = drive_in(log, scan_topic, odometry_topic=odometry_topic, prefix=prefix,
                    T_robot_sensor=place_of(sensor), sweep=sweep)  # fmt: skip
    which = seen.chosen(every=every, start=start, stop=stop, held_out=held_out)
    above = {"height": height, "highest": highest}
    files = tum, csv, figure
    code = follow_log(maps, links, seen, which, files, as_json, any_attitude, **above)
    raise typer.Exit(code)
