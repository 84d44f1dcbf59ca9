"""A generated hall that looks the same after half a turn, but for one crate."""

import numpy as np

from isovist.errors import InputError
from isovist.maps.cells import Cell, OccupancyMap

WALL = 0.15  # m
PILLAR, CRATE = 0.4, 0.8  # m: their sides
NICHE = (0.6, 1.6)  # m: depth and width of a block at a wall
MARGIN = 0.3  # m around the hall


def twofold_hall(
    length: float = 18.0,
    width: float = 11.0,
    *,
    resolution: float = 0.05,
    seed: int = 0,
    odd: bool = True,
) -> OccupancyMap:
    """A hall with pillars and blocks along its walls.

    Turned by 180° about its middle it is the same, cell by cell, without the `odd` crate.

    Args:
        length: Along x, in m.
        width: Along y, in m.
        resolution: Side of a cell in m.
        seed: Of what stands in it.
        odd: Whether a crate stands near one of its ends.
    """
    if min(length, width) < 4.0:
        raise InputError(f"A hall needs at least 4 m × 4 m, got {length:g} m × {width:g} m.")
    rng = np.random.default_rng(seed)
    rim, wall = (round(v / resolution) for v in (MARGIN, WALL))
    rows, cols = (2 * round(0.5 * v / resolution) for v in (width, length))
    cells = np.full((rows, cols), Cell.FREE, dtype=np.uint8)

    def block(x: float, y: float, wide: float, high: float) -> None:
        left, low = (max(0, round(v / resolution)) for v in (x - 0.5 * wide, y - 0.5 * high))
        right, top = (round(v / resolution) for v in (x + 0.5 * wide, y + 0.5 * high))
        cells[low:top, left:right] = Cell.OCCUPIED

    for x in np.arange(2.0, 0.5 * length, 3.5):
        depth, wide = rng.uniform((0.2, 0.5), NICHE)
        block(x + rng.uniform(0.0, 1.5), 0.5 * depth, wide, depth)
        block(x + rng.uniform(0.0, 1.5), width - 0.5 * depth, wide, depth)
        for y in np.arange(2.5, width - 2.0, 4.0):
            block(x + rng.uniform(0.0, 1.5), y + rng.uniform(0.0, 1.5), PILLAR, PILLAR)
    cells = np.maximum(cells, cells[::-1, ::-1])
    if odd:
        block(length - 1.0, 0.4 * width, CRATE, CRATE)
    cells = np.pad(cells, wall, constant_values=Cell.OCCUPIED)
    return OccupancyMap(np.pad(cells, rim, constant_values=Cell.UNKNOWN), resolution)
