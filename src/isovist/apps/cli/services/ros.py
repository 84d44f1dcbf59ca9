"""`isovist ros`: a ROS 2 node that says where the robot is."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options
from isovist.errors import InputError


def ros(
    maps: Annotated[
        list[Path] | None,
        typer.Option("--map", help="A map, atlas or folder of them; else that of --map-topic."),
    ] = None,
    links: options.Links = None,
    scan: Annotated[str, typer.Option(help="Topic of the scans.")] = "/scan",
    odom: Annotated[
        str, typer.Option(help="Topic of the odometry, or tf; '' for a robot without.")
    ] = "/odom",
    map_topic: Annotated[str, typer.Option(help="Topic of the map.")] = "/map",
    watch: Annotated[str, typer.Option(help="Topic of poses to check, e.g. /amcl_pose.")] = "",
    publish: Annotated[
        list[str] | None,
        typer.Option(help="What to publish: initialpose, pose or tf; may be repeated."),
    ] = None,
    sensor: options.Sensor = None,
    any_attitude: options.AnyAttitude = False,
    replay: Annotated[
        Path | None, typer.Option(help="A bag to replay instead of listening.")
    ] = None,
    output: Annotated[
        Path | None, options.output("what is said about a replayed bag, as .mcap")
    ] = None,
    native: Annotated[bool, typer.Option("--native", help="Use rclpy of a sourced ROS 2.")] = False,
    router: Annotated[bool, typer.Option("--router", help="Start a zenoh router here.")] = False,
    connect: Annotated[
        str, typer.Option(help="Where the zenoh router listens.")
    ] = "tcp/localhost:7447",
    domain: Annotated[
        int, typer.Option(min=0, max=232, envvar="ROS_DOMAIN_ID", help="Domain of ROS 2.")
    ] = 0,
) -> None:
    """Find the robot and tell Nav2.  With --replay, exit code 0: unique at the end, 1: not."""
    from isovist.apps.cli.support.inputs import maps_of, place_of
    from isovist.apps.ros.parameters import Parameters
    from isovist.apps.ros.start import listen, replay_bag

    parameters = Parameters(
        scan=scan, odom=odom, map=map_topic, watch=watch,
        publish=tuple(publish or ("initialpose",)), sensor=place_of(sensor), links=str(links or ""),
        any_attitude=any_attitude,
    )  # fmt: skip
    atlas = maps_of(maps, None) if maps else None
    if output is not None and replay is None:
        raise InputError.about(
            "output", "is for a bag that is replayed; give it as `--replay`.", code="conflict"
        )
    if replay is not None:
        told, unique = replay_bag(replay, parameters, atlas, output)
        typer.echo(told)
        raise typer.Exit(0 if unique else 1)
    listen(parameters, atlas, native=native, router=router, connect=connect, domain=domain)
