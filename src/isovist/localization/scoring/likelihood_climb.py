"""The best score near each place that contends for the first rank."""

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import SearchSpace
from isovist.localization.fitting.covariance import coordinate_vector
from isovist.localization.scoring.hypotheses import Fits, log_likelihoods, summarize
from isovist.localization.settings import LocalizationSettings


def climb_likelihood(
    atlas: SearchSpace, fits: Fits, settings: LocalizationSettings, totals: FloatArray
) -> tuple[Fits, FloatArray]:
    """The fits that contend for the first place, with the ratings of the best pose near each.

    A fit brings the ends of beams to walls; what they are worth along the way is not in it, and
    differs by more within a few cm than between two places that contend.  Fits keep their poses:
    those with the best rating are not nearer to the truth.

    Args:
        atlas: The map, described.
        fits: Of unlike places; those of several scans, which may move against each other, stay.
        settings: How far around them to look.
        totals: What each is worth (`Fits.worth`).

    Returns:
        The fits, and what each is then worth in the same way, never less.
    """
    step, turn, _ = settings.nearby
    chosen = within_margin(totals, settings)
    if len(chosen) < 2 or fits.known is not None:
        return fits, totals
    totals = totals.copy()
    best = fits.select(chosen)
    poses, reached, n = best.poses.copy(), best.totals(settings), atlas.fitted(False)
    ratings, kinds = fits.ratings.copy(), fits.kinds.copy()
    moves = np.zeros((2 * n, poses.shape[1]))
    moves[:n, :n] = np.diag(coordinate_vector(step, turn, n))
    moves[n:] = -moves[:n]
    for share in (1.0, 0.5, 0.25):
        moved = np.arange(len(chosen))
        for _twice in range(2):
            tried = (poses[moved, None] + share * moves).reshape(-1, poses.shape[1])
            rated = atlas.rate(fits.beams, tried, settings.model)
            worth = log_likelihoods(summarize(fits.beams, *rated), settings).reshape(len(moved), -1)
            k = np.argmax(worth, axis=1)
            better = np.flatnonzero(worth.max(axis=1) > reached[moved])
            at, moved = better * len(moves) + k[better], moved[better]
            poses[moved], reached[moved] = tried[at], worth[better, k[better]]
            ratings[chosen[moved]], kinds[chosen[moved]] = rated[0][at], rated[1][at]
            if moved.size == 0:  # from where they stayed the same steps would be tried again
                break
    found = Fits(fits.fit, fits.beams, ratings, kinds)
    totals[chosen] = np.maximum(totals[chosen], found.select(chosen).worth(atlas, settings, poses))
    return found, totals


def within_margin(totals: FloatArray, settings: LocalizationSettings) -> IntArray:
    """Which of several places may come first by the best pose near each, from their worth."""
    return (totals >= totals.max() - settings.nearby[2]).nonzero()[0]
