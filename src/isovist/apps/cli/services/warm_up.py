"""`isovist warm-up`: compile all kernels now."""

import json
from dataclasses import asdict

import typer

from isovist.apps.cli.support.options import Json


def warm_up(as_json: Json = False) -> None:
    """Compile all kernels now, so that the first scan does not wait. Run it once per machine."""
    from isovist.apps.cli.support.progress import bar
    from isovist.compute import compile_all

    with bar("Compiling") as advance:
        result = compile_all(advance)
    if as_json:
        typer.echo(json.dumps(asdict(result)))
        return
    typer.echo(
        f"{result.kernels} kernels are ready, {result.compiled} of them compiled now, "
        f"in {result.seconds:.1f} s. They are kept in {result.folder}."
    )
