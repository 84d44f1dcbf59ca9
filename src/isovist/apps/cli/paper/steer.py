"""`isovist paper steer`: where to drive by the paper, from a known place."""

import json
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def steer(
    world: options.Map,
    x: options.X,
    y: options.Y,
    z: options.Z = None,
    legs: Annotated[int, options.number("N", "Number of legs to drive.")] = 4,
    length: Annotated[float, options.number("M", "Length of a leg, in m.")] = 1.0,
    channels: Annotated[int, options.CHANNELS] = 16,
    as_json: options.Json = False,
) -> None:
    """Drive where the Gramian of descriptors grows most, leg by leg, in 2D or 3D."""
    from isovist import read_map
    from isovist.apps.cli.support.progress import busy
    from isovist.paper import drive_json, drive_legs, drive_text, field_of

    field = field_of(read_map(world), channels)
    start = (x, y) if z is None else (x, y, z)
    with busy("Trying legs"):
        drive = drive_legs(field, start, legs=legs, length=length)
    typer.echo(json.dumps(drive_json(drive)) if as_json else drive_text(drive))
