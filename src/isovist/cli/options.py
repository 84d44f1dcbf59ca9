"""Options that several verbs share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Figure = Annotated[
    Path | None,
    typer.Option(help="Write a picture to this file (.png, .pdf or .svg).", dir_okay=False),
]
