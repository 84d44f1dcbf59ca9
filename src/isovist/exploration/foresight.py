"""What a sensor would see from somewhere, and how well it would tell places apart.

A beam that would be z m long at place i would, at place j, end D m from the nearest wall, or
behind a wall at r.  It is rated by the measurement model of `compute.likelihood.beam_model`,

    ℓ_ij = log(Z (a N(miss; σ) + b [z < r] / max(r, r₀)) + c),                            (1)

with a wider σ: a tracker shifts places a little before it rates them.  The difference
δ = ℓ_ii − ℓ_ij is what the tracker's refutation (`tracking.bank`, equation 2) is made of.

The information of a scan about its pose is the normal matrix of its beams,

    H = Σ_k g_k g_kᵀ / σ²,      g = ∂r/∂(x, y, yaw),                                      (2)

by central differences; a slope that is too steep is a jump from one wall to another, and is cut.
"""

from dataclasses import replace

import numpy as np

from isovist.arrays import BoolArray, Float32Array, FloatArray
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.atlas.settings import BeamModel
from isovist.exploration.settings import ExplorationSettings
from isovist.maps.base import Ending
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import Pose, unit_vectors


def predict(walls: OccupancyMap, poses: Pose, bearings: FloatArray, longest: float) -> FloatArray:
    """Predict the ranges of beams from poses of the sensor, shape (...), in m, shape (..., m).

    Poses are those in the world.

    Beams that meet no wall within `longest` m are infinite; inside walls they have length 0.
    """
    along = unit_vectors(poses.vector[..., 2:] + bearings)
    hits = walls.cast(poses.position[..., None, :], along, maximum=longest)
    hit = (hits.endings == Ending.WALL) | (hits.ranges == 0.0)
    return np.where(hit, hits.ranges, np.inf)


def separate(
    atlas: PlaneAtlas,
    walls: OccupancyMap,
    poses: Pose,
    bearings: FloatArray,
    longest: float,
    model: BeamModel,
    blur: float,
) -> tuple[Float32Array, BoolArray]:
    """Return how well each beam separates every pair of places (δ), and which beams return.

    Args:
        atlas: The map.
        walls: What beams end at.
        poses: Poses of the sensor in the world, from each of K places at each of V views, shape (V,
            K).
        bearings: Bearings of the beams in rad, shape (m,).
        longest: Range of the sensor in m.
        model: What a range is worth.
        blur: The part of σ of (1) that the cells do not add, in m.

    Returns:
        δ when i is true and j is not, shape (V, i, j, m), 0 where there is no return; and where
        there is one, shape (V, i, m).
    """
    from isovist.compute.likelihood import score2d

    z = predict(walls, poses, bearings, longest).astype(np.float32)
    cells = atlas.to_cells(poses.vector)
    along = unit_vectors(cells[..., 2:] + bearings).astype(np.float32)
    V, K, m = z.shape
    delta = np.empty((V, K, K, m), dtype=np.float32)
    score2d.separate_views(
        atlas.wall_distance, atlas.world.resolution, atlas.model(replace(model, noise=blur)), z,
        along, cells[..., :2].astype(np.float32, order="C"), delta,
    )  # fmt: skip
    return delta, np.isfinite(z) & (z > 0.0)


def information(
    walls: OccupancyMap,
    poses: Pose,
    bearings: FloatArray,
    longest: float,
    noise: float,
    settings: ExplorationSettings,
) -> FloatArray:
    """Return the information matrix H of (2) for sensor poses (...), shape (..., 3, 3).

    It is that of (x, y, yaw) in the world.
    """
    steepest, shift = settings.slopes
    sides = np.stack([np.eye(3), -np.eye(3)]) * shift
    moved = Pose.from_vector(poses.vector[..., None, None, :] + sides)
    ranges = predict(walls, moved, bearings, longest)
    here = predict(walls, poses, bearings, longest)
    with np.errstate(invalid="ignore"):
        slope = (ranges[..., 0, :, :] - ranges[..., 1, :, :]) / (2.0 * shift)
    arm = np.where(np.isfinite(here), here, 0.0)[..., None, :]
    steep = steepest * np.concatenate([np.ones_like(arm)] * 2 + [arm], axis=-2)
    known = np.isfinite(slope).all(axis=-2, keepdims=True) & np.isfinite(here)[..., None, :]
    g = np.where(known, np.clip(np.nan_to_num(slope), -steep, steep), 0.0)
    return np.asarray(g @ np.swapaxes(g, -1, -2) / noise**2)
