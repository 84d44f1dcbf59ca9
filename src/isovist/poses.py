"""2D and 3D poses, named so that frames cancel: T_world_robot @ T_robot_sensor.

A `Pose` is an element of SE(2), a `Pose3` of SE(3), and either may be an array of them: poses of
shapes that broadcast compose.  A 3D pose stores a unit quaternion, so composing, inverting and
applying have no singularity.  Coordinates have one order everywhere, those of 2D first:

    (x, y, yaw)   and   (x, y, yaw, z, roll, pitch),                                        (1)

with R = R_z(yaw) R_y(pitch) R_x(roll), so that a robot on level ground has the yaw of its 2D pose.
Where the pitch is ±90° yaw and roll turn about the same axis, and roll is taken as 0.
"""

import math
from typing import TYPE_CHECKING, Any, Final, final, overload

import numpy as np

from isovist.arrays import ArrayLike, FloatArray, readonly
from isovist.errors import InputError

COORDINATES: Final = ("x", "y", "yaw", "z", "roll", "pitch")
"""Names of the coordinates, in the order of (1)."""
UPRIGHT: Final = 1e-7
"""Pitch this near to ±90°, in rad, leaves no more than rounding of roll."""


def wrap_angle(angle: ArrayLike) -> FloatArray:
    """Wrap angles into [−π, π), in rad."""
    return np.asarray((np.asarray(angle, dtype=np.float64) + np.pi) % (2.0 * np.pi) - np.pi)


def unit_vectors(angles: ArrayLike) -> FloatArray:
    """Return the unit vectors (cos θ, sin θ) for angles in rad, shape (..., 2)."""
    theta = np.asarray(angles, dtype=np.float64)
    return np.stack([np.cos(theta), np.sin(theta)], axis=-1)


def _rows(vector: ArrayLike, width: int, order: str) -> FloatArray:
    rows = np.array(vector, dtype=np.float64)
    if rows.ndim == 0 or rows.shape[-1] != width:
        raise InputError(
            f"A pose needs {order} in the last axis, got shape {rows.shape}.", field="vector"
        )
    return rows


class _Rigid:
    """The properties and methods that 2D and 3D poses share."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def position(self) -> FloatArray: ...
        @property
        def vector(self) -> FloatArray: ...
        @property
        def rotation(self) -> FloatArray: ...
        def __reduce__(self) -> tuple[Any, tuple[FloatArray, ...]]: ...

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("A pose cannot be changed.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return False
        mine, yours = self.__reduce__()[1], other.__reduce__()[1]
        return all(np.array_equal(a, b) for a, b in zip(mine, yours, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(part.tobytes() for part in self.__reduce__()[1]))

    def __repr__(self) -> str:
        values = f"shape {self.shape}"
        if self.shape == ():
            pairs = zip(COORDINATES, self.vector.tolist(), strict=False)
            values = ", ".join(f"{name}={value:.6g}" for name, value in pairs)
        return f"{type(self).__name__}({values})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of poses; () for a single pose."""
        return self.position.shape[:-1]

    def _coordinate(self, rows: FloatArray, k: int) -> float:
        if rows.ndim != 1:
            raise InputError(
                f"This is an array of poses of shape {self.shape}; take `vector` or `position`."
            )
        return float(rows[k])

    @property
    def x(self) -> float:
        """The x coordinate of a single pose, in m."""
        return self._coordinate(self.position, 0)

    @property
    def y(self) -> float:
        """The y coordinate of a single pose, in m."""
        return self._coordinate(self.position, 1)

    @property
    def yaw(self) -> float:
        """The yaw of a single pose, about the vertical, in rad."""
        return self._coordinate(self.vector, 2)

    def apply(self, points: ArrayLike) -> FloatArray:
        """Transform points of frame b, shape (..., d), into frame a, for poses T_a_b.

        Shapes of poses and points broadcast.
        """
        p, R = np.asarray(points, dtype=np.float64), self.rotation
        if R.ndim == 2:
            return p @ R.T + self.position
        return np.asarray(np.einsum("...ij,...j->...i", R, p) + self.position)


