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

import numpy as np

from isovist.atlas.base import Site
from isovist.localization.refine import Fits
from isovist.localization.settings import LocalizationSettings
from isovist.types import FloatArray

STEPS = 8
"""To either side."""
MUCH = 2.0
"""Times the standard deviation of a fit: below that the two say the same, as a rule."""


def slid(atlas: Site, fits: Fits, spread: FloatArray, settings: LocalizationSettings) -> FloatArray:
    """The covariance of the first of some fits, wider where it can slide, shape (n, n)."""
    (_, variance), axes = np.linalg.eigh(spread[:2, :2])
    ways = np.linspace(-settings.same[0], settings.same[0], 2 * STEPS + 1)
    poses = np.repeat(fits.poses[:1], len(ways), axis=0)
    poses[:, :2] += ways[:, None] * axes[:, 1]
    there = Fits(fits.fit, fits.beams, *atlas.rate(fits.beams, poses, settings.model))
    worth = there.totals(settings)
    share = np.exp(worth - worth.max())
    wide = float(share @ ways**2 / share.sum())
    if wide <= MUCH**2 * variance:
        return spread
    wider = spread.copy()
    wider[:2, :2] += (wide - variance) * np.outer(axes[:, 1], axes[:, 1])
    return wider
