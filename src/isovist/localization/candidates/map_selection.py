"""Of many maps, which must be looked at?

A glance at half the channels tells from bytes what the nodes of each map cost at least, whatever
the heading (`floors`): 64 bytes of each node are kept in memory, and no atlas is opened for it.
On the maps with the cheapest nodes a handful of them are fitted and rated with few beams, and the
best maps are looked at first, then others, until whatever is left costs `lead` times what the best
place found does: by that rule a place is ahead of nodes that were not tried on a single map, too.
So a map that is not looked at is excluded by a bound, or the answer says that it was not.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import Float32Array, FloatArray, IntArray, once_for_each
from isovist.atlas import AnyScan, Atlas, Beams, Library, MultiMap, SearchSpace, Window
from isovist.compute import free_threads, map_in_groups
from isovist.errors import InputError
from isovist.localization.answer import Answer, Verdict
from isovist.localization.candidates.lower_bounds import LowerBounds
from isovist.localization.candidates.node_search import TINY, best_headings, least_costs
from isovist.localization.reasons import Facts, Reason
from isovist.localization.settings import LocalizationSettings
from isovist.sensing import without_intensities

MAX_UNSELECTED_MAPS = 16
"""Of so many maps each is looked at: that takes no longer than to choose."""
FIRST_MAPS = 8
"""Maps that are looked at before anything is known of the right place."""
TRIED = (256, 8, 2)
"""Maps on which nodes are tried roughly, nodes of each, and headings of those; then as many fits
are rated.  Of 60 generated floors 90 % of the right ones come first by this, 61 % by their floors,
and with 32 or 128 nodes no more."""
AHEAD = (32, 0.3)
"""Maps that are tried at a time, and by how much the best must be ahead of the second, in nats per
beam, for no more to be tried: of 16 right ones in a library of 1000 floors 10 stood in the first 32
and were so far ahead of all others.  A map that comes first by mistake costs time."""


@dataclass(frozen=True, slots=True, eq=False)
class CoarseBounds:
    """Descriptors of many maps in bytes.

    Attributes:
        floors: Those of all maps, one after the other, each in blocks of its own.
        starts: First block of each map, shape (K,).
        counts: Nodes of each, shape (K,).
    """

    bounds: LowerBounds
    starts: IntArray
    counts: IntArray

    @staticmethod
    def of(library: Library) -> "CoarseBounds":
        """Those of a library; each atlas is opened once for it."""
        return _glances_of(library.multi_map)

    def bound_costs(self, window: Window, short: float) -> list[Float32Array]:
        """Less than what the nodes of each map cost at a glance, shape (N,)."""
        rough = window.rough
        allowed = np.ones(self.bounds.n * len(rough.seen), dtype=np.bool_)
        costs = self.bounds.bound_costs(rough, allowed, short)
        per = costs.size // len(self.bounds.table)
        each = zip(self.starts * per, self.counts, strict=True)
        return [costs[first : first + count] for first, count in each]


@once_for_each
def _glances_of(maps: MultiMap) -> CoarseBounds:
    made = [LowerBounds.build(atlas) for atlas in maps.maps.values()]
    for name, floors in zip(maps.names, made, strict=True):
        if floors.n == 1:
            raise InputError(
                f"Among many maps scans are compared by bases of equal steps; {name!r} has "
                "another. Build it without `basis`.",
                code="conflict",
                field="basis",
            )
    # In the plane the first ring alone, that of ranges, is compared on several maps.
    rows = made[0].n if maps.dimension == 2 else None
    tables = [floors.table[:, :rows] for floors in made]
    starts = np.cumsum([0, *map(len, tables[:-1])])
    table: NDArray[np.int8] = np.concatenate(tables)
    whole = LowerBounds(table, made[0].step, table.shape[0] * table.shape[2], made[0].n)
    return CoarseBounds(whole, starts, np.array([one.count for one in made]))


@dataclass(frozen=True, slots=True, eq=False)
class MapSelection:
    """The maps of a library before one scan.

    Attributes:
        site: All of them.
        order: Their numbers, those likeliest to hold the place first, shape (K,).
        under: Less than what the nodes of each cost at a glance, by number.
        cheapest: The least of these, shape (K,).
        most: Maps that may be looked at.
    """

    site: MultiMap
    order: IntArray
    under: list[Float32Array]
    cheapest: FloatArray
    most: int

    @classmethod
    def of(
        cls, site: SearchSpace, scan: object, settings: LocalizationSettings
    ) -> "MapSelection | None":
        """A choice where there is one to make: one scan, and more than a few maps in a library."""
        if not isinstance(site, MultiMap) or not isinstance(scan, AnyScan):
            return None
        library = site.maps
        if not isinstance(library, Library) or len(site.names) <= MAX_UNSELECTED_MAPS:
            return None
        first = library[site.names[0]]
        scan = without_intensities(scan)
        window = first.window(scan, settings.seen_share[site.dimension - 2])
        if not window.seen.any():
            return None
        under = CoarseBounds.of(library).bound_costs(window, settings.short)
        cheapest = np.array([each.min() for each in under])
        order = np.argsort(cheapest, kind="stable")
        beams = site.beams(scan, settings.beams[0], settings.block)
        tried, ratings = order[: TRIED[0]], np.empty(0)

        def rate(k: int) -> float:
            return _rated(library[site.names[k]], beams, window, under[k], settings)

        while len(ratings) < len(tried) and (
            library.max_maps is not None or not _is_ahead(ratings)
        ):
            some = tried[len(ratings) : len(ratings) + AHEAD[0]].tolist()
            ratings = np.append(ratings, map_in_groups(rate, some, free_threads()))
        tried = tried[: len(ratings)]
        order[: len(tried)] = tried[np.argsort(-ratings, kind="stable")]
        most = len(order) if library.max_maps is None else min(library.max_maps, len(order))
        return cls(replace(site, results={}), order, under, cheapest, most)

    def part(self, limit: float) -> tuple[MultiMap, float]:
        """The likeliest maps, and of others the nodes that may cost less than a limit.

        Returns:
            These maps, and what every node costs at least that is left out.
        """
        count, only, left = min(FIRST_MAPS, self.most), {}, limit
        behind = self.order[count:]
        behind = behind[self.cheapest[behind] < limit]
        looked = behind[: self.most - count].tolist()
        chosen = [*self.order[:count].tolist(), *looked]
        for k in looked:
            only[self.site.names[k]] = np.flatnonzero(self.under[k] < limit)
        if len(looked) < len(behind):
            left = min(left, float(self.cheapest[behind[len(looked) :]].min()))
        if len(chosen) == len(self.order) and limit == np.inf:
            left = np.inf
        return self.site.part(np.sort(np.array(chosen, dtype=np.int64)), only), left

    def limit(self, scan: AnyScan, answer: Answer, settings: LocalizationSettings) -> float:
        """What nodes must cost at a glance for the best place of an answer to be ahead of them."""
        if answer.best is None or answer.verdict is Verdict.LOST:
            return np.inf
        sensor = np.asarray((answer.best.pose @ scan.T_robot_level).vector)
        number = int(self.site.numbers(sensor))
        atlas = self.site.maps[self.site.names[number]]
        gaps = atlas.positions[:, :2] - sensor[:2] + [self.site.shifts[number], 0.0]
        near = np.flatnonzero(np.hypot(*gaps.T) < 1.5 * settings.candidates_apart(atlas)[0])
        if near.size == 0:
            return np.inf
        window = atlas.window(without_intensities(scan), settings.seen_share[atlas.dimension - 2])
        costs = least_costs(atlas.descriptors, near, window.rough, settings.short)
        return settings.lead * max(float(costs.min()), TINY)


def mark_unsearched_maps(answer: Answer, looked: int, there: int) -> Answer:
    """An answer of so many maps, where more would have been needed."""
    facts: Facts = {**answer.facts, "maps_searched": looked, "maps_given": there}
    unsearched = (Reason.MAPS_NOT_SEARCHED,)
    if answer.verdict is Verdict.UNIQUE:
        return replace(answer, verdict=Verdict.AMBIGUOUS, reasons=unsearched, facts=facts)
    return replace(answer, reasons=answer.reasons + unsearched, facts=facts)


def _is_ahead(ratings: FloatArray) -> bool:
    """Whether the best of some maps is so far ahead that no more need be tried."""
    if len(ratings) < 2:
        return False
    second, best = np.partition(ratings, -2)[-2:]
    return bool(best - second >= AHEAD[1])


def _rated(
    atlas: Atlas, beams: Beams, window: Window, under: Float32Array, settings: LocalizationSettings
) -> float:
    """What the scan is worth at the best of a few nodes, fitted roughly, in nats per beam."""
    _, nodes, keep = TRIED
    few = np.sort(np.argsort(under, kind="stable")[:nodes])
    costs, headings = best_headings(atlas.descriptors, few, window, keep, settings.short)
    found = np.isfinite(costs.ravel())
    yaws = window.yaws(atlas.descriptors.shape[2], atlas.heading)[headings.ravel()[found]]
    fit = atlas.fit(
        beams, atlas.seeds(np.repeat(few, keep)[found], yaws), settings.coarse_widths(atlas), 3
    )
    best = np.argsort(-fit.weight, kind="stable")[:keep]
    ratings, _ = atlas.rate(beams, fit.poses[best], settings.model)
    return float(ratings.mean(axis=1).max())


def maps_of_answer(site: SearchSpace, answer: Answer) -> SearchSpace | None:
    """The maps of the estimates of an answer where there are many; `None` where it has none."""
    if not isinstance(site, MultiMap) or len(site.names) <= MAX_UNSELECTED_MAPS:
        return site
    names = {estimate.map for estimate in answer.estimates}
    chosen = np.array([k for k, name in enumerate(site.names) if name in names], dtype=np.int64)
    return site.part(chosen, {}) if chosen.size else None
