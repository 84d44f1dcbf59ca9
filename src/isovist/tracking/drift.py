"""How odometry goes astray: errors that grow with travel and with turning."""

from dataclasses import dataclass

import numpy as np

from isovist.errors import InputError
from isovist.poses import Pose
from isovist.types import FloatArray


@dataclass(frozen=True, slots=True)
class Drift:
    """Standard deviations of odometry, for every piece of the way.

    Errors of pieces are independent, so variances grow with the way: after s m they are s times
    the square of what is said here.

    Attributes:
        along: Of the distance, in m per √m.
        heading: Of the heading for driving, in rad per √m.
        turning: Of the heading for turning, in rad per √rad.
        still: Of x and y of a robot that seems not to move, in m per update.
    """

    along: float = 0.05
    heading: float = 0.05
    turning: float = 0.08
    still: float = 0.003

    def __post_init__(self) -> None:
        for name in ("along", "heading", "turning", "still"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise InputError(f"`{name}` must be a positive number, got {value}.")

    def covariance(self, motion: Pose) -> FloatArray:
        """Of (x, y, yaw) after a motion, in the frame that it ends in, in m and rad."""
        way, turn = float(np.hypot(motion.x, motion.y)), abs(motion.yaw)
        place = self.still**2 + self.along**2 * way
        yaw = (self.still * 0.3) ** 2 + self.heading**2 * way + self.turning**2 * turn
        return np.diag([place, place, yaw])

    def simulate(self, motion: Pose, random: np.random.Generator) -> Pose:
        """The motion as such odometry would report it."""
        spread = np.sqrt(np.diag(self.covariance(motion)))
        return motion @ Pose.from_vector(random.normal(0.0, spread))
