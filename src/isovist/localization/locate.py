"""The verb: where in the atlas was the scan taken?"""

from dataclasses import replace
from time import perf_counter

from isovist.atlas.base import AnyScan, Atlas
from isovist.atlas.settings import checked_settings
from isovist.errors import InputError
from isovist.localization.answer import Answer, Verdict
from isovist.localization.certify import certify_answer
from isovist.localization.judge import judge
from isovist.localization.refine import refine
from isovist.localization.region import Region
from isovist.localization.search import search
from isovist.localization.settings import LocalizationSettings
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan

STEPS = ("search", "refine", "judge", "total")
OUTSIDE = (
    "Every beam is longer than the map is wide, so none can end in it. Are the ranges in m, and is "
    "the map of this place?"
)


def locate(
    atlas: Atlas,
    scan: AnyScan,
    *,
    prior: Region | None = None,
    tilt: bool = False,
    certificate: bool = False,
    settings: LocalizationSettings | None = None,
) -> Answer:
    """Find where in the atlas the scan was taken.

    Search every node and heading, fit the best to the walls, rate them by ray casting, then
    judge: unique, ambiguous or lost.  Before it is called lost, all is done once more with ten
    times as many candidates.

    Args:
        atlas: The map, described (`build`).
        scan: What the sensor saw: of the plane for a map of the plane, points for one in space.
        prior: Where the robot may be; everywhere when `None`.  The answer lies in it.
        tilt: In space, fit roll and pitch too, when no inertial sensor knows them.
        certificate: Fill in `answer.certificate`, which takes a few dozen ms more.
        settings: How to locate.
    """
    if not isinstance(atlas, Atlas) or not isinstance(scan, Scan | CloudScan):
        raise InputError(
            f"`locate` needs an atlas and a scan, "
            f"got {type(atlas).__name__} and {type(scan).__name__}."
        )
    if prior is not None and not isinstance(prior, Region):
        raise InputError(
            f"`prior` must be a Region, e.g. Region.around(pose, 2.0), got {type(prior).__name__}."
        )
    atlas.check(scan)
    atlas.fitted(tilt)
    chosen = checked_settings(LocalizationSettings, settings)
    held = scan.within(atlas.diagonal)
    if held is None:
        return Answer(Verdict.LOST, OUTSIDE, (), dict.fromkeys(STEPS, 0.0))
    scan = held
    _compile(atlas)
    answer = _attempt(atlas, scan, prior, chosen, tilt, thorough=False)
    if answer.verdict is Verdict.LOST and answer.estimates:
        first = answer.timing_ms
        answer = _attempt(atlas, scan, prior, chosen, tilt, thorough=True)
        timing = {name: first[name] + spent for name, spent in answer.timing_ms.items()}
        answer = replace(answer, timing_ms=timing)
    if certificate:
        told = certify_answer(atlas.world, scan, answer, chosen)
        answer = replace(answer, certificate=told)
    return answer


def _compile(atlas: Atlas) -> None:
    """Have everything compiled before a clock runs: the times told are those of every call."""
    from isovist.kernels.correlate import correlate, spread

    for kernel in (correlate, spread, *atlas.kernels()):
        kernel.compile()


def _attempt(
    atlas: Atlas,
    scan: AnyScan,
    prior: Region | None,
    settings: LocalizationSettings,
    tilt: bool,
    *,
    thorough: bool,
) -> Answer:
    """The answer of the three steps, with the time that each took."""
    start = perf_counter()
    seeds = search(atlas, scan, prior, settings, thorough=thorough)
    searched = perf_counter()
    fits = refine(atlas, scan, seeds, settings, tilt=tilt, thorough=thorough)
    if prior is not None:
        fits = fits.select(prior.holds((atlas.lift(fits.poses) @ scan.T_level_robot).vector))
    refined = perf_counter()
    answer = judge(atlas, scan, fits, settings)
    done = perf_counter()
    marks = {"search": (start, searched), "refine": (searched, refined), "judge": (refined, done)}
    timing = {name: 1e3 * (b - a) for name, (a, b) in marks.items()}
    return replace(answer, timing_ms=timing | {"total": 1e3 * (done - start)})
