"""Find the frames of a bag, and how a sensor is mounted, from /tf and /tf_static.

Each link gives the pose of a child frame in its parent, T_parent_child, at some times.  The pose of
a sensor on the robot follows from the links between them, which must be constant.  The motion of
the robot is the link below a frame named `odom`.
"""

import math
from array import array
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import FileError
from isovist.io.bags import time_of
from isovist.io.settings import CHECKS
from isovist.poses import Pose, Pose3
from isovist.storage import MAX_COORDINATE

GIVE_SENSOR_POSE = "Give it as `T_robot_sensor`, at the command line `--sensor X Y YAW`."


class Frames:
    """All transforms between the frames of a bag, gathered message by message.

    Args:
        name: Name of the bag, for error texts.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.links: defaultdict[tuple[str, str], array[float]] = defaultdict(lambda: array("d"))
        self.parents: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, message: Any) -> None:
        """Store the transforms of a TFMessage."""
        for link in message.transforms:
            parent, child = frame_name(link.header.frame_id), frame_name(link.child_frame_id)
            self.parents[child].add(parent)
            at, turn = link.transform.translation, link.transform.rotation
            values = (time_of(link.header), at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w)
            self.links[parent, child].extend(values)

    def ancestors(self, frame: str, stop: Callable[[str], bool]) -> list[str]:
        """Return a frame, its parent, and so on to the root or to a frame where `stop` is true."""
        chain = [frame]
        while not stop(chain[-1]) and (parents := self.parents.get(chain[-1])):
            if len(parents) > 1:
                raise FileError(
                    f"{self.name}: the frame `{chain[-1]}` has {len(parents)} parents in /tf: "
                    f"{', '.join(sorted(parents))}."
                )
            if parents <= set(chain):
                break
            chain += parents
        return chain

    def robot(self, sensor: str, odometry_frames: set[str]) -> str:
        """Return the frame of the robot that carries a sensor.

        - the frame that odometry messages name
        - otherwise, the frame that moves in `odom`
        - otherwise, the topmost frame above the sensor, which may be the sensor itself
        """
        moving = {child for parent, child in self.links if _is_odom(parent)}
        for frames in (odometry_frames, moving):
            if len(frames) == 1:
                return next(iter(frames))
        chain = self.ancestors(sensor, _is_fixed)
        return chain[-2] if _is_fixed(chain[-1]) and len(chain) > 1 else chain[-1]

    def odometry(self, sensor: str) -> tuple[str, FloatArray, Pose3]:
        """Return the frame of the robot, times in s, shape (k,), and T_odom_robot at each time."""
        chain = self.ancestors(sensor, _is_odom)
        if len(chain) < 2 or not _is_odom(chain[-1]):
            raise FileError(
                f"{self.name}: /tf has no frame `odom` above `{sensor}`, so it does not say how "
                f"the robot moved; it has {' < '.join(chain)}. Use a topic of type Odometry.",
                field="odom",
            )
        robot, odom = chain[-2:]
        return robot, *self._link(odom, robot)

    def has_odometry(self) -> bool:
        """Return whether any transform describes a motion in `odom`."""
        return any(_is_odom(parent) for parent, _ in self.links)

    def T(self, parent: str, child: str) -> Pose3:
        """Return the transform T_parent_child between two frames that are fixed to each other."""
        down = self.ancestors(child, parent.__eq__)
        up = [parent] if down[-1] == parent else self.ancestors(parent, down.__contains__)
        shared = next((frame for frame in up if frame in down), None)
        if shared is None:
            raise FileError(
                f"{self.name} does not say where `{child}` sits on `{parent}`: no link of /tf or "
                f"/tf_static joins them. {GIVE_SENSOR_POSE}",
                field="T_robot_sensor",
            )
        return self._descend(up, shared).inverse @ self._descend(down, shared)

    def _descend(self, chain: list[str], top: str) -> Pose3:
        """Return T_top_frame of the first frame in a chain."""
        T = Pose3()
        for child, parent in pairwise(chain[: chain.index(top) + 1]):
            T = self._constant_link(parent, child) @ T
        return T

    def _constant_link(self, parent: str, child: str) -> Pose3:
        """Return the transform of a link, after a check that it is constant."""
        _, poses = self._link(parent, child)
        first, limit = poses[0], CHECKS.max_mounting_change
        # 1 − cos(θ/2) of a turn by θ; a quaternion and its negative are the same rotation.
        turns = 1.0 - np.abs(poses.quaternion @ first.quaternion)
        shifts = np.abs(poses.position - first.position)
        if shifts.max() > limit or turns.max() > limit**2 / 8.0:
            raise FileError(
                f"{self.name}: `{child}` moves on `{parent}`, so the sensor has no fixed pose on "
                f"the robot. If it hardly moves, give its pose. {GIVE_SENSOR_POSE}",
                field="T_robot_sensor",
            )
        return first

    def _link(self, parent: str, child: str) -> tuple[FloatArray, Pose3]:
        """Return the times of a link in s, shape (k,), and T_parent_child at each."""
        rows = np.array(self.links[parent, child]).reshape(-1, 8)
        link = f"{self.name}: the link from `{parent}` to `{child}`"
        if not np.isfinite(rows).all():
            raise FileError(f"{link} is not finite.")
        if np.abs(rows).max(initial=0.0) > MAX_COORDINATE:
            raise FileError(f"{link} has a value beyond ±{MAX_COORDINATE:g}.")
        if not (np.abs(np.linalg.norm(rows[:, 4:], axis=1) - 1.0) < 0.01).all():
            raise FileError(f"{link} has a quaternion that is not a rotation.")
        return poses_of_rows(self.links[parent, child])


def poses_of_rows(numbers: "array[float]") -> tuple[FloatArray, Pose3]:
    """Return the times in s, shape (k,), and poses of rows: time, x, y, z and a quaternion."""
    rows = np.array(numbers).reshape(-1, 8)
    return rows[:, 0], Pose3.from_quaternion(rows[:, 4:], rows[:, 1:4])


def frame_name(text: str) -> str:
    """Return the name of a frame without the leading slash of ROS 1."""
    return text.lstrip("/")


def _is_odom(frame: str) -> bool:
    """Return whether a frame is the `odom` of a robot, or like `odom_combined`."""
    return frame.rsplit("/", 1)[-1].startswith("odom")


def _is_fixed(frame: str) -> bool:
    """Return whether robots move in a frame (REP 105)."""
    return _is_odom(frame) or frame.rsplit("/", 1)[-1] in ("map", "world", "earth")


def mounting_of(name: str, sensor: str, T: Pose3) -> tuple[Pose, bool]:
    """Return the 2D pose of a level sensor on the robot, and whether the sensor is upside down.

    Seen from above, the bearings of a sensor that is upside down are clockwise.

    Args:
        name: Name of the bag, for error texts.
        sensor: Frame of the sensor.
        T: T_robot_sensor.
    """
    cosine = float(T.rotation[2, 2])
    if abs(cosine) < math.cos(math.radians(CHECKS.max_sensor_tilt_deg)):
        tilt = math.degrees(math.acos(min(1.0, abs(cosine))))
        raise FileError(
            f"{name}: `{sensor}` is tilted by {tilt:.0f}°. A 2D map needs a level sensor, within "
            f"{CHECKS.max_sensor_tilt_deg:g}°.",
            field="T_robot_sensor",
        )
    return T.flat, cosine < 0.0
