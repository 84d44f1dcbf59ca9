"""Collect what is known about the places that may be right, before the rules decide."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.atlas import SearchSpace
from isovist.localization.answer import Estimate
from isovist.localization.candidates.node_search import distinct_indices
from isovist.localization.fitting.covariance import major_axis
from isovist.localization.reasons import Facts
from isovist.localization.scoring.hypotheses import Fits, group_ratings, is_refuted, log_likelihoods
from isovist.localization.scoring.likelihood_climb import climb_likelihood
from isovist.localization.scoring.removed_walls import allow_for_removed_walls, allows_removed_walls
from isovist.localization.settings import LocalizationSettings


@dataclass(frozen=True, slots=True)
class SearchCoverage:
    """The part of the map that a search covered.

    Attributes:
        cost_ratio: Returns, for a pose of the level sensor frame, the lowest cost of a pose that
            was not searched, relative to the cost of that pose.
        is_last: Whether the search ends here in any case.
    """

    cost_ratio: Callable[[FloatArray], float]
    is_last: bool


EXHAUSTIVE = SearchCoverage(lambda _: math.inf, is_last=True)
"""The search covered all poses, or other poses do not matter."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedPlaces:
    """Distinct places that may be right, most likely first.

    Attributes:
        fits: Fits of the K places, with the ratings of the most likely pose near each.
        log_likelihoods: L of equation (1) of `decide` in nats, shape (K,).
        groups: Mean rating of each group of beams at the fitted poses in nats, shape (K, C).
        fit_scores: Mean rating of a beam at the fitted poses in nats, shape (K,).
        explained: Share of beams that the map explains at the first fitted pose.
    """

    fits: Fits
    log_likelihoods: FloatArray
    groups: FloatArray
    fit_scores: FloatArray
    explained: float

    @classmethod
    def of(
        cls, space: SearchSpace, fits: Fits, settings: LocalizationSettings, *, nearby: bool
    ) -> "RankedPlaces":
        """Keep one fit per place, and sort them by their log-likelihoods.

        Args:
            space: The map or maps.
            fits: Fitted and scored poses.
            settings: How to compare.
            nearby: Whether to search for the most likely pose near each leading place.
        """
        rows = distinct_indices(fits.poses, *settings.decision.same_place)
        fits = fits if len(rows) == len(fits) else fits.select(rows)
        adjusted = allow_for_removed_walls(space, fits, settings)
        summaries = adjusted if allows_removed_walls(space) else fits.summaries
        climbed, likelihoods = fits, log_likelihoods(summaries, settings)
        if nearby:
            climbed, likelihoods = climb_likelihood(space, fits, settings, likelihoods)
        order = np.argsort(-likelihoods, kind="stable")
        groups = group_ratings(adjusted)[order]
        return cls(
            climbed.select(order), likelihoods[order], groups, fits.scores[order],
            float(fits.inliers[order[0]]),
        )  # fmt: skip

    def refuted(self, settings: LocalizationSettings) -> BoolArray:
        """Return which places the scan rules out, shape (K,); never the first."""
        out = np.zeros(len(self.fits), dtype=np.bool_)
        out[1:] = is_refuted(self.groups, self.fit_scores, self.explained, settings)
        return out


@dataclass(frozen=True, slots=True)
class Evidence:
    """The numbers that the rules of `decide` test.

    Attributes:
        facts: The numbers that the answer reports.
        score: Mean rating of a beam at the best place in nats.
        no_place_probability: Probability that no place is right.
        settings: Thresholds.
        cost_ratio: Lowest cost of a pose that was not searched, relative to that of the best place.
    """

    facts: Facts
    score: float
    no_place_probability: float
    settings: LocalizationSettings
    cost_ratio: float = math.inf


def collect_facts(best: Estimate, groups: int, competitors: int, maps: tuple[str, ...]) -> Facts:
    """Return the numbers that the answer reports.

    Args:
        best: The best estimate.
        groups: Number of groups of beams.
        competitors: Number of other places that are not ruled out.
        maps: Names of the maps of all places that are not ruled out.
    """
    return {
        "groups": groups,
        "competitors": competitors,
        "maps": maps,
        "inliers": best.inliers,
        "probability": best.probability,
        "position_std": math.sqrt(major_axis(best.covariance)[0]),
        "heading_std": math.sqrt(best.covariance[2, 2]),
    }
