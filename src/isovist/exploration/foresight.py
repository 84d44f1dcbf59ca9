"""Predict scans, and how well they tell places apart.

A beam that would be z m long at place i would, at place j, end D m from the nearest wall, or
behind a wall at r.  It is rated by the measurement model of `compute.likelihood.beam_model`,

    ℓ_ij = log(Z (a N(miss; σ) + b [z < r] / max(r, r₀)) + c),                            (1)

with a wider σ: a tracker shifts places a little before it rates them.  The difference
δ = ℓ_ii − ℓ_ij is what the tracker's refutation is made of (`tracking.hypotheses.bank`, equation
2).

The information of a scan about its pose is the normal matrix of its beams,

    H = Σ_k g_k g_kᵀ / σ²,      g = ∂r/∂(x, y, yaw),                                      (2)

by central differences; a slope that is too steep is a jump from one wall to another, and is cut.
"""

from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import BoolArray, Float32Array, FloatArray
from isovist.atlas import BeamModel
from isovist.exploration.paths import Ground
from isovist.maps import Ending, OccupancyMap
from isovist.poses import Pose, unit_vectors


@dataclass(frozen=True, slots=True, eq=False)
class Foresight:
    """A predictor of scans with a few beams, for poses of the robot on the ground.

    Attributes:
        ground: The ground that the robot drives on.
        bearings: Bearings of the beams in rad, shape (m,).
        reach: Longest range of a beam, in m.
    """

    ground: Ground
    bearings: FloatArray
    reach: float

    def ranges(self, poses: Pose) -> FloatArray:
        """Predict the ranges in m, shape (…, m), for sensor poses in the world, shape (…)."""
        return predict(self.ground.walls, poses, self.bearings, self.reach)

    def separate(self, poses: Pose, model: BeamModel) -> tuple[Float32Array, BoolArray]:
        """Return how well each beam distinguishes each pair of places, and which beams return.

        Args:
            poses: Sensor poses in the world, for V views from each of K places, shape (V, K).
            model: Beam model, whose σ is replaced by that of the settings.

        Returns:
            δ if i is the true place and j is not, shape (V, i, j, m), 0 without a return.  Then a
            mask of the beams that return, shape (V, i, m).
        """
        from isovist.compute import separate_views

        plane = self.ground.plane
        model = replace(model, noise=self.ground.settings.foresight.sigma_m)
        z = self.ranges(poses).astype(np.float32)
        cells = plane.to_cells(poses.vector)
        directions = unit_vectors(cells[..., 2:] + self.bearings).astype(np.float32)
        V, K, m = z.shape
        delta = np.empty((V, K, K, m), dtype=np.float32)
        separate_views(
            plane.wall_distance, plane.world.resolution, plane.model(model), z,
            directions, cells[..., :2].astype(np.float32, order="C"), delta,
        )  # fmt: skip
        return delta, np.isfinite(z) & (z > 0.0)

    def information(self, poses: Pose, noise: float) -> FloatArray:
        """Return the information matrix H of (2) at sensor poses (…), shape (…, 3, 3).

        It is the information about (x, y, yaw) in the world from ranges with a standard deviation
        `noise` (m).
        """
        settings = self.ground.settings.foresight
        sides = np.stack([np.eye(3), -np.eye(3)]) * settings.step
        ranges = self.ranges(Pose.from_vector(poses.vector[..., None, None, :] + sides))
        centre = self.ranges(poses)
        with np.errstate(invalid="ignore"):
            slope = (ranges[..., 0, :, :] - ranges[..., 1, :, :]) / (2.0 * settings.step)
        arm = np.where(np.isfinite(centre), centre, 0.0)[..., None, :]
        limit = settings.max_slope * np.concatenate([np.ones_like(arm)] * 2 + [arm], axis=-2)
        is_finite = np.isfinite(slope).all(axis=-2, keepdims=True)
        is_finite &= np.isfinite(centre)[..., None, :]
        g = np.where(is_finite, np.clip(np.nan_to_num(slope), -limit, limit), 0.0)
        return np.asarray(g @ np.swapaxes(g, -1, -2) / noise**2)


def predict(walls: OccupancyMap, poses: Pose, bearings: FloatArray, reach: float) -> FloatArray:
    """Predict the ranges of beams from sensor poses in the world, in m, shape (…, m).

    A beam that meets no wall within `reach` (m) is infinite.  A beam from inside a wall has length
    0.
    """
    directions = unit_vectors(poses.vector[..., 2:] + bearings)
    hits = walls.cast(poses.position[..., None, :], directions, maximum=reach)
    hit = (hits.endings == Ending.WALL) | (hits.ranges == 0.0)
    return np.where(hit, hits.ranges, np.inf)
