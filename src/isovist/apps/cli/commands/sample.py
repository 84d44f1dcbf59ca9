"""`isovist sample`: files to try everything with."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options

APART = 3
"""Between the seeds of office and building: of seed 0 both scans are unique."""


def sample(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder that the files are written to.")
    ],
    seed: options.Seed = 0,
) -> None:
    """Write sample files: a map, a scan and a drive in 2D, a map and a scan in 3D."""
    from isovist.apps.cli.support.progress import busy
    from isovist.apps.cli.support.samples import check_folder, write_building, write_office
    from isovist.simulation.demo import demonstrate, demonstrate_in_space

    check_folder(folder)
    with busy("Writing the sample files"):
        office, building = demonstrate(seed), demonstrate_in_space(seed + APART)
        files = write_office(folder, office.scan, seed)
        files += write_building(folder, building, seed + APART)
    typer.echo("\n".join(str(path) for path in files))
