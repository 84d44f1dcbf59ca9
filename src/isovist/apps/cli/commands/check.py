"""`isovist check`: is this pose where the scan was taken?"""

import json
from typing import Annotated

import typer

from isovist.apps.cli.support import options


def check(
    maps: options.Worlds,
    scan: options.ScanFile,
    x: options.X,
    y: options.Y,
    yaw: Annotated[float, typer.Argument(metavar="YAW", help="Heading of the robot, in rad.")],
    z: options.Z = None,
    name: Annotated[
        str | None,
        typer.Option("--map", metavar="MAP", help="Map of the pose, if there are several."),
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
    """Check a pose against a scan. Exit code: 0 agrees, 1 disagrees or cannot tell, 2 bad input."""
    from isovist.apps.cli.support.maps import BuildOptions, open_atlases
    from isovist.apps.cli.support.scans import ScanOptions, covariance, robot_pose
    from isovist.localization import check as check_pose
    from isovist.report import check_json, check_text

    pose, sigmas = robot_pose(x, y, yaw, z), covariance(spread)
    look = ScanOptions(scan_topic, at, sensor, mirror).read(scan)
    atlas = open_atlases(maps, BuildOptions(height=height))
    result = check_pose(atlas, look, pose, sigmas, map=name, thorough=thorough)
    typer.echo(json.dumps(check_json(result), indent=1) if as_json else check_text(result))
    raise typer.Exit(0 if result.verdict == "agrees" else 1)
