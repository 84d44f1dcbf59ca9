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
FieldOfView = Annotated[float, typer.Option(help="Of the sensor, in degrees.")]
Beams = Annotated[int, typer.Option(help="Of one scan.")]
RangeMax = Annotated[float, typer.Option(help="Beams that would be longer return nothing, in m.")]
Noise = Annotated[float, typer.Option(help="Standard deviation of a range, in m.")]
Height = Annotated[
    float | None,
    typer.Option(help="In space: of the sensor above the floor, in m.  [default: 1]"),
]
Highest = Annotated[
    float | None, typer.Option(help="Of a drone: its highest height, in m, with --height.")
]
