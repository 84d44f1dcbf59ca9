"""How far a place can slide, as along a corridor.

A fit knows its pose by how distances to walls change where beams end (`spread`).  Walls of real
maps are rough, so that they change along a smooth corridor as well as across it, and a fit takes
itself for as firm along it.  What the scan is worth on the way tells better: with L(s) of `judge`
(1) at the pose moved by s along the longest axis of its ellipse,

    σ² = Σ_s s² exp(L(s) − L_max) / Σ_s exp(L(s) − L_max),        |s| ≤ 0.5 m,                (1)

beyond which it is another place.  Where that is much more than the fit says, it counts.  On both
splits of six logs this is so in one right answer of five; the ellipses of 95 % then hold 93 % on
the second half of infinite-corridor, and 86 % before.
"""

from functools import lru_cache

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas import Beams, SearchSpace
from isovist.localization.fitting.covariance import major_axis
from isovist.localization.scoring.hypotheses import log_likelihoods, summarize
from isovist.localization.settings import LocalizationSettings

STEPS = 8
"""To either side."""
MIN_STD_RATIO = 2.0
"""Times the standard deviation of a fit: below that the two say the same, as a rule."""


def widen_along_weak_axis(
    atlas: SearchSpace,
    beams: Beams,
    pose: FloatArray,
    spread: FloatArray,
    settings: LocalizationSettings,
) -> FloatArray:
    """The covariance of the fit of some beams, wider where it can slide, shape (n, n).

    Args:
        atlas: The map, described.
        beams: Of one scan.
        pose: That was fitted, shape (D,).
        spread: Its covariance, shape (n, n).
        settings: How to rate, and what another place is.
    """
    variance, axis = major_axis(spread)
    ways = _offsets(settings.same[0])
    poses = np.empty((len(ways), len(pose)))
    poses[:] = pose
    poses[:, :2] += ways[:, None] * axis
    worth = log_likelihoods(summarize(beams, *atlas.rate(beams, poses, settings.model)), settings)
    share = np.exp(worth - worth.max())
    wide = float(share @ ways**2 / share.sum())
    if wide <= MIN_STD_RATIO**2 * variance:
        return spread
    wider = spread.copy()
    wider[:2, :2] += (wide - variance) * np.outer(axis, axis)
    return wider


@lru_cache
def _offsets(reach: float) -> FloatArray:
    """s of (1) in m."""
    return readonly(np.linspace(-reach, reach, 2 * STEPS + 1))
