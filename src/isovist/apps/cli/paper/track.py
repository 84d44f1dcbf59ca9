"""`isovist paper track`: a drive in 2D, by the method of the paper."""

import json
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options
from isovist.errors import InputError


def track(
    world: options.Map,
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="A bag, a CARMEN log, or scans with odometry.")
    ],
    channels: options.Channels = None,
    temperature: options.Temperature = None,
    profile: options.ProfileName = None,
    norm: options.Norm = None,
    transform: options.Transform = None,
    spacing: options.Spacing = None,
    basis: options.BasisFile = None,
    scan_topic: options.ScanTopic = None,
    odometry_topic: options.OdometryTopic = None,
    sensor: options.Sensor = None,
    sweep: options.Sweep = 0.0,
    prefix: options.Prefix = "",
    held_out: options.HeldOut = False,
    step: options.Step = 1,
    start: options.Start = 0,
    stop: options.Stop = None,
    as_json: options.JsonLines = False,
) -> None:
    """Find the start of a drive by the paper's method.  Exit code 0: the dynamic bound holds."""
    from isovist import Log, Pose
    from isovist.apps.cli.paper.localizer import PaperOptions
    from isovist.apps.cli.support.progress import busy
    from isovist.apps.cli.support.scans import LogOptions
    from isovist.paper import locate_trajectory, track_json, track_text

    method = PaperOptions(channels, temperature, profile, norm, transform, spacing, basis)
    drive = LogOptions(scan_topic, odometry_topic, sensor, sweep, prefix).read(log)
    drive = drive.take(drive.select(every=step, start=start, stop=stop, held_out=held_out))
    if not isinstance(drive, Log):
        raise InputError(
            "The paper's method tracks robots in 2D, and this log has 3D clouds.",
            code="wrong_dimension",
        )
    localizer = method.localizer(world)
    scans = [drive.scan(index) for index in range(len(drive))]
    odometry = [Pose.from_vector(row) for row in drive.odometry]
    with busy("Following the drive"):
        result = locate_trajectory(localizer, scans, odometry)
    if as_json:
        for row in track_json(result, drive.times):
            typer.echo(json.dumps(row))
    else:
        typer.echo(track_text(result))
    raise typer.Exit(0 if result.bound.holds else 1)
