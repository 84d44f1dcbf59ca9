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
        options.number(
            "N", "Maximum number of simulated scans.", default="1000, fewer on large maps"
        ),
    ] = None,
    seed: options.Seed = 0,
    compare: options.Compare = None,
    output: Annotated[
        Path | None, options.output("values (.npz), areas (.geojson) or a page (.html)")
    ] = None,
    figure: options.Figure = None,
    as_json: options.Json = False,
) -> None:
    """Show where one scan is enough to know the pose, and where not."""
    from isovist.apps.cli.support.maps import BuildOptions, open_atlas
    from isovist.apps.cli.support.progress import bar
    from isovist.apps.cli.support.sensors import SensorOptions
    from isovist.report import (
        check_file,
        check_suffix,
        draw_surveys,
        save,
        surveys_json,
        surveys_text,
        write_surveys,
    )
    from isovist.surveying.survey import survey as survey_site

    # Refuse a name that cannot be written before the work, not after.
    check_file(output, 1 if compare is None else 2)
    check_suffix(figure)
    atlas = open_atlas(world, BuildOptions(height=height))
    sensor = SensorOptions(field_of_view, beams, range_max, noise, rings)
    surveys = []
    for lidar in sensor.lidars(atlas.dimension, compare):
        with bar("Surveying") as advance:
            surveys.append(survey_site(atlas, lidar, seed=seed, max_scans=count, progress=advance))
    if output is not None:
        write_surveys(atlas, surveys, output, world.stem)
    if figure is not None:
        save(draw_surveys(atlas, surveys), figure)
    typer.echo(json.dumps(surveys_json(surveys), indent=1) if as_json else surveys_text(surveys))
