"""`isovist bench starts`, `follow` and `kidnap`: measured rows of moving robots."""

import math
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support.options import HeldOut, Json, Logs, Map, Prefix, Seed, Sensor, Sweep

Drive = Annotated[Path, typer.Argument(metavar="LOG", help="A log with odometry and true poses.")]


def starts(
    logs: Logs,
    count: Annotated[int, typer.Option(help="Number of random starts on each log.")] = 100,
    reach: Annotated[float, typer.Option(help="Length of the way of each drive, in m.")] = 8.0,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Unknown starts along real logs; odometry noise of 2 % of distance and 1° per m."""
    from isovist.apps.cli.bench.rows import print_rows, tracked
    from isovist.apps.cli.support.inputs import all_there, carmen_of
    from isovist.evaluation.tracking_protocols import start_logs, summarise_starts

    rows = []
    for log in all_there(logs):
        noise = (0.02, math.radians(1.0))
        world, pieces = start_logs(carmen_of(log), count, reach, seed=seed, noise=noise)
        site = log.name.split(".")[0]
        rows.append(summarise_starts(site, tracked(site, world, pieces)))
    print_rows(rows, as_json)


def follow(
    world: Map,
    log: Drive,
    held_out: HeldOut = False,
    prefix: Prefix = "",
    sensor: Sensor = None,
    sweep: Sweep = 0.0,
    as_json: Json = False,
) -> None:
    """One log with its own odometry, from an unknown start to the end."""
    from isovist.apps.cli.bench.rows import print_rows, tracked
    from isovist.apps.cli.support.inputs import drive_of
    from isovist.evaluation.tracking_protocols import summarise_drive

    site, plan, drive = drive_of(world, log, prefix, held_out, sensor, sweep)
    (updates,) = tracked(site, plan, [drive])
    print_rows([summarise_drive(site, updates)], as_json)


def kidnap(
    world: Map,
    log: Drive,
    held_out: HeldOut = False,
    prefix: Prefix = "",
    sensor: Sensor = None,
    sweep: Sweep = 0.0,
    count: Annotated[
        int, typer.Option(help="Number of times that the robot is carried away.")
    ] = 50,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Carried away in mid-drive, odometry unaware: noticed in 3 updates, found in 5 m?"""
    from isovist.apps.cli.bench.rows import print_rows, tracked
    from isovist.apps.cli.support.inputs import drive_of
    from isovist.evaluation.tracking_protocols import BEFORE, kidnap_logs, summarise_kidnaps

    site, plan, drive = drive_of(world, log, prefix, held_out, sensor, sweep)
    runs = tracked(site, plan, kidnap_logs(drive, count, seed))
    print_rows([summarise_kidnaps(site, runs, BEFORE, 5.0)], as_json)
