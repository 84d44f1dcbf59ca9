"""One scan on one search space: fit ever more candidates until the decision is final.

Each batch of the stream (`maps.stream_of`) is fitted, scored, and judged together with all batches
before it.  The search ends when

- one place is unique, and whatever was not searched costs `lead` times what that place costs, or
- nothing that may still come can change the answer, or the budget of candidates is used up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import MultiMap, SearchSpace, SpaceAtlas
from isovist.localization.answer import Answer, Verdict
from isovist.localization.candidates.height_slices import competitors_of
from isovist.localization.candidates.map_selection import MAX_UNSELECTED_MAPS
from isovist.localization.candidates.map_streams import AnyCandidates, MultiMapCandidates, stream_of
from isovist.localization.candidates.node_search import Candidates
from isovist.localization.decision.judge import SearchCoverage, decide
from isovist.localization.query.search_space import Regions, SearchRegion
from isovist.localization.reasons import Reason
from isovist.localization.scoring.coarse_to_fine import Leader, refine
from isovist.localization.scoring.hypotheses import Fits
from isovist.localization.settings import LocalizationSettings
from isovist.sensing import CloudScan, ScanInput

GROWTH = 2
"""Each search of all channels has so many times the candidates of the one before."""
FULL = 500
"""Candidates of the first search by all channels."""
MORE = 4
"""So many times the usual candidates are searched where only what was not searched keeps a place
from being unique: of 120 scans of fhw revisited 7 need it, all of them right."""
MAX = 1 << 20


class Evaluation:
    """A search that can be stopped after any batch and continued.

    Args:
        space: The map, or several side by side.
        scan: One scan or several.
        region: Where the robot may be.
        settings: How to search, to fit and to decide.
        tilt: In 3D, fit roll and pitch too.
    """

    def __init__(
        self,
        space: SearchSpace,
        scan: ScanInput,
        region: SearchRegion,
        settings: LocalizationSettings,
        tilt: bool = False,
    ) -> None:
        self.space, self.scan, self.region, self.settings = space, scan, region, settings
        self.tilt = tilt
        self.is_final = False
        self.answer = Answer(Verdict.LOST, (Reason.NO_CANDIDATES,), ())
        self._fits: Fits | None = None
        self._leader: Leader | None = None
        self._size = 0
        self._searched: list[FloatArray] = []
        self._batches = self._stream()
        self._timing = dict.fromkeys(("search", "refine", "judge", "total"), 0.0)

    def first(self) -> Answer:
        """Return the answer after the first batch."""
        if self._fits is None:
            self._step()
        return self.answer

    def run(self) -> Answer:
        """Return the final answer."""
        self.first()
        while not self.is_final:
            self._step()
        return self.answer

    def _stream(self) -> Iterator[AnyCandidates]:
        """Yield the candidates searched so far, of which more and more are new."""
        space, scan, settings = self.space, self.scan, self.settings
        stream = stream_of(space, scan, self.region, settings)
        yield stream.coarse(settings.share(space, settings.seeds[0]))
        if has_rivals(space, scan, self.answer):
            yield rivals_of(self.answer, space, scan, self.region, settings)
        # Batches of height slices do not grow, so a search in 3D has one more batch at most.
        self._size = min(FULL, self._usual) if space.dimension == 2 else self._usual
        while True:
            yield stream.full(self._size)
            self._size = min(GROWTH * self._size, self._usual if self._size < self._usual else MAX)

    @property
    def _usual(self) -> int:
        return self.settings.share(self.space, self.settings.seeds[1])

    def _step(self) -> None:
        start = perf_counter()
        found = next(self._batches)
        searched = perf_counter()
        new = without_known(found.poses, self._searched)
        self._searched.append(new)
        if len(new) or self._fits is None:
            self._fit(new)
        fitted = perf_counter()
        self._decide(found)
        done = perf_counter()
        marks = {"search": searched - start, "refine": fitted - searched, "judge": done - fitted}
        for name, spent in (*marks.items(), ("total", done - start)):
            self._timing[name] += 1e3 * spent
        self.answer = replace(self.answer, timing_ms=dict(self._timing))

    def _fit(self, poses: FloatArray) -> None:
        is_first = self._fits is None
        fits, self._leader = refine(
            self.space, self.scan, poses, self.settings, tilt=self.tilt, thorough=not is_first,
            leader=self._leader,
        )  # fmt: skip
        fits = inside(self.space, self.scan, self.region, fits)
        self._fits = fits if self._fits is None else self._fits.joined(fits)

    def _decide(self, found: AnyCandidates) -> None:
        space, scan, settings = self.space, self.scan, self.settings
        assert self._fits is not None
        apart = settings.candidates_apart(space)
        ratio = partial(found.cost_ratio, radius=1.5 * apart[0], turn=1.5 * apart[1])
        is_last = self._size >= self._usual or is_exhausted(found)
        self.answer = decide(
            space, scan, self._fits, settings, search=SearchCoverage(ratio, is_last)
        )
        answer = self.answer
        if answer.best is None or answer.verdict is Verdict.UNIQUE:
            self.is_final = True
        elif answer.reasons == (Reason.SEARCH_INCOMPLETE,):
            maps = len(space.names) if isinstance(space, MultiMap) else 1
            most = max(MORE, min(maps, MAX_UNSELECTED_MAPS)) * self._usual
            self.is_final = is_exhausted(found) or self._size >= most
        elif self._size or not has_rivals(space, scan, answer):  # else height slices come next
            sensor = np.asarray((answer.best.pose @ scan.T_robot_level).vector)
            self.is_final = is_last or ratio(sensor) >= settings.stop


def evaluate(
    space: SearchSpace,
    scan: ScanInput,
    region: SearchRegion,
    settings: LocalizationSettings,
    tilt: bool = False,
) -> Answer:
    """Return the final answer of a search."""
    return Evaluation(space, scan, region, settings, tilt).run()


def attempt(
    atlas: SearchSpace, scan: ScanInput, region: SearchRegion, settings: LocalizationSettings
) -> Answer:
    """Return the answer after the first batch; nothing is doubted yet."""
    return Evaluation(atlas, scan, region, settings).first()


def without_known(poses: FloatArray, known: Sequence[FloatArray]) -> FloatArray:
    """Return the poses that are none of those known, in order."""
    if not known or len(poses) == 0:
        return poses
    row = np.dtype((np.void, poses.itemsize * poses.shape[1]))
    earlier = np.ascontiguousarray(np.concatenate(known)).view(row)
    return poses[~np.isin(np.ascontiguousarray(poses).view(row), earlier).ravel()]


def is_exhausted(found: AnyCandidates) -> bool:
    """Return whether no pose was left out."""
    if isinstance(found, Candidates):
        return found.remaining_cost == np.inf and found.remaining_coarse_cost == np.inf
    if isinstance(found, MultiMapCandidates):
        return found.others is None and all(map(is_exhausted, found.each.values()))
    return all(is_exhausted(one) for one, _ in found.each)


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
    level = scan.T_robot_level
    poses = np.stack([(one.pose @ level).vector for one in answer.estimates])
    return competitors_of(atlas, scan, region, settings, poses, trusted=trusted)


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
    sensor = (answer.best.pose @ scan.T_robot_level).vector
    radius, turn = settings.candidates_apart(space)
    return candidates.cost_ratio(np.asarray(sensor), 1.5 * radius, 1.5 * turn)


def has_rivals(site: SearchSpace, scan: ScanInput, answer: Answer) -> bool:
    """Whether `slices.rivals` can tell if there is another place as good as that of an answer."""
    known = answer.verdict is not Verdict.LOST
    return known and isinstance(site, SpaceAtlas) and isinstance(scan, CloudScan)


def inside(atlas: SearchSpace, scan: ScanInput, region: SearchRegion, fits: Fits) -> Fits:
    """Return the fits that the region allows."""
    if region is None:
        return fits
    return fits.select(region.holds((atlas.lift(fits.poses) @ scan.T_level_robot).vector))
