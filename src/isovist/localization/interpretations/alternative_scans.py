"""Would the scan fit better if it were another: turned over, or larger, or smaller?

A lidar that hangs upside down gives a mirrored scan, and a map whose resolution is off one of the
wrong size.  Either may fit somewhere, and alone there, so before a place is called unique the scan
is tried the other way: 5 % larger and smaller from that place, and, where the fit is mediocre, also
10 and 15 %, and mirrored everywhere.  A size must fit better by d_min, as what refutes a rival
does, a mirrored scan by τ.  A true place stands this: of the unique answers on six real logs none
is lost (`isovist bench carmen`); the largest gains are 0.27 nats at another size, none mirrored.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import SearchSpace
from isovist.localization.answer import Estimate
from isovist.localization.candidates.map_streams import find_candidates
from isovist.localization.query.search_space import SearchRegion
from isovist.localization.reasons import Facts, Reason
from isovist.localization.scoring.coarse_to_fine import refine_best
from isovist.localization.settings import LocalizationSettings
from isovist.sensing import ScanInput, ScanSequence

SCALE_FACTORS = (0.95, 1.05)
WIDE_SCALE_FACTORS = (0.85, 0.9, 1.1, 1.15)
"""Sizes that a unique answer must stand, the second where it fits no better than mediocre; a map is
right to about 2 % (docs/limits.md)."""
SEARCH_REDUCTION = 6
"""Of nodes, candidates and fits a mirrored scan has one in so many: of 54 scans of four logs and
three maps that fit better mirrored than where they were alone, all are found so, and all with one
in ten."""


def min_gains(settings: LocalizationSettings) -> tuple[float, float]:
    """By how much a scan must fit better at another size, and mirrored, in nats per beam."""
    return settings.refuted[1], math.sqrt(settings.refuted[2])


def find_better_alternative(
    atlas: SearchSpace,
    scan: ScanInput,
    best: Estimate,
    region: SearchRegion,
    settings: LocalizationSettings,
) -> tuple[Reason | None, Facts]:
    """Return why a unique place cannot be believed; `None` when it can."""
    sized, turned = min_gains(settings)
    mediocre = best.score < settings.poor[1]
    factors = (*SCALE_FACTORS, *WIDE_SCALE_FACTORS) if mediocre else SCALE_FACTORS
    scores, _ = fit_rescaled(atlas, scan, factors, best, settings)
    for factor, score in zip(factors, scores.tolist(), strict=True):
        if score > best.score + sized:
            return Reason.SCALE_FITS_BETTER, {"scale": factor}
    if mediocre:
        over = scan.mirrored()
        few = with_smaller_search(settings)
        fits = refine_best(atlas, over, find_candidates(atlas, over, region, few).poses, few, 1)
        if len(fits) and fits.scores[0] > best.score + turned:
            return Reason.MIRROR_FITS_BETTER, {}
    return None, {}


@lru_cache
def with_smaller_search(
    settings: LocalizationSettings, share: int = SEARCH_REDUCTION
) -> LocalizationSettings:
    """The same with one in so many of all that is tried at a first look."""
    (nodes, headings), (seeds, more), ((followed, kept), closer) = (
        settings.finalists, settings.seeds, settings.keep,
    )  # fmt: skip
    return replace(
        settings,
        finalists=(max(nodes // share, 1), headings),
        seeds=(max(seeds // share, 1), more),
        keep=((max(followed // share, 1), kept), closer),
    )


def fit_rescaled(
    atlas: SearchSpace,
    scan: ScanInput,
    factors: Sequence[float],
    near: Estimate,
    settings: LocalizationSettings,
) -> tuple[FloatArray, FloatArray]:
    """A scan times each of some factors, fitted from where an estimate says that its robot is: mean
    rating of its beams in nats, shape (F,), and poses of the level frame of the sensor, (F, D).
    """
    start = (near.pose @ scan.T_robot_level).vector[None]
    if isinstance(scan, ScanSequence):
        found = [refine_best(atlas, scan.scaled(f), start, settings, 1) for f in factors]
        scores = np.array([fits.scores[0] for fits in found])
        return scores, np.concatenate([fits.poses for fits in found])
    beams = atlas.beams(scan, settings.beams[1], settings.block)
    widths, n = settings.all_widths(atlas), atlas.fitted(False)
    return atlas.fit_scaled(beams, start, widths, n, settings.model, factors)
