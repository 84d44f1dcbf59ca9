"""2D scans: ranges along bearings, and which of them are valid."""

from dataclasses import dataclass, field, replace

import numpy as np

from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats, readonly
from isovist.errors import InputError
from isovist.poses import AnyPose, Pose, Pose3, wrap_angle
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.range_checks import (
    MIN_RANGE,
    as_strengths,
    check_limits,
    in_millimetres,
    scaled_limits,
)

MAX_TURNS = 1.5
"""A sweep closes on itself after one turn; one that goes on for longer is in degrees."""
SAME_BEARING = 1e-6
"""Beams nearer than this, in rad, repeat a bearing: no lidar has a thousandth of its usual step."""


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A 2D scan: one sweep of a planar range sensor.

    A range is missing, and its beam masked, if it is NaN, infinite, 0, below `range_min`, or not
    below `range_max`.  Bearings are counter-clockwise in the frame of the sensor.  Several beams
    may have one bearing, as after a full turn or with two returns; such beams share one angle.

    Attributes:
        bearings: Direction of each beam in rad, ascending, shape (m,).  Read-only.
        ranges: Distance along each beam in m, shape (m,); 0 where missing.  Read-only.
        valid: Mask of the beams with a valid range, shape (m,).  Read-only.
        range_min: Minimum range of the sensor, in m.
        range_max: Maximum range of the sensor, in m; `inf` if unknown.
        intensities: Strength of each return, shape (m,), or `None`.  Read-only.
        T_robot_sensor: Pose of the sensor on the robot.
        frame: Name of the frame of the robot, whose pose an answer gives; may be empty.
        sigmas: Standard deviation of each range in m, shape (m,), or `None`.  It is added to that
            of the beam model, so that uncertain beams count less.  Read-only.

    Examples:
        >>> import isovist as iv
        >>> import numpy as np
        >>> scan = iv.Scan(np.array([-0.5, 0.0, 0.5]), np.array([2.0, np.inf, 2.0]))
        >>> scan.valid.tolist()
        [True, False, True]
    """

    bearings: FloatArray
    ranges: FloatArray
    valid: BoolArray = field(init=False)
    range_min: float = 0.0
    range_max: float = np.inf
    intensities: FloatArray | None = None
    T_robot_sensor: Pose = field(default_factory=Pose)
    frame: str = ""
    sigmas: FloatArray | None = None

    def __post_init__(self) -> None:
        bearings = _as_bearings(self.bearings)
        ranges = np.array(self.ranges, dtype=np.float64)
        if ranges.shape != bearings.shape:
            raise InputError.about(
                "ranges", f"must have shape {bearings.shape}, like `bearings`, got {ranges.shape}."
            )
        check_limits(self.range_min, self.range_max)
        if not isinstance(self.T_robot_sensor, Pose):
            raise InputError.about(
                "T_robot_sensor",
                f"of a 2D scan must be Pose(x, y, yaw), got {type(self.T_robot_sensor).__name__}.",
            )
        valid = self._valid(ranges)
        order = np.argsort(bearings, kind="stable")
        set_ = object.__setattr__
        if self.intensities is not None:
            strengths = as_strengths(self.intensities, bearings.shape, "bearings")
            set_(self, "intensities", readonly(strengths[order]))
        if self.sigmas is not None:
            set_(self, "sigmas", readonly(_as_sigmas(self.sigmas, bearings.shape, valid)[order]))
        set_(self, "bearings", readonly(bearings[order]))
        set_(self, "ranges", readonly(np.where(valid, ranges, 0.0)[order]))
        set_(self, "valid", readonly(valid[order]))

    def _valid(self, ranges: FloatArray) -> BoolArray:
        """Return the mask of valid ranges; raise an error if there are none."""
        with np.errstate(invalid="ignore"):
            valid = np.isfinite(ranges) & (ranges > MIN_RANGE)
            valid &= (ranges >= self.range_min) & (ranges < self.range_max)
        if not valid.any():
            raise InputError(
                f"The scan has no valid beam among {ranges.size}: every range is NaN, infinite, 0 "
                f"or outside [{self.range_min}, {self.range_max}) m."
                f"{in_millimetres(ranges, self.range_min, self.range_max)}",
                code="empty",
                field="ranges",
            )
        return valid

    @classmethod
    def from_laserscan(
        cls,
        angle_min: float,
        angle_increment: float,
        ranges: ArrayLike,
        *,
        range_min: float = 0.0,
        range_max: float = np.inf,
        intensities: ArrayLike | None = None,
        T_robot_sensor: Pose | None = None,
        sigmas: ArrayLike | None = None,
    ) -> "Scan":
        """Make a scan from the fields of a ROS LaserScan message.

        Args:
            angle_min: Bearing of the first beam, in rad.
            angle_increment: Angle from each beam to the next, in rad.
            ranges: Distance along each beam in m, shape (m,).
            range_min: Minimum range of the sensor, in m.
            range_max: Maximum range of the sensor, in m.
            intensities: Strength of each return, shape (m,), or `None`.
            T_robot_sensor: Pose of the sensor on the robot; the centre of the robot if `None`.
            sigmas: Standard deviation of each range in m, shape (m,), or `None`.

        Raises:
            InputError: If the shapes differ, or no range is valid.

        Examples:
            >>> import isovist as iv
            >>> scan = iv.Scan.from_laserscan(-0.5, 0.5, [2.0, 3.0, 2.5], range_max=10.0)
            >>> scan.distances.tolist()
            [2.0, 3.0, 2.5]
        """
        values = np.asarray(ranges, dtype=np.float64)
        if values.ndim != 1:
            raise InputError.about(
                "ranges", f"must be one row of numbers, got shape {values.shape}."
            )
        with np.errstate(over="ignore"):  # infinite bearings are refused below
            bearings = np.float64(angle_min) + angle_increment * np.arange(float(values.size))
        return cls(
            bearings,
            values,
            range_min,
            range_max,
            None if intensities is None else np.asarray(intensities, dtype=np.float64),
            Pose() if T_robot_sensor is None else T_robot_sensor,
            sigmas=None if sigmas is None else np.asarray(sigmas, dtype=np.float64),
        )

    def straighten(self, motion: Pose) -> "Scan":
        """Return the scan without motion distortion, as if taken in the middle of its sweep.

        Beams are assumed to be counter-clockwise, with equal times between them.

        Args:
            motion: Motion of the sensor from the first to the last beam, T_first_last.
        """
        b, r = self.bearings, self.ranges
        span = b[-1] - b[0]
        delay = (b - b[0]) / span - 0.5 if span > 0.0 else np.zeros_like(b)
        # The velocity is constant in the frame of the sensor in the middle of the sweep.
        shift = Pose(yaw=-motion.yaw / 2.0).apply([motion.x, motion.y])
        rotated = b + delay * motion.yaw
        x, y = r * np.cos(rotated) + delay * shift[0], r * np.sin(rotated) + delay * shift[1]
        # The correction is small, also for bearings that pass ±π.
        bearings = np.where(self.valid, b + wrap_angle(np.arctan2(y, x) - b), rotated)
        ranges = np.where(self.valid, np.hypot(x, y), np.inf)
        return replace(self, bearings=bearings, ranges=ranges, range_min=0.0, range_max=np.inf)

    def mirrored(self) -> "Scan":
        """Return the scan of a sensor mounted upside down: left and right change places."""
        ranges = np.where(self.valid, self.ranges, np.nan)
        return replace(self, bearings=-self.bearings, ranges=ranges)

    def scaled(self, factor: float) -> "Scan":
        """Return the scan with ranges and limits multiplied by a factor."""
        low, high = scaled_limits(self.range_min, self.range_max, factor)
        ranges = np.where(self.valid, self.ranges * factor, np.nan)
        sigmas = None if self.sigmas is None else self.sigmas * factor
        return replace(self, ranges=ranges, range_min=low, range_max=high, sigmas=sigmas)

    @staticmethod
    def from_points(
        points: ArrayLike,
        *,
        intensities: ArrayLike | None = None,
        range_min: float = 0.0,
        range_max: float = np.inf,
        T_robot_sensor: AnyPose | None = None,
        roll: float = 0.0,
        pitch: float = 0.0,
    ) -> CloudScan:
        """Make a 3D scan from points in the frame of the sensor.

        Args:
            points: Returns of the sensor, shape (k, 3), in m.
            intensities: Strength of each return, shape (k,), or `None`.
            range_min: Minimum range of the sensor, in m.
            range_max: Maximum range of the sensor, in m.
            T_robot_sensor: Pose of the sensor on the robot; the centre of the robot if `None`.
            roll: Roll of the robot against gravity, in rad; 0 if unknown.
            pitch: Pitch of the robot against gravity, in rad; 0 if unknown.

        Raises:
            InputError: If the shapes differ, or fewer than 50 points are valid.
        """
        return CloudScan(
            np.asarray(points),
            None if intensities is None else np.asarray(intensities, dtype=np.float64),
            range_min,
            range_max,
            Pose3() if T_robot_sensor is None else Pose3.lifted(T_robot_sensor),
            roll,
            pitch,
        )

    @staticmethod
    def from_depth(
        image: ArrayLike,
        intrinsics: ArrayLike,
        *,
        stride: int = 1,
        range_max: float = np.inf,
        T_robot_sensor: AnyPose | None = None,
        roll: float = 0.0,
        pitch: float = 0.0,
    ) -> CloudScan:
        """Make a 3D scan from the depth image of a pinhole camera.

        Args:
            image: Depths along the axis of the camera, shape (height, width): whole numbers in
                mm, as cameras write them, others in m.
            intrinsics: (f_x, f_y, c_x, c_y) or the matrix of the camera, shape (3, 3), in pixels.
            stride: Use every `stride`-th pixel along both axes.
            range_max: Largest range of the sensor, in m.
            T_robot_sensor: Pose of the camera on the robot; its x axis looks ahead.
            roll: Roll of the robot against gravity, in rad.
            pitch: Pitch of the robot against gravity, in rad.

        Raises:
            InputError: If image and camera do not fit, or the depths are not in mm or m.
        """
        from isovist.sensing.depth import points_of_depth  # few programs read depth images

        return Scan.from_points(
            points_of_depth(image, intrinsics, stride), range_max=range_max,
            T_robot_sensor=T_robot_sensor, roll=roll, pitch=pitch,
        )  # fmt: skip

    def within(self, limit: float) -> "Scan | None":
        """Return the scan without beams longer than `limit` (m), or `None` if no beam is left."""
        is_short = self.valid & (self.ranges <= limit)
        if np.count_nonzero(is_short) == np.count_nonzero(self.valid):
            return self
        ranges = np.where(is_short, self.ranges, np.nan)
        return replace(self, ranges=ranges) if is_short.any() else None

    @property
    def T_level_robot(self) -> Pose:
        """The pose of the robot in the frame of the sensor."""
        return self.T_robot_sensor.inverse

    @property
    def T_robot_level(self) -> Pose:
        """The pose of the sensor in the frame of the robot."""
        return self.T_robot_sensor

    @property
    def endpoints(self) -> FloatArray:
        """The ends of the valid beams in the frame of the sensor, shape (k, 2), in m."""
        b, r = self.bearings[self.valid], self.ranges[self.valid]
        return np.stack([r * np.cos(b), r * np.sin(b)], axis=-1)

    @property
    def distances(self) -> FloatArray:
        """The lengths of the valid beams, shape (k,), in m."""
        return self.ranges[self.valid]

    @property
    def field_of_view(self) -> float:
        """The angle from the first to the last beam, in rad."""
        return float(self.bearings[-1] - self.bearings[0])

    @property
    def beam_widths(self) -> FloatArray:
        """The angle that each beam covers, shape (m,), in rad.

        A beam covers half the angle to each neighbour, at most 0.75 times the median spacing on
        either side. Larger gaps between beams stay gaps. Beams with the same bearing share its
        angle.
        """
        gaps = np.diff(self.bearings)
        is_step = gaps > SAME_BEARING
        if not is_step.any():
            return np.zeros_like(self.bearings)
        spacing = float(np.median(gaps[is_step]))
        seam = self.bearings[0] + 2.0 * np.pi - self.bearings[-1]
        sides = np.concatenate([[seam], gaps, [seam]]) / 2.0
        # At the ends of a partial view a beam covers half the spacing, not the blind side.
        if seam > 1.5 * spacing:
            sides[0] = sides[-1] = spacing / 2.0
        sides = np.clip(sides, 0.0, 0.75 * spacing)
        widths = sides[:-1] + sides[1:]
        if is_step.all():
            return widths
        starts = np.flatnonzero(np.concatenate([[True], is_step]))
        repeats = np.diff(starts, append=widths.size)
        return np.repeat(np.add.reduceat(widths, starts) / repeats, repeats)


def _as_bearings(values: ArrayLike) -> FloatArray:
    """Return bearings as floats, after a check that they are not in degrees."""
    bearings = as_floats("bearings", values, (None,))
    with np.errstate(over="ignore"):
        turns = (float(np.ptp(bearings)) if bearings.size else 0.0) / (2.0 * np.pi)
    if turns > MAX_TURNS:
        raise InputError(
            f"The bearings of the scan span {turns:.1f} turns. Are they in degrees? "
            "They must be in rad.",
            field="bearings",
        )
    return bearings


def _as_sigmas(sigmas: ArrayLike, shape: tuple[int, ...], valid: BoolArray) -> FloatArray:
    """Return standard deviations as a new array, with 0 for missing beams."""
    own = np.array(sigmas, dtype=np.float64)
    if own.shape != shape:
        raise InputError.about(
            "sigmas", f"must have shape {shape}, like `bearings`, got {own.shape}."
        )
    odd = valid & ~(np.isfinite(own) & (own >= 0.0))
    if odd.any():
        raise InputError.about(
            "sigmas",
            "must be standard deviations in m, 0 or more, for every valid beam, got "
            f"{own[odd][0]:g}. Mask the range (NaN) of a beam without one.",
        )
    return np.where(valid, own, 0.0)
