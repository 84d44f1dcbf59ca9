"""Test whether a scan would fit better mirrored, larger or smaller.

A lidar that is mounted upside down gives a mirrored scan. A map with a wrong resolution makes every
scan too large or too small. Such a scan may fit at a single wrong place. So before a place is
called unique, the scan is also tried

- 5 % larger and smaller, from that place;
- if the fit is mediocre, also 10 and 15 % larger and smaller, and mirrored, on the whole map.

Another size must fit better by d_min of `decide`, the margin that rules out a competitor. A
mirrored scan must fit better by τ. Right places pass: on six real logs no unique answer is lost
(`isovist bench carmen`). The largest gain there is 0.27 nats at another size, and none mirrored.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from isovist.arrays import FloatArray
from isovist.localization.answer import Estimate
from isovist.localization.candidates.map_streams import find_candidates
from isovist.localization.query.query import Query
from isovist.localization.reasons import Facts, Reason
from isovist.localization.scoring.coarse_to_fine import CandidateFitter
from isovist.localization.settings import LocalizationSettings
from isovist.sensing import ScanSequence

SCALE_FACTORS = (0.95, 1.05)
"""Sizes that every unique place must be compared with. Maps are right to about 2 %
(docs/limits.md)."""
WIDE_SCALE_FACTORS = (0.85, 0.9, 1.1, 1.15)
"""Further sizes for a place that fits no better than mediocre."""
SEARCH_REDUCTION = 6
"""Divisor of the numbers of nodes, candidates and fits of a mirrored scan. Of four logs and three
maps, 54 scans fit better mirrored than at their unique place: all are found so, and all with 10."""


def min_gains(settings: LocalizationSettings) -> tuple[float, float]:
    """Return how much better a scan must fit at another size, and mirrored, in nats per beam."""
    return settings.refutation.min_lead_nats, math.sqrt(settings.refutation.softness)


def find_better_alternative(query: Query, best: Estimate) -> tuple[Reason | None, Facts]:
    """Test whether the scan fits better at another size or mirrored.

    Args:
        query: The scan, and where to search for it.
        best: The unique place.

    Returns:
        Why the place is not unique, and the numbers for that reason; `None` if it is unique.
    """
    space, settings = query.space, query.settings
    scale_gain, mirror_gain = min_gains(settings)
    is_mediocre = best.score < settings.alternatives.good_score_nats
    factors = (*SCALE_FACTORS, *WIDE_SCALE_FACTORS) if is_mediocre else SCALE_FACTORS
    scores, _ = fit_rescaled(query, factors, best)
    for factor, score in zip(factors, scores.tolist(), strict=True):
        if score > best.score + scale_gain:
            return Reason.SCALE_FITS_BETTER, {"scale": factor}
    if is_mediocre:
        mirrored, reduced = query.scans.mirrored(), with_smaller_search(settings)
        candidates = find_candidates(space, mirrored, query.region, reduced).poses
        fits = CandidateFitter(space, mirrored, reduced).fit_best(candidates, 1)
        if len(fits) and fits.scores[0] > best.score + mirror_gain:
            return Reason.MIRROR_FITS_BETTER, {}
    return None, {}


@lru_cache
def with_smaller_search(
    settings: LocalizationSettings, divisor: int = SEARCH_REDUCTION
) -> LocalizationSettings:
    """Return settings with fewer nodes, candidates and fits in the first search."""
    search, fit = settings.search, settings.fit
    return replace(
        settings,
        search=replace(
            search,
            max_nodes=max(search.max_nodes // divisor, 1),
            first_candidates=max(search.first_candidates // divisor, 1),
        ),
        fit=replace(fit, first_rated=max(fit.first_rated // divisor, 1)),
    )


def fit_rescaled(
    query: Query, factors: Sequence[float], start: Estimate
) -> tuple[FloatArray, FloatArray]:
    """Fit a scan with its ranges multiplied by each of F factors.

    Args:
        query: The scan, and the map or maps.
        factors: The factors of the ranges.
        start: The place to fit from.

    Returns:
        Mean rating of a beam in nats, shape (F,), and poses of the level sensor frame in m and rad,
        shape (F, D).
    """
    space, scan, settings = query.space, query.scans, query.settings
    poses = (start.pose @ scan.T_robot_level).vector[None]
    if isinstance(scan, ScanSequence):
        fits = [
            CandidateFitter(space, scan.scaled(factor), settings).fit_best(poses, 1)
            for factor in factors
        ]
        scores = np.array([fit.scores[0] for fit in fits])
        return scores, np.concatenate([fit.poses for fit in fits])
    beams = space.beams(scan, settings.fit.fine_beams, settings.scoring.group)
    widths, n = settings.all_widths(space), space.fitted(False)
    return space.fit_scaled(beams, poses, widths, n, settings.model, factors)
