"""What every map can do, whatever it is made of."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import ArrayLike, BoolArray, FloatArray, IntArray


class Ending(IntEnum):
    """The codes for what ended a ray."""

    WALL = 0
    UNKNOWN = 1
    EDGE = 2
    MAXIMUM = 3


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """The ranges, walls and normals where rays ended.

    Attributes:
        ranges: Length of each ray in m; `inf` where it meets nothing.
        walls: Index of the wall (segment, cell, triangle) that was hit, −1 for none.
        normals: Unit normal of that wall, turned towards the origin of the ray; zero for none.
            Shape (..., d).
        endings: What ended each ray, as `Ending` codes.
    """

    ranges: FloatArray
    walls: IntArray
    normals: FloatArray
    endings: NDArray[np.uint8]

    def reshaped(self, shape: tuple[int, ...]) -> "Hits":
        """Return these hits with their rays arranged in another shape."""
        arrays: tuple[NDArray[Any], ...] = self.ranges, self.walls, self.normals, self.endings
        return Hits(*(array.reshape(shape + array.shape[1:]) for array in arrays))


class Map(Protocol):
    """A map that rays can be cast in."""

    @property
    def dimension(self) -> int:
        """The dimension of the map: 2 or 3."""

    @property
    def bounds(self) -> FloatArray:
        """The smallest and largest coordinates of the map, shape (2, d), in m."""

    def cast(self, origins: ArrayLike, directions: ArrayLike) -> Hits:
        """Cast rays and return where each first meets a wall.

        Shapes (..., d) broadcast against each other.
        """

    def contains(self, points: ArrayLike) -> BoolArray:
        """Return whether each point lies in free space, shape (...)."""
