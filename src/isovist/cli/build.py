"""`isovist build`: describe a map once, answer from it ever after."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.cli import options


def build(
    world: options.Map,
    output: Annotated[Path, options.output("the atlas as this folder")],
    spacing: options.Spacing = None,
    height: options.Height = None,
    highest: options.Highest = None,
    resolution: Annotated[
        float | None,
        typer.Option(
            help="Side of the cells of a cloud of points, in m; what suits it if not given."
        ),
    ] = None,
) -> None:
    """Describe a map and keep the result as an atlas."""
    from isovist.atlas.store import write_atlas
    from isovist.cli.inputs import atlas_of
    from isovist.errors import InputError
    from isovist.io.files import is_folder

    if is_folder(world):
        raise InputError(f"{world} is a folder, not a map.")
    atlas = atlas_of(world, spacing=spacing, height=height, highest=highest, resolution=resolution)
    write_atlas(atlas, output)
    typer.echo(
        f"{output}: {len(atlas.nodes)} nodes every {atlas.spacing:g} m over {atlas.area:.0f} m², "
        f"cells of {atlas.world.resolution:g} m."
    )
    if spacing is not None and f"{spacing:g}" != f"{atlas.spacing:g}":
        typer.echo(
            f"A spacing of {spacing:g} m was asked for; nodes lie on whole cells of "
            f"{atlas.world.resolution:g} m."
        )
