"""Two storeys with a lift between them, and ways through them."""

from functools import lru_cache

import numpy as np

import isovist as iv
from isovist import Pose
from isovist.simulation import similar_floors

LIDAR = iv.Lidar(beams=240, range_max=20.0, noise=0.02)
UP = Pose(3.0, -2.0, 0.4)
"""Where the second floor has its origin on its own map: drawn by somebody else."""
LIFT = Pose(7.5, 5.9, 0.2)
ON_2 = UP @ LIFT


def storeys_as_drawn(seed):
    """Maps of two storeys that have their origin in common."""
    return [storey.plan for storey in similar_floors(seed, 2, length=20.0, rows=2)]


@lru_cache
def floors():
    """Two storeys whose maps have different origins."""
    first, second = (
        iv.OccupancyMap.from_segments(plan.walls.reshape(-1, 2, 2), 0.05)
        for plan in storeys_as_drawn(2)
    )
    moved = iv.OccupancyMap(second.cells, second.resolution, UP @ second.origin)
    return {"floor 1": iv.build(first), "floor 2": iv.build(moved)}


LINK = iv.Link("floor 1", LIFT, "floor 2", ON_2)


def way(start, end, step=0.25):
    """Poses along a line."""
    count = max(2, int(np.hypot(end[0] - start[0], end[1] - start[1]) / step) + 1)
    yaw = float(np.arctan2(end[1] - start[1], end[0] - start[0]))
    return [
        Pose(*np.array(start) + t * (np.array(end) - start), yaw) for t in np.linspace(0, 1, count)
    ]


def up(poses):
    """The same way one floor up."""
    return [UP @ pose for pose in poses]


THERE = way((2.0, 5.9), (7.5, 5.9))
ON = way((7.5, 5.9), (15.0, 5.9))
