"""The last fit in space, with beams that are spread over what they see.

Beams that are spread over directions, as those of a search are, see most of all what is near: half
of those on the ground end within a few metres.  There a map of cells may be a stair or half a cell
off, and what errs alike counts dozens of times.  So a place that is told is fitted once more with
one return for each cube of `SIDE` cells: each part of the map counts once, far ones, which hold the
attitude, as much as near ones.
"""

from dataclasses import replace

import numpy as np

from isovist.atlas.base import AnyScan, Beams, Fit, Site
from isovist.atlas.side_by_side import SideBySide
from isovist.atlas.space import SpaceAtlas
from isovist.localization.answer import Answer, Estimate
from isovist.localization.judge import is_same
from isovist.localization.region import Region
from isovist.localization.settings import LocalizationSettings
from isovist.localization.spread import covariances, information, of_robot
from isovist.poses import Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.types import FloatArray, readonly

SIDE = 2.5
"""Of the cubes in cells.  Of 2.5, 5 and 8 the one whose largest error of attitude is smallest over
37 scans in a house of 0.08 m cells; on a street of 0.4 m cells 2.5 and 5 are alike."""


def even_beams(atlas: SpaceAtlas, scan: CloudScan, settings: LocalizationSettings) -> Beams:
    """One return for each cube of `SIDE` cells that holds any."""
    return atlas.beams_of(scan, scan.spread_out(SIDE * atlas.resolution), settings.block)


def last_fit(
    atlas: SpaceAtlas, scan: CloudScan, start: FloatArray, fitted: int,
    settings: LocalizationSettings,
) -> tuple[Fit, FloatArray]:  # fmt: skip
    """Poses of the level frame, shape (K, 6), fitted once more, and their covariances."""
    beams = even_beams(atlas, scan, settings)
    fit = atlas.fit(beams, start, settings.fine_widths(atlas), fitted)
    known = information(fit, beams.blocks, atlas.cell(fit.poses), settings)
    return fit, covariances(known, settings)


def settle(
    site: Site, scan: AnyScan, answer: Answer, prior: Region | None, settings: LocalizationSettings
) -> Answer:
    """The answer, with the places that are not refuted fitted once more; in the plane as it is.

    A place stays as it was where that would take it out of the prior or to another place.

    Args:
        site: The map, or several.
        scan: As it was asked.
        answer: Each pose in the frame of its own map.
        prior: Where the robot may be.
        settings: How to fit.
    """
    if not isinstance(scan, CloudScan):
        return answer

    def settled(estimate: Estimate) -> Estimate:
        atlas = site
        if isinstance(site, SideBySide) and estimate.map is not None:
            atlas = site.maps[estimate.map]
        if estimate.refuted or not isinstance(atlas, SpaceAtlas):
            return estimate
        start = np.atleast_2d((estimate.pose @ scan.T_level_robot.inverse).vector)
        fit, spreads = last_fit(atlas, scan, start, len(estimate.covariance), settings)
        robots, spreads = of_robot(atlas, scan.T_level_robot, fit.poses, spreads)
        pose = Pose3.from_vector(np.asarray(robots.vector)[0])
        held = prior is None or bool(prior.holds(np.atleast_2d(pose.vector))[0])
        if not (held and is_same(pose, estimate.pose, settings)):
            return estimate
        return replace(estimate, pose=pose, covariance=readonly(spreads[0]))

    return replace(answer, estimates=tuple(map(settled, answer.estimates)))
