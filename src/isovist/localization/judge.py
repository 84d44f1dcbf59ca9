"""Is the best place the only one?

Beams side by side see the same wall, and err together.  So the scan is cut into blocks of 10°, and
a block counts as one witness: with ℓ_jb the mean rating of block b from place j,

    p_j ∝ exp(Σ_b ℓ_jb).                                                                  (1)

A rival is refuted when the witnesses agree that it is worse.  With δ_b = ℓ_0b − ℓ_jb,

    t_j = Σ_b δ_b / √(Σ_b δ_b² + τ²),       d_j = mean rating of all beams, less the rival's:   (2)

t is about 1 when a single block speaks against the rival, something that a moved cupboard can do,
and √B when all B of them do.  The place is unique when every rival has

    t_j · (share of beams explained) ≥ t_min    and    d_j ≥ d_min,                       (3)

there are enough witnesses, and the fit is not loose along any axis.  It is lost when even the best
place explains the scan badly.
"""

import numpy as np

from isovist.atlas.plane import Atlas
from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.refine import Fits
from isovist.poses import Pose, wrap_angle
from isovist.sensing.scan import Scan
from isovist.types import BoolArray, FloatArray, IntArray, readonly

BLOCK = np.radians(10.0)
"""Width of a witness in rad."""
SOFT = 0.05
"""τ² of (2): differences below 0.2 nats in all say nothing."""
AGREEMENT = 1.2
"""t_min of (3): more than one block must speak."""
MARGIN = 0.3
"""d_min of (3), in nats per beam."""
WITNESSES = 6
"""Fewest blocks for a unique answer."""
LOOSE = 0.5
"""Largest standard deviation of a unique position, in m."""
POOR = 1.5
"""A mean rating below this explains nothing, in nats; a scan in its own map has 4 to 5."""
APART, TURNED = 0.5, np.radians(10.0)
"""Estimates nearer than this, in m and rad, are the same place."""
LISTED = 10
"""Most estimates in an answer."""
FLOOR = (0.01, 0.01, np.radians(0.17))
"""Standard deviation that more beams cannot reduce, in m and rad: bent maps, moving robots."""
EVEN, LEAST = 0.02, 0.01
"""s₀ of (4) and the smallest residual that is believed, in m."""
INFLATION = 6.0
"""α of (4): errors of neighbouring blocks are not quite independent."""
WIDEST = (5.0, 5.0, np.pi)
"""Standard deviation along an axis that no beam constrains, in m and rad."""
EXPLAINED = 0
NOWHERE = "No place of the map can be tried: the prior leaves none, or the scan sees nothing."


def judge(atlas: Atlas, scan: Scan, fits: Fits) -> Answer:
    """Turn fits into distinct estimates, their probabilities and a verdict."""
    if len(fits.poses) == 0:
        return Answer(Verdict.LOST, NOWHERE, ())
    keep = distinct(fits.poses, APART / atlas.world.resolution, TURNED)
    blocks = average_blocks(fits.ratings[keep].astype(np.float64), fits.bearings)
    order = np.argsort(-blocks.sum(axis=1), kind="stable")
    keep, blocks = [keep[k] for k in order], blocks[order]
    totals = blocks.sum(axis=1)
    chances = np.exp(totals - totals.max())
    chances /= chances.sum()
    scores = fits.ratings[keep].mean(axis=1, dtype=np.float64)
    inliers = (fits.kinds[keep] == EXPLAINED).mean(axis=1)
    keep = keep[:LISTED]
    spreads = covariances(fits.normal[keep], atlas.world.resolution, blocks.shape[1])
    estimates = tuple(
        Estimate(
            *in_world(atlas, scan, fits.poses[k], spreads[i]),
            float(chances[i]),
            float(inliers[i]),
            float(scores[i]),
        )
        for i, k in enumerate(keep)
    )
    verdict, advice = verdict_of(blocks, scores, float(inliers[0]), estimates[0])
    return Answer(verdict, advice, estimates)


