"""`isovist bench`: measured rows on logs, scans with poses, and simulated scans."""

import json
import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options
from isovist.errors import InputError


class Split(StrEnum):
    """Choice of the scans that are queries; the other scans make the map."""

    FIFTH = "fifth"
    REVISIT = "revisit"


def carmen(
    logs: options.Logs,
    split: Annotated[
        Split, typer.Option(help="Queries: every fifth scan, or scans of later visits.")
    ] = Split.FIFTH,
    step: options.Step = 1,
    prove: options.Prove = False,
    budget_s: options.Budget = None,
    as_json: options.Json = False,
) -> None:
    """Benchmark on real logs: build a map from some scans and localize the rest."""
    from isovist.apps.cli.bench.rows import measure_sites
    from isovist.apps.cli.support.scans import read_carmen_logs
    from isovist.evaluation import LocateOptions, carmen_trials, revisit_trials

    if step < 1:
        raise InputError.about("every", f"must be 1 or more, got {step}.")
    make = carmen_trials if split is Split.FIFTH else revisit_trials
    sites = ((name.split(".")[0], *make(scans)) for name, scans in read_carmen_logs(logs))
    sample = ((name, world, trials[::step]) for name, world, trials in sites)
    measure_sites(sample, as_json, LocateOptions(prove, budget_s))


def scans(
    world: options.Map,
    scans: Annotated[
        Path, typer.Argument(metavar="SCANS.npz", help="File of scans with their poses.")
    ],
    held_out: options.HeldOut = False,
    index: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Localize only the scans of `index` in this .npz file."),
    ] = None,
    prefix: options.Prefix = "",
    as_json: options.Json = False,
) -> None:
    """Benchmark on a map and a file of scans with poses."""
    from isovist.apps.cli.bench.rows import measure_sites, query_numbers
    from isovist.apps.cli.bench.tracking import site_name
    from isovist.evaluation import scan_trials
    from isovist.io import read_map, read_scan_set

    scan_set = read_scan_set(scans, prefix)
    trials = scan_trials(scan_set, query_numbers(scan_set, held_out, index))
    measure_sites([(site_name(scans, prefix), read_map(world), trials)], as_json)


def simulate(
    worlds: options.Maps,
    count: Annotated[int, options.number("N", "Number of random poses on each map.")] = 400,
    field_of_view: options.FieldOfView = 360.0,
    beams: options.Beams = 360,
    range_max: options.RangeMax = 10.0,
    noise: options.Noise = 0.05,
    clutter: options.Clutter = 0.0,
    seed: options.Seed = 0,
    prove: options.Prove = False,
    budget_s: options.Budget = None,
    as_json: options.Json = False,
) -> None:
    """Benchmark on 2D maps with simulated scans from random poses."""
    from isovist.apps.cli.bench.rows import measure_sites, simulate_sites
    from isovist.evaluation import LocateOptions
    from isovist.sensing import Lidar

    lidar = Lidar(math.radians(field_of_view), beams, range_max, noise, clutter)
    sites = simulate_sites(worlds, lidar, count, seed)
    measure_sites(sites, as_json, LocateOptions(prove, budget_s))


def simulate3d(
    worlds: options.Maps,
    count: Annotated[int, options.number("N", "Number of random poses on each map.")] = 200,
    height: Annotated[float, options.height()] = 1.0,
    rings: Annotated[int, options.rings()] = 16,
    low: Annotated[
        float, options.number("DEG", "Elevation of the lowest ring, in degrees.")
    ] = -15.0,
    high: Annotated[
        float, options.number("DEG", "Elevation of the highest ring, in degrees.")
    ] = 15.0,
    azimuths: Annotated[int, options.number("N", "Number of beams of each ring.")] = 900,
    field_of_view: options.FieldOfView = 360.0,
    range_max: options.RangeMax = 30.0,
    noise: options.Noise = 0.03,
    clutter: options.Clutter = 0.1,
    any_attitude: options.AnyAttitude = False,
    lean: Annotated[
        float, options.number("DEG", "Maximum roll and pitch of the sensor, not given, in degrees.")
    ] = 0.0,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Benchmark on 3D maps with simulated scans of a spinning lidar from random poses."""
    from isovist.apps.cli.bench.rows import measure_sites, simulate_sites
    from isovist.evaluation import LocateOptions
    from isovist.sensing import Placement, SpinningLidar

    lidar = SpinningLidar(
        rings, math.radians(low), math.radians(high), azimuths, range_max, noise, clutter,
        field_of_view=math.radians(field_of_view),
    )  # fmt: skip
    placement = Placement(height=height, any_attitude=any_attitude, max_tilt=math.radians(lean))
    sites = simulate_sites(worlds, lidar, count, seed, placement)
    measure_sites(sites, as_json, LocateOptions(any_attitude=any_attitude), height)


def cross(
    logs: options.Logs,
    count: Annotated[int, options.number("N", "Number of scans of each site.")] = 50,
    as_json: options.Json = False,
) -> None:
    """Localize scans of each log on the maps of all others: none should be "unique"."""
    from isovist.apps.cli.support.progress import bar
    from isovist.apps.cli.support.scans import read_carmen_logs
    from isovist.evaluation import cross_trials

    sites = dict(read_carmen_logs(logs))
    with bar("Localizing on other maps") as advance:
        row = cross_trials(sites, count, advance)
    text = "{asked} scans located on maps of other buildings: {unique} unique, {lost} lost"
    typer.echo(json.dumps(row) if as_json else text.format(**row))
