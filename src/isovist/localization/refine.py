"""From candidates to poses: fit, follow the beams of those whose ends lie best, rate, keep the
unlike best, fit again with more beams.
"""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray
from isovist.atlas import Beams, Fit, SearchSpace
from isovist.compute import BeamRatings
from isovist.localization.gone import counts, far, forgiven
from isovist.localization.search import unlike
from isovist.localization.settings import LocalizationSettings
from isovist.localization.several import ManyBeams, beams_of, fit_and_rate, fit_together
from isovist.localization.spread import by_coordinate
from isovist.sensing import ScanInput


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """Places that may be right, best first.

    Attributes:
        fit: Poses of the level frame of the sensor, and how firmly beams hold them.
        beams: Of the scan that were used.
        ratings: ℓ of each beam from each pose (`compute.likelihood.beam_model`), shape (K, m).
        kinds: What became of each beam, shape (K, m).
        known: What several scans together know of the poses (`several`), shape (K, n, n), per m
            and rad; `None` for one scan, where the fit says it.
        sums: Of the beams from each pose, as `compute.likelihood.aggregate.sum_beams` has them,
            shape (K, 3 + C); made of the others where they are not given.
        bare: ℓ of each beam as if nothing stood in its way (`gone`), shape (K, m), where it is
            known already.
    """

    fit: Fit
    beams: Beams
    ratings: Float32Array
    kinds: NDArray[np.uint8]
    known: FloatArray | None = None
    sums: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    bare: Float32Array | None = None

    def __post_init__(self) -> None:
        if self.sums.size == 0:
            object.__setattr__(self, "sums", sums_of(self.beams, self.ratings, self.kinds))

    def __len__(self) -> int:
        return len(self.fit.poses)

    @property
    def poses(self) -> FloatArray:
        """Shape (K, D)."""
        return self.fit.poses

    @property
    def blocks(self) -> FloatArray:
        """Mean rating of each block that has beams, shape (K, B)."""
        return self.beams.by_block(self.ratings)

    @property
    def witnesses(self) -> FloatArray:
        """Mean rating of each column of blocks, shape (K, C)."""
        return witnesses_of(self.sums)

    @property
    def scores(self) -> FloatArray:
        """Mean rating of the beams from each pose, shape (K,)."""
        return self.sums[:, 0]

    @property
    def inliers(self) -> FloatArray:
        """Share of beams explained from each pose, shape (K,)."""
        return self.sums[:, 1]

    @property
    def unseen(self) -> FloatArray:
        """Share of beams that end in unknown space from each pose, shape (K,)."""
        return self.sums[:, 2]

    def totals(self, settings: LocalizationSettings) -> FloatArray:
        """What the scan is worth from each pose, `judge` (1), in nats, shape (K,)."""
        return totals_of(self.sums, settings)

    def joined(self, other: "Fits") -> "Fits":
        """These and others of the same beams of one scan, best first."""
        parts = zip(self.fit.arrays, other.fit.arrays, strict=True)
        fit = Fit(*(np.concatenate(pair) for pair in parts))
        ratings = np.concatenate([self.ratings, other.ratings])
        kinds, bare, known = np.concatenate([self.kinds, other.kinds]), None, None
        if self.known is not None and other.known is not None:
            known = np.concatenate([self.known, other.known])
        if self.bare is not None and other.bare is not None:
            bare = np.concatenate([self.bare, other.bare])
        return _best_first(Fits(fit, self.beams, ratings, kinds, known, bare=bare))

    def select(self, index: IntArray | BoolArray) -> "Fits":
        """Some of them, in this order."""
        known = None if self.known is None else self.known[index]
        fit = self.fit.select(index)
        beams, ratings, kinds = self.beams, self.ratings[index], self.kinds[index]
        bare = None if self.bare is None else self.bare[index]
        return Fits(fit, beams, ratings, kinds, known, self.sums[index], bare)

    def forgiven(
        self, atlas: SearchSpace, settings: LocalizationSettings, poses: FloatArray | None = None
    ) -> FloatArray:
        """`sums` with walls that are not there counted once (`gone`), rated from poses near."""
        near, bare = (self.poses, self.bare) if poses is None else (poses, None)
        rated = BeamRatings(self.ratings, self.kinds)
        return forgiven(atlas, self.beams, near, rated, self.sums, settings, bare)

    def worth(
        self, atlas: SearchSpace, settings: LocalizationSettings, poses: FloatArray | None = None
    ) -> FloatArray:
        """`totals` of these, `forgiven` where that `counts`, shape (K,)."""
        told = self.forgiven(atlas, settings, poses) if counts(atlas) else self.sums
        return totals_of(told, settings)


