"""Refine the start of a trajectory from all its observations at once.

With the ends q of all beams carried into the frame of the start by odometry,
Σ_t Σ_b ρ(D(T_world_start T_start_t q_tb)) is the cost of one scan made of many, and the kernel that
fits a scan fits the trajectory.  Its normal matrix is the information, already about the start.
Distances cannot tell the front of a wall from its back; so each guess is tried together with four
others around it, and ray casting chooses, as in `localization.refine`.

Odometry is taken as exact.  Where it drifts by more than the fit is sure of, use `chain`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isovist.atlas.plane import Atlas
from isovist.errors import InputError
from isovist.localization.judge import FLOOR, WIDEST, count_blocks, informations
from isovist.localization.refine import COARSE, DAMPING, FEW, FINE, MANY, rate, thin
from isovist.poses import Pose, unit_vectors, wrap_angle
from isovist.sensing.scan import Scan
from isovist.tracking.gramian import ARM, Gramian
from isovist.types import FloatArray, readonly

ROUNDS = 10
"""The last σ of a fit to walls is repeated at most so many times, until the start rests."""
STILL = (1e-3, 1e-3, 2e-4)
"""It rests when it moves by less, in m and rad; the field of distances has kinks at this scale."""
ASIDE = 0.2
"""How far around a guess others are tried, in m: about as thick as walls are."""


@dataclass(frozen=True, slots=True, eq=False)
class StartFit:
    """A refined start.

    Attributes:
        start: (x, y), (x, y, z) or (x, y, yaw), shape (D,), in m and rad.  Read-only.
        covariance: Of the start, shape (D, D), in m and rad; no wider than `judge.WIDEST` along
            what nothing constrains.  Read-only.
        information: About the start, shape (D, D), per m and rad.  Read-only.
        least: λ_min of the information, per m²; a heading counts through the arm.
        iterations: Steps taken.
        converged: Whether another step would be below the tolerance, or rounding.
        path: Starts after each step, the guess that led here first, shape (iterations + 1, D).
    """

    start: FloatArray
    covariance: FloatArray
    information: FloatArray
    least: float
    iterations: int
    converged: bool
    path: FloatArray

    @property
    def pose(self) -> Pose:
        """The start as T_world_robot, when it has a heading."""
        x, y, yaw = self.start
        return Pose(float(x), float(y), float(wrap_angle(yaw)))


def refine_start(
    atlas: Atlas,
    scans: Sequence[Scan],
    odometry: Sequence[Pose],
    start: Pose,
    *,
    widths: tuple[float, ...] = COARSE + FINE,
    arm: float = ARM,
) -> StartFit:
    """Fit the start of a trajectory to the walls, with all scans at once.

    Args:
        atlas: The map, described.
        scans: What the sensor saw.
        odometry: T_odom_robot at each scan, in any fixed frame.
        start: First guess of T_world_robot at the first scan.
        widths: σ of the steps in m, as in `localization.refine`; narrow ones for a good guess.
        arm: ℓ for `least`, in m.
    """
    return refine_starts(atlas, scans, odometry, [start], widths=widths, arm=arm)[0]


def refine_starts(
    atlas: Atlas,
    scans: Sequence[Scan],
    odometry: Sequence[Pose],
    starts: Sequence[Pose],
    *,
    widths: tuple[float, ...] = COARSE + FINE,
    arm: float = ARM,
) -> list[StartFit]:
    """`refine_start` from several guesses at once."""
    from isovist.kernels.align import align

    if len(scans) != len(odometry) or len(scans) == 0:
        raise InputError(
            "`odometry` must hold one pose per scan, at least one, "
            f"got {len(odometry)} for {len(scans)}."
        )
    if len(starts) == 0:
        return []
    motions = motions_since_start(odometry)
    ends, blocks = _pool(scans, motions)
    world, unit = atlas.world, atlas.world.resolution
    per = np.array([1.0 / unit, 1.0 / unit, 1.0])
    star = ASIDE * np.array([[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])
    guesses = np.stack([(world.origin.inverse @ start).vector for start in starts])
    poses = (guesses[:, None] + star).reshape(-1, 3) * per
    normal = np.empty((len(poses), 8))
    paths = [poses.copy()]
    for sigma in (*widths, *[widths[-1]] * ROUNDS):
        align(atlas.wall_distance, ends / unit, np.array([sigma / unit]), DAMPING, poses, normal)
        paths.append(poses.copy())
        still = (np.abs(paths[-1] - paths[-2]) / per < STILL).all(axis=1)
        if len(paths) > len(widths) and still.all():
            break
    steps = np.stack(paths, axis=1) / per
    ratings = _rate(atlas, scans, motions, steps[:, -1]).reshape(len(starts), -1)
    best = ratings.argmax(axis=1) + len(star) * np.arange(len(starts))
    return [_start_fit(atlas, normal[k], steps[k], bool(still[k]), blocks, arm) for k in best]


def motions_since_start(odometry: Sequence[Pose]) -> FloatArray:
    """(x, y, yaw) of T_start_t for each pose of the odometry, shape (k, 3), in m and rad."""
    if len(odometry) == 0:
        raise InputError("`odometry` must hold at least one pose.")
    back = odometry[0].inverse
    return np.stack([(back @ pose).vector for pose in odometry])


def _pool(scans: Sequence[Scan], motions: FloatArray) -> tuple[FloatArray, int]:
    """Ends of the beams of all scans in the frame of the start, shape (m, 2), and blocks."""
    parts, blocks = [], 0
    for scan, motion in zip(scans, motions, strict=True):
        bearings, ranges = thin(scan, MANY)
        ends = ranges[:, None] * unit_vectors(bearings)
        parts.append((Pose.from_vector(motion) @ scan.T_robot_sensor).apply(ends))
        blocks += count_blocks(bearings)
    return np.concatenate(parts), blocks


def _rate(
    atlas: Atlas, scans: Sequence[Scan], motions: FloatArray, starts: FloatArray
) -> FloatArray:
    """Mean rating of all beams by ray casting from starts in the map, shape (K, 3); (K,)."""
    unit = atlas.world.resolution
    total = np.zeros(len(starts))
    for scan, motion in zip(scans, motions, strict=True):
        T_start_sensor = Pose.from_vector(motion) @ scan.T_robot_sensor
        sensors = [(Pose.from_vector(s) @ T_start_sensor).vector for s in starts]
        poses = np.stack(sensors) / [unit, unit, 1.0]
        total += rate(atlas, *thin(scan, FEW), poses)[0].mean(axis=1, dtype=np.float64)
    return total / len(scans)


def _start_fit(
    atlas: Atlas, normal: FloatArray, path: FloatArray, rest: bool, blocks: int, arm: float
) -> StartFit:
    origin = atlas.world.origin
    turn = np.eye(3)
    turn[:2, :2] = origin.rotation
    H = turn @ informations(normal[None], atlas.world.resolution, blocks)[0] @ turn.T
    covariance = np.linalg.inv(H + np.diag(1.0 / np.square(WIDEST))) + np.diag(np.square(FLOOR))
    starts = np.stack([(origin @ Pose.from_vector(pose)).vector for pose in path])
    return StartFit(
        readonly(starts[-1]), readonly(covariance), readonly(H),
        Gramian.pose(arm=arm).add_information(H).least,
        len(path) - 1, rest, readonly(starts),
    )  # fmt: skip
