"""`isovist sample`: files to try everything with."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options

BUILDING_SEED_OFFSET = 3


def sample(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder to write the files to.")],
    seed: options.Seed = 0,
) -> None:
    """Write sample files: a map, a scan and a drive in 2D, map and scan in 3D."""
    from isovist.apps.cli.support.progress import busy
    from isovist.apps.cli.support.samples import check_folder, write_building, write_office
    from isovist.simulation import demonstrate, demonstrate_in_space

    check_folder(folder)
    with busy("Writing the sample files"):
        office, building_seed = demonstrate(seed), seed + BUILDING_SEED_OFFSET
        files = write_office(folder, office.scan, seed)
        files += write_building(folder, demonstrate_in_space(building_seed).scan, building_seed)
    typer.echo("\n".join(str(path) for path in files))
