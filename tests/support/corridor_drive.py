"""A drive up and down the corridor of the building and through its large room."""

from itertools import pairwise

import numpy as np
from tests.support.reference_locate import building

BEARINGS = np.deg2rad(np.arange(-90.0, 90.0))
CORNERS = [[1.0, 4.7], [7.0, 4.7], [9.9, 4.7], [9.9, 2.0], [7.0, 2.0], [7.0, 1.2]]


def seen_from(world, poses, bearings):
    """Ranges from poses of the plane."""
    angles = bearings + poses[:, 2:]
    along = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return world.cast(poses[:, None, :2], along).ranges


def corridor_drive():
    """Poses every 15 cm, what is seen there, and odometry that drifts."""
    poses, random = [], np.random.default_rng(0)
    for a, b in pairwise(np.array(CORNERS + CORNERS[::-1][1:])):
        count = round(np.hypot(*(b - a)) / 0.15)
        heading = np.arctan2(*(b - a)[::-1])
        poses += [[*(a + (b - a) * s), heading] for s in np.arange(count) / count]
    poses = np.array(poses)
    drift = np.cumsum(random.normal(0.0, 0.002, poses.shape), axis=0)
    ranges = seen_from(building(), poses, BEARINGS)
    return poses, ranges + random.normal(0.0, 0.01, ranges.shape), poses + drift
