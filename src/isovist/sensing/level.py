"""How a cloud lies against the ground that it shows.

Patches of the ground plan whose returns lie at one height are ground more often than not; those
on walls do not.  Planes through the lowest returns of three patches at a time are tried; the one
near most of them is the ground,

    z = a x + b y + c,        tilt = arctan √(a² + b²),                                     (1)

and is fitted once more to those near it.  Only slopes of at most 15° are looked for.
"""

from dataclasses import replace

import numpy as np

from isovist.arrays import FloatArray, once_for_each, readonly
from isovist.poses import AnyPose, Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.joined import Joined, Look
from isovist.sensing.planes import ups_of
from isovist.sensing.scan import Scan

PATCH = 0.5  # m
ABOVE = 0.5  # m; returns up to so far above the sensor tell a wall from ground
BELOW = 0.3  # m; ground is farther below it
FAR = 25.0  # m; ground that is farther away is seen at a grazing angle, if at all
NEAR = 0.1  # m; returns so near to a plane are of it
STEEPEST = float(np.tan(np.radians(15.0)))
STEP = 0.2  # m; most returns of a patch of ground differ by less in height, on that slope too
MOST = 0.7
TRIES = 300
FEWEST = 12
"""Patches of ground without which nothing is said."""
UNDER = 0.05
"""Share of returns that may lie below it: what has more of them is a table."""
SHARE = 0.4
"""Of the patches that must be ground."""
TINY = 1e-9
"""Roll and pitch of a motion that are no more than rounding, in rad."""
LEVEL = float(np.radians(0.8))
"""Ground that is tilted by more is levelled, in rad: less moves ends at 30 m by 0.4 m at most."""


@once_for_each
def ground_of(scan: CloudScan) -> FloatArray | None:
    """Return the ground plane a, b, c of (1) in the level frame, or `None` if none is seen."""
    p = scan.level_points
    p = p[(p[:, 2] < ABOVE) & (np.hypot(p[:, 0], p[:, 1]) < FAR)]
    if len(p) < FEWEST:
        return None
    patch = np.floor(p[:, :2] / PATCH).astype(np.int64)
    number = (patch[:, 0] << 20) + patch[:, 1]  # row after row: both are small
    order = np.lexsort((p[:, 2], number))
    first = np.flatnonzero(np.diff(number[order], prepend=-(1 << 40)))
    count = np.diff(first, append=len(p))
    low, top = p[order[first]], p[order[first + (MOST * (count - 1)).astype(np.int64)], 2]
    low = low[(top - low[:, 2] < STEP) & (count > 1) & (low[:, 2] < 0.0)]
    if len(low) < FEWEST:
        return None
    A = np.column_stack([low[:, :2], np.ones(len(low))])
    picks = np.random.default_rng(0).integers(0, len(low), (TRIES, 3))
    u, v = (low[picks[:, k], :2] - low[picks[:, 0], :2] for k in (1, 2))
    flat = np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]) > 1.0  # twice the area, in m²
    planes = np.linalg.solve(A[picks[flat]], low[picks[flat], 2][..., None])[..., 0]
    planes = planes[(np.hypot(planes[:, 0], planes[:, 1]) <= STEEPEST) & (planes[:, 2] <= -BELOW)]
    if len(planes) == 0:
        return None
    off = np.abs(low[:, 2] - planes @ A.T)
    best = off[np.argmax((off < NEAR).sum(axis=1))]
    for width in (2.0 * NEAR, NEAR):
        near = best < width
        if near.sum() < max(FEWEST, SHARE * len(low)):
            return None
        plane = np.linalg.lstsq(A[near], low[near, 2], rcond=None)[0]
        best = np.abs(low[:, 2] - A @ plane)
    under = p[:, 2] < p[:, :2] @ plane[:2] + plane[2] - 2.0 * NEAR
    return readonly(np.asarray(plane)) if under.mean() <= UNDER else None


def levelled(scan: CloudScan) -> tuple[CloudScan, float]:
    """Return the scan with roll and pitch that level its ground, and the turn in rad.

    Roll and pitch of the robot are changed, no point is.  A scan without ground stays as it is.
    """
    plane = ground_of(scan)
    if plane is None:
        return scan, 0.0
    up = np.array([-plane[0], -plane[1], 1.0]) / np.sqrt(plane[0] ** 2 + plane[1] ** 2 + 1.0)
    return held_up(scan, up)


def held_up(scan: CloudScan, up: FloatArray) -> tuple[CloudScan, float]:
    """Return the scan with `up`, in its level frame, as the vertical, and the turn in rad."""
    # Turn the level frame so that `up` becomes ẑ: its pitch and roll, its heading as it was.
    pitch = -np.arctan2(up[0], up[2])
    roll = np.arctan2(up[1], np.hypot(up[0], up[2]))
    turned = Pose3(roll=float(roll), pitch=float(pitch)) @ Pose3(roll=scan.roll, pitch=scan.pitch)
    tilt = float(np.arccos(np.clip(up[2], -1.0, 1.0)))
    return replace(scan, roll=turned.roll, pitch=turned.pitch), tilt


def leaning(scan: Look) -> list[CloudScan]:
    """Return an untilted 3D scan made upright by each possible up direction (`planes`).

    The list is empty for a 2D scan or one that tells its roll and pitch.
    """
    if not isinstance(scan, CloudScan) or (scan.roll, scan.pitch) != (0.0, 0.0):
        return []
    ups = ups_of(scan) @ scan.T_robot_sensor.rotation.T
    turned = (held_up(scan, up) for up in ups if up[2] > 0.0)
    return [flat for flat, by in turned if LEVEL < by <= np.arctan(STEEPEST)]


def on_level_ground(scan: Scan | CloudScan) -> Scan | CloudScan:
    """Return a 3D scan that tells no tilt levelled by its ground, and any other unchanged."""
    if not isinstance(scan, CloudScan) or (scan.roll, scan.pitch) != (0.0, 0.0):
        return scan
    flat, by = levelled(scan)
    return flat if by > LEVEL else scan


def all_on_level_ground(scan: Look) -> Look:
    """Level one scan, or each of several joined scans, by its ground (`on_level_ground`).

    Motions between these that had no tilt are then converted to the tilted frames.
    """
    if not isinstance(scan, Joined):
        return on_level_ground(scan)
    flats = tuple(on_level_ground(one) for one in scan.scans)
    if all(flat is one for flat, one in zip(flats, scan.scans, strict=True)):
        return scan
    tilts = [
        Pose3(roll=flat.roll, pitch=flat.pitch)
        if isinstance(flat, CloudScan) and flat is not one
        else Pose3()
        for flat, one in zip(flats, scan.scans, strict=True)
    ]
    motions = tuple(
        tilts[k].inverse @ motion @ tilts[k + 1] if _knows_no_tilt(motion) else motion
        for k, motion in enumerate(scan.motions)
    )
    return replace(scan, scans=flats, motions=motions)


def _knows_no_tilt(motion: AnyPose) -> bool:
    return isinstance(motion, Pose3) and max(abs(motion.roll), abs(motion.pitch)) < TINY
