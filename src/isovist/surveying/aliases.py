"""Which distant places look like which.

A view, from a node at a heading, is what `locate.search` makes of a scan: the mean log(1 + r) of
the channels that the sensor sees.  It is compared with the nodes of the atlas at all headings, by
the cost that `locate.search` uses, per channel seen, c.  The alias of a view is the node with the
least c that is another place: `APART` away, or turned by more than `TURNED`.  Then

    similarity = 1 − c / SHORT, at least 0.                                                 (1)

Exact: c of the places listed.  Not exact: which are listed.  Views are taken from every few nodes
so that there are at most `VIEWS`, and a node in between has the alias of the nearest one in sight.
They are compared with at most `NODES` nodes, by the squared distance of descriptors of a quarter
of the channels; the best `SHORTLIST` are compared in full, and again the nodes around the best
`AROUND` of these.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.plane import CHANNELS, REACH, Atlas, search_rose
from isovist.localization.search import LONG, SEEN_SHARE, SHORT
from isovist.poses import unit_vectors
from isovist.surveying.views import RAYS, Views
from isovist.types import BoolArray, Float32Array, FloatArray, IntArray

APART, TURNED = 1.0, np.radians(25.0)
"""Places nearer than this, in m, and turned by less, in rad, are the same."""
VIEWS, NODES = 8_000, 7_000
"""Most views, and most nodes that they are compared with."""
SHORTLIST, AROUND = 40, 4
"""Nodes that are compared in full, and those of them whose neighbours are, too."""
GROUP = 4
"""Channels to a rough one."""
ALIKE = 0.8
"""Least similarity of a rival."""
CHUNK_BYTES = 1 << 26


@dataclass(frozen=True, slots=True, eq=False)
class Aliases:
    """What each of N nodes can be taken for at H headings.

    Attributes:
        cost: c of the alias, in log(1 + r), `SHORT` at most, shape (N, H); 0 where nothing is
            seen: that looks like everything.
        place: Where the alias is, in m, shape (N, H, 2); NaN where nothing is seen.
        turn: By how much the heading differs there, in rad, shape (N, H).
        rivals: Places that are alike (`ALIKE`), `APART` from each other, shape (N, H).
    """

    cost: FloatArray
    place: FloatArray
    turn: FloatArray
    rivals: IntArray

    @property
    def similarity(self) -> FloatArray:
        """Equation (1), shape (N, H)."""
        return np.maximum(1.0 - self.cost / SHORT, 0.0)

    @property
    def worst(self) -> IntArray:
        """The heading at which each node is most easily mistaken, of those that see, shape (N,)."""
        return np.argmin(np.where(np.isnan(self.place[..., 0]), np.inf, self.cost), axis=1)


def find_aliases(atlas: Atlas, views: Views, floor: IntArray) -> Aliases:
    """The aliases of the nodes `floor` of an atlas, whose views these are."""
    asked = thinned(atlas, floor, VIEWS // len(views.headings))[0]
    others, step = thinned(atlas, np.arange(len(atlas.nodes)), NODES)
    take = in_sight(atlas, floor, asked)
    there = atlas.positions
    here = there[floor[asked]]
    shape = len(asked), len(views.headings)
    cost, turn = np.empty(shape), np.empty(shape)
    rivals, place = np.empty(shape, dtype=np.int64), np.empty((*shape, 2))
    for h in range(shape[1]):
        values, seen = channels_of(views, asked, h)
        chosen = shortlist(atlas.descriptors[others], there[others], values, seen, here)
        which = others[chosen]
        costs, _ = _compare(atlas, here, values, seen, which)
        around = neighbours(atlas, which[:, :AROUND], step)
        best, best_turns = _compare(atlas, here, values, seen, around)
        channels = seen.sum(axis=1)
        cost[:, h] = best[:, 0] / np.maximum(channels, 1)
        place[:, h] = np.where(channels[:, None] > 0, there[around[:, 0]], np.nan)
        turn[:, h] = 2.0 * np.pi * best_turns[:, 0] / CHANNELS
        bar = np.where(channels > 0, (1.0 - ALIKE) * SHORT * channels, -1.0)[:, None]
        listed = np.concatenate([around, which], axis=1)
        alike = np.concatenate([best, costs], axis=1) <= bar
        rivals[:, h] = [_apart(there[row[a]]) for row, a in zip(listed, alike, strict=True)]
    turn = np.where(turn > np.pi, turn - 2.0 * np.pi, turn)
    return Aliases(np.minimum(cost, SHORT)[take], place[take], turn[take], rivals[take])


def thinned(atlas: Atlas, chosen: IntArray, most: int) -> tuple[IntArray, int]:
    """Which of the nodes `chosen` lie on a coarser lattice, about `most`, and its step."""
    step = max(1, int(np.ceil(np.sqrt(len(chosen) / most))))
    lattice = _lattice(atlas)[chosen]
    kept = np.flatnonzero((lattice % step == 0).all(axis=1))
    return (kept, step) if kept.size else (np.arange(0, len(chosen), step * step), step)


def channels_of(views: Views, asked: IntArray, heading: int) -> tuple[Float32Array, BoolArray]:
    """Channels of the views from some nodes at a heading, and which are seen; shape (A, n)."""
    W = search_rose().weights(unit_vectors(2.0 * np.pi * np.arange(RAYS) / RAYS))
    ranges = np.where(views.in_view[heading][:, None], views.ranges[:, asked], np.inf).T
    returned = np.isfinite(ranges)
    signal = np.log1p(np.where(returned, np.minimum(ranges, REACH), 0.0))
    mass = returned @ W
    seen = mass >= SEEN_SHARE * W.sum(axis=0)
    values = np.where(seen, signal @ W / np.maximum(mass, 1e-9), 0.0)
    return values.astype(np.float32), seen


def shortlist(
    known: Float32Array,
    nodes: FloatArray,
    values: Float32Array,
    seen: BoolArray,
    here: FloatArray,
) -> IntArray:
    """Nodes that look most like each view in rough channels, shape (Q, `SHORTLIST`).

    With w marking the rough channels seen, Σ_c w_c (o_c − f_{k+c})² for all nodes and turns k is
    one matrix product, as far as it depends on them.

    Args:
        known: Descriptors of the nodes, shape (A, n).
        nodes: Where they are, in m, shape (A, 2).
        values: Channels of the views, shape (Q, n).
        seen: Which of them count, shape (Q, n).
        here: Where the views were taken, in m, shape (Q, 2).
    """
    from scipy.spatial.distance import cdist

    o, w = _grouped(values, seen)
    # What is unknown, or much farther than anything in view, is no worse than that.
    f = np.minimum(_grouped(known, np.ones(known.shape, dtype=np.bool_))[0], o.max() + LONG)
    n = f.shape[1]
    keep = min(SHORTLIST, len(f))
    turned = f[:, (np.arange(n)[:, None] + np.arange(n)) % n].reshape(-1, n)
    used = np.flatnonzero(w.any(axis=0))
    columns = np.concatenate([turned[:, used] ** 2, -2.0 * turned[:, used]], axis=1).T
    rows = np.concatenate([w[:, used], (w * o)[:, used]], axis=1, dtype=np.float32)
    far = np.minimum(np.arange(n), n - np.arange(n)) > int(TURNED * n / (2.0 * np.pi))
    chosen = np.empty((len(rows), keep), dtype=np.int64)
    chunk = max(1, CHUNK_BYTES // (4 * len(turned)))
    for first in range(0, len(rows), chunk):
        some = slice(first, first + chunk)
        table = (rows[some] @ columns).reshape(-1, len(f), n)
        cost = table.min(axis=2)
        q, a = np.nonzero(cdist(here[some], nodes) < APART)
        cost[q, a] = table[q, a][:, far].min(axis=1)
        chosen[some] = np.argpartition(cost, keep - 1, axis=1)[:, :keep]
    return chosen


def neighbours(atlas: Atlas, nodes: IntArray, step: int) -> IntArray:
    """The nodes on the lattice around nodes, within half a step, shape (Q, K · m).

    Where there is none, the node itself stands.
    """
    reach = np.arange(-(step // 2), step // 2 + 1)
    lattice = _lattice(atlas) + step
    table = np.full(lattice.max(axis=0) + step + 1, -1, dtype=np.int64)
    table[tuple(lattice.T)] = np.arange(len(lattice))
    row, col = lattice[nodes].transpose(2, 0, 1)[..., None, None]
    found = table[row + reach[:, None], col + reach]
    return np.where(found < 0, nodes[..., None, None], found).reshape(len(nodes), -1)


def in_sight(atlas: Atlas, floor: IntArray, asked: IntArray) -> NDArray[np.int64]:
    """For each node of the floor, which of `asked` is the nearest that it sees, else nearest."""
    from scipy.spatial import cKDTree

    here = atlas.positions[floor]
    there = here[asked]
    count = min(6, len(asked))
    index = cKDTree(there).query(here, count)[1].reshape(len(here), count)
    towards = there[index] - here[:, None]
    away = np.hypot(towards[..., 0], towards[..., 1])
    towards[away == 0.0, 0] = 1.0
    free = atlas.world.cast(here[:, None], towards).ranges >= away
    first = np.where(free.any(axis=1), np.argmax(free, axis=1), 0)
    return np.asarray(index[np.arange(len(here)), first])


def _compare(
    atlas: Atlas, here: FloatArray, values: Float32Array, seen: BoolArray, which: IntArray
) -> tuple[Float32Array, IntArray]:
    """Costs and turns of nodes, both of shape (Q, K); `which` is put in order."""
    from isovist.kernels.survey import compare

    apart = atlas.positions[which] - here[:, None]
    near = np.hypot(apart[..., 0], apart[..., 1]) < APART
    costs = np.empty(which.shape, dtype=np.float32)
    turns = np.empty(which.shape, dtype=np.int64)
    barred = int(TURNED * CHANNELS / (2.0 * np.pi))
    compare(atlas.descriptors, near, values, seen, barred, SHORT, LONG, which, costs, turns)
    return costs, turns


def _lattice(atlas: Atlas) -> IntArray:
    """Row and column of each node in the lattice of nodes, shape (N, 2)."""
    return atlas.nodes.astype(np.int64) // round(atlas.spacing / atlas.world.resolution)


def _grouped(values: Float32Array, seen: BoolArray) -> tuple[Float32Array, BoolArray]:
    """Means over groups of `GROUP` channels, and which groups are seen at least by half."""
    shape = len(values), -1, GROUP
    count = seen.reshape(shape).sum(axis=2)
    total = np.where(seen, values, 0.0).reshape(shape).sum(axis=2)
    return (total / np.maximum(count, 1)).astype(np.float32), 2 * count >= GROUP


def _apart(places: FloatArray) -> int:
    """How many of the places are farther than `APART` from all counted before."""
    counted = 0
    while len(places):
        counted += 1
        places = places[np.hypot(*(places - places[0]).T) >= APART]
    return counted
