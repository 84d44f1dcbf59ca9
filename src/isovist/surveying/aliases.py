"""Find distant places that look alike.

A view, from a node at a heading, has the form that `atlas.matching.windows` gives a scan.  It is
the mean log(1 + r) of the visible channels, on one ring in 2D and on several in 3D. It is compared
with the nodes of the atlas at all headings, by the cost c per channel that `node_search`
uses.  The alias of a view is the node with the least c that is another place (`AliasSettings`).
With s the largest cost of a channel that is shorter than the map says,

    similarity = 1 − c / s, at least 0.                                                     (1)

The cost of each listed place is exact.  The choice of listed places is not.  Views are taken from
every few nodes, and a node in between has the alias of the nearest one in its line of sight.  Views
are compared with a sample of the nodes by the squared distance of groups of channels.  The best
nodes of the sample are compared in full, and so are the nodes around the very best.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray
from isovist.atlas import Atlas
from isovist.surveying.lattice import in_sight, neighbours, thinned
from isovist.surveying.plan import SurveyPlan
from isovist.surveying.settings import AliasSettings
from isovist.surveying.views.view_set import Channels, Views

CHUNK_BYTES = 1 << 26
"""Size of a table of costs."""


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


def find_aliases(plan: SurveyPlan, views: Views) -> Aliases:
    """Find the places that each node of a plan can be mistaken for, by comparing views."""
    atlas, settings, short = (
        plan.atlas,
        plan.settings.aliases,
        plan.localization.search.max_short_cost,
    )
    sample, step = thinned(atlas, np.arange(len(atlas.nodes)), settings.max_nodes)
    positions, F = atlas.positions, described(atlas)
    nodes = Channels(F[sample], np.ones(F[sample].shape, dtype=np.bool_), positions[sample])
    shape = len(views.viewpoints), len(views.headings)
    cost, turn = np.empty(shape), np.empty(shape)
    rivals, place = np.empty(shape, dtype=np.int64), np.empty((*shape, 2))
    for h in range(shape[1]):
        view = views.channels(plan, h)
        listed = sample[shortlist(nodes, view, settings, 2.0 * short)]
        costs, _ = _compare(plan, view, listed)
        around = neighbours(atlas, listed[:, : settings.refined], step)
        best, best_turns = _compare(plan, view, around)
        channels = view.is_seen.sum(axis=(1, 2))
        cost[:, h] = best[:, 0] / np.maximum(channels, 1)
        place[:, h] = np.where(channels[:, None] > 0, positions[around[:, 0], :2], np.nan)
        turn[:, h] = 2.0 * np.pi * best_turns[:, 0] / atlas.settings.channels
        bar = np.where(channels > 0, (1.0 - settings.min_similarity) * short * channels, -1.0)
        is_rival = np.concatenate([best, costs], axis=1) <= bar[:, None]
        rows = zip(np.concatenate([around, listed], axis=1), is_rival, strict=True)
        rivals[:, h] = [
            _count(positions[row[alias]], settings.min_distance_m) for row, alias in rows
        ]
    turn = np.where(turn > np.pi, turn - 2.0 * np.pi, turn)
    cost = np.minimum(cost, short)
    similarity = np.maximum(1.0 - cost / short, 0.0)
    view_of = in_sight(plan, views.viewpoints)
    arrays: tuple[Any, ...] = cost, similarity, place, turn, rivals
    return Aliases(*(array[view_of] for array in arrays))


def described(atlas: Atlas) -> Float32Array:
    """Return the descriptors that views are compared with, shape (N, rings, n).

    In 2D they are the ring of ranges alone.
    """
    return atlas.descriptors if atlas.dimension == 3 else atlas.descriptors[:, :1]


def shortlist(
    nodes: Channels, views: Channels, settings: AliasSettings, max_cost: float
) -> IntArray:
    """Return the nodes most similar to each view in groups of channels, shape (Q, shortlist).

    With w the mask of visible groups, the sum Σ_c w_c (o_c − f_{k+c})² is needed for all nodes and
    rotations k.  The part that depends on them is one matrix product.

    Args:
        nodes: Channels of A nodes.
        views: Channels of Q views.
        settings: Settings of the list, the groups and the distance between places.
        max_cost: Largest cost of a channel that is longer than the map says.
    """
    from scipy.spatial.distance import cdist

    o, w = _grouped(views, settings.channels_per_group)
    # What is unknown, or much farther than anything in view, is no worse than that.
    f = np.minimum(_grouped(nodes, settings.channels_per_group)[0], o.max() + max_cost)
    n = f.shape[2]
    count = min(settings.shortlist, len(f))
    # Turn after turn, so that the least over turns is taken over rows of nodes.
    turns = (np.arange(n)[:, None] + np.arange(n)) % n
    rolled = f[:, :, turns].transpose(2, 0, 1, 3).reshape(n * len(f), -1)
    o, w = o.reshape(len(o), -1), w.reshape(len(w), -1)
    active = np.flatnonzero(w.any(axis=0))
    columns = np.concatenate([rolled[:, active] ** 2, -2.0 * rolled[:, active]], axis=1).T
    rows = np.concatenate([w[:, active], (w * o)[:, active]], axis=1, dtype=np.float32)
    is_turned = np.minimum(np.arange(n), n - np.arange(n)) > _steps(settings.min_turn_rad, n)
    result = np.empty((len(rows), count), dtype=np.int64)
    chunk = max(1, CHUNK_BYTES // (4 * len(rolled)))
    for first in range(0, len(rows), chunk):
        part = slice(first, first + chunk)
        table = (rows[part] @ columns).reshape(-1, n, len(f))
        cost = table.min(axis=1)
        q, a = np.nonzero(cdist(views.places[part], nodes.places) < settings.min_distance_m)
        cost[q, a] = table[q, :, a][:, is_turned].min(axis=1)
        result[part] = np.argpartition(cost, count - 1, axis=1)[:, :count]
    return result


def _compare(
    plan: SurveyPlan, views: Channels, candidates: IntArray
) -> tuple[Float32Array, IntArray]:
    """Return costs and turns of candidates, shape (Q, K), and sort the candidates by cost."""
    from isovist.compute import rank_views

    atlas, settings, short = (
        plan.atlas,
        plan.settings.aliases,
        plan.localization.search.max_short_cost,
    )
    offsets = atlas.positions[candidates] - views.places[:, None]
    is_near = np.linalg.norm(offsets, axis=-1) < settings.min_distance_m
    costs = np.empty(candidates.shape, dtype=np.float32)
    turns = np.empty(candidates.shape, dtype=np.int64)
    min_turn = _steps(settings.min_turn_rad, atlas.settings.channels)
    rank_views(
        described(atlas), is_near, views.values, views.is_seen, min_turn, short, 2.0 * short,
        candidates, costs, turns,
    )  # fmt: skip
    return costs, turns


def _steps(angle: float, channels: int) -> int:
    """Return how many whole channels of a circle an angle spans."""
    return int(angle * channels / (2.0 * np.pi))


def _grouped(channels: Channels, size: int) -> tuple[Float32Array, BoolArray]:
    """Return means over groups of channels, and which groups are seen at least by half."""
    shape = *channels.values.shape[:2], -1, size
    count = channels.is_seen.reshape(shape).sum(axis=3)
    total = np.where(channels.is_seen, channels.values, 0.0).reshape(shape).sum(axis=3)
    return (total / np.maximum(count, 1)).astype(np.float32), 2 * count >= size


def _count(places: FloatArray, distance: float) -> int:
    """Return how many of the places are a distance (m) from all counted before."""
    count = 0
    while len(places):
        count += 1
        places = places[np.linalg.norm(places - places[0], axis=1) >= distance]
    return count
