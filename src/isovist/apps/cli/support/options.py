"""Options that several verbs share: one name, one text."""

from pathlib import Path
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print one JSON object per update.")]


def figure(suffixes: str = ".png, .pdf or .svg") -> Any:
    """Return the option `--figure`, for picture files with the given suffixes."""
    return typer.Option("--figure", help=f"Write a picture ({suffixes}).", dir_okay=False)


def output(what: str) -> Any:
    """Return the option `-o`, whose help says what is written."""
    return typer.Option("-o", "--output", help=f"Write {what}.")


def height(note: str = "") -> Any:
    """Return the option `--height`, with a note on when it counts."""
    return typer.Option("--height", help=f"Height of the sensor above the floor, in m{note}.")


def rings(note: str = "") -> Any:
    """Return the option `--rings`, with a note on where the rings look."""
    return typer.Option(
        "--rings",
        min=1,
        help=f"Number of rings of beams above each other, of a sensor in space{note}.",
    )


Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")]
Host = Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.")]
Figure = Annotated[Path | None, figure()]
Seed = Annotated[
    int,
    typer.Option(
        min=0, help="Number that all random choices follow from: the same seed, the same result."
    ),
]

# Maps
_MAP = typer.Argument(
    metavar="MAP", help="A map: ROS (.yaml), plan (.geojson), OctoMap, mesh or point cloud."
)
Map = Annotated[Path, _MAP]
Maps = Annotated[list[Path], _MAP]
World = Annotated[
    Path,
    typer.Argument(metavar="MAP_OR_ATLAS", help="A map, or a folder that `isovist build` wrote."),
]
Worlds = Annotated[
    list[Path],
    typer.Argument(
        metavar="MAP_OR_ATLAS",
        help="Maps, folders that `isovist build` wrote, or one folder of such folders.",
    ),
]
Links = Annotated[
    Path | None,
    typer.Option("--links", help="File of lifts and doors between several maps (YAML)."),
]
Height = Annotated[float | None, height("; for maps in space, 1 if not given")]
Highest = Annotated[
    float | None,
    typer.Option(help="Greatest height of the sensor of a drone, in m; --height is its least."),
]

SPACING = typer.Option(help="Distance between nodes, in m, in whole cells; 0.25 if not given.")
Spacing = Annotated[float | None, SPACING]

# Scans and logs
Logs = Annotated[
    list[Path],
    typer.Argument(metavar="LOG", help="CARMEN logs with corrected poses, plain, .gz or .bz2."),
]
ScanTopic = Annotated[
    str | None, typer.Option(help="Topic of a bag that holds the scans, if it has several.")
]
OdometryTopic = Annotated[
    str | None, typer.Option(help="Topic of a bag that holds the odometry, or /tf.")
]
At = Annotated[
    float | None,
    typer.Option(help="Take the scan at this time after the first one of the bag or log, in s."),
]
ScanFile = Annotated[
    Path,
    typer.Argument(
        metavar="SCAN",
        help="A scan: .json, .npz, .csv or a bag; in space a cloud of points; a log for --scans.",
    ),
]
Scans = Annotated[
    int,
    typer.Option(
        min=1, help="Locate the last so many scans of a log as one, joined by its odometry."
    ),
]
Apart = Annotated[float, typer.Option(help="Least way between two of the --scans, in m.")]
Sensor = Annotated[
    tuple[float, float, float] | None,
    typer.Option(metavar="X Y YAW", help="Where the sensor sits on the robot, in m and rad."),
]
Near = Annotated[
    tuple[float, float, float] | None,
    typer.Option(metavar="X Y R", help="The robot is within R of this place, in m."),
]
Heading = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="YAW TOLERANCE", help="Heading of the robot, and how far off it may be, in degrees."
    ),
]
Roll = Annotated[
    float | None,
    typer.Option(help="In space: what the robot leans by about its x axis, in degrees; else 0."),
]
Pitch = Annotated[
    float | None,
    typer.Option(help="In space: the same about its y axis, positive when its nose is down."),
]
Tilt = Annotated[
    bool, typer.Option("--tilt", help="In space: fit roll and pitch, when nothing measures them.")
]
AnyAttitude = Annotated[
    bool,
    typer.Option("--any-attitude", help="In space: nothing says which way is up; find that too."),
]
Mirror = Annotated[
    bool, typer.Option("--mirror", help="The sensor hangs upside down: turn the scan over.")
]
Every = Annotated[int, typer.Option(help="Use one of so many scans.")]
Prove = Annotated[
    bool,
    typer.Option("--prove", help="Search the whole map, so that no other place can be missed."),
]
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget",
        help="Time after which a proof is given up, in s; 5 if not given, 1 if not unique.",
    ),
]
Why = Annotated[
    bool,
    typer.Option("--why", help="Say which beams tell the two best places apart, in --figure too."),
]
Sweep = Annotated[
    float,
    typer.Option(
        help="Time of one turn of the sensor, in s, to straighten scans with; 0 leaves them."
    ),
]
Prefix = Annotated[
    str, typer.Option(help="Beginning of the names of the arrays of an .npz file, e.g. nav_.")
]
HeldOut = Annotated[
    bool, typer.Option("--held-out", help="Use only scans that the map was not made of.")
]

Only = Annotated[
    list[str] | None,
    typer.Option(help="Try only this method of those that the rows name; may be repeated."),
]

# Simulated sensors
FieldOfView = Annotated[float, typer.Option(help="Angle that the sensor sees, in degrees.")]
Beams = Annotated[int, typer.Option(help="Number of beams of one scan.")]
RangeMax = Annotated[
    float, typer.Option(help="Longest range of the sensor, in m; longer beams return nothing.")
]
Noise = Annotated[float, typer.Option(help="Standard deviation of a range, in m.")]
Compare = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="SENSOR SENSOR",
        help="Compare two sensors; each says what changes, e.g. range-max=30,beams=720.",
    ),
]
Clutter = Annotated[
    float, typer.Option(help="Share of the beams that something unmapped cuts short, from 0 to 1.")
]
Signal = Annotated[
    str,
    typer.Option(
        help="What a search in the plane compares: range, or range+intensity where walls differ."
    ),
]

# The paper's method
CHANNELS = typer.Option(help="Number of directions of the basis.")
TEMPERATURE = typer.Option(help="ε, how wide the weights are; small is sharp.")
PROFILE = typer.Option("--profile", help="How weights fall off: softmax, bump or cosine.")
NORM = typer.Option("--norm", help="Distance of descriptors: euclid, gram or truncated.")
TRANSFORM = typer.Option(
    help="Signal of a range: linear as in the paper, logarithmic or saturating."
)
BASIS = typer.Option(
    "--basis", help="A basis that `isovist paper fit-basis` wrote, instead of a uniform one."
)


Channels = Annotated[int | None, CHANNELS]
Temperature = Annotated[float | None, TEMPERATURE]
ProfileName = Annotated[str | None, PROFILE]
Norm = Annotated[str | None, NORM]
Transform = Annotated[str | None, TRANSFORM]
BasisFile = Annotated[Path | None, BASIS]
Start = Annotated[int, typer.Option(help="Number of the first scan, counted from 0.")]
Stop = Annotated[
    int | None, typer.Option(help="Number of the scan after the last, counted from 0.")
]
