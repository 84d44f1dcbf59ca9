"""Poses in the plane, named so that frames cancel: T_world_robot @ T_robot_sensor."""

from dataclasses import dataclass

import numpy as np

from isovist.types import ArrayLike, FloatArray


def wrap_angle(angle: ArrayLike) -> FloatArray:
    """The same angle in [−π, π), in rad."""
    return np.asarray((np.asarray(angle, dtype=np.float64) + np.pi) % (2.0 * np.pi) - np.pi)


@dataclass(frozen=True, slots=True)
class Pose:
    """A rigid motion of the plane: turn by `yaw` (rad), then move by (`x`, `y`) (m)."""

    x: float = 0.0
    y: float = 0.0
    yaw: float = 0.0

    @classmethod
    def from_vector(cls, vector: ArrayLike) -> "Pose":
        """From (x, y, yaw)."""
        x, y, yaw = (float(v) for v in np.asarray(vector, dtype=np.float64))
        return cls(x, y, yaw)

    @property
    def vector(self) -> FloatArray:
        """(x, y, yaw) as an array."""
        return np.array([self.x, self.y, self.yaw])

    @property
    def rotation(self) -> FloatArray:
        """The rotation matrix, shape (2, 2)."""
        c, s = np.cos(self.yaw), np.sin(self.yaw)
        return np.array([[c, -s], [s, c]])

    def __matmul__(self, other: "Pose") -> "Pose":
        """T_a_b @ T_b_c = T_a_c."""
        x, y = self.apply([other.x, other.y])
        return Pose(float(x), float(y), float(wrap_angle(self.yaw + other.yaw)))

    @property
    def inverse(self) -> "Pose":
        """T_b_a from T_a_b."""
        x, y = -self.rotation.T @ self.vector[:2]
        return Pose(float(x), float(y), float(wrap_angle(-self.yaw)))

    def apply(self, points: ArrayLike) -> FloatArray:
        """Points of frame b, shape (..., 2), in frame a."""
        return np.asarray(points, dtype=np.float64) @ self.rotation.T + self.vector[:2]
