"""Search a part of the nodes by half the channels, for competitors of a given pose (`check`).

It finds most of the places that a full search finds, in a fraction of the time.
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

MIN_RINGS = 2000
"""Rings of nodes that are compared at least, on all but the largest maps: 3000 miss as few
competitors on the six logs (`benchmarks.check`)."""
MAX_STRIDE = 6
"""On large maps every sixth node is compared: this misses half the competitors that every eighth
node misses (`benchmarks.check`)."""
MAX_CANDIDATES = 24
"""Candidates per map."""
SHORTLIST_SIZE = 500
"""The cheapest poses, of which the distinct ones become candidates."""
KEEP_HEADINGS = 2
"""Headings per node."""


def coarse_candidates(
    space: SearchSpace, scan: AnyScan, settings: LocalizationSettings
) -> FloatArray:
    """Return the best distinct poses of some nodes, map after map, shape (K, D)."""
    if not isinstance(space, MultiMap):
        assert isinstance(space, Atlas)  # there is no third kind
        return _candidates_on_map(space, scan, settings)
    parts, scan = [], without_intensities(scan)
    for name, shift in zip(space.names, space.shifts, strict=True):
        poses = _candidates_on_map(space.maps[name], scan, settings)
        poses[:, 0] += shift
        parts.append(poses)
    return np.concatenate(parts)


def _candidates_on_map(atlas: Atlas, scan: AnyScan, settings: LocalizationSettings) -> FloatArray:
    """Return the best distinct poses on one map."""
    window = atlas.window(scan, settings.search.min_seen_share(atlas.dimension)).rough
    if not window.seen.any():
        return atlas.seeds(np.empty(0, dtype=np.int64), np.empty(0))
    rings = window.seen.shape[1]
    stride = min(MAX_STRIDE, -(-len(atlas.nodes) * rings // MIN_RINGS))
    nodes, costs, headings = _cheap_nodes(atlas, window, stride, settings)
    flat = costs.ravel()
    count = min(SHORTLIST_SIZE, flat.size)
    shortlist = np.sort(np.argpartition(flat, count - 1)[:count])
    best = shortlist[np.argsort(flat[shortlist], kind="stable")]
    best = best[np.isfinite(flat[best])]
    yaws = window.yaws(atlas.descriptors.shape[2], atlas.heading)
    poses = atlas.seeds(nodes[best // KEEP_HEADINGS], yaws[headings.ravel()[best]])
    return poses[distinct_indices(poses, *settings.candidates_apart(atlas), MAX_CANDIDATES)]


def _cheap_nodes(
    atlas: Atlas, window: Window, stride: int, settings: LocalizationSettings
) -> tuple[IntArray, Float32Array, NDArray[np.int32]]:
    """Return nodes with the `SHORTLIST_SIZE` cheapest poses among them, in order.

    Returns:
        Indices of the nodes, shape (A,), and costs and headings of `best_headings`.
    """

    def evaluate(nodes: IntArray) -> tuple[Float32Array, NDArray[np.int32]]:
        return best_headings(
            atlas.descriptors, nodes, window, KEEP_HEADINGS, settings.search.max_short_cost
        )

    nodes = np.arange(0, len(atlas.nodes), stride)
    if not has_lower_bounds(atlas) or active_backend().is_exhaustive:
        return nodes, *evaluate(nodes)
    allowed = np.ones(atlas.descriptors.shape[2] * len(window.seen), dtype=np.bool_)
    bounds = LowerBounds.of(atlas, stride).bound_costs(
        window, allowed, settings.search.max_short_cost
    )
    count = min(SHORTLIST_SIZE, len(nodes))
    costs = evaluate(nodes[np.argpartition(bounds, count - 1)[:count]])[0]
    # A node with a higher lower bound cannot be among the cheapest.
    nodes = nodes[bounds <= np.partition(costs.ravel(), count - 1)[count - 1]]
    return nodes, *evaluate(nodes)
