"""`isovist survey`: where can a sensor be localized on this site, and where not?"""

import json
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


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
    compare: options.Compare = None,
    output: Annotated[
        Path | None, options.output("values (.npz), shapes (.geojson) or a page (.html)")
    ] = None,
    figure: options.Figure = None,
    as_json: options.Json = False,
) -> None:
    """Say where one scan is enough to know the place, and where it is not."""
    from isovist.apps.cli.support.inputs import atlas_of, sensors_of
    from isovist.apps.cli.support.progress import bar
    from isovist.report.comparisons import surveys_json, surveys_text
    from isovist.report.figures.figures import check_suffix, save
    from isovist.report.figures.survey_files import check_file, write_surveys
    from isovist.report.figures.surveys import draw_surveys
    from isovist.surveying.survey import survey as survey_site

    # A name that cannot be written is better told before the work than after.
    check_file(output, 1 if compare is None else 2)
    check_suffix(figure)
    atlas = atlas_of(world, height=height)
    usual = {"field-of-view": field_of_view, "beams": beams, "range-max": range_max,
             "noise": noise, "rings": rings}  # fmt: skip
    found = []
    for lidar in sensors_of(atlas, usual, compare):
        with bar("Surveying") as advance:
            found.append(survey_site(atlas, lidar, seed=seed, most=count, progress=advance))
    if output is not None:
        write_surveys(atlas, found, output, world.stem)
    if figure is not None:
        save(draw_surveys(atlas, found), figure)
    typer.echo(json.dumps(surveys_json(found), indent=1) if as_json else surveys_text(found))
