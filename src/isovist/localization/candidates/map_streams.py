"""Streams of candidates on several maps: the cheapest of all maps, as many as on one map.

The remaining cost covers every map, so a pose that was left out on any of them still counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import AnyScan, Atlas, MultiMap, SearchSpace
from isovist.compute import free_threads, map_in_groups
from isovist.localization.candidates.lower_bounds import has_lower_bounds
from isovist.localization.candidates.node_search import Candidates
from isovist.localization.candidates.node_subsets import search_node_subsets
from isovist.localization.candidates.streams import (
    JoinedCandidates,
    MapStream,
    ViewCandidates,
    stream_on,
)
from isovist.localization.query.region import Region
from isovist.localization.query.search_space import Regions, SearchRegion
from isovist.localization.settings import LocalizationSettings
from isovist.sensing import CloudScan, ScanInput, without_intensities

NODE_SUBSETS = -1
"""The key of the candidates of all maps of which only a few nodes are searched."""

OneMapCandidates = Candidates | JoinedCandidates


@dataclass(frozen=True, slots=True, eq=False)
class MultiMapCandidates:
    """The candidates of several maps.

    Attributes:
        poses: Poses in the common frame, map after map, shape (K, D).
        by_map: Candidates of each map by its number, in the frame of the map.
        space: The maps.
        node_subsets: Candidates of maps of which a few nodes were searched, in the common frame.
    """

    poses: FloatArray
    by_map: Mapping[int, OneMapCandidates]
    space: MultiMap
    node_subsets: Candidates | None = None

    @property
    def is_exhaustive(self) -> bool:
        """True if every pose of every map was returned."""
        return self.node_subsets is None and all(c.is_exhaustive for c in self.by_map.values())

    def cost_ratio(self, pose: FloatArray, radius: float, turn: float) -> float:
        """Return the cost of the cheapest pose of any map not returned, over that of a place.

        Args:
            pose: A pose of the sensor in the common frame, shape (D,).
            radius: As for `Candidates.cost_ratio`, in m.
            turn: As for `Candidates.cost_ratio`, in rad.
        """
        number = int(self.space.numbers(pose))
        parts: list[OneMapCandidates] = list(self.by_map.values())
        if self.node_subsets is not None:
            parts.append(self.node_subsets)
        local = pose.copy()
        candidates: OneMapCandidates | None = self.node_subsets
        if number in self.by_map:
            candidates = self.by_map[number]
            local[0] -= self.space.shifts[number]
        assert candidates is not None  # every map is searched, completely or at a few nodes
        ratios = []
        for k, view in enumerate(_views(candidates)):
            vector = local
            if view.T_last_view is not None:
                vector = np.asarray((self.space.lift(local) @ view.T_last_view).vector)
            costs = view.candidates.costs_at(vector, radius, turn)
            ratios.append(min(_views(part)[k].candidates.cost_ratio_of(*costs) for part in parts))
        return max(ratios)


AnyCandidates = OneMapCandidates | MultiMapCandidates


def _views(candidates: OneMapCandidates) -> tuple[ViewCandidates, ...]:
    if isinstance(candidates, Candidates):
        return (ViewCandidates(candidates, None),)
    return candidates.views


class MultiMapStream:
    """Batches of candidates on several maps.

    Args:
        space: The maps.
        scan: One scan or several.
        region: Regions by name; `None` for all of every map.
        settings: Costs, counts and distances of candidates.
    """

    def __init__(
        self, space: MultiMap, scan: ScanInput, region: SearchRegion, settings: LocalizationSettings
    ) -> None:
        self._space, self._scan, self._settings = space, without_intensities(scan), settings
        self._regions: Mapping[str, Region | None] = dict.fromkeys(space.names)
        if region is not None:
            assert isinstance(region, Regions)  # `search_region` makes them for several maps
            self._regions = region.regions
        self._numbers = [k for k, name in enumerate(space.names) if name in self._regions]
        self._streams: dict[Any, MapStream] = {}

    def coarse(self, count: int) -> MultiMapCandidates:
        """Return the cheapest poses at the nodes of all maps that are best by half the channels."""
        return self._search(count, is_coarse=True)

    def full(self, count: int, max_cost: float = np.inf) -> MultiMapCandidates:
        """Return the cheapest poses of all maps; a limit follows from the first maps."""
        del max_cost
        return self._search(count, is_coarse=False)

    def _search(self, count: int, *, is_coarse: bool) -> MultiMapCandidates:
        """Return the `count` cheapest poses of all maps."""
        space, scan, cost_limit = self._space, self._scan, CostLimit(count)

        def search_map(number: int, max_cost: float) -> OneMapCandidates:
            stream = self._stream(space.names[number])
            return stream.coarse(count) if is_coarse else stream.full(count, max_cost)

        by_map: dict[int, OneMapCandidates] = {}
        partial = [number for number in self._numbers if space.names[number] in space.only]
        max_cost = np.inf
        for number in self._numbers:
            if space.names[number] not in space.only:
                by_map[number] = search_map(number, max_cost)
                cost_limit.add(by_map[number])
                max_cost = cost_limit.value if has_lower_bounds(space) else np.inf
        is_cloud = isinstance(scan, CloudScan)
        if partial and isinstance(scan, AnyScan) and (is_coarse or not is_cloud):
            by_map[NODE_SUBSETS] = search_node_subsets(
                space, partial, scan, self._settings, count, cost_limit.value
            )
        else:
            results = map_in_groups(lambda k: search_map(k, max_cost), partial, free_threads())
            by_map |= zip(partial, results, strict=True)
        return self._join(_cheapest(dict(sorted(by_map.items())), count))

    def _join(self, by_map: dict[int, OneMapCandidates]) -> MultiMapCandidates:
        """Return the candidates of all maps in the common frame."""
        rows = []
        for number, candidates in by_map.items():
            poses = candidates.poses.copy()
            if number != NODE_SUBSETS:
                poses[:, 0] += self._space.shifts[number]
            rows.append(poses)
        node_subsets = by_map.pop(NODE_SUBSETS, None)
        assert not isinstance(node_subsets, JoinedCandidates)
        return MultiMapCandidates(np.concatenate(rows), by_map, self._space, node_subsets)

    def _stream(self, name: str) -> MapStream:
        """Return the stream on one map, shared by searches of parts of the maps."""
        space, subset = self._space, self._space.only.get(name)
        streams = self._streams
        if space.results is not None and subset is None:
            streams = space.results
        key = name, self._scan, self._settings
        if key not in streams:
            streams[key] = stream_on(
                space.maps[name], self._scan, self._regions[name], self._settings, subset
            )
        return streams[key]


Stream = MapStream | MultiMapStream


def stream_of(
    space: SearchSpace, scan: ScanInput, region: SearchRegion, settings: LocalizationSettings
) -> Stream:
    """Return the stream of candidates on one map or on several."""
    if isinstance(space, Atlas):
        assert not isinstance(region, Regions)
        return stream_on(space, scan, region, settings)
    assert isinstance(space, MultiMap)  # there is no third kind
    return MultiMapStream(space, scan, region, settings)


def find_candidates(
    space: SearchSpace,
    scan: ScanInput,
    region: SearchRegion,
    settings: LocalizationSettings,
    *,
    thorough: bool = False,
) -> AnyCandidates:
    """Return one batch of candidates.

    Args:
        space: The map, or several.
        scan: One scan or several.
        region: Where the robot may be.
        settings: Costs, counts and distances of candidates.
        thorough: Search all nodes by all channels for the usual number of candidates, instead of
            the first, coarse batch.
    """
    stream = stream_of(space, scan, region, settings)
    count = settings.share(space, settings.search.candidates(is_full=thorough))
    return stream.full(count) if thorough else stream.coarse(count)


class CostLimit:
    """The cost that a pose must not exceed to matter, given the maps searched so far.

    A pose that costs more is not among the `count` cheapest, nor the cheapest of those left out.

    Args:
        count: Number of candidates of all maps together.
    """

    def __init__(self, count: int) -> None:
        self._count, self._remaining_cost = count, np.inf
        self._cheapest = np.empty(0)  # the `count` + 1 smallest costs, the largest last

    @property
    def value(self) -> float:
        """The limit."""
        is_full = len(self._cheapest) > self._count
        return min(float(self._cheapest[-1]) if is_full else np.inf, self._remaining_cost)

    def add(self, candidates: OneMapCandidates) -> None:
        """Add the candidates of one more map; those of several scans have no common cost."""
        if isinstance(candidates, Candidates):
            self._remaining_cost = min(self._remaining_cost, candidates.remaining_cost)
            costs = np.concatenate([self._cheapest, candidates.costs])
            if len(costs) > self._count:
                costs = np.partition(costs, self._count)[: self._count + 1]
            self._cheapest = costs


def _cheapest(by_map: dict[int, OneMapCandidates], count: int) -> dict[int, OneMapCandidates]:
    """Keep the `count` cheapest candidates; those of several scans are all kept."""
    single = {k: c for k, c in by_map.items() if isinstance(c, Candidates)}
    costs = np.sort(np.concatenate([c.costs for c in single.values()] or [np.empty(0)]))
    if len(costs) <= count:
        return by_map
    limit = costs[count - 1]
    result: dict[int, OneMapCandidates] = {}
    for number, candidates in single.items():
        is_cheap = candidates.costs <= limit
        dropped = float(candidates.costs[~is_cheap].min(initial=np.inf))
        result[number] = replace(
            candidates, poses=candidates.poses[is_cheap], costs=candidates.costs[is_cheap],
            remaining_cost=min(candidates.remaining_cost, dropped),
        )  # fmt: skip
    return result
