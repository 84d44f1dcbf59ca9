"""Options that several verbs share: one name, one text."""

from pathlib import Path
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per update.")]


def figure(suffixes: str = ".png, .pdf or .svg") -> Any:
    """The option `--figure` of a verb that draws into such files."""
    return typer.Option("--figure", help=f"Write a picture ({suffixes}).", dir_okay=False)


def output(what: str) -> Any:
    """The option `-o` of a verb that writes that."""
    return typer.Option("-o", "--output", help=f"Write {what}.")


def height(note: str = "") -> Any:
    """The option `--height`, with a note on when it counts."""
    return typer.Option("--height", help=f"Of the sensor above the floor, in m{note}.")


def rings(note: str = "") -> Any:
    """The option `--rings`, with a note on where they look."""
    return typer.Option(
        "--rings", min=1, help=f"Of the sensor in space: beams above each other{note}."
    )


Figure = Annotated[Path | None, figure()]
Seed = Annotated[
    int, typer.Option(min=0, help="Of all that is random; the same seed, the same result.")
]

# Maps
_MAP = typer.Argument(
    metavar="MAP", help="ROS map (.yaml), plan (.geojson), OctoMap, mesh or point cloud."
)
Map = Annotated[Path, _MAP]
Maps = Annotated[list[Path], _MAP]
World = Annotated[
    Path, typer.Argument(metavar="MAP_OR_ATLAS", help="A map, or a folder of `isovist build`.")
]
Height = Annotated[float | None, height("; for maps in space, 1 if not given")]
Highest = Annotated[
    float | None, typer.Option(help="Of a drone: its highest height, in m, with --height.")
]

# Scans and logs
Logs = Annotated[list[Path], typer.Argument(metavar="LOG", help="CARMEN logs, plain, .gz or .bz2.")]
ScanTopic = Annotated[str | None, typer.Option(help="LaserScan topic of a bag.")]
OdometryTopic = Annotated[str | None, typer.Option(help="Odometry topic of a bag, or /tf.")]
At = Annotated[float | None, typer.Option(help="s after the first scan of a bag.")]
Sensor = Annotated[
    tuple[float, float, float] | None,
    typer.Option(metavar="X Y YAW", help="Where the sensor sits on the robot, in m and rad."),
]
Sweep = Annotated[float, typer.Option(help="s of one turn of the sensor, to straighten scans.")]
Prefix = Annotated[str, typer.Option(help="Of the keys of an .npz, e.g. nav_.")]
HeldOut = Annotated[bool, typer.Option("--held-out", help="Only scans not in the map.")]

# Simulated sensors
FieldOfView = Annotated[float, typer.Option(help="Of the sensor, in degrees.")]
Beams = Annotated[int, typer.Option(help="Of one scan.")]
RangeMax = Annotated[float, typer.Option(help="Beams that would be longer return nothing, in m.")]
Noise = Annotated[float, typer.Option(help="Standard deviation of a range, in m.")]
Clutter = Annotated[float, typer.Option(help="Share of beams cut short.")]
