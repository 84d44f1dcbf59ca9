"""From candidates to poses: fit, rate, keep the unlike best, fit again with more beams."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.base import Atlas, Beams, Fit
from isovist.localization.search import unlike
from isovist.localization.settings import LocalizationSettings
from isovist.localization.several import beams_of, rate, rated
from isovist.sensing.joined import Look
from isovist.types import BoolArray, Float32Array, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Fits:
    """Places that may be right, best first.

    Attributes:
        fit: Poses of the level frame of the sensor, and how firmly beams hold them.
        beams: Of the scan that were used.
        ratings: ℓ of each beam from each pose (`kernels.beam`), shape (K, m).
        kinds: What became of each beam, shape (K, m).
        known: What several scans together know of the poses (`several`), shape (K, n, n), per m
            and rad; `None` for one scan, where the fit says it.
    """

    fit: Fit
    beams: Beams
    ratings: Float32Array
    kinds: NDArray[np.uint8]
    known: FloatArray | None = None

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
    def scores(self) -> FloatArray:
        """Mean rating of the beams from each pose, shape (K,)."""
        return np.asarray(self.ratings.mean(axis=1, dtype=np.float64))

    @property
    def inliers(self) -> FloatArray:
        """Share of beams explained from each pose, shape (K,)."""
        from isovist.kernels.beam import EXPLAINED

        return np.asarray((self.kinds == EXPLAINED).mean(axis=1))

    def select(self, index: IntArray | BoolArray) -> "Fits":
        """Some of them, in this order."""
        known = None if self.known is None else self.known[index]
        fit = self.fit.select(index)
        return Fits(fit, self.beams, self.ratings[index], self.kinds[index], known)


def refine(
    atlas: Atlas,
    scan: Look,
    seeds: FloatArray,
    settings: LocalizationSettings,
    *,
    keep: int | None = None,
    tilt: bool = False,
    thorough: bool = False,
) -> Fits:
    """Fit all candidates roughly, then the best unlike ones with many beams.

    Args:
        atlas: The map, described.
        scan: What the sensor saw, once or several times.
        seeds: Candidates, shape (K, D).
        settings: How to fit and to rate.
        keep: How many are fitted with many beams; as many as the settings say when `None`.
        tilt: In space, fit roll and pitch too.
        thorough: In space, fit the height from the start, in case that of the nodes is wrong.
    """
    few = beams_of(atlas, scan, settings.beams[0], settings.block)
    # Few beams say little of the height, and nodes should have it right.
    first = atlas.fitted(False) if thorough else 3
    fit = atlas.fit(few, seeds, settings.coarse_widths(atlas), first)
    poses = _best_first(few, fit, *rate(atlas, few, fit.poses, settings)).poses
    most = settings.share(atlas, settings.keep) if keep is None else keep
    poses = poses[unlike(poses, *settings.apart[1], most)]
    many = beams_of(atlas, scan, settings.beams[1], settings.block)
    fit = atlas.fit(many, poses, settings.fine_widths(atlas), atlas.fitted(tilt))
    return _best_first(many, *rated(atlas, many, fit, settings))


def _best_first(
    beams: Beams,
    fit: Fit,
    ratings: Float32Array,
    kinds: NDArray[np.uint8],
    known: FloatArray | None = None,
) -> Fits:
    fits = Fits(fit, beams, ratings, kinds, known)
    return fits.select(np.argsort(-fits.scores, kind="stable"))
