"""Options that several commands share: one name, one text, the unit as its placeholder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer


def number(
    unit: str, text: str, *names: str, default: str | bool = True, minimum: Any = None
) -> Any:
    """Return an option that takes a number.

    Args:
        unit: Unit, which stands for the value in the help: "M", "S", "DEG", or "N" for a count.
        text: What the number is, as a sentence.
        names: Names of the option, if its parameter is called otherwise.
        default: What is used when the option is not given, if that is not the default value.
        minimum: Smallest valid value.
    """
    return typer.Option(*names, metavar=unit, help=text, show_default=default, min=minimum)


def choice(values: Sequence[str], text: str, *names: str, default: str | bool = True) -> Any:
    """Return an option that takes one of some words, which the help and the shell list."""

    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return typer.Option(
        *names, metavar="|".join(values), help=text, show_default=default, autocompletion=complete
    )


def output(text: str) -> Any:
    """Return the option `-o`, with a help text that names the output."""
    return typer.Option("-o", "--output", metavar="PATH", help=f"Write {text}.")


def figure(suffixes: str = ".png, .pdf or .svg") -> Any:
    """Return the option `--figure`, for picture files with the given suffixes."""
    text = f"Write a picture ({suffixes})."
    return typer.Option("--figure", metavar="FILE", help=text, dir_okay=False)


def height(default: str | bool = True) -> Any:
    """Return the option `--height`."""
    return number("M", "3D: sensor height above the floor, in m.", "--height", default=default)


def rings(note: str = "") -> Any:
    """Return the option `--rings`, with a note on the elevations of the rings."""
    return number("N", f"3D: number of rings of the lidar{note}.", "--rings", minimum=1)


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per update.")]
Figure = Annotated[Path | None, figure()]
Seed = Annotated[
    int, number("N", "Random seed: the same seed gives the same result.", "--seed", minimum=0)
]
Port = Annotated[
    int, typer.Option(metavar="N", min=0, max=65535, help="Port to listen on; 0 picks a free one.")
]
Host = Annotated[
    str,
    typer.Option(metavar="ADDRESS", help="Address to listen on; 0.0.0.0 admits other machines."),
]

# Maps
_MAP_HELP = "Map: ROS .yaml, plan .geojson, OctoMap, mesh or point cloud."
_MAP = typer.Argument(metavar="MAP", help=_MAP_HELP)
Map = Annotated[Path, _MAP]
Maps = Annotated[list[Path], _MAP]
World = Annotated[
    Path, typer.Argument(metavar="MAP_OR_ATLAS", help="Map, or atlas of `isovist build`.")
]
Worlds = Annotated[
    list[Path],
    typer.Argument(
        metavar="MAP_OR_ATLAS", help="Maps, atlases of `isovist build`, or one folder of atlases."
    ),
]
Links = Annotated[
    Path | None,
    typer.Option("--links", metavar="FILE", help="Lifts and doors between several maps (YAML)."),
]
Height = Annotated[float | None, height(default="1")]
MaxHeight = Annotated[
    float | None,
    number("M", "Drones: maximum height, in m; --height is the minimum.", "--max-height"),
]
Spacing = Annotated[
    float | None,
    number("M", "Distance between nodes, in m, in whole cells.", "--spacing", default="0.25"),
]

# Scans and logs
Logs = Annotated[
    list[Path],
    typer.Argument(metavar="LOG", help="CARMEN logs with corrected poses, plain, .gz or .bz2."),
]
ScanTopic = Annotated[
    str | None, typer.Option(metavar="TOPIC", help="Topic of the scans, if a bag has several.")
]
OdometryTopic = Annotated[
    str | None,
    typer.Option(metavar="TOPIC", help="Topic of the odometry, or /tf, if a bag has several."),
]
At = Annotated[float | None, number("S", "Take the scan this long after the start of a bag, in s.")]
ScanFile = Annotated[
    Path,
    typer.Argument(metavar="SCAN", help="Scan: .json, .npz, .csv or a bag; in 3D a point cloud."),
]
LastScans = Annotated[int, number("N", "Localize the last N scans together.", "--scans", minimum=1)]
ScanDistance = Annotated[
    float, number("M", "Minimum distance between --scans, in m.", "--min-distance")
]
Sensor = Annotated[
    tuple[float, float, float] | None,
    typer.Option(metavar="X Y YAW", help="Pose of the sensor on the robot, in m and rad."),
]
Near = Annotated[
    tuple[float, float, float] | None,
    typer.Option(metavar="X Y R", help="The robot is within R of (X, Y), in m."),
]
Heading = Annotated[
    tuple[float, float] | None,
    typer.Option(metavar="YAW TOL", help="The heading is YAW ± TOL, in degrees."),
]
Roll = Annotated[float | None, number("DEG", "3D: roll in degrees.", default="of the scan, or 0")]
Pitch = Annotated[
    float | None, number("DEG", "3D: pitch in degrees, + is nose down.", default="as roll")
]
Tilt = Annotated[bool, typer.Option("--tilt", help="3D: estimate roll and pitch.")]
AnyAttitude = Annotated[
    bool, typer.Option("--any-attitude", help="3D: estimate any roll and pitch, even upside down.")
]
Mirror = Annotated[bool, typer.Option("--mirror", help="The sensor is mounted upside down.")]
Step = Annotated[int, number("N", "Use every N-th scan.", "--every")]
Start = Annotated[int, number("N", "Number of the first scan, counted from 0.")]
Stop = Annotated[
    int | None, number("N", "Number of the scan after the last, counted from 0.", default="end")
]
Prove = Annotated[
    bool, typer.Option("--prove", help="Search the whole map, so that no other place is missed.")
]
Budget = Annotated[
    float | None, number("S", "Limit of a proof, in s.", "--budget", default="5; 1 unless unique")
]
Contrast = Annotated[
    bool, typer.Option("--why", help="Show which beams separate the two best places.")
]
Trace = Annotated[
    Path | None,
    typer.Option(
        "--trace", metavar="FILE", help="Write each batch of the search as JSON.", dir_okay=False
    ),
]
Sweep = Annotated[
    float, number("S", "Time of one turn of the sensor, in s, to straighten scans; 0 does not.")
]
Prefix = Annotated[
    str, typer.Option(metavar="WORD", help="Prefix of the arrays of an .npz file, such as nav_.")
]
HeldOut = Annotated[
    bool, typer.Option("--held-out", help="Use only scans that the map was not made of.")
]

# Poses
X = Annotated[float, typer.Argument(metavar="X", help="Coordinate x of the robot, in m.")]
Y = Annotated[float, typer.Argument(metavar="Y", help="Coordinate y of the robot, in m.")]
Z = Annotated[float | None, number("M", "3D: coordinate z of the robot, in m.", "--z")]

# Simulated sensors
FieldOfView = Annotated[float, number("DEG", "Field of view of the sensor, in degrees.")]
Beams = Annotated[int, number("N", "Number of beams of one scan.")]
RangeMax = Annotated[float, number("M", "Maximum range of the sensor, in m.")]
Noise = Annotated[float, number("M", "Standard deviation of a range, in m.")]
Clutter = Annotated[
    float, number("SHARE", "Share of beams that end at something unmapped, from 0 to 1.")
]
Compare = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="A B", help="Compare two sensors by what changes, e.g. range-max=30,beams=720."
    ),
]
Signal = Annotated[
    str,
    choice(
        ("range", "range+intensity"),
        "2D: what the search compares; intensity helps where walls differ.",
    ),
]

# The method of the paper
CHANNELS = number("N", "Number of directions of the basis.")
TEMPERATURE = number("EPS", "ε, the width of the weights; small is sharp.")
PROFILE = choice(("softmax", "bump", "cosine"), "How weights fall off.", "--profile")
NORM = choice(("euclid", "gram", "truncated"), "Distance of descriptors.", "--norm")
TRANSFORM = choice(
    ("linear", "logarithmic", "saturating"), "Signal of a range; the paper's is linear."
)
BASIS = typer.Option(
    "--basis", metavar="FILE", help="Basis of `isovist paper fit-basis`, instead of a uniform one."
)
Channels = Annotated[int | None, CHANNELS]
Temperature = Annotated[float | None, TEMPERATURE]
ProfileName = Annotated[str | None, PROFILE]
Norm = Annotated[str | None, NORM]
Transform = Annotated[str | None, TRANSFORM]
BasisFile = Annotated[Path | None, BASIS]