@final
class Pose(_Rigid):
    """A 2D pose (x, y, yaw), or an array of poses.

    A pose T_a_b transforms points of frame b into frame a: it rotates by yaw, then translates.

    Attributes:
        vector: (x, y, yaw), shape (..., 3), in m and rad.  Read-only.

    Examples:
        >>> import isovist as iv
        >>> T_world_robot = iv.Pose(2.0, 1.0, yaw=0.0)
        >>> T_robot_sensor = iv.Pose(0.25, 0.0, yaw=0.0)
        >>> T_world_sensor = T_world_robot @ T_robot_sensor
        >>> T_world_sensor.x
        2.25
        >>> T_world_sensor.inverse.apply([2.25, 3.0]).tolist()
        [0.0, 2.0]
    """

    __slots__ = ("vector",)

    vector: FloatArray

    def __init__(self, x: ArrayLike = 0.0, y: ArrayLike = 0.0, yaw: ArrayLike = 0.0) -> None:
        try:
            rows = np.array([x, y, yaw], dtype=np.float64)
            rows = rows if rows.ndim == 1 else np.moveaxis(rows, 0, -1)
        except (TypeError, ValueError):  # shapes that differ
            rows = np.stack(np.broadcast_arrays(x, y, yaw), axis=-1).astype(np.float64)
        object.__setattr__(self, "vector", readonly(rows))

    @classmethod
    def from_vector(cls, vector: ArrayLike) -> "Pose":
        """Make a pose, or an array of poses, from (x, y, yaw), shape (..., 3), in m and rad."""
        return cls._of(_rows(vector, 3, "x, y, yaw"))

    @classmethod
    def _of(cls, rows: FloatArray) -> "Pose":
        """Make a pose from rows of coordinates, shape (..., 3), without a copy."""
        pose = object.__new__(cls)
        object.__setattr__(pose, "vector", readonly(rows))
        return pose

    def __reduce__(self) -> tuple[Any, tuple[FloatArray, ...]]:
        return Pose.from_vector, (np.asarray(self.vector),)

    def __getitem__(self, index: Any) -> "Pose":
        """Some of an array of poses."""
        at = index if isinstance(index, int) else _index(index)
        return Pose._of(self.vector[at])  # nobody writes to either

    @property
    def position(self) -> FloatArray:
        """The position (x, y), shape (..., 2), in m."""
        return self.vector[..., :2]

    @property
    def rotation(self) -> FloatArray:
        """The rotation matrix, shape (..., 2, 2)."""
        if self.vector.ndim == 1:
            along, across = math.cos(self.vector[2]), math.sin(self.vector[2])
            return np.array([[along, -across], [across, along]])
        turn = np.empty((*self.shape, 2, 2))
        turn[..., 0, 0] = turn[..., 1, 1] = np.cos(self.vector[..., 2])
        turn[..., 1, 0] = np.sin(self.vector[..., 2])
        turn[..., 0, 1] = -turn[..., 1, 0]
        return turn

    @overload
    def __matmul__(self, other: "Pose") -> "Pose": ...

    @overload
    def __matmul__(self, other: "Pose3") -> "Pose3": ...

    def __matmul__(self, other: "Pose | Pose3") -> "Pose | Pose3":
        """Compose poses: T_a_b @ T_b_c = T_a_c. With a 3D pose, the result is 3D."""
        if isinstance(other, Pose3):
            return Pose3.lifted(self) @ other
        if self.vector.ndim == other.vector.ndim == 1:  # a tracker does this at sensor rate
            x, y, yaw = self.vector.tolist()
            u, v, turn = other.vector.tolist()
            c, s = math.cos(yaw), math.sin(yaw)
            return _single(x + c * u - s * v, y + s * u + c * v, yaw + turn)
        mine, yours = self.vector, other.vector
        yaw_sum = wrap_angle(mine[..., 2] + yours[..., 2])
        along, across = np.cos(mine[..., 2]), np.sin(mine[..., 2])
        rows = np.empty((*yaw_sum.shape, 3))
        rows[..., 0] = mine[..., 0] + along * yours[..., 0] - across * yours[..., 1]
        rows[..., 1] = mine[..., 1] + across * yours[..., 0] + along * yours[..., 1]
        rows[..., 2] = yaw_sum
        return Pose._of(rows)

    @property
    def inverse(self) -> "Pose":
        """The inverse pose: T_b_a, if this pose is T_a_b."""
        if self.vector.ndim == 1:
            x, y, yaw = self.vector.tolist()
            c, s = math.cos(yaw), math.sin(yaw)
            return _single(-c * x - s * y, s * x - c * y, -yaw)
        back = -np.einsum("...ji,...j->...i", self.rotation, self.position)
        return Pose(back[..., 0], back[..., 1], wrap_angle(-self.vector[..., 2]))


