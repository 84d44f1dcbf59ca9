"""Fit a place in 3D once more, with beams spread evenly over the surfaces that they hit.

The beams of a search are spread over directions, so they mostly hit what is near: half of those on
the ground end within a few metres. There a map of cells may look like stairs, or be half a cell
off, and dozens of beams share that error. So a listed place is fitted once more with one return for
each cube of `CUBE_CELLS` cells. Every part of the map then counts once. Far parts, which fix roll
and pitch, count as much as near ones.

The fit also estimates how far before the centres of cells the beams end. Otherwise surfaces on one
side only, such as the floor, would shift the pose by half a cell.

A ground that looks steeper than it is can trap a fit of roll and pitch half way. So such a fit
starts from three attitudes: the fitted one, the one that the scan states, and the middle. The
result with the lowest cost is kept.
"""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.atlas import Beams, Fit, MultiMap, SearchSpace, SpaceAtlas
from isovist.localization.answer import Answer, Estimate, is_same_place
from isovist.localization.fitting.covariance import covariances, information, to_robot_frame
from isovist.localization.query.query import Query
from isovist.localization.query.search_space import to_common_frame, to_map_frame
from isovist.localization.settings import LocalizationSettings
from isovist.poses import Pose3
from isovist.sensing import CloudScan, ScanInput

CUBE_CELLS = 2.5
"""Side of a cube in cells. Of 2.5, 5 and 8 it has the smallest largest error of the attitude over
37 scans in a house of 0.08 m cells. On a street of 0.4 m cells 2.5 and 5 are alike."""

LEVEL_COORDINATES = 4
"""Number of coordinates of a fit without roll and pitch."""
MAX_REPEATS = 6
"""Most repetitions of a fit from where it ended. From 5° off, a single fit stops half way."""
STEP_FACTOR = 0.5
"""σ of the steps of the repetitions, relative to a second fit: what is no wall of the map pulls
less. By 0.35, 0.5, 0.7 and 1, attitudes in a house of 0.1 m cells are off by at most 0.17, 0.43,
0.58 and 1.05°. On streets and in real scans 0.5 is as good as 1."""
LEAN_SHARES = (1.0, 0.5, 0.0)
"""Shares of the fitted lean from which fits with roll and pitch start."""
RANGE_BIAS_PRIOR = 4.0
"""c of `fitting.align3d`. With c beams in dozens of blocks that hit only a floor, the height is
known to about half a cell, which is how far before the centre of a cell a beam can end."""
MIN_STEP = 1e-4
"""Smallest step that is repeated, in m and rad."""


def uniform_beams(atlas: SpaceAtlas, scan: CloudScan, settings: LocalizationSettings) -> Beams:
    """Select one return for each cube of `CUBE_CELLS` cells that has any."""
    return atlas.beams_of(
        scan, scan.spread_out(CUBE_CELLS * atlas.resolution), settings.scoring.group
    )


def final_fit(
    atlas: SpaceAtlas, scan: CloudScan, start: FloatArray, n: int, settings: LocalizationSettings
) -> tuple[Fit, FloatArray]:
    """Fit poses once more, until they rest.

    Args:
        atlas: The 3D map.
        scan: The scan.
        start: Poses of the level sensor frame in m and rad, shape (K, 6).
        n: Number of coordinates to fit, 4 or 6.
        settings: How to fit.

    Returns:
        The fits, and their covariances in m and rad, shape (K, n, n).
    """
    beams, widths = uniform_beams(atlas, scan, settings), settings.fine_widths(atlas)
    fit = atlas.fit(beams, start, widths, n, held=RANGE_BIAS_PRIOR)
    for _ in range(MAX_REPEATS):
        before = fit.poses
        fit = atlas.fit(beams, before, STEP_FACTOR * widths, n, held=RANGE_BIAS_PRIOR)
        if np.abs(fit.poses - before).max() < MIN_STEP:
            break
    matrices = information(fit, beams.blocks, atlas.cell(fit.poses), settings)
    return fit, covariances(matrices, settings)


def final_fit_cost(fit: Fit, atlas: SpaceAtlas, settings: LocalizationSettings) -> FloatArray:
    """Return the cost that final fits of the same beams are compared by, in m², shape (K,).

    A beam that ends too far from any wall costs nothing. A beam that ends near a wall costs less.
    """
    width = STEP_FACTOR * float(settings.fine_widths(atlas)[-1])
    return np.asarray(fit.square - width**2 * fit.weight)


def refit_answer(query: Query, answer: Answer, stated: ScanInput | None = None) -> Answer:
    """Return the answer with the places that are not ruled out fitted once more.

    Scores stay those of the fits that were compared. Nothing changes in 2D, for a sequence of
    scans, and for a place that would leave the region or become another place.

    Args:
        query: The scan as it was searched, and where the robot may be.
        answer: Its answer, with poses in the frame of the search space.
        stated: The scan with the roll and pitch that it states; that of the query if `None`.
    """
    if not isinstance(query.scan, CloudScan):
        return answer
    start = perf_counter()
    estimates = refit_estimates(query, answer.estimates, stated)
    timing, duration = dict(answer.timing_ms), 1e3 * (perf_counter() - start)
    for step in ("refine", "total"):
        timing[step] += duration
    return replace(answer, estimates=estimates, timing_ms=timing)


def refit_estimates(
    query: Query, estimates: Sequence[Estimate], stated: ScanInput | None = None
) -> Sequence[Estimate]:
    """Return estimates fitted once more, as `refit_answer` does."""
    scan = query.scan
    if not isinstance(scan, CloudScan):
        return estimates
    level = stated if isinstance(stated, CloudScan) else scan
    return tuple(
        estimate if estimate.refuted else _refit_estimate(query, scan, estimate, level)
        for estimate in estimates
    )


def _refit_estimate(
    query: Query, scan: CloudScan, estimate: Estimate, stated: CloudScan
) -> Estimate:
    space, region, settings = query.space, query.region, query.settings
    atlas, local = local_map_of(space, estimate)
    mount, n = scan.T_level_robot, len(local.covariance)
    # Start from shares of the roll and pitch that were fitted beyond those that the scan states.
    shares = np.array(LEAN_SHARES if n > LEVEL_COORDINATES else LEAN_SHARES[:1])
    starts = np.repeat([(local.pose @ stated.T_robot_level).vector], len(shares), axis=0)
    starts[:, LEVEL_COORDINATES:] *= shares[:, None]
    starts = (Pose3.from_vector(starts) @ stated.T_level_robot @ mount.inverse).vector
    fit, spreads = final_fit(atlas, scan, starts, n, settings)
    robots, spreads = to_robot_frame(atlas, mount, fit.poses, spreads)
    k = int(np.argmin(final_fit_cost(fit, atlas, settings)))
    local = replace(local, pose=robots[k], covariance=readonly(spreads[k]))
    refitted = replace(to_common_frame(space, local), map=estimate.map)
    is_inside = region is None or bool(region.holds(np.atleast_2d(refitted.pose.vector))[0])
    is_same = is_same_place(refitted.pose, estimate.pose, settings)
    return refitted if is_inside and is_same else estimate


def local_map_of(space: SearchSpace, estimate: Estimate) -> tuple[SpaceAtlas, Estimate]:
    """Return the 3D map that an estimate is on, and the estimate in the frame of that map."""
    atlas: SearchSpace = space
    if isinstance(space, MultiMap):
        estimate = to_map_frame(space, estimate)
        atlas = space.maps[str(estimate.map)]
    assert isinstance(atlas, SpaceAtlas)
    return atlas, estimate
