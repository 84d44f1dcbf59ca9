"""Where else does the map look as it does from a place?

A site may repeat itself: wings, equal bays, a block of flats.  Of the copies of a place each costs
a little more or less in the search, by how the nodes happen to lie there, and on a large site
thousands of other nodes cost no more.  But a copy stands as the place does, or turned by quarters,
and with the heading known a complete search (`complete`) takes a hundredth of its time: none of
these copies is missed that rates within d_min of the place.
"""

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import PlaneAtlas, SearchSpace
from isovist.localization.complete import complete
from isovist.localization.refine import Fits
from isovist.localization.search import ENOUGH, unlike
from isovist.localization.settings import LocalizationSettings, ProofSettings
from isovist.sensing import Scan, ScanInput

ROUGHLY = ProofSettings((0.4, float(np.radians(0.5))), see=0.0, finest=0.2, most=400_000)
"""Boxes of 0.2 m and 0.5° are small enough for a fit to begin in; where 50 000 of 0.4 m are left,
the scan tells nothing from anything, and those that may be best are tried."""
QUARTERS = 0.5 * np.pi * np.arange(4)


def copies(
    atlas: SearchSpace, scan: ScanInput, fits: Fits, settings: LocalizationSettings
) -> FloatArray:
    """Candidates that look as the best of some fits does, likeliest first, shape (K, 3).

    For one scan, by ranges alone, on one map of the plane; else none.
    """
    none = np.empty((0, 3))
    if not isinstance(scan, Scan) or not isinstance(atlas, PlaneAtlas) or len(fits) == 0:
        return none
    beams = atlas.beams(scan, settings.beams[0], settings.block)  # few will do to find them
    if beams.sigmas.size or beams.strengths.size:
        return none
    place = fits.poses[int(np.argmax(fits.totals(settings)))][None]
    ratings, _ = atlas.rate(beams, place, settings.model)
    yaw, floor = atlas.to_cells(place)[0, 2], float(ratings.mean()) - settings.refuted[1]
    found = complete(
        atlas, beams, atlas.model(settings.model), floor, ROUGHLY,
        yaws=np.asarray(yaw + QUARTERS),
    )  # fmt: skip
    boxes, most = found.boxes, ENOUGH * settings.seeds[0]
    if len(boxes) > most:
        boxes = boxes[boxes[:, 5] >= np.partition(boxes[:, 5], -most)[-most]]
    boxes = boxes[np.argsort(-boxes[:, 5], kind="stable")]
    poses = atlas.from_cells(boxes[:, :3])
    return poses[unlike(poses, *settings.apart[1], settings.seeds[0])]
