"""Options that several verbs share."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
Figure = Annotated[
    Path | None,
    typer.Option(help="Write a picture to this file (.png, .pdf or .svg).", dir_okay=False),
]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per update.")]
World = Annotated[
    Path, typer.Argument(metavar="MAP_OR_ATLAS", help="A map, or a folder of `isovist build`.")
]
ScanTopic = Annotated[str | None, typer.Option(help="LaserScan topic of a bag.")]
OdometryTopic = Annotated[str | None, typer.Option(help="Odometry topic of a bag, or /tf.")]
Place = Annotated[
    tuple[float, float, float] | None,
    typer.Option(metavar="X Y YAW", help="Where the sensor sits on the robot, in m and rad."),
]
