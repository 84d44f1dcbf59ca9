"""Places that explain one scan, as a bank wants them."""

from dataclasses import dataclass
from functools import partial

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
from isovist.poses import AnyPose
from isovist.tracking.attitude import Found
from isovist.tracking.attitude import find as find_turned
from isovist.tracking.settings import TrackingSettings


@dataclass(frozen=True, slots=True, eq=False)
class Finder:
    """Searches a map for a scan.

    Attributes:
        site: The map, or several side by side.
        settings: How many places are worth adding.
        localization: How they are sought, fitted and rated.
    """

    site: SearchSpace
    settings: TrackingSettings
    localization: LocalizationSettings

    def find(
        self,
        scan: AnyScan,
        region: SearchRegion,
        tilt: bool,
        settled: bool,
        *,
        closer: bool = False,
        thorough: bool = False,
    ) -> Found:
        """Places of a scan that knows up from down.

        Args:
            scan: What the sensor saw.
            region: Where the robot may be.
            tilt: In space, fit roll and pitch too.
            settled: Whether one place is left, and this is a check.
            closer: In space, look a second time unless the first settles it.
            thorough: In space, fit the height from the start.
        """
        settings = self.localization
        seeds = find_candidates(self.site, scan, region, settings)
        fitter = CandidateFitter(self.site, scan, settings, tilt=tilt, thorough=thorough)
        count = self.settings.found[settled]
        fits = fitter.fit_best(seeds.poses, count)
        if closer and self.site.dimension == 3:
            more = self._closer(scan, region, seeds, fits)
            fits = fits if more is None else fits.merge(fitter.fit_best(more, count))
        fits = fits.select(self._hopeful(fits.scores))
        known = information(fits.fit, fits.beams.blocks, self.site.cell(fits.poses), settings)
        spreads = covariances(known, settings)
        tight = coordinate_vector(*self.settings.tight, spreads.shape[-1])
        return fits.poses, spreads + np.diag(np.square(tight)), fits.scores

    def _closer(
        self, scan: AnyScan, region: SearchRegion, seeds: AnyCandidates, fits: Fits
    ) -> FloatArray | None:
        """Candidates of a closer look, as `locate` has it; `None` where the first look settles it.

        On streets descriptors, which see the cars, miss the place of one scan in five.
        """
        site, settings = self.site, self.localization
        answer = decide(site, scan, fits, settings.careful(), nearby=False)
        ratio = cost_ratio(site, scan, seeds, answer, settings)
        if answer.verdict is Verdict.UNIQUE and ratio >= settings.lead:
            return None
        if answer.estimates and has_rivals(site, scan, answer):
            return rivals_of(answer, site, scan, region, settings).poses
        return find_candidates(site, scan, region, settings, thorough=True).poses

    def find_turned(
        self, scan: AnyScan, mount: AnyPose, region: SearchRegion, settled: bool
    ) -> Found:
        """Places of a scan in any attitude, in the level frame of T_robot_level."""
        level = partial(self.find, region=region, tilt=True, settled=settled, thorough=True)
        poses, spreads, scores = find_turned(
            self.site, scan, mount, region, level, self.settings.tight, self.localization,
            all_round=not settled,
        )  # fmt: skip
        good = self._hopeful(scores)
        return poses[good], spreads[good], scores[good]

    def _hopeful(self, scores: FloatArray) -> BoolArray:
        return np.asarray(scores >= scores.max(initial=-np.inf) - self.settings.hopeless)
