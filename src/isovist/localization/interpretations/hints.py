"""What would fit: hints for a scan that has no unique place.

The scan is located once more mirrored, 5 and 10 % larger and smaller, and, where most of it is
longer than the map is wide, as if it were in mm.  What has a place to itself then, and a better fit
than the scan as it is, is worth a hint.  This takes as long as half a dozen answers, so it is asked
for; `isovist locate` does.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from isovist.atlas import AnyScan, MultiMap, SearchSpace
from isovist.localization.answer import Answer, Estimate, Verdict
from isovist.localization.candidates.map_selection import maps_of_answer
from isovist.localization.decision.search_loop import attempt
from isovist.localization.interpretations.alternative_scans import (
    SCALE_FACTORS,
    WIDE_SCALE_FACTORS,
    fit_rescaled,
    min_gains,
)
from isovist.localization.query.search_space import (
    AnyMaps,
    AnyRegion,
    SearchRegion,
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
"""Around a factor that fits, the best of these times it is told."""


@dataclass(frozen=True, slots=True, eq=False)
class Hint:
    """How the scan would have to be changed to fit somewhere.

    Attributes:
        cause: "mirror" or "scale".
        factor: That the ranges are to be multiplied by; 1 for a mirrored scan.
        pose: T_world_robot, where it would fit.
        score: Of the fit, as in `Estimate`.
        text: All this in words.
        map: Name of the map that the pose is of, where several were asked; else `None`.
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
    """What would fit instead, best first; nothing for an answer that is unique.

    Args:
        space: The map, described, or several by name.
        scan: What the sensor saw, or a list of such scans.
        answer: Of `locate` for this scan.
        motions: Between several scans, as for `locate`.
        region: That was given to it.
        settings: How to locate.
    """
    if answer.verdict is Verdict.UNIQUE:
        return ()
    chosen = checked_settings(LocalizationSettings, settings)
    seen, site = join_scans(scan, motions), search_space_of(space)
    held = search_region(site, region)
    here = maps_of_answer(site, answer) if held is None else site
    if here is None:
        return ()
    site = here
    score = -math.inf if answer.best is None else answer.best.score
    sized, over = min_gains(chosen)
    found = []
    turned = _locate_unique(site, seen.mirrored(), held, chosen)
    if turned is not None and turned.score > score + over:
        found.append(_hint("mirror", 1.0, turned, site))
    far = float(np.median(seen.distances)) > site.diagonal
    sizes = []
    for factor in (MILLIMETRE,) if far else FACTORS:
        place = _locate_unique(site, seen.scaled(factor), held, chosen)
        if place is not None:
            sizes.append((place.score, factor, place))
    if sizes:
        _, factor, place = max(sizes, key=lambda size: size[0])
        if factor != MILLIMETRE:
            factor, place = _refine_factor(site, seen, factor, place, chosen)
        if place.score > score + sized:
            found.append(_hint("scale", factor, place, site))
    return tuple(sorted(found, key=lambda hint: -hint.score))


def _locate_unique(
    atlas: SearchSpace, scan: ScanInput, region: SearchRegion, settings: LocalizationSettings
) -> Estimate | None:
    """The only place of a scan, if it has one."""
    held = scan.within(atlas.diagonal)
    if held is None:
        return None
    answer = attempt(atlas, held, region, settings)
    return answer.best if answer.verdict is Verdict.UNIQUE else None


def _refine_factor(
    atlas: SearchSpace,
    scan: ScanInput,
    factor: float,
    place: Estimate,
    settings: LocalizationSettings,
) -> tuple[float, Estimate]:
    """The factor near a given one that fits best around a place, and the fit."""
    factors = (factor * FACTOR_STEPS).tolist()
    scores, poses = fit_rescaled(atlas, scan, factors, place, settings)
    k = int(scores.argmax())
    pose = (atlas.lift(poses) @ scan.T_level_robot)[k]
    return factors[k], replace(place, pose=pose, score=float(scores[k]))


def _hint(cause: str, factor: float, place: Estimate, site: SearchSpace) -> Hint:
    if isinstance(site, MultiMap):
        place = to_map_frame(site, place)
    pose = place.pose
    where = f"x {pose.x:.2f} m, y {pose.y:.2f} m, yaw {math.degrees(pose.yaw):.1f}°"
    where = f"{place.map}, {where}" if place.map else where
    if cause == "mirror":
        what, why = "mirrored scan", "is the sensor mounted upside down? Try `--mirror`, in Python "
        why += "`scan.mirrored()`."
    elif factor == MILLIMETRE:
        what, why = f"scan times {factor:g}", "are the ranges in mm? They must be in m."
    else:
        what = f"scan times {factor:.2f}"
        why = "is the resolution of the map right, and are the ranges in m?"
    text = f"The {what} would fit at {where}: {why}"
    return Hint(cause, factor, pose, place.score, text, place.map)
