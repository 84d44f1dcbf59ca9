"""A log fed to a tracker scan by scan, and what came of it in a few numbers."""

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

ELLIPSOID95 = {3: 7.815, 4: 9.488, 6: 12.592}
"""95 % quantiles of χ² by its degrees of freedom."""

AnyLog = Log | CloudLog


class Follower(Protocol):
    """Whatever turns odometry and a scan into a belief, as `Tracker` does."""

    def update(
        self, odometry: AnyPose | None, scan: AnyScan, *, time: float | None = None
    ) -> "Belief":
        """Move, look, judge."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """One step of a tracker along a log.

    Attributes:
        index: Which scan of the log.
        time: Its stamp, in s.
        odometry: T_odom_robot, or `None` where the log does not tell it.
        belief: What the tracker said.
        truth: T_map_robot, when the log knows it.
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
        """Best estimate less truth, (x, y, yaw, …) in the map frame, if both are there."""
        best = self.belief.best
        if self.truth is None or best is None:
            return None
        d = best.pose.vector - self.truth.vector
        angles = [2, 4, 5][: 1 if len(d) == 3 else 3]
        d[angles] = wrap_angle(d[angles])
        return np.asarray(d)

    @property
    def error(self) -> tuple[float, float] | None:
        """Distance (m) and angle (rad) of the best estimate from the truth, if both are there."""
        d = self.offset
        return None if d is None else (math.hypot(*d[:2], *d[3:4]), abs(float(d[2])))

    @property
    def wrong(self) -> bool:
        """Unique, and off by more than 0.5 m or 10°."""
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
        known = d[: len(best.covariance)]
        far = known @ np.linalg.solve(best.covariance, known)
        return bool(far <= ELLIPSOID95[len(known)])


def replay(tracker: Follower, log: AnyLog, which: Iterable[int] | None = None) -> Iterator[Update]:
    """Feed scans of a log to a tracker, one update each; all of them for `None`.

    Where the stamps of a log run backwards, the clock of the tracker stands still.
    """
    clock = np.maximum.accumulate(log.times)
    for index in range(len(log)) if which is None else which:
        i = int(index)
        odometry, truth = log.odometry_at(i), log.truth_at(i)
        belief = tracker.update(odometry, log.scan(i), time=float(clock[i]))
        yield Update(i, float(log.times[i]), odometry, belief, truth)


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What came of a log.

    Attributes:
        updates: How many there were.
        shares: Of each verdict among them.
        started: Time of the first update, in s.
        first: The first unique update, or `None`.
        relapses: How often a unique verdict was followed by another.
        last: The last update.
        per_second: Updates per second, without the first, which may wait for the compiler.
        median_ms: Of the time of an update.
        errors: Distance (m) and angle (rad) of the unique updates from the truth, shape (k, 2).
        wrong: How many unique updates were off by more than 0.5 m or 10°.
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
    """The whole of at least one update."""
    counts = Counter(update.belief.verdict for update in updates)
    spent = [update.belief.timing_ms["total"] for update in updates]
    errors = [update.error for update in updates if update.unique and update.error is not None]
    return Summary(
        updates=len(updates),
        shares={verdict: counts[verdict] / len(updates) for verdict in Verdict},
        started=updates[0].time,
        first=next((update for update in updates if update.unique), None),
        relapses=sum(a.unique and not b.unique for a, b in pairwise(updates)),
        last=updates[-1],
        per_second=1e3 / max(float(np.mean(spent[1:] or spent)), 1e-9),
        median_ms=float(np.median(spent)),
        errors=np.array(errors).reshape(-1, 2),
        wrong=sum(update.wrong for update in updates),
    )


def unique_way(updates: Sequence[Update]) -> tuple[FloatArray, FloatArray]:
    """Times, shape (k,), and best poses, shape (k, 3 or 6), of the unique updates only."""
    way = [
        (update.time, *update.belief.best.pose.vector)
        for update in updates
        if update.unique and update.belief.best is not None
    ]
    rows = np.array(way).reshape(len(way), -1) if way else np.empty((0, 4))
    return rows[:, 0], rows[:, 1:]


def on_map(atlas: AnyMaps, updates: Sequence[Update]) -> tuple[Any, list[Update]]:
    """A map and the updates on it, or nowhere: of several, that of the last that has a place."""
    if isinstance(atlas, Atlas):
        return atlas.world, list(updates)
    last = next((u.belief.map for u in reversed(updates) if u.belief.map), next(iter(atlas)))
    return atlas[last].world, [update for update in updates if update.belief.map in (None, last)]
