"""A few nodes of each of many maps, searched at once.

What a bound leaves of a large library (`choice`) is a handful of nodes on each of hundreds of maps.
To search map by map would take a hundred times as long as the loop that tries them: here their
descriptors are put together and tried in one go.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.base import AnyScan, Atlas, Window
from isovist.atlas.side_by_side import SideBySide
from isovist.localization.search import ENOUGH, Candidates, best_headings, unlike
from isovist.localization.settings import LocalizationSettings
from isovist.types import FloatArray, IntArray


def search_few(
    site: SideBySide,
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
        atlas = site.maps[site.names[number]]
        window = atlas.window(scan, settings.seen_share[atlas.dimension - 2])
        if window.seen.any():
            radius = settings.candidates_apart(atlas)[0]
            kind = kinds.setdefault((id(window), radius), _Alike(window, radius))
            kind.maps.append((atlas, site.only[site.names[number]], float(site.shifts[number])))
    found = [kind.search(settings, most, limit) for kind in kinds.values()]
    if not found:
        return Candidates(site.maps[site.names[0]].seeds(np.empty(0, dtype=np.int64), np.empty(0)),
                          np.empty(0), np.inf, np.empty((0, 3)), np.inf)  # fmt: skip
    poses = np.concatenate([poses for poses, _ in found])
    costs = np.concatenate([costs for _, costs in found])
    order = np.argsort(costs, kind="stable")
    full = [float(costs[-1]) for _, costs in found if len(costs) == most]
    return Candidates(
        poses[order], costs[order], min(full, default=np.inf), np.empty((0, 3)), np.inf
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Alike:
    """Maps that a scan looks the same to.

    Attributes:
        window: The scan in their channels.
        radius: Candidates nearer than this, in m, are alike.
        maps: Each with its nodes, and how far its poses are moved along x, in m.
    """

    window: Window
    radius: float
    maps: list[tuple[Atlas, IntArray, float]] = field(default_factory=list)

    def search(
        self, settings: LocalizationSettings, most: int, limit: float
    ) -> tuple[FloatArray, FloatArray]:
        """Poses and costs of the unlike best, at most so many."""
        F = np.concatenate([atlas.descriptors[nodes] for atlas, nodes, _ in self.maps])
        keep = settings.finalists[1]
        costs, headings = best_headings(F, np.arange(len(F)), self.window, keep, settings.short)
        flat = costs.ravel()
        cheap = np.flatnonzero(np.isfinite(flat) & (flat <= limit))
        cheap = cheap[np.argsort(flat[cheap], kind="stable")]
        for some in (cheap[: ENOUGH * most], cheap):
            poses = self._poses(some // keep, headings.ravel()[some])
            chosen = unlike(poses, self.radius, settings.apart[0][1], most)
            if len(chosen) == most or len(some) == len(cheap):
                break
        return poses[chosen], flat[some[chosen]].astype(np.float64)

    def _poses(self, rows: IntArray, headings: NDArray[np.int32]) -> FloatArray:
        """Side by side, of nodes by their place among those of all maps."""
        ends = np.cumsum([len(nodes) for _, nodes, _ in self.maps])
        numbers = np.searchsorted(ends, rows, side="right")
        order = np.argsort(numbers, kind="stable")
        found, starts = np.unique(numbers[order], return_index=True)
        last = np.append(starts, len(rows))[1:]
        parts = []
        for k, first, end in zip(found.tolist(), starts.tolist(), last.tolist(), strict=True):
            (atlas, nodes, shift), mine = self.maps[k], order[first:end]
            yaws = self.window.yaws(atlas.descriptors.shape[2], atlas.heading)[headings[mine]]
            poses = atlas.seeds(nodes[rows[mine] - ends[k] + len(nodes)], yaws)
            poses[:, 0] += shift
            parts.append(poses)
        whole = np.concatenate(parts) if parts else self.maps[0][0].seeds(rows, np.empty(0))
        placed = np.empty_like(whole)
        placed[order] = whole
        return placed
