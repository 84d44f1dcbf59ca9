"""The frames of a bag: which sits on which, out of /tf and /tf_static.

Every link says where a child frame is in its parent, T_parent_child, at some times.  Where a sensor
sits on the robot is read along the links between them, which must not move; how the robot moves is
the link below a frame named `odom`.
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
from isovist.poses import Pose, Pose3
from isovist.storage.files import MAX_COORDINATE

GIVE_SENSOR_POSE = "Say it as `T_robot_sensor`, at the command line `--sensor X Y YAW`."
MAX_VARIATION = 0.02
"""A link between robot and sensor may vary by this much, in m and rad."""
MIN_UPRIGHT = math.cos(math.radians(5.0))
"""A sensor that is tilted by more does not see a plan."""


class Frames:
    """All transforms between the frames of a bag, gathered message by message."""

    def __init__(self, name: str) -> None:
        """Without a link yet; `name` is that of the bag, for the error texts."""
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

    def above(self, frame: str, stop: Callable[[str], bool]) -> list[str]:
        """Return a frame, its parent and so on, up to the root or a frame where `stop` holds."""
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

    def robot(self, sensor: str, named: set[str]) -> str:
        """Return the frame of the robot that carries a sensor.

        It is what odometry names, else what moves in `odom`, else the topmost above the sensor:
        the sensor itself, where no link holds it.
        """
        for known in (named, {child for parent, child in self.links if _is_odom(parent)}):
            if len(known) == 1:
                return next(iter(known))
        chain = self.above(sensor, _is_fixed)
        return chain[-2] if _is_fixed(chain[-1]) and len(chain) > 1 else chain[-1]

    def odometry(self, sensor: str) -> tuple[str, FloatArray, Pose3]:
        """Return the robot's frame, times in s, shape (k,), and T_odom_robot at each time."""
        chain = self.above(sensor, _is_odom)
        if len(chain) < 2 or not _is_odom(chain[-1]):
            raise FileError(
                f"{self.name}: /tf has no frame `odom` above `{sensor}`, so it does not say how "
                f"the robot moved; it has {' < '.join(chain)}. Use a topic of type Odometry.",
                field="odom",
            )
        robot, odom = chain[-2:]
        return robot, *self._link(odom, robot)

    def moves(self) -> bool:
        """Return whether a transform says how anything moves in `odom`."""
        return any(_is_odom(parent) for parent, _ in self.links)

    def T(self, parent: str, child: str) -> Pose3:
        """Return the transform T_parent_child of two frames that do not move against each other."""
        down = self.above(child, parent.__eq__)
        up = [parent] if down[-1] == parent else self.above(parent, down.__contains__)
        shared = next((frame for frame in up if frame in down), None)
        if shared is None:
            raise FileError(
                f"{self.name} does not say where `{child}` sits on `{parent}`: no link of /tf or "
                f"/tf_static joins them. {GIVE_SENSOR_POSE}",
                field="T_robot_sensor",
            )
        return self._descend(up, shared).inverse @ self._descend(down, shared)

    def _descend(self, chain: list[str], top: str) -> Pose3:
        """T_top_frame of the first frame in a chain."""
        T = Pose3()
        for child, parent in pairwise(chain[: chain.index(top) + 1]):
            T = self._still(parent, child) @ T
        return T

    def _still(self, parent: str, child: str) -> Pose3:
        """The first transform of a link, when all the others agree with it."""
        _, poses = self._link(parent, child)
        first = poses[0]
        # 1 − cos(θ/2) of a turn by θ; a quaternion and its negative are the same rotation.
        swing = 1.0 - np.abs(poses.quaternion @ first.quaternion)
        drift = np.abs(poses.position - first.position)
        if drift.max() > MAX_VARIATION or swing.max() > MAX_VARIATION**2 / 8.0:
            raise FileError(
                f"{self.name}: `{child}` moves on `{parent}`, so the sensor has no fixed place on "
                f"the robot. If it hardly matters, name a place. {GIVE_SENSOR_POSE}",
                field="T_robot_sensor",
            )
        return first

    def _link(self, parent: str, child: str) -> tuple[FloatArray, Pose3]:
        """Times of a link in s, shape (k,), and T_parent_child at each."""
        rows = np.array(self.links[parent, child]).reshape(-1, 8)
        link = f"{self.name}: the link from `{parent}` to `{child}`"
        if not np.isfinite(rows).all():
            raise FileError(f"{link} is not finite.")
        if np.abs(rows).max(initial=0.0) > MAX_COORDINATE:
            raise FileError(f"{link} has a value beyond ±{MAX_COORDINATE:g}.")
        if not (np.abs(np.linalg.norm(rows[:, 4:], axis=1) - 1.0) < 0.01).all():
            raise FileError(f"{link} has a quaternion that is no rotation.")
        return rows[:, 0], Pose3.from_quaternion(rows[:, 4:], rows[:, 1:4])


def frame_name(text: str) -> str:
    """Return the name of a frame without the leading slash that tf of ROS 1 wrote."""
    return text.lstrip("/")


def _is_odom(frame: str) -> bool:
    """Of any robot, and also `odom_combined` and the like."""
    return frame.rsplit("/", 1)[-1].startswith("odom")


def _is_fixed(frame: str) -> bool:
    """In which robots move (REP 105)."""
    return _is_odom(frame) or frame.rsplit("/", 1)[-1] in ("map", "world", "earth")


def mounting_of(name: str, sensor: str, T: Pose3) -> tuple[Pose, bool]:
    """Return the 2D pose of a level sensor on the robot, and whether it is upside down.

    Bearings of a sensor that is run clockwise as seen from above.
    """
    upright = float(T.rotation[2, 2])
    if abs(upright) < MIN_UPRIGHT:
        tilt = math.degrees(math.acos(min(1.0, abs(upright))))
        raise FileError(
            f"{name}: `{sensor}` is tilted by {tilt:.0f}°. A plan needs a level sensor, within 5°.",
            field="T_robot_sensor",
        )
    return T.flat, upright < 0.0
