"""A glance at maps: every so manieth node at half the channels, and the unlike best of them.

It finds most of the places that a search would find, in a fraction of the time (`check`).
"""

import numpy as np

from isovist.atlas.base import AnyScan, Atlas, Site
from isovist.atlas.side_by_side import SideBySide
from isovist.localization.search import best_headings, unlike
from isovist.localization.settings import LocalizationSettings
from isovist.sensing.joined import unlit
from isovist.types import FloatArray

GLANCES = (2000, 6)
"""Rings of nodes that a glance looks at, and least share on large maps: of 3000 and 2000 both miss
as few rivals on the six logs (`benchmarks.check`), of one in 8 and in 6 the latter halves them."""
RIVALS = 24
"""Candidates of a glance at a map that are fitted with few beams."""
GLIMPSED = 500
"""Cheapest places of a glance among which those are chosen, none alike another."""


def glance(site: Site, scan: AnyScan, settings: LocalizationSettings) -> FloatArray:
    """The unlike best of a look at some nodes of every map, shape (K, D), map after map."""
    if not isinstance(site, SideBySide):
        assert isinstance(site, Atlas)  # there is no third kind
        return _at_map(site, scan, settings)
    found, scan = [], unlit(scan)
    for name, shift in zip(site.names, site.shifts, strict=True):
        poses = _at_map(site.maps[name], scan, settings)
        poses[:, 0] += shift
        found.append(poses)
    return np.concatenate(found)


def _at_map(atlas: Atlas, scan: AnyScan, settings: LocalizationSettings) -> FloatArray:
    """The unlike best of a look at some nodes, half the channels and half the headings."""
    window = atlas.window(scan, settings.seen_share[atlas.dimension - 2])
    rough = window.seen[:1].copy()
    rough[:, :, 1::2] = False
    if not rough.any():
        return atlas.seeds(np.empty(0, dtype=np.int64), np.empty(0))
    n, rings = atlas.settings.channels, window.seen.shape[1]
    enough, sparsest = GLANCES
    step = min(sparsest, -(-len(atlas.nodes) * rings // enough))
    active = np.arange(0, len(atlas.nodes), step)
    nodes = atlas.descriptors[:, window.ring : window.ring + rings]
    costs, headings = best_headings(
        nodes, active, window.values[:1], rough, np.ones(n, dtype=np.bool_), 2, settings.short
    )
    flat = costs.ravel()
    few = min(GLIMPSED, flat.size)
    some = np.sort(np.argpartition(flat, few - 1)[:few])
    best = some[np.argsort(flat[some], kind="stable")]
    best = best[np.isfinite(flat[best])]
    yaws = 2.0 * np.pi * (headings.ravel()[best] - window.first) / n + atlas.heading
    poses = atlas.seeds(active[best // 2], yaws)
    return poses[unlike(poses, *settings.candidates_apart(atlas), RIVALS)]
