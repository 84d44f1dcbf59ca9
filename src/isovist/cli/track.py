"""`isovist track`: where is the robot, all along a log?"""

import json
from pathlib import Path
from typing import Annotated

import typer

from isovist.cli import options


def track(
    world: options.World,
    log: Annotated[Path, typer.Argument(help="A bag, a CARMEN log, or scans with odometry.")],
    scan_topic: options.ScanTopic = None,
    odometry_topic: options.OdometryTopic = None,
    sensor: options.Sensor = None,
    sweep: options.Sweep = 0.0,
    prefix: options.Prefix = "",
    held_out: options.HeldOut = False,
    every: Annotated[int, typer.Option(help="Use one of so many scans.")] = 1,
    start: Annotated[int, typer.Option(help="Number of the first scan, counted from 0.")] = 0,
    stop: Annotated[
        int | None, typer.Option(help="Number of the scan after the last, counted from 0.")
    ] = None,
    tum: Annotated[
        Path | None, typer.Option(help="Write the unique poses to this file as TUM text (s and m).")
    ] = None,
    figure: options.Figure = None,
    as_json: options.JsonLines = False,
) -> None:
    """Follow a robot, start unknown.  Exit code 0: unique at the end, 1: not, 2: bad input."""
    from isovist.cli.inputs import log_of, place_of, plane_of
    from isovist.cli.progress import bar
    from isovist.io.logs.tum import write_tum
    from isovist.report.tracks import track_text, update_json
    from isovist.tracking.replay import replay, summarise, unique_way
    from isovist.tracking.tracker import Tracker
    from isovist.viz.figures import check_suffix, save
    from isovist.viz.tracks import draw_track

    check_suffix(figure)
    seen = log_of(log, scan_topic=scan_topic, odometry_topic=odometry_topic, prefix=prefix,
                  T_robot_sensor=place_of(sensor), sweep=sweep)  # fmt: skip
    which = seen.chosen(every=every, start=start, stop=stop, held_out=held_out)
    atlas = plane_of(world)
    updates = []
    with bar("Tracking", hidden=as_json) as advance:
        for update in replay(Tracker(atlas), seen, which):
            updates.append(update)
            advance(len(updates) / len(which))
            if as_json:
                typer.echo(json.dumps(update_json(update, seen.frame)))
    if tum is not None:
        write_tum(tum, *unique_way(updates))
    if figure is not None:
        save(draw_track(atlas.world, updates), figure)
    if not as_json:
        typer.echo(track_text(seen, summarise(updates)))
    raise typer.Exit(0 if updates[-1].unique else 1)
