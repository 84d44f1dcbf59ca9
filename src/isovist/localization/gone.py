"""A wall that is not there is one thing, however many beams go through it.

Panes of glass, a door that stands open and a partition that was taken down are in the map, and a
beam that should end there goes on.  From the right place a dozen witnesses side by side then say
that it is wrong, and all of them say the same.  So columns of blocks side by side whose beams go
through a wall are taken as one when the map explains what they meet behind it: with ℓ′ the rating
of a beam as if nothing stood in its way, the column of the run that gains most by ℓ′ keeps ℓ, and
speaks for all; the others have ℓ′.  What lies behind a wall fits by chance in few places: where it
does not, ℓ′ is no better than ℓ, and nothing is forgiven.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.base import Beams, Site
from isovist.localization.settings import LocalizationSettings
from isovist.localization.several import rate
from isovist.types import BoolArray, Float32Array, FloatArray

Rated = tuple[Float32Array, NDArray[np.uint8]]


def forgiven(
    atlas: Site, beams: Beams, poses: FloatArray, rated: Rated, settings: LocalizationSettings
) -> Rated:
    """ℓ and kind of each beam, with each wall that is not there counted once, both (K, m).

    Args:
        atlas: The map, described.
        beams: Of one scan or of several.
        poses: From where they were rated, shape (K, D).
        rated: ℓ and kind of each beam from each pose, as they are.
        settings: How to rate, and what says nothing.
    """
    from isovist.kernels.beam import THROUGH

    ratings, kinds = rated
    some = np.flatnonzero((kinds == THROUGH).any(axis=1))
    if len(some) == 0:
        return rated
    plain, through = ratings[some], kinds[some] == THROUGH
    model = replace(settings.model, slack=(settings.model.slack[0], 1.0))  # nothing is through
    bare, sorts = rate(atlas, beams, poses[some], replace(settings, model=model))
    better = through & (bare > plain)
    eased = np.where(better, bare, plain)
    gain = beams.by_column(beams.by_block(eased)) - beams.by_column(beams.by_block(plain))
    better &= spared(gain, float(np.sqrt(settings.refuted[2])))[:, beams.column_of]
    ratings, kinds = ratings.copy(), kinds.copy()
    ratings[some], kinds[some] = np.where(better, bare, plain), np.where(better, sorts, kinds[some])
    return ratings, kinds


def spared(gain: FloatArray, least: float) -> BoolArray:
    """Which columns are forgiven: of those side by side that gain, all but the one that gains most.

    The last column and the first are side by side, as in a scan all around.

    Args:
        gain: Of each column from each pose, in nats, shape (K, C).
        least: A gain that is less is none, in nats.
    """
    on = gain > least
    gain = gain - 1e-9 * np.arange(gain.shape[1])  # of two alike the first
    number = np.cumsum(on & ~np.roll(on, 1, axis=1), axis=1)
    joined = on[:, 0] & on[:, -1]
    number = np.where(on & joined[:, None] & (number == 0), number[:, -1:], number)
    number += np.arange(len(gain))[:, None] * (gain.shape[1] + 1)
    most = np.full(number.size + len(gain) + 1, -np.inf)
    np.maximum.at(most, number[on], gain[on])
    return np.asarray(on & (gain < most[number]))
