"""Streams of candidates on several maps: of all candidates the cheapest, as many as of one map.

What is left out on any of the maps is not absent.
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
    ScanStream,
    SequenceStream,
    stream_on,
)
from isovist.localization.query.region import Region
from isovist.localization.query.search_space import Regions, SearchRegion
from isovist.localization.settings import LocalizationSettings
from isovist.sensing import CloudScan, ScanInput, without_intensities

OTHERS = -1
"""Stands for all maps of which a few nodes are searched together."""

Found = Candidates | JoinedCandidates


@dataclass(frozen=True, slots=True, eq=False)
class MultiMapCandidates:
    """The candidates of several maps.

    Attributes:
        poses: Side by side, map after map, shape (K, D).
        each: Those of each map, in its own frame.
        site: The maps.
        others: Those of a few nodes of other maps, side by side.
    """

    poses: FloatArray
    each: Mapping[int, Found]
    site: MultiMap
    others: Candidates | None = None

    def cost_ratio(self, pose: FloatArray, radius: float, turn: float) -> float:
        """As for one map: the cheapest place of any map that was not looked at counts."""
        number = int(self.site.numbers(pose))
        every = [*self.each.values(), *([] if self.others is None else [self.others])]
        here = pose.copy()
        mine: Found | None = self.others
        if number in self.each:
            mine = self.each[number]
            here[0] -= self.site.shifts[number]
        assert mine is not None  # all maps are searched, wholly or at a few nodes
        ratios = []
        for view, (own, place) in enumerate(_views(mine)):
            at = here if place is None else (self.site.lift(here) @ place).vector
            costs = own.costs_at(np.asarray(at), radius, turn)
            ratios.append(min(_views(found)[view][0].cost_ratio_of(*costs) for found in every))
        return max(ratios)


AnyCandidates = Found | MultiMapCandidates


def _views(found: Found) -> tuple[tuple[Candidates, Any], ...]:
    """Candidates of each scan, with the place of its frame in that of the last."""
    return ((found, None),) if isinstance(found, Candidates) else found.each


class MapsStream:
    """Ever more candidates on several maps: of all of them the cheapest, as many as of one map.

    Args:
        site: The maps.
        scan: One scan or several.
        region: Regions by name; `None` for all of every map.
        settings: How to search.
    """

    def __init__(
        self, site: MultiMap, scan: ScanInput, region: SearchRegion, settings: LocalizationSettings
    ) -> None:
        self.site, self.scan, self.settings = site, without_intensities(scan), settings
        self._regions = dict.fromkeys(site.names) if region is None else _regions(region)
        self._numbers = [k for k, name in enumerate(site.names) if name in self._regions]
        self._streams: dict[Any, ScanStream | SequenceStream] = {}

    def coarse(self, count: int) -> MultiMapCandidates:
        """Return the cheapest poses at the best nodes of every map by every other channel."""
        return self._merged(count, is_coarse=True)

    def full(self, count: int, limit: float = np.inf) -> MultiMapCandidates:
        """Return the cheapest poses of all maps."""
        del limit
        return self._merged(count, is_coarse=False)

    def _merged(self, count: int, *, is_coarse: bool) -> MultiMapCandidates:
        site, scan, limit = self.site, self.scan, np.inf

        def one(number: int) -> Found:
            stream = self._stream(site.names[number])
            return stream.coarse(count) if is_coarse else stream.full(count, limit)

        known: dict[int, Found] = {}
        dearest, bound = _Dearest(count), np.inf
        few = [number for number in self._numbers if site.names[number] in site.only]
        for number in self._numbers:
            if site.names[number] not in site.only:
                known[number] = one(number)
                bound = dearest.after(known[number])
                limit = bound if has_lower_bounds(site) else np.inf
        is_cloud = isinstance(scan, CloudScan)
        if few and isinstance(scan, AnyScan) and (is_coarse or not is_cloud):
            known[OTHERS] = search_node_subsets(site, few, scan, self.settings, count, bound)
        else:
            known |= zip(few, map_in_groups(one, few, free_threads()), strict=True)
        each = _cheapest(dict(sorted(known.items())), count)
        poses = []
        for number, found in each.items():
            rows = found.poses.copy()
            if number != OTHERS:
                rows[:, 0] += site.shifts[number]
            poses.append(rows)
        others = each.pop(OTHERS, None)
        assert not isinstance(others, JoinedCandidates)
        return MultiMapCandidates(np.concatenate(poses), each, site, others)

    def _stream(self, name: str) -> ScanStream | SequenceStream:
        """Return the stream on one map, which goes on where parts of maps are searched in turn."""
        site, only = self.site, self.site.only.get(name)
        streams: dict[Any, ScanStream | SequenceStream] = self._streams
        if site.results is not None and only is None:
            streams = site.results
        key = name, self.scan, self.settings
        if key not in streams:
            streams[key] = stream_on(
                site.maps[name], self.scan, self._regions[name], self.settings, only
            )
        return streams[key]


Stream = ScanStream | SequenceStream | MapsStream


def stream_of(
    site: SearchSpace, scan: ScanInput, region: SearchRegion, settings: LocalizationSettings
) -> Stream:
    """Return the stream of candidates on one map, or on several."""
    if isinstance(site, Atlas):
        assert not isinstance(region, Regions)
        return stream_on(site, scan, region, settings)
    assert isinstance(site, MultiMap)  # there is no third kind
    return MapsStream(site, scan, region, settings)


def find_candidates(
    site: SearchSpace,
    scan: ScanInput,
    region: SearchRegion,
    settings: LocalizationSettings,
    *,
    thorough: bool = False,
) -> AnyCandidates:
    """Return the first candidates of a scan, or as many as a last batch has."""
    stream, count = stream_of(site, scan, region, settings), settings.seeds[thorough]
    count = settings.share(site, count)
    return stream.full(count) if thorough else stream.coarse(count)


def _regions(region: SearchRegion) -> Mapping[str, Region | None]:
    assert isinstance(region, Regions)  # as `search_region` makes them for several maps
    return region.regions


class _Dearest:
    """Cost of the cheapest place that will not be handed on, as far as maps have been searched.

    What costs more on the others will neither be handed on nor be the best that is left out.

    Args:
        most: Candidates that are handed on.
    """

    def __init__(self, most: int) -> None:
        self._most, self._left_out = most, np.inf
        self._cheapest = np.empty(0)  # one more than are handed on, the dearest last

    def after(self, found: Found) -> float:
        """That cost, when one more map has been searched."""
        if isinstance(found, Candidates):
            self._left_out = min(self._left_out, found.remaining_cost)
            costs = np.concatenate([self._cheapest, found.costs])
            if len(costs) > self._most:
                costs = np.partition(costs, self._most)[: self._most + 1]
            self._cheapest = costs
        full = len(self._cheapest) > self._most
        return min(float(self._cheapest[-1]) if full else np.inf, self._left_out)


def _cheapest(each: dict[int, Found], most: int) -> dict[int, Found]:
    """As many candidates as one map would have; those of several scans have no one cost."""
    plain = {k: found for k, found in each.items() if isinstance(found, Candidates)}
    costs = np.sort(np.concatenate([found.costs for found in plain.values()] or [np.empty(0)]))
    if len(costs) <= most:
        return each
    limit = costs[most - 1]
    kept: dict[int, Found] = {}
    for number, found in plain.items():
        stay = found.costs <= limit
        remaining_cost = min(found.remaining_cost, float(found.costs[~stay].min(initial=np.inf)))
        kept[number] = replace(
            found, poses=found.poses[stay], costs=found.costs[stay], remaining_cost=remaining_cost
        )
    return kept