def sums_of(beams: Beams, ratings: Float32Array, kinds: NDArray[np.uint8]) -> FloatArray:
    """What `Fits.sums` are of ratings and kinds, both of shape (K, m)."""
    from isovist.compute import SUMMARY_COLUMNS, sum_beams

    sums = np.empty((len(ratings), SUMMARY_COLUMNS + len(beams.columns)))
    sum_beams(ratings, kinds, beams.order, beams.starts, beams.columns, sums)
    return sums


def witnesses_of(sums: FloatArray) -> FloatArray:
    """Mean rating of each column of blocks, shape (K, C), from what `sums_of` gives."""
    return sums[:, 3:]


def totals_of(sums: FloatArray, settings: LocalizationSettings) -> FloatArray:
    """L of `judge` (1) from what `sums_of` gives, in nats, shape (K,)."""
    from isovist.compute import sum_scores

    totals = np.empty(len(sums))
    sum_scores(sums, settings.worth, totals)
    return totals


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
    poses, rough = fit_roughly(atlas, scan, seeds, settings, most=followed, thorough=thorough)
    alive, leader = _not_refuted(rough, leader, settings)
    poses = poses[alive | (np.arange(len(poses)) < most)]
    many = beams_of(atlas, scan, settings.beams[1], settings.block)
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
    poses, _ = fit_roughly(atlas, scan, seeds, settings, most=most, thorough=thorough)
    many = beams_of(atlas, scan, settings.beams[1], settings.block)
    return refit(atlas, many, poses[:keep], settings, tilt=tilt)


def fit_roughly(
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
    few = beams_of(atlas, scan, settings.beams[0], settings.block)
    # Few beams say little of the height, and nodes should have it right.
    first = atlas.fitted(False) if thorough else 3
    widths = settings.coarse_widths(atlas)
    fit, rated = fit_and_rate(atlas, few, seeds, widths, first, settings, most)
    sums = sums_of(few, *rated)
    order = np.argsort(-sums[:, 0], kind="stable")
    order = order[unlike(fit.poses[order], *settings.apart[1])]
    return fit.poses[order], sums[order]


def _not_refuted(
    sums: FloatArray, leader: Leader | None, settings: LocalizationSettings
) -> tuple[BoolArray, Leader | None]:
    """Return which places the best so far does not refute, and the best with these."""
    if len(sums) == 0:
        return np.empty(0, dtype=np.bool_), leader
    best = sums[0] if leader is None or sums[0, 0] > leader[0] else leader
    every = np.concatenate([best[None], sums])
    out = refuted(witnesses_of(every), every[:, 0], float(best[1]), settings.careful())
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
    if isinstance(many, ManyBeams):
        fit, rated, known = fit_together(atlas, many, poses, widths, n, settings)
        return _best_first(Fits(fit, many, *rated, known))
    models = [settings.model, far(settings).model] if counts(atlas) else [settings.model]
    fit, told = atlas.fit_and_rate(many, poses, widths, n, models)
    return _best_first(Fits(fit, many, *told[0], bare=told[1][0] if len(told) > 1 else None))


def polish(
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
    chosen = contenders(totals, settings)
    if len(chosen) < 2 or fits.known is not None:
        return fits, totals
    totals = totals.copy()
    best = fits.select(chosen)
    poses, reached, n = best.poses.copy(), best.totals(settings), atlas.fitted(False)
    ratings, kinds = fits.ratings.copy(), fits.kinds.copy()
    moves = np.zeros((2 * n, poses.shape[1]))
    moves[:n, :n] = np.diag(by_coordinate(step, turn, n))
    moves[n:] = -moves[:n]
    for share in (1.0, 0.5, 0.25):
        moved = np.arange(len(chosen))
        for _twice in range(2):
            tried = (poses[moved, None] + share * moves).reshape(-1, poses.shape[1])
            rated = atlas.rate(fits.beams, tried, settings.model)
            worth = totals_of(sums_of(fits.beams, *rated), settings).reshape(len(moved), -1)
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


def contenders(totals: FloatArray, settings: LocalizationSettings) -> IntArray:
    """Which of several places may come first by the best pose near each, from their worth."""
    return (totals >= totals.max() - settings.nearby[2]).nonzero()[0]


def refuted(
    witnesses: FloatArray, scores: FloatArray, inliers: float, settings: LocalizationSettings
) -> BoolArray:
    """Which of the other places `judge` (4) excludes, shape (K − 1,)."""
    from isovist.compute import refute

    agreement, margin, soft, share = settings.refuted
    enough = max(agreement, math.sqrt(share * witnesses.shape[1]))
    out = np.empty(len(scores) - 1, dtype=np.bool_)
    refute(witnesses, scores, inliers, enough, soft, margin, out)
    return out


def _best_first(fits: Fits) -> Fits:
    return fits if len(fits) < 2 else fits.select(np.argsort(-fits.scores, kind="stable"))
