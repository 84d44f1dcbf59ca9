"""Logs out of bags: scans of one topic, odometry of another or of /tf, one clock.

Odometry is interpolated to the stamps of the scans, linearly in x, y and yaw.  A scan before the
first or after the last odometry is left out, and so is one without a valid beam; both are counted.
The stamp of a scan is the time of its first beam; with a sweep, what counts is the middle of it.
"""

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError
from isovist.io.bags import LASER_SCAN, read_messages, scan_of, select_connections, time_of
from isovist.io.logs.frames import GIVE_SENSOR_POSE, frame_name, mounting_of
from isovist.io.logs.odometry import RecordedOdometry, no_overlap_error, single_frame
from isovist.poses import Pose
from isovist.sensing.log import Log


def read_bag_log(
    path: Path,
    scan_topic: str | None,
    odometry_topic: str | None,
    sensor: Pose | None,
    sweep: float,
) -> Log:
    """Read a log of laser scans and odometry from a bag, in one pass.

    Args:
        path: The bag.
        scan_topic: Topic of type LaserScan; `None` when there is only one.
        odometry_topic: Topic of type Odometry, or of transforms such as /tf; `None` takes the
            only Odometry topic, or /tf when there is none.
        sensor: T_robot_sensor; `None` takes it from /tf and /tf_static.
        sweep: Time that the sensor takes for one scan, in s, to straighten it; 0 leaves it be.
    """
    gathered = _Gathered(path, sensor)
    for connection, message in read_messages(
        path, lambda all_: gathered.connections(all_, scan_topic, odometry_topic)
    ):
        gathered.add(connection.topic, connection.msgtype, message)
    return gathered.log(sweep)


class _Gathered:
    """What the messages have said so far; 4 bytes for a beam."""

    def __init__(self, path: Path, sensor: Pose | None) -> None:
        self.path = path
        self.sensor = sensor
        self.moves = RecordedOdometry(path)
        self.readings = bytearray()
        self.sizes = array("q", [0])
        self.times = array("d")
        self.beams = array("d")
        self.sensors: set[str] = set()
        self.blind = 0

    def connections(self, all_: list[Any], scan_topic: str | None, wanted: str | None) -> list[Any]:
        """The connections that the log is made of."""
        scans = select_connections(self.path, all_, LASER_SCAN, topic=scan_topic)
        moves = self.moves.connections(all_, wanted, mounted=self.sensor is None)
        if moves is None:
            raise FileError(
                f"{self.path.name} has no topic of type Odometry and no /tf, so nothing says how "
                "the robot moved. Record one of them beside the scans."
            )
        return scans + moves

    def add(self, topic: str, kind: str, message: Any) -> None:
        """Keep one message."""
        if self.moves.add(topic, kind, message):
            return
        if scan_of(self.path, message) is None:
            self.blind += 1
        else:
            self._add_scan(topic, message)

    def _add_scan(self, topic: str, message: Any) -> None:
        time = time_of(message.header)
        check_order(self.path.name, topic, len(self.times) + self.blind, self.times, time)
        self.times.append(time)
        self.sensors.add(frame_name(message.header.frame_id))
        self.readings += message.ranges.astype(np.float32, copy=False).tobytes()
        self.sizes.append(len(message.ranges))
        self.beams.extend(
            (message.angle_min, message.angle_increment, message.range_min, message.range_max)
        )

    def log(self, sweep: float) -> Log:
        """All of it, with odometry at the time of each scan."""
        name, sensor, flipped = self.path.name, self.sensor, False
        if not self.times:
            raise FileError(f"{name} has no scan with a valid beam on that topic.", code="empty")
        laser = single_frame(name, "the scans", "frame_id", self.sensors)
        robot, moments, poses = self.moves.told(laser)
        if sensor is None:
            if not robot:
                raise FileError(
                    f"{name}: the odometry has no `child_frame_id`, so nothing says where the "
                    f"sensor sits on the robot. {GIVE_SENSOR_POSE}",
                    field="T_robot_sensor",
                )
            sensor, flipped = mounting_of(name, laser, self.moves.frames.T(robot, laser))
        times = np.array(self.times) + sweep / 2.0
        inside = (times >= moments[0]) & (times <= moments[-1])
        if not inside.any():
            raise no_overlap_error(name, moments, times)
        beams = np.array(self.beams).reshape(-1, 4)
        if flipped:
            beams[:, :2] *= -1.0
        log = Log(
            times=times,
            odometry=_at(moments, poses.flat.vector, times),
            readings=np.frombuffer(self.readings, dtype=np.float32),
            starts=np.cumsum(self.sizes),
            beams=beams,
            T_robot_sensor=sensor,
            frame=robot if self.sensor is None else "robot",
            sweep=sweep,
            blind=self.blind,
            outside=int((~inside).sum()),
        )
        return log if inside.all() else log.take(np.flatnonzero(inside))


def check_order(name: str, topic: str, number: int, times: Sequence[float], time: float) -> None:
    """Check that a scan is not stamped (s) before the previous one; raise an error otherwise."""
    if times and time < times[-1]:
        raise FileError(
            f"{name}: scan {number} of {topic} is stamped {times[-1] - time:.3f} s before the one "
            "in front of it. The stamps of a log must not go back."
        )


def _at(moments: FloatArray, rows: FloatArray, times: FloatArray) -> FloatArray:
    """Odometry in the plane at the given times, shape (m, 3)."""
    yaws = np.unwrap(rows[:, 2])
    columns = [np.interp(times, moments, column) for column in (*rows[:, :2].T, yaws)]
    return np.stack(columns, axis=-1)
