"""Drives through the two sites of `sites`, so that the same tests of a tracker run on both."""

from itertools import pairwise

import numpy as np
from tests.support.sites import SITES, gap

from isovist import Pose, Pose3, Verdict

CORNERS = {
    "plane": ((1.0, 4.7), (7.0, 4.7), (10.0, 4.7), (10.0, 2.0), (7.0, 1.5)),
    "space": ((4.0, -0.6), (7.5, -0.2), (9.3, -0.2), (10.8, 1.3)),
}
AWAY = {"plane": ((5.2, 6.4), (4.0, 6.4)), "space": ((11.5, 1.6), (10.9, 1.5))}
"""Where a robot is put when it is carried away."""
START = {"plane": Pose(5.0, -3.0, 1.0), "space": Pose3(5.0, -3.0, 1.0, 0.7)}
"""Of odometry."""


def way(name, corners=None, step=0.3, tilt=0.0):
    """Poses along a polyline, turning on the spot at its corners; in space it leans a little."""
    random, poses = np.random.default_rng(0), []
    for a, b in pairwise(np.array(CORNERS[name] if corners is None else corners)):
        heading = float(np.arctan2(*(b - a)[::-1]))
        for s in np.linspace(0.0, 1.0, max(2, round(np.hypot(*(b - a)) / step))):
            place = a + (b - a) * s
            if name == "plane":
                poses.append(Pose(*place, heading))
            else:
                poses.append(Pose3(*place, heading, 1.45, *(tilt * random.normal(size=2))))
    return poses


def noisy(motion, random, noise=0.02):
    """A motion as odometry reports it."""
    off = noise * random.normal(size=6) * np.linalg.norm(motion.position)
    if isinstance(motion, Pose):
        return motion @ Pose(off[0], 0.0, off[1])
    return motion @ Pose3(off[0], off[2], off[1], 0.2 * off[3])


def drive(
    tracker, name, poses, *, seed=1, jump=None, slip=None, noise=0.02, aided=True, pause=0.3,
    change=None, **look,
):  # fmt: skip
    """Beliefs along a way, with odometry that drifts.

    It does not know of a jump, and at a slip, (number of the pose, motion), it adds that motion.
    """
    random = np.random.default_rng(seed)
    odometry = START[name]
    beliefs = []
    for k, pose in enumerate(poses):
        if k and k != jump:
            odometry = odometry @ noisy(poses[k - 1].inverse @ pose, random, noise)
        if slip is not None and k == slip[0]:
            odometry = odometry @ slip[1]
        scan = SITES[name].look(pose, seed=100 * seed + k, **look)
        scan = scan if change is None else change(scan)
        told = odometry if aided else None
        beliefs.append(tracker.update(told, scan, time=pause * k))
    return beliefs


def exact(name, poses, k=-1):
    """Odometry at one of some poses, after `drive` without noise."""
    return START[name] @ (poses[0].inverse @ poses[k])


def errors(beliefs, poses):
    """Distance in m and angle in rad of each best estimate, shapes (n,)."""
    return np.array([gap(b.best.pose, p) for b, p in zip(beliefs, poses, strict=True)]).T


def unique(beliefs):
    """Which beliefs are, shape (n,)."""
    return np.array([belief.verdict is Verdict.UNIQUE for belief in beliefs])
