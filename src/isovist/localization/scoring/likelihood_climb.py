"""Climb to the best log-likelihood near each place that may be the most likely one."""

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.atlas import SearchSpace
from isovist.localization.fitting.covariance import coordinate_vector
from isovist.localization.scoring.hypotheses import Fits, log_likelihoods, summarize
from isovist.localization.scoring.removed_walls import adjusted_log_likelihoods
from isovist.localization.settings import LocalizationSettings

STEP_SHARES = (1.0, 0.5, 0.25)
"""Sizes of the steps, relative to that of the settings."""
STEPS_PER_SIZE = 2


def climb_likelihood(
    space: SearchSpace, fits: Fits, settings: LocalizationSettings, likelihoods: FloatArray
) -> tuple[Fits, FloatArray]:
    """Rate the leading fits at the most likely pose near each of them.

    A fit moves the ends of beams onto walls. It ignores what the beams pass on the way, which
    changes more within a few centimetres than between two leading places. The fits keep their
    poses: the most likely pose is not more accurate than the fitted one.

    Args:
        space: The map or maps.
        fits: Fits of distinct places. Those of a sequence of scans are returned as they are.
        settings: Size of the steps, and how far behind the best a fit may lie.
        likelihoods: Log-likelihood of each fit (`adjusted_log_likelihoods`), shape (K,).

    Returns:
        The fits with the ratings of the pose that was reached, and their log-likelihoods there,
        which are never lower, shape (K,).
    """
    leading = within_margin(likelihoods, settings)
    if len(leading) < 2 or fits.information is not None:
        return fits, likelihoods
    likelihoods = likelihoods.copy()
    best = fits.select(leading)
    poses, reached = best.poses.copy(), log_likelihoods(best.summaries, settings)
    ratings, kinds = fits.ratings.copy(), fits.kinds.copy()
    moves = _moves(space.fitted(False), poses.shape[1], settings)
    for share in STEP_SHARES:
        active = np.arange(len(leading))
        for _ in range(STEPS_PER_SIZE):
            trials = (poses[active, None] + share * moves).reshape(-1, poses.shape[1])
            rated = space.rate(fits.beams, trials, settings.model)
            values = log_likelihoods(summarize(fits.beams, *rated), settings)
            values = values.reshape(len(active), -1)
            k = np.argmax(values, axis=1)
            better = np.flatnonzero(values.max(axis=1) > reached[active])
            row, active = better * len(moves) + k[better], active[better]
            poses[active], reached[active] = trials[row], values[better, k[better]]
            ratings[leading[active]], kinds[leading[active]] = rated[0][row], rated[1][row]
            if active.size == 0:  # the same steps from the same poses would fail again
                break
    climbed = Fits(fits.fit, fits.beams, ratings, kinds)
    at_top = adjusted_log_likelihoods(space, climbed.select(leading), settings, poses)
    likelihoods[leading] = np.maximum(likelihoods[leading], at_top)
    return climbed, likelihoods


def within_margin(likelihoods: FloatArray, settings: LocalizationSettings) -> IntArray:
    """Return the indices of the places that a climb may bring to the first rank."""
    return (likelihoods >= likelihoods.max() - settings.scoring.climb_range_nats).nonzero()[0]


def _moves(n: int, width: int, settings: LocalizationSettings) -> FloatArray:
    """Return a step forth and back along each fitted coordinate, shape (2n, width)."""
    moves = np.zeros((2 * n, width))
    moves[:n, :n] = np.diag(coordinate_vector(*settings.scoring.climb_step, n))
    moves[n:] = -moves[:n]
    return moves
