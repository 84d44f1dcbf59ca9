"""`isovist locate`: where was this scan taken?"""

import json

import typer

from isovist.cli import options


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
    tilt: options.Tilt = False,
    height: options.Height = None,
    highest: options.Highest = None,
    prove: options.Prove = False,
    budget_s: options.Budget = None,
    why: options.Why = False,
    figure: options.Figure = None,
    as_json: options.Json = False,
) -> None:
    """Find where a scan was taken.  Exit code 0: unique, 1: ambiguous or lost, 2: bad input."""
    from isovist.cli.inputs import maps_of, region_of, seen_of
    from isovist.localization.answer import Verdict
    from isovist.localization.contrast import contrast
    from isovist.localization.hints import hints
    from isovist.localization.locate import locate as locate_scan
    from isovist.report.answers import answer_json, answer_text
    from isovist.report.contrasts import contrast_json, contrast_text
    from isovist.sensing.joined import last_of
    from isovist.viz.answers import draw_answer
    from isovist.viz.figures import check_suffix, save

    check_suffix(figure)
    prior = region_of(near, heading)
    seen = seen_of(scan, scan_topic, at, sensor, scans, apart, mirror)
    atlas = maps_of(maps, prior, height=height, highest=highest)
    answer = locate_scan(
        atlas, seen, prior=prior, tilt=tilt, certificate=True, prove=prove, budget_s=budget_s
    )
    instead = hints(atlas, seen, answer, prior=prior)
    told = contrast(atlas, seen, answer) if why else None
    if figure is not None:
        save(draw_answer(atlas, last_of(seen), answer, contrast=told), figure)
    if as_json:
        more = {"why": contrast_json(told)} if why else {}
        typer.echo(json.dumps(answer_json(answer, instead) | more, indent=1))
    else:
        because = f"\n  why: {contrast_text(told)}" if why else ""
        typer.echo(answer_text(answer, instead) + because)
    raise typer.Exit(0 if answer.verdict is Verdict.UNIQUE else 1)
