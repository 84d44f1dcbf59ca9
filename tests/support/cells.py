"""Random cells, maps of them, and how rays through maps end."""

from enum import IntEnum

import numpy as np

import isovist as iv


class Ending(IntEnum):
    """Of a ray, as maps tell it."""

    WALL, UNKNOWN, EDGE, MAXIMUM = range(4)


def clutter(shape, seed, share):
    rng = np.random.default_rng(seed)
    cells = (rng.random(shape) < share).astype(np.uint8)
    cells[rng.random(shape) < share / 2] = iv.Cell.UNKNOWN
    cells.flat[0] = iv.Cell.FREE
    return cells


def plane(seed):
    """Cells with walls and unknown ones strewn over them, of a grid that is turned."""
    random = np.random.default_rng(seed)
    cells = np.zeros((211, 307), dtype=np.uint8)
    cells[random.random(cells.shape) < 0.004] = iv.Cell.OCCUPIED
    cells[random.random(cells.shape) < 0.02] = iv.Cell.UNKNOWN
    cells[40:90, 200:260] = iv.Cell.UNKNOWN
    return iv.OccupancyMap(cells, 0.1, iv.Pose(-3.0, 2.0, 0.3))


def space(seed):
    """A floor, boxes on it, and cells that nobody has seen."""
    random = np.random.default_rng(seed)
    cells = np.zeros((12, 61, 83), dtype=np.uint8)
    cells[0] = iv.Cell.OCCUPIED
    cells[:, random.random(cells.shape[1:]) < 0.02] = iv.Cell.OCCUPIED
    cells[5:, 20:40, 50:70] = iv.Cell.UNKNOWN
    return iv.VoxelMap.from_array(cells, 0.2, (1.0, -4.0, 0.0))
