"""One scan of a bag: a LaserScan or a PointCloud2, and where its sensor sits on the robot.

The robot is the frame that the Odometry of the bag names, else the one below `odom` in /tf, else
the topmost above the sensor; where the sensor sits on it is read from /tf and /tf_static, as for a
log (`io.logs.frames`).  Where a bag knows no frame but that of the sensor, the pose is of that.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from isovist.errors import FileError, InputError
from isovist.io.bags import (
    LASER_SCAN,
    ODOMETRY,
    POINT_CLOUD,
    TRANSFORMS,
    read_messages,
    scan_of,
    select_connections,
    time_of,
)
from isovist.io.logs.frames import Frames, frame_name, mounting_of
from isovist.io.point_cloud2 import cloud_of, returns_in
from isovist.sensing.cloud_scan import MIN_RETURNS, CloudScan
from isovist.sensing.scan import Scan
from isovist.storage.files import PathLike

_SCANS = (LASER_SCAN, POINT_CLOUD)


def read_bag_scan(
    path: PathLike, *, scan_topic: str | None = None, at: float | None = None, on_robot: bool = True
) -> Scan | CloudScan:
    """Read one scan of a bag: the scan nearest to a time, or the first.

    Args:
        path: The bag.
        scan_topic: Topic of type LaserScan or PointCloud2; `None` when the bag has only one.
        at: Time after the first scan, in s; `None` for the first scan.
        on_robot: Read where the sensor sits from /tf; else it is the centre of the robot.
    """
    path = Path(path)
    wanted = 0.0 if at is None else at
    if not wanted >= 0.0:
        raise InputError.about("at", f"must be 0 s or more, got {wanted:g}.")
    best, best_gap, first, since = None, math.inf, None, 0.0
    for time, frame, scan in read_bag_scans(path, scan_topic):
        first = time if first is None else first
        since = time - first
        gap = abs(since - wanted)
        if best is None or gap < best_gap:
            best, best_gap = (frame, scan), gap
        elif since > wanted:
            break
    if best is None:
        raise FileError(f"{path.name} has no scan with a valid beam on that topic.", code="empty")
    if wanted > since:
        raise InputError.about(
            "at", f"must be from 0 to {since:.3f} s in {path.name}, got {wanted:g}."
        )
    return _placed(path, *best) if on_robot else best[1]


def read_bag_scans(
    path: PathLike, scan_topic: str | None = None
) -> Iterator[tuple[float, str, Scan | CloudScan]]:
    """Read the scans of a topic in the order of the bag: time (s), frame and scan.

    The time is that of the header.

    A message without any valid beam is left out, since no scan can be made of it.  The scans are
    as the sensor saw them, at the centre of the robot.

    Args:
        path: The bag.
        scan_topic: Topic of type LaserScan or PointCloud2; `None` when the bag has only one.
    """
    path = Path(path)
    found, poor = False, list[int]()
    for connection, message in read_messages(path, lambda all_: _scans(path, all_, scan_topic)):
        make = cloud_of if connection.msgtype == POINT_CLOUD else scan_of
        scan = make(path, message)
        if scan is not None:
            found = True
            yield time_of(message.header), frame_name(message.header.frame_id), scan
        elif connection.msgtype == POINT_CLOUD and not found:
            poor.append(returns_in(path, message))
    if poor and not found:
        raise FileError(too_few_returns(path, poor), code="empty")


def too_few_returns(path: Path, returns: Sequence[int]) -> str:
    """Return an error text for a bag whose clouds all have too few returns."""
    return (
        f"{path.name} has no cloud with {MIN_RETURNS} returns on that topic: of {len(returns)} the "
        f"fullest has {max(returns)}. Points that are NaN or at the origin are none."
    )


def _scans(path: Path, connections: list[Any], topic: str | None) -> list[Any]:
    """The connections of the scans: LaserScan, unless clouds are asked for or all there is."""
    kinds: tuple[str, ...]
    topics = {kind: {c.topic for c in connections if c.msgtype == kind} for kind in _SCANS}
    if topic is None or topic in topics[LASER_SCAN] | topics[POINT_CLOUD]:
        clouds = topic in topics[POINT_CLOUD] or not topics[LASER_SCAN]
        kinds = (POINT_CLOUD,) if clouds and topics[POINT_CLOUD] else (LASER_SCAN,)
    else:
        kinds = tuple(kind for kind in _SCANS if topics[kind])
    return select_connections(
        path, connections, *(kinds if any(topics.values()) else _SCANS), topic=topic
    )


def _placed(path: Path, sensor: str, scan: Scan | CloudScan) -> Scan | CloudScan:
    """The scan with the place of its sensor on the robot, turned over if that hangs upside down."""
    frames, named = Frames(path.name), set[str]()
    wanted = (*TRANSFORMS, ODOMETRY)
    for connection, message in read_messages(
        path, lambda all_: [c for c in all_ if c.msgtype in wanted]
    ):
        if connection.msgtype == ODOMETRY:
            named.add(frame_name(message.child_frame_id))
        else:
            frames.add(message)
    robot = frames.robot(sensor, named - {""})
    T = frames.T(robot, sensor)
    if isinstance(scan, CloudScan):
        return replace(scan, T_robot_sensor=T, frame=robot)
    place, flipped = mounting_of(path.name, sensor, T)
    return replace(scan.mirrored() if flipped else scan, T_robot_sensor=place, frame=robot)
