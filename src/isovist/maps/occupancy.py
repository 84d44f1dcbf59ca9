"""Maps of square cells: free, occupied or unknown."""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from isovist.poses import Pose


class Cell(IntEnum):
    """What is known of a cell."""

    FREE = 0
    OCCUPIED = 1
    UNKNOWN = 2


@dataclass(frozen=True, slots=True, eq=False)
class OccupancyMap:
    """A grid of cells in the plane.

    Attributes:
        cells: `Cell` codes, shape (height, width), uint8; row 0 is the lowest row (smallest y of
            the map frame), column 0 the leftmost.  Read-only.
        resolution: Side of a cell in m.
        origin: T_world_map, the pose of the lower left corner of cell (0, 0).
    """

    cells: NDArray[np.uint8]
    resolution: float
    origin: Pose
