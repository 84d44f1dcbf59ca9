"""`isovist build`: describe a map once, answer from it ever after."""

from pathlib import Path
from typing import Annotated

import typer


def build(
    world: Annotated[
        Path, typer.Argument(metavar="MAP", help="ROS map (.yaml) or plan (.geojson).")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder to write.")],
    spacing: Annotated[
        float | None, typer.Option(help="Distance of the nodes, in m.  [default: 0.25]")
    ] = None,
) -> None:
    """Describe a map and keep the result as an atlas."""
    from isovist.atlas.atlas import build as build_atlas
    from isovist.atlas.store import write_atlas
    from isovist.cli.progress import bar
    from isovist.cli.worlds import cells_of
    from isovist.io.maps import read_map

    with bar("Describing") as advance:
        atlas = build_atlas(cells_of(read_map(world)), spacing=spacing, progress=advance)
    write_atlas(atlas, output)
    typer.echo(
        f"{output}: {len(atlas.nodes)} nodes every {atlas.spacing:g} m "
        f"over {atlas.world.free_area:.0f} m²."
    )
