"""Fitted and scored poses, and the test that rules a competing pose out."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray
from isovist.atlas import Beams, Fit
from isovist.localization.settings import LocalizationSettings


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """Fitted and scored poses of one scan, or of a sequence of scans, best first.

    Attributes:
        fit: Fitted poses of the level sensor frame, and how firmly the beams constrain them.
        beams: The m beams that were rated.
        ratings: Log-likelihood ratio ℓ of each beam at each pose
            (`compute.likelihood.beam_model`), in nats, shape (K, m).
        kinds: How the map explains each beam at each pose, shape (K, m).
        information: Information matrices of the poses of a sequence of scans (`sequence_fit`), per
            m and rad, shape (K, n, n). `None` for one scan, where `fit` gives them.
        summaries: What `summarize` returns, shape (K, 3 + C). Computed if not given.
        see_through_ratings: ℓ of each beam as if no wall stood in its way (`removed_walls`), in
            nats, shape (K, m), or `None` if not computed yet.
    """

    fit: Fit
    beams: Beams
    ratings: Float32Array
    kinds: NDArray[np.uint8]
    information: FloatArray | None = None
    summaries: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    see_through_ratings: Float32Array | None = None

    def __post_init__(self) -> None:
        if self.summaries.size == 0:
            summaries = summarize(self.beams, self.ratings, self.kinds)
            object.__setattr__(self, "summaries", summaries)

    def __len__(self) -> int:
        return len(self.fit.poses)

    @property
    def poses(self) -> FloatArray:
        """Return the poses of the level sensor frame in m and rad, shape (K, D)."""
        return self.fit.poses

    @property
    def scores(self) -> FloatArray:
        """Return the mean rating of a beam at each pose, in nats, shape (K,)."""
        return self.summaries[:, 0]

    @property
    def inliers(self) -> FloatArray:
        """Return the share of beams that the map explains at each pose, shape (K,)."""
        return self.summaries[:, 1]

    def merge(self, other: "Fits") -> "Fits":
        """Return these and other fits of the same beams, best first."""
        parts = zip(self.fit.arrays, other.fit.arrays, strict=True)
        fit, information, see_through = Fit(*(np.concatenate(pair) for pair in parts)), None, None
        if self.information is not None and other.information is not None:
            information = np.concatenate([self.information, other.information])
        if self.see_through_ratings is not None and other.see_through_ratings is not None:
            see_through = np.concatenate([self.see_through_ratings, other.see_through_ratings])
        ratings = np.concatenate([self.ratings, other.ratings])
        kinds = np.concatenate([self.kinds, other.kinds])
        merged = Fits(fit, self.beams, ratings, kinds, information, see_through_ratings=see_through)
        return best_first(merged)

    def select(self, index: IntArray | BoolArray) -> "Fits":
        """Return the fits at an index or mask, in that order."""
        information, ratings = self.information, self.see_through_ratings
        return Fits(
            self.fit.select(index),
            self.beams,
            self.ratings[index],
            self.kinds[index],
            None if information is None else information[index],
            self.summaries[index],
            None if ratings is None else ratings[index],
        )


def best_first(fits: Fits) -> Fits:
    """Sort fits by their scores."""
    return fits if len(fits) < 2 else fits.select(np.argsort(-fits.scores, kind="stable"))


def summarize(beams: Beams, ratings: Float32Array, kinds: NDArray[np.uint8]) -> FloatArray:
    """Summarize the ratings of the beams at each pose.

    Args:
        beams: The m beams, with their C groups.
        ratings: ℓ of each beam at each pose in nats, shape (K, m).
        kinds: How the map explains each beam, shape (K, m).

    Returns:
        The mean rating, the share of explained beams, the share of beams that end in unknown
        space, and the mean rating of each group, shape (K, 3 + C).
    """
    from isovist.compute import SUMMARY_COLUMNS, sum_beams

    summaries = np.empty((len(ratings), SUMMARY_COLUMNS + len(beams.columns)))
    sum_beams(ratings, kinds, beams.order, beams.starts, beams.columns, summaries)
    return summaries


def group_ratings(summaries: FloatArray) -> FloatArray:
    """Return the mean rating of each group of beams in nats, shape (K, C)."""
    return summaries[:, 3:]


def log_likelihoods(summaries: FloatArray, settings: LocalizationSettings) -> FloatArray:
    """Return the log-likelihood of each pose, equation (1) of `decide`, in nats, shape (K,)."""
    from isovist.compute import sum_scores

    totals = np.empty(len(summaries))
    sum_scores(summaries, settings.scoring.explained_weight, totals)
    return totals


def is_refuted(
    groups: FloatArray, scores: FloatArray, explained: float, settings: LocalizationSettings
) -> BoolArray:
    """Test which competitors of the first pose the scan rules out, equation (4) of `decide`.

    Args:
        groups: Mean rating of each group of beams in nats, shape (K, C).
        scores: Mean rating of a beam in nats, shape (K,).
        explained: Share of beams that the map explains at the first pose.
        settings: Thresholds.

    Returns:
        Whether each pose after the first is ruled out, shape (K - 1,).
    """
    from isovist.compute import refute

    rules = settings.refutation
    min_agreement = max(rules.min_agreement, math.sqrt(rules.min_group_share * groups.shape[1]))
    out = np.empty(len(scores) - 1, dtype=np.bool_)
    refute(groups, scores, explained, min_agreement, rules.softness, rules.min_lead_nats, out)
    return out
