"""From candidates in space to poses: fit, rate, keep the unlike best, fit again with more beams.

Poses are (x, y, yaw, z, roll, pitch) of the level frame of the sensor, in cells of the map and rad,
as `search_in_space` gives them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.plane import REACH
from isovist.atlas.space import VoxelAtlas
from isovist.localization.refine import DAMPING, MIXTURE, NOISE, RADIUS, TURN, UNSEEN
from isovist.sensing.cloud_scan import CloudScan
from isovist.types import Float32Array, FloatArray, IntArray

FEW, MANY = np.radians(12.0), np.radians(5.0)
"""Angle between the beams of the first and of the second fit."""
COARSE = (2.0, 1.4, 1.4, 1.0, 1.0, 0.6, 0.6)
"""σ of the steps of the first fit, in spacings of the nodes."""
FINE = (1.5, 1.2, 1.0, 1.0, 1.0, 1.0)
"""σ of the steps of the second, in cells, a cell counting as at least FINEST."""
FINEST = 0.1
"""m."""
KEEP = 24
"""Places that are fitted with many beams."""
SLACK = (0.1, 0.1)
"""s₀ (m) and s₁ of the model; a cell is added to both, as a share of 1 m to the second."""
GLOSS = (0.2, 0.8)
"""σ′ as a share of the width of the reflectances, and a′: how far an intensity can be trusted."""


@dataclass(frozen=True, slots=True, eq=False)
class SpaceFits:
    """Places that may be right, best first.

    Attributes:
        poses: (x, y, yaw, z, roll, pitch) in cells and rad, shape (K, 6).
        fitted: How many of these were fitted, 4 or 6.
        normal: Weighted normal matrix of each fit, lower half, shape (K, 6, 6).
        sums: Weight and weighted square of the residuals of each fit, shape (K, 2).
        ends: Ends of the beams used, in the level frame, in m, shape (m, 3).
        ratings: ℓ of each beam from each pose (`kernels.score3d`), shape (K, m).
        kinds: What became of each beam, shape (K, m).
    """

    poses: FloatArray
    fitted: int
    normal: FloatArray
    sums: FloatArray
    ends: FloatArray
    ratings: Float32Array
    kinds: NDArray[np.uint8]


def refine_in_space(
    atlas: VoxelAtlas,
    scan: CloudScan,
    seeds: FloatArray,
    *,
    tilt: bool = False,
    thorough: bool = False,
) -> SpaceFits:
    """Fit all candidates roughly, then the best unlike ones with many beams.

    Args:
        atlas: The map, described.
        scan: What the sensor saw.
        seeds: Candidates, shape (K, 6).
        tilt: Fit roll and pitch too.
        thorough: Fit the height from the start, in case that of the nodes is wrong.
    """
    from isovist.kernels.correlate import spread

    unit = atlas.world.resolution
    points = scan.level_points
    few, many = scan.spread(FEW), scan.spread(MANY)
    widths = np.array(COARSE) * max(0.25, atlas.spacing) / unit
    # Few beams say little of the height, and nodes should have it right.
    poses, _, _ = fit(atlas, points[few], seeds, widths, 4 if thorough else 3)
    ratings, _ = rate(atlas, scan, points, few, poses)
    poses = poses[np.argsort(-ratings.mean(axis=1, dtype=np.float64), kind="stable")]
    chosen = np.empty(KEEP, dtype=np.int64)
    poses = poses[chosen[: spread(poses, RADIUS / unit, TURN, chosen)]]
    fitted = 6 if tilt else 4
    widths = np.array(FINE) * max(FINEST, unit) / unit
    poses, normal, sums = fit(atlas, points[many], poses, widths, fitted)
    ratings, kinds = rate(atlas, scan, points, many, poses)
    best = np.argsort(-ratings.mean(axis=1, dtype=np.float64), kind="stable")
    return SpaceFits(
        poses[best], fitted, normal[best], sums[best], points[many], ratings[best], kinds[best]
    )


def fit(
    atlas: VoxelAtlas, ends: FloatArray, poses: FloatArray, widths: FloatArray, fitted: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Poses moved to where the beams end at walls, and normal matrices and sums there."""
    from isovist.kernels.align3d import align_in_space

    moved = np.array(poses)
    normal, sums = np.zeros((len(poses), 6, 6)), np.zeros((len(poses), 2))
    cells = np.ascontiguousarray(ends / atlas.world.resolution)
    align_in_space(atlas.wall_distance, cells, widths, DAMPING, fitted, moved, normal, sums)
    return moved, normal, sums


def rate(
    atlas: VoxelAtlas, scan: CloudScan, points: FloatArray, index: IntArray, poses: FloatArray
) -> tuple[Float32Array, NDArray[np.uint8]]:
    """ℓ and kind of each beam from each pose, both of shape (K, m)."""
    from isovist.kernels.score3d import score_in_space

    unit = atlas.world.resolution
    ratings = np.empty((len(poses), len(index)), dtype=np.float32)
    kinds = np.empty(ratings.shape, dtype=np.uint8)
    # Beams end at faces of cells, half a side before their centres.
    sigma = np.hypot(NOISE, 0.5 * unit)
    model = np.array([sigma, REACH, *MIXTURE, *UNSEEN, SLACK[0] + unit, SLACK[1] + unit])
    shine, strengths, gloss = np.empty(0), np.empty(0), np.ones(3)
    if intensities_match(atlas, scan):
        dull, bright = atlas.shine or (0.0, 1.0)
        shine, strengths = np.asarray(atlas.world.reflectance), np.asarray(scan.intensities)[index]
        gloss = np.array([GLOSS[0] * (bright - dull), bright - dull, GLOSS[1]])
    score_in_space(
        atlas.clear, atlas.bare, atlas.wall_distance, unit, model, shine, gloss,
        np.ascontiguousarray(points[index]), strengths, poses, ratings, kinds,
    )  # fmt: skip
    return ratings, kinds


def intensities_match(atlas: VoxelAtlas, scan: CloudScan) -> bool:
    """Whether map and scan have intensities, in units that can be compared.

    They can when the middle one of the scan lies among those of the walls.
    """
    if atlas.shine is None or scan.intensities is None:
        return False
    dull, bright = atlas.shine
    slack = 0.5 * (bright - dull)
    return bool(dull - slack <= np.median(scan.intensities) <= bright + slack)
