"""`isovist ros`: a ROS 2 node that says where the robot is."""

from pathlib import Path
from typing import Annotated

import typer

from isovist.apps.cli.support import options
from isovist.errors import InputError


def ros(
    maps: Annotated[
        list[Path] | None,
        typer.Option(
            "--map", metavar="MAP", help="Map, atlas or folder of atlases, else --map-topic."
        ),
    ] = None,
    links: options.Links = None,
    scan: Annotated[str, typer.Option(metavar="TOPIC", help="Topic of the scans.")] = "/scan",
    odom: Annotated[
        str,
        typer.Option(metavar="TOPIC", help="Topic of the odometry, or tf; '' if there is none."),
    ] = "/odom",
    map_topic: Annotated[str, typer.Option(metavar="TOPIC", help="Topic of the map.")] = "/map",
    watch: Annotated[
        str, typer.Option(metavar="TOPIC", help="Topic of poses to check, such as /amcl_pose.")
    ] = "",
    publish: Annotated[
        list[str] | None,
        options.choice(
            ("initialpose", "pose", "tf"),
            "What to publish; may be repeated.",
            default="initialpose",
        ),
    ] = None,
    sensor: options.Sensor = None,
    any_attitude: options.AnyAttitude = False,
    replay: Annotated[
        Path | None, typer.Option(metavar="BAG", help="Bag to replay instead of listening.")
    ] = None,
    output: Annotated[
        Path | None, options.output("what is published during --replay, as .mcap")
    ] = None,
    native: Annotated[
        bool, typer.Option("--native", help="Use rclpy of a sourced ROS 2 instead of zenoh.")
    ] = False,
    router: Annotated[bool, typer.Option("--router", help="Start a zenoh router.")] = False,
    connect: Annotated[
        str, typer.Option(metavar="ENDPOINT", help="Address of the zenoh router.")
    ] = "tcp/localhost:7447",
    domain: Annotated[
        int,
        typer.Option(metavar="N", min=0, max=232, envvar="ROS_DOMAIN_ID", help="Domain of ROS 2."),
    ] = 0,
) -> None:
    """Publish the pose for Nav2. Exit code with --replay: 0 unique at the end, 1 not."""
    from isovist.apps.cli.support.maps import open_atlases
    from isovist.apps.cli.support.scans import sensor_pose
    from isovist.apps.ros import Parameters, listen, replay_bag

    parameters = Parameters(
        scan=scan, odom=odom, map=map_topic, watch=watch,
        publish=tuple(publish or ("initialpose",)), sensor=sensor_pose(sensor),
        links=str(links or ""), any_attitude=any_attitude,
    )  # fmt: skip
    atlas = open_atlases(maps) if maps else None
    if output is not None and replay is None:
        raise InputError.about("output", "needs `--replay`, the bag to answer.", code="conflict")
    if replay is not None:
        text, is_unique = replay_bag(replay, parameters, atlas, output)
        typer.echo(text)
        raise typer.Exit(0 if is_unique else 1)
    listen(parameters, atlas, native=native, router=router, connect=connect, domain=domain)
