"""What a sensor would see from somewhere, and how well it would tell places apart.

A beam that would be z m long at place i would, at place j, end D m from the nearest wall, or
behind a wall at r.  It is rated by the measurement model of `kernels.score`,

    ℓ_ij = log(Z (a N(miss; σ) + b [z < r] / max(r, r₀)) + c),                            (1)

with σ widened to `BLUR`: a tracker shifts places a little before it rates them.  The difference
δ = ℓ_ii − ℓ_ij is what the tracker's refutation (`track.bank`, equation 2) is made of.

The information of a scan about its pose is the normal matrix of its beams,

    H = Σ_k g_k g_kᵀ / σ²,      g = ∂r/∂(x, y, yaw),                                      (2)

by central differences; a slope beyond `STEEP` is a jump from one wall to another, and is cut there.
"""

import numpy as np

from isovist.atlas.plane import REACH, Atlas
from isovist.localization.refine import MIXTURE, NOISE, SLACK
from isovist.types import BoolArray, Float32Array, FloatArray

BLUR = 0.15
"""σ of (1), in m."""
STEEP = 4.0
"""Largest slope of a range, in m per m; per m of range for the yaw."""
SHIFT = 0.05
"""Of the differences, in m, and in rad."""


def predict(atlas: Atlas, poses: FloatArray, bearings: FloatArray, longest: float) -> FloatArray:
    """Ranges from poses of the sensor in the world, shape (..., 3), in m, shape (..., m).

    Beams that meet no wall within `longest` m are infinite; inside walls they have length 0.
    """
    from isovist.kernels.occupancy import cast_rays

    world = atlas.world
    shape = (*poses.shape[:-1], len(bearings))
    angles = poses[..., 2:3] + bearings - world.origin.yaw
    along = np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(-1, 2)
    start = np.broadcast_to(world.to_grid(poses[..., :2])[..., None, :], (*shape, 2))
    count = len(along)
    ranges, endings = np.empty(count), np.empty(count, dtype=np.uint8)
    cells, axes = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    reach = min(longest, REACH) / world.resolution
    cast_rays(
        atlas.bare, np.ascontiguousarray(start.reshape(-1, 2)), along, reach,
        ranges, endings, cells, axes,
    )  # fmt: skip
    hit = (endings == 0) | (ranges == 0.0)
    return np.where(hit, ranges * world.resolution, np.inf).reshape(shape)


def separate(
    atlas: Atlas, poses: FloatArray, bearings: FloatArray, longest: float
) -> tuple[Float32Array, BoolArray]:
    """δ of each beam for every pair of places, and which beams would return.

    Args:
        atlas: The map.
        poses: Of the sensor in the world, from each of K places at each of V views, shape
            (V, K, 3).
        bearings: Of the beams in rad, shape (m,).
        longest: Range of the sensor in m.

    Returns:
        δ when i is true and j is not, shape (V, i, j, m), 0 where there is no return; and where
        there is one, shape (V, i, m).
    """
    world = atlas.world
    z = predict(atlas, poses, bearings, longest).astype(np.float32)
    seen = np.isfinite(z) & (z > 0.0)
    wall = np.minimum(z, np.float32(REACH))
    z = np.where(seen, z, np.float32(0.0))
    angles = poses[..., 2:3] + bearings - world.origin.yaw
    along = np.stack([np.cos(angles), np.sin(angles)], axis=-1).astype(np.float32)
    along /= np.float32(world.resolution)
    place = world.to_grid(poses[..., :2]).astype(np.float32)
    height, width = world.shape
    length = z[:, :, None, :]
    # Half a cell on, so that a beam that ends on the face of a cell ends in it.
    end = length + np.float32(0.5 * world.resolution)
    cols = place[:, None, :, None, 0] + end * along[:, None, :, :, 0]
    rows = place[:, None, :, None, 1] + end * along[:, None, :, :, 1]
    cols = np.clip(cols, 0, width - 1).astype(np.int32)
    rows = np.clip(rows, 0, height - 1).astype(np.int32)
    miss = atlas.wall_distance[rows, cols] * np.float32(world.resolution)
    behind = length - wall[:, None, :, :]
    slack = np.float32(SLACK[0]) + np.float32(SLACK[1]) * length
    miss = np.where(behind > slack, behind, miss)
    sigma = np.hypot(NOISE, world.resolution / np.sqrt(12.0))
    a, b, nearest, random = MIXTURE
    peak = np.float32(REACH * a / (np.sqrt(2.0 * np.pi) * sigma))
    short = np.float32(REACH * b) / np.maximum(wall, np.float32(nearest))[:, None, :, :]
    hit = peak * np.exp(np.float32(-0.5 / BLUR**2) * miss * miss)
    rating = np.log(hit + np.where(behind < 0.0, short, 0.0) + np.float32(random))
    index = np.arange(poses.shape[1])
    delta = rating[:, index, index][:, :, None, :] - rating
    return np.where(seen[:, :, None, :], delta, np.float32(0.0)), seen


def information(
    atlas: Atlas, poses: FloatArray, bearings: FloatArray, longest: float
) -> FloatArray:
    """H of (2) of (x, y, yaw) in the world for poses of the sensor, (..., 3), shape (..., 3, 3)."""
    sides = np.stack([np.eye(3), -np.eye(3)]) * SHIFT
    ranges = predict(atlas, poses[..., None, None, :] + sides, bearings, longest)
    here = predict(atlas, poses, bearings, longest)
    with np.errstate(invalid="ignore"):
        slope = (ranges[..., 0, :, :] - ranges[..., 1, :, :]) / (2.0 * SHIFT)
    arm = np.where(np.isfinite(here), here, 0.0)[..., None, :]
    steep = STEEP * np.concatenate([np.ones_like(arm)] * 2 + [arm], axis=-2)
    known = np.isfinite(slope).all(axis=-2, keepdims=True) & np.isfinite(here)[..., None, :]
    g = np.where(known, np.clip(np.nan_to_num(slope), -steep, steep), 0.0)
    return np.asarray(g @ np.swapaxes(g, -1, -2) / NOISE**2)
