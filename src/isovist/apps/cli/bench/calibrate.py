"""`isovist bench calibrate`: how often "unique" is wrong, over generated plans of many kinds."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def calibrate(
    plans: Annotated[int, options.number("N", "Number of generated plans, of all kinds.")] = 70,
    scans: Annotated[int, options.number("N", "Number of scans per plan, of all sensors.")] = 10,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save each plan to this file, and continue from it."),
    ] = None,
    jobs: Annotated[int, options.number("N", "Number of processes.")] = 1,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Measure how often "unique" is wrong, on plans with furniture, glass and map faults."""
    from isovist.apps.cli.bench.rows import print_rows
    from isovist.apps.cli.support.progress import bar
    from isovist.evaluation import CalibrationRun, summarise_plans, table_text

    with bar("Locating on generated plans") as advance:
        rows = summarise_plans(CalibrationRun(plans, scans, seed).run(resume, advance, jobs=jobs))
    if as_json:
        print_rows(rows, as_json)
    else:
        typer.echo(table_text(rows))
