"""Buffers of the last transforms on /tf, and of odometry by time."""

from bisect import bisect_left
from collections import deque
from typing import Any

import numpy as np

from isovist.apps.ros.settings import NODE
from isovist.io import Frames, frame_name
from isovist.poses import Pose, wrap_angle

LINK_VALUES = 8


class LiveFrames(Frames):
    """Tree of /tf frames that keeps only the last transform of each link.

    Attributes:
        changes: Number of times that a link on the robot was new or changed.
    """

    def __init__(self, name: str) -> None:
        """Start without links."""
        super().__init__(name)
        self.changes = 0

    def below(self, top: str, sensor: str) -> str:
        """Return the frame directly below `top` on the chain to a sensor, or an empty name."""
        chain = self.ancestors(sensor, top.__eq__)
        return chain[-2] if len(chain) > 1 and chain[-1] == top else ""

    def add(self, message: Any) -> None:
        """Store the transforms of a TFMessage."""
        super().add(message)
        for link in message.transforms:
            key = frame_name(link.header.frame_id), frame_name(link.child_frame_id)
            rows = self.links[key]
            if len(rows) == LINK_VALUES or (
                rows[-LINK_VALUES + 1 :] != rows[1:LINK_VALUES] and key[0] != "odom"
            ):
                self.changes += 1
            self.links[key] = rows[-LINK_VALUES:]


class Odometry:
    """Buffer of the last odometry poses T_odom_robot, by time."""

    def __init__(self) -> None:
        self.times: deque[float] = deque(maxlen=NODE.odometry_poses)
        self.poses: deque[Pose] = deque(maxlen=NODE.odometry_poses)

    def add(self, time: float, pose: Pose) -> bool:
        """Store a pose; when the clock went back, drop the older poses and return `False`.

        A pose that is only a little late is ignored.
        """
        back = self.times[-1] - time if self.times else 0.0
        if back > NODE.max_odometry_gap_s:
            self.times.clear()
            self.poses.clear()
        if not 0.0 < back <= NODE.max_odometry_gap_s:
            self.times.append(time)
            self.poses.append(pose)
        return back <= NODE.max_odometry_gap_s

    def covers(self, time: float) -> bool:
        """Return whether there is a pose at the given time or later."""
        return bool(self.times) and self.times[-1] >= time

    def at(self, time: float) -> Pose | None:
        """Return T_odom_robot interpolated at a time, or `None` if no pose is near it."""
        if not self.times:
            return None
        k = bisect_left(self.times, time)
        if k in (0, len(self.times)):
            k = min(k, len(self.times) - 1)
            return self.poses[k] if abs(self.times[k] - time) <= NODE.max_odometry_gap_s else None
        before, after = self.times[k - 1], self.times[k]
        share = (time - before) / max(after - before, 1e-9)
        a, b = self.poses[k - 1].vector, self.poses[k].vector
        motion = b - a
        motion[2] = float(wrap_angle(motion[2]))
        return Pose.from_vector(np.asarray(a + share * motion))
