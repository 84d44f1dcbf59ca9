"""Read logs of 3D scans from bags, and from folders in the layout of KITTI (`io.logs.kitti`)."""

from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from isovist.errors import FileError, InputError
from isovist.io.bags import (
    BAG_SUFFIXES,
    LASER_SCAN,
    POINT_CLOUD,
    read_messages,
    select_connections,
    time_of,
)
from isovist.io.frames import frame_name
from isovist.io.logs.bags import check_order
from isovist.io.logs.kitti import is_kitti, read_kitti
from isovist.io.logs.odometry import RecordedOdometry, inside_odometry, interpolate, single_frame
from isovist.io.point_cloud2 import cloud_of, count_returns
from isovist.io.scans.bags import too_few_returns
from isovist.poses import AnyPose, Pose3
from isovist.sensing import MIN_RETURNS, CloudLog, CloudScan
from isovist.storage import PathLike, is_folder


def has_point_clouds(path: PathLike, scan_topic: str | None = None) -> bool:
    """Return whether a log has point clouds instead of 2D laser scans.

    Such a log is a folder in the layout of KITTI, or a bag with PointCloud2 messages.
    """
    path = Path(path)
    if is_kitti(path):
        return True
    if not (is_folder(path) or path.suffix.lower() in BAG_SUFFIXES):
        return False
    topics: dict[str, set[str]] = {LASER_SCAN: set(), POINT_CLOUD: set()}

    def collect_topics(connections: list[Any]) -> list[Any]:
        for connection in connections:
            if connection.msgtype in topics:
                topics[connection.msgtype].add(connection.topic)
        return []

    list(read_messages(path, collect_topics))
    if scan_topic is not None:
        return scan_topic in topics[POINT_CLOUD] or not topics[LASER_SCAN]
    return bool(topics[POINT_CLOUD]) and not topics[LASER_SCAN]


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
        scan_topic: Topic of type PointCloud2 of a bag; `None` if the bag has only one.
        odometry_topic: Topic of type Odometry of a bag, or /tf.  `None` takes the only Odometry
            topic, or the link below `odom` in /tf.  If there is neither, the log has no odometry.
        T_robot_sensor: Pose of the sensor on the robot.  `None` takes the pose in the log, or else
            the centre of the robot.

    Raises:
        FileError: If the log is damaged, or has no cloud with enough returns.
        InputError: If an argument does not suit the log.
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
    builder = _CloudLogBuilder(path)

    def connections(available: list[Any]) -> list[Any]:
        clouds = select_connections(path, available, POINT_CLOUD, topic=scan_topic)
        builder.topic = clouds[0].topic
        odometry = builder.odometry.connections(
            available, odometry_topic, needs_mounting=T_robot_sensor is None
        )
        return clouds + (odometry or [])

    for connection, message in read_messages(path, connections):
        builder.add(connection.topic, connection.msgtype, message)
    return builder.build(None if T_robot_sensor is None else Pose3.lifted(T_robot_sensor))


class _CloudLogBuilder:
    """The times of the clouds of a bag, and its odometry, gathered message by message."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.topic = ""
        self.odometry = RecordedOdometry(path)
        self.times: list[float] = []
        self.numbers: list[int] = []
        self.sensors: set[str] = set()
        self.sparse: list[int] = []  # numbers of returns of the clouds that have too few

    def add(self, topic: str, kind: str, message: Any) -> None:
        """Store one message."""
        if self.odometry.add(topic, kind, message):
            return
        if (count := count_returns(self.path, message)) < MIN_RETURNS:
            self.sparse.append(count)
            return
        number, time = len(self.times) + len(self.sparse), time_of(message.header)
        check_order(self.path.name, topic, number, self.times, time)
        self.times.append(time)
        self.numbers.append(number)
        self.sensors.add(frame_name(message.header.frame_id))

    def build(self, mounting: Pose3 | None) -> CloudLog:
        """Return the log, with odometry at the time of each cloud if there is any."""
        name, frames = self.path.name, self.odometry.frames
        if self.sparse and not self.times:
            raise FileError(too_few_returns(self.path, self.sparse), code="empty")
        if not self.times:
            raise FileError(f"{name} has no message on {self.topic}.", code="empty")
        lidar = single_frame(name, "the clouds", "frame_id", self.sensors)
        times, numbers = np.array(self.times), np.array(self.numbers)
        odometry, inside = None, np.ones(len(times), dtype=np.bool_)
        robot = frames.robot(lidar, self.odometry.robots - {""})
        if self.odometry.topic is not None or frames.has_odometry():
            robot, moments, poses = self.odometry.path_of(lidar)
            inside = inside_odometry(name, moments, times)
            odometry = interpolate(moments, poses, times[inside])
        return CloudLog(
            times=times[inside],
            odometry=odometry,
            read=_BagReader(self.path, self.topic),
            numbers=numbers[inside],
            T_robot_sensor=frames.T(robot, lidar) if mounting is None else mounting,
            frame=robot if mounting is None else "robot",
            blind=len(self.sparse),
            outside=int((~inside).sum()),
        )


class _BagReader:
    """The clouds of a topic by their number in the bag, read in order from the last one."""

    def __init__(self, path: Path, topic: str) -> None:
        self.path, self.topic = path, topic
        self.next = 0
        self.messages: Iterator[Any] = iter(())
        self.lock = Lock()

    def __call__(self, number: int) -> CloudScan:
        with self.lock:  # two pages of a studio may follow the same drive
            return self._read(number)

    def _connections(self, connections: list[Any]) -> list[Any]:
        return select_connections(self.path, connections, POINT_CLOUD, topic=self.topic)

    def _read(self, number: int) -> CloudScan:
        if number < self.next or self.next == 0:
            self.messages, self.next = read_messages(self.path, self._connections), 0
        for _, message in self.messages:
            self.next += 1
            if self.next > number:
                scan = cloud_of(self.path, message)
                assert scan is not None  # those with too few returns have no number
                return scan
        raise FileError(f"{self.path.name} has become shorter since it was opened.")
