"""Select the maps of a large library that may hold the pose of a scan.

Descriptors in bytes bound the coarse cost of every node of every map (`lower_bounds`).  They take
64 bytes per node in memory, and no atlas is opened for them.  On the maps with the cheapest nodes
some poses are fitted and rated with few beams.  The maps with the best ratings are searched first.
Others follow until every remaining node costs `min_cost_ratio` times the best place.  The same rule
decides on one map whether nodes that were not evaluated can hold a competitor.  So a map that is
not searched is excluded by a bound, or the answer names the limit.
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
from isovist.localization.candidates.node_search import MIN_COST, best_headings, min_costs
from isovist.localization.reasons import Facts, Reason
from isovist.localization.settings import LocalizationSettings
from isovist.sensing import without_intensities

MAX_UNSELECTED_MAPS = 16
"""Up to this many maps are all searched, which takes no longer than to select."""
FIRST_MAPS = 8
"""Maps that are searched before any place is known."""
RATED_MAPS = 256
"""Maps on which poses are rated.  By their ratings 90 % of the right ones of 60 generated floors
come first, by their bounds 61 %."""
RATED_NODES = 8
"""Nodes of each that are rated; 32 or 128 put no more of the right maps first."""
RATED_HEADINGS = 2
"""Headings of each of these, and poses that are rated."""
RATED_BATCH = 32
"""Maps that are rated at a time."""
MIN_MARGIN = 0.3
"""Margin of the best map over the second, in nats per beam, at which no more maps are rated.  Of 16
right maps among 1000 floors 10 were in the first batch and led by as much.  A wrong first map costs
time only."""


@dataclass(frozen=True, slots=True, eq=False)
class CoarseBounds:
    """Lower bounds on the coarse costs of the nodes of many maps.

    Attributes:
        bounds: Bounds of all maps, one after the other, each in blocks of its own.
        starts: First block of each map, shape (K,).
        counts: Number of nodes of each map, shape (K,).
    """

    bounds: LowerBounds
    starts: IntArray
    counts: IntArray

    @staticmethod
    def of(library: Library) -> "CoarseBounds":
        """Return the bounds of a library; the first call opens each atlas once."""
        return _coarse_bounds(library.multi_map)

    def bound_costs(self, window: Window, short: float) -> list[Float32Array]:
        """Return a lower bound on the coarse cost of the nodes of each map.

        Args:
            window: The scan in channels.
            short: Largest cost of a channel that is shorter than the map says.
        """
        coarse = window.rough
        allowed = np.ones(self.bounds.n * len(coarse.seen), dtype=np.bool_)
        costs = self.bounds.bound_costs(coarse, allowed, short)
        block_nodes = costs.size // len(self.bounds.table)
        spans = zip(self.starts * block_nodes, self.counts, strict=True)
        return [costs[first : first + count] for first, count in spans]


@once_for_each
def _coarse_bounds(maps: MultiMap) -> CoarseBounds:
    bounds = [LowerBounds.build(atlas) for atlas in maps.maps.values()]
    for name, part in zip(maps.names, bounds, strict=True):
        if part.n == 1:
            raise InputError(
                "Among many maps scans are compared by bases of equal steps; "
                f"{name!r} has another. Build it without `basis`.",
                code="conflict",
                field="basis",
            )
    # In 2D only the first ring, that of ranges, can be compared between maps.
    rows = bounds[0].n if maps.dimension == 2 else None
    tables = [part.table[:, :rows] for part in bounds]
    starts = np.cumsum([0, *map(len, tables[:-1])])
    table: NDArray[np.int8] = np.concatenate(tables)
    all_bounds = LowerBounds(table, bounds[0].step, table.shape[0] * table.shape[2], bounds[0].n)
    return CoarseBounds(all_bounds, starts, np.array([part.count for part in bounds]))


@dataclass(frozen=True, slots=True, eq=False)
class MapSelection:
    """The maps of a library, in the order in which one scan is searched on them.

    Attributes:
        space: All maps.
        order: Numbers of the maps, the most likely first, shape (K,).
        bounds: Lower bounds on the coarse costs of the nodes of each map, by its number.
        min_bounds: The smallest of these for each map, shape (K,).
        max_maps: Largest number of maps to search.
    """

    space: MultiMap
    order: IntArray
    bounds: list[Float32Array]
    min_bounds: FloatArray
    max_maps: int

    @classmethod
    def of(
        cls, space: SearchSpace, scan: object, settings: LocalizationSettings
    ) -> "MapSelection | None":
        """Return a selection for one scan on a large library, `None` in other cases."""
        if not isinstance(space, MultiMap) or not isinstance(scan, AnyScan):
            return None
        library = space.maps
        if not isinstance(library, Library) or len(space.names) <= MAX_UNSELECTED_MAPS:
            return None
        first, scan = library[space.names[0]], without_intensities(scan)
        window = first.window(scan, settings.search.min_seen_share(space.dimension))
        if not window.seen.any():
            return None
        bounds = CoarseBounds.of(library).bound_costs(window, settings.search.max_short_cost)
        min_bounds = np.array([part.min() for part in bounds])
        order = np.argsort(min_bounds, kind="stable")
        beams = space.beams(scan, settings.fit.coarse_beams, settings.scoring.group)

        def rate(k: int) -> float:
            return _best_rating(library[space.names[k]], beams, window, bounds[k], settings)

        ratings, max_rated = np.empty(0), min(RATED_MAPS, len(order))
        while len(ratings) < max_rated and (
            library.max_maps is not None or not _is_decided(ratings)
        ):
            batch = order[len(ratings) : min(len(ratings) + RATED_BATCH, max_rated)].tolist()
            ratings = np.append(ratings, map_in_groups(rate, batch, free_threads()))
        rated = order[: len(ratings)]
        order[: len(rated)] = rated[np.argsort(-ratings, kind="stable")]
        max_maps = len(order) if library.max_maps is None else min(library.max_maps, len(order))
        return cls(replace(space, results={}), order, bounds, min_bounds, max_maps)

    def part(self, max_cost: float) -> tuple[MultiMap, float]:
        """Return the most likely maps, and of others the nodes with a bound below a cost.

        Args:
            max_cost: A coarse cost.

        Returns:
            These maps, and a lower bound on the coarse cost of all other nodes.
        """
        count, only, remaining_cost = min(FIRST_MAPS, self.max_maps), {}, max_cost
        others = self.order[count:]
        others = others[self.min_bounds[others] < max_cost]
        searched = others[: self.max_maps - count].tolist()
        numbers = [*self.order[:count].tolist(), *searched]
        for k in searched:
            only[self.space.names[k]] = np.flatnonzero(self.bounds[k] < max_cost)
        if len(searched) < len(others):
            dropped = float(self.min_bounds[others[len(searched) :]].min())
            remaining_cost = min(remaining_cost, dropped)
        if len(numbers) == len(self.order) and max_cost == np.inf:
            remaining_cost = np.inf
        part = self.space.part(np.sort(np.array(numbers, dtype=np.int64)), only)
        return part, remaining_cost

    def cost_limit(self, scan: AnyScan, answer: Answer, settings: LocalizationSettings) -> float:
        """Return the coarse cost from which on nodes are no competitors of the best place.

        Args:
            scan: The scan.
            answer: The answer on the maps searched so far, in the common frame.
            settings: Cost of a competitor over that of the best place (`min_cost_ratio`).
        """
        if answer.best is None or answer.verdict is Verdict.LOST:
            return np.inf
        sensor = np.asarray((answer.best.pose @ scan.T_robot_level).vector)
        number = int(self.space.numbers(sensor))
        atlas = self.space.maps[self.space.names[number]]
        gaps = atlas.positions[:, :2] - sensor[:2] + [self.space.shifts[number], 0.0]
        nodes = np.flatnonzero(np.hypot(*gaps.T) < 1.5 * settings.candidates_apart(atlas)[0])
        if nodes.size == 0:
            return np.inf
        window = atlas.window(
            without_intensities(scan), settings.search.min_seen_share(atlas.dimension)
        )
        costs = min_costs(atlas.descriptors, nodes, window.rough, settings.search.max_short_cost)
        return settings.decision.min_cost_ratio * max(float(costs.min()), MIN_COST)


def mark_unsearched_maps(answer: Answer, searched: int, count: int) -> Answer:
    """Return an answer that says that more of the maps should have been searched.

    Args:
        answer: The answer.
        searched: Number of maps that were searched.
        count: Number of maps of the library.
    """
    facts: Facts = {**answer.facts, "maps_searched": searched, "maps_given": count}
    unsearched = (Reason.MAPS_NOT_SEARCHED,)
    if answer.verdict is Verdict.UNIQUE:
        return replace(answer, verdict=Verdict.AMBIGUOUS, reasons=unsearched, facts=facts)
    return replace(answer, reasons=answer.reasons + unsearched, facts=facts)


def _is_decided(ratings: FloatArray) -> bool:
    """Return whether the best map leads by so much that no more maps are rated."""
    if len(ratings) < 2:
        return False
    second, best = np.partition(ratings, -2)[-2:]
    return bool(best - second >= MIN_MARGIN)


def _best_rating(
    atlas: Atlas, beams: Beams, window: Window, bounds: Float32Array, settings: LocalizationSettings
) -> float:
    """Return the best mean rating of poses at the most likely nodes, roughly fitted, in nats."""
    nodes = np.sort(np.argsort(bounds, kind="stable")[:RATED_NODES])
    costs, headings = best_headings(
        atlas.descriptors, nodes, window, RATED_HEADINGS, settings.search.max_short_cost
    )
    is_minimum = np.isfinite(costs.ravel())
    yaws = window.yaws(atlas.descriptors.shape[2], atlas.heading)[headings.ravel()[is_minimum]]
    seeds = atlas.seeds(np.repeat(nodes, RATED_HEADINGS)[is_minimum], yaws)
    fit = atlas.fit(beams, seeds, settings.coarse_widths(atlas), 3)
    best = np.argsort(-fit.weight, kind="stable")[:RATED_HEADINGS]
    ratings, _ = atlas.rate(beams, fit.poses[best], settings.model)
    return float(ratings.mean(axis=1).max())


def maps_of_answer(space: SearchSpace, answer: Answer) -> SearchSpace | None:
    """Return the maps of the estimates of an answer, if there are many; `None` without any."""
    if not isinstance(space, MultiMap) or len(space.names) <= MAX_UNSELECTED_MAPS:
        return space
    names = {estimate.map for estimate in answer.estimates}
    numbers = np.array([k for k, name in enumerate(space.names) if name in names], dtype=np.int64)
    return space.part(numbers, {}) if numbers.size else None
