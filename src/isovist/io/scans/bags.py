"""Read one scan of a bag, a LaserScan or a PointCloud2, and the pose of its sensor on the robot.

The robot is the frame that the Odometry of the bag names, else the one below `odom` in /tf, else
the topmost above the sensor.  The pose of the sensor on it comes from /tf and /tf_static, as for a
log (`io.logs.frames`).  If a bag knows no frame but that of the sensor, the robot is the sensor.
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
from isovist.io.frames import Frames, frame_name, mounting_of
from isovist.io.point_cloud2 import cloud_of, count_returns
from isovist.sensing import MIN_RETURNS, CloudScan, Scan
from isovist.storage import PathLike

_SCANS = (LASER_SCAN, POINT_CLOUD)


def read_bag_scan(
    path: PathLike, *, scan_topic: str | None = None, at: float | None = None, on_robot: bool = True
) -> Scan | CloudScan:
    """Read one scan of a bag: the scan nearest to a time, or the first scan.

    Args:
        path: The bag.
        scan_topic: Topic of type LaserScan or PointCloud2; `None` if the bag has only one.
        at: Time after the first scan, in s; `None` for the first scan.
        on_robot: Whether to read the pose of the sensor from /tf; otherwise it is the centre of the
            robot.

    Raises:
        FileError: If the bag is damaged or has no scan.
        InputError: If the topic or the time is not in the bag.
    """
    path = Path(path)
    time = 0.0 if at is None else at
    if not time >= 0.0:
        raise InputError.about("at", f"must be 0 s or more, got {time:g}.")
    nearest, smallest_gap, start, elapsed = None, math.inf, None, 0.0
    for stamp, frame, scan in read_bag_scans(path, scan_topic):
        start = stamp if start is None else start
        elapsed = stamp - start
        gap = abs(elapsed - time)
        if nearest is None or gap < smallest_gap:
            nearest, smallest_gap = (frame, scan), gap
        elif elapsed > time:
            break
    if nearest is None:
        raise FileError(f"{path.name} has no scan with a valid beam on that topic.", code="empty")
    if time > elapsed:
        raise InputError.about(
            "at", f"must be from 0 to {elapsed:.3f} s in {path.name}, got {time:g}."
        )
    return _mounted(path, *nearest) if on_robot else nearest[1]


def read_bag_scans(
    path: PathLike, scan_topic: str | None = None
) -> Iterator[tuple[float, str, Scan | CloudScan]]:
    """Read the scans of a topic in the order of the bag: header time (s), frame and scan.

    Messages without a valid beam are left out. The sensor is at the centre of the robot.

    Args:
        path: The bag.
        scan_topic: Topic of type LaserScan or PointCloud2; `None` if the bag has only one.
    """
    path = Path(path)
    has_scan, sparse = False, list[int]()
    for connection, message in read_messages(
        path, lambda connections: _scan_connections(path, connections, scan_topic)
    ):
        is_cloud = connection.msgtype == POINT_CLOUD
        scan = cloud_of(path, message) if is_cloud else scan_of(path, message)
        if scan is not None:
            has_scan = True
            yield time_of(message.header), frame_name(message.header.frame_id), scan
        elif is_cloud and not has_scan:
            sparse.append(count_returns(path, message))
    if sparse and not has_scan:
        raise FileError(too_few_returns(path, sparse), code="empty")


def too_few_returns(path: Path, counts: Sequence[int]) -> str:
    """Return an error text for a bag whose clouds all have too few returns."""
    return (
        f"{path.name} has no cloud with {MIN_RETURNS} returns on that topic: of {len(counts)} "
        f"clouds the fullest has {max(counts)}. Points that are NaN or at the origin do not count."
    )


def _scan_connections(path: Path, connections: list[Any], topic: str | None) -> list[Any]:
    """Return the connections of the scans: LaserScan unless the topic or the bag has clouds."""
    topics = {kind: {c.topic for c in connections if c.msgtype == kind} for kind in _SCANS}
    lasers, clouds = topics[LASER_SCAN], topics[POINT_CLOUD]
    if topic in clouds or (topic is None and clouds and not lasers):
        kinds: tuple[str, ...] = (POINT_CLOUD,)
    elif lasers and (topic is None or topic in lasers):
        kinds = (LASER_SCAN,)
    else:
        kinds = tuple(kind for kind in _SCANS if topics[kind]) or _SCANS
    return select_connections(path, connections, *kinds, topic=topic)


def _mounted(path: Path, sensor: str, scan: Scan | CloudScan) -> Scan | CloudScan:
    """Return the scan with the pose of its sensor on the robot, mirrored if that is upside down."""
    frames, robots = Frames(path.name), set[str]()
    kinds = (*TRANSFORMS, ODOMETRY)
    for connection, message in read_messages(
        path, lambda connections: [c for c in connections if c.msgtype in kinds]
    ):
        if connection.msgtype == ODOMETRY:
            robots.add(frame_name(message.child_frame_id))
        else:
            frames.add(message)
    robot = frames.robot(sensor, robots - {""})
    T = frames.T(robot, sensor)
    if isinstance(scan, CloudScan):
        return replace(scan, T_robot_sensor=T, frame=robot)
    mounting, is_upside_down = mounting_of(path.name, sensor, T)
    scan = scan.mirrored() if is_upside_down else scan
    return replace(scan, T_robot_sensor=mounting, frame=robot)
