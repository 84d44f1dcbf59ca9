"""A bank of places that odometry carries along, or an even pace where there is none.

Before a scan is looked at, the robot has moved: the clock is put forward, odometry is checked, or
expected where there is none, and every place goes along.
"""

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import AnyScan, SearchSpace
from isovist.errors import InputError
from isovist.localization import coordinate_vector, to_robot_frame
from isovist.poses import AnyPose, Pose, Pose3, part_of, way_of
from isovist.sensing import DEFAULT_ELAPSED, Drift
from isovist.tracking.attitude import followed, levelled, tilt_by, ups_by
from isovist.tracking.bank import Bank
from isovist.tracking.motion import (
    UNAIDED,
    by_ground,
    checked,
    leaning,
    mount_of,
    seen_from,
    straightened,
)
from isovist.tracking.settings import TrackingSettings


class Moving:
    """What of a tracker has to do with odometry and clocks.

    Attributes:
        bank: The places that may be right, best first.
        travelled: Way by odometry, in m.

    Args:
        site: The map, or several side by side.
        drift: How far odometry can be trusted; as usual when `None`.
        settings: How a robot is followed.
        any_attitude: Whether nobody knows which way is up.
    """

    bank: Bank

    def __init__(
        self, site: SearchSpace, drift: Drift | None, settings: TrackingSettings, any_attitude: bool
    ) -> None:
        self.site, self.settings, self.any_attitude = site, settings, any_attitude
        self.drift = Drift() if drift is None else drift
        self.travelled = 0.0
        self._clock = 0.0
        self._told: float | None = None
        self._odometry: AnyPose | None = None
        self._start: AnyPose | None = None
        self._aided: bool | None = None
        self._unsure = drift is None
        nowhere: AnyPose = Pose() if site.dimension == 2 else Pose3()
        self._step = self._mount = self._sensor = nowhere

    def _elapsed(self, time: float | None) -> float:
        """Time since the last update, in s, by which the clock is put forward."""
        if time is not None and not np.isfinite(time):
            raise InputError.about("time", f"must be finite, in s, got {time}.")
        elapsed = DEFAULT_ELAPSED
        if time is not None and self._told is not None:
            elapsed = time - self._told
            if elapsed < 0.0:
                raise InputError.about(
                    "time",
                    f"must not run backwards, got {time:g} s after {self._told:g} s. "
                    "Take a new tracker for a new drive.",
                )
        self._told = time
        self._clock += elapsed
        return elapsed

    def _place(self, odometry: AnyPose | None) -> AnyPose | None:
        """T_odom_robot, checked; `None` when there is none at any update."""
        place = checked(self.site, odometry, self.any_attitude)
        if self._aided is not None and self._aided != (place is not None):
            raise InputError.about(
                "odometry", "must be told at every update or at none, got both.", code="conflict"
            )
        self._aided = self.bank.aided = place is not None
        if place is None and self._unsure:
            self.drift = self.bank.drift = UNAIDED
        return place

    def _expected(self, elapsed: float) -> AnyPose:
        """T_odom_robot of a robot that goes on at an even pace."""
        if self._odometry is None:
            return self._step
        return self._odometry @ part_of(self._step, elapsed)

    def _stands(
        self, scan: AnyScan, odometry: AnyPose, seconds: float | None, aided: bool
    ) -> tuple[AnyScan, AnyPose, AnyPose]:
        """A scan as it is looked at, T_odom_robot that leans as it does, and T_robot_level.

        Args:
            scan: What the sensor saw.
            odometry: T_odom_robot, told or expected.
            seconds: Since the update before; `None` when nobody told.
            aided: Whether it was told.
        """
        if self.any_attitude:
            seen, mount = self._levelled(
                straightened(scan, odometry, self._odometry, seconds), odometry
            )
            return seen, odometry, mount
        seen = seen_from(scan, odometry, self._odometry, seconds, aided)
        if not self.bank.frames and by_ground(scan, seen, odometry):
            self.bank.fit_tilt()
        return seen, leaning(odometry, seen, aided), mount_of(seen)

    def _levelled(self, scan: AnyScan, odometry: AnyPose) -> tuple[AnyScan, AnyPose]:
        """The scan of a level robot at T_odom_robot, and T_robot_level, as of the best place."""
        tilt = tilt_by(self._mount)
        if len(self.bank) and self._odometry is not None:
            carried = self._odometry.inverse @ odometry
            tilt = followed(tilt, ups_by(self.site, self.bank.poses, carried.inverse @ self._mount))
        return levelled(scan, tilt)

    def _move(self, odometry: AnyPose, mount: AnyPose, elapsed: float) -> float:
        """Carry the bank along; how far the next scan may correct it, 0 to 1.

        What the map has wrong stays wrong while the robot stands; driving and turning let
        odometry drift.
        """
        before, sensor = self._odometry, self._sensor
        self._odometry, self._mount, self._sensor = odometry, mount, odometry @ mount
        self._start = self._start or odometry
        if before is None:
            return 1.0
        step = before.inverse @ odometry
        self.travelled += way_of(step)[0]
        motion = sensor.inverse @ self._sensor
        self.bank.carry(motion, elapsed)
        return float(np.clip(self._newness(motion, 0.0) * 3.0, 0.05, 1.0))

    def _weight(self, view: float) -> float:
        """w of the next frame; a last frame that is still near is replaced by it."""
        frames = self.bank.frames
        if len(frames) > 1:
            motion = frames[-2].T_odom_sensor.inverse @ frames[-1].T_odom_sensor
            way, turn = way_of(motion)
            if way < self.settings.keep[0] and turn < self.settings.keep[1]:
                frames.pop()
        if not frames:
            return 1.0
        motion = frames[-1].T_odom_sensor.inverse @ self._sensor
        return float(min(1.0, self._newness(motion, view)))

    def _newness(self, motion: AnyPose, view: float) -> float:
        """How much of a view (rad) was not seen before a motion.

        A turn shows only what was behind.
        """
        metres, radians = self.settings.fresh
        way, turn = way_of(motion)
        return way / metres + min(turn, max(0.0, 2.0 * np.pi - view)) / radians

    def _pace(self, robot: AnyPose | None, before: AnyPose | None, elapsed: float) -> None:
        """Let scans say what odometry would have said since the best place was there."""
        if robot is None or before is None or elapsed == 0.0 or len(self.bank) == 0:
            return
        here = self._best_robot()
        motion = robot.inverse @ here
        pace = motion
        if isinstance(here, Pose3) and isinstance(robot, Pose3) and not self.any_attitude:
            # Ground does not rise much between two scans; a height that is put right would go on.
            level = Pose3(here.x, here.y, here.yaw, robot.z, here.roll, here.pitch)
            pace = robot.inverse @ level
        self._odometry, self._step = before @ motion, part_of(pace, 1.0 / elapsed)
        self._sensor = self.bank.frames[-1].T_odom_sensor = self._odometry @ self._mount

    def _best_robot(self) -> AnyPose:
        """T_world_robot of the first place."""
        return self.site.lift(self.bank.poses[0]) @ self._mount.inverse

    def _robots(self, index: IntArray) -> tuple[AnyPose, FloatArray]:
        """T_world_robot of places, and covariances with what the map has wrong."""
        bent = np.diag(np.square(coordinate_vector(*self.settings.bent, self.bank.shape[1])))
        spreads = self.bank.spreads[index] + bent
        return to_robot_frame(self.site, self._mount.inverse, self.bank.poses[index], spreads)
