"""What `isovist track` prints and writes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from isovist.errors import InputError

if TYPE_CHECKING:
    from isovist.arrays import IntArray
    from isovist.tracking.replay import AnyLog


def follow_log(
    maps: list[Path],
    links: Path | None,
    seen: "AnyLog",
    which: "IntArray",
    files: tuple[Path | None, Path | None, Path | None],
    as_json: bool,
    any_attitude: bool,
    **above: float | None,
) -> int:
    """Print what `Tracker` says of a log; 0 when it is unique at the end, else 1.

    Args:
        maps: One or several, or a folder of atlases.
        links: File of the lifts and doors between several.
        seen: The log.
        which: Numbers of its scans.
        files: That the way is written to, as TUM text, as CSV and as a picture.
        as_json: Print a line for each update instead of words at the end.
        any_attitude: As for `Tracker`.
        above: Heights of the sensor above the floor of a map in space, as for `maps_of`.
    """
    from isovist.apps.cli.support.inputs import maps_of
    from isovist.apps.cli.support.progress import bar
    from isovist.atlas.base import Atlas
    from isovist.io.links import read_links
    from isovist.io.logs.tum import write_tum
    from isovist.report.figures.figures import save
    from isovist.report.figures.tracks import draw_track
    from isovist.report.tracks import track_text, update_json, write_updates
    from isovist.tracking.replay import on_map, replay, summarise, unique_way
    from isovist.tracking.tracker import Tracker

    tum, csv, figure = files
    joined = () if links is None else read_links(links)
    atlas = maps_of(maps, None, **above)
    if not isinstance(atlas, Atlas):
        if tum is not None:
            raise InputError.about(
                "tum", "is of one map, and there are several. Take `--csv`.", code="conflict"
            )
        seen = replace(seen, truth=None)  # which does not say what map it is of
    updates = []
    with bar("Tracking", hidden=as_json) as advance:
        tracker = Tracker(atlas, links=joined, any_attitude=any_attitude)
        for update in replay(tracker, seen, which):
            updates.append(update)
            advance(len(updates) / len(which))
            if as_json:
                typer.echo(json.dumps(update_json(update, seen.frame)))
    if tum is not None:
        write_tum(tum, *unique_way(updates))
    if csv is not None:
        write_updates(csv, updates)
    if figure is not None:
        save(draw_track(*on_map(atlas, updates)), figure)
    if not as_json:
        typer.echo(track_text(seen, summarise(updates)))
    return 0 if updates[-1].unique else 1
