"""Start a node on a bag, over zenoh, or with rclpy."""

import logging
import math
from contextlib import ExitStack
from pathlib import Path

from isovist.apps.ros.buses.bag_bus import BagBus
from isovist.apps.ros.buses.rclpy_bus import RclpyBus
from isovist.apps.ros.buses.zenoh_bus import Router, ZenohBus
from isovist.apps.ros.node import Node
from isovist.apps.ros.parameters import Parameters
from isovist.errors import InputError
from isovist.localization import AnyMaps, Verdict

log = logging.getLogger("isovist.ros")


def replay_bag(
    path: Path, parameters: Parameters, atlas: AnyMaps | None, output: Path | None
) -> tuple[str, bool]:
    """Replay a bag; return the result as a text, and whether the last scan was unique."""
    bus = BagBus(path, output)
    node = Node(bus, parameters, atlas)
    bus.run()
    last = node.last
    if last is None or last.best is None:
        return f"{node.scans} scans answered. {node.text}", False
    pose = last.best.pose
    position = f"x {pose.x:.3f} m, y {pose.y:.3f} m, yaw {math.degrees(pose.yaw):.2f}°"
    poses = f"{node.published} pose{'' if node.published == 1 else 's'}"
    text = f"{node.scans} scans, {poses} published on /initialpose"
    map_name = "" if last.map is None else f" on {last.map}"
    lines = [f"{text}; at the end {last.verdict.value}{map_name}: {position}."]
    if parameters.watch:
        counts = (f"{count} {verdict}" for verdict, count in sorted(node.watchdog.counts.items()))
        lines.append(f"{parameters.watch}: {', '.join(counts) or 'no pose was published'}.")
    return "\n".join(lines), last.verdict is Verdict.UNIQUE


def listen(
    parameters: Parameters,
    atlas: AnyMaps | None,
    *,
    native: bool,
    router: bool,
    connect: str,
    domain: int,
) -> None:
    """Run a node until it is interrupted."""
    with ExitStack() as stack:
        bus: RclpyBus | ZenohBus
        if native:
            bus = RclpyBus()
        else:
            if router:
                try:
                    stack.enter_context(Router(connect))
                    log.info("a zenoh router listens at %s", connect)
                except InputError:
                    log.info("a zenoh router runs at %s already", connect)
            bus = stack.enter_context(ZenohBus(endpoint=connect, domain=domain))
        Node(bus, parameters, atlas)
        log.info("listening on %s", parameters.scan)
        try:
            bus.run()
        except KeyboardInterrupt:
            log.info("interrupted")
