"""`isovist info`: what is in an atlas, and is it intact?."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support.options import Json


def info(
    atlas: Annotated[Path, typer.Argument(metavar="ATLAS", help="Atlas of `isovist build`.")],
    check: Annotated[
        bool, typer.Option("--check", help="Compare every byte with its checksum.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show what is in an atlas: size, spacing, area. Exit code 2 if it is damaged."""
    from isovist.atlas import atlas_info, check_atlas
    from isovist.errors import FileError

    if check and (problems := check_atlas(atlas)):
        raise FileError("; ".join(problems))
    contents = atlas_info(atlas)
    if as_json:
        typer.echo(json.dumps({**asdict(contents), "checked": check}, indent=1))
        return
    cells = " × ".join(str(size) for size in reversed(contents.shape))
    typer.echo(
        f"{contents.path}: atlas, format {contents.version}, {contents.nbytes / 1e6:.1f} MB\n"
        f"  map      {cells} cells of {contents.resolution:g} m, "
        f"{contents.free_area:.0f} m² free, checksum {contents.map_checksum}\n"
        f"  nodes    {contents.nodes} every {contents.spacing:g} m\n"
        f"  basis    {contents.channels} directions, {contents.signal}"
    )
    if check:
        typer.echo("  checked  all checksums match")
