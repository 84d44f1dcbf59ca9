"""The error model of odometry: errors grow with distance, turning and time."""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import FloatArray
from isovist.poses import AnyPose, Pose, swing, way_of
from isovist.settings import Settings, unvaried

DEFAULT_ELAPSED = 1.0
"""Time between two updates without time stamps, in s, typical of the logs behind `Drift`."""
_RANGE = (1e-12, 1e9)


@dataclass(frozen=True, slots=True)
class Drift(Settings):
    """An error model of odometry: standard deviations per root of distance, angle or time.

    Errors of parts of a path are independent, so variances grow with its length.  After s metres a
    variance is s times the square of the attribute, for any number of updates.

    Attributes:
        along: Standard deviation of the distance, in m per √m.
        heading: Standard deviation of the heading from driving, in rad per √m.
        turning: Standard deviation of the heading from turning, in rad per √rad.
        still: Standard deviation of x and y while the odometry shows no motion, in m per √s.
        still_heading: Standard deviation of the heading in that case, in rad per m of `still`.

    Examples:
        >>> import isovist as iv
        >>> drift = iv.Drift(along=0.1)
        >>> covariance = drift.covariance(iv.Pose(4.0, 0.0, 0.0))
        >>> round(float(covariance[0, 0]) ** 0.5, 2)  # 0.1 m per √m after 4 m
        0.2
    """

    # fmt: off
    along: float = unvaried(
        0.05, unit="m per √m", range=_RANGE, raises="wheels that slip count as likely")
    heading: float = unvaried(
        0.05, unit="rad per √m", range=_RANGE, raises="paths that bend count as likely")
    turning: float = unvaried(
        0.08, unit="rad per √rad", range=_RANGE, raises="turns count as less exact")
    still: float = unvaried(
        0.003, unit="m per √s", range=_RANGE, raises="a robot at rest becomes uncertain sooner")
    still_heading: float = unvaried(
        0.3, unit="rad/m", range=_RANGE, raises="the heading of a robot at rest drifts sooner")
    # fmt: on

    def covariance(self, motion: AnyPose, elapsed: float = DEFAULT_ELAPSED) -> FloatArray:
        """Return the covariance of a motion in its coordinates, in m² and rad².

        The coordinates are (x, y, yaw) in 2D and (x, y, yaw, z, roll, pitch) in 3D. Errors along
        and across the motion are equal. `carry` adds the effect of heading errors on the position.

        Args:
            motion: The motion by odometry.
            elapsed: Duration of the motion, in s.
        """
        length, turn = way_of(motion)
        position = self.still**2 * elapsed + self.along**2 * length
        rest = (self.still * self.still_heading) ** 2 * elapsed
        angle = rest + self.heading**2 * length + self.turning**2 * turn
        variances = [position, position, angle]
        is_2d = isinstance(motion, Pose)
        return np.diag(variances if is_2d else [*variances, position, angle, angle])

    def carry(
        self,
        poses: FloatArray,
        spreads: FloatArray,
        motion: AnyPose,
        elapsed: float = DEFAULT_ELAPSED,
    ) -> tuple[FloatArray, FloatArray]:
        """Move poses and their covariances by a motion.

        Heading errors arise along the whole path and rotate the rest of it.  Simpson's rule over
        start, middle and end is exact on a straight path.  If n leaves out roll and pitch, the
        frames before and after the motion are level.

        Args:
            poses: Poses before the motion, shape (K, D), in m and rad.
            spreads: Covariances of their first n coordinates, shape (K, n, n), in m² and rad².
            motion: The motion by odometry.
            elapsed: Duration of the motion, in s.

        Returns:
            The poses and the covariances after the motion.
        """
        n = spreads.shape[-1]
        before = type(motion).from_vector(poses)
        after = before @ motion
        vectors = np.array(after.vector)
        vectors[:, n:] = 0.0
        Q = self.covariance(motion, elapsed)[:n, :n]
        A = swing(before, after, n)
        middle = 0.5 * (A + np.eye(n))
        early = A @ (spreads + Q / 6.0) @ A.swapaxes(1, 2)
        return vectors, early + middle @ (Q / 1.5) @ middle.swapaxes(1, 2) + Q / 6.0

    def simulate(self, motion: Pose, random: np.random.Generator) -> Pose:
        """Return a motion with random errors, as odometry with this drift would report it.

        Args:
            motion: The true motion.
            random: Source of the random errors.
        """
        spread = np.sqrt(np.diag(self.covariance(motion)))
        return motion @ Pose.from_vector(random.normal(0.0, spread))
