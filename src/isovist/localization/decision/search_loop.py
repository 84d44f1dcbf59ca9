"""Search for a scan: fit and score ever more candidates until the decision is final.

    for each batch of candidates:
        add its hypotheses, fitted to the walls and scored
        decide with all hypotheses so far, and with the bound on what is not searched yet

The search ends when

- one place is unique: then whatever was not searched costs at least `lead` times what it costs;
- whatever was not searched costs so much (`stop`) that it would not change the answer;
- no candidate is left, or as many were searched as the settings allow.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import MultiMap, SearchSpace, SpaceAtlas
from isovist.localization.answer import Answer, SearchStep, Verdict
from isovist.localization.candidates.height_slices import competitors_of
from isovist.localization.candidates.map_selection import MAX_UNSELECTED_MAPS
from isovist.localization.candidates.map_streams import AnyCandidates, stream_of
from isovist.localization.candidates.node_search import Candidates
from isovist.localization.decision.decide import decide
from isovist.localization.decision.evidence import SearchCoverage
from isovist.localization.query.query import Query
from isovist.localization.query.search_space import Regions, SearchRegion
from isovist.localization.reasons import Reason
from isovist.localization.scoring.coarse_to_fine import CandidateFitter, Leader
from isovist.localization.scoring.hypotheses import Fits
from isovist.localization.settings import LocalizationSettings
from isovist.sensing import CloudScan, ScanInput


class Search:
    """A search for one query, which can stop after any batch and go on later.

    Attributes:
        query: What is searched for.
        answer: What is known so far.
        is_final: Whether more candidates would not change the answer.
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self.answer = Answer(Verdict.LOST, (Reason.NO_CANDIDATES,), ())
        self.is_final = False
        self._batches = self._search()
        self._batch_size = 0
        self._searched: list[FloatArray] = []
        self._hypotheses: Fits | None = None
        self._leader: Leader | None = None
        self._steps: list[SearchStep] = []

    def first(self) -> Answer:
        """Return the answer after the first batch."""
        if self._hypotheses is None:
            self._take_batch()
        return self.answer

    def run(self) -> Answer:
        """Return the answer after as many batches as it takes."""
        self.first()
        while not self.is_final:
            self._take_batch()
        return self.answer

    @property
    def _usual_count(self) -> int:
        """The number of candidates after which an ambiguous answer is final."""
        return self.query.settings.share(
            self.query.space, self.query.settings.search.full_candidates
        )

    def _search(self) -> Iterator[AnyCandidates]:
        """Yield all candidates so far, of which more and more are new."""
        query, space, settings = self.query, self.query.space, self.query.settings
        stream = stream_of(space, query.scans, query.region, settings)
        yield stream.coarse(settings.share(space, settings.search.first_candidates))
        if has_rivals(space, query.scans, self.answer):
            yield rivals_of(self.answer, space, query.scans, query.region, settings)
        # Batches of height slices do not grow, so a search in 3D has one more batch at most.
        usual, search = self._usual_count, settings.search
        self._batch_size = min(search.batch_candidates, usual) if space.dimension == 2 else usual
        while True:
            yield stream.full(self._batch_size)
            most = usual if self._batch_size < usual else search.batch_growth * self._batch_size
            self._batch_size = min(search.batch_growth * self._batch_size, most)

    def _take_batch(self) -> None:
        """Fit, score and decide with the next batch."""
        start = perf_counter()
        candidates = next(self._batches)
        poses = without_known(candidates.poses, self._searched)
        self._searched.append(poses)
        searched = perf_counter()
        self._fit(poses)
        fitted = perf_counter()
        ratio = self._decide(candidates)
        decided = perf_counter()
        times = searched - start, fitted - searched, decided - fitted
        self._record(len(poses), ratio, [1e3 * seconds for seconds in times])

    def _fit(self, poses: FloatArray) -> None:
        """Add the hypotheses of new candidates."""
        query, is_first = self.query, self._hypotheses is None
        if len(poses) == 0 and not is_first:
            return
        fitter = CandidateFitter(
            query.space, query.scans, query.settings, query.fits_tilt, thorough=not is_first
        )
        fits, self._leader = fitter.fit(poses, self._leader)
        fits = inside(query.space, query.scans, query.region, fits)
        self._hypotheses = fits if self._hypotheses is None else self._hypotheses.merge(fits)

    def _decide(self, candidates: AnyCandidates) -> float:
        """Decide with all hypotheses so far, and whether to search on.

        Returns:
            How many times the cost of the best place the cheapest pose not searched costs.
        """
        space, scan, settings = self.query.space, self.query.scans, self.query.settings
        assert self._hypotheses is not None
        ratio_at = cost_ratios(space, candidates, settings)
        has_no_more = candidates.is_exhaustive
        is_last = self._batch_size >= self._usual_count or has_no_more
        answer = decide(
            space, scan, self._hypotheses, settings, coverage=SearchCoverage(ratio_at, is_last)
        )
        self.answer, ratio = answer, np.inf
        if answer.best is not None:
            ratio = ratio_at(np.asarray((answer.best.pose @ scan.T_robot_level).vector))
        if answer.best is None or answer.verdict is Verdict.UNIQUE:
            self.is_final = True
        elif answer.reasons == (Reason.SEARCH_INCOMPLETE,):
            maps = len(space.names) if isinstance(space, MultiMap) else 1
            most = (
                max(settings.search.max_extension, min(maps, MAX_UNSELECTED_MAPS))
                * self._usual_count
            )
            self.is_final = has_no_more or self._batch_size >= most
        elif self._batch_size or not has_rivals(space, scan, answer):  # else slices come next
            self.is_final = is_last or ratio >= settings.search.stop_cost_ratio
        return float(ratio)

    def _record(self, count: int, cost_ratio: float, times_ms: Sequence[float]) -> None:
        """Write the batch into the trace of the answer, and the time of all batches."""
        assert self._hypotheses is not None
        answer, places = self.answer, len(self._hypotheses)
        step = SearchStep(count, places, cost_ratio, answer.verdict, answer.reasons, *times_ms)
        self._steps.append(step)
        steps = self._steps
        times = {
            "search": sum(step.search_ms for step in steps),
            "refine": sum(step.fit_ms for step in steps),
            "judge": sum(step.decide_ms for step in steps),
        }
        times["total"] = sum(times.values())
        self.answer = replace(self.answer, timing_ms=times, trace=tuple(steps))


