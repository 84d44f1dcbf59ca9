"""`isovist paper locate`: one scan, by the method of the paper."""

import json
import math

import typer

from isovist.apps.cli.support import options


def locate(
    world: options.Map,
    scan: options.ScanFile,
    channels: options.Channels = None,
    temperature: options.Temperature = None,
    profile: options.ProfileName = None,
    norm: options.Norm = None,
    transform: options.Transform = None,
    spacing: options.Spacing = None,
    basis: options.BasisFile = None,
    scan_topic: options.ScanTopic = None,
    at: options.At = None,
    sensor: options.Sensor = None,
    heading: options.Heading = None,
    roll: options.Roll = None,
    pitch: options.Pitch = None,
    height: options.Height = None,
    max_height: options.MaxHeight = None,
    as_json: options.Json = False,
) -> None:
    """Locate a scan by the paper's own method, with its bound.  Exit code 0: the bound holds."""
    from isovist.apps.cli.paper.localizer import PaperOptions
    from isovist.apps.cli.support.progress import busy
    from isovist.apps.cli.support.scans import ScanOptions
    from isovist.paper import paper_json, paper_text, view_of

    method = PaperOptions(channels, temperature, profile, norm, transform, spacing, basis)
    observed = ScanOptions(scan_topic, at, sensor, False, roll, pitch).read(scan)
    localizer = method.localizer(world, height, max_height, view_of(observed))
    yaw = None if heading is None else math.radians(heading[0])
    with busy("Describing and locating"):
        answer = localizer.locate(observed, yaw)
    typer.echo(json.dumps(paper_json(answer), indent=1) if as_json else paper_text(answer))
    raise typer.Exit(0 if answer.bound.holds else 1)
