"""Suggest how a scan would have to be changed to fit the map, if it has no unique place.

The scan is located again mirrored, and 5 to 15 % larger and smaller. If most of it is longer than
the map is wide, it is located as if it were in mm instead. A change that gives a unique place with
a better fit than the scan as it is becomes a hint. Hints take as long as half a dozen answers, so
they are computed on request; `isovist locate` requests them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from isovist.atlas import AnyScan, MultiMap, SearchSpace
from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.candidates.map_selection import maps_of_answer
from isovist.localization.decision.search_loop import Search
from isovist.localization.interpretations.alternative_scans import (
    SCALE_FACTORS,
    WIDE_SCALE_FACTORS,
    fit_rescaled,
    min_gains,
)
from isovist.localization.query.query import Query
from isovist.localization.query.search_space import (
    AnyMaps,
    AnyRegion,
    search_region,
    search_space_of,
    to_map_frame,
)
from isovist.localization.settings import LocalizationSettings
from isovist.poses import AnyPose
from isovist.renamed import accept_old_names
from isovist.sensing import ScanInput, join_scans
from isovist.settings import checked_settings

MILLIMETRE = 0.001
FACTORS = (*SCALE_FACTORS, *WIDE_SCALE_FACTORS)
FACTOR_STEPS = np.linspace(0.97, 1.03, 7)
"""Factors around one that fits, relative to it; the best of them is reported."""


@dataclass(frozen=True, slots=True, eq=False)
class Hint:
    """A change that would make the scan fit somewhere.

    Attributes:
        cause: "mirror" or "scale".
        factor: Factor for the ranges; 1 for a mirrored scan.
        pose: T_world_robot where the scan would fit.
        score: Mean rating of a beam there in nats, as in `Estimate`.
        text: The hint in words.
        map: Name of the map of the pose if there are several; else `None`.
    """

    cause: str
    factor: float
    pose: AnyPose
    score: float
    text: str
    map: str | None = None


@accept_old_names
def hints(
    space: AnyMaps,
    scan: ScanInput | Sequence[AnyScan],
    answer: Answer,
    *,
    motions: Sequence[AnyPose] | None = None,
    region: AnyRegion = None,
    settings: LocalizationSettings | None = None,
) -> tuple[Hint, ...]:
    """Return how the scan would have to be changed to fit, best first; none for a unique answer.

    Args:
        space: An atlas, or several by name.
        scan: One scan, or a list of scans.
        answer: The answer of `locate` for this scan.
        motions: Motions between several scans, as for `locate`.
        region: The region that `locate` was given.
        settings: How to locate.
    """
    if answer.verdict is Verdict.UNIQUE:
        return ()
    options = checked_settings(LocalizationSettings, settings)
    target = search_space_of(space)
    query = Query(target, join_scans(scan, motions), search_region(target, region), options)
    if query.region is None:
        part = maps_of_answer(target, answer)
        if part is None:
            return ()
        query = replace(query, space=part)
    score = -math.inf if answer.best is None else answer.best.score
    scale_gain, mirror_gain = min_gains(options)
    changes = []
    place = _locate_unique(query, query.scans.mirrored())
    if place is not None and place.score > score + mirror_gain:
        changes.append(_hint("mirror", 1.0, place, query.space))
    scaled = _best_scale(query)
    if scaled is not None and scaled[1].score > score + scale_gain:
        changes.append(_hint("scale", *scaled, query.space))
    return tuple(sorted(changes, key=lambda hint: -hint.score))


def _locate_unique(query: Query, scan: ScanInput) -> Estimate | None:
    """Return the unique place of another scan after a short search, if it has one."""
    in_range = scan.within(query.space.diagonal)
    if in_range is None:
        return None
    answer = Search(replace(query, scan=in_range)).first()
    return answer.best if answer.verdict is Verdict.UNIQUE else None


def _best_scale(query: Query) -> tuple[float, Estimate] | None:
    """Return the factor of the ranges with which the scan fits best, and its unique place."""
    scan = query.scans
    is_far = float(np.median(scan.distances)) > query.space.diagonal
    places = {
        factor: _locate_unique(query, scan.scaled(factor))
        for factor in ((MILLIMETRE,) if is_far else FACTORS)
    }
    unique = [(factor, place) for factor, place in places.items() if place is not None]
    if not unique:
        return None
    factor, place = max(unique, key=lambda pair: pair[1].score)
    if factor == MILLIMETRE:
        return factor, place
    return _refine_factor(query, factor, place)


def _refine_factor(query: Query, factor: float, place: Estimate) -> tuple[float, Estimate]:
    """Return the factor near a given one that fits best around a place, and that fit."""
    factors = (factor * FACTOR_STEPS).tolist()
    scores, poses = fit_rescaled(query, factors, place)
    k = int(scores.argmax())
    pose = (query.space.lift(poses) @ query.scans.T_level_robot)[k]
    return factors[k], replace(place, pose=pose, score=float(scores[k]))


def _hint(cause: str, factor: float, place: Estimate, space: SearchSpace) -> Hint:
    if isinstance(space, MultiMap):
        place = to_map_frame(space, place)
    pose = place.pose
    position = f"x {pose.x:.2f} m, y {pose.y:.2f} m, yaw {math.degrees(pose.yaw):.1f}°"
    position = f"{place.map}, {position}" if place.map else position
    if cause == "mirror":
        scan = "mirrored scan"
        advice = "is the sensor mounted upside down? Try `--mirror`, in Python `scan.mirrored()`."
    elif factor == MILLIMETRE:
        scan, advice = f"scan times {factor:g}", "are the ranges in mm? They must be in m."
    else:
        scan = f"scan times {factor:.2f}"
        advice = "is the resolution of the map right, and are the ranges in m?"
    text = f"The {scan} would fit at {position}: {advice}"
    return Hint(cause, factor, pose, place.score, text, place.map)
