"""Count a wall that was removed since the map was made as one piece of evidence.

The map may show a pane of glass, a door that is now open, or a partition that was taken down. A
beam that should end there goes through. At the right place, a dozen neighbouring groups of beams
then speak against it, all for the same reason.

So neighbouring groups whose beams go through a wall count as one, if the map explains what the
beams meet behind the wall. Let ℓ′ be the rating of a beam as if no wall stood in its way. Of such
a run of groups, the one that gains most by ℓ′ keeps its rating ℓ. The others get ℓ′. At a wrong
place the map seldom explains what lies behind a wall, so ℓ′ is no better than ℓ and nothing
changes. Nothing changes either if more than half of the groups look through walls. A beam that
goes through a wall never counts as explained.

Without this step, 45 of 104 000 answers of `bench calibrate`, seed 51, are unique and wrong. In 37
of the 45 scans more beams go through walls at the right place than at the wrong one.
"""

import math
from dataclasses import replace
from functools import lru_cache

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import SearchSpace
from isovist.localization.fitting.sequence_fit import rate
from isovist.localization.scoring.hypotheses import Fits, log_likelihoods
from isovist.localization.settings import LocalizationSettings


def allow_for_removed_walls(
    space: SearchSpace, fits: Fits, settings: LocalizationSettings, poses: FloatArray | None = None
) -> FloatArray:
    """Summarize fits with each removed wall counted once.

    Args:
        space: The map or maps.
        fits: Fitted and scored poses.
        settings: How beams are rated, and the smallest gain of a group that counts.
        poses: Poses at which the beams were rated, in m and rad, shape (K, D); those of the fits
            if `None`.

    Returns:
        Summaries as `summarize` gives them, shape (K, 3 + C).
    """
    from isovist.compute import THROUGH, credit_removed_walls

    ratings, kinds, beams = fits.ratings, fits.kinds, fits.beams
    see_through = fits.see_through_ratings if poses is None else None
    if see_through is None:
        rows = np.flatnonzero((kinds == THROUGH).any(axis=1))
        if len(rows) == 0:
            return fits.summaries
        see_through = np.empty_like(ratings)
        rated = (fits.poses if poses is None else poses)[rows]
        see_through[rows], _ = rate(space, beams, rated, see_through_settings(settings))
    min_gain, adjusted = math.sqrt(settings.refutation.softness), np.empty_like(fits.summaries)
    credit_removed_walls(
        ratings, kinds, see_through, beams.order, beams.starts, beams.columns, min_gain,
        fits.summaries, adjusted,
    )  # fmt: skip
    return adjusted


def adjusted_log_likelihoods(
    space: SearchSpace, fits: Fits, settings: LocalizationSettings, poses: FloatArray | None = None
) -> FloatArray:
    """Return log-likelihoods, with removed walls counted once where that applies, shape (K,)."""
    summaries = fits.summaries
    if allows_removed_walls(space):
        summaries = allow_for_removed_walls(space, fits, settings, poses)
    return log_likelihoods(summaries, settings)


def allows_removed_walls(space: SearchSpace) -> bool:
    """Return whether removed walls are also counted once in the log-likelihood: only in 2D.

    In 3D there is a floor behind every wall, which explains the ends of beams by chance. On 20
    scans of a building, places on a street reached a median probability of 0.29 with this
    allowance, and 0.01 without it.
    """
    return space.dimension == 2


@lru_cache
def see_through_settings(settings: LocalizationSettings) -> LocalizationSettings:
    """Return settings that rate only the end of a beam, not the walls that it goes through."""
    model = replace(settings.model, behind_share=1.0)
    return replace(settings, model=model)
