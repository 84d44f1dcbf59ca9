"""A log of a drive in 2D: scans with the odometry of their times.

A log takes 4 bytes per beam in memory: an hour of a lidar with 1000 beams at 10 Hz takes
144 MB.  It has no intensities.
"""

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray, as_floats, readonly
from isovist.errors import InputError
from isovist.poses import Pose
from isovist.renamed import accept_old_names
from isovist.sensing.scan import Scan
from isovist.sensing.scan_set import ScanSet


@accept_old_names
@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """A log of 2D scans in the order of a drive, each with the odometry pose at its time.

    `read_log` reads a log from a file or a bag.

    Attributes:
        times: Time stamp of each scan in s, shape (m,).  Read-only.
        odometry: T_odom_robot as x, y (m) and yaw (rad), shape (m, 3).  Read-only.
        readings: Ranges of all scans in m, one after another, including missing returns.
            Read-only.
        starts: Index of the first reading of each scan, and the end, shape (m + 1,).  Read-only.
        beams: First bearing and step (rad), minimum and maximum range (m) of each scan, shape (m,
            4).  Read-only.
        T_robot_sensor: Pose of the sensor on the robot.
        frame: Name of the frame of the robot.
        truth: T_map_robot as x, y (m) and yaw (rad), shape (m, 3), or `None`.  Read-only.
        held_out: Mask of the scans that were not used for the map, shape (m,), or `None`.
            Read-only.
        sweep: Duration of a scan in s, to correct motion distortion; 0 for no correction.
        blind: Number of scans that were left out since they have no valid beam.
        outside: Number of scans that were left out since the odometry does not cover their time.
    """

    times: FloatArray
    odometry: FloatArray
    readings: Float32Array
    starts: IntArray
    beams: FloatArray
    T_robot_sensor: Pose = field(default_factory=Pose)
    frame: str = "robot"
    truth: FloatArray | None = None
    held_out: BoolArray | None = None
    sweep: float = 0.0
    blind: int = 0
    outside: int = 0

    def __post_init__(self) -> None:
        m = as_floats("times", self.times, (None,)).size
        as_floats("odometry", self.odometry, (m, 3))
        if self.truth is not None:
            as_floats("truth", self.truth, (m, 3))
        if self.starts.shape != (m + 1,) or self.starts[-1] != self.readings.size:
            raise InputError.about(
                "starts",
                f"must have shape ({m + 1},) and end at {self.readings.size}, the number "
                f"of readings, got {self.starts.shape} and {self.starts[-1:].tolist()}.",
            )
        if not 0.0 <= self.sweep < 1.0:
            raise InputError.about("sweep", f"must be from 0 to 1 s, got {self.sweep:g}.")
        if self.sweep > 0.0 and not (self.times[2:] > self.times[:-2]).all():
            raise InputError(
                "Straightening needs scans whose stamps go on. Leave out `sweep`.", code="conflict"
            )
        # A reading at the limit must stay at the limit when it is rounded to 4 bytes.
        with np.errstate(over="ignore"):
            limits = self.beams[:, 2:].astype(np.float32)
        beams = np.concatenate([self.beams[:, :2], limits], axis=1)
        object.__setattr__(self, "beams", beams)
        for array in (self.times, self.odometry, self.readings, self.starts, self.beams,
                      self.truth, self.held_out):  # fmt: skip
            if array is not None:
                readonly(array)

    @classmethod
    def from_set(
        cls,
        scans: ScanSet,
        odometry: FloatArray,
        truth: FloatArray | None,
        sensor: Pose,
        sweep: float,
    ) -> "Log":
        """Make a log from a set of scans with times, without scans that have no valid beam.

        Args:
            scans: The scans, with their times.
            odometry: T_odom_robot as x, y (m) and yaw (rad), shape (N, 3).
            truth: T_map_robot as x, y (m) and yaw (rad), shape (N, 3), or `None`.
            sensor: Pose of the sensor on the robot.
            sweep: Duration of a scan in s, to correct motion distortion; 0 for no correction.
        """
        assert scans.times is not None
        m, n = scans.ranges.shape
        with np.errstate(over="ignore"):  # values too large for float32 become infinite: missing
            readings = scans.ranges.astype(np.float32).ravel()
        step = scans.bearings[1] - scans.bearings[0] if n > 1 else 0.0
        split = scans.in_map_split
        log = cls(
            times=scans.times.copy(),
            odometry=odometry,
            readings=readings,
            starts=n * np.arange(m + 1),
            beams=np.tile([scans.bearings[0], step, 0.0, scans.range_max], (m, 1)),
            T_robot_sensor=sensor,
            truth=truth,
            held_out=None if split is None else ~split,
            sweep=sweep,
            blind=int((~scans.usable).sum()),
        )
        return log if scans.usable.all() else log.take(np.flatnonzero(scans.usable))

    def __len__(self) -> int:
        return len(self.times)

    def scan(self, index: int) -> Scan:
        """Return the scan with a number, with the pose of the sensor on the robot.

        Motion distortion is corrected if `sweep` is above 0.
        """
        ranges = self.readings[self.starts[index] : self.starts[index + 1]].astype(np.float64)
        first, step, low, high = (float(value) for value in self.beams[index])
        bearings = np.asarray(first + step * np.arange(ranges.size), dtype=np.float64)
        scan = Scan(bearings, ranges, low, high, None, self.T_robot_sensor, self.frame)
        if self.sweep == 0.0 or len(self) < 3:
            return scan
        motion = self._during_sweep(index)
        # A sensor that turns clockwise measures the last of its sorted bearings first.
        return scan.straighten(motion if step > 0.0 else motion.inverse)

    def _during_sweep(self, index: int) -> Pose:
        """Return T_first_last of the sensor in one sweep, by the odometry around the scan."""
        a = min(max(index - 1, 0), len(self) - 3)
        before, after = (
            Pose.from_vector(self.odometry[k]) @ self.T_robot_sensor for k in (a, a + 2)
        )
        share = self.sweep / float(self.times[a + 2] - self.times[a])
        return Pose.from_vector(share * (before.inverse @ after).vector)

    def take(self, index: IntArray) -> "Log":
        """Return a log of the scans with the given numbers, in this order."""
        pieces = [self.readings[self.starts[i] : self.starts[i + 1]] for i in index]
        return replace(
            self,
            times=self.times[index],
            odometry=self.odometry[index],
            readings=np.concatenate([*pieces, np.empty(0, dtype=np.float32)]),
            starts=np.append(0, np.cumsum(np.diff(self.starts)[index])),
            beams=self.beams[index],
            truth=None if self.truth is None else self.truth[index],
            held_out=None if self.held_out is None else self.held_out[index],
        )

    def until(self, at: float | None, count: int, apart: float) -> tuple[list[Scan], list[Pose]]:
        """Return the last scans up to a time, and the motions of the robot from each to the next.

        Args:
            at: Time of the last scan, in s after the first scan of the log; `None` for the end.
            count: Number of scans.
            apart: Minimum distance between two scans by odometry, in m.

        Raises:
            InputError: If the log has fewer such scans.
        """
        if count < 1:
            raise InputError(f"At least 1 scan must be taken, got {count}.", field="count")
        if not 0.0 <= apart < np.inf:
            raise InputError.about("apart", f"must be 0 m or more, got {apart:g}.")
        last = len(self) - 1
        if at is not None:
            last = int(np.argmin(np.abs(self.times - self.times[0] - at)))
        poses = [Pose.from_vector(row) for row in self.odometry[: last + 1]]
        index = [last]
        for k in range(last - 1, -1, -1):
            step = poses[k].inverse @ poses[index[0]]
            if len(index) < count and np.hypot(step.x, step.y) >= apart:
                index.insert(0, k)
        if len(index) < count:
            raise InputError(
                f"The log has {len(index)} scan{'s' if len(index) > 1 else ''} {apart:g} m apart "
                f"until then, and {count} are needed. Take fewer, or nearer to each other.",
                code="too_large",
            )
        steps = [poses[a].inverse @ poses[b] for a, b in pairwise(index)]
        return [self.scan(k) for k in index], steps

    def select(
        self, *, every: int = 1, start: int = 0, stop: int | None = None, held_out: bool = False
    ) -> IntArray:
        """Return the numbers of every N-th scan from `start` to before `stop`.

        Args:
            every: N; 1 for all scans.
            start: First number.
            stop: Number after the last; `None` for the end.
            held_out: Whether to select only scans that were not used for the map.

        Raises:
            InputError: If there are no such scans.
        """
        index = select_scans(len(self), every, start, stop)
        if not held_out:
            return index
        if self.held_out is None:
            raise InputError(
                "This log does not say which of its scans are in the map.", code="missing"
            )
        index = np.arange(len(self))[start:stop]
        index = index[self.held_out[index]][::every]
        if index.size == 0:
            raise InputError(
                "None of the selected scans is held out: all are in the map.", code="empty"
            )
        return index

    def odometry_at(self, index: int) -> Pose:
        """Return the odometry pose T_odom_robot at one of the scans."""
        return Pose.from_vector(self.odometry[index])

    def truth_at(self, index: int) -> Pose | None:
        """Return the true pose T_map_robot at a scan, or `None` where it is unknown."""
        return None if self.truth is None else Pose.from_vector(self.truth[index])


def select_scans(count: int, every: int, start: int, stop: int | None) -> IntArray:
    """Return every N-th number from `start` to before `stop`, out of `count` scans."""
    if every < 1:
        raise InputError.about("every", f"must be 1 or more, got {every}.")
    if not 0 <= start < count or (stop is not None and not start < stop <= count):
        raise InputError.about(
            ("start", "stop"),
            f"must satisfy 0 ≤ start < stop ≤ {count}, the number of "
            f"scans, got {start} and {count if stop is None else stop}.",
        )
    return np.arange(count)[start:stop:every]
