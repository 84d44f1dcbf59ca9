"""`isovist bench starts`, `follow` and `kidnap`: measured rows of moving robots."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options

Drive = Annotated[Path, typer.Argument(metavar="LOG", help="Log with odometry and true poses.")]


def starts(
    logs: options.Logs,
    count: Annotated[int, options.number("N", "Number of random starts on each log.")] = 100,
    reach: Annotated[float, options.number("M", "Length of each drive, in m.")] = 8.0,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Track from random starts on real logs, with 2 % and 1° per m of odometry noise."""
    from isovist.apps.cli.bench.rows import print_rows, track_logs
    from isovist.apps.cli.support.scans import read_carmen_logs
    from isovist.evaluation import start_logs, summarise_starts

    rows = []
    for name, scans in read_carmen_logs(logs):
        world, drives = start_logs(scans, count, reach, seed=seed)
        site = name.split(".")[0]
        rows.append(summarise_starts(site, track_logs(site, world, drives)))
    print_rows(rows, as_json)


def follow(
    world: options.Map,
    log: Drive,
    held_out: options.HeldOut = False,
    prefix: options.Prefix = "",
    sensor: options.Sensor = None,
    sweep: options.Sweep = 0.0,
    as_json: options.Json = False,
) -> None:
    """Track one log with its own odometry, from an unknown start to the end."""
    from isovist.apps.cli.bench.rows import print_rows, track_logs
    from isovist.apps.cli.support.scans import LogOptions
    from isovist.evaluation import summarise_drive
    from isovist.io import read_map

    reader = LogOptions(sensor=sensor, sweep=sweep, prefix=prefix)
    drive, site = reader.read_with_truth(log, held_out), site_name(log, prefix)
    (updates,) = track_logs(site, read_map(world), [drive])
    print_rows([summarise_drive(site, updates)], as_json)


def kidnap(
    world: options.Map,
    log: Drive,
    held_out: options.HeldOut = False,
    prefix: options.Prefix = "",
    sensor: options.Sensor = None,
    sweep: options.Sweep = 0.0,
    count: Annotated[int, options.number("N", "Number of times that the robot is moved.")] = 50,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Move the robot without odometry: is it noticed in 3 updates, and found in 5 m?"""
    from isovist.apps.cli.bench.rows import print_rows, track_logs
    from isovist.apps.cli.support.scans import LogOptions
    from isovist.evaluation import BEFORE, kidnap_logs, summarise_kidnaps
    from isovist.io import read_map

    reader = LogOptions(sensor=sensor, sweep=sweep, prefix=prefix)
    drive, site = reader.read_with_truth(log, held_out), site_name(log, prefix)
    runs = track_logs(site, read_map(world), kidnap_logs(drive, count, seed))
    print_rows([summarise_kidnaps(site, runs, BEFORE, 5.0)], as_json)


def site_name(path: Path, prefix: str) -> str:
    """Return the name of a site in rows: the folder of its files, and the prefix of the sensor."""
    return f"{path.parent.name}{'/' + prefix if prefix else ''}"
