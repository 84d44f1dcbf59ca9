"""Compute how firmly the beams of a sensor fix its pose, for many places and headings.

A beam of range r along θ ends at q = r (cos θ, sin θ) from the sensor.  With D the distance to the
nearest wall, and noise of standard deviation σ along the beam,

    H = E Σ_k w J Jᵀ,    J = (∂D/∂x, ∂D/∂y, ∂D/∂yaw),    w = exp(−D² / 2 width²),          (1)

with the mean E over the noise by the three-point Gauss–Hermite rule: the ends r and r ± √3 σ with
weights 2/3 and 1/6 each.

This is what `compute.fitting.align2d` would find after a fit at the right place.
"""

import math

import numpy as np

from isovist.compute.fitting.endpoints import CUTOFF_SIGMAS, distance_at
from isovist.compute.infra.compiled import inline, kernel

RULE = ((0.0, 2.0 / 3.0), (math.sqrt(3.0), 1.0 / 6.0), (-math.sqrt(3.0), 1.0 / 6.0))
# Inputs are finite, so comparisons may ignore NaN: four of them run at a time.
ASSUME_FINITE = {"nnan", "nsz"}


@inline(fastmath=ASSUME_FINITE)
def _term(f, o, low, high):
    """Return one clipped term of (1) of `compute.search.correlate`."""
    return abs(min(max(o - f, low), high))


@inline(fastmath=ASSUME_FINITE)
def _add_cost(f, o, low, high, cost):
    """Add one term of (1) of `compute.search.correlate` for all headings; f starts there."""
    for k in range(len(cost)):
        cost[k] += _term(f[k], o, low, high)


@kernel(
    "f4[:,::1], f8[:,::1], f4[:,::1], f8[::1], i2[:,::1], f8, f8 -> f4[:,:,::1], i2[:,:,::1]",
    over="places",
)
def sum_information(
    first, last, field, places, ranges, angles, blocks, noise, width, normal, counts
):
    """Sum the normal matrices of the visible walls, for every place and heading.

    Args:
        field: D in cells, shape (height, width).
        places: (x, y) in cells, shape (N, 2).
        ranges: Ranges in cells, `inf` without a return, shape (S, N).
        angles: Directions of the rays in the grid in rad, shape (S,).
        blocks: Block that a ray belongs to at each heading, −1 out of view, shape (H, S).
        noise: σ in cells.
        width: Width of w in cells.
        normal: Output, H of (1): xx, xy, xa, yy, ya, aa, then Σ w and Σ w D²; shape (N, H, 8).
        counts: Output, numbers of rays that return and of blocks with one, shape (N, H, 2).
    """
    scale, reach = 0.5 / (width * width), CUTOFF_SIGMAS * width
    witnesses = 0
    for h in range(blocks.shape[0]):
        for s in range(blocks.shape[1]):
            witnesses = max(witnesses, blocks[h, s] + 1)
    for i in range(first, last):
        row = np.empty(8)
        sums = np.zeros((len(blocks), 8))
        marks = np.zeros((len(blocks), witnesses), dtype=np.uint8)
        for h in range(len(blocks)):
            counts[i, h, 0] = counts[i, h, 1] = 0
        for s in range(len(angles)):
            if not math.isfinite(ranges[s, i]):
                continue
            c, d = math.cos(angles[s]), math.sin(angles[s])
            for j in range(8):
                row[j] = 0.0
            for shift, share in RULE:
                r = ranges[s, i] + shift * noise
                e, dx, dy = distance_at(field, places[i, 0] + r * c, places[i, 1] + r * d)
                if e > reach:
                    continue
                w = share * math.exp(-e * e * scale)
                da = r * (dy * c - dx * d)
                row[0] += w * dx * dx
                row[1] += w * dx * dy
                row[2] += w * dx * da
                row[3] += w * dy * dy
                row[4] += w * dy * da
                row[5] += w * da * da
                row[6] += w
                row[7] += w * e * e
            for h in range(len(blocks)):
                block = blocks[h, s]
                if block >= 0:
                    counts[i, h, 0] += 1
                    marks[h, block] = 1
                    for j in range(8):
                        sums[h, j] += row[j]
        for h in range(len(blocks)):
            for j in range(8):
                normal[i, h, j] = sums[h, j]
            for block in range(witnesses):
                counts[i, h, 1] += marks[h, block]


@kernel(
    "f4[:,:,:], b1[:,::1], f4[:,:,::1], b1[:,:,::1], i8, f8, f8 -> i8[:,::1], f4[:,::1], i8[:,::1]",
    over="views",
)
def rank_views(first, last, nodes, near, views, mask, min_turn, short, long, order, costs, turns):
    """Sort the candidate nodes of each view by their cost, the most alike first.

    The cost is (1) of `compute.search.correlate`, the least over all headings; where the node is
    near the place of the view, over those that differ by more than `min_turn` channels.

    Args:
        nodes: Descriptors, shape (A, rings, n).  Finite.
        near: Whether a node is where the view was taken, shape (Q, K).
        views: Channels of the views, shape (Q, rings, n).
        mask: Whether a channel counts, shape (Q, rings, n).
        min_turn: Largest difference of headings, in channels, that is left out; less than n / 2.
        short: Largest cost of a channel shorter than that of the node.
        long: Largest cost of a channel longer than that of the node.
        order: Nodes to compare, shape (Q, K); sorted in place.
        costs: Output, ascending, shape (Q, K).
        turns: Output, difference of headings in channels, shape (Q, K).
    """
    rings, n = nodes.shape[1:]
    low, high = np.float32(-short), np.float32(long)
    for q in range(first, last):
        f = np.empty(2 * n, dtype=np.float32)
        table = np.empty(n, dtype=np.float32)
        for i in range(order.shape[1]):
            node, turn, cost = order[q, i], 0, np.float32(np.inf)
            table[:] = 0.0
            for ring in range(rings):
                for c in range(n):
                    f[c] = f[n + c] = nodes[node, ring, c]
                for c in range(n):
                    if mask[q, ring, c]:
                        _add_cost(f[c : c + n], views[q, ring, c], low, high, table)
            for k in range(n):
                if table[k] < cost and (not near[q, i] or min(k, n - k) > min_turn):
                    cost, turn = table[k], k
            j = i
            while j > 0 and costs[q, j - 1] > cost:
                costs[q, j], turns[q, j] = costs[q, j - 1], turns[q, j - 1]
                order[q, j] = order[q, j - 1]
                j -= 1
            costs[q, j], order[q, j], turns[q, j] = cost, node, turn
