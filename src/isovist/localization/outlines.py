"""A quicker look than `floors`, which drops most of a large atlas, and seldom wrongly.

The means of four channels are the outline of a node, or of a scan.  It changes so slowly from
heading to heading that every fourth one will do: outlines are compared in an eighth of the time
that floors take at a glance.  Then only nodes with the likeliest outlines are glanced at.

This is no bound: of nodes that cost at a glance up to 1.4 times as much as the best, one in twelve
is not among the likeliest eighth (`benchmarks.outlines`: plans of all kinds on one map).  So it is
for a first look alone; a closer one drops no node.  Of 4800 scans none has another answer with it.
"""

import numpy as np

from isovist.arrays import IntArray
from isovist.atlas import Atlas, Window
from isovist.compute import active_backend
from isovist.localization.floors import MANY, Floors, mean_of

TOGETHER = 4
WIDE = 10
"""Fewest outlined channels of a scan, of 16 as a rule: 225°."""
SAMPLED = 16
"""One node in so many says how much the outlines of the others may cost."""


def likely(atlas: Atlas, every: int, window: Window, short: float, share: int) -> IntArray | None:
    """Those of every so manieth node whose outlines are like that of a scan, in order.

    `None` where no node can be dropped: on small maps, in space, and when little was seen.

    Args:
        atlas: The map, described.
        every: One node in so many is looked at.
        window: The scan.
        short: Most that a channel costs (`LocalizationSettings`).
        share: One of so many of these is likely.
    """
    n = atlas.descriptors.shape[2]
    is_small = atlas.size <= MANY or atlas.dimension == 3
    if is_small or n % TOGETHER or active_backend().is_exhaustive:
        return None
    outline = outlined(window)
    if outline.seen.any(axis=(0, 1)).sum() < WIDE:
        return None
    allowed = np.ones(n // TOGETHER, dtype=np.bool_)
    costs, _ = Floors.of(atlas, every, TOGETHER).least(outline, allowed, short)
    few = costs[::SAMPLED]
    most = np.partition(few, len(few) // share)[len(few) // share]
    return np.flatnonzero(costs <= most)


def outlined(window: Window) -> Window:
    """The outline of a scan, at its first phase."""
    room = [(0, 0), (0, 0), (0, -window.values.shape[2] % TOGETHER)]
    means, known = mean_of(np.pad(window.values[:1], room), np.pad(window.seen[:1], room), TOGETHER)
    return Window(means, known, ring=window.ring)
