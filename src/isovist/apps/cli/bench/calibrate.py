"""`isovist bench calibrate`: how often "unique" is wrong, over generated plans of many kinds."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def calibrate(
    plans: Annotated[int, typer.Option(help="Number of generated plans, of all kinds in turn.")] = (
        70
    ),
    scans: Annotated[int, typer.Option(help="Number of scans on each, of all sensors in turn.")] = (
        10
    ),
    resume: Annotated[
        Path | None,
        typer.Option(help="Keep what came of each plan in this file, and go on where it ends."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Number of processes that try plans at once.")] = 1,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Plans with furniture, doors, glass and faulty maps: how often is "unique" wrong?"""
    from isovist.apps.cli.bench.rows import print_rows
    from isovist.apps.cli.support.progress import bar
    from isovist.evaluation.calibrate import rows_of, run, text_of

    with bar("Locating on generated plans") as advance:
        rows = rows_of(run(plans, scans, seed, resume, advance, jobs=jobs))
    if as_json:
        print_rows(rows, as_json)
    else:
        typer.echo(text_of(rows))
