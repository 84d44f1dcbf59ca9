"""Feed a log to a tracker scan by scan, and summarize the results."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import AnyScan, Atlas
from isovist.localization import AnyMaps, LocalizationSettings, Verdict, is_same_place
from isovist.poses import AnyPose, wrap_angle
from isovist.sensing import CloudLog, Log

if TYPE_CHECKING:
    from isovist.tracking.belief import Belief

CHI_SQUARE_95 = {3: 7.815, 4: 9.488, 6: 12.592}
"""95 % quantiles of χ² by its degrees of freedom."""

AnyLog = Log | CloudLog


class Follower(Protocol):
    """A tracker: turns odometry and a scan into a belief."""

    def update(
        self, odometry: AnyPose | None, scan: AnyScan, *, time: float | None = None
    ) -> "Belief":
        """Move by odometry, use a scan, and return where the robot is."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """One step of a tracker along a log.

    Attributes:
        index: Index of the scan in the log.
        time: Its stamp, in s.
        odometry: T_odom_robot, or `None` if the log has none.
        belief: The belief after the update.
        truth: Ground truth T_map_robot, if the log has it.
    """

    index: int
    time: float
    odometry: AnyPose | None
    belief: "Belief"
    truth: AnyPose | None = None

    @property
    def unique(self) -> bool:
        """Whether the verdict is unique."""
        return self.belief.verdict is Verdict.UNIQUE

    @property
    def offset(self) -> FloatArray | None:
        """Best estimate minus truth, (x, y, yaw, …) in the map frame, if both exist."""
        best = self.belief.best
        if self.truth is None or best is None:
            return None
        d = best.pose.vector - self.truth.vector
        angles = [2, 4, 5][: 1 if len(d) == 3 else 3]
        d[angles] = wrap_angle(d[angles])
        return np.asarray(d)

    @property
    def error(self) -> tuple[float, float] | None:
        """Distance (m) and angle (rad) of the best estimate from the truth, if both exist."""
        d = self.offset
        return None if d is None else (math.hypot(*d[:2], *d[3:4]), abs(float(d[2])))

    @property
    def wrong(self) -> bool:
        """Whether the verdict is unique, but the pose wrong by more than 0.5 m or 10°."""
        best = self.belief.best
        if not self.unique or self.truth is None or best is None:
            return False
        return not is_same_place(best.pose, self.truth, LocalizationSettings())

    @property
    def covered(self) -> bool:
        """Whether the truth lies in the 95 % ellipsoid of the best estimate."""
        d, best = self.offset, self.belief.best
        if d is None or best is None:
            return False
        fitted = d[: len(best.covariance)]
        square = fitted @ np.linalg.solve(best.covariance, fitted)
        return bool(square <= CHI_SQUARE_95[len(fitted)])


def replay(
    tracker: Follower, log: AnyLog, indices: Iterable[int] | None = None
) -> Iterator[Update]:
    """Feed scans of a log to a tracker, and yield each update.

    Where the stamps of a log run backwards, the clock of the tracker stands still.

    Args:
        tracker: The tracker.
        log: The log.
        indices: Indices of the scans; all if `None`.
    """
    clock = np.maximum.accumulate(log.times)
    for index in range(len(log)) if indices is None else indices:
        i = int(index)
        odometry, truth = log.odometry_at(i), log.truth_at(i)
        belief = tracker.update(odometry, log.scan(i), time=float(clock[i]))
        yield Update(i, float(log.times[i]), odometry, belief, truth)


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """The results of a log in a few numbers.

    Attributes:
        updates: Number of updates.
        shares: Share of the updates with each verdict.
        started: Time of the first update, in s.
        first: The first unique update, or `None`.
        relapses: Number of unique updates that were followed by another verdict.
        last: The last update.
        per_second: Updates per second, without the first, which may wait for the compiler.
        median_ms: Median time of an update, in ms.
        errors: Distance (m) and angle (rad) of the unique updates from the truth, shape (k, 2).
        wrong: Number of unique updates that were wrong by more than 0.5 m or 10°.
    """

    updates: int
    shares: dict[Verdict, float]
    started: float
    first: Update | None
    relapses: int
    last: Update
    per_second: float
    median_ms: float
    errors: FloatArray
    wrong: int


def summarise(updates: Sequence[Update]) -> Summary:
    """Summarize one or more updates."""
    counts = Counter(update.belief.verdict for update in updates)
    times = [update.belief.timing_ms["total"] for update in updates]
    errors = [update.error for update in updates if update.unique and update.error is not None]
    return Summary(
        updates=len(updates),
        shares={verdict: counts[verdict] / len(updates) for verdict in Verdict},
        started=updates[0].time,
        first=next((update for update in updates if update.unique), None),
        relapses=sum(a.unique and not b.unique for a, b in pairwise(updates)),
        last=updates[-1],
        per_second=1e3 / max(float(np.mean(times[1:] or times)), 1e-9),
        median_ms=float(np.median(times)),
        errors=np.array(errors).reshape(-1, 2),
        wrong=sum(update.wrong for update in updates),
    )


def unique_poses(updates: Sequence[Update]) -> tuple[FloatArray, FloatArray]:
    """Return times, shape (k,), and best poses, shape (k, 3 or 6), of the unique updates only."""
    way = [
        (update.time, *update.belief.best.pose.vector)
        for update in updates
        if update.unique and update.belief.best is not None
    ]
    rows = np.array(way).reshape(len(way), -1) if way else np.empty((0, 4))
    return rows[:, 0], rows[:, 1:]


def map_with_updates(atlas: AnyMaps, updates: Sequence[Update]) -> tuple[Any, list[Update]]:
    """Return a map, and the updates on it or without a place.

    Of several maps, it is the map of the last update that has a place.
    """
    if isinstance(atlas, Atlas):
        return atlas.world, list(updates)
    last = next((u.belief.map for u in reversed(updates) if u.belief.map), next(iter(atlas)))
    return atlas[last].world, [update for update in updates if update.belief.map in (None, last)]
