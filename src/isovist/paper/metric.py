"""Measure a map by its descriptors: the pseudo-metric d_n between places of a grid.

With the whitening z of the Gram matrix, d(p, q) = ‖z(p) − z(q)‖.  Near a node, d ≈ ‖Z δ‖ with Z the
slope of z, here from the neighbours on the lattice; so

    resolution   1/σ_min(Z),      in m per unit of d,                                       (1)

is how far one must move for the metric to notice.  Two nodes farther apart than a distance are
aliases when they are nearer in d than a node is to its neighbours,

    d(p, q) < min(s σ_min(Z_p), s σ_min(Z_q)),                                              (2)

with s the spacing: what separates p from its neighbours does not separate it from q.  The heading
is known.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from isovist import InputError
from isovist.arrays import FloatArray, IntArray, readonly
from isovist.paper.localizer import PaperLocalizer
from isovist.paper.settings import MetricSettings
from isovist.settings import default_of


@dataclass(frozen=True, slots=True, eq=False)
class MapMetric:
    """The metric on a grid.

    Attributes:
        places: Nodes with neighbours on both sides along every axis, shape (K, d), in m.
        slopes: σ_min(Z) of each, per m, shape (K,).
        aliases: Pairs of numbers of nodes that are aliases, (2), shape (a, 2).
        spacing: Pitch of the grid, in m.
    """

    places: FloatArray
    slopes: FloatArray
    aliases: IntArray
    spacing: float

    @property
    def resolution(self) -> FloatArray:
        """Return (1) at each place, shape (K,)."""
        return np.asarray(1.0 / np.maximum(self.slopes, 1e-12))

    @property
    def unique_share(self) -> float:
        """Return the share of the nodes that have no alias."""
        return 1.0 - len(np.unique(self.aliases)) / len(self.places)


def map_metric(localizer: PaperLocalizer) -> MapMetric:
    """Measure the metric of a map on the grid of a localizer with one signal."""
    if len(localizer.descriptors) > 1:
        raise InputError(
            "The metric is that of one signal, not of several stacked.", code="conflict"
        )
    grid, limits = localizer.grid, default_of(MetricSettings)
    z = localizer.gram.whiten(grid.F)
    step = _pitch(grid.nodes)
    tree, d = cKDTree(grid.nodes), grid.nodes.shape[1]
    flat = [k for k in range(d) if np.ptp(grid.nodes[:, k]) > 0.0]
    is_inner = np.ones(len(grid.nodes), np.bool_)
    slopes = []
    for k in flat:
        e = step * np.eye(d)[k]
        (a, ia), (b, ib) = (tree.query(grid.nodes + sign * e) for sign in (1.0, -1.0))
        is_inner &= (np.asarray(a) < 1e-6 * step) & (np.asarray(b) < 1e-6 * step)
        slopes.append((z[np.asarray(ia)] - z[np.asarray(ib)]) / (2.0 * step))
    if not is_inner.any():
        raise InputError(
            "No node has neighbours on all sides; use a smaller `spacing`.", code="empty"
        )
    Z = np.stack(slopes, axis=-1)[is_inner]
    min_slopes = np.asarray(np.linalg.svd(Z, compute_uv=False)[:, -1])
    places, z = grid.nodes[is_inner], z[is_inner]
    near, numbers = cKDTree(z).query(z, k=min(limits.neighbours, len(z)))
    first = np.repeat(np.arange(len(z)), numbers.shape[1])
    second, gap = numbers.ravel(), np.asarray(near).ravel()
    separation = np.linalg.norm(places[first] - places[second], axis=1)
    is_far = separation > limits.min_alias_distance * step
    is_alias = is_far & (gap < step * np.minimum(min_slopes[first], min_slopes[second]))
    pairs = np.unique(np.sort(np.stack([first, second], axis=1)[is_alias], axis=1), axis=0)
    return MapMetric(readonly(places), readonly(min_slopes), readonly(pairs), step)


def _pitch(nodes: FloatArray) -> float:
    """Return the distance between neighbours of the lattice, in m."""
    if len(nodes) < 3:
        raise InputError(
            "A metric needs at least three nodes; use a smaller `spacing`.", code="empty"
        )
    gaps = np.asarray(cKDTree(nodes).query(nodes, k=2)[0])[:, 1]
    return float(np.median(gaps))
