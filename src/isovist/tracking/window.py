"""The last scans of a way, located as one.

What a map has wrong in one place speaks against the right place for as long as the frames from
there are kept.  A few clean frames in a row, asked alone, may refute what the whole way does not.
Only a place that is the best of these frames and of the whole way is believed.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.atlas import AnyScan
from isovist.localization import Answer, Verdict, attempt, is_same_place
from isovist.poses import Pose
from isovist.sensing import MIN_RETURNS, CloudScan, Scan, join_scans
from isovist.tracking.bank import Bank, Frame

FRAMES = 3
"""As many as `isovist locate` takes of a log as a rule; more drift apart."""


def scan_of(frame: Frame, mount: Pose) -> Scan:
    """The beams of a frame of the plane as a scan."""
    x, y = frame.beams.ends.T
    return Scan(np.arctan2(y, x), np.hypot(x, y), T_robot_sensor=mount)


def _level_scan(frame: Frame) -> AnyScan:
    """The beams of a frame as a scan whose robot is where its level frame is."""
    flat = frame.beams.ends.shape[1] == 2
    return scan_of(frame, Pose()) if flat else CloudScan(frame.beams.ends)


def ask(bank: Bank) -> Answer | None:
    """Where the last frames alone have a place; `None` while they are too few."""
    frames = bank.frames[-FRAMES:]
    if len(frames) < FRAMES:
        return None
    if bank.tilt:  # which one scan alone seldom tells
        return None
    if bank.atlas.dimension == 3 and min(len(frame.beams) for frame in frames) < MIN_RETURNS:
        return None
    motions = [a.T_odom_sensor.inverse @ b.T_odom_sensor for a, b in pairwise(frames)]
    several = join_scans([_level_scan(frame) for frame in frames], motions, bank.drift)
    return attempt(bank.atlas, several, None, bank.localization)


Rule = Callable[[FloatArray, FloatArray], tuple[BoolArray, BoolArray]]


def settle(bank: Bank, rule: Rule) -> bool:
    """Whether the first place of a bank is the only one that the way or its last frames leave.

    The last frames must have it as their best place, too.  Others that they leave are added to the
    bank, so that the way can refute them.

    Args:
        bank: Places and frames, best first; it may become larger.
        rule: Says which places t and d over all frames refute (`Tracker.refutation`).
    """
    settings, answer = bank.localization, ask(bank)
    if answer is None or answer.best is None or len(answer.rivals) == settings.listed - 1:
        return False
    first = bank.atlas.lift(bank.poses[0])
    if answer.verdict is Verdict.LOST or not is_same_place(answer.best.pose, first, settings):
        return False
    if answer.rivals:
        poses = np.stack([rival.pose.vector for rival in answer.rivals])
        bank.add(poses, np.stack([rival.covariance for rival in answer.rivals]))
        bank.sort()
    if not is_same_place(first, bank.atlas.lift(bank.poses[0]), settings):
        return False
    agreement, margin = settings.refuted[:2]
    t, d = bank.margins(FRAMES)
    explained = float(np.mean([frame.inliers[0] for frame in bank.frames[-FRAMES:]]))
    last = (t * explained >= agreement) & (d >= margin)
    way, _ = rule(*bank.margins())
    return bool((way | last).all())
