"""The last keyframes of a drive, located as one scan.

An error of the map at one place counts against the right hypothesis for as long as the keyframes
from there are stored.  A few good keyframes in a row may refute what the whole drive does not.
A place is only taken for the right one if it is the best of these keyframes and of the drive.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.atlas import AnyScan
from isovist.localization import Answer, Verdict, attempt, is_same_place
from isovist.poses import Pose
from isovist.sensing import MIN_RETURNS, CloudScan, Scan, join_scans
from isovist.tracking.hypotheses.bank import HypothesisBank
from isovist.tracking.hypotheses.keyframe import Keyframe

Refutation = Callable[[FloatArray, FloatArray], tuple[BoolArray, BoolArray]]


def scan_of(keyframe: Keyframe, mount: Pose) -> Scan:
    """Return the beams of a 2D keyframe as a scan of a sensor with this T_robot_sensor."""
    x, y = keyframe.beams.ends.T
    return Scan(np.arctan2(y, x), np.hypot(x, y), T_robot_sensor=mount)


def _level_scan(keyframe: Keyframe) -> AnyScan:
    """Return the beams of a keyframe as a scan of a robot at the pose of its level frame."""
    is_2d = keyframe.beams.ends.shape[1] == 2
    return scan_of(keyframe, Pose()) if is_2d else CloudScan(keyframe.beams.ends)


def locate_recent(bank: HypothesisBank) -> Answer | None:
    """Locate the last keyframes as one scan; `None` while there are too few."""
    if bank.tilt:  # which one scan alone seldom fixes
        return None
    count = bank.settings.competitors.recent_keyframes
    keyframes = bank.keyframes[-count:]
    if len(keyframes) < count:
        return None
    if bank.atlas.dimension == 3 and min(len(k.beams) for k in keyframes) < MIN_RETURNS:
        return None
    motions = [a.T_odom_sensor.inverse @ b.T_odom_sensor for a, b in pairwise(keyframes)]
    scans = join_scans([_level_scan(keyframe) for keyframe in keyframes], motions, bank.drift)
    return attempt(bank.atlas, scans, None, bank.localization)


def is_only_place(bank: HypothesisBank, refutation: Refutation) -> bool:
    """Return whether the drive or its last keyframes refute all but the first hypothesis.

    The last keyframes must have it as their best place, too.  Their competitors are added to the
    bank, so that the drive can refute them.

    Args:
        bank: The hypotheses, sorted; it may become larger.
        refutation: Returns which hypotheses t and d over all keyframes refute.
    """
    settings, answer = bank.localization, locate_recent(bank)
    if (
        answer is None
        or answer.best is None
        or len(answer.rivals) == settings.decision.max_estimates - 1
    ):
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
    rules = settings.refutation
    count = bank.settings.competitors.recent_keyframes
    t, d = bank.margins(count)
    is_outvoted = t * bank.explained_share(count) >= rules.min_agreement
    by_recent = is_outvoted & (d >= rules.min_lead_nats)
    by_drive, _ = refutation(*bank.margins())
    return bool((by_drive | by_recent).all())
