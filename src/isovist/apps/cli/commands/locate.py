"""`isovist locate`: where was this scan taken?"""

import typer

from isovist.apps.cli.support import options


def locate(
    maps: options.Worlds,
    scan: options.ScanFile,
    scans: options.Scans = 1,
    apart: options.Apart = 0.5,
    scan_topic: options.ScanTopic = None,
    at: options.At = None,
    sensor: options.Sensor = None,
    mirror: options.Mirror = False,
    near: options.Near = None,
    heading: options.Heading = None,
    roll: options.Roll = None,
    pitch: options.Pitch = None,
    tilt: options.Tilt = False,
    any_attitude: options.AnyAttitude = False,
    height: options.Height = None,
    highest: options.Highest = None,
    prove: options.Prove = False,
    budget_s: options.Budget = None,
    why: options.Why = False,
    method: options.Method = "isovist",
    channels: options.PaperChannels = None,
    temperature: options.PaperTemperature = None,
    profile: options.PaperProfile = None,
    norm: options.PaperNorm = None,
    transform: options.PaperTransform = None,
    spacing: options.PaperSpacing = None,
    rose: options.PaperRose = None,
    figure: options.Figure = None,
    as_json: options.Json = False,
) -> None:
    """Find where a scan was taken.  Exit code 0: unique, 1: ambiguous or lost, 2: bad input."""
    from isovist.apps.cli.commands.locate_methods import (
        PaperOptions,
        check_ignored,
        is_paper,
        locate_paper,
        locate_product,
    )
    from isovist.apps.cli.support.inputs import leaning, region_of, seen_of
    from isovist.report.figures.figures import check_suffix

    check_suffix(figure)
    told = PaperOptions(channels, temperature, profile, norm, transform, spacing, rose)
    paper = is_paper(method, told)
    if paper:
        check_ignored(near=near, tilt=tilt, any_attitude=any_attitude, prove=prove,
                      budget=budget_s, why=why, figure=figure)  # fmt: skip
    prior = region_of(near, heading)
    seen = leaning(seen_of(scan, scan_topic, at, sensor, scans, apart, mirror), roll, pitch)
    if paper:
        raise typer.Exit(locate_paper(maps, seen, told, heading, height, highest, as_json))
    how = {"tilt": tilt, "any_attitude": any_attitude, "prove": prove, "budget_s": budget_s}
    code = locate_product(maps, seen, prior, (height, highest), (figure, why), as_json, **how)
    raise typer.Exit(code)
