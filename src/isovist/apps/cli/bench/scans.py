"""`isovist bench`: measured rows on logs, scans with poses, and simulated scans."""

import json
import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.bench.calibrate import calibrate
from isovist.apps.cli.bench.tracking import follow, kidnap, starts
from isovist.apps.cli.support import options
from isovist.apps.cli.support.command import Verb
from isovist.apps.cli.support.examples import example_of
from isovist.errors import InputError

bench = typer.Typer(help="Measured rows; every query alone, heading unknown, no prior.")


class Split(StrEnum):
    """Which scans make the map."""

    FIFTH = "fifth"
    REVISIT = "revisit"


def carmen(
    logs: options.Logs,
    split: Annotated[
        Split, typer.Option(help="Which scans ask: every fifth, or those of later visits.")
    ] = Split.FIFTH,
    every: options.Every = 1,
    prove: options.Prove = False,
    budget_s: options.Budget = None,
    as_json: options.Json = False,
) -> None:
    """Real logs with corrected poses: a map from some scans, the others ask."""
    from isovist.apps.cli.bench.rows import report
    from isovist.apps.cli.support.inputs import all_there, carmen_of
    from isovist.evaluation import protocols as protocol

    if every < 1:
        raise InputError.about("every", f"must be 1 or more, got {every}.")
    make = protocol.carmen_trials if split is Split.FIFTH else protocol.revisit_trials
    sites = ((log.name.split(".")[0], *make(carmen_of(log))) for log in all_there(logs))
    some = ((name, world, trials[::every]) for name, world, trials in sites)
    report(some, as_json, prove=prove, budget_s=budget_s)


def scans(
    world: options.Map,
    scans: Annotated[
        Path, typer.Argument(metavar="SCANS.npz", help="A file of scans with their poses.")
    ],
    held_out: options.HeldOut = False,
    index: Annotated[
        Path | None,
        typer.Option(help="Ask only with the scans that `index` in this .npz file names."),
    ] = None,
    prefix: options.Prefix = "",
    as_json: options.Json = False,
) -> None:
    """A given map, and scans with poses."""
    from isovist.apps.cli.bench.rows import chosen, report
    from isovist.evaluation.protocols import scan_trials
    from isovist.io.maps.read import read_map
    from isovist.io.scans.scan_sets import read_scan_set

    taken = read_scan_set(scans, prefix)
    trials = scan_trials(taken, chosen(taken, held_out, index))
    name = f"{scans.parent.name}{'/' + prefix if prefix else ''}"
    report([(name, read_map(world), trials)], as_json)


def simulate(
    worlds: options.Maps,
    count: Annotated[int, typer.Option(help="Number of random poses on each map.")] = 400,
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
    """Random poses in free space, and a simulated lidar."""
    from isovist.apps.cli.bench.rows import report, simulated
    from isovist.sensing.models.lidar2d import Lidar

    lidar = Lidar(math.radians(field_of_view), beams, range_max, noise, clutter)
    report(simulated(worlds, lidar, count, seed), as_json, prove=prove, budget_s=budget_s)


def simulate3d(
    worlds: options.Maps,
    count: Annotated[int, typer.Option(help="Number of random poses on each map.")] = 200,
    height: Annotated[float, options.height()] = 1.0,
    rings: Annotated[int, options.rings()] = 16,
    low: Annotated[float, typer.Option(help="Elevation of the lowest ring, in degrees.")] = -15.0,
    high: Annotated[float, typer.Option(help="Elevation of the highest ring, in degrees.")] = 15.0,
    azimuths: Annotated[int, typer.Option(help="Number of beams of each ring.")] = 900,
    field_of_view: options.FieldOfView = 360.0,
    range_max: options.RangeMax = 30.0,
    noise: options.Noise = 0.03,
    clutter: options.Clutter = 0.1,
    any_attitude: options.AnyAttitude = False,
    lean: Annotated[
        float, typer.Option(help="Most that the sensor rolls and pitches, untold, in degrees.")
    ] = 0.0,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Random places above the floor of maps in space, and a simulated spinning lidar."""
    from isovist.apps.cli.bench.rows import report, simulated
    from isovist.sensing.models.spinning import SpinningLidar

    lidar = SpinningLidar(
        rings, math.radians(low), math.radians(high), azimuths, range_max, noise, clutter,
        field_of_view=math.radians(field_of_view),
    )  # fmt: skip
    turned = {"any_attitude": any_attitude}
    trials = simulated(worlds, lidar, count, seed, height, lean=math.radians(lean), **turned)
    report(trials, as_json, height, **turned)


def cross(
    logs: options.Logs,
    count: Annotated[
        int, typer.Option(help="Number of scans of each site that ask elsewhere.")
    ] = 50,
    as_json: options.Json = False,
) -> None:
    """Scans of every log on the maps of all the others: none should be "unique"."""
    from isovist.apps.cli.support.inputs import all_there, carmen_of
    from isovist.apps.cli.support.progress import bar
    from isovist.evaluation.protocols import cross_trials

    sites = {log.name: carmen_of(log) for log in all_there(logs)}
    with bar("Asking elsewhere") as advance:
        row = cross_trials(sites, count, advance)
    text = "{asked} scans asked on maps of other buildings: {unique} unique, {lost} lost"
    typer.echo(json.dumps(row) if as_json else text.format(**row))


LOCATING = (carmen, scans, simulate, simulate3d, cross, calibrate)
for verb in (*LOCATING, starts, follow, kidnap):
    bench.command(epilog=example_of(f"bench {verb.__name__}"), cls=Verb)(verb)
