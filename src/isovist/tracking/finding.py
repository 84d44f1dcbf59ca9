"""Places that explain one scan, as a bank wants them."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from isovist.atlas.base import AnyScan, Site
from isovist.localization.maps import Prior, seek
from isovist.localization.refine import refine
from isovist.localization.settings import LocalizationSettings
from isovist.localization.spread import by_coordinate, covariances, information
from isovist.poses import AnyPose
from isovist.tracking.attitude import Found
from isovist.tracking.attitude import find as find_turned
from isovist.tracking.settings import TrackingSettings
from isovist.types import BoolArray, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Finder:
    """Searches a map for a scan.

    Attributes:
        site: The map, or several side by side.
        settings: How many places are worth adding.
        localization: How they are sought, fitted and rated.
    """

    site: Site
    settings: TrackingSettings
    localization: LocalizationSettings

    def find(
        self, scan: AnyScan, prior: Prior, tilt: bool, settled: bool, thorough: bool = False
    ) -> Found:
        """Places of a scan that knows up from down.

        Args:
            scan: What the sensor saw.
            prior: Where the robot may be.
            tilt: In space, fit roll and pitch too.
            settled: Whether one place is left, and this is a check.
            thorough: In space, fit the height from the start.
        """
        settings = self.localization
        seeds = seek(self.site, scan, prior, settings).poses
        most = self.settings.found[settled]
        fits = refine(self.site, scan, seeds, settings, keep=most, tilt=tilt, thorough=thorough)
        fits = fits.select(self._hopeful(fits.scores))
        known = information(fits.fit, fits.beams.blocks, self.site.cell(fits.poses), settings)
        spreads = covariances(known, settings)
        tight = by_coordinate(*self.settings.tight, spreads.shape[-1])
        return fits.poses, spreads + np.diag(np.square(tight)), fits.scores

    def find_turned(self, scan: AnyScan, mount: AnyPose, prior: Prior, settled: bool) -> Found:
        """Places of a scan in any attitude, in the level frame of T_robot_level."""
        level = partial(self.find, prior=prior, tilt=True, settled=settled, thorough=True)
        poses, spreads, scores = find_turned(
            self.site, scan, mount, prior, level, self.settings.tight, self.localization,
            all_round=not settled,
        )  # fmt: skip
        good = self._hopeful(scores)
        return poses[good], spreads[good], scores[good]

    def _hopeful(self, scores: FloatArray) -> BoolArray:
        return np.asarray(scores >= scores.max(initial=-np.inf) - self.settings.hopeless)
