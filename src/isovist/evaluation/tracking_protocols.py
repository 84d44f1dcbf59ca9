"""How well does it track?  The protocols of the benchmark, as plain functions.

A protocol makes logs with truth; `replay` feeds them to a tracker from an unknown start.  Random
starts come from a log with corrected poses: its even scans make the map, the robot sees only the
odd ones.  A belief is right when its best estimate is within 0.5 m and 10° of the truth, and wrong
when it is unique and not right.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import dropwhile, pairwise

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import InputError
from isovist.evaluation.metrics import Row
from isovist.evaluation.protocols import map_of
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import Pose
from isovist.sensing.log import Log
from isovist.sensing.scan_set import ScanSet
from isovist.tracking.replay import Update

FAR = 5.0
"""A robot is carried away by at least this, in m."""
BEFORE, AFTER = 25, 40
"""Updates before and after that."""
NOTICED = 3
"""Updates after which it must have been noticed."""


def start_logs(
    scans: ScanSet, count: int, reach: float, *, seed: int = 0, noise: tuple[float, float]
) -> tuple[OccupancyMap, list[Log]]:
    """Make a map, and logs that start at random scans, with simulated odometry noise.

    Args:
        scans: In the order of the drive, with poses and times.
        count: Number of starts.
        reach: Length of each drive in m.
        seed: Seed of starts and noise.
        noise: Standard deviations of the odometry: share of the distance, and rad per m.
    """
    if count < 1:
        raise InputError.about("count", f"must be at least 1, got {count}.")
    usable = np.flatnonzero(scans.usable)
    world, seen = map_of(scans, usable[usable % 2 == 0]), usable[usable % 2 == 1]
    poses = scans.poses[seen]
    way = np.append(0.0, np.cumsum(np.hypot(*np.diff(poses[:, :2], axis=0).T)))
    starts = np.flatnonzero(way[-1] - way >= reach)
    if starts.size == 0:
        raise InputError(
            f"The log is {way[-1]:.1f} m long, shorter than a drive of {reach} m.", code="too_large"
        )
    whole = Log.from_set(replace(scans, ranges=scans.ranges[seen], poses=poses,
                                 times=np.arange(float(len(seen))), odometry=None,
                                 in_map_split=None), poses, poses, Pose(), 0.0)  # fmt: skip
    random = np.random.default_rng(seed)
    logs = []
    for start in random.choice(starts, count, replace=starts.size < count):
        stop = int(np.searchsorted(way, way[start] + reach, side="right"))
        piece = whole.take(np.arange(start, stop))
        logs.append(replace(piece, odometry=_noisy(poses[start:stop], noise, random)))
    return world, logs


def _noisy(
    poses: FloatArray, noise: tuple[float, float], random: np.random.Generator
) -> FloatArray:
    odometry = [Pose()]
    for a, b in pairwise(poses):
        step = Pose.from_vector(a).inverse @ Pose.from_vector(b)
        way = float(np.hypot(step.x, step.y))
        longer, turn = 1.0 + noise[0] * random.normal(), noise[1] * way * random.normal()
        odometry.append(odometry[-1] @ Pose(step.x * longer, step.y * longer, step.yaw + turn))
    return np.stack([pose.vector for pose in odometry])


def kidnap_logs(log: Log, count: int, seed: int = 0) -> list[Log]:
    """Make logs of two distant pieces of a log, whose odometry does not know of the jump."""
    n = len(log)
    if n < 2 * (BEFORE + AFTER):
        raise InputError(f"A log of {n} scans is too short to carry the robot away.", code="empty")
    if log.truth is None:
        raise InputError("This log has no truth, so nothing can be measured.", code="empty")
    random = np.random.default_rng(seed)
    pieces: list[Log] = []
    for _ in range(100 * count):
        a, b = int(random.integers(n - BEFORE)), int(random.integers(n - AFTER))
        if np.hypot(*(log.truth[a + BEFORE - 1] - log.truth[b])[:2]) >= FAR:
            pieces.append(_joined(log, a, b))
        if len(pieces) == count:
            return pieces
    raise InputError(f"Almost no two places of the log are {FAR:g} m apart.", code="empty")


def _joined(log: Log, a: int, b: int) -> Log:
    both = log.take(np.append(np.arange(a, a + BEFORE), np.arange(b, b + AFTER)))
    poses = [Pose.from_vector(row) for row in both.odometry]
    T_before_after = poses[BEFORE - 1] @ poses[BEFORE].inverse
    after = [(T_before_after @ pose).vector for pose in poses[BEFORE:]]
    times = np.append(both.times[:BEFORE], both.times[BEFORE:] - both.times[BEFORE])
    times[BEFORE:] += times[BEFORE - 1] + np.median(np.diff(log.times))
    return replace(both, odometry=np.concatenate([both.odometry[:BEFORE], after]), times=times)


def summarise_starts(site: str, runs: Sequence[Sequence[Update]]) -> Row:
    """Summarise drives from random starts as shares and quantiles."""
    ways = np.array([_found(run) for run in runs])
    reached = ways[np.isfinite(ways)] if np.isfinite(ways).any() else np.array([np.nan])
    spent = [update.belief.timing_ms["total"] for run in runs for update in run]
    return {
        "site": site,
        "starts": len(runs),
        "found": float(np.isfinite(ways).mean()),
        "wrong": float(np.mean([any(update.wrong for update in run) for run in runs])),
        "median_way_m": float(np.median(reached)),
        "p95_way_m": float(np.quantile(reached, 0.95)),
        "median_ms": float(np.median(spent)),
        "p95_ms": float(np.quantile(spent, 0.95)),
    }


def summarise_drive(site: str, updates: Sequence[Update]) -> Row:
    """Summarise a drive; errors are root mean squares from the first unique belief on.

    `centred_rmse_m` is what remains after a constant shift of the whole track (`shift_x_m`,
    `shift_y_m`), since a plan and a truth rarely share their frame to the centimetre.
    """
    spent = [update.belief.timing_ms["total"] for update in updates]
    after = list(dropwhile(lambda update: not update.unique, updates))
    row: Row = {
        "site": site,
        "updates": len(updates),
        "way_m": updates[-1].belief.travelled,
        "unique": float(np.mean([update.unique for update in updates])),
        "wrong": sum(update.wrong for update in updates),
        "median_ms": float(np.median(spent)),
        "p95_ms": float(np.quantile(spent, 0.95)),
    }
    if not after:
        return row
    offset = np.array([update.offset for update in after])
    return row | {
        "unique_after_m": after[0].belief.travelled,
        "rmse_m": float(np.sqrt((offset[:, :2] ** 2).sum(axis=1).mean())),
        "rmse_deg": float(np.degrees(np.sqrt((offset[:, 2] ** 2).mean()))),
        "shift_x_m": float(offset[:, 0].mean()),
        "shift_y_m": float(offset[:, 1].mean()),
        "centred_rmse_m": float(np.sqrt(offset[:, :2].var(axis=0).sum())),
        "worst_m": float(np.hypot(offset[:, 0], offset[:, 1]).max()),
        "coverage95": float(np.mean([update.covered for update in after])),
    }


def summarise_kidnaps(
    site: str, runs: Sequence[Sequence[Update]], before: int, within: float
) -> Row:
    """Summarise logs whose robot is carried away after `before` updates.

    It was noticed when no belief is wrong from the third update afterwards on, and found again
    when one is unique and right after at most `within` m.
    """
    after = [run[before:] for run in runs]
    ways = np.array([_found(run) for run in after])
    whole = np.isfinite(ways).all()  # between a way and an endless one there is nothing
    p95 = np.quantile(ways, 0.95) if whole else np.quantile(ways, 0.95, method="higher")
    noticed = [not any(update.wrong for update in run[NOTICED - 1 :]) for run in after]
    return {
        "site": site,
        "kidnaps": len(runs),
        "noticed": float(np.mean(noticed)),
        "found_again": float((ways <= within).mean()),
        "median_way_m": float(np.median(ways)),
        "p95_way_m": float(p95),
    }


def _found(run: Sequence[Update]) -> float:
    """Way from the first update to the first that is unique and right, in m; infinite if none."""
    ways = (u.belief.travelled for u in run if u.unique and not u.wrong)
    return next(ways, np.inf) - run[0].belief.travelled
