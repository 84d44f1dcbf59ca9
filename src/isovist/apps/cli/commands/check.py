"""`isovist check`: is this pose where the scan was taken?"""

import json
from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def check(
    maps: options.Worlds,
    scan: Annotated[
        Path,
        typer.Argument(
            metavar="SCAN", help="A scan: .json, .npz, .csv or a bag; in space a cloud of points."
        ),
    ],
    x: Annotated[
        float, typer.Argument(metavar="X", help="Coordinate x of the robot in the map, in m.")
    ],
    y: Annotated[
        float, typer.Argument(metavar="Y", help="Coordinate y of the robot in the map, in m.")
    ],
    yaw: Annotated[
        float, typer.Argument(metavar="YAW", help="Heading of the robot in the map, in rad.")
    ],
    z: Annotated[
        float | None, typer.Option(help="Coordinate z of the robot, in m; for maps in space.")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--map", help="Name of the map that the pose is of, of several.")
    ] = None,
    spread: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="M RAD", help="Standard deviation of the pose, in m and rad."),
    ] = None,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Search the whole map for rivals.")
    ] = False,
    scan_topic: options.ScanTopic = None,
    at: options.At = None,
    sensor: options.Sensor = None,
    mirror: options.Mirror = False,
    height: options.Height = None,
    as_json: options.Json = False,
) -> None:
    """Judge a pose.  Exit code 0: agrees, 1: disagrees or cannot tell, 2: bad input."""
    from isovist.apps.cli.support.inputs import claim_of, maps_of, place_of, spread_of
    from isovist.io.scans.read import read_scan
    from isovist.localization.check import check as check_pose
    from isovist.report.checks import check_json, check_text

    claim, covariance = claim_of(x, y, yaw, z), spread_of(spread)
    seen = read_scan(scan, scan_topic=scan_topic, at=at, T_robot_sensor=place_of(sensor))
    seen = seen.mirrored() if mirror else seen
    atlas = maps_of(maps, None, height=height)
    told = check_pose(atlas, seen, claim, covariance, map=name, thorough=thorough)
    typer.echo(json.dumps(check_json(told), indent=1) if as_json else check_text(told))
    raise typer.Exit(0 if told.verdict == "agrees" else 1)
