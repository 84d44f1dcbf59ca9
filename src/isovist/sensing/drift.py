"""How odometry goes astray: errors that grow with travel, with turning and with time."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import InputError
from isovist.poses import AnyPose, Pose, swing, way_of

MAX_SIGMA = 1e9
"""Beyond this a standard deviation in m or rad is none, and its square may be infinite."""
DEFAULT_ELAPSED = 1.0
"""Time between two updates that say none, in s: about that of the logs that `Drift` is from."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The standard deviations of odometry errors, per root of distance, turn or time.

    Errors of pieces of the path are independent, so variances grow with its length: after s m
    they are s times the square of the attribute, however many updates the path is cut into.

    Attributes:
        along: Standard deviation of the distance, in m per √m.
        heading: Standard deviation of the heading from driving, in rad per √m.
        turning: Standard deviation of the heading from turning, in rad per √rad.
        still: Standard deviation of x and y of a robot that seems not to move, in m per √s; times
            0.3 it is that of its heading, in rad per √s.
    """

    along: float = 0.05
    heading: float = 0.05
    turning: float = 0.08
    still: float = 0.003

    def __post_init__(self) -> None:
        for name in ("along", "heading", "turning", "still"):
            value = getattr(self, name)
            if not 0.0 < value <= MAX_SIGMA:
                raise InputError.about(name, f"must be a positive number, got {value}.")

    def covariance(self, motion: AnyPose, elapsed: float = DEFAULT_ELAPSED) -> FloatArray:
        """Return the covariance of a motion in its coordinates, in m² and rad².

        The coordinates are (x, y, yaw) in 2D and (x, y, yaw, z, roll, pitch) in 3D.  Errors along
        and across the motion are equal; what errors of the heading do to the position along the
        path is not in it (`carry`).

        Args:
            motion: The motion by odometry.
            elapsed: Duration of the motion, in s.
        """
        way, turn = way_of(motion)
        place = self.still**2 * elapsed + self.along**2 * way
        angle = (self.still * 0.3) ** 2 * elapsed + self.heading**2 * way + self.turning**2 * turn
        plane = [place, place, angle]
        return np.diag(plane if isinstance(motion, Pose) else [*plane, place, angle, angle])

    def carry(
        self,
        poses: FloatArray,
        spreads: FloatArray,
        motion: AnyPose,
        elapsed: float = DEFAULT_ELAPSED,
    ) -> tuple[FloatArray, FloatArray]:
        """Move poses, shape (K, D), and their covariances, shape (K, n, n), by a motion.

        Errors of the heading come up all along the way and turn what is left of it.  Simpson's
        rule over its start, middle and end has them exactly on a straight one.  Where roll and
        pitch are not among the n, both frames of the motion are level, and stay so.
        """
        n = spreads.shape[-1]
        before = type(motion).from_vector(poses)
        after = before @ motion
        moved = np.array(after.vector)
        moved[:, n:] = 0.0
        Q = self.covariance(motion, elapsed)[:n, :n]
        A = swing(before, after, n)
        middle = 0.5 * (A + np.eye(n))
        early = A @ (spreads + Q / 6.0) @ A.swapaxes(1, 2)
        return moved, early + middle @ (Q / 1.5) @ middle.swapaxes(1, 2) + Q / 6.0

    def simulate(self, motion: Pose, random: np.random.Generator) -> Pose:
        """Return the motion with random errors, as such odometry would report it."""
        spread = np.sqrt(np.diag(self.covariance(motion)))
        return motion @ Pose.from_vector(random.normal(0.0, spread))
