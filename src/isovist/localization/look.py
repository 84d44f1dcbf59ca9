"""One look at a map, and a closer one unless that settles it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import Atlas, MultiMap, SearchSpace, SpaceAtlas
from isovist.localization.answer import Answer, Verdict
from isovist.localization.choice import FEW
from isovist.localization.copies import copies
from isovist.localization.floors import MANY
from isovist.localization.judge import is_same, judge
from isovist.localization.maps import Regions, SearchRegion, Sought, seek
from isovist.localization.reasons import Reason
from isovist.localization.refine import Fits, refine
from isovist.localization.search import Candidates
from isovist.localization.settings import LocalizationSettings
from isovist.localization.slices import rivals
from isovist.poses import Pose
from isovist.sensing import CloudScan, ScanInput

First = tuple[Answer, bool]
"""The answer of a look, and whether it is well ahead of what was not looked at."""
MORE = 4
"""So many times as many candidates a closer look at a map of the plane has at last where those
before did not lead: of 120 scans of fhw revisited 7 were not unique for that alone, all of them
right."""
CLEAR = (1.0, 0.9)
"""A place of the plane that only a closer look finds is believed where it is better than that of
the first by so many nats per beam, and explains such a share of them.  With this and `MORE` 371
simulated scans of 400 on willow are unique, before 303, and none of them is wrong (`bench
simulate`; `benchmarks.sparse`)."""


def look_once(
    atlas: SearchSpace,
    scan: ScanInput,
    region: SearchRegion,
    settings: LocalizationSettings,
    tilt: bool = False,
    *,
    thorough: bool = False,
    against: Answer | None = None,
    known: Sequence[Answer] = (),
    among: Sought | None = None,
) -> tuple[Answer, bool]:
    """The answer of the three steps, and whether it is well ahead of what was not looked at.

    In space, `against` an answer, only places that may be as good as its own are looked for.
    Places of answers that are `known` are judged again beside what is found now.  Candidates
    `among` which to look were sought before.
    """
    if thorough and atlas.dimension == 2:
        from isovist.compute import bound, tabulate

        for kernel in (bound, tabulate):  # of `copies`; seldom needed, so compiled only now
            kernel.compile()
    start = perf_counter()
    candidates: Sought
    if among is not None:
        candidates = among
    elif against is None:
        candidates = seek(atlas, scan, region, settings, thorough=thorough)
    else:
        candidates = rivals_of(against, atlas, scan, region, settings)
    searched = perf_counter()
    found = None if not known else np.concatenate([_sensors(one, scan) for one in known])
    fits = refine(
        atlas, scan, candidates.poses, settings, tilt=tilt, thorough=thorough, known=found
    )
    if thorough and against is None:
        alike = copies(atlas, scan, fits, settings)
        if len(alike):
            fits = fits.joined(refine(atlas, scan, alike, settings, tilt=tilt, thorough=True))
    fits = held_by(atlas, scan, region, fits)
    refined = perf_counter()
    # A first look in space is followed by a closer one unless it leads; only then its ratings count
    # to the last nat.
    plain = atlas.dimension == 3 and not thorough
    firm = settings if thorough else settings.careful()
    answer = judge(atlas, scan, fits, firm, nearby=not plain)
    sure = leads(atlas, scan, candidates, answer, settings)
    if plain and sure:
        answer = judge(atlas, scan, fits, firm)
        sure = leads(atlas, scan, candidates, answer, settings)
    done = perf_counter()
    marks = {"search": (start, searched), "refine": (searched, refined), "judge": (refined, done)}
    timing = {name: 1e3 * (b - a) for name, (a, b) in marks.items()}
    answer = replace(answer, timing_ms=timing | {"total": 1e3 * (done - start)})
    return answer, sure


def rivals_of(
    answer: Answer,
    atlas: SearchSpace,
    scan: ScanInput,
    region: SearchRegion,
    settings: LocalizationSettings,
) -> Candidates:
    """Places of an answer in space, where it `has_rivals`, and those that may be as good."""
    assert isinstance(atlas, SpaceAtlas)
    assert isinstance(scan, CloudScan)
    assert not isinstance(region, Regions)
    trusted = answer.verdict is Verdict.UNIQUE
    return rivals(atlas, scan, region, settings, _sensors(answer, scan), trusted=trusted)


def _sensors(answer: Answer, scan: ScanInput) -> FloatArray:
    """Poses of the level frame of the sensor at the places of an answer that has any, (K, D)."""
    level = scan.T_robot_level
    return np.stack([(one.pose @ level).vector for one in answer.estimates])


def leads(
    atlas: SearchSpace,
    scan: ScanInput,
    candidates: Sought,
    answer: Answer,
    settings: LocalizationSettings,
) -> bool:
    """Whether an answer is well ahead of what was not looked at; one without a place is."""
    if answer.best is None:
        return True
    sensor = (answer.best.pose @ scan.T_robot_level).vector
    radius, turn = settings.candidates_apart(atlas)
    lead = candidates.lead(np.asarray(sensor), 1.5 * radius, 1.5 * turn)
    return lead >= settings.lead


def look_closer(
    site: SearchSpace,
    scan: ScanInput,
    region: SearchRegion,
    settings: LocalizationSettings,
    tilt: bool,
    look: First,
) -> Answer:
    """What a first look gave, or unless that settles it a closer one."""
    first, sure = look
    if first.best is None or (sure and first.verdict is Verdict.UNIQUE):
        return first
    spent, known = first.timing_ms, [first]
    if has_rivals(site, scan, first):
        answer, sure = look_once(site, scan, region, settings, tilt, thorough=True, against=first)
        spent = _sum(spent, answer.timing_ms)
        known += [answer] if answer.estimates else []
        apart = first.verdict is Verdict.UNIQUE and not agree(first, answer, settings)
        if sure and answer.verdict is Verdict.UNIQUE and not apart:
            return replace(answer, timing_ms=spent)
    look_again = partial(look_once, site, scan, region, tilt=tilt, thorough=True, known=known)
    answer, sure = look_again(settings)
    large = isinstance(site, Atlas) and site.size > MANY
    few, many = settings.seeds
    if isinstance(site, MultiMap) and answer.verdict is Verdict.UNIQUE and not sure:
        # As many candidates as of one map may be too few of all: as many of each, then.
        spent = _sum(spent, answer.timing_ms)
        times = min(len(site.names), FEW)
        answer, sure = look_again(replace(settings, seeds=(few, many * times)))
    elif site.dimension == 2 and not large and answer.verdict is Verdict.UNIQUE and not sure:
        start = perf_counter()
        more = seek(site, scan, region, replace(settings, seeds=(few, many * MORE)), thorough=True)
        sought = dict.fromkeys(answer.timing_ms, 0.0)
        sought["search"] = sought["total"] = 1e3 * (perf_counter() - start)
        spent = _sum(spent, sought)
        if leads(site, scan, more, answer, settings):  # else it would not be sure of more either
            spent = _sum(spent, answer.timing_ms)
            answer, sure = look_again(settings, among=more)
    # That there is no other place, or none at all, cannot be said before all was looked at.
    if large and answer.verdict is not Verdict.AMBIGUOUS and not sure:
        spent = _sum(spent, answer.timing_ms)
        every = replace(settings, finalists=(2 * site.size, settings.finalists[1]))
        answer, sure = look_again(every)
    answer = replace(answer, timing_ms=_sum(spent, answer.timing_ms))
    if answer.verdict is Verdict.UNIQUE and not (sure and agree(first, answer, settings)):
        reason = Reason.SEARCHES_DISAGREE if sure else Reason.SEARCH_INCOMPLETE
        answer = replace(answer, verdict=Verdict.AMBIGUOUS, reasons=(reason,))
    return answer


def agree(first: Answer, second: Answer, settings: LocalizationSettings) -> bool:
    """Whether two looks have the same place as their best, unless the first found none that fits.

    Of places that only the closer look finds, many explain a scan that has changed since the map
    was made better than the right one does; but not all of it, and not by far (`CLEAR`).
    """
    if first.best is None or second.best is None or first.verdict is Verdict.LOST:
        return True
    if is_same(first.best.pose, second.best.pose, settings):
        return True
    ahead, explained = second.best.score - first.best.score, second.best.inliers
    plain = first.verdict is Verdict.AMBIGUOUS and isinstance(second.best.pose, Pose)
    return plain and ahead >= CLEAR[0] and explained >= CLEAR[1]


def has_rivals(site: SearchSpace, scan: ScanInput, answer: Answer) -> bool:
    """Whether `slices.rivals` can tell if there is another place as good as that of an answer."""
    known = answer.verdict is not Verdict.LOST
    return known and isinstance(site, SpaceAtlas) and isinstance(scan, CloudScan)


def _sum(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """Times of two looks, step by step."""
    return {name: before[name] + spent for name, spent in after.items()}


def attempt(
    atlas: SearchSpace, scan: ScanInput, region: SearchRegion, settings: LocalizationSettings
) -> Answer:
    """What one look gives; nothing is doubted yet."""
    return look_once(atlas, scan, region, settings)[0]


def held_by(atlas: SearchSpace, scan: ScanInput, region: SearchRegion, fits: Fits) -> Fits:
    """Those fits that the region allows."""
    if region is None:
        return fits
    return fits.select(region.holds((atlas.lift(fits.poses) @ scan.T_level_robot).vector))
