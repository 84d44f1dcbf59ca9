"""Random cells."""

import numpy as np

import isovist as iv
from isovist.maps import Cell


def clutter(shape, seed, share):
    rng = np.random.default_rng(seed)
    cells = (rng.random(shape) < share).astype(np.uint8)
    cells[rng.random(shape) < share / 2] = Cell.UNKNOWN
    cells.flat[0] = Cell.FREE
    return cells


def plane(seed):
    """Cells with walls and unknown ones strewn over them, of a grid that is turned."""
    random = np.random.default_rng(seed)
    cells = np.zeros((211, 307), dtype=np.uint8)
    cells[random.random(cells.shape) < 0.004] = Cell.OCCUPIED
    cells[random.random(cells.shape) < 0.02] = Cell.UNKNOWN
    cells[40:90, 200:260] = Cell.UNKNOWN
    return iv.OccupancyMap(cells, 0.1, iv.Pose(-3.0, 2.0, 0.3))


def space(seed):
    """A floor, boxes on it, and cells that nobody has seen."""
    random = np.random.default_rng(seed)
    cells = np.zeros((12, 61, 83), dtype=np.uint8)
    cells[0] = Cell.OCCUPIED
    cells[:, random.random(cells.shape[1:]) < 0.02] = Cell.OCCUPIED
    cells[5:, 20:40, 50:70] = Cell.UNKNOWN
    return iv.VoxelMap.from_array(cells, 0.2, (1.0, -4.0, 0.0))
