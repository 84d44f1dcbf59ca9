"""`isovist info`: what is inside an atlas, and whether it is sound."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support.options import Json


def info(
    atlas: Annotated[
        Path, typer.Argument(metavar="ATLAS", help="A folder that `isovist build` wrote.")
    ],
    check: Annotated[
        bool, typer.Option("--check", help="Compare every byte with its checksum.")
    ] = False,
    as_json: Json = False,
) -> None:
    """What is inside an atlas: sizes, spacing, area.  Exit code 2 if it is damaged."""
    from isovist.atlas.data.store import atlas_info, check_atlas
    from isovist.errors import FileError

    if check and (problems := check_atlas(atlas)):
        raise FileError("; ".join(problems))
    inside = atlas_info(atlas)
    if as_json:
        typer.echo(json.dumps({**asdict(inside), "checked": check}, indent=1))
        return
    cells = " × ".join(str(size) for size in reversed(inside.shape))
    typer.echo(
        f"{inside.path}: atlas, format {inside.version}, {inside.nbytes / 1e6:.1f} MB\n"
        f"  map      {cells} cells of {inside.resolution:g} m, "
        f"{inside.free_area:.0f} m² free, checksum {inside.map_checksum}\n"
        f"  nodes    {inside.nodes} every {inside.spacing:g} m\n"
        f"  basis     {inside.channels} directions, {inside.signal}"
    )
    if check:
        typer.echo("  checked  every byte is as it was written")
