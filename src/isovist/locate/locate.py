"""The verb: where in the atlas was the scan taken?"""

from dataclasses import replace
from time import perf_counter

from isovist.atlas.atlas import Atlas
from isovist.locate.answer import Answer, Verdict
from isovist.locate.judge import judge
from isovist.locate.refine import refine
from isovist.locate.region import Region
from isovist.locate.search import search
from isovist.sensing.scan import Scan


def locate(atlas: Atlas, scan: Scan, *, prior: Region | None = None) -> Answer:
    """Find where in the atlas the scan was taken.

    Search every node and heading, fit the best to the walls, rate them by ray casting, then
    judge: unique, ambiguous or lost.  Before it is called lost, all is done once more with ten
    times as many candidates.

    Args:
        atlas: The map, described (`build`).
        scan: What the sensor saw.
        prior: Where the robot may be; everywhere when `None`.
    """
    answer = _attempt(atlas, scan, prior, thorough=False)
    if answer.verdict is not Verdict.LOST or not answer.estimates:
        return answer
    again = _attempt(atlas, scan, prior, thorough=True)
    timing = {name: answer.timing_ms[name] + again.timing_ms[name] for name in answer.timing_ms}
    return replace(again, timing_ms=timing)


def _attempt(atlas: Atlas, scan: Scan, prior: Region | None, *, thorough: bool) -> Answer:
    start = perf_counter()
    seeds = search(atlas, scan, prior, thorough=thorough)
    searched = perf_counter()
    fits = refine(atlas, scan, seeds)
    refined = perf_counter()
    answer = judge(atlas, scan, fits)
    done = perf_counter()
    marks = {"search": (start, searched), "refine": (searched, refined), "judge": (refined, done)}
    timing = {name: 1e3 * (b - a) for name, (a, b) in marks.items()}
    return replace(answer, timing_ms=timing | {"total": 1e3 * (done - start)})