def verdict_of(
    blocks: FloatArray, scores: FloatArray, inliers: float, best: Estimate
) -> tuple[Verdict, str]:
    """What follows from the blocks of all places, the best first, and what to do about it."""
    if scores[0] < POOR:
        return Verdict.LOST, (
            f"Nowhere in the map does the scan fit: at best {inliers:.0%} of the beams end at a "
            "wall. Check that the map is of this place and up to date."
        )
    loosest = float(np.sqrt(np.linalg.eigvalsh(best.covariance[:2, :2])[-1]))
    if loosest > LOOSE:
        return Verdict.AMBIGUOUS, (
            f"The place can slide by {loosest:.1f} m (standard deviation) along one axis, as in a "
            "corridor. Move until an end or a door is in view."
        )
    if blocks.shape[1] < WITNESSES:
        return Verdict.AMBIGUOUS, (
            f"The scan covers only {blocks.shape[1]} blocks of 10°, too few to exclude other "
            "places. Turn, or take more beams."
        )
    rivals = int((~refuted(blocks, scores, inliers)).sum())
    if rivals:
        return Verdict.AMBIGUOUS, (
            f"{rivals} other place{'s' if rivals > 1 else ''} would explain the scan about as "
            "well. Move and look again."
        )
    return Verdict.UNIQUE, "One place explains the scan, and no other comes near."


def refuted(blocks: FloatArray, scores: FloatArray, inliers: float) -> BoolArray:
    """Which of the other places are excluded by equation (3), shape (K − 1,)."""
    delta = blocks[0] - blocks[1:]
    t = delta.sum(axis=1) / np.sqrt((delta**2).sum(axis=1) + SOFT)
    return np.asarray((t * inliers >= AGREEMENT) & (scores[0] - scores[1:] >= MARGIN))


def average_blocks(ratings: FloatArray, bearings: FloatArray) -> FloatArray:
    """Mean rating of each block that has beams, shape (K, B)."""
    _, number = np.unique(_block_numbers(bearings), return_inverse=True)
    share = np.zeros((bearings.size, int(number.max()) + 1))
    share[np.arange(bearings.size), number] = 1.0
    return np.asarray(ratings @ (share / share.sum(axis=0)))


def count_blocks(bearings: FloatArray) -> int:
    """How many blocks have beams."""
    return len(np.unique(_block_numbers(bearings)))


def _block_numbers(bearings: FloatArray) -> IntArray:
    return np.floor((bearings - bearings[:1]) / BLOCK + 1e-9).astype(np.int64)


def distinct(poses: FloatArray, radius: float, turn: float) -> list[int]:
    """Indices of poses none of which is alike one before it."""
    from isovist.kernels.correlate import spread

    chosen = np.empty(len(poses), dtype=np.int64)
    return [int(k) for k in chosen[: spread(poses, radius, turn, chosen)]]


def covariances(normal: FloatArray, unit: float, blocks: int) -> FloatArray:
    """Of (x, y, yaw) in the frame of the grid, in m and rad, shape (K, 3, 3).

    The inverse of the information, wide where there is none, plus a floor.
    """
    known = informations(normal, unit, blocks) + np.diag(1.0 / np.square(WIDEST))
    return np.asarray(np.linalg.inv(known) + np.diag(np.square(FLOOR)))


def informations(normal: FloatArray, unit: float, blocks: int) -> FloatArray:
    """What fits know about (x, y, yaw) in the frame of the grid, per m and rad, shape (K, 3, 3).

    With s the residual of the beams and H their normal matrix scaled to one beam per block,

        I = H s₀² / (α s⁴).                                                               (4)

    In a perfect map s is what the cells leave, about s₀, and H / s² would do.  Beyond that the
    residual comes from walls that the map bends or doubles, and these shift all beams at once.

    Args:
        normal: Of each fit, as `kernels.align` gives it, shape (K, 8).
        unit: Side of a cell in m.
        blocks: Number of blocks of the scan.
    """
    per = np.array([1.0, 1.0, unit])
    H = normal[:, [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(-1, 3, 3) * np.outer(per, per)
    total, square = normal[:, 6], normal[:, 7]
    crowding = np.maximum(1.0, total / blocks)
    residual = np.maximum(square / np.maximum(total, 1.0) * unit**2, LEAST**2)
    variance = INFLATION * residual**2 / EVEN**2
    return np.asarray(H / (variance * crowding)[:, None, None])


def in_world(
    atlas: Atlas, scan: Scan, pose: FloatArray, spread: FloatArray
) -> tuple[Pose, FloatArray]:
    """T_world_robot and its covariance from the pose of the sensor in the grid."""
    unit, origin = atlas.world.resolution, atlas.world.origin
    T_map_sensor = Pose(pose[0] * unit, pose[1] * unit, float(wrap_angle(pose[2])))
    T_world_robot = origin @ T_map_sensor @ scan.T_robot_sensor.inverse
    J = np.eye(3)
    J[:2, :2] = origin.rotation
    lever = np.array([T_world_robot.x, T_world_robot.y]) - (origin @ T_map_sensor).vector[:2]
    J[:2, 2] = [-lever[1], lever[0]]
    return T_world_robot, readonly(J @ spread @ J.T)
