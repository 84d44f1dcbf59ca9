"""From candidates to hypotheses: fit and score with few beams, then with many."""

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.atlas import Beams, SearchSpace
from isovist.localization.candidates.node_search import distinct_indices
from isovist.localization.fitting.sequence_fit import fit_and_rate, fit_sequence
from isovist.localization.query.scan_views import SequenceBeams, select_beams
from isovist.localization.scoring.hypotheses import (
    Fits,
    best_first,
    group_ratings,
    is_refuted,
    summarize,
)
from isovist.localization.scoring.removed_walls import allows_removed_walls, see_through_settings
from isovist.localization.settings import LocalizationSettings
from isovist.sensing import ScanInput

Leader = FloatArray
"""Sums of the best place by few beams so far, shape (3 + C,)."""


def refine(
    atlas: SearchSpace,
    scan: ScanInput,
    seeds: FloatArray,
    settings: LocalizationSettings,
    *,
    tilt: bool = False,
    thorough: bool = False,
    leader: Leader | None = None,
) -> tuple[Fits, Leader | None]:
    """Fit candidates with few beams, and those that few beams cannot refute with many.

    Args:
        atlas: The map, described.
        scan: What the sensor saw, once or several times.
        seeds: Candidates, shape (K, D).
        settings: How to fit and to rate.
        tilt: In space, fit roll and pitch too.
        thorough: In space, fit the height from the start, in case that of the nodes is wrong.
        leader: Of candidates that were fitted before.

    Returns:
        The fits, best first, and the leader of all so far.
    """
    followed, most = (settings.share(atlas, count) for count in settings.keep[False])
    if thorough:
        rated, fitted = (count / settings.seeds[True] for count in settings.keep[True])
        followed = max(followed, round(rated * len(seeds)))
        most = max(most, round(fitted * len(seeds)))
    poses, rough = fit_coarsely(atlas, scan, seeds, settings, most=followed, thorough=thorough)
    alive, leader = _not_refuted(rough, leader, settings)
    poses = poses[alive | (np.arange(len(poses)) < most)]
    many = select_beams(atlas, scan, settings.beams[1], settings.block)
    return refit(atlas, many, poses, settings, tilt=tilt), leader


def refine_best(
    atlas: SearchSpace,
    scan: ScanInput,
    seeds: FloatArray,
    settings: LocalizationSettings,
    keep: int,
    *,
    tilt: bool = False,
    thorough: bool = False,
) -> Fits:
    """Fit candidates with few beams, and the `keep` best of them with many, best first."""
    most = settings.share(atlas, settings.keep[thorough][0])
    poses, _ = fit_coarsely(atlas, scan, seeds, settings, most=most, thorough=thorough)
    many = select_beams(atlas, scan, settings.beams[1], settings.block)
    return refit(atlas, many, poses[:keep], settings, tilt=tilt)


def fit_coarsely(
    atlas: SearchSpace,
    scan: ScanInput,
    seeds: FloatArray,
    settings: LocalizationSettings,
    *,
    most: int,
    thorough: bool,
) -> tuple[FloatArray, FloatArray]:
    """Fit candidates with few beams.

    Returns:
        The distinct poses, best first, of the `most` that the beams constrain best, and what
        `sums_of` says of each.
    """
    few = select_beams(atlas, scan, settings.beams[0], settings.block)
    # Few beams say little of the height, and nodes should have it right.
    first = atlas.fitted(False) if thorough else 3
    widths = settings.coarse_widths(atlas)
    fit, rated = fit_and_rate(atlas, few, seeds, widths, first, settings, most)
    sums = summarize(few, *rated)
    order = np.argsort(-sums[:, 0], kind="stable")
    order = order[distinct_indices(fit.poses[order], *settings.apart[1])]
    return fit.poses[order], sums[order]


def _not_refuted(
    sums: FloatArray, leader: Leader | None, settings: LocalizationSettings
) -> tuple[BoolArray, Leader | None]:
    """Return which places the best so far does not refute, and the best with these."""
    if len(sums) == 0:
        return np.empty(0, dtype=np.bool_), leader
    best = sums[0] if leader is None or sums[0, 0] > leader[0] else leader
    every = np.concatenate([best[None], sums])
    out = is_refuted(group_ratings(every), every[:, 0], float(best[1]), settings.careful())
    return ~out, best


def refit(
    atlas: SearchSpace,
    many: Beams,
    poses: FloatArray,
    settings: LocalizationSettings,
    *,
    tilt: bool,
    widths: FloatArray | None = None,
) -> Fits:
    """Poses that are nearly right, shape (K, D), fitted with many beams, from σ of the first step
    of `widths` to that of the last; of those for poses that were fitted before when `None`.
    """
    widths = settings.fine_widths(atlas) if widths is None else widths
    n = atlas.fitted(tilt)
    if isinstance(many, SequenceBeams):
        fit, rated, known = fit_sequence(atlas, many, poses, widths, n, settings)
        return best_first(Fits(fit, many, *rated, known))
    models = [settings.model]
    if allows_removed_walls(atlas):
        models.append(see_through_settings(settings).model)
    fit, told = atlas.fit_and_rate(many, poses, widths, n, models)
    return best_first(Fits(fit, many, *told[0], bare=told[1][0] if len(told) > 1 else None))
