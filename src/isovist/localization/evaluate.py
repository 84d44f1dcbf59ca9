"""One scan on one search space: fit ever more candidates until the decision is final.

Each batch of the stream (`maps.stream_of`) is fitted, scored, and judged together with all batches
before it.  The search ends when

- one place is unique, and whatever was not searched costs `lead` times what that place costs, or
- nothing that may still come can change the answer, or the budget of candidates is used up.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from time import perf_counter

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import MultiMap, SearchSpace, SpaceAtlas
from isovist.localization.answer import Answer, Verdict
from isovist.localization.choice import FEW
from isovist.localization.judge import judge
from isovist.localization.maps import Regions, SearchRegion, Sought, stream_of
from isovist.localization.reasons import Reason
from isovist.localization.refine import Fits, Leader, refine
from isovist.localization.search import Candidates
from isovist.localization.settings import LocalizationSettings
from isovist.localization.slices import rivals
from isovist.sensing import CloudScan, ScanInput

GROWTH = 2
"""Each search of all channels has so many times the candidates of the one before."""
FULL = 500
"""Candidates of the first search by all channels."""


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
        self.cost_ratio = 0.0
        self.answer = Answer(Verdict.LOST, (Reason.NO_CANDIDATES,), ())
        self._fits: Fits | None = None
        self._leader: Leader | None = None
        self._count = 0
        self._fitted: set[bytes] = set()
        self._batches = self._stream()
        self._timing = dict.fromkeys(("search", "refine", "judge", "total"), 0.0)

    @property
    def is_ahead(self) -> bool:
        """Whether whatever was not searched costs enough more than the best place."""
        return self.cost_ratio >= self.settings.lead

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

    def _stream(self) -> Iterator[tuple[Sought, bool]]:
        """Yield candidates, of which more and more are new, and whether they are the last."""
        space, settings = self.space, self.settings
        stream = stream_of(space, self.scan, self.region, settings)
        first, most = (settings.share(space, count) for count in settings.seeds)
        found = stream.coarse(first)
        yield found, False
        if self.answer.best is not None and has_rivals(space, self.scan, self.answer):
            yield rivals_of(self.answer, space, self.scan, self.region, settings), False
        count = settings.share(space, FULL)
        while True:
            found = stream.full(count)
            # All that there are, as far as decisions look: a unique place may need more.
            at_end = count >= most and not self._needs_more(count, most)
            is_last = at_end or _is_exhausted(found)
            yield found, is_last
            if is_last:
                return
            count = min(GROWTH * count, most) if count < most else GROWTH * count

    def _needs_more(self, count: int, most: int) -> bool:
        """Return whether only what was not searched keeps a place from being unique."""
        maps = min(len(self.space.names), FEW) if isinstance(self.space, MultiMap) else 1
        waits = self.answer.verdict is Verdict.UNIQUE and not self.is_ahead
        return waits and count < max(4, maps) * most

    def _step(self) -> None:
        start = perf_counter()
        found, is_last = next(self._batches)
        searched = perf_counter()
        rows = [row.tobytes() for row in found.poses]
        new = np.array([row not in self._fitted for row in rows], dtype=np.bool_)
        self._fitted.update(rows)
        is_first = self._fits is None
        if new.any() or is_first:
            self._fit(found.poses[new], is_first)
        fitted = perf_counter()
        self._decide(found, is_first, is_last)
        done = perf_counter()
        marks = {"search": searched - start, "refine": fitted - searched, "judge": done - fitted}
        for name, spent in (*marks.items(), ("total", done - start)):
            self._timing[name] += 1e3 * spent
        self.answer = replace(self.answer, timing_ms=dict(self._timing))

    def _fit(self, poses: FloatArray, is_first: bool) -> None:
        self._count += len(poses)
        fits, self._leader = refine(
            self.space, self.scan, poses, self.settings, tilt=self.tilt, thorough=not is_first,
            leader=self._leader,
        )  # fmt: skip
        fits = inside(self.space, self.scan, self.region, fits)
        self._fits = fits if self._fits is None else self._fits.joined(fits)

    def _decide(self, found: Sought, is_first: bool, is_last: bool) -> None:
        space, scan, settings = self.space, self.scan, self.settings
        assert self._fits is not None
        least = settings.share(space, settings.seeds[1])
        firm = settings.careful() if self._count < least and not is_last else settings
        # Ratings count to the last nat only where they may settle it.
        answer = judge(space, scan, self._fits, firm, nearby=False)
        self.cost_ratio = cost_ratio(space, scan, found, answer, settings)
        is_unique = answer.verdict is Verdict.UNIQUE
        if (is_unique and self.is_ahead) or is_last or is_first:
            answer = judge(space, scan, self._fits, firm)
            self.cost_ratio = cost_ratio(space, scan, found, answer, settings)
            is_unique = answer.verdict is Verdict.UNIQUE
        self.is_final = is_last or answer.best is None or (is_unique and self.is_ahead)
        if self.is_final and is_unique and not self.is_ahead:
            answer = replace(answer, verdict=Verdict.AMBIGUOUS, reasons=(Reason.SEARCH_INCOMPLETE,))
        self.answer = answer


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


def _is_exhausted(found: Sought) -> bool:
    """Return whether no pose was left out."""
    each = (found,) if isinstance(found, Candidates) else ()
    return all(one.left_out == np.inf and one.cut == np.inf for one in each) and bool(each)


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
    return rivals(atlas, scan, region, settings, poses, trusted=trusted)


def cost_ratio(
    space: SearchSpace,
    scan: ScanInput,
    candidates: Sought,
    answer: Answer,
    settings: LocalizationSettings,
) -> float:
    """Return how many times the cost of the best place the cheapest pose not searched costs."""
    if answer.best is None:
        return np.inf
    sensor = (answer.best.pose @ scan.T_robot_level).vector
    radius, turn = settings.candidates_apart(space)
    return candidates.lead(np.asarray(sensor), 1.5 * radius, 1.5 * turn)


def has_rivals(site: SearchSpace, scan: ScanInput, answer: Answer) -> bool:
    """Whether `slices.rivals` can tell if there is another place as good as that of an answer."""
    known = answer.verdict is not Verdict.LOST
    return known and isinstance(site, SpaceAtlas) and isinstance(scan, CloudScan)


def inside(atlas: SearchSpace, scan: ScanInput, region: SearchRegion, fits: Fits) -> Fits:
    """Return the fits that the region allows."""
    if region is None:
        return fits
    return fits.select(region.holds((atlas.lift(fits.poses) @ scan.T_level_robot).vector))
