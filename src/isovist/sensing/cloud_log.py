"""A log of a drive in 3D: point clouds with the odometry of their times.

Clouds are large, so a log reads each one when it is needed.  In the order of the drive that is one
pass over the file.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from isovist.arrays import FloatArray, IntArray, readonly
from isovist.errors import InputError
from isovist.poses import Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.log import select_scans

Reader = Callable[[int], CloudScan]


@dataclass(frozen=True, slots=True, eq=False)
class CloudLog:
    """A log of 3D scans in the order of a drive, with odometry.

    Attributes:
        times: Time of each cloud in s, shape (m,).  Read-only.
        odometry: T_odom_robot, an array of m poses, or `None` without odometry.
        read: Function that returns the cloud with a given number, in the frame of the sensor.
        numbers: Number of each of the m clouds for `read`, shape (m,).  Read-only.
        T_robot_sensor: Pose of the sensor on the robot.
        frame: Name of the frame of the robot.
        truth: T_map_robot, an array of m poses, or `None`.
        blind: Number of clouds that were left out since they have too few returns.
        outside: Number of clouds that were left out since the odometry does not cover their time.
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
        """Return the cloud with a number as a scan, with the pose of the sensor on the robot."""
        scan = self.read(int(self.numbers[index]))
        return replace(scan, T_robot_sensor=self.T_robot_sensor, frame=self.frame)

    def odometry_at(self, index: int) -> Pose3 | None:
        """Return the odometry pose T_odom_robot at a scan, or `None` without odometry."""
        return None if self.odometry is None else self.odometry[index]

    def truth_at(self, index: int) -> Pose3 | None:
        """Return the true pose T_map_robot at a scan, or `None` where it is unknown."""
        return None if self.truth is None else self.truth[index]

    def in_memory(self) -> "CloudLog":
        """Return the log with all clouds in memory, so that its files may be deleted."""
        clouds = [self.read(int(number)) for number in self.numbers]
        return replace(self, read=clouds.__getitem__, numbers=np.arange(len(clouds)))

    def take(self, index: IntArray) -> "CloudLog":
        """Return a log of the clouds with the given numbers, in this order."""
        return replace(
            self,
            times=self.times[index],
            odometry=None if self.odometry is None else self.odometry[index],
            numbers=self.numbers[index],
            truth=None if self.truth is None else self.truth[index],
        )

    def select(
        self, *, every: int = 1, start: int = 0, stop: int | None = None, held_out: bool = False
    ) -> IntArray:
        """Return the numbers of selected clouds; `Log.select` describes the arguments."""
        if held_out:
            raise InputError(
                "This log does not say which of its scans are in the map.", code="missing"
            )
        return select_scans(len(self), every, start, stop)
