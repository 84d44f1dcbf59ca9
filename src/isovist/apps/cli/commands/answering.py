"""What `isovist locate` prints."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from isovist.localization.region import Region
    from isovist.sensing.scan_sequence import ScanInput


def print_answer(
    maps: list[Path],
    seen: "ScanInput",
    prior: "Region | None",
    height: tuple[float | None, float | None],
    picture: tuple[Path | None, bool],
    as_json: bool,
    **how: Any,
) -> int:
    """Print what `isovist.locate` says of a scan; 0 when it is unique, else 1."""
    from isovist.apps.cli.support.inputs import maps_of
    from isovist.compute.infra.precompile import compile_in_background
    from isovist.compute.search.topk import select_distinct
    from isovist.localization.answer import Verdict
    from isovist.localization.contrast import contrast
    from isovist.localization.hints import hints
    from isovist.localization.locate import locate
    from isovist.localization.maps import site_of
    from isovist.report.answers import answer_json, answer_text
    from isovist.report.contrasts import contrast_json, contrast_text
    from isovist.report.figures.answers import draw_answer
    from isovist.report.figures.figures import save
    from isovist.sensing.scan_sequence import last_scan

    figure, why = picture
    atlas = maps_of(maps, prior, height=height[0], highest=height[1])
    compile_in_background(*site_of(atlas).kernels()[1:], select_distinct)
    answer = locate(atlas, seen, region=prior, **how)
    instead = hints(atlas, seen, answer, region=prior)
    told = contrast(atlas, seen, answer) if why else None
    if figure is not None:
        save(draw_answer(atlas, last_scan(seen), answer, contrast=told), figure)
    if as_json:
        more = {"why": contrast_json(told)} if why else {}
        typer.echo(json.dumps(answer_json(answer, instead) | more, indent=1))
    else:
        because = f"\n  why: {contrast_text(told)}" if why else ""
        typer.echo(answer_text(answer, instead) + because)
    return 0 if answer.verdict is Verdict.UNIQUE else 1
