"""`isovist build`: prepare a map for search, once."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options
from isovist.errors import InputError


def build(
    world: options.Map,
    output: Annotated[Path, options.output("the atlas to this folder")],
    spacing: options.Spacing = None,
    height: options.Height = None,
    max_height: options.MaxHeight = None,
    floors: Annotated[
        bool, typer.Option("--floors", help="3D: build one atlas for each floor of the building.")
    ] = False,
    resolution: Annotated[
        float | None,
        options.number("M", "Voxel size for point clouds, in m.", default="from the density"),
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Dask scheduler to build on, or local:4 for four workers here."
        ),
    ] = None,
    signal: options.Signal = "range",
    basis: options.BasisFile = None,
) -> None:
    """Build an atlas of a map once, so that locating is fast."""
    from isovist.apps.cli.support.maps import BuildOptions, open_atlas
    from isovist.atlas import write_atlas
    from isovist.storage import is_folder

    if is_folder(world):
        raise InputError(f"{world} is a folder, not a map.", code="unknown_format")
    builder = BuildOptions(height, max_height, spacing, resolution, signal, basis, cluster)
    if floors:
        atlases = builder.build_floors(world, output)
    else:
        atlases = [(output, open_atlas(world, builder))]
    for folder, atlas in atlases:
        write_atlas(atlas, folder)
        typer.echo(
            f"{folder}: {len(atlas.nodes)} nodes every {atlas.spacing:g} m over "
            f"{atlas.area:.0f} m², cells of {atlas.world.resolution:g} m."
        )
    if spacing is not None and f"{spacing:g}" != f"{atlas.spacing:g}":
        typer.echo(
            f"The spacing of {spacing:g} m became {atlas.spacing:g} m: nodes lie on whole cells "
            f"of {atlas.world.resolution:g} m."
        )
