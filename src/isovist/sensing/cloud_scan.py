"""3D scans: points in the frame of the sensor.

A cloud contains no beams without a return, so a direction without a point is unknown, not free.
Points that are not finite, lie at the origin (how sensors write a missing return), or are outside
[`range_min`, `range_max`) are left out.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from isovist.arrays import FloatArray, IntArray, as_floats, once_for_each, readonly
from isovist.errors import InputError
from isovist.poses import AnyPose, Pose3
from isovist.sensing.range_checks import (
    MIN_RANGE,
    as_strengths,
    check_limits,
    in_millimetres,
    scaled_limits,
)

MIN_RETURNS = 50
"""Minimum number of returns of a 3D scan."""
TIE = 1e-9
"""Directions are the same up to this share of a bin: a thousand roundings, no lidar's step."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class CloudScan:
    """A 3D scan: one sweep of a 3D lidar, as points in the frame of the sensor.

    Points that are not finite, at the origin or out of range are left out.  A direction without a
    point is unknown, not free.

    Attributes:
        points: Returns in the frame of the sensor, shape (k, 3), in m.  Read-only.
        intensities: Strength of each return in the units of the map, shape (k,), or `None`.
            Read-only.
        range_min: Minimum range of the sensor, in m.
        range_max: Maximum range of the sensor, in m; `inf` if unknown.
        T_robot_sensor: Pose of the sensor on the robot.
        roll: Roll of the robot against gravity in rad, from an inertial sensor; 0 if unknown.
        pitch: Pitch of the robot against gravity in rad, from an inertial sensor; 0 if unknown.
        frame: Name of the frame of the robot, whose pose an answer gives; may be empty.
        times: Time of each return in s after the time of the scan, shape (k,), or `None` if all
            returns are simultaneous.  Read-only.

    Examples:
        >>> import isovist as iv
        >>> import numpy as np
        >>> angles = np.linspace(0.0, 6.0, 100)
        >>> points = np.column_stack([2.0 * np.cos(angles), 2.0 * np.sin(angles), 0.0 * angles])
        >>> float(iv.CloudScan(points, range_max=50.0).distances.max().round(3))
        2.0
    """

    points: FloatArray
    intensities: FloatArray | None = None
    range_min: float = 0.0
    range_max: float = np.inf
    T_robot_sensor: Pose3 = field(default_factory=Pose3)
    roll: float = 0.0
    pitch: float = 0.0
    frame: str = ""
    times: FloatArray | None = None

    def __post_init__(self) -> None:
        try:
            points = np.array(self.points, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError.about("points", "must be rows of three numbers.") from error
        if points.ndim != 2 or points.shape[1] != 3:
            raise InputError.about("points", f"must have shape (any, 3), got {points.shape}.")
        check_limits(self.range_min, self.range_max)
        if not isinstance(self.T_robot_sensor, AnyPose):
            raise InputError.about(
                "T_robot_sensor",
                f"must be a Pose3 or a Pose, got {type(self.T_robot_sensor).__name__}.",
            )
        if not np.isfinite([self.roll, self.pitch]).all():
            raise InputError.about(
                ("roll", "pitch"), f"must be angles, got {self.roll}, {self.pitch}."
            )
        check_tilt(self.roll, self.pitch)
        with np.errstate(invalid="ignore", over="ignore"):
            ranges = np.sqrt((points**2).sum(axis=1))
            valid = (ranges > MIN_RANGE) & (ranges >= self.range_min) & (ranges < self.range_max)
        if valid.sum() < MIN_RETURNS:
            raise InputError(
                f"A 3D scan needs at least {MIN_RETURNS} returns, got {valid.sum()} among "
                f"{len(points)} points: the others are not finite, at the origin or outside "
                f"[{self.range_min:g}, {self.range_max:g}) m."
                f"{in_millimetres(ranges, self.range_min, self.range_max)}",
                code="empty",
                field="points",
            )
        set_ = object.__setattr__
        set_(self, "points", readonly(points[valid]))
        set_(self, "T_robot_sensor", Pose3.lifted(self.T_robot_sensor))
        if self.intensities is not None:
            strengths = as_strengths(self.intensities, points.shape[:1], "points")
            if not np.isfinite(strengths[valid]).all():
                raise InputError.about("intensities", "must be finite, got NaN or infinity.")
            set_(self, "intensities", readonly(strengths[valid]))
        if self.times is not None:
            times = as_floats("times", self.times, points.shape[:1])
            set_(self, "times", readonly(times[valid]))

    def within(self, limit: float) -> "CloudScan | None":
        """Return the scan without returns beyond `limit` (m), or `None` if too few are left."""
        is_short = self.distances <= limit
        if is_short.all():
            return self
        if is_short.sum() < MIN_RETURNS:
            return None
        strengths = None if self.intensities is None else self.intensities[is_short]
        times = None if self.times is None else self.times[is_short]
        return replace(self, points=self.points[is_short], intensities=strengths, times=times)

    def straighten(self, motion: AnyPose, seconds: float) -> "CloudScan":
        """Return the scan without motion distortion, as if taken from the sensor pose at time 0.

        The sensor is assumed to move and turn at constant speed.  A scan without times is returned
        unchanged.

        Args:
            motion: Motion of the sensor within `seconds`, T_before_after.
            seconds: Duration of the motion, in s.

        Raises:
            InputError: If the duration is not positive.
        """
        if not seconds > 0.0:
            raise InputError.about("seconds", f"must be a positive time in s, got {seconds:g}.")
        if self.times is None:
            return self
        share = self.times / seconds
        step = Pose3.lifted(motion)
        axis = step.quaternion[:3]
        length = float(np.linalg.norm(axis))
        turn = 2.0 * np.arctan2(length, step.quaternion[3]) * share
        K = np.cross(axis / max(length, TIE), np.eye(3))  # p K = axis × p
        rotated = self.points @ K
        points = self.points + np.sin(turn)[:, None] * rotated
        points += (1.0 - np.cos(turn))[:, None] * (rotated @ K) + share[:, None] * step.position
        return replace(self, points=points, range_min=0.0, range_max=np.inf, times=None)

    def mirrored(self) -> "CloudScan":
        """Return the scan of a sensor that is mounted upside down: y and z change sign."""
        return replace(self, points=self.points * [1.0, -1.0, -1.0])

    def scaled(self, factor: float) -> "CloudScan":
        """Return the scan with points and limits multiplied by a factor."""
        low, high = scaled_limits(self.range_min, self.range_max, factor)
        return replace(self, points=self.points * factor, range_min=low, range_max=high)

    @property
    def T_level_sensor(self) -> Pose3:
        """The pose of the sensor in the level frame.

        The level frame has its origin at the sensor, its z axis against gravity, and its x axis
        towards the front of the robot.
        """
        return _level_frames(self)[0]

    @property
    def T_level_robot(self) -> Pose3:
        """The pose of the robot in the level frame (see `T_level_sensor`)."""
        return _level_frames(self)[1]

    @property
    def T_robot_level(self) -> Pose3:
        """The pose of the level frame (see `T_level_sensor`) in the frame of the robot."""
        return _level_frames(self)[2]

    @property
    def distances(self) -> FloatArray:
        """The distances of the returns from the sensor, shape (k,), in m."""
        return np.asarray(np.linalg.norm(self.points, axis=1))

    @property
    def level_points(self) -> FloatArray:
        """The returns in the level frame (see `T_level_sensor`), (k, 3), in m.  Read-only."""
        return _level_points(self)

    def columns(self, width: float) -> int:
        """Count the azimuth bins of `width` rad, in the frame of the sensor, that hold returns."""
        azimuth = np.arctan2(self.points[:, 1], self.points[:, 0]) + np.pi
        return int(np.count_nonzero(np.bincount((azimuth / width).astype(np.int64))))

    def spread(self, width: float) -> IntArray:
        """Return the indices of one return per direction bin, so that they are spread evenly.

        Bins are `width` rad wide in azimuth and elevation, in the level frame.  The return nearest
        to the middle of a bin is taken, since the one nearest to the sensor would favour clutter.
        If several are equally near, to a billionth of a bin, the last one is taken.  A return on
        the edge of two bins belongs to the upper one.
        """
        cache = _spreads(self)
        if width not in cache:
            cache[width] = readonly(self._spread(width))
        return cache[width]

    def _spread(self, width: float) -> IntArray:
        p = self.level_points
        azimuth = np.arctan2(p[:, 1], p[:, 0])
        elevation = np.arctan2(p[:, 2], np.hypot(p[:, 0], p[:, 1]))
        columns = max(1, round(2.0 * np.pi / width))
        u, v = (azimuth / (2.0 * np.pi) + 0.5) * columns, (elevation + 0.5 * np.pi) / width
        # Angles of a lidar are even, so edges and ties are common: rounding must not decide them.
        left, row = np.floor(u + TIE), np.floor(v + TIE).astype(np.int64)
        gap = np.round(((u - left - 0.5) ** 2 + (v - row - 0.5) ** 2) / TIE)
        number = row * columns + left.astype(np.int64) % columns
        nearest = np.full(int(number.max()) + 1, np.inf)
        np.minimum.at(nearest, number, gap)
        best = np.flatnonzero(gap == nearest[number])
        last = np.full(nearest.size, -1)
        np.maximum.at(last, number[best], best)
        return np.sort(last[last >= 0])

    def spread_out(self, side: float) -> IntArray:
        """Return the indices of one return per cube, so that they are spread evenly in 3D.

        Cubes have a side of `side` m in the level frame.  The return nearest to the middle of a
        cube is taken.
        """
        cache = _spreads(self)
        if -side not in cache:
            p = self.level_points / side
            cube = np.floor(p).astype(np.int64)
            gap = ((p - cube - 0.5) ** 2).sum(axis=1)
            cube -= cube.min(axis=0)
            _, rows, levels = (int(n) + 1 for n in cube.max(axis=0))
            number = (cube[:, 0] * rows + cube[:, 1]) * levels + cube[:, 2]
            order = np.lexsort((gap, number))
            first = np.diff(number[order], prepend=-1) > 0
            cache[-side] = readonly(np.sort(order[first]))
        return cache[-side]


@once_for_each
def _level_frames(scan: CloudScan) -> tuple[Pose3, Pose3, Pose3]:
    """Return the sensor and the robot in the level frame, and that in the frame of the robot."""
    tilt = Pose3(roll=scan.roll, pitch=scan.pitch)
    level = Pose3.from_quaternion((tilt @ scan.T_robot_sensor).quaternion, np.zeros(3))
    robot = level @ scan.T_robot_sensor.inverse
    return level, robot, robot.inverse


@once_for_each
def _level_points(scan: CloudScan) -> FloatArray:
    return readonly(scan.T_level_sensor.apply(scan.points))


@once_for_each
def _spreads(scan: CloudScan) -> dict[float, IntArray]:
    """Return the cache of `spread` by width, since each step of a search needs the same."""
    del scan
    return {}


def check_tilt(roll: float, pitch: float) -> None:
    """Check that roll and pitch (rad) tilt the robot by less than 90°."""
    upright = np.cos(roll) * np.cos(pitch)
    if upright < TIE:
        raise InputError.about(
            ("roll", "pitch"),
            "must tilt the robot by less than 90°, "
            f"got {np.degrees(np.arccos(upright)):.0f}°. "
            "Give the attitude of a sensor that lies on its side in `T_robot_sensor`.",
        )
