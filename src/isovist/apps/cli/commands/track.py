"""`isovist track`: where is the robot, all along a log?"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options
from isovist.errors import InputError


def track(
    maps: options.Worlds,
    log: Annotated[
        Path,
        typer.Argument(
            metavar="LOG", help="Bag, CARMEN log, scans with odometry, or KITTI folder."
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
    max_height: options.MaxHeight = None,
    any_attitude: options.AnyAttitude = False,
    step: options.Step = 1,
    start: options.Start = 0,
    stop: options.Stop = None,
    tum: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the unique poses as TUM text (s and m)."),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every update as a row of CSV.")
    ] = None,
    figure: options.Figure = None,
    as_json: options.JsonLines = False,
) -> None:
    """Track a robot from an unknown start. Exit code: 0 unique at the end, 1 not, 2 bad input."""
    from isovist.apps.cli.support.maps import BuildOptions, open_atlases
    from isovist.apps.cli.support.progress import bar
    from isovist.apps.cli.support.scans import LogOptions
    from isovist.atlas import Atlas
    from isovist.io import read_links, write_tum
    from isovist.report import (
        check_suffix,
        draw_track,
        save,
        track_text,
        update_json,
        write_updates,
    )
    from isovist.tracking import Tracker, map_with_updates, summarise, unique_poses
    from isovist.tracking.replay import replay

    check_suffix(figure)
    drive = LogOptions(scan_topic, odometry_topic, sensor, sweep, prefix).read(log)
    scans = drive.select(every=step, start=start, stop=stop, held_out=held_out)
    connections = () if links is None else read_links(links)
    atlas = open_atlases(maps, BuildOptions(height=height, max_height=max_height))
    if not isinstance(atlas, Atlas):
        if tum is not None:
            raise InputError.about(
                "tum", "is for one map, and there are several. Use `--csv`.", code="conflict"
            )
        drive = replace(drive, truth=None)  # which does not say what map it is of
    updates = []
    with bar("Tracking", is_silent=as_json) as advance:
        tracker = Tracker(atlas, links=connections, any_attitude=any_attitude)
        for update in replay(tracker, drive, scans):
            updates.append(update)
            advance(len(updates) / len(scans))
            if as_json:
                typer.echo(json.dumps(update_json(update, drive.frame)))
    if tum is not None:
        write_tum(tum, *unique_poses(updates))
    if csv is not None:
        write_updates(csv, updates)
    if figure is not None:
        save(draw_track(*map_with_updates(atlas, updates)), figure)
    if not as_json:
        typer.echo(track_text(drive, summarise(updates)))
    raise typer.Exit(0 if updates[-1].unique else 1)
