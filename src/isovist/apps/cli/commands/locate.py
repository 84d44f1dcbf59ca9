"""`isovist locate`: where was this scan taken?"""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from isovist.apps.cli.support import options
from isovist.errors import InputError

if TYPE_CHECKING:
    from isovist.localization import Region


def locate(
    maps: options.Worlds,
    scan: options.ScanFile,
    count: options.LastScans = 1,
    min_distance: options.ScanDistance = 0.5,
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
    max_height: options.MaxHeight = None,
    prove: options.Prove = False,
    budget_s: options.Budget = None,
    with_contrast: options.Contrast = False,
    figure: options.Figure = None,
    trace: options.Trace = None,
    as_json: options.Json = False,
) -> None:
    """Find a robot's pose from a scan. Exit code: 0 unique, 1 ambiguous or lost, 2 bad input."""
    from isovist.apps.cli.support.maps import BuildOptions, open_atlases
    from isovist.apps.cli.support.scans import ScanOptions, search_region
    from isovist.compute import compile_in_background, select_distinct
    from isovist.localization import Verdict, contrast, hints, search_space_of
    from isovist.localization.locate import locate as locate_scan
    from isovist.report import (
        answer_json,
        answer_text,
        check_suffix,
        contrast_json,
        contrast_text,
        draw_answer,
        save,
        trace_json,
    )
    from isovist.sensing import ScanInput, last_scan

    check_suffix(figure)
    region = search_region(near, heading)
    reader = ScanOptions(scan_topic, at, sensor, mirror, roll, pitch)
    scans: ScanInput = (
        reader.read(scan) if count == 1 else reader.read_last(scan, count, min_distance)
    )
    check_one_map(maps, region)
    atlas = open_atlases(maps, BuildOptions(height=height, max_height=max_height))
    compile_in_background(*search_space_of(atlas).kernels()[1:], select_distinct)
    answer = locate_scan(
        atlas, scans, region=region, tilt=tilt, any_attitude=any_attitude, prove=prove,
        budget_s=budget_s,
    )  # fmt: skip
    alternatives = hints(atlas, scans, answer, region=region)
    contrast_ = contrast(atlas, scans, answer) if with_contrast else None
    if figure is not None:
        save(draw_answer(atlas, last_scan(scans), answer, contrast=contrast_), figure)
    if trace is not None:
        trace.write_text(json.dumps(trace_json(answer), indent=1) + "\n", encoding="utf-8")
    if as_json:
        extra = {"why": contrast_json(contrast_)} if with_contrast else {}
        typer.echo(json.dumps(answer_json(answer, alternatives) | extra, indent=1))
    else:
        extra_text = f"\n  why: {contrast_text(contrast_)}" if with_contrast else ""
        typer.echo(answer_text(answer, alternatives) + extra_text)
    raise typer.Exit(0 if answer.verdict is Verdict.UNIQUE else 1)


def check_one_map(maps: list[Path], region: "Region | None") -> None:
    """Raise an error if a region is given for several maps, since a region is on one map."""
    from isovist.atlas import is_library

    if region is not None and (len(maps) > 1 or is_library(maps[0])):
        raise InputError.about(
            "near",
            "and `--heading` are about one map, and there are several. Give that map alone.",
            code="conflict",
        )