@final
class Pose3(_Rigid):
    """A 3D pose, or an array of poses.

    A pose T_a_b transforms points of frame b into frame a. The rotation is roll about x, then pitch
    about y, then yaw about z, all about fixed axes.

    Attributes:
        position: (x, y, z), shape (..., 3), in m.  Read-only.
        quaternion: (x, y, z, w) as in ROS, of length 1 with w ≥ 0, shape (..., 4).  Read-only.

    Examples:
        >>> import isovist as iv
        >>> pose = iv.Pose3(x=2.0, y=1.0, yaw=0.0, z=1.5)
        >>> pose.apply([1.0, 0.0, 0.0]).tolist()
        [3.0, 1.0, 1.5]
    """

    __slots__ = ("position", "quaternion")

    quaternion: FloatArray

    def __init__(
        self,
        x: ArrayLike = 0.0,
        y: ArrayLike = 0.0,
        yaw: ArrayLike = 0.0,
        z: ArrayLike = 0.0,
        roll: ArrayLike = 0.0,
        pitch: ArrayLike = 0.0,
    ) -> None:
        rows = np.stack(np.broadcast_arrays(x, y, yaw, z, roll, pitch), axis=-1).astype(np.float64)
        half = 0.5 * rows[..., [2, 5, 4]]
        (cy, cp, cr), (sy, sp, sr) = np.moveaxis(np.stack([np.cos(half), np.sin(half)]), -1, 1)
        turn = [
            cy * cp * sr - sy * sp * cr,
            cy * sp * cr + sy * cp * sr,
            sy * cp * cr - cy * sp * sr,
            cy * cp * cr + sy * sp * sr,
        ]
        self._set(rows[..., [0, 1, 3]], np.stack(turn, axis=-1))

    def _set(self, position: FloatArray, quaternion: FloatArray) -> None:
        q = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
        q = np.where(q[..., 3:] < 0.0, -q, q)
        object.__setattr__(self, "position", readonly(np.array(position)))
        object.__setattr__(self, "quaternion", readonly(q))

    @classmethod
    def from_vector(cls, vector: ArrayLike) -> "Pose3":
        """Make a pose, or an array of poses, from rows of six coordinates.

        Args:
            vector: (x, y, yaw, z, roll, pitch), shape (..., 6), in m and rad.
        """
        return cls(*np.moveaxis(_rows(vector, 6, "x, y, yaw, z, roll, pitch"), -1, 0))

    @classmethod
    def from_quaternion(cls, quaternion: ArrayLike, position: ArrayLike) -> "Pose3":
        """Make a pose, or an array of poses, from quaternions and positions.

        Args:
            quaternion: (x, y, z, w) of any length but 0, shape (..., 4).
            position: (x, y, z), shape (..., 3), in m.

        Raises:
            InputError: If a quaternion has length 0.
        """
        q = _rows(quaternion, 4, "a quaternion x, y, z, w")
        place = _rows(position, 3, "x, y, z")
        if not (np.linalg.norm(q, axis=-1) > 0.0).all():
            raise InputError("A quaternion of length 0 is no rotation.", field="quaternion")
        shape = np.broadcast_shapes(q.shape[:-1], place.shape[:-1])
        pose = cls.__new__(cls)
        pose._set(np.broadcast_to(place, (*shape, 3)), np.broadcast_to(q, (*shape, 4)))
        return pose

    @classmethod
    def from_matrix(cls, rotation: ArrayLike, position: ArrayLike) -> "Pose3":
        """Make a pose, or an array of poses, from rotation matrices and positions.

        Args:
            rotation: Rotation matrices, shape (..., 3, 3).
            position: (x, y, z), shape (..., 3), in m.
        """
        R = np.asarray(rotation, dtype=np.float64)
        trace = np.einsum("...ii->...", R)
        diagonal = np.stack([R[..., 0, 0], R[..., 1, 1], R[..., 2, 2], trace], axis=-1)
        # Row k of the four is the quaternion times four of its k-th entry; the largest is exact.
        table = np.empty((*R.shape[:-2], 4, 4))
        for i in range(3):
            for j in range(3):
                table[..., i, j] = R[..., i, j] + R[..., j, i]
            j, k = (i + 1) % 3, (i + 2) % 3
            table[..., i, i] = 1.0 + 2.0 * R[..., i, i] - trace
            table[..., i, 3] = table[..., 3, i] = R[..., k, j] - R[..., j, k]
        table[..., 3, 3] = 1.0 + trace
        best = np.argmax(diagonal, axis=-1)[..., None, None]
        return cls.from_quaternion(np.take_along_axis(table, best, axis=-2)[..., 0, :], position)

    @classmethod
    def lifted(cls, pose: "Pose | Pose3") -> "Pose3":
        """Return a 2D pose as a 3D pose at z = 0 without roll and pitch, or a 3D pose as it is."""
        if isinstance(pose, Pose3):
            return pose
        return cls(*np.moveaxis(pose.vector, -1, 0))

    def __reduce__(self) -> tuple[Any, tuple[FloatArray, ...]]:
        return Pose3.from_quaternion, (np.asarray(self.quaternion), np.asarray(self.position))

    def __getitem__(self, index: Any) -> "Pose3":
        """Some of an array of poses."""
        at, pose = _index(index), object.__new__(Pose3)
        object.__setattr__(pose, "position", readonly(self.position[at]))
        object.__setattr__(pose, "quaternion", readonly(self.quaternion[at]))
        return pose

    @property
    def vector(self) -> FloatArray:
        """The coordinates (x, y, yaw, z, roll, pitch), shape (..., 6), in m and rad."""
        R = self.rotation
        level = np.hypot(R[..., 0, 0], R[..., 1, 0])
        upright = level < UPRIGHT
        pitch = np.arctan2(-R[..., 2, 0], level)
        yaw = np.where(
            upright, np.arctan2(-R[..., 0, 1], R[..., 1, 1]), np.arctan2(R[..., 1, 0], R[..., 0, 0])
        )
        roll = np.where(upright, 0.0, np.arctan2(R[..., 2, 1], R[..., 2, 2]))
        x, y, z = np.moveaxis(self.position, -1, 0)
        # Zero is added so that a level pose has no −0.
        return np.stack([x, y, wrap_angle(yaw), z, wrap_angle(roll), pitch], axis=-1) + 0.0

    @property
    def flat(self) -> Pose:
        """The 2D part of the pose: x, y and yaw."""
        return Pose.from_vector(self.vector[..., :3])

    @property
    def z(self) -> float:
        """The height of a single pose, in m."""
        return self._coordinate(self.position, 2)

    @property
    def roll(self) -> float:
        """The roll of a single pose, about the x axis, in rad."""
        return self._coordinate(self.vector, 4)

    @property
    def pitch(self) -> float:
        """The pitch of a single pose, about the y axis, in rad; a positive pitch looks down."""
        return self._coordinate(self.vector, 5)

    @property
    def rotation(self) -> FloatArray:
        """The rotation matrix, shape (..., 3, 3)."""
        x, y, z, w = np.moveaxis(self.quaternion, -1, 0)
        rows = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def __matmul__(self, other: "Pose | Pose3") -> "Pose3":
        """Compose poses: T_a_b @ T_b_c = T_a_c. A 2D pose counts as level."""
        inner = Pose3.lifted(other)
        a, b = np.broadcast_arrays(self.quaternion, inner.quaternion)
        u, v, s, t = a[..., :3], b[..., :3], a[..., 3:], b[..., 3:]
        turn = np.concatenate(
            [s * v + t * u + np.cross(u, v), s * t - (u * v).sum(axis=-1, keepdims=True)], axis=-1
        )
        return Pose3.from_quaternion(turn, self.apply(inner.position))

    @property
    def inverse(self) -> "Pose3":
        """The inverse pose: T_b_a, if this pose is T_a_b."""
        back = self.quaternion * np.array([-1.0, -1.0, -1.0, 1.0])
        place = -np.einsum("...ji,...j->...i", self.rotation, self.position)
        return Pose3.from_quaternion(back, place)


