"""Poses in the plane and in space, named so that frames cancel: T_world_robot @ T_robot_sensor.

A pose in space is one in the plane with a height and a tilt.  It turns by

    R = R_z(yaw) R_y(pitch) R_x(roll),                                              (1)

so that a robot on level ground has the yaw of its pose in the plane.
"""

from dataclasses import dataclass

import numpy as np

from isovist.types import ArrayLike, FloatArray


def wrap_angle(angle: ArrayLike) -> FloatArray:
    """The same angle in [−π, π), in rad."""
    return np.asarray((np.asarray(angle, dtype=np.float64) + np.pi) % (2.0 * np.pi) - np.pi)


def unit_vectors(angles: ArrayLike) -> FloatArray:
    """(cos a, sin a) for each angle in rad, shape (..., 2)."""
    a = np.asarray(angles, dtype=np.float64)
    return np.stack([np.cos(a), np.sin(a)], axis=-1)


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

    @staticmethod
    def in_space(
        x: float, y: float, z: float, yaw: float = 0.0, roll: float = 0.0, pitch: float = 0.0
    ) -> "Pose3":
        """A pose in space, in m and rad."""
        return Pose3(x, y, yaw, z, roll, pitch)

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
        if isinstance(other, Pose3):
            return Pose3.lifted(self) @ other
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


@dataclass(frozen=True, slots=True)
class Pose3(Pose):
    """A rigid motion of space: turn by (1), then move by (`x`, `y`, `z`).

    Attributes:
        z: Height in m.
        roll: About the x axis, in rad.
        pitch: About the y axis, in rad; positive looks down.
    """

    z: float = 0.0
    roll: float = 0.0
    pitch: float = 0.0

    @classmethod
    def from_vector(cls, vector: ArrayLike) -> "Pose3":
        """From (x, y, yaw, z, roll, pitch)."""
        return cls(*(float(v) for v in np.asarray(vector, dtype=np.float64)))

    @classmethod
    def from_matrix(cls, rotation: ArrayLike, position: ArrayLike) -> "Pose3":
        """From a rotation matrix, shape (3, 3), and a position, shape (3,), in m."""
        R = np.asarray(rotation, dtype=np.float64)
        x, y, z = (float(v) for v in np.asarray(position, dtype=np.float64))
        pitch = float(np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0])))
        yaw, roll = np.arctan2(R[1, 0], R[0, 0]), np.arctan2(R[2, 1], R[2, 2])
        return cls(x, y, float(wrap_angle(yaw)), z, float(wrap_angle(roll)), pitch)

    @classmethod
    def lifted(cls, pose: Pose) -> "Pose3":
        """A pose of the plane at height 0, without tilt; one in space as it is."""
        return pose if isinstance(pose, cls) else cls(pose.x, pose.y, pose.yaw)

    @property
    def vector(self) -> FloatArray:
        """(x, y, yaw, z, roll, pitch) as an array: the pose in the plane comes first."""
        return np.array([self.x, self.y, self.yaw, self.z, self.roll, self.pitch])

    @property
    def position(self) -> FloatArray:
        """(x, y, z) in m."""
        return np.array([self.x, self.y, self.z])

    @property
    def rotation(self) -> FloatArray:
        """The rotation matrix (1), shape (3, 3)."""
        angles = [self.yaw, self.pitch, self.roll]
        (cy, cp, cr), (sy, sp, sr) = np.cos(angles), np.sin(angles)
        return np.array(
            [
                [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                [-sp, cp * sr, cp * cr],
            ]
        )

    def __matmul__(self, other: Pose) -> "Pose3":
        """T_a_b @ T_b_c = T_a_c; a pose of the plane is lifted."""
        inner = Pose3.lifted(other)
        return Pose3.from_matrix(self.rotation @ inner.rotation, self.apply(inner.position))

    @property
    def inverse(self) -> "Pose3":
        """T_b_a from T_a_b."""
        R = self.rotation.T
        return Pose3.from_matrix(R, -R @ self.position)

    def apply(self, points: ArrayLike) -> FloatArray:
        """Points of frame b, shape (..., 3), in frame a."""
        return np.asarray(points, dtype=np.float64) @ self.rotation.T + self.position
