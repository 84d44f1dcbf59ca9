"""Logs in space out of bags, and out of folders in the layout of KITTI (`io.logs.kitti`)."""

from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from isovist.errors import FileError, InputError
from isovist.io.bags import LASER_SCAN, POINT_CLOUD, read_messages, select_connections, time_of
from isovist.io.logs.bags import check_order
from isovist.io.logs.frames import frame_name
from isovist.io.logs.kitti import is_kitti, read_kitti
from isovist.io.logs.odometry import RecordedOdometry, interpolate, no_overlap_error, single_frame
from isovist.io.logs.read import BAGS
from isovist.io.point_cloud2 import cloud_of, returns_in
from isovist.io.scans.bags import too_few_returns
from isovist.poses import AnyPose, Pose3
from isovist.sensing.cloud_log import CloudLog
from isovist.sensing.cloud_scan import MIN_RETURNS, CloudScan
from isovist.storage.files import PathLike, is_folder


def has_point_clouds(path: PathLike, scan_topic: str | None = None) -> bool:
    """Return whether a log holds point clouds rather than laser scans.

    That is a folder in the layout of KITTI, or a bag whose scans are PointCloud2.
    """
    path = Path(path)
    if is_kitti(path):
        return True
    if not (is_folder(path) or path.suffix.lower() in BAGS):
        return False
    kinds: dict[str, set[str]] = {LASER_SCAN: set(), POINT_CLOUD: set()}

    def look(all_: list[Any]) -> list[Any]:
        for connection in all_:
            if connection.msgtype in kinds:
                kinds[connection.msgtype].add(connection.topic)
        return []

    list(read_messages(path, look))
    if scan_topic is not None:
        return scan_topic in kinds[POINT_CLOUD] or not kinds[LASER_SCAN]
    return bool(kinds[POINT_CLOUD]) and not kinds[LASER_SCAN]


def read_cloud_log(
    path: PathLike,
    *,
    scan_topic: str | None = None,
    odometry_topic: str | None = None,
    T_robot_sensor: AnyPose | None = None,
) -> CloudLog:
    """Read a log of 3D scans with odometry.

    Args:
        path: A bag, or a folder in the layout of KITTI.
        scan_topic: For bags: topic of type PointCloud2; `None` when there is only one.
        odometry_topic: For bags: topic of type Odometry, or /tf; `None` takes the only Odometry
            topic, or the link below `odom` in /tf; without either the log has no odometry.
        T_robot_sensor: Where the sensor sits; `None` takes what the log says, else the centre.
    """
    path = Path(path)
    if is_kitti(path):
        if scan_topic is not None or odometry_topic is not None:
            raise InputError.about(
                ("scan_topic", "odometry_topic"),
                f"choose topics of a bag, and {path.name} is none.",
                code="conflict",
            )
        return read_kitti(path, T_robot_sensor)
    return _from_bag(path, scan_topic, odometry_topic, T_robot_sensor)


def _from_bag(
    path: Path, scan_topic: str | None, odometry_topic: str | None, sensor: AnyPose | None
) -> CloudLog:
    moves, name = RecordedOdometry(path), path.name
    times, numbers, poor, sensors = list[float](), list[int](), list[int](), set[str]()
    topic = ""

    def choice(all_: list[Any]) -> list[Any]:
        nonlocal topic
        clouds = select_connections(path, all_, POINT_CLOUD, topic=scan_topic)
        topic = clouds[0].topic
        return clouds + (moves.connections(all_, odometry_topic, mounted=sensor is None) or [])

    for connection, message in read_messages(path, choice):
        if moves.add(connection.topic, connection.msgtype, message):
            continue
        number = len(times) + len(poor)
        if (count := returns_in(path, message)) < MIN_RETURNS:
            poor.append(count)
            continue
        check_order(name, topic, number, times, time_of(message.header))
        times.append(time_of(message.header))
        numbers.append(number)
        sensors.add(frame_name(message.header.frame_id))
    if not times:
        if poor:
            raise FileError(too_few_returns(path, poor), code="empty")
        raise FileError(f"{name} has no message on {topic}.", code="empty")
    lidar = single_frame(name, "the clouds", "frame_id", sensors)
    stamps, rows = np.array(times), np.array(numbers)
    odometry, inside = None, np.ones(len(stamps), dtype=np.bool_)
    robot = moves.frames.robot(lidar, moves.robots - {""})
    if moves.topic is not None or moves.frames.moves():
        robot, moments, poses = moves.told(lidar)
        inside = (stamps >= moments[0]) & (stamps <= moments[-1])
        if not inside.any():
            raise no_overlap_error(name, moments, stamps)
        odometry = interpolate(moments, poses, stamps[inside])
    sits = moves.frames.T(robot, lidar) if sensor is None else Pose3.lifted(sensor)
    return CloudLog(
        times=stamps[inside],
        odometry=odometry,
        read=_BagReader(path, topic),
        numbers=rows[inside],
        T_robot_sensor=sits,
        frame=robot if sensor is None else "robot",
        blind=len(poor),
        outside=int((~inside).sum()),
    )


class _BagReader:
    """The clouds of a topic by their number in the bag, read on from the last one asked for."""

    def __init__(self, path: Path, topic: str) -> None:
        self.path, self.topic = path, topic
        self.next = 0
        self.messages: Iterator[Any] = iter(())
        self.lock = Lock()

    def __call__(self, number: int) -> CloudScan:
        with self.lock:  # two pages of a studio may follow the same drive
            return self._read(number)

    def _read(self, number: int) -> CloudScan:
        if number < self.next or self.next == 0:
            chosen = lambda all_: select_connections(  # noqa: E731
                self.path, all_, POINT_CLOUD, topic=self.topic
            )
            self.messages, self.next = read_messages(self.path, chosen), 0
        for _, message in self.messages:
            self.next += 1
            if self.next > number:
                scan = cloud_of(self.path, message)
                assert scan is not None  # those with too few returns have no number
                return scan
        raise FileError(f"{self.path.name} has become shorter since it was opened.")
