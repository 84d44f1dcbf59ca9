"""Places that were fitted and scored, and which of them the evidence excludes."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray
from isovist.atlas import Beams, Fit, SearchSpace
from isovist.compute import BeamRatings
from isovist.localization.scoring.removed_walls import allow_for_removed_walls, allows_removed_walls
from isovist.localization.settings import LocalizationSettings


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
            object.__setattr__(self, "sums", summarize(self.beams, self.ratings, self.kinds))

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
        return group_ratings(self.sums)

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
        return log_likelihoods(self.sums, settings)

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
        return best_first(Fits(fit, self.beams, ratings, kinds, known, bare=bare))

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
        return allow_for_removed_walls(atlas, self.beams, near, rated, self.sums, settings, bare)

    def worth(
        self, atlas: SearchSpace, settings: LocalizationSettings, poses: FloatArray | None = None
    ) -> FloatArray:
        """`totals` of these, `forgiven` where that `counts`, shape (K,)."""
        told = self.forgiven(atlas, settings, poses) if allows_removed_walls(atlas) else self.sums
        return log_likelihoods(told, settings)


def summarize(beams: Beams, ratings: Float32Array, kinds: NDArray[np.uint8]) -> FloatArray:
    """What `Fits.sums` are of ratings and kinds, both of shape (K, m)."""
    from isovist.compute import SUMMARY_COLUMNS, sum_beams

    sums = np.empty((len(ratings), SUMMARY_COLUMNS + len(beams.columns)))
    sum_beams(ratings, kinds, beams.order, beams.starts, beams.columns, sums)
    return sums


def group_ratings(sums: FloatArray) -> FloatArray:
    """Mean rating of each column of blocks, shape (K, C), from what `sums_of` gives."""
    return sums[:, 3:]


def log_likelihoods(sums: FloatArray, settings: LocalizationSettings) -> FloatArray:
    """L of `judge` (1) from what `sums_of` gives, in nats, shape (K,)."""
    from isovist.compute import sum_scores

    totals = np.empty(len(sums))
    sum_scores(sums, settings.worth, totals)
    return totals


def is_refuted(
    witnesses: FloatArray, scores: FloatArray, inliers: float, settings: LocalizationSettings
) -> BoolArray:
    """Which of the other places `judge` (4) excludes, shape (K − 1,)."""
    from isovist.compute import refute

    agreement, margin, soft, share = settings.refuted
    enough = max(agreement, math.sqrt(share * witnesses.shape[1]))
    out = np.empty(len(scores) - 1, dtype=np.bool_)
    refute(witnesses, scores, inliers, enough, soft, margin, out)
    return out


def best_first(fits: Fits) -> Fits:
    return fits if len(fits) < 2 else fits.select(np.argsort(-fits.scores, kind="stable"))