def attempt(
    space: SearchSpace, scan: ScanInput, region: SearchRegion, settings: LocalizationSettings
) -> Answer:
    """Return the answer after the first batch of a search."""
    return Search(Query(space, scan, region, settings)).first()


def without_known(poses: FloatArray, known: Sequence[FloatArray]) -> FloatArray:
    """Return the poses that are none of those known, in order."""
    if not known or len(poses) == 0:
        return poses
    row = np.dtype((np.void, poses.itemsize * poses.shape[1]))
    earlier = np.ascontiguousarray(np.concatenate(known)).view(row)
    return poses[~np.isin(np.ascontiguousarray(poses).view(row), earlier).ravel()]


def rivals_of(
    answer: Answer,
    atlas: SearchSpace,
    scan: ScanInput,
    region: SearchRegion,
    settings: LocalizationSettings,
) -> Candidates:
    """Return the places of a 3D answer, and all that height slices do not exclude beside them."""
    assert isinstance(atlas, SpaceAtlas)
    assert isinstance(scan, CloudScan)
    assert not isinstance(region, Regions)
    is_unique = answer.verdict is Verdict.UNIQUE
    level = scan.T_robot_level
    poses = np.stack([(one.pose @ level).vector for one in answer.estimates])
    return competitors_of(atlas, scan, region, settings, poses, is_unique=is_unique)


def cost_ratio(
    space: SearchSpace,
    scan: ScanInput,
    candidates: AnyCandidates,
    answer: Answer,
    settings: LocalizationSettings,
) -> float:
    """Return how many times the cost of the best place the cheapest pose not searched costs."""
    if answer.best is None:
        return np.inf
    sensor = np.asarray((answer.best.pose @ scan.T_robot_level).vector)
    return cost_ratios(space, candidates, settings)(sensor)


def cost_ratios(
    space: SearchSpace, candidates: AnyCandidates, settings: LocalizationSettings
) -> Callable[[FloatArray], float]:
    """Return what gives, for a pose of the sensor, the cost of the rest relative to its own."""
    radius, turn = settings.candidates_apart(space)
    return partial(candidates.cost_ratio, radius=1.5 * radius, turn=1.5 * turn)


def has_rivals(site: SearchSpace, scan: ScanInput, answer: Answer) -> bool:
    """Return whether height slices can tell if another place is as good as that of an answer."""
    known = answer.verdict is not Verdict.LOST
    return known and isinstance(site, SpaceAtlas) and isinstance(scan, CloudScan)


def inside(atlas: SearchSpace, scan: ScanInput, region: SearchRegion, fits: Fits) -> Fits:
    """Return the fits that the region allows."""
    if region is None:
        return fits
    return fits.select(region.holds((atlas.lift(fits.poses) @ scan.T_level_robot).vector))
