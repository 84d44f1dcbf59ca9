"""Moves the hypotheses of a tracker by odometry, or at an even pace where there is none."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import AnyScan
from isovist.errors import InputError
from isovist.localization import coordinate_vector, to_robot_frame
from isovist.poses import AnyPose, Pose3, part_of, way_of
from isovist.sensing import DEFAULT_ELAPSED, Drift
from isovist.tracking.hypotheses.keyframe import new_share
from isovist.tracking.motion.level_frame import (
    follow_up_directions,
    mount_of,
    tilt_of_mount,
    to_level_robot,
    up_directions_of,
)
from isovist.tracking.motion.odometry import Reading, check_odometry
from isovist.tracking.state.tracker_state import MotionState, TrackerState


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """The robot at the place of a new scan, before the scan is used.

    Attributes:
        scan: The scan, straightened and levelled.
        share: Share of the scan that is new, 0 to 1.
        elapsed: Time since the last update, in s.
        previous: T_odom_robot at the last update, if there was one.
        robot: T_world_robot by the best hypothesis at the last update, if there is no odometry.
    """

    scan: AnyScan
    share: float
    elapsed: float
    previous: AnyPose | None
    robot: AnyPose | None


@dataclass(frozen=True, slots=True, eq=False)
class MotionModel:
    """Moves the robot of a tracker, and its hypotheses, from update to update.

    Attributes:
        state: The state of the tracker, which is changed.
    """

    state: TrackerState

    @property
    def _motion(self) -> MotionState:
        return self.state.motion

    def move_to_scan(self, odometry: AnyPose | None, scan: AnyScan, time: float | None) -> Arrival:
        """Move the robot and its hypotheses to the place of a scan.

        Args:
            odometry: T_odom_robot, if there is odometry.
            scan: The scan.
            time: Time of the scan in s, if the user gives times.

        Raises:
            InputError: If odometry or time are invalid, or given at some updates only.
        """
        motion, bank = self._motion, self.state.bank
        pose = self.check_odometry(odometry)
        has_times = time is not None and motion.time is not None
        elapsed, previous, robot = self.advance_clock(time), motion.odometry, None
        if pose is None:
            pose = self._predict(elapsed)
            robot = self.best_robot() if len(bank) else None
        seconds = elapsed if has_times else None
        reading = Reading(scan, pose, odometry is not None, previous, seconds)
        level, pose, mount = self._level(reading)
        share = self.move(pose, mount, elapsed)
        return Arrival(level, share if motion.has_odometry else 1.0, elapsed, previous, robot)

    def advance_clock(self, time: float | None) -> float:
        """Advance the clock to a time that the user gave; return the time since the last update.

        Raises:
            InputError: If time is not finite, or runs backwards.
        """
        motion = self._motion
        if time is not None and not np.isfinite(time):
            raise InputError.about("time", f"must be finite, in s, got {time}.")
        elapsed = DEFAULT_ELAPSED
        if time is not None and motion.time is not None:
            elapsed = time - motion.time
            if elapsed < 0.0:
                raise InputError.about(
                    "time",
                    f"must not run backwards, got {time:g} s after {motion.time:g} s. "
                    "Take a new tracker for a new drive.",
                )
        motion.time = time
        motion.clock += elapsed
        return elapsed

    def check_odometry(self, odometry: AnyPose | None) -> AnyPose | None:
        """Return T_odom_robot; `None` if no update has odometry.

        Raises:
            InputError: If the pose is invalid, or only some updates have odometry.
        """
        motion, bank = self._motion, self.state.bank
        pose = check_odometry(self.state.space, odometry, bank.any_attitude)
        has_odometry = pose is not None
        if motion.has_odometry is not None and motion.has_odometry != has_odometry:
            raise InputError.about(
                "odometry", "must be given at every update or at none, got both.", code="conflict"
            )
        motion.has_odometry = bank.has_odometry = has_odometry
        if pose is None and motion.has_default_drift:
            bank.drift = Drift(still=self.state.settings.motion.unaided_std)
        return pose

    def _predict(self, elapsed: float) -> AnyPose:
        """Return T_odom_robot of a robot that goes on at an even pace."""
        motion = self._motion
        if motion.odometry is None:
            return motion.step
        return motion.odometry @ part_of(motion.step, elapsed)

    def _level(self, reading: Reading) -> tuple[AnyScan, AnyPose, AnyPose]:
        """Return the level scan of a reading, T_odom_robot with its tilt, and T_robot_level."""
        bank = self.state.bank
        if bank.any_attitude:
            level, mount = self._level_in_any_attitude(reading.straightened(), reading.odometry)
            return level, reading.odometry, mount
        leaning = reading.with_tilt()
        if not bank.keyframes and reading.has_tilt_from_ground(leaning.scan):
            bank.fit_tilt()
        return leaning.scan, leaning.odometry, mount_of(leaning.scan)

    def _level_in_any_attitude(self, scan: AnyScan, odometry: AnyPose) -> tuple[AnyScan, AnyPose]:
        """Return the scan of a level robot, and T_robot_level, by the best hypothesis."""
        motion, bank = self._motion, self.state.bank
        tilt = tilt_of_mount(motion.mount)
        if len(bank) and motion.odometry is not None:
            step = motion.odometry.inverse @ odometry
            ups = up_directions_of(self.state.space, bank.poses, step.inverse @ motion.mount)
            tilt = follow_up_directions(tilt, ups, self.state.settings.motion)
        return to_level_robot(scan, tilt)

    def move(self, odometry: AnyPose, mount: AnyPose, elapsed: float) -> float:
        """Move the hypotheses; return the share of the next scan that is new, 0 to 1.

        The errors of the map stay the same while the robot stands still.  When it drives or turns,
        odometry drifts.

        Args:
            odometry: T_odom_robot.
            mount: T_robot_level.
            elapsed: Time since the last update, in s.
        """
        state, settings = self._motion, self.state.settings.keyframes
        previous, sensor = state.odometry, state.sensor
        state.odometry, state.mount, state.sensor = odometry, mount, odometry @ mount
        self.state.search.start = self.state.search.start or odometry
        if previous is None:
            return 1.0
        state.travelled += way_of(previous.inverse @ odometry)[0]
        motion = sensor.inverse @ state.sensor
        self.state.bank.carry(motion, elapsed)
        share = new_share(settings, motion, 0.0) * settings.new_share_gain
        return float(np.clip(share, settings.min_new_share, 1.0))

    def correct_pace(self, arrival: Arrival) -> None:
        """Set the predicted motion to that of the best hypothesis, if there is no odometry."""
        state, bank = self._motion, self.state.bank
        robot, previous, elapsed = arrival.robot, arrival.previous, arrival.elapsed
        if robot is None or previous is None or elapsed == 0.0 or len(bank) == 0:
            return
        present = self.best_robot()
        motion = robot.inverse @ present
        pace = motion
        if isinstance(present, Pose3) and isinstance(robot, Pose3) and not bank.any_attitude:
            # Ground hardly rises between two scans, and a corrected height must not go on rising.
            level = Pose3(present.x, present.y, present.yaw, robot.z, present.roll, present.pitch)
            pace = robot.inverse @ level
        state.odometry, state.step = previous @ motion, part_of(pace, 1.0 / elapsed)
        state.sensor = bank.keyframes[-1].T_odom_sensor = state.odometry @ state.mount

    def best_robot(self) -> AnyPose:
        """Return T_world_robot by the first hypothesis."""
        return self.state.space.lift(self.state.bank.poses[0]) @ self._motion.mount.inverse

    def robots(self, index: IntArray) -> tuple[AnyPose, FloatArray]:
        """Return T_world_robot by hypotheses, and covariances that include the error of the map."""
        bank, settings = self.state.bank, self.state.settings.estimates
        stds = coordinate_vector(
            settings.map_position_std_m, settings.map_angle_std_rad, bank.shape[1]
        )
        covariances = bank.covariances[index] + np.diag(np.square(stds))
        return to_robot_frame(
            self.state.space, self._motion.mount.inverse, bank.poses[index], covariances
        )
