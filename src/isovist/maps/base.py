"""The interface of maps of all kinds: rays and free space."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import ArrayLike, BoolArray, FloatArray, IntArray


class Ending(IntEnum):
    """The reason why a ray ended."""

    WALL = 0
    UNKNOWN = 1
    EDGE = 2
    MAXIMUM = 3


NO_DIRECTION = 255
"""Ending of a ray of a mesh whose direction is zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """The results of ray casting: ranges, walls and normals.

    Attributes:
        ranges: Length of each ray in m; `inf` where it meets nothing.
        walls: Index of the wall (segment, cell, triangle) that was hit, −1 for none.
        normals: Unit normal of that wall, turned towards the origin of the ray; zero for none.
            Shape (..., d).
        endings: Reason why each ray ended, as `Ending` codes.
    """

    ranges: FloatArray
    walls: IntArray
    normals: FloatArray
    endings: NDArray[np.uint8]

    def reshaped(self, shape: tuple[int, ...]) -> "Hits":
        """Return the hits with the rays arranged in another shape."""
        arrays: tuple[NDArray[Any], ...] = self.ranges, self.walls, self.normals, self.endings
        return Hits(*(array.reshape(shape + array.shape[1:]) for array in arrays))


class Map(Protocol):
    """The interface of all maps: free space, and walls that rays can be cast to."""

    @property
    def dimension(self) -> int:
        """The dimension of the map: 2 or 3."""

    @property
    def bounds(self) -> FloatArray:
        """The smallest and largest coordinates of the map, shape (2, d), in m."""

    def cast(self, origins: ArrayLike, directions: ArrayLike) -> Hits:
        """Cast rays and return where each ray first meets a wall.

        The shapes (..., d) of origins (m) and directions broadcast against each other.
        """

    def contains(self, points: ArrayLike) -> BoolArray:
        """Return whether each point lies in free space, shape (...)."""
