"""Candidates for new hypotheses: places that explain one scan."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.atlas import AnyScan, SearchSpace
from isovist.localization import (
    AnyCandidates,
    CandidateFitter,
    Fits,
    LocalizationSettings,
    SearchRegion,
    Verdict,
    coordinate_vector,
    cost_ratio,
    covariances,
    decide,
    find_candidates,
    has_rivals,
    information,
    rivals_of,
)
from isovist.tracking.settings import MapSearchSettings


class FittedPlaces(NamedTuple):
    """Places that explain a scan, best first.

    Attributes:
        poses: Poses of the level frame of the sensor, shape (K, D), in m and rad.
        covariances: Shape (K, n, n).
        scores: Mean rating of the beams, in nats, shape (K,).
    """

    poses: FloatArray
    covariances: FloatArray
    scores: FloatArray

    def select(self, index: Any) -> "FittedPlaces":
        """Return the places with these indices, in that order."""
        return FittedPlaces(*(rows[index] for rows in self))


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The extent of a search, and its care.

    Attributes:
        region: Where the robot may be.
        is_settled: Whether one place is left, so that this is a check.
        tilt: Whether roll and pitch are fitted, in 3D.
        is_repeated: Whether a first search that leaves doubt is followed by another, in 3D.
        is_thorough: Whether the height is fitted from the start, in 3D.
    """

    region: SearchRegion
    is_settled: bool
    tilt: bool = False
    is_repeated: bool = False
    is_thorough: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class CandidateSearch:
    """Searches a map for the places that explain a scan.

    Attributes:
        space: The map, or several side by side.
        settings: How many places are added.
        localization: How they are searched, fitted and rated.
    """

    space: SearchSpace
    settings: MapSearchSettings
    localization: LocalizationSettings

    def find(self, scan: AnyScan, scope: SearchScope) -> FittedPlaces:
        """Return the places of a scan whose up direction is known."""
        settings, limits = self.localization, self.settings
        count = limits.settled_max_candidates if scope.is_settled else limits.max_candidates
        fitter = CandidateFitter(
            self.space, scan, settings, tilt=scope.tilt, thorough=scope.is_thorough
        )
        seeds = find_candidates(self.space, scan, scope.region, settings)
        fits = fitter.fit_best(seeds.poses, count)
        if scope.is_repeated and self.space.dimension == 3:
            poses = self._search_again(scan, scope.region, seeds, fits)
            fits = fits if poses is None else fits.merge(fitter.fit_best(poses, count))
        fits = fits.select(self.is_comparable(fits.scores))
        cell = self.space.cell(fits.poses)
        matrices = information(fits.fit, fits.beams.blocks, cell, settings)
        spreads = covariances(matrices, settings)
        stds = coordinate_vector(limits.position_std_m, limits.angle_std_rad, spreads.shape[-1])
        return FittedPlaces(fits.poses, spreads + np.diag(np.square(stds)), fits.scores)

    def _search_again(
        self, scan: AnyScan, region: SearchRegion, seeds: AnyCandidates, fits: Fits
    ) -> FloatArray | None:
        """Return the candidates of a further search; `None` if the first one leaves no doubt.

        On streets, descriptors see the cars and miss the place of one scan in five.
        """
        space, settings = self.space, self.localization
        answer = decide(space, scan, fits, settings.careful(), nearby=False)
        ratio = cost_ratio(space, scan, seeds, answer, settings)
        if answer.verdict is Verdict.UNIQUE and ratio >= settings.decision.min_cost_ratio:
            return None
        if answer.estimates and has_rivals(space, scan, answer):
            return rivals_of(answer, space, scan, region, settings).poses
        return find_candidates(space, scan, region, settings, thorough=True).poses

    def is_comparable(self, scores: FloatArray) -> BoolArray:
        """Return which mean ratings are close enough to the best one, shape (K,)."""
        best = scores.max(initial=-np.inf)
        return np.asarray(scores >= best - self.settings.max_score_gap_nats)
