"""Read the motion of a robot from a bag (Odometry or /tf), and check its speed.

Odometry is interpolated to the stamps of the scans, positions linearly and turns at even pace.
"""

import math
from array import array
from pathlib import Path
from typing import Any

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.errors import FileError
from isovist.io.bags import ODOMETRY, TRANSFORMS, select_connections, time_of
from isovist.io.frames import Frames, frame_name, poses_of_rows
from isovist.io.settings import CHECKS
from isovist.poses import Pose3
from isovist.storage import MAX_COORDINATE, quote


class RecordedOdometry:
    """The odometry of a bag, gathered message by message; 64 bytes for a pose.

    Attributes:
        path: The bag.
        topic: Topic of type Odometry, or `None` where /tf has the odometry.
        frames: The transforms of the bag.
        robots: Frames of the robot that Odometry messages name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.topic: str | None = None
        self.frames = Frames(path.name)
        self.robots: set[str] = set()
        self._rows = array("d")

    def connections(
        self, connections: list[Any], topic: str | None, *, needs_mounting: bool
    ) -> list[Any] | None:
        """Return the connections with the motion of the robot; `None` if there are none.

        Args:
            connections: Connections of the bag.
            topic: A topic of type Odometry, or one of transforms; `None` takes the only Odometry
                topic, or all transforms when there is none.
            needs_mounting: Whether transforms must say where the sensor sits.
        """
        transforms = [c for c in connections if c.msgtype in TRANSFORMS]
        has_only_tf = topic is None and not any(c.msgtype == ODOMETRY for c in connections)
        if has_only_tf and not transforms:
            return None
        if has_only_tf or topic in {c.topic for c in transforms}:
            return transforms
        odometry = select_connections(self.path, connections, ODOMETRY, topic=topic)
        self.topic = odometry[0].topic
        return odometry + (transforms if needs_mounting else [])

    def add(self, topic: str, kind: str, message: Any) -> bool:
        """Store one message; return whether it has to do with motion."""
        if kind in TRANSFORMS:
            self.frames.add(message)
            return True
        if kind != ODOMETRY:
            return False
        at, turn = message.pose.pose.position, message.pose.pose.orientation
        if not 0.99 < math.hypot(turn.x, turn.y, turn.z, turn.w) < 1.01:
            raise FileError(f"{self.path.name}: {topic} has a quaternion that is not a rotation.")
        self.robots.add(frame_name(message.child_frame_id))
        pose = (at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w)
        self._rows.extend((time_of(message.header), *pose))
        return True

    def path_of(self, sensor: str) -> tuple[str, FloatArray, Pose3]:
        """Return the robot's frame, times in s, ascending, shape (k,), and T_odom_robot at each.

        Args:
            sensor: Frame of the sensor, from which /tf is searched upwards.

        Raises:
            FileError: If the odometry is missing, damaged, or jumps.
        """
        name = self.path.name
        if self.topic is None:
            robot, times, poses = self.frames.odometry(sensor)
        elif self._rows:
            robot = single_frame(name, "the odometry", "child_frame_id", self.robots)
            times, poses = poses_of_rows(self._rows)
        else:
            raise FileError(f"{name} has no message on {self.topic}.", code="empty")
        if not (np.isfinite(times).all() and np.isfinite(poses.position).all()):
            raise FileError(f"{name}: the odometry is not finite.")
        largest = max(np.abs(values).max(initial=0.0) for values in (times, poses.position))
        if largest > MAX_COORDINATE:
            raise FileError(f"{name}: the odometry has a value beyond ±{MAX_COORDINATE:g}.")
        # Several nodes may write /tf, so the stamps give the order.
        index = np.unique(times, return_index=True)[1]
        _check_speed(name, times[index], poses.position[index])
        return robot, times[index], poses[index]


def single_frame(name: str, sender: str, field: str, frames: set[str]) -> str:
    """Return the frame that all messages name; raise an error for several."""
    if len(frames) > 1:
        raise FileError(
            f"{name}: {sender} must come from one frame, got `{field}` "
            f"{', '.join(quote(frame)[1:-1] for frame in sorted(frames)[:4])}."
        )
    return next(iter(frames))


def inside_odometry(name: str, moments: FloatArray, times: FloatArray) -> BoolArray:
    """Return which scans lie within the odometry, by their times (s); raise an error for none."""
    inside: BoolArray = (times >= moments[0]) & (times <= moments[-1])
    if not inside.any():
        raise FileError(
            f"{name}: no scan lies within the odometry. Scans run from {times[0]:.3f} to "
            f"{times[-1]:.3f} s, odometry from {moments[0]:.3f} to {moments[-1]:.3f} s. "
            "Do they use one clock?"
        )
    return inside


def interpolate(moments: FloatArray, poses: Pose3, times: FloatArray) -> Pose3:
    """Interpolate poses at other times, all within the span of `moments`."""
    if len(moments) == 1:
        return poses[np.zeros(len(times), dtype=np.int64)]
    from scipy.spatial.transform import Rotation, Slerp

    turns = Slerp(moments, Rotation.from_quat(poses.quaternion))(times).as_quat()
    positions = [np.interp(times, moments, column) for column in poses.position.T]
    return Pose3.from_quaternion(turns, np.stack(positions, axis=-1))


def _check_speed(name: str, times: FloatArray, positions: FloatArray) -> None:
    """Check that odometry does not jump; raise an error otherwise."""
    hops, waits = np.linalg.norm(np.diff(positions, axis=0), axis=1), np.diff(times)
    jumps = np.flatnonzero(hops > np.maximum(CHECKS.max_hop_m, CHECKS.max_speed_m_s * waits))
    if jumps.size:
        k = int(jumps[0])
        raise FileError(
            f"{name}: the odometry jumps by {hops[k]:.1f} m within {waits[k]:.3f} s, "
            f"{times[k] - times[0]:.3f} s after its first. It must not be reset during a log; "
            "cut the log there."
        )
