"""Options that several verbs share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Figure = Annotated[
    Path | None,
    typer.Option(help="Write a picture to this file (.png, .pdf or .svg).", dir_okay=False),
]
Height = Annotated[
    float | None,
    typer.Option(help="In space: of the sensor above the floor, in m.  [default: 1]"),
]
Highest = Annotated[
    float | None, typer.Option(help="Of a drone: its highest height, in m, with --height.")
]
