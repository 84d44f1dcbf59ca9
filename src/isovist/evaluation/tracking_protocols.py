"""Benchmark protocols for tracking.

A protocol makes logs with true poses; `replay` feeds them to a tracker from an unknown start.
Random starts come from a log with corrected poses: its even scans make the map, the odd ones are
queries. A belief is right when its best estimate is within 0.5 m and 10° of the truth, and wrong
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
from isovist.evaluation.settings import PROTOCOL
from isovist.maps import OccupancyMap
from isovist.poses import Pose
from isovist.sensing import Log, ScanSet
from isovist.tracking import Update

BEFORE, AFTER = PROTOCOL.updates_before_kidnap, PROTOCOL.updates_after_kidnap
"""Number of updates before and after a robot is moved."""
NOISE = PROTOCOL.odometry_noise_share, PROTOCOL.odometry_noise_rad_per_m


def start_logs(
    scans: ScanSet, count: int, reach: float, *, seed: int = 0, noise: tuple[float, float] = NOISE
) -> tuple[OccupancyMap, list[Log]]:
    """Make a map, and logs that start at random scans, with simulated odometry errors.

    Args:
        scans: Scans in the order of the drive, with poses and times.
        count: Number of logs.
        reach: Length of each drive, in m.
        seed: Seed of starts and errors.
        noise: Standard deviations of the odometry: share of the distance, and rad per m.
    """
    if count < 1:
        raise InputError.about("count", f"must be at least 1, got {count}.")
    usable = np.flatnonzero(scans.usable)
    world, queries = map_of(scans, usable[usable % 2 == 0]), usable[usable % 2 == 1]
    poses = scans.poses[queries]
    distance = np.append(0.0, np.cumsum(np.hypot(*np.diff(poses[:, :2], axis=0).T)))
    starts = np.flatnonzero(distance[-1] - distance >= reach)
    if starts.size == 0:
        raise InputError(
            f"The log is {distance[-1]:.1f} m long, shorter than a drive of {reach} m.",
            code="too_large",
        )
    log = Log.from_set(replace(scans, ranges=scans.ranges[queries], poses=poses,
                               times=np.arange(float(len(queries))), odometry=None,
                               in_map_split=None), poses, poses, Pose(), 0.0)  # fmt: skip
    random = np.random.default_rng(seed)
    logs = []
    for start in random.choice(starts, count, replace=starts.size < count):
        stop = int(np.searchsorted(distance, distance[start] + reach, side="right"))
        piece = log.take(np.arange(start, stop))
        logs.append(replace(piece, odometry=_noisy(poses[start:stop], noise, random)))
    return world, logs


def _noisy(
    poses: FloatArray, noise: tuple[float, float], random: np.random.Generator
) -> FloatArray:
    odometry = [Pose()]
    for a, b in pairwise(poses):
        step = Pose.from_vector(a).inverse @ Pose.from_vector(b)
        distance = float(np.hypot(step.x, step.y))
        factor, angle = 1.0 + noise[0] * random.normal(), noise[1] * distance * random.normal()
        odometry.append(odometry[-1] @ Pose(step.x * factor, step.y * factor, step.yaw + angle))
    return np.stack([pose.vector for pose in odometry])


def kidnap_logs(log: Log, count: int, seed: int = 0) -> list[Log]:
    """Make logs in which the robot is moved to a distant place and the odometry does not show it.

    Each is made of two distant pieces of the log.
    """
    n = len(log)
    if n < 2 * (BEFORE + AFTER):
        raise InputError(f"A log of {n} scans is too short to move the robot.", code="empty")
    if log.truth is None:
        raise InputError("This log has no true poses, so nothing can be measured.", code="empty")
    random = np.random.default_rng(seed)
    pieces: list[Log] = []
    for _ in range(100 * count):
        a, b = int(random.integers(n - BEFORE)), int(random.integers(n - AFTER))
        if np.hypot(*(log.truth[a + BEFORE - 1] - log.truth[b])[:2]) >= PROTOCOL.kidnap_distance_m:
            pieces.append(_join(log, a, b))
        if len(pieces) == count:
            return pieces
    raise InputError(
        f"Almost no two places of the log are {PROTOCOL.kidnap_distance_m:g} m apart.", code="empty"
    )


def _join(log: Log, a: int, b: int) -> Log:
    pieces = log.take(np.append(np.arange(a, a + BEFORE), np.arange(b, b + AFTER)))
    poses = [Pose.from_vector(row) for row in pieces.odometry]
    T_before_after = poses[BEFORE - 1] @ poses[BEFORE].inverse
    after = [(T_before_after @ pose).vector for pose in poses[BEFORE:]]
    times = np.append(pieces.times[:BEFORE], pieces.times[BEFORE:] - pieces.times[BEFORE])
    times[BEFORE:] += times[BEFORE - 1] + np.median(np.diff(log.times))
    return replace(pieces, odometry=np.concatenate([pieces.odometry[:BEFORE], after]), times=times)


def summarise_starts(site: str, runs: Sequence[Sequence[Update]]) -> Row:
    """Summarise drives from random starts, as shares and quantiles."""
    distances = np.array([_distance_to_right(run) for run in runs])
    is_right = np.isfinite(distances)
    finite = distances[is_right] if is_right.any() else np.array([np.nan])
    times = [update.belief.timing_ms["total"] for run in runs for update in run]
    return {
        "site": site,
        "starts": len(runs),
        "found": float(is_right.mean()),
        "wrong": float(np.mean([any(update.wrong for update in run) for run in runs])),
        "median_way_m": float(np.median(finite)),
        "p95_way_m": float(np.quantile(finite, 0.95)),
        "median_ms": float(np.median(times)),
        "p95_ms": float(np.quantile(times, 0.95)),
    }


def summarise_drive(site: str, updates: Sequence[Update]) -> Row:
    """Summarise a drive; errors are root mean squares after the first unique belief.

    `centred_rmse_m` excludes the mean error (`shift_x_m`, `shift_y_m`), since the frames of a plan
    and of the true poses rarely agree to the centimetre.
    """
    times = [update.belief.timing_ms["total"] for update in updates]
    localized = list(dropwhile(lambda update: not update.unique, updates))
    row: Row = {
        "site": site,
        "updates": len(updates),
        "way_m": updates[-1].belief.travelled,
        "unique": float(np.mean([update.unique for update in updates])),
        "wrong": sum(update.wrong for update in updates),
        "median_ms": float(np.median(times)),
        "p95_ms": float(np.quantile(times, 0.95)),
    }
    if not localized:
        return row
    offset = np.array([update.offset for update in localized])
    return row | {
        "unique_after_m": localized[0].belief.travelled,
        "rmse_m": float(np.sqrt((offset[:, :2] ** 2).sum(axis=1).mean())),
        "rmse_deg": float(np.degrees(np.sqrt((offset[:, 2] ** 2).mean()))),
        "shift_x_m": float(offset[:, 0].mean()),
        "shift_y_m": float(offset[:, 1].mean()),
        "centred_rmse_m": float(np.sqrt(offset[:, :2].var(axis=0).sum())),
        "worst_m": float(np.hypot(offset[:, 0], offset[:, 1]).max()),
        "coverage95": float(np.mean([update.covered for update in localized])),
    }


def summarise_kidnaps(
    site: str, runs: Sequence[Sequence[Update]], before: int, within: float
) -> Row:
    """Summarise logs whose robot is moved after `before` updates.

    The move is noticed if no belief is wrong from the third update afterwards.  The robot is found
    again if a belief is unique and right within `within` m of driving.
    """
    runs = [run[before:] for run in runs]
    distances = np.array([_distance_to_right(run) for run in runs])
    is_finite = np.isfinite(distances).all()  # between a number and infinity there is nothing
    p95 = np.quantile(distances, 0.95, method="linear" if is_finite else "higher")
    skip = PROTOCOL.updates_to_notice - 1
    is_noticed = [not any(update.wrong for update in run[skip:]) for run in runs]
    return {
        "site": site,
        "kidnaps": len(runs),
        "noticed": float(np.mean(is_noticed)),
        "found_again": float((distances <= within).mean()),
        "median_way_m": float(np.median(distances)),
        "p95_way_m": float(p95),
    }


def _distance_to_right(run: Sequence[Update]) -> float:
    """Return the distance driven until an update is unique and right, in m; infinite if none."""
    distances = (u.belief.travelled for u in run if u.unique and not u.wrong)
    return next(distances, np.inf) - run[0].belief.travelled
