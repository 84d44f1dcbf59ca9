"""`isovist locate`: where was this scan taken?"""

import json
from pathlib import Path
from typing import Annotated

import typer

from isovist.cli import options


def locate(
    world: options.World,
    scan: Annotated[
        Path, typer.Argument(help="Scan: .json, .npz, .csv or a bag; a cloud of points in space.")
    ],
    scan_topic: options.ScanTopic = None,
    at: options.At = None,
    sensor: options.Sensor = None,
    mirror: options.Mirror = False,
    near: options.Near = None,
    heading: options.Heading = None,
    tilt: options.Tilt = False,
    height: options.Height = None,
    highest: options.Highest = None,
    figure: options.Figure = None,
    as_json: options.Json = False,
) -> None:
    """Find where a scan was taken.  Exit code 0: unique, 1: ambiguous or lost, 2: bad input."""
    from isovist.cli.inputs import atlas_of, place_of, region_of
    from isovist.io.scans.read import read_scan
    from isovist.localization.answer import Verdict
    from isovist.localization.hints import hints
    from isovist.localization.locate import locate as locate_scan
    from isovist.report.answers import answer_json, answer_text
    from isovist.viz.figures import check_suffix, save
    from isovist.viz.space import figure_of

    check_suffix(figure)
    prior = region_of(near, heading)
    seen = read_scan(scan, scan_topic=scan_topic, at=at, T_robot_sensor=place_of(sensor))
    seen = seen.mirrored() if mirror else seen
    atlas = atlas_of(world, height=height, highest=highest)
    answer = locate_scan(atlas, seen, prior=prior, tilt=tilt, certificate=True)
    told = hints(atlas, seen, answer, prior=prior)
    if figure is not None:
        save(figure_of(atlas, seen, answer), figure)
    report = answer_json(answer, told)
    typer.echo(json.dumps(report, indent=1) if as_json else answer_text(answer, told))
    raise typer.Exit(0 if answer.verdict is Verdict.UNIQUE else 1)
