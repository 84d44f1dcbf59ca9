"""`isovist warm-up`: compile everything beforehand."""

import json
from dataclasses import asdict

import typer

from isovist.apps.cli.support.options import Json


def warm_up(as_json: Json = False) -> None:
    """Compile everything now, so that no first scan waits for it: once on every machine."""
    from isovist.apps.cli.support.progress import bar
    from isovist.compute.infra.warm_up import compile_all

    with bar("Compiling") as advance:
        done = compile_all(advance)
    if as_json:
        typer.echo(json.dumps(asdict(done)))
        return
    typer.echo(
        f"{done.kernels} kernels are ready, {done.compiled} of them compiled now, "
        f"in {done.seconds:.1f} s. They are kept in {done.folder}."
    )
