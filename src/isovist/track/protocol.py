"""How well does it track?  The protocols of the benchmark, as plain functions.

The map is made of the even scans of a log, the robot sees only the odd ones; or map, scans and
odometry are given.  A belief is right when its best estimate is within 0.5 m and 10° of the truth,
and wrong when it is unique and not right.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from isovist.atlas.atlas import Atlas
from isovist.errors import InputError
from isovist.locate.answer import Verdict
from isovist.locate.protocol import NEAR, TURNED, Row, map_of
from isovist.maps.occupancy import OccupancyMap
from isovist.poses import Pose, wrap_angle
from isovist.sensing.scan import Scan
from isovist.track.tracker import Tracker
from isovist.types import FloatArray, IntArray

if TYPE_CHECKING:
    from isovist.io.scan_sets import ScanSet

FAR = 5.0
"""A robot is carried away by at least this, in m."""
BEFORE, AFTER = 25, 40
"""Updates before and after that."""
NOTICED = 3
"""Updates after which a kidnapping must have been noticed."""
ELLIPSOID95 = 7.815
"""95 % quantile of χ² with three degrees of freedom."""


@dataclass(frozen=True, slots=True, eq=False)
class Drive:
    """Scans along a way, where odometry says they were taken, and where they were."""

    scans: Callable[[int], Scan]
    odometry: Sequence[Pose]
    truth: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Update:
    """What became of one update.

    Attributes:
        travelled: In m.
        unique: Whether the belief was unique.
        error_m: Distance to the truth; infinite without an estimate.
        error_rad: Angle to the truth.
        offset: The same as a vector (x, y, yaw) in the map frame, shape (3,).
        covered: Whether the truth lies in the 95 % ellipsoid of the best estimate.
        update_ms: Time that it took.
    """

    travelled: float
    unique: bool
    error_m: float
    error_rad: float
    offset: FloatArray
    covered: bool
    update_ms: float

    @property
    def right(self) -> bool:
        """Within 0.5 m and 10° of the truth."""
        return self.error_m <= NEAR and self.error_rad <= TURNED


def follow(atlas: Atlas, drive: Drive) -> Iterator[Update]:
    """Track a drive from an unknown start."""
    tracker = Tracker(atlas)
    for k, odometry in enumerate(drive.odometry):
        belief = tracker.update(odometry, drive.scans(k))
        offset, covered = np.array([np.inf, np.inf, np.pi]), False
        if belief.best is not None:
            offset = belief.best.pose.vector - drive.truth[k]
            offset[2] = wrap_angle(offset[2])
            mahalanobis = offset @ np.linalg.solve(belief.best.covariance, offset)
            covered = bool(mahalanobis <= ELLIPSOID95)
        yield Update(
            tracker.travelled,
            belief.verdict is Verdict.UNIQUE,
            float(np.hypot(offset[0], offset[1])),
            float(abs(offset[2])),
            offset,
            covered,
            belief.timing_ms["total"],
        )


def start_drives(
    log: "ScanSet", count: int, reach: float, *, seed: int = 0, noise: tuple[float, float]
) -> tuple[OccupancyMap, list[Drive]]:
    """Random starts in a log with corrected poses, and odometry with simulated noise.

    Args:
        log: The scans with their poses.
        count: Number of starts.
        reach: Way of each drive in m.
        seed: Of starts and noise.
        noise: Standard deviations: share of the distance, and rad per m.
    """
    if count < 1:
        raise InputError(f"`count` must be at least 1, got {count}.")
    index = np.arange(len(log))
    world = map_of(log, index[(index % 2 == 0) & log.usable])
    seen = index[(index % 2 == 1) & log.usable]
    poses = log.poses[seen]
    way = np.append(0.0, np.cumsum(np.hypot(*np.diff(poses[:, :2], axis=0).T)))
    starts = np.flatnonzero(way[-1] - way >= reach)
    if starts.size == 0:
        raise InputError(f"The log is {way[-1]:.1f} m long, shorter than a drive of {reach} m.")
    random = np.random.default_rng(seed)
    drives = []
    for start in random.choice(starts, count, replace=starts.size < count):
        stop = int(np.searchsorted(way, way[start] + reach, side="right"))
        drives.append(_noisy(log, seen[start:stop], noise, random))
    return world, drives


def _noisy(
    log: "ScanSet", index: IntArray, noise: tuple[float, float], random: np.random.Generator
) -> Drive:
    truth = [Pose.from_vector(log.poses[i]) for i in index]
    odometry = [Pose()]
    for a, b in pairwise(truth):
        step = a.inverse @ b
        way = float(np.hypot(step.x, step.y))
        longer, turn = 1.0 + noise[0] * random.normal(), noise[1] * way * random.normal()
        odometry.append(odometry[-1] @ Pose(step.x * longer, step.y * longer, step.yaw + turn))
    return Drive(lambda k: log.scan(int(index[k])), odometry, log.poses[index])


def logged_drive(log: "ScanSet", index: IntArray, sweep: float = 0.0) -> Drive:
    """The scans of a log that `index` names, with its own odometry.

    Args:
        log: Scans, poses, odometry and times.
        index: Which scans.
        sweep: Time that the sensor takes for one scan, in s, to straighten it by odometry.
    """
    if log.odometry is None:
        raise InputError("These scans have no odometry (`odom`), so nothing can be tracked.")
    odometry = [Pose.from_vector(log.odometry[i]) for i in index]

    def scan(k: int) -> Scan:
        seen = log.scan(int(index[k]))
        if sweep == 0.0:
            return seen
        return seen.straighten(_during(log, int(index[k]), sweep))

    return Drive(scan, odometry, log.poses[index])


def _during(log: "ScanSet", i: int, sweep: float) -> Pose:
    """Motion in one sweep around scan i."""
    if log.odometry is None or log.times is None:
        raise InputError("Straightening needs odometry and times.")
    a, b = max(i - 1, 0), min(i + 1, len(log) - 1)
    step = Pose.from_vector(log.odometry[a]).inverse @ Pose.from_vector(log.odometry[b])
    share = sweep / max(float(log.times[b] - log.times[a]), 1e-6)
    return Pose(step.x * share, step.y * share, step.yaw * share)


def kidnap_drives(drive: Drive, count: int, seed: int = 0) -> list[Drive]:
    """Pieces of a drive, each followed by one from elsewhere, odometry unaware of the jump."""
    n = len(drive.odometry)
    if n < 2 * (BEFORE + AFTER):
        raise InputError(f"A drive of {n} updates is too short to carry the robot away.")
    random = np.random.default_rng(seed)
    places = drive.truth[:, :2]
    pieces: list[Drive] = []
    for _ in range(100 * count):
        a, b = int(random.integers(n - BEFORE)), int(random.integers(n - AFTER))
        if np.hypot(*(places[a + BEFORE - 1] - places[b])) >= FAR:
            pieces.append(_joined(drive, a, b))
        if len(pieces) == count:
            return pieces
    raise InputError(f"Almost no two places of the drive are {FAR:g} m apart.")


def _joined(drive: Drive, a: int, b: int) -> Drive:
    index = np.append(np.arange(a, a + BEFORE), np.arange(b, b + AFTER))
    T_before_after = drive.odometry[a + BEFORE - 1] @ drive.odometry[b].inverse
    odometry = [drive.odometry[k] for k in range(a, a + BEFORE)]
    odometry += [T_before_after @ drive.odometry[k] for k in range(b, b + AFTER)]
    return Drive(lambda k: drive.scans(int(index[k])), odometry, drive.truth[index])


def summarise_starts(site: str, runs: Sequence[Sequence[Update]]) -> Row:
    """Shares and quantiles over drives from random starts."""
    ways = [next((u.travelled for u in run if u.unique and u.right), np.inf) for run in runs]
    found = np.isfinite(ways)
    wrong = np.array([any(u.unique and not u.right for u in run) for run in runs])
    times = np.array([u.update_ms for run in runs for u in run])
    reached = np.array(ways)[found] if found.any() else np.array([np.nan])
    return {
        "site": site,
        "starts": len(runs),
        "found": float(found.mean()),
        "wrong": float(wrong.mean()),
        "median_way_m": float(np.median(reached)),
        "p95_way_m": float(np.quantile(reached, 0.95)),
        "median_ms": float(np.median(times)),
        "p95_ms": float(np.quantile(times, 0.95)),
    }


def summarise_drive(site: str, updates: Sequence[Update]) -> Row:
    """One row for a drive: errors are root mean squares from the first unique belief on.

    `centred_rmse_m` is what remains after a constant shift of the whole track (`shift_x_m`,
    `shift_y_m`), since a plan and a truth rarely share their frame to the centimetre.
    """
    first = next((k for k, u in enumerate(updates) if u.unique), None)
    unique = np.array([u.unique for u in updates])
    row: Row = {
        "site": site,
        "updates": len(updates),
        "way_m": updates[-1].travelled,
        "unique": float(unique.mean()),
        "wrong": sum(u.unique and not u.right for u in updates),
        "median_ms": float(np.median([u.update_ms for u in updates])),
        "p95_ms": float(np.quantile([u.update_ms for u in updates], 0.95)),
    }
    if first is None:
        return row
    after = updates[first:]
    offset = np.array([u.offset for u in after])
    return row | {
        "unique_after_m": after[0].travelled,
        "rmse_m": float(np.sqrt((offset[:, :2] ** 2).sum(axis=1).mean())),
        "rmse_deg": float(np.degrees(np.sqrt((offset[:, 2] ** 2).mean()))),
        "shift_x_m": float(offset[:, 0].mean()),
        "shift_y_m": float(offset[:, 1].mean()),
        "centred_rmse_m": float(np.sqrt(offset[:, :2].var(axis=0).sum())),
        "worst_m": float(max(u.error_m for u in after)),
        "coverage95": float(np.mean([u.covered for u in after])),
    }


def summarise_kidnaps(
    site: str, runs: Sequence[Sequence[Update]], before: int, within: float
) -> Row:
    """Of drives that are `carried_away` after `before` updates."""
    noticed, found, ways = [], [], []
    for run in runs:
        after = run[before:]
        noticed.append(not any(u.unique and not u.right for u in after[NOTICED - 1 :]))
        start = after[0].travelled
        way = next((u.travelled - start for u in after if u.unique and u.right), np.inf)
        found.append(way <= within)
        ways.append(way)
    return {
        "site": site,
        "kidnaps": len(runs),
        "noticed": float(np.mean(noticed)),
        "found_again": float(np.mean(found)),
        "median_way_m": float(np.median(ways)),
    }
