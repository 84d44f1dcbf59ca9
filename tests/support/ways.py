"""Ways of robots in the plane and in space, and what they see on them."""

from itertools import pairwise

import isovist as iv

STEPS = (iv.Pose(0.25, 0.1, 0.5), iv.Pose(0.3, -0.05, -0.2))
"""Motions from each scan to the next."""


def way(last, steps=STEPS):
    """Poses of a robot that comes to its last one by some steps."""
    poses = [last]
    for step in reversed(steps):
        motion = step if isinstance(last, iv.Pose) else iv.Pose3.lifted(step)
        poses.insert(0, poses[0] @ motion.inverse)
    return poses


def looks(site, poses, **options):
    return [site.look(pose, seed=k, **options) for k, pose in enumerate(poses)]


def motions(poses):
    return [a.inverse @ b for a, b in pairwise(poses)]
