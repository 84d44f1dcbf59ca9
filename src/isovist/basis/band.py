"""The band of the sphere that a spinning lidar sees."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.errors import InputError


@dataclass(frozen=True, slots=True)
class Band:
    """The 3D directions between two elevations above the horizon (rad), at any azimuth.

    A sensor that turns about the vertical sees the same band at any yaw and position, so the band
    adds no term to the Jacobian.
    """

    low: float = -np.pi / 2.0
    high: float = np.pi / 2.0

    def __post_init__(self) -> None:
        if not -np.pi / 2.0 <= self.low < self.high <= np.pi / 2.0:
            raise InputError(
                "A band runs from a lower to a higher elevation within ±π/2 rad, "
                f"got {self.low} to {self.high}."
            )

    def mask(self, directions: FloatArray) -> BoolArray:
        """Return whether each direction, shape (..., 3), is in the band."""
        z = directions[..., 2] / np.linalg.norm(directions, axis=-1)
        return np.asarray((z >= np.sin(self.low)) & (z <= np.sin(self.high)))

    @property
    def area(self) -> float:
        """The solid angle of the band, in sr."""
        return float(2.0 * np.pi * (np.sin(self.high) - np.sin(self.low)))
