"""`isovist paper fit-basis`: a basis for one building."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def fit_basis(
    world: options.Map,
    output: Annotated[Path, options.output("the basis as this .json file")],
    channels: Annotated[int, options.CHANNELS] = 32,
    far: Annotated[
        float, options.number("M", "Places farther apart than this should be unlike, in m.")
    ] = 1.0,
    count: Annotated[
        int, options.number("N", "Number of places to fit to, and to measure at.")
    ] = 80,
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Fit the directions of a basis to a map, so that far places look as unlike as can be."""
    from isovist import read_map
    from isovist.apps.cli.support.progress import busy
    from isovist.paper import fit_to_map, fitted_basis_text, write_basis

    plan = read_map(world)
    with busy("Fitting a basis"):
        result = fit_to_map(plan, channels, far=far, count=count, seed=seed)
    write_basis(result.basis, output, plan)
    values = {name: value for name, value in asdict(result).items() if name != "basis"}
    typer.echo(json.dumps(values) if as_json else fitted_basis_text(result, output))