AnyPose = Pose | Pose3


def way_of(motion: AnyPose) -> tuple[float, float]:
    """Return the distance of a motion, in m, and its turn, in rad."""
    if isinstance(motion, Pose):
        return float(np.hypot(motion.x, motion.y)), abs(motion.yaw)
    turn = 2.0 * math.atan2(float(np.linalg.norm(motion.quaternion[:3])), motion.quaternion[3])
    return float(np.linalg.norm(motion.position)), turn


def part_of(motion: AnyPose, share: float) -> AnyPose:
    """Return a share of a motion at constant velocity; a share above 1 extrapolates."""
    if isinstance(motion, Pose):
        return Pose.from_vector(share * motion.vector)
    axis = motion.quaternion[:3]
    length = float(np.linalg.norm(axis))
    half = share * math.atan2(length, motion.quaternion[3])
    turn = [*(math.sin(half) / max(length, UPRIGHT**2) * axis), math.cos(half)]
    return Pose3.from_quaternion(turn, share * motion.position)


def swing(before: AnyPose, after: AnyPose, n: int) -> FloatArray:
    """Return the Jacobian of poses with respect to poses they are fixed to, shape (K, n, n).

    With ω the turn that a change of angles makes and ℓ the lever from one to the other,

        dp = dp_before + ω × ℓ,      ω = B dα = B_before dα_before,                          (2)

    where the columns of B are the axes of yaw, roll and pitch.

    Args:
        before: Poses that change, shape (K,).
        after: Poses that are fixed to them and so change along, shape (K,).
        n: How many coordinates of (1) change; angles beyond them stay.
    """
    lever = after.position - before.position
    J = np.zeros((len(lever), n, n))
    J[:, range(n), range(n)] = 1.0
    if isinstance(before, Pose):
        J[:, 0, 2], J[:, 1, 2] = -lever[:, 1], lever[:, 0]
        return J
    assert isinstance(after, Pose3)
    B = _axes(before)
    tangents = np.cross(B, lever[:, None], axisa=1, axisc=1) if n > 3 else np.empty(0)
    for k, column in enumerate((2, 4, 5)):
        if column < n:
            J[:, :2, column], J[:, 3, column] = tangents[:, :2, k], tangents[:, 2, k]
    if n == len(COORDINATES):
        angles = np.ix_(range(len(J)), (2, 4, 5), (2, 4, 5))
        axes = _axes(after)
        upright = np.abs(np.linalg.det(axes)) < UPRIGHT  # then yaw and roll share what turns both
        J[angles] = np.linalg.pinv(axes) @ B if upright.any() else np.linalg.solve(axes, B)
    return J


