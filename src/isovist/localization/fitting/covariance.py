"""Estimate the covariance of a fitted pose.

Let s be the residual of the beams, and H their normal matrix scaled to one beam per block. The
information about the pose is

    I = H s₀² / (α s⁴).                                                                   (1)

On a perfect map s is about s₀, what the cells leave, and H / s² would do. A larger residual comes
from walls that the map bends or doubles, and these shift all beams at once.

3D has two exceptions. First, s is at least s₀: fits estimate how far before the centres of cells
the beams end, but each wall may lie elsewhere in its cells. Second, what shifts all beams does not
turn them, so the information about angles is H / s². With thousands of beams, roll and pitch of a
final fit then err by 0.3 to 1.0 standard deviations (root mean square), in a house of 0.1 m cells,
a real building of 0.08 m cells and streets of 0.2 and 0.4 m cells.
"""

import math
from functools import lru_cache

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas import Fit, SearchSpace
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose, Pose, swing


def information(
    fit: Fit, blocks: int | FloatArray, cell: float | FloatArray, settings: LocalizationSettings
) -> FloatArray:
    """Return the information of fits about their poses, equation (1), per m and rad.

    Args:
        fit: Fits of K poses.
        blocks: Number of blocks of the scan, or of each fit.
        cell: Side of a map cell in m, or at each fit.
        settings: Gives s₀ and α.

    Returns:
        Information matrices of (x, y, yaw, …), shape (..., n, n).
    """
    errors = settings.covariance
    beams_per_block = np.maximum(1.0, fit.weight / np.maximum(blocks, 1))
    square = np.maximum(fit.square / np.maximum(fit.weight, 1.0), errors.min_std_m**2)
    share = errors.residual_cells(2 if fit.normal.shape[-1] == 3 else 3)
    perfect = errors.residual_m**2 + (share * cell) ** 2
    residual = square if fit.normal.shape[-1] == 3 else np.maximum(square, perfect)
    variance = errors.inflation * residual**2 / perfect
    matrix = fit.normal / (variance * beams_per_block)[..., None, None]
    n = matrix.shape[-1]
    if n > 3:
        is_angle = coordinate_vector(0.0, 1.0, n) > 0.0
        gain = np.where(is_angle, np.sqrt(np.maximum(variance / square, 1.0))[..., None], 1.0)
        matrix = gain[..., :, None] * matrix * gain[..., None, :]
    return np.asarray(matrix)


def covariances(matrices: FloatArray, settings: LocalizationSettings) -> FloatArray:
    """Invert information matrices, shape (..., n, n).

    Coordinates without information get a wide variance. A floor is added to all variances.
    """
    from isovist.compute import invert

    n = matrices.shape[-1]
    rows = np.ascontiguousarray(matrices.reshape(-1, n, n))
    out = np.empty(rows.shape)
    invert(
        rows, *_limits(settings.decision.max_position_std_m, settings.covariance.min_std, n), out
    )
    return out.reshape(matrices.shape)


@lru_cache
def _limits(max_std: float, floor: tuple[float, float], n: int) -> tuple[FloatArray, FloatArray]:
    """Return the least information and the least covariance, both of shape (n, n).  Read-only."""
    widest = coordinate_vector(10.0 * max_std, np.pi, n)
    narrowest = np.square(coordinate_vector(*floor, n))
    return readonly(np.diag(1.0 / np.square(widest))), readonly(np.diag(narrowest))


def major_axis(covariance: FloatArray) -> tuple[float, FloatArray]:
    """Return the variance along the major axis of the position in m², and that axis, shape (2,).

    It takes a tenth of the time of `np.linalg.eigh`.
    """
    (a, b), (_, c) = covariance[:2, :2].tolist()
    half, turn = 0.5 * (a - c), 0.5 * math.atan2(2.0 * b, a - c)
    variance = 0.5 * (a + c) + math.hypot(half, b)
    return variance, np.array([math.cos(turn), math.sin(turn)])


def coordinate_vector(length: float, angle: float, n: int) -> FloatArray:
    """Return a length in m or an angle in rad for the first n of x, y, yaw, z, roll, pitch."""
    return np.array([length, length, angle, length, angle, angle])[:n]


def to_robot_frame(
    space: SearchSpace, T_level_robot: AnyPose, poses: FloatArray, spreads: FloatArray
) -> tuple[AnyPose, FloatArray]:
    """Return the poses of the robot, and their covariances, from those of the sensor.

    The robot sits beside the sensor, so an error of the sensor's heading moves the robot.

    Args:
        space: The map or maps.
        T_level_robot: Pose of the robot in the level sensor frame.
        poses: Poses of the level sensor frame in m and rad, shape (K, D).
        spreads: Their covariances in m and rad, shape (K, n, n).
    """
    if isinstance(T_level_robot, Pose) and space.dimension == 2:
        from isovist.compute import compose

        rows, matrices = np.empty(poses.shape), np.empty(spreads.shape)
        inputs = np.ascontiguousarray(poses), T_level_robot.vector, np.ascontiguousarray(spreads)
        compose(*inputs, rows, matrices)
        return Pose.from_vector(rows), matrices
    sensors = space.lift(poses)
    robots = sensors @ T_level_robot
    J = swing(sensors, robots, spreads.shape[-1])
    return robots, J @ spreads @ J.swapaxes(1, 2)
