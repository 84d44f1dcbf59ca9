"""`isovist survey`: where can a sensor be localized on this site, and where not?"""

import json
from pathlib import Path
from typing import Annotated

import typer

from isovist.cli import options


def survey(
    world: options.World,
    field_of_view: options.FieldOfView = 360.0,
    beams: options.Beams = 360,
    range_max: options.RangeMax = 10.0,
    noise: options.Noise = 0.05,
    rings: Annotated[int, options.rings(", ±15°")] = 16,
    height: options.Height = None,
    count: Annotated[
        int | None,
        typer.Option(help="Most scans that are simulated; 1000 if not given, fewer on large maps."),
    ] = None,
    seed: options.Seed = 0,
    output: Annotated[Path | None, options.output("the values to this .npz file")] = None,
    figure: options.Figure = None,
    as_json: options.Json = False,
) -> None:
    """Say where one scan is enough to know the place, and where it is not."""
    from isovist.cli.inputs import atlas_of, sensor_of
    from isovist.cli.progress import bar
    from isovist.report.surveys import survey_json, survey_text
    from isovist.surveying import survey as surveys
    from isovist.viz import figures
    from isovist.viz.surveys import draw_survey

    # A name that cannot be written is better told before the work than after.
    if output is not None:
        surveys.check_suffix(output)
    figures.check_suffix(figure)
    atlas = atlas_of(world, height=height)
    lidar = sensor_of(atlas, field_of_view, beams, range_max, noise, rings)
    with bar("Surveying") as advance:
        found = surveys.survey(atlas, lidar, seed=seed, most=count, progress=advance)
    if output is not None:
        surveys.write_survey(found, output)
    if figure is not None:
        figures.save(draw_survey(atlas, found), figure)
    typer.echo(json.dumps(survey_json(found), indent=1) if as_json else survey_text(found))
