"""The last scans of a way, located as one.

What a map has wrong in one place speaks against the right place for as long as the frames from
there are kept.  A few clean frames in a row, asked alone, may have one place where the whole way
has several.  Only a place that also leads over the whole way is believed.
"""

from itertools import pairwise

import numpy as np

from isovist.localization.answer import Verdict
from isovist.localization.judge import is_same
from isovist.localization.locate import attempt
from isovist.poses import Pose
from isovist.sensing.joined import joined
from isovist.sensing.scan import Scan
from isovist.tracking.bank import Bank, Frame

FRAMES = 3
"""As many as `isovist locate` takes of a log as a rule; more drift apart."""


def scan_of(frame: Frame, mount: Pose) -> Scan:
    """The beams of a frame as a scan."""
    x, y = frame.beams.ends.T
    return Scan(np.arctan2(y, x), np.hypot(x, y), T_robot_sensor=mount)


def agrees(bank: Bank) -> bool:
    """Whether the last frames alone have one place, and it is the first of the bank."""
    frames = bank.frames[-FRAMES:]
    if len(frames) < FRAMES:
        return False
    motions = [a.T_odom_sensor.inverse @ b.T_odom_sensor for a, b in pairwise(frames)]
    several = joined([scan_of(frame, Pose()) for frame in frames], motions, bank.drift)
    answer = attempt(bank.atlas, several, None, bank.localization)
    if answer.verdict is not Verdict.UNIQUE or answer.best is None:
        return False
    return is_same(answer.best.pose, Pose.from_vector(bank.poses[0]), bank.localization)
