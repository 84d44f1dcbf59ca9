"""Read logs from bags: scans of one topic, odometry of another or of /tf, one clock.

Odometry is interpolated to the stamps of the scans, linearly in x, y and yaw.  A scan before the
first or after the last odometry is left out, and so is one without a valid beam; both are counted.
The stamp of a scan is the time of its first beam; with a sweep, the middle of the sweep counts.
"""

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError
from isovist.io.bags import LASER_SCAN, read_messages, scan_of, select_connections, time_of
from isovist.io.frames import GIVE_SENSOR_POSE, frame_name, mounting_of
from isovist.io.logs.odometry import RecordedOdometry, inside_odometry, single_frame
from isovist.io.logs.read import LogOptions, Progress
from isovist.sensing import Log


def read_bag_log(path: Path, options: LogOptions, _progress: Progress | None = None) -> Log:
    """Read a log of laser scans and odometry from a bag, in one pass.

    Raises:
        FileError: If the bag is damaged, or has no scans, no odometry or no pose of the sensor.
    """
    builder = _LogBuilder(path, options)
    for connection, message in read_messages(path, builder.connections):
        builder.add(connection.topic, connection.msgtype, message)
    return builder.build()


class _LogBuilder:
    """The scans and the odometry of a bag, gathered message by message; 4 bytes for a beam."""

    def __init__(self, path: Path, options: LogOptions) -> None:
        self.path = path
        self.options = options
        self.odometry = RecordedOdometry(path)
        self.readings = bytearray()
        self.sizes = array("q", [0])
        self.times = array("d")
        self.beams = array("d")
        self.sensors: set[str] = set()
        self.blind = 0

    def connections(self, connections: list[Any]) -> list[Any]:
        """Return the connections that the log is made of."""
        scans = select_connections(
            self.path, connections, LASER_SCAN, topic=self.options.scan_topic
        )
        odometry = self.odometry.connections(
            connections,
            self.options.odometry_topic,
            needs_mounting=self.options.T_robot_sensor is None,
        )
        if odometry is None:
            raise FileError(
                f"{self.path.name} has no topic of type Odometry and no /tf, so nothing says how "
                "the robot moved. Record one of them beside the scans."
            )
        return scans + odometry

    def add(self, topic: str, kind: str, message: Any) -> None:
        """Store one message."""
        if self.odometry.add(topic, kind, message):
            return
        if scan_of(self.path, message) is None:
            self.blind += 1
            return
        time = time_of(message.header)
        check_order(self.path.name, topic, len(self.times) + self.blind, self.times, time)
        self.times.append(time)
        self.sensors.add(frame_name(message.header.frame_id))
        self.readings += message.ranges.astype(np.float32, copy=False).tobytes()
        self.sizes.append(len(message.ranges))
        self.beams.extend(
            (message.angle_min, message.angle_increment, message.range_min, message.range_max)
        )

    def build(self) -> Log:
        """Return the log, with odometry at the time of each scan."""
        name, sensor, sweep = self.path.name, self.options.T_robot_sensor, self.options.sweep
        if not self.times:
            raise FileError(f"{name} has no scan with a valid beam on that topic.", code="empty")
        laser = single_frame(name, "the scans", "frame_id", self.sensors)
        robot, moments, poses = self.odometry.path_of(laser)
        is_upside_down = False
        if sensor is None:
            if not robot:
                raise FileError(
                    f"{name}: the odometry has no `child_frame_id`, so nothing says where the "
                    f"sensor sits on the robot. {GIVE_SENSOR_POSE}",
                    field="T_robot_sensor",
                )
            T = self.odometry.frames.T(robot, laser)
            sensor, is_upside_down = mounting_of(name, laser, T)
        times = np.array(self.times) + sweep / 2.0
        inside = inside_odometry(name, moments, times)
        beams = np.array(self.beams).reshape(-1, 4)
        if is_upside_down:
            beams[:, :2] *= -1.0
        log = Log(
            times=times,
            odometry=_interpolate(moments, poses.flat.vector, times),
            readings=np.frombuffer(self.readings, dtype=np.float32),
            starts=np.cumsum(self.sizes),
            beams=beams,
            T_robot_sensor=sensor,
            frame=robot if self.options.T_robot_sensor is None else "robot",
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


def _interpolate(moments: FloatArray, rows: FloatArray, times: FloatArray) -> FloatArray:
    """Return 2D odometry at the given times, shape (m, 3)."""
    yaws = np.unwrap(rows[:, 2])
    columns = [np.interp(times, moments, column) for column in (*rows[:, :2].T, yaws)]
    return np.stack(columns, axis=-1)
