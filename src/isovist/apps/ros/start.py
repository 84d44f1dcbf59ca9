"""Nodes as the command line starts them: on a bag, by zenoh or by rclpy."""

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
from isovist.localization.answer import Verdict
from isovist.localization.maps import AnyMaps

log = logging.getLogger("isovist.ros")


def replay_bag(
    path: Path, parameters: Parameters, atlas: AnyMaps | None, output: Path | None
) -> tuple[str, bool]:
    """Replay a bag; return a text with the result, and whether the last scan was unique."""
    bus = BagBus(path, output)
    node = Node(bus, parameters, atlas)
    bus.run()
    last = node.last
    if last is None or last.best is None:
        return f"{node.scans} scans answered. {node.said}", False
    pose = last.best.pose
    where = f"x {pose.x:.3f} m, y {pose.y:.3f} m, yaw {math.degrees(pose.yaw):.2f}°"
    poses = f"{node.published} pose{'' if node.published == 1 else 's'}"
    text = f"{node.scans} scans, {poses} published on /initialpose"
    on = "" if last.map is None else f" on {last.map}"
    told = [f"{text}; at the end {last.verdict.value}{on}: {where}."]
    if parameters.watch:
        counts = (f"{count} {verdict}" for verdict, count in sorted(node.watchdog.counts.items()))
        told.append(f"{parameters.watch}: {', '.join(counts) or 'nothing was said'}.")
    return "\n".join(told), last.verdict is Verdict.UNIQUE


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
