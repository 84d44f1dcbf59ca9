"""A tower of offices, and a robot on one of its floors."""

from functools import lru_cache

import isovist as iv
from isovist.simulation import somewhere, tower

HEIGHT = 1.0
"""Of the sensor above the floor, in m."""
LIDAR = iv.SpinningLidar(16, azimuths=360, range_max=30.0, noise=0.02, clutter=0.05)


@lru_cache
def built():
    """Three storeys in cells of a twentieth of one."""
    return tower(0, 3, length=15.0, rows=2, cell=0.14)


def seen_on(floor, rng, pose=None):
    """A pose on a floor, a new one where none is given, and what a sensor sees from it."""
    if pose is None:
        place = somewhere(built().grounds[floor], rng)
        z = built().heights[floor] + HEIGHT
        pose = iv.Pose3(place.x, place.y, place.yaw, z)
    return pose, LIDAR.scan(built().reality[floor], pose, rng)
