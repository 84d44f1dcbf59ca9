"""How a robot moved, out of the messages of a bag: a topic of type Odometry, or /tf.

Odometry is interpolated to the stamps of the scans, positions linearly and turns at even pace.
"""

import math
from array import array
from pathlib import Path
from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError
from isovist.io.bags import ODOMETRY, TRANSFORMS, select_connections, time_of
from isovist.io.logs.frames import Frames, frame_name
from isovist.poses import Pose3
from isovist.storage.files import MAX_COORDINATE, quote

FASTEST = 50.0
"""No robot drives faster, in m/s: twice what cars do in towns."""
HOP = 1.0
"""Shorter hops of odometry are corrections of a filter, in m."""


class RecordedOdometry:
    """The motion of the robot as the messages of a bag tell it; 64 bytes for a pose."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.topic: str | None = None
        self.frames = Frames(path.name)
        self.rows = array("d")
        self.robots: set[str] = set()

    def connections(
        self, all_: list[Any], wanted: str | None, *, mounted: bool
    ) -> list[Any] | None:
        """Return the connections that tell the motion of the robot; `None` without any.

        Args:
            all_: Connections of the bag.
            wanted: A topic of type Odometry, or one of transforms; `None` takes the only Odometry
                topic, or all transforms when there is none.
            mounted: Whether transforms must say where the sensor sits.
        """
        transforms = [c for c in all_ if c.msgtype in TRANSFORMS]
        bare = wanted is None and not any(c.msgtype == ODOMETRY for c in all_)
        if bare and not transforms:
            return None
        if bare or wanted in {c.topic for c in transforms}:
            return transforms
        odometry = select_connections(self.path, all_, ODOMETRY, topic=wanted)
        self.topic = odometry[0].topic
        return odometry + (transforms if mounted else [])

    def add(self, topic: str, kind: str, message: Any) -> bool:
        """Store one message; return whether it tells of the motion."""
        if kind in TRANSFORMS:
            self.frames.add(message)
            return True
        if kind != ODOMETRY:
            return False
        at, turn = message.pose.pose.position, message.pose.pose.orientation
        if not 0.99 < math.hypot(turn.x, turn.y, turn.z, turn.w) < 1.01:
            raise FileError(f"{self.path.name}: {topic} has a quaternion that is no rotation.")
        self.robots.add(frame_name(message.child_frame_id))
        pose = (at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w)
        self.rows.extend((time_of(message.header), *pose))
        return True

    def told(self, sensor: str) -> tuple[str, FloatArray, Pose3]:
        """Return the robot's frame, times in s, ascending, shape (k,), and T_odom_robot at each.

        Args:
            sensor: Frame of the sensor, from which /tf is searched upwards.
        """
        name = self.path.name
        if self.topic is None:
            robot, times, poses = self.frames.odometry(sensor)
        elif self.rows:
            robot = single_frame(name, "the odometry", "child_frame_id", self.robots)
            rows = np.array(self.rows).reshape(-1, 8)
            times, poses = rows[:, 0], Pose3.from_quaternion(rows[:, 4:], rows[:, 1:4])
        else:
            raise FileError(f"{name} has no message on {self.topic}.", code="empty")
        if not (np.isfinite(times).all() and np.isfinite(poses.position).all()):
            raise FileError(f"{name}: the odometry is not finite.")
        if (
            max(np.abs(times).max(initial=0.0), np.abs(poses.position).max(initial=0.0))
            > MAX_COORDINATE
        ):
            raise FileError(f"{name}: the odometry has a value beyond ±{MAX_COORDINATE:g}.")
        # Several nodes may write /tf; what counts is the stamp.
        index = np.unique(times, return_index=True)[1]
        _check_pace(name, times[index], poses.position[index])
        return robot, times[index], poses[index]


def single_frame(name: str, what: str, field: str, found: set[str]) -> str:
    """Return the frame that all messages name; raise an error for several."""
    if len(found) > 1:
        raise FileError(
            f"{name}: {what} must come from one frame, got `{field}` "
            f"{', '.join(quote(frame)[1:-1] for frame in sorted(found)[:4])}."
        )
    return next(iter(found))


def no_overlap_error(name: str, odometry: FloatArray, scans: FloatArray) -> FileError:
    """Return the error for scans none of which lies within the odometry, by their times (s)."""
    return FileError(
        f"{name}: no scan lies within the odometry. Scans run from {scans[0]:.3f} to "
        f"{scans[-1]:.3f} s, odometry from {odometry[0]:.3f} to {odometry[-1]:.3f} s. "
        "Is it one clock?"
    )


def interpolate(times: FloatArray, poses: Pose3, wanted: FloatArray) -> Pose3:
    """Interpolate poses at other times, all within the span of `times`."""
    if len(times) == 1:
        return poses[np.zeros(len(wanted), dtype=np.int64)]
    from scipy.spatial.transform import Rotation, Slerp

    turns = Slerp(times, Rotation.from_quat(poses.quaternion))(wanted).as_quat()
    places = [np.interp(wanted, times, column) for column in poses.position.T]
    return Pose3.from_quaternion(turns, np.stack(places, axis=-1))


def _check_pace(name: str, times: FloatArray, places: FloatArray) -> None:
    """An error where odometry jumps: no robot is that fast."""
    hops, waits = np.linalg.norm(np.diff(places, axis=0), axis=1), np.diff(times)
    jumps = np.flatnonzero(hops > np.maximum(HOP, FASTEST * waits))
    if jumps.size:
        k = int(jumps[0])
        raise FileError(
            f"{name}: the odometry jumps by {hops[k]:.1f} m within {waits[k]:.3f} s, "
            f"{times[k] - times[0]:.3f} s after its first. It must not be set back during a log; "
            "cut the log there."
        )
