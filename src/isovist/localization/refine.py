"""From candidates to poses: fit, rate, keep the unlike best, fit again with all beams.

Poses are (x, y, yaw) of the sensor in cells of the map, as `search` gives them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.plane import REACH, Atlas
from isovist.sensing.scan import Scan
from isovist.types import Float32Array, FloatArray

FEW, MANY = 60, 180
"""Beams of the first and of the second fit; more of them see the same walls again."""
COARSE = (0.5, 0.35, 0.35, 0.25, 0.25, 0.15, 0.15)
FINE = (0.15, 0.12, 0.1, 0.1, 0.1, 0.1)
"""σ of the steps in m: from the spacing of the nodes down to two cells."""
DAMPING = 0.02
KEEP = 40
"""Places that are fitted with many beams."""
RADIUS, TURN = 0.3, 0.12
"""They are farther apart than this, in m, or turned by more, in rad."""
NOISE = 0.055
"""Of a beam against a map, in m: sensor, and the poses that the map was made with."""
MIXTURE = (0.75, 0.06, 0.5, 0.08)
"""a, b, r₀ (m) and c of the measurement model: hits, short returns, random ones."""
UNSEEN = (0.5, 0.5, 0.6)
"""u, v and λ (1/m) of the model: beyond the edge of what the map knows."""
SLACK = (0.1, 0.1)
"""s₀ (m) and s₁: a beam must end this far behind a wall to have gone through it."""


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """Places that may be right, best first.

    Attributes:
        poses: (x, y, yaw) in cells and rad, shape (K, 3).
        normal: Weighted normal matrix of each fit, as `kernels.align` gives it, shape (K, 8).
        bearings: Of the beams used, in rad, shape (m,).
        ranges: Of the beams used, in m, shape (m,).
        ratings: ℓ of each beam from each pose (`kernels.score`), shape (K, m).
        kinds: What became of each beam, shape (K, m).
    """

    poses: FloatArray
    normal: FloatArray
    bearings: FloatArray
    ranges: FloatArray
    ratings: Float32Array
    kinds: NDArray[np.uint8]


def refine(atlas: Atlas, scan: Scan, seeds: FloatArray, keep: int = KEEP) -> Fits:
    """Fit all candidates roughly, then the `keep` best unlike ones with many beams."""
    from isovist.kernels.correlate import spread

    unit = atlas.world.resolution
    bearings, ranges = thin(scan, FEW)
    poses, _ = fit(atlas, bearings, ranges, seeds, COARSE)
    ratings, _ = rate(atlas, bearings, ranges, poses)
    poses = poses[np.argsort(-ratings.mean(axis=1, dtype=np.float64), kind="stable")]
    chosen = np.empty(keep, dtype=np.int64)
    poses = poses[chosen[: spread(poses, RADIUS / unit, TURN, chosen)]]
    bearings, ranges = thin(scan, MANY)
    poses, normal = fit(atlas, bearings, ranges, poses, FINE)
    ratings, kinds = rate(atlas, bearings, ranges, poses)
    order = np.argsort(-ratings.mean(axis=1, dtype=np.float64), kind="stable")
    return Fits(poses[order], normal[order], bearings, ranges, ratings[order], kinds[order])


def thin(scan: Scan, most: int) -> tuple[FloatArray, FloatArray]:
    """Bearings and ranges of at most `most` valid beams, evenly chosen."""
    index = np.flatnonzero(scan.valid)
    if index.size > most:
        index = index[np.arange(most) * index.size // most]
    return scan.bearings[index], scan.ranges[index]


def fit(
    atlas: Atlas,
    bearings: FloatArray,
    ranges: FloatArray,
    poses: FloatArray,
    widths: tuple[float, ...],
) -> tuple[FloatArray, FloatArray]:
    """Poses moved to where the beams end at walls, and the normal matrices there."""
    from isovist.kernels.align import align

    unit = atlas.world.resolution
    ends = np.stack([ranges * np.cos(bearings), ranges * np.sin(bearings)], axis=-1) / unit
    moved = np.array(poses)
    normal = np.empty((len(poses), 8))
    align(atlas.wall_distance, ends, np.array(widths) / unit, DAMPING, moved, normal)
    return moved, normal


def rate(
    atlas: Atlas, bearings: FloatArray, ranges: FloatArray, poses: FloatArray
) -> tuple[Float32Array, NDArray[np.uint8]]:
    """ℓ and kind of each beam from each pose, both of shape (K, m)."""
    from isovist.kernels.score import score

    unit = atlas.world.resolution
    ratings = np.empty((len(poses), len(ranges)), dtype=np.float32)
    kinds = np.empty(ratings.shape, dtype=np.uint8)
    sigma = np.hypot(NOISE, unit / np.sqrt(12.0))
    model = np.array([sigma, REACH, *MIXTURE, *UNSEEN, *SLACK])
    score(
        atlas.clear, atlas.bare, atlas.wall_distance, unit, model, bearings, ranges,
        poses, ratings, kinds,
    )  # fmt: skip
    return ratings, kinds
