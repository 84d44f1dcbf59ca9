"""A log in space: clouds of points in the order of a drive, with the odometry of their moments.

Clouds are large, so a log holds where they are and reads each when it is asked for; in the order of
the drive that costs one pass.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from isovist.poses import Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.log import choose_scans
from isovist.types import FloatArray, IntArray, readonly

Reader = Callable[[int], CloudScan]


@dataclass(frozen=True, slots=True, eq=False)
class CloudLog:
    """Clouds in the order of the drive.

    Attributes:
        times: Of the clouds in s, shape (m,).  Read-only.
        odometry: T_odom_robot, an array of m poses, or `None` where nothing tells it.
        read: Gives the cloud of a number, as the sensor saw it.
        numbers: That each of the m clouds has there, shape (m,).  Read-only.
        T_robot_sensor: Where the sensor sits on the robot.
        frame: Name of the robot's frame.
        truth: T_map_robot, an array of m poses, or `None`.
        blind: How many clouds were left out, since they had too few returns.
        outside: How many were left out, since odometry had not begun or had ended.
    """

    times: FloatArray
    odometry: Pose3 | None
    read: Reader
    numbers: IntArray
    T_robot_sensor: Pose3 = field(default_factory=Pose3)
    frame: str = "robot"
    truth: Pose3 | None = None
    blind: int = 0
    outside: int = 0

    def __post_init__(self) -> None:
        for array in (self.times, self.numbers):
            readonly(array)

    def __len__(self) -> int:
        return len(self.times)

    def scan(self, index: int) -> CloudScan:
        """One of the clouds, with the place of its sensor."""
        seen = self.read(int(self.numbers[index]))
        return replace(seen, T_robot_sensor=self.T_robot_sensor, frame=self.frame)

    def odometry_at(self, index: int) -> Pose3 | None:
        """T_odom_robot at one of them, where it is told."""
        return None if self.odometry is None else self.odometry[index]

    def truth_at(self, index: int) -> Pose3 | None:
        """T_map_robot at one of them, where it is known."""
        return None if self.truth is None else self.truth[index]

    def held(self) -> "CloudLog":
        """The same with every cloud in memory, so that its files may go."""
        clouds = [self.read(int(number)) for number in self.numbers]
        return replace(self, read=clouds.__getitem__, numbers=np.arange(len(clouds)))

    def take(self, index: IntArray) -> "CloudLog":
        """Some of the clouds, by their numbers, in this order."""
        return replace(
            self,
            times=self.times[index],
            odometry=None if self.odometry is None else self.odometry[index],
            numbers=self.numbers[index],
            truth=None if self.truth is None else self.truth[index],
        )

    def chosen(
        self, *, every: int = 1, start: int = 0, stop: int | None = None, held_out: bool = False
    ) -> IntArray:
        """Numbers of the clouds that are asked for, as of a `Log`."""
        return choose_scans(len(self), None, every, start, stop, held_out)
