"""The map as its descriptors see it: the pseudo-metric d_n between places of a grid.

With the whitening z of the Gram matrix, d(p, q) = ‖z(p) − z(q)‖.  Near a node, d ≈ ‖Z δ‖ with Z the
slope of z, here from the neighbours on the lattice; so

    resolution   1/σ_min(Z),      in m per unit of d,                                       (1)

says how far one must move for the metric to notice.  Two nodes farther apart than a distance are
aliases when they are nearer in d than a node is to its neighbours,

    d(p, q) < min(s σ_min(Z_p), s σ_min(Z_q)),                                              (2)

with s the spacing: what tells p from its neighbours does not tell it from q.  Headings are known.
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from isovist.arrays import FloatArray, IntArray, readonly
from isovist.errors import InputError
from isovist.paper.localizer import PaperLocalizer

FAR = 4.0
"""Aliases are farther apart than this, in spacings of the grid."""
MOST = 12
"""Nearest nodes in d that are looked at for aliases."""


@dataclass(frozen=True, slots=True, eq=False)
class MapMetric:
    """The metric on a grid.

    Attributes:
        places: Nodes with neighbours on both sides along every axis, shape (K, d), in m.
        slopes: σ_min(Z) of each, per m, shape (K,).
        aliases: Pairs of numbers of nodes that are aliases, (2), shape (a, 2).
        spacing: Of the grid, in m.
    """

    places: FloatArray
    slopes: FloatArray
    aliases: IntArray
    spacing: float

    @property
    def resolution(self) -> FloatArray:
        """Of (1), shape (K,)."""
        return np.asarray(1.0 / np.maximum(self.slopes, 1e-12))

    @property
    def alone(self) -> float:
        """Share of the nodes without an alias."""
        return 1.0 - len(np.unique(self.aliases)) / len(self.places)


def map_metric(localizer: PaperLocalizer) -> MapMetric:
    """The metric of the grid of a localizer, with one signal."""
    if len(localizer.descriptors) > 1:
        raise InputError(
            "The metric is that of one signal, not of several stacked.", code="conflict"
        )
    grid = localizer.grid
    z = localizer.gram.whiten(grid.F)
    step = _pitch(grid.nodes)
    tree, d = cKDTree(grid.nodes), grid.nodes.shape[1]
    flat = [k for k in range(d) if np.ptp(grid.nodes[:, k]) > 0.0]
    whole = np.ones(len(grid.nodes), np.bool_)
    slopes = []
    for k in flat:
        e = step * np.eye(d)[k]
        (a, ia), (b, ib) = (tree.query(grid.nodes + sign * e) for sign in (1.0, -1.0))
        whole &= (np.asarray(a) < 1e-6 * step) & (np.asarray(b) < 1e-6 * step)
        slopes.append((z[np.asarray(ia)] - z[np.asarray(ib)]) / (2.0 * step))
    if not whole.any():
        raise InputError(
            "No node has neighbours on all sides; use a smaller `spacing`.", code="empty"
        )
    Z = np.stack(slopes, axis=-1)[whole]
    least = np.asarray(np.linalg.svd(Z, compute_uv=False)[:, -1])
    places, z = grid.nodes[whole], z[whole]
    near, which = cKDTree(z).query(z, k=min(MOST, len(z)))
    one = np.repeat(np.arange(len(z)), which.shape[1])
    two, gap = which.ravel(), np.asarray(near).ravel()
    apart = np.linalg.norm(places[one] - places[two], axis=1) > FAR * step
    alike = apart & (gap < step * np.minimum(least[one], least[two]))
    pairs = np.unique(np.sort(np.stack([one, two], axis=1)[alike], axis=1), axis=0)
    return MapMetric(readonly(places), readonly(least), readonly(pairs), step)


def _pitch(nodes: FloatArray) -> float:
    """Distance of neighbours on the lattice, in m."""
    if len(nodes) < 3:
        raise InputError(
            "A metric needs at least three nodes; use a smaller `spacing`.", code="empty"
        )
    gaps = np.asarray(cKDTree(nodes).query(nodes, k=2)[0])[:, 1]
    return float(np.median(gaps))
