"""`isovist survey`: where can a sensor be localized on this site, and where not?"""

import json
import math
from pathlib import Path
from typing import Annotated

import typer

from isovist.cli.options import Beams, FieldOfView, Figure, Json, Noise, RangeMax


def survey(
    world: Annotated[
        Path, typer.Argument(metavar="MAP_OR_ATLAS", help="A map, or a folder of `isovist build`.")
    ],
    field_of_view: FieldOfView = 360.0,
    beams: Beams = 360,
    range_max: RangeMax = 10.0,
    noise: Noise = 0.05,
    samples: Annotated[
        int | None,
        typer.Option(help="Most scans that are simulated: 1000 if not given, fewer on large maps."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the simulated scans.")] = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the values to this .npz file.")
    ] = None,
    figure: Figure = None,
    as_json: Json = False,
) -> None:
    """Say where one scan is enough to know the place, and where it is not."""
    from isovist.cli.progress import bar
    from isovist.cli.worlds import atlas_of
    from isovist.sensing.lidar import Lidar
    from isovist.survey import survey as surveys
    from isovist.viz import figures
    from isovist.viz.surveys import draw_survey, survey_json, survey_text

    # A name that cannot be written is better told before the work than after.
    if output is not None:
        surveys.check_suffix(output)
    if figure is not None:
        figures.check_suffix(figure)
    lidar = Lidar(math.radians(field_of_view), beams, range_max, noise)
    atlas = atlas_of(world)
    with bar("Surveying") as advance:
        found = surveys.survey(atlas, lidar, seed=seed, most=samples, progress=advance)
    if output is not None:
        surveys.write_survey(found, output)
    if figure is not None:
        figures.save(draw_survey(atlas.world, found), figure)
    typer.echo(json.dumps(survey_json(found), indent=1) if as_json else survey_text(found))
