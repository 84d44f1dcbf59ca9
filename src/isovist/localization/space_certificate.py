"""What the descriptors say about an answer in space: how fast they leave it.

As in `certificate`, with the returns that agree with the map spread evenly over directions and put
through a rose on the sphere: F_i(s) = Σ_b log(1 + r(b; s)) w_i(b) / m.  Its slopes by (x, y, z) and
by yaw are central differences of cast ranges, and μ is the least singular value of the first three
with the last taken out.  No bound is claimed: a sum over single rays jumps where one passes an
edge, so its differences bound nothing between the samples.
"""

import numpy as np

from isovist.atlas.space import VoxelAtlas
from isovist.localization.certificate import AGREE, TURN, Certificate
from isovist.poses import Pose, Pose3
from isovist.roses import Rose
from isovist.sensing.cloud_scan import CloudScan
from isovist.types import FloatArray

WIDTH = np.deg2rad(2.0)  # of the bins of directions
CHANNELS = 64
STEP = 0.05  # m, and at least a cell


def certify_in_space(
    atlas: VoxelAtlas, scan: CloudScan, pose: Pose3, rivals: list[Pose]
) -> Certificate:
    """μ at an estimate and the distance to its nearest rival.

    Args:
        atlas: The map.
        scan: What the sensor saw.
        pose: The estimate: the sensor in the world.
        rivals: The other places that explain the scan, the sensor in the world.
    """
    separation = min((float(np.hypot(r.x - pose.x, r.y - pose.y)) for r in rivals), default=np.inf)
    points = scan.level_points[scan.spread(WIDTH)]
    ranges = np.linalg.norm(points, axis=1)
    along = points / ranges[:, None]
    h = max(STEP, atlas.world.resolution)
    # The estimate itself, then a step along and against each axis.
    ends = np.diag([h, h, h, TURN])
    states = np.array([pose.x, pose.y, pose.z, pose.yaw]) + np.concatenate(
        [np.zeros((1, 4)), ends, -ends]
    )
    predicted = np.stack([_predict(atlas, along, state) for state in states])
    agree = np.isfinite(predicted).all(axis=0)
    agree &= np.abs(predicted[0] - np.log1p(ranges)) < AGREE
    assumptions = (
        "in space no bound is claimed: ranges along single rays jump at edges",
        f"μ is that of the {agree.mean():.0%} of the beams that agree with the map here",
    )
    if agree.sum() < CHANNELS:
        return Certificate(0.0, np.inf, False, separation, assumptions)
    F = predicted[:, agree] @ Rose.fibonacci(CHANNELS).weights(along[agree]) / agree.sum()
    slopes = (F[1:5] - F[5:9]) / (2.0 * np.array([h, h, h, TURN]))[:, None]
    length = float(np.linalg.norm(slopes[3]))
    q = slopes[3] / length if length > 0.0 else slopes[3]
    J = slopes[:3] - np.outer(slopes[:3] @ q, q)
    mu = float(np.linalg.svd(J, compute_uv=False)[-1])
    return Certificate(mu, np.inf, False, separation, assumptions)


def _predict(atlas: VoxelAtlas, along: FloatArray, state: FloatArray) -> FloatArray:
    """log(1 + r) along level directions from (x, y, z, yaw), shape (m,)."""
    turned = along @ Pose3(yaw=float(state[3])).rotation.T
    return np.asarray(np.log1p(atlas.world.cast(state[:3], turned).ranges))
