"""What a fit knows of its pose.

With s the residual of the beams and H their normal matrix scaled to one beam per block, a fit knows

    I = H s₀² / (α s⁴)                                                                    (1)

of its pose.  In a perfect map s is what the cells leave, about s₀, and H / s² would do.  Beyond
that the residual comes from walls that the map bends or doubles, and these shift all beams at once.
In space, where fits find how far before the centres of cells beams end, s is s₀ at least: each wall
may lie elsewhere in its cells.  What shifts all beams turns none: in space, where there are
thousands, angles are known by H / s².  Roll and pitch of a last fit (`settle`) then err by 0.3 to
1.0 standard deviations in the root mean square, over a house of 0.1 m cells, a real building of
0.08 m and streets of 0.2 and 0.4 m.
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
    """What fits know about their poses, equation (1), per m and rad, shape (..., n, n).

    Args:
        fit: As an atlas gives it.
        blocks: Number of blocks of the scan, or of each.
        cell: Side of a cell of the map in m, or of that of each.
        settings: Gives s₀ and α.
    """
    crowding = np.maximum(1.0, fit.weight / np.maximum(blocks, 1))
    residual = np.maximum(fit.square / np.maximum(fit.weight, 1.0), settings.floor[0] ** 2)
    metres, inflation, *cells = settings.scatter
    share = cells[fit.normal.shape[-1] > 3]
    least = metres**2 + (share * cell) ** 2
    believed = residual if fit.normal.shape[-1] == 3 else np.maximum(residual, least)
    variance = inflation * believed**2 / least
    known = fit.normal / (variance * crowding)[..., None, None]
    n = known.shape[-1]
    if n > 3:
        turned = coordinate_vector(0.0, 1.0, n) > 0.0
        gain = np.where(turned, np.sqrt(np.maximum(variance / residual, 1.0))[..., None], 1.0)
        known = gain[..., :, None] * known * gain[..., None, :]
    return np.asarray(known)


def covariances(known: FloatArray, settings: LocalizationSettings) -> FloatArray:
    """The inverse of an information, wide where there is none, plus a floor, shape (..., n, n)."""
    from isovist.compute import invert

    n = known.shape[-1]
    rows = np.ascontiguousarray(known.reshape(-1, n, n))
    out = np.empty(rows.shape)
    invert(rows, *_limits(settings.loose, settings.floor, n), out)
    return out.reshape(known.shape)


@lru_cache
def _limits(loose: float, floor: tuple[float, float], n: int) -> tuple[FloatArray, FloatArray]:
    """What is known where nothing is, and the least covariance, shape (n, n) each."""
    widest = coordinate_vector(10.0 * loose, np.pi, n)
    least = np.square(coordinate_vector(*floor, n))
    return readonly(np.diag(1.0 / np.square(widest))), readonly(np.diag(least))


def major_axis(spread: FloatArray) -> tuple[float, FloatArray]:
    """Variance along the longest axis of a covariance of (x, y, …), and that axis, shape (2,).

    In a tenth of the time of `np.linalg.eigh`.
    """
    (a, b), (_, c) = spread[:2, :2].tolist()
    half, turn = 0.5 * (a - c), 0.5 * math.atan2(2.0 * b, a - c)
    variance = 0.5 * (a + c) + math.hypot(half, b)
    return variance, np.array([math.cos(turn), math.sin(turn)])


def coordinate_vector(length: float, angle: float, n: int) -> FloatArray:
    """A length in m and an angle in rad for the first n of x, y, yaw, z, roll, pitch."""
    return np.array([length, length, angle, length, angle, angle])[:n]


def to_robot_frame(
    atlas: SearchSpace, T_level_robot: AnyPose, poses: FloatArray, spreads: FloatArray
) -> tuple[AnyPose, FloatArray]:
    """T_world_robot and its covariances from poses of the sensor, shapes (K, D) and (K, n, n).

    Turning the sensor about its place moves the robot, which sits beside it.
    """
    if isinstance(T_level_robot, Pose) and atlas.dimension == 2:
        from isovist.compute import compose

        rows, carried = np.empty(poses.shape), np.empty(spreads.shape)
        given = np.ascontiguousarray(poses), T_level_robot.vector, np.ascontiguousarray(spreads)
        compose(*given, rows, carried)
        return Pose.from_vector(rows), carried
    places = atlas.lift(poses)
    robots = places @ T_level_robot
    J = swing(places, robots, spreads.shape[-1])
    return robots, J @ spreads @ J.swapaxes(1, 2)
