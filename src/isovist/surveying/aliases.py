"""Which distant places look like which.

A view, from a node at a heading, is what `atlas.matching.windows` makes of a scan: the mean log(1 +
r) of the channels that the sensor sees, on one ring in the plane and on several in space.  It is
compared with the nodes of the atlas at all headings, by the cost that `localization.search` uses,
per channel seen, c.  The alias of a view is the node with the least c that is another place
(`SurveyingSettings.rival`).  With s the most that a channel shorter than the map says can cost,

    similarity = 1 − c / s, at least 0.                                                     (1)

Exact: c of the places listed.  Not exact: which are listed.  Views are taken from every few nodes,
and a node in between has the alias of the nearest one in sight.  They are compared with some of the
nodes by the squared distance of descriptors of a quarter of the channels; the best of these are
compared in full, and again the nodes around the very best (`SurveyingSettings.compared`).
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray
from isovist.atlas.base import Atlas
from isovist.localization.settings import LocalizationSettings
from isovist.surveying.lattice import in_sight, neighbours, thinned
from isovist.surveying.settings import SurveyingSettings
from isovist.surveying.views import Views

CHUNK_BYTES = 1 << 26
"""Of a table of costs."""


@dataclass(frozen=True, slots=True, eq=False)
class Aliases:
    """The places that each of N nodes can be mistaken for, at H headings.

    Attributes:
        cost: Cost c of the alias, in log(1 + r), s at most, shape (N, H); 0 where nothing is seen:
            that looks like everything.
        similarity: Equation (1), shape (N, H).
        place: Where the alias is, in m, shape (N, H, 2); NaN where nothing is seen.
        turn: By how much the heading differs there, in rad, shape (N, H).
        rivals: Places that are alike, and apart from each other, shape (N, H).
    """

    cost: FloatArray
    similarity: FloatArray
    place: FloatArray
    turn: FloatArray
    rivals: IntArray

    @property
    def worst(self) -> IntArray:
        """The heading at which each node is most easily mistaken, by number, shape (N,).

        Only headings that see anything count.
        """
        return np.argmin(np.where(np.isnan(self.place[..., 0]), np.inf, self.cost), axis=1)


def find_aliases(
    atlas: Atlas,
    views: Views,
    floor: IntArray,
    settings: SurveyingSettings,
    localization: LocalizationSettings,
) -> Aliases:
    """Find the places that the nodes `floor` of an atlas can be mistaken for, by their views."""
    nodes, _, _, around_best = settings.compared
    apart, _, alike_from = settings.rival
    short = localization.short
    asked = views.asked
    others, step = thinned(atlas, np.arange(len(atlas.nodes)), nodes)
    take = in_sight(atlas, floor, asked)
    there = atlas.positions
    F = described(atlas)
    here = there[floor[asked]]
    shape = len(asked), len(views.headings)
    cost, turn = np.empty(shape), np.empty(shape)
    rivals, place = np.empty(shape, dtype=np.int64), np.empty((*shape, 2))
    for h in range(shape[1]):
        values, seen = views.channels(atlas, h, localization.seen_share[0])
        chosen = shortlist(F[others], there[others], values, seen, here, settings, 2.0 * short)
        which = others[chosen]
        costs, _ = _compare(atlas, here, values, seen, which, settings, short)
        around = neighbours(atlas, which[:, :around_best], step)
        best, best_turns = _compare(atlas, here, values, seen, around, settings, short)
        channels = seen.sum(axis=(1, 2))
        cost[:, h] = best[:, 0] / np.maximum(channels, 1)
        place[:, h] = np.where(channels[:, None] > 0, there[around[:, 0], :2], np.nan)
        turn[:, h] = 2.0 * np.pi * best_turns[:, 0] / atlas.settings.channels
        bar = np.where(channels > 0, (1.0 - alike_from) * short * channels, -1.0)[:, None]
        listed = np.concatenate([around, which], axis=1)
        alike = np.concatenate([best, costs], axis=1) <= bar
        rivals[:, h] = [_count(there[row[a]], apart) for row, a in zip(listed, alike, strict=True)]
    turn = np.where(turn > np.pi, turn - 2.0 * np.pi, turn)
    cost = np.minimum(cost, short)
    similarity = np.maximum(1.0 - cost / short, 0.0)
    return Aliases(cost[take], similarity[take], place[take], turn[take], rivals[take])


def described(atlas: Atlas) -> Float32Array:
    """Return the descriptors that views are compared with, shape (N, rings, n).

    In 2D they are the ring of ranges alone.
    """
    return atlas.descriptors if atlas.dimension == 3 else atlas.descriptors[:, :1]


def shortlist(
    known: Float32Array,
    nodes: FloatArray,
    values: Float32Array,
    seen: BoolArray,
    here: FloatArray,
    settings: SurveyingSettings,
    long: float,
) -> IntArray:
    """Return the nodes that look most like each view in rough channels, shape (Q, shortlist).

    With w marking the rough channels seen, Σ_c w_c (o_c − f_{k+c})² for all nodes and turns k is
    one matrix product, as far as it depends on them.

    Args:
        known: Descriptors of the nodes, shape (A, rings, n).
        nodes: Where they are, in m, shape (A, d).
        values: Channels of the views, shape (Q, rings, n).
        seen: Which of them count, shape (Q, rings, n).
        here: Where the views were taken, in m, shape (Q, d).
        settings: How many are listed, how rough the channels are, and what another place is.
        long: Most that a channel longer than the map says can cost.
    """
    from scipy.spatial.distance import cdist

    _, group, most, _ = settings.compared
    apart, turned_by, _ = settings.rival
    o, w = _grouped(values, seen, group)
    # What is unknown, or much farther than anything in view, is no worse than that.
    f = np.minimum(_grouped(known, np.ones(known.shape, dtype=np.bool_), group)[0], o.max() + long)
    n = f.shape[2]
    keep = min(most, len(f))
    # Turn after turn, so that the least over turns is taken over rows of nodes.
    turns = (np.arange(n)[:, None] + np.arange(n)) % n
    turned = f[:, :, turns].transpose(2, 0, 1, 3).reshape(n * len(f), -1)
    o, w = o.reshape(len(o), -1), w.reshape(len(w), -1)
    used = np.flatnonzero(w.any(axis=0))
    columns = np.concatenate([turned[:, used] ** 2, -2.0 * turned[:, used]], axis=1).T
    rows = np.concatenate([w[:, used], (w * o)[:, used]], axis=1, dtype=np.float32)
    far = np.minimum(np.arange(n), n - np.arange(n)) > int(turned_by * n / (2.0 * np.pi))
    chosen = np.empty((len(rows), keep), dtype=np.int64)
    chunk = max(1, CHUNK_BYTES // (4 * len(turned)))
    for first in range(0, len(rows), chunk):
        some = slice(first, first + chunk)
        table = (rows[some] @ columns).reshape(-1, n, len(f))
        cost = table.min(axis=1)
        q, a = np.nonzero(cdist(here[some], nodes) < apart)
        cost[q, a] = table[q, :, a][:, far].min(axis=1)
        chosen[some] = np.argpartition(cost, keep - 1, axis=1)[:, :keep]
    return chosen


def _compare(
    atlas: Atlas,
    here: FloatArray,
    values: Float32Array,
    seen: BoolArray,
    which: IntArray,
    settings: SurveyingSettings,
    short: float,
) -> tuple[Float32Array, IntArray]:
    """Costs and turns of nodes, both of shape (Q, K); `which` is put in order."""
    from isovist.compute.fitting.information import rank_views

    away = atlas.positions[which] - here[:, None]
    near = np.linalg.norm(away, axis=-1) < settings.rival[0]
    costs = np.empty(which.shape, dtype=np.float32)
    turns = np.empty(which.shape, dtype=np.int64)
    barred = int(settings.rival[1] * atlas.settings.channels / (2.0 * np.pi))
    rank_views(
        described(atlas), near, values, seen, barred, short, 2.0 * short, which, costs, turns
    )
    return costs, turns


def _grouped(values: Float32Array, seen: BoolArray, group: int) -> tuple[Float32Array, BoolArray]:
    """Means over groups of channels, and which groups are seen at least by half."""
    shape = *values.shape[:2], -1, group
    count = seen.reshape(shape).sum(axis=3)
    total = np.where(seen, values, 0.0).reshape(shape).sum(axis=3)
    return (total / np.maximum(count, 1)).astype(np.float32), 2 * count >= group


def _count(places: FloatArray, apart: float) -> int:
    """How many of the places are `apart` (m) from all counted before."""
    counted = 0
    while len(places):
        counted += 1
        places = places[np.linalg.norm(places - places[0], axis=1) >= apart]
    return counted
