"""A few nodes of each of many maps, searched at once.

What a bound leaves of a large library (`choice`) is a handful of nodes on each of hundreds of maps.
Map by map, a search of them would spend most of its time in Python: here their descriptors are put
together and tried in one go.
"""

from collections.abc import Sequence

import numpy as np

from isovist.arrays import Float32Array, FloatArray, IntArray
from isovist.atlas import AnyScan, Atlas, MultiMap, Window
from isovist.localization.candidates.node_search import (
    ENOUGH,
    Candidates,
    best_headings,
    distinct_indices,
)
from isovist.localization.settings import LocalizationSettings

AT_ONCE = 100_000
"""Nodes that are tried in one go: 26 MB of them in the plane."""


def search_node_subsets(
    site: MultiMap,
    numbers: Sequence[int],
    scan: AnyScan,
    settings: LocalizationSettings,
    most: int,
    limit: float = np.inf,
) -> Candidates:
    """The unlike best of those nodes of some maps that `site.only` names, side by side.

    Args:
        site: The maps.
        numbers: Of those to search.
        scan: What the sensor saw.
        settings: How to search.
        most: Candidates that are handed on.
        limit: Hand on none that costs more.
    """
    kinds: dict[tuple[int, float], _Alike] = {}
    for number in numbers:
        name, shift = site.names[number], float(site.shifts[number])
        atlas = site.maps[name]
        window = atlas.window(scan, settings.seen_share[atlas.dimension - 2])
        radius = settings.candidates_apart(atlas)[0]
        key = id(window), radius
        if key not in kinds:
            kinds[key] = _Alike(window, radius, settings, limit, atlas.dimension)
        kinds[key].add(atlas, site.only[name], shift)
    found = [kind.chosen(most) for kind in kinds.values()]
    poses, costs = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(costs, kind="stable")
    full = [float(costs[-1]) for _, costs in found if len(costs) == most]
    return Candidates(poses[order], costs[order], min(full, default=np.inf), None, np.inf)


class _Alike:
    """Maps that a scan looks the same to.

    Nothing of an atlas is held longer than it takes to copy the nodes: a library may have to close
    it to open another.

    Args:
        window: The scan in their channels.
        radius: Candidates nearer than this, in m, are alike.
        settings: How to search.
        limit: Candidates that cost more are forgotten.
        dimension: Of the maps.
    """

    def __init__(
        self,
        window: Window,
        radius: float,
        settings: LocalizationSettings,
        limit: float,
        dimension: int,
    ) -> None:
        self._window, self._radius, self._settings, self._limit = window, radius, settings, limit
        self._waiting: list[tuple[Float32Array, FloatArray]] = []
        self._count = 0
        self._poses: list[FloatArray] = [np.empty((0, 3 if dimension == 2 else 6))]
        self._costs: list[Float32Array] = [np.empty(0, dtype=np.float32)]

    def add(self, atlas: Atlas, nodes: IntArray, shift: float) -> None:
        """Nodes of one of the maps, whose poses are moved along x by so much, in m."""
        places = atlas.seeds(nodes, np.full(len(nodes), atlas.heading))
        places[:, 0] += shift
        # In the plane the first ring alone, that of ranges, is compared on several maps.
        rings = slice(1) if atlas.dimension == 2 else slice(None)
        self._waiting.append((atlas.descriptors[nodes, rings], places))
        self._count += len(nodes)
        if self._count >= AT_ONCE:
            self._try()

    def chosen(self, most: int) -> tuple[FloatArray, FloatArray]:
        """Poses and costs of the unlike best, at most so many."""
        self._try()
        poses, costs = np.concatenate(self._poses), np.concatenate(self._costs)
        cheap = np.argsort(costs, kind="stable")
        for some in (cheap[: ENOUGH * most], cheap):
            kept = some[
                distinct_indices(poses[some], self._radius, self._settings.apart[0][1], most)
            ]
            if len(kept) == most or len(some) == len(cheap):
                break
        return poses[kept], costs[kept].astype(np.float64)

    def _try(self) -> None:
        """Try what waits at all headings, and keep what costs little."""
        if self._count == 0 or not self._window.seen.any():
            return
        F, places = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
        self._waiting, self._count = [], 0
        keep, short = self._settings.finalists[1], self._settings.short
        costs, headings = best_headings(F, np.arange(len(F)), self._window, keep, short)
        row, column = np.nonzero(np.isfinite(costs) & (costs <= self._limit))
        poses = places[row]
        poses[:, 2] += self._window.yaws(F.shape[2], 0.0)[headings[row, column]]
        self._poses.append(poses)
        self._costs.append(costs[row, column])
