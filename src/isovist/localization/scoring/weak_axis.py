"""Widen the covariance of a pose that can slide, as along a corridor.

A fit estimates its covariance from how the distances to walls change at the ends of beams
(`covariance`). The walls of real maps are rough, so these distances change along a smooth corridor
too, and the covariance is too small there. The log-likelihood shows better how far the pose can
slide. Let L(s) be that of equation (1) of `decide`, with the pose moved by s along the major axis
of its ellipse. Then

    σ² = Σ_s s² exp(L(s) − L_max) / Σ_s exp(L(s) − L_max),        |s| ≤ 0.5 m.                (1)

Poses farther away are other places. σ counts if it is much larger than the fit's own value. On both
splits of six logs that is so in one right answer out of five. On the second half of
infinite-corridor the ellipses of 95 % then contain 93 % of the true positions, and 86 % without it.
"""

from functools import lru_cache

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas import Beams, SearchSpace
from isovist.localization.fitting.covariance import major_axis
from isovist.localization.scoring.hypotheses import log_likelihoods, summarize
from isovist.localization.settings import LocalizationSettings

STEPS = 8
"""Number of steps to either side."""
MIN_STD_RATIO = 2.0
"""Smallest ratio of σ to the standard deviation of the fit that widens the covariance. Below it the
two agree, as a rule."""


def widen_along_weak_axis(
    space: SearchSpace,
    beams: Beams,
    pose: FloatArray,
    covariance: FloatArray,
    settings: LocalizationSettings,
) -> FloatArray:
    """Return the covariance of a fit, wider along its major axis if the pose can slide there.

    Args:
        space: The map or maps.
        beams: Beams of one scan.
        pose: Fitted pose of the level sensor frame in m and rad, shape (D,).
        covariance: Its covariance in m and rad, shape (n, n).
        settings: How beams are rated, and the distance between two places.
    """
    variance, axis = major_axis(covariance)
    offsets = _offsets(settings.decision.same_place_m)
    poses = np.empty((len(offsets), len(pose)))
    poses[:] = pose
    poses[:, :2] += offsets[:, None] * axis
    rated = space.rate(beams, poses, settings.model)
    likelihoods = log_likelihoods(summarize(beams, *rated), settings)
    weights = np.exp(likelihoods - likelihoods.max())
    sliding = float(weights @ offsets**2 / weights.sum())
    if sliding <= MIN_STD_RATIO**2 * variance:
        return covariance
    wider = covariance.copy()
    wider[:2, :2] += (sliding - variance) * np.outer(axis, axis)
    return wider


@lru_cache
def _offsets(reach: float) -> FloatArray:
    """Return the offsets s of (1) in m, shape (2 · STEPS + 1,).  Read-only."""
    return readonly(np.linspace(-reach, reach, 2 * STEPS + 1))