def _axes(poses: Pose3) -> FloatArray:
    """B of (2): the axes of yaw, roll and pitch as columns, shape (K, 3, 3)."""
    yaw, R = poses.vector[:, 2], poses.rotation
    B = np.zeros(R.shape)
    B[:, 2, 0] = 1.0
    B[:, :, 1] = R[:, :, 0]
    B[:, 0, 2], B[:, 1, 2] = -np.sin(yaw), np.cos(yaw)
    return B


def _single(x: float, y: float, yaw: float) -> Pose:
    return Pose._of(np.array([x, y, (yaw + math.pi) % (2.0 * math.pi) - math.pi]))


def _index(index: Any) -> tuple[Any, ...]:
    """Return an index into an array of poses as one into its rows of coordinates."""
    return (*(index if isinstance(index, tuple) else (index,)), slice(None))


def pose_error(pose: AnyPose, truth: AnyPose) -> tuple[float, float]:
    """Return the position error in x and y, in m, and the rotation error, in rad.

    With two 3D poses the rotation is about any axis, otherwise it is the yaw.
    """
    gap = float(np.hypot(pose.x - truth.x, pose.y - truth.y))
    if isinstance(pose, Pose3) and isinstance(truth, Pose3):
        return gap, way_of(truth.inverse @ pose)[1]
    return gap, float(abs(wrap_angle(pose.yaw - truth.yaw)))
