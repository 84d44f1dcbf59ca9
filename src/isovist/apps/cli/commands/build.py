"""`isovist build`: describe a map once, answer from it ever after."""

from pathlib import Path
from typing import Annotated, Any

import typer

from isovist.apps.cli.support import options


def build(
    world: options.Map,
    output: Annotated[Path, options.output("the atlas as this folder")],
    spacing: options.Spacing = None,
    height: options.Height = None,
    highest: options.Highest = None,
    storeys: Annotated[
        bool, typer.Option("--storeys", help="Cut a map in space into storeys, an atlas each.")
    ] = False,
    resolution: Annotated[
        float | None,
        typer.Option(
            help="Side of the cells of a cloud of points, in m; what suits it if not given."
        ),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Dask scheduler whose workers describe it, or local:4 for four of this machine.",
        ),
    ] = None,
    signal: options.Signal = "range",
    basis: options.BasisFile = None,
) -> None:
    """Describe a map and keep the result as an atlas, or as a folder of them, one per storey."""
    from isovist.apps.cli.support.inputs import atlas_of, storeys_of
    from isovist.atlas.data.store import write_atlas
    from isovist.errors import InputError
    from isovist.storage.files import is_folder

    if is_folder(world):
        raise InputError(f"{world} is a folder, not a map.", code="unknown_format")
    above: dict[str, Any] = {"spacing": spacing, "height": height, "highest": highest}
    above |= {"resolution": resolution, "cluster": cluster, "signal": signal, "basis": basis}
    found = storeys_of(world, output, **above) if storeys else [(output, atlas_of(world, **above))]
    for folder, atlas in found:
        write_atlas(atlas, folder)
        typer.echo(
            f"{folder}: {len(atlas.nodes)} nodes every {atlas.spacing:g} m over "
            f"{atlas.area:.0f} m², cells of {atlas.world.resolution:g} m."
        )
    if spacing is not None and f"{spacing:g}" != f"{atlas.spacing:g}":
        typer.echo(
            f"A spacing of {spacing:g} m was asked for; nodes lie on whole cells of "
            f"{atlas.world.resolution:g} m."
        )
