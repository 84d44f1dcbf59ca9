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
    figure: options.Figure = None,
    as_json: options.Json = False,
) -> None:
    """Find where a scan was taken.  Exit code 0: unique, 1: ambiguous or lost, 2: bad input."""
    from isovist.apps.cli.commands.answering import print_answer
    from isovist.apps.cli.support.inputs import leaning, region_of, seen_of
    from isovist.report.figures.figures import check_suffix

    check_suffix(figure)
    prior = region_of(near, heading)
    seen = leaning(seen_of(scan, scan_topic, at, sensor, scans, apart, mirror), roll, pitch)
    how = {"tilt": tilt, "any_attitude": any_attitude, "prove": prove, "budget_s": budget_s}
    code = print_answer(maps, seen, prior, (height, highest), (figure, why), as_json, **how)
    raise typer.Exit(code)
