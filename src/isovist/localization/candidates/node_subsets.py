"""Search a few nodes of each of many maps at once.

The bounds of `map_selection` leave a handful of nodes on each of hundreds of maps.  One search per
map would spend most of its time in Python, so the descriptors are joined and compared together.
"""

from collections.abc import Sequence

import numpy as np

from isovist.arrays import Float32Array, FloatArray, IntArray
from isovist.atlas import AnyScan, Atlas, MultiMap, Window
from isovist.localization.candidates.node_search import (
    POSES_PER_DISTINCT,
    Candidates,
    best_headings,
    distinct_indices,
)
from isovist.localization.settings import LocalizationSettings

BATCH_NODES = 100_000
"""Nodes that are compared together: 26 MB of 2D descriptors."""


def search_node_subsets(
    space: MultiMap,
    numbers: Sequence[int],
    scan: AnyScan,
    settings: LocalizationSettings,
    count: int,
    max_cost: float = np.inf,
) -> Candidates:
    """Return the best distinct poses at the nodes that `space.only` names, in the common frame.

    Args:
        space: The maps.
        numbers: Numbers of the maps to search.
        scan: The scan.
        settings: Costs, counts and distances of candidates.
        count: Most candidates to return.
        max_cost: Poses that cost more are left out.
    """
    batches: dict[tuple[int, float], _NodeBatch] = {}
    for number in numbers:
        name, shift = space.names[number], float(space.shifts[number])
        atlas = space.maps[name]
        window = atlas.window(scan, settings.search.min_seen_share(atlas.dimension))
        radius = settings.candidates_apart(atlas)[0]
        key = id(window), radius
        if key not in batches:
            batches[key] = _NodeBatch(window, radius, settings, max_cost, atlas.dimension)
        batches[key].add(atlas, space.only[name], shift)
    results = [batch.cheapest(count) for batch in batches.values()]
    poses, costs = (np.concatenate(parts) for parts in zip(*results, strict=True))
    order = np.argsort(costs, kind="stable")
    bounds = [float(costs[-1]) for _, costs in results if len(costs) == count]
    return Candidates(poses[order], costs[order], min(bounds, default=np.inf))


class _NodeBatch:
    """Nodes of maps on which a scan has the same channels.

    It copies the nodes and keeps no atlas, since a library may have to close one to open another.

    Args:
        window: The scan in the channels of the maps.
        radius: Candidates nearer than this, in m, are duplicates.
        settings: Costs, counts and distances of candidates.
        max_cost: Poses that cost more are left out.
        dimension: 2 or 3, that of the maps.
    """

    def __init__(
        self,
        window: Window,
        radius: float,
        settings: LocalizationSettings,
        max_cost: float,
        dimension: int,
    ) -> None:
        self._window, self._radius, self._settings = window, radius, settings
        self._max_cost = max_cost
        self._pending: list[tuple[Float32Array, FloatArray]] = []
        self._count = 0
        self._poses: list[FloatArray] = [np.empty((0, 3 if dimension == 2 else 6))]
        self._costs: list[Float32Array] = [np.empty(0, dtype=np.float32)]

    def add(self, atlas: Atlas, nodes: IntArray, shift: float) -> None:
        """Add nodes of a map, whose poses are moved along x by `shift` (m)."""
        places = atlas.seeds(nodes, np.full(len(nodes), atlas.heading))
        places[:, 0] += shift
        # In 2D only the first ring, that of ranges, can be compared between maps.
        rings = slice(1) if atlas.dimension == 2 else slice(None)
        self._pending.append((atlas.descriptors[nodes, rings], places))
        self._count += len(nodes)
        if self._count >= BATCH_NODES:
            self._evaluate()

    def cheapest(self, count: int) -> tuple[FloatArray, FloatArray]:
        """Return at most `count` of the cheapest distinct poses, and their costs."""
        self._evaluate()
        poses, costs = np.concatenate(self._poses), np.concatenate(self._costs)
        order = np.argsort(costs, kind="stable")
        turn = self._settings.search.separation_rad
        for shortlist in (order[: POSES_PER_DISTINCT * count], order):
            best = shortlist[distinct_indices(poses[shortlist], self._radius, turn, count)]
            if len(best) == count or len(shortlist) == len(order):
                break
        return poses[best], costs[best].astype(np.float64)

    def _evaluate(self) -> None:
        """Compare the pending nodes at all headings, and keep cheap poses."""
        if self._count == 0 or not self._window.seen.any():
            return
        F, places = (np.concatenate(parts) for parts in zip(*self._pending, strict=True))
        self._pending, self._count = [], 0
        keep, short = self._settings.search.headings_per_node, self._settings.search.max_short_cost
        costs, headings = best_headings(F, np.arange(len(F)), self._window, keep, short)
        row, column = np.nonzero(np.isfinite(costs) & (costs <= self._max_cost))
        poses = places[row]
        poses[:, 2] += self._window.yaws(F.shape[2], 0.0)[headings[row, column]]
        self._poses.append(poses)
        self._costs.append(costs[row, column])
