"""`isovist metric`: the map as its descriptors see it."""

import json

import typer

from isovist.cli import options


def metric(
    world: options.Map,
    channels: options.Channels = None,
    temperature: options.Temperature = None,
    profile: options.ProfileName = None,
    spacing: options.Spacing = None,
    figure: options.Figure = None,
    as_json: options.Json = False,
) -> None:
    """Distances of descriptors between places: how finely they resolve, and which look alike."""
    from isovist.cli.locating import PaperOptions, localizer_of
    from isovist.cli.progress import busy
    from isovist.report.papers import metric_json, metric_text
    from isovist.theory.metric import map_metric
    from isovist.viz.figures import check_suffix, save
    from isovist.viz.metric import draw_metric

    check_suffix(figure)
    told = PaperOptions(channels, temperature, profile, None, None, spacing)
    localizer = localizer_of(world, told, None, None)
    with busy("Describing"):
        found = map_metric(localizer)
    if figure is not None:
        save(draw_metric(found), figure)
    typer.echo(json.dumps(metric_json(found)) if as_json else metric_text(found))
