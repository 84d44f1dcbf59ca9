"""The last fit in space, with beams that are spread over what they see.

Beams that are spread over directions, as those of a search are, see most of all what is near: half
of those on the ground end within a few metres.  There a map of cells may be a stair or half a cell
off, and what errs alike counts dozens of times.  So a place that is told is fitted once more with
one return for each cube of `SIDE` cells: each part of the map counts once, far ones, which hold the
attitude, as much as near ones.  How far before the centres of cells beams end, at faces or in them,
is fitted too: what lies on one side alone, as the floor does, else draws the pose by half a cell.
Its ground may have been taken for steeper than it is, and a fit from there rest half way: so it is
begun from the attitude that was told, too, and from the middle, and the one that costs least is
told.
"""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas import Beams, Fit, MultiMap, SearchSpace, SpaceAtlas
from isovist.localization.answer import Answer, Estimate, is_same_place
from isovist.localization.fitting.covariance import covariances, information, to_robot_frame
from isovist.localization.query.search_space import SearchRegion, to_common_frame, to_map_frame
from isovist.localization.settings import LocalizationSettings
from isovist.poses import Pose3
from isovist.sensing import CloudScan, ScanInput

CUBE_CELLS = 2.5
"""Of the cubes in cells.  Of 2.5, 5 and 8 the one whose largest error of attitude is smallest over
37 scans in a house of 0.08 m cells; on a street of 0.4 m cells 2.5 and 5 are alike."""

LEVEL_COORDINATES = 4
"""Coordinates of a fit without roll and pitch."""
MAX_REPEATS = 6
"""So often at most a fit is begun again where it ended: from 5° off one alone stops half way."""
STEP_FACTOR = 0.5
"""σ of the steps from then on, in those of a second fit: what is no wall of the map pulls less.  Of
0.35, 0.5, 0.7 and 1 attitudes in a house of 0.1 m cells are the better the less: off by at most
0.17, 0.43, 0.58 and 1.05°.  By 0.5 those on streets and of real scans are as good as by 1."""
LEAN_SHARES = (1.0, 0.5, 0.0)
"""Of the lean that was found, from which fits with roll and pitch begin."""
RANGE_BIAS_PRIOR = 4.0
"""c of `fitting.align3d`: with c beams in dozens of blocks that see a floor alone, its height is
known to about half a cell, which is how far before centres of cells a beam can end."""
MIN_STEP = 1e-4
"""In m and rad: what moves by less stays."""


def uniform_beams(atlas: SpaceAtlas, scan: CloudScan, settings: LocalizationSettings) -> Beams:
    """One return for each cube of `SIDE` cells that holds any."""
    return atlas.beams_of(scan, scan.spread_out(CUBE_CELLS * atlas.resolution), settings.block)


def final_fit(
    atlas: SpaceAtlas, scan: CloudScan, start: FloatArray, fitted: int,
    settings: LocalizationSettings,
) -> tuple[Fit, FloatArray]:  # fmt: skip
    """Poses of the level frame, shape (K, 6), fitted once more, and their covariances."""
    beams, widths = uniform_beams(atlas, scan, settings), settings.fine_widths(atlas)
    fit = atlas.fit(beams, start, widths, fitted, held=RANGE_BIAS_PRIOR)
    for _ in range(MAX_REPEATS):
        before = fit.poses
        fit = atlas.fit(beams, before, STEP_FACTOR * widths, fitted, held=RANGE_BIAS_PRIOR)
        if np.abs(fit.poses - before).max() < MIN_STEP:
            break
    known = information(fit, beams.blocks, atlas.cell(fit.poses), settings)
    return fit, covariances(known, settings)


def final_fit_cost(fit: Fit, atlas: SpaceAtlas, settings: LocalizationSettings) -> FloatArray:
    """What last fits of the same beams are compared by, in m², shape (K,): a beam that ends too
    far from any wall to count costs nothing, and one at a wall less than that.
    """
    width = STEP_FACTOR * float(settings.fine_widths(atlas)[-1])
    return np.asarray(fit.square - width**2 * fit.weight)


def refit_answer(
    site: SearchSpace,
    scan: ScanInput,
    answer: Answer,
    region: SearchRegion,
    settings: LocalizationSettings,
    told: ScanInput | None = None,
) -> Answer:
    """The answer, with the places that are not refuted fitted once more, tilts where they were.

    In the plane and of several scans it stays as it is, and a place does where it would leave the
    region or become another.  Scores stay those of the fit that was judged.

    Args:
        site: The map, or several side by side.
        scan: As it was asked.
        answer: With poses in the frame of the site.
        region: Where the robot may be.
        settings: How to fit.
        told: The scan with the attitude that it was told to have; `scan` itself when `None`.
    """
    if not isinstance(scan, CloudScan):
        return answer
    start = perf_counter()
    estimates = refit_estimates(site, scan, answer.estimates, region, settings, told)
    timing, spent = dict(answer.timing_ms), 1e3 * (perf_counter() - start)
    for step in ("refine", "total"):
        timing[step] += spent
    return replace(answer, estimates=estimates, timing_ms=timing)


def refit_estimates(
    site: SearchSpace,
    scan: ScanInput,
    estimates: Sequence[Estimate],
    region: SearchRegion,
    settings: LocalizationSettings,
    told: ScanInput | None = None,
) -> Sequence[Estimate]:
    """Estimates as `settle` leaves them."""
    if not isinstance(scan, CloudScan):
        return estimates
    level = told if isinstance(told, CloudScan) else scan
    return tuple(_refit_estimate(site, scan, one, region, settings, level) for one in estimates)


def _refit_estimate(
    site: SearchSpace,
    scan: CloudScan,
    estimate: Estimate,
    region: SearchRegion,
    settings: LocalizationSettings,
    told: CloudScan,
) -> Estimate:
    if estimate.refuted:
        return estimate
    atlas, own = local_map_of(site, estimate)
    mount, leans = scan.T_level_robot, len(own.covariance) > LEVEL_COORDINATES
    # Roll and pitch that are added to those told: as they are, half of them, none.
    shares = np.array(LEAN_SHARES if leans else LEAN_SHARES[:1])
    starts = np.repeat([(own.pose @ told.T_robot_level).vector], len(shares), axis=0)
    starts[:, LEVEL_COORDINATES:] *= shares[:, None]
    starts = (Pose3.from_vector(starts) @ told.T_level_robot @ mount.inverse).vector
    fit, spreads = final_fit(atlas, scan, starts, len(own.covariance), settings)
    robots, spreads = to_robot_frame(atlas, mount, fit.poses, spreads)
    least = int(np.argmin(final_fit_cost(fit, atlas, settings)))
    own = replace(own, pose=robots[least], covariance=readonly(spreads[least]))
    moved = replace(to_common_frame(site, own), map=estimate.map)
    held = region is None or bool(region.holds(np.atleast_2d(moved.pose.vector))[0])
    return moved if held and is_same_place(moved.pose, estimate.pose, settings) else estimate


def local_map_of(site: SearchSpace, estimate: Estimate) -> tuple[SpaceAtlas, Estimate]:
    """The map in space that an estimate is of, and the estimate in its frame."""
    atlas: SearchSpace = site
    if isinstance(site, MultiMap):
        estimate = to_map_frame(site, estimate)
        atlas = site.maps[str(estimate.map)]
    assert isinstance(atlas, SpaceAtlas)
    return atlas, estimate
