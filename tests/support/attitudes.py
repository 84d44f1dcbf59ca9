"""Robots in space that are held in any attitude."""

from dataclasses import replace

import numpy as np
from tests.support.reference_space import LIDAR, at, house

from isovist import Pose3

TALL = replace(LIDAR, rings=24, low=-0.7, high=0.7)


PLACE = np.array([5.0, 0.0, 1.5])


TURNS = {
    "level": at(*PLACE[:2], 0.7),
    "upside down": at(*PLACE[:2], 0.7, roll=3.1),
    "nose up": at(*PLACE[:2], 0.7, pitch=-1.5),
    "high": Pose3(4.6, 0.3, 1.0, 2.4, 2.8, 0.3),  # 1.9 m above the floor, nodes are 1 m above it
    "any": Pose3.from_quaternion([0.3, -0.5, 0.6, 0.4], PLACE),
}


def look(pose, world=None, seed=4):
    """What a sensor sees that does not know its attitude."""
    random = np.random.default_rng(seed)
    return TALL.scan(house() if world is None else world, pose, random, tells_tilt=False)


HELD = {
    "upside down": Pose3(roll=3.1),
    "nose up": Pose3(pitch=-1.5),
    "any": Pose3.from_quaternion([0.3, -0.5, 0.6, 0.4], np.zeros(3)),
}


START = Pose3(1.0, 2.0, 0.3, 0.4, 0.5, 2.0)


def way(held, count=5, step=0.25, turn=0.1):
    """A robot that is carried through the larger room of the house and turned in the hand."""
    return [
        Pose3(4.3 + step * k, -0.5 + 0.05 * k, 0.3, 1.5)
        @ held
        @ Pose3(yaw=turn * k, roll=0.8 * turn * k, pitch=-0.5 * turn * k)
        for k in range(count)
    ]
