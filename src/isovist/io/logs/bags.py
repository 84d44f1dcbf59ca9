"""Logs out of bags: scans of one topic, odometry of another or of /tf, one clock.

Odometry is interpolated to the stamps of the scans, linearly in x, y and yaw.  A scan before the
first or after the last odometry is left out, and so is one without a valid beam; both are counted.
The stamp of a scan is the time of its first beam; with a sweep, what counts is the middle of it.
"""

import math
from array import array
from pathlib import Path
from typing import Any

import numpy as np

from isovist.errors import FileError
from isovist.io.bags import (
    LASER_SCAN,
    ODOMETRY,
    TRANSFORMS,
    choose,
    read_messages,
    scan_of,
    time_of,
)
from isovist.io.files import LARGEST, quote
from isovist.io.logs.frames import SAY_PLACE, Frames, frame_name, place_on_robot
from isovist.io.logs.read import Log
from isovist.poses import Pose, Pose3
from isovist.types import BoolArray, FloatArray


def read_bag_log(
    path: Path,
    scan_topic: str | None,
    odometry_topic: str | None,
    sensor: Pose | None,
    sweep: float,
) -> Log:
    """Read a bag in one pass.

    Args:
        path: The bag.
        scan_topic: Of type LaserScan; `None` when there is only one.
        odometry_topic: Of type Odometry, or a topic of transforms such as /tf; `None` takes the
            only Odometry topic, or /tf when there is none.
        sensor: T_robot_sensor; `None` takes it from /tf and /tf_static.
        sweep: Time that the sensor takes for one scan, in s, to straighten it; 0 leaves it be.
    """
    gathered = _Gathered(path, sensor)
    for connection, message in read_messages(
        path, lambda all_: gathered.choose(all_, scan_topic, odometry_topic)
    ):
        gathered.add(connection.topic, connection.msgtype, message)
    return gathered.log(sweep)


class _Gathered:
    """What the messages have said so far; 4 bytes for a beam and 64 for a pose."""

    def __init__(self, path: Path, sensor: Pose | None) -> None:
        self.path = path
        self.sensor = sensor
        self.odometry_topic: str | None = None
        self.readings = bytearray()
        self.sizes = array("q", [0])
        self.times = array("d")
        self.beams = array("d")
        self.odometry = array("d")
        self.frames = Frames(path.name)
        self.sensors: set[str] = set()
        self.robots: set[str] = set()
        self.blind = 0

    def choose(self, all_: list[Any], scan_topic: str | None, wanted: str | None) -> list[Any]:
        """The connections that the log is made of."""
        scans = choose(self.path, all_, LASER_SCAN, topic=scan_topic)
        transforms = [c for c in all_ if c.msgtype in TRANSFORMS]
        bare = wanted is None and not any(c.msgtype == ODOMETRY for c in all_)
        if bare and not transforms:
            raise FileError(
                f"{self.path.name} has no topic of type Odometry and no /tf, so nothing says how "
                "the robot moved. Record one of them beside the scans."
            )
        if bare or wanted in {c.topic for c in transforms}:
            return scans + transforms
        odometry = choose(self.path, all_, ODOMETRY, topic=wanted)
        self.odometry_topic = odometry[0].topic
        return scans + odometry + (transforms if self.sensor is None else [])

    def add(self, topic: str, kind: str, message: Any) -> None:
        """Keep one message."""
        if kind in TRANSFORMS:
            self.frames.add(message)
        elif kind == ODOMETRY:
            at, turn = message.pose.pose.position, message.pose.pose.orientation
            if not 0.99 < math.hypot(turn.x, turn.y, turn.z, turn.w) < 1.01:
                raise FileError(f"{self.path.name}: {topic} has a quaternion that is no rotation.")
            self.robots.add(frame_name(message.child_frame_id))
            pose = (at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w)
            self.odometry.extend((time_of(message.header), *pose))
        elif scan_of(self.path, message) is None:
            self.blind += 1
        else:
            self._add_scan(topic, message)

    def _add_scan(self, topic: str, message: Any) -> None:
        time = time_of(message.header)
        if self.times and time < self.times[-1]:
            raise FileError(
                f"{self.path.name}: scan {len(self.times) + self.blind} of {topic} is stamped "
                f"{self.times[-1] - time:.3f} s before the one in front of it. The stamps of a log "
                "must not go back."
            )
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
            raise FileError(f"{name} has no scan with a valid beam on that topic.")
        laser = _only(name, "the scans", "frame_id", self.sensors)
        if self.odometry_topic is None:
            robot, rows = self.frames.odometry(laser)
        elif self.odometry:
            robot = _only(name, "the odometry", "child_frame_id", self.robots)
            rows = np.array(self.odometry).reshape(-1, 8)
            poses = Pose3.from_quaternion(rows[:, 4:], rows[:, 1:4]).flat
            rows = np.column_stack([rows[:, 0], poses.vector])
        else:
            raise FileError(f"{name} has no message on {self.odometry_topic}.")
        if sensor is None:
            if not robot:
                raise FileError(
                    f"{name}: the odometry has no `child_frame_id`, so nothing says where the "
                    f"sensor sits on the robot. {SAY_PLACE}"
                )
            sensor, flipped = place_on_robot(name, laser, self.frames.T(robot, laser))
        times = np.array(self.times) + sweep / 2.0
        odometry, inside = _at(name, rows, times)
        beams = np.array(self.beams).reshape(-1, 4)
        if flipped:
            beams[:, :2] *= -1.0
        log = Log(
            times=times,
            odometry=odometry,
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


def _only(name: str, what: str, field: str, found: set[str]) -> str:
    """The frame that all messages name."""
    if len(found) > 1:
        raise FileError(
            f"{name}: {what} must come from one frame, got `{field}` "
            f"{', '.join(quote(frame)[1:-1] for frame in sorted(found)[:4])}."
        )
    return next(iter(found))


def _at(name: str, rows: FloatArray, times: FloatArray) -> tuple[FloatArray, BoolArray]:
    """Odometry at the given times, shape (m, 3), and which of them lie within its span."""
    if not np.isfinite(rows).all():
        raise FileError(f"{name}: the odometry is not finite.")
    if np.abs(rows).max(initial=0.0) > LARGEST:
        raise FileError(f"{name}: the odometry has a value beyond ±{LARGEST:g}.")
    # Several nodes may write /tf; what counts is the stamp.
    rows = rows[np.unique(rows[:, 0], return_index=True)[1]]
    first, last = rows[0, 0], rows[-1, 0]
    inside = (times >= first) & (times <= last)
    if not inside.any():
        raise FileError(
            f"{name}: no scan lies within the odometry. Scans run from {times[0]:.3f} to "
            f"{times[-1]:.3f} s, odometry from {first:.3f} to {last:.3f} s. Is it one clock?"
        )
    yaws = np.unwrap(rows[:, 3])
    columns = [np.interp(times, rows[:, 0], column) for column in (*rows[:, 1:3].T, yaws)]
    return np.stack(columns, axis=-1), inside
