"""The verb: where in the atlas was the scan taken?"""

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import TypeVar

from isovist.atlas.plane import Atlas
from isovist.atlas.space import VoxelAtlas
from isovist.errors import InputError
from isovist.localization.answer import Answer, Verdict
from isovist.localization.judge import judge
from isovist.localization.refine import Fits, refine
from isovist.localization.region import Region
from isovist.localization.search import search
from isovist.localization.space_judge import judge_in_space
from isovist.localization.space_refine import SpaceFits, refine_in_space
from isovist.localization.space_search import search_in_space
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan
from isovist.types import FloatArray

AnyFits = TypeVar("AnyFits", Fits, SpaceFits)


def locate(
    atlas: Atlas | VoxelAtlas,
    scan: Scan | CloudScan,
    *,
    prior: Region | None = None,
    tilt: bool = False,
) -> Answer:
    """Find where in the atlas the scan was taken.

    Search every node and heading, fit the best to the walls, rate them by ray casting, then
    judge: unique, ambiguous or lost.  Before it is called lost, all is done once more with ten
    times as many candidates.

    Args:
        atlas: The map, described (`build`).
        scan: What the sensor saw: of the plane for a map of the plane, points for one in space.
        prior: Where the robot may be; everywhere when `None`.
        tilt: In space, fit roll and pitch too, when no inertial sensor knows them.
    """
    if isinstance(atlas, Atlas) and isinstance(scan, Scan):
        if tilt:
            raise InputError("`tilt` is for maps in space; this atlas is of the plane.")
        flat = atlas, scan

        def attempt(thorough: bool) -> Answer:
            return _timed(
                lambda: search(*flat, prior, thorough=thorough),
                lambda seeds: refine(*flat, seeds),
                lambda fits: judge(*flat, fits),
            )

    elif isinstance(atlas, VoxelAtlas) and isinstance(scan, CloudScan):
        solid = atlas, scan

        def attempt(thorough: bool) -> Answer:
            return _timed(
                lambda: search_in_space(*solid, prior, thorough=thorough),
                lambda seeds: refine_in_space(*solid, seeds, tilt=tilt, thorough=thorough),
                lambda fits: judge_in_space(*solid, fits),
            )

    else:
        raise InputError(_mismatch(atlas, scan))
    answer = attempt(False)
    if answer.verdict is not Verdict.LOST or not answer.estimates:
        return answer
    again = attempt(True)
    timing = {name: answer.timing_ms[name] + again.timing_ms[name] for name in answer.timing_ms}
    return replace(again, timing_ms=timing)


def _mismatch(atlas: object, scan: object) -> str:
    if isinstance(atlas, Atlas) and isinstance(scan, CloudScan):
        return (
            "The scan is a cloud of points, and the atlas is of a map of the plane. "
            "Build the atlas of a map in space, or take a scan of the plane."
        )
    if isinstance(atlas, VoxelAtlas) and isinstance(scan, Scan):
        return (
            "The scan is of the plane, and the atlas is of a map in space. "
            "Give points: Scan.from_points."
        )
    return (
        f"`locate` needs an atlas and a scan, got {type(atlas).__name__} and {type(scan).__name__}."
    )


def _timed(
    search: Callable[[], FloatArray],
    refine: Callable[[FloatArray], AnyFits],
    judge: Callable[[AnyFits], Answer],
) -> Answer:
    """The answer of the three steps, with the time that each took."""
    start = perf_counter()
    seeds = search()
    searched = perf_counter()
    fits = refine(seeds)
    refined = perf_counter()
    answer = judge(fits)
    done = perf_counter()
    marks = {"search": (start, searched), "refine": (searched, refined), "judge": (refined, done)}
    timing = {name: 1e3 * (b - a) for name, (a, b) in marks.items()}
    return replace(answer, timing_ms=timing | {"total": 1e3 * (done - start)})
