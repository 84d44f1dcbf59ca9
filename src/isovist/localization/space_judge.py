"""Is the best place in space the only one?

The rules are those of `judge`.  Witnesses are blocks of 10° of azimuth and of elevation; but what
stands on the floor fills several blocks above each other, and these err together.  So all blocks
count for the probabilities, equation (1) there, and columns of blocks, one for each azimuth, for
the agreement (2).
"""

import numpy as np

from isovist.atlas.space import VoxelAtlas
from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.judge import (
    APART,
    BLOCK,
    EVEN,
    EXPLAINED,
    FLOOR,
    INFLATION,
    LEAST,
    LISTED,
    NOWHERE,
    TURNED,
    WIDEST,
    distinct,
    verdict_of,
)
from isovist.localization.space_refine import SpaceFits, intensities_match
from isovist.poses import Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.types import FloatArray, IntArray, readonly

ROWS = 36
"""More than there are blocks above each other."""
EVEN_CELLS = 0.1
"""Residual that the cells of a perfect map leave, in cells, besides `EVEN`."""


def judge_in_space(atlas: VoxelAtlas, scan: CloudScan, fits: SpaceFits) -> Answer:
    """Turn fits into distinct estimates, their probabilities and a verdict."""
    if len(fits.poses) == 0:
        return Answer(Verdict.LOST, NOWHERE, ())
    keep = distinct(fits.poses, APART / atlas.world.resolution, TURNED)
    blocks, columns = average_blocks(fits.ratings[keep].astype(np.float64), fits.ends)
    order = np.argsort(-blocks.sum(axis=1), kind="stable")
    keep, blocks, columns = [keep[k] for k in order], blocks[order], columns[order]
    totals = blocks.sum(axis=1)
    chances = np.exp(totals - totals.max())
    chances /= chances.sum()
    scores = fits.ratings[keep].mean(axis=1, dtype=np.float64)
    inliers = (fits.kinds[keep] == EXPLAINED).mean(axis=1)
    estimates = tuple(
        Estimate(
            *_in_world(atlas, scan, fits, k, covariance(atlas, fits, k, blocks.shape[1])),
            float(chances[i]),
            float(inliers[i]),
            float(scores[i]),
        )
        for i, k in enumerate(keep[:LISTED])
    )
    verdict, advice = verdict_of(columns, scores, float(inliers[0]), estimates[0])
    if atlas.shine and scan.intensities is not None and not intensities_match(atlas, scan):
        advice += (
            f" Intensities were left out: their median is {np.median(scan.intensities):.3g}, and "
            f"the walls of the map have {atlas.shine[0]:.3g} to {atlas.shine[1]:.3g}."
        )
    return Answer(verdict, advice, estimates)


def average_blocks(ratings: FloatArray, ends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean rating of each block that has beams, shape (K, B), and their sums over each azimuth."""
    azimuth = np.floor(np.arctan2(ends[:, 1], ends[:, 0]) / BLOCK).astype(np.int64)
    elevation = np.arctan2(ends[:, 2], np.hypot(ends[:, 0], ends[:, 1]))
    row = np.floor(elevation / BLOCK).astype(np.int64)
    order = np.lexsort((row, azimuth))
    starts = _starts(azimuth[order] * ROWS + row[order])
    sums = np.add.reduceat(ratings[:, order], starts, axis=1)
    blocks = sums / np.diff(np.append(starts, len(ends)))
    columns = np.add.reduceat(blocks, _starts(azimuth[order][starts]), axis=1)
    return blocks, columns


def _starts(numbers: IntArray) -> IntArray:
    """Where runs of equal numbers begin."""
    return np.flatnonzero(np.append(True, np.diff(numbers) != 0))


def covariance(atlas: VoxelAtlas, fits: SpaceFits, k: int, blocks: int) -> FloatArray:
    """Of (x, y, yaw, z) or (x, y, yaw, z, roll, pitch), in m and rad; equation (4) of `judge`."""
    unit, n = atlas.world.resolution, fits.fitted
    half = fits.normal[k][:n, :n]
    per = np.array([1.0, 1.0, unit, 1.0, unit, unit])[:n]
    H = (np.tril(half) + np.tril(half, -1).T) * np.outer(per, per)
    total, square = fits.sums[k]
    crowding = max(1.0, total / blocks)
    residual = max(square / max(total, 1.0) * unit**2, LEAST**2)
    even = EVEN**2 + (EVEN_CELLS * unit) ** 2
    variance = INFLATION * residual**2 / even
    widest = np.array([*WIDEST, WIDEST[0], WIDEST[2], WIDEST[2]])[:n]
    floor = np.array([*FLOOR, FLOOR[0], FLOOR[2], FLOOR[2]])[:n]
    information = H / (variance * crowding) + np.diag(1.0 / np.square(widest))
    return np.asarray(np.linalg.inv(information) + np.diag(np.square(floor)))


def _in_world(
    atlas: VoxelAtlas, scan: CloudScan, fits: SpaceFits, k: int, spread: FloatArray
) -> tuple[Pose3, FloatArray]:
    """T_world_robot and its covariance from the pose of the level frame in the grid."""
    x, y, yaw, z, roll, pitch = fits.poses[k]
    place = atlas.world.corner + np.array([x, y, z]) * atlas.world.resolution
    T_world_level = Pose3(place[0], place[1], yaw, place[2], roll, pitch)
    T_world_robot = T_world_level @ scan.T_level_sensor @ scan.T_robot_sensor.inverse
    # Turning the level frame about its place moves the robot, which sits beside it.
    lever = T_world_robot.position - place
    axes = np.stack(
        [
            [0.0, 0.0, 1.0],
            T_world_level.rotation[:, 0],
            [-np.sin(yaw), np.cos(yaw), 0.0],
        ]
    )
    J = np.eye(6)
    J[np.ix_([0, 1, 3], [2, 4, 5])] = np.cross(axes, lever).T
    n = fits.fitted
    return T_world_robot, readonly(J[:n, :n] @ spread @ J[:n, :n].T)
