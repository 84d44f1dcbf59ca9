"""`isovist paper metric`: the map as its descriptors see it."""

import json

import typer

from isovist.apps.cli.support import options


def metric(
    world: options.Map,
    channels: options.Channels = None,
    temperature: options.Temperature = None,
    profile: options.ProfileName = None,
    spacing: options.Spacing = None,
    figure: options.Figure = None,
    as_json: options.Json = False,
) -> None:
    """Measure how finely descriptors resolve places, and which places look alike."""
    from isovist.apps.cli.paper.localizer import PaperOptions
    from isovist.apps.cli.support.progress import busy
    from isovist.paper import draw_metric, map_metric, metric_json, metric_text
    from isovist.report import check_suffix, save

    check_suffix(figure)
    method = PaperOptions(channels, temperature, profile, spacing=spacing)
    localizer = method.localizer(world)
    with busy("Describing"):
        result = map_metric(localizer)
    if figure is not None:
        save(draw_metric(result), figure)
    typer.echo(json.dumps(metric_json(result)) if as_json else metric_text(result))
