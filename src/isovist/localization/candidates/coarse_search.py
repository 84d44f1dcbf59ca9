"""A glance at maps: every so manieth node at half the channels, and the unlike best of them.

It finds most of the places that a search would find, in a fraction of the time (`check`).
"""

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import Float32Array, FloatArray, IntArray
from isovist.atlas import AnyScan, Atlas, MultiMap, SearchSpace, Window
from isovist.compute import active_backend
from isovist.localization.candidates.lower_bounds import LowerBounds, has_lower_bounds
from isovist.localization.candidates.node_search import best_headings, distinct_indices
from isovist.localization.settings import LocalizationSettings
from isovist.sensing import without_intensities

GLANCES = (2000, 6)
"""Rings of nodes that a glance looks at, and least share on large maps: of 3000 and 2000 both miss
as few rivals on the six logs (`benchmarks.check`), of one in 8 and in 6 the latter halves them."""
RIVALS = 24
"""Candidates of a glance at a map that are fitted with few beams."""
SHORTLIST_SIZE = 500
"""Cheapest places of a glance among which those are chosen, none alike another."""


def coarse_candidates(
    site: SearchSpace, scan: AnyScan, settings: LocalizationSettings
) -> FloatArray:
    """The unlike best of a look at some nodes of every map, shape (K, D), map after map."""
    if not isinstance(site, MultiMap):
        assert isinstance(site, Atlas)  # there is no third kind
        return _at_map(site, scan, settings)
    found, scan = [], without_intensities(scan)
    for name, shift in zip(site.names, site.shifts, strict=True):
        poses = _at_map(site.maps[name], scan, settings)
        poses[:, 0] += shift
        found.append(poses)
    return np.concatenate(found)


def _at_map(atlas: Atlas, scan: AnyScan, settings: LocalizationSettings) -> FloatArray:
    """The unlike best of a look at some nodes, half the channels and half the headings."""
    window = atlas.window(scan, settings.seen_share[atlas.dimension - 2]).rough
    if not window.seen.any():
        return atlas.seeds(np.empty(0, dtype=np.int64), np.empty(0))
    rings = window.seen.shape[1]
    enough, sparsest = GLANCES
    step = min(sparsest, -(-len(atlas.nodes) * rings // enough))
    active, costs, headings = _cheap(atlas, window, step, settings)
    flat = costs.ravel()
    few = min(SHORTLIST_SIZE, flat.size)
    some = np.sort(np.argpartition(flat, few - 1)[:few])
    best = some[np.argsort(flat[some], kind="stable")]
    best = best[np.isfinite(flat[best])]
    yaws = window.yaws(atlas.descriptors.shape[2], atlas.heading)
    poses = atlas.seeds(active[best // 2], yaws[headings.ravel()[best]])
    return poses[distinct_indices(poses, *settings.candidates_apart(atlas), RIVALS)]


def _cheap(
    atlas: Atlas, window: Window, step: int, settings: LocalizationSettings
) -> tuple[IntArray, Float32Array, NDArray[np.int32]]:
    """Nodes in order with their two best headings, the `SHORTLIST_SIZE` cheapest among them."""

    def tried(some: IntArray) -> tuple[Float32Array, NDArray[np.int32]]:
        return best_headings(atlas.descriptors, some, window, 2, settings.short)

    active = np.arange(0, len(atlas.nodes), step)
    if not has_lower_bounds(atlas) or active_backend().is_exhaustive:
        return active, *tried(active)
    allowed = np.ones(atlas.descriptors.shape[2] * len(window.seen), dtype=np.bool_)
    floors = LowerBounds.of(atlas, step).bound_costs(window, allowed, settings.short)
    few = min(SHORTLIST_SIZE, len(active))
    costs = tried(active[np.argpartition(floors, few - 1)[:few]])[0]
    # No node whose floor is higher can be among them.
    active = active[floors <= np.partition(costs.ravel(), few - 1)[few - 1]]
    return active, *tried(active)
