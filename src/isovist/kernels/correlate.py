"""Every node and every heading against one scan, and a choice of unlike ones among the best.

A node has a descriptor f of n channels around the circle; a large number stands for channels that
look into unknown space.  A scan has o over a window of m channels, of which those with w_c = 1
count.  For a heading of k channels,

    cost(k) = Σ_c w_c |clip(o_c − f_{k+c}, −a, b)|,                                      (1)

so that a beam shorter than the map (people, furniture) costs at most a, one longer than the map
(through a wall) at most b, and a channel that the map does not know costs a, like clutter.  In
space (1) is summed over rings of latitude, of which the plane has one.
"""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.kernels.compiled import inner, kernel

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]

# Inputs are finite, so comparisons need not think of NaN: this lets them run four at a time.
FINITE = {"nnan", "nsz"}


@inner(fastmath=FINITE)
def _add_costs(f: Singles, o: np.float32, low: np.float32, high: np.float32, cost: Singles) -> None:
    """One term of equation (1) for all headings; f starts at its channel.  Shapes (n,)."""
    for k in range(len(cost)):
        d = o - f[k]
        d = max(d, low)
        d = min(d, high)
        cost[k] += abs(d)


@kernel(
    "f4[:,:,:], i8[::1], f4[:,:,::1], b1[:,:,::1], b1[::1], f8, f8 -> f4[:,::1], i4[:,::1]",
    over="active",
)
def correlate(
    first: int,
    last: int,
    nodes: Singles,
    active: NDArray[np.int64],
    windows: Singles,
    seen: NDArray[np.bool_],
    allowed: NDArray[np.bool_],
    short: float,
    long: float,
    costs: Singles,
    headings: NDArray[np.int32],
) -> None:
    """The best headings of each active node.

    Args:
        nodes: f, shape (N, rings, n).  Finite.
        active: Which nodes to try, shape (A,).
        windows: o, one row for each fraction of a channel, shape (P, rings, m), m ≤ n.
        seen: w, which channels of the scan count, shape (P, rings, m).
        allowed: Which headings count, shape (n P,); heading k P + p is k channels and p/P.
        short: a of equation (1).
        long: b of equation (1).
        costs: Output, the smallest local minima of (1) over headings, ascending, `inf` where
            there are fewer; shape (A, keep).
        headings: Output, their headings, shape (A, keep).
    """
    rings, n = nodes.shape[1:]
    phases, _rings, m = windows.shape
    turns = n * phases
    keep = costs.shape[1]
    low, high = np.float32(-short), np.float32(long)
    for i in range(first, last):
        f = np.empty(2 * n, dtype=np.float32)
        table = np.zeros((phases, n), dtype=np.float32)
        for ring in range(rings):
            for c in range(n):
                f[c] = f[n + c] = nodes[active[i], ring, c]
            for p in range(phases):
                for c in range(m):
                    if seen[p, ring, c]:
                        _add_costs(f[c : c + n], windows[p, ring, c], low, high, table[p])
        cost = np.empty(turns, dtype=np.float32)
        for k in range(n):
            for p in range(phases):
                j = k * phases + p
                cost[j] = table[p, k] if allowed[j] else np.float32(np.inf)
        for j in range(keep):
            costs[i, j] = np.inf
            headings[i, j] = 0
        for k in range(turns):
            value = cost[k]
            if not value < costs[i, keep - 1]:
                continue
            if cost[k - 1] < value or cost[(k + 1) % turns] < value:
                continue
            j = keep - 1
            while j > 0 and costs[i, j - 1] > value:
                costs[i, j] = costs[i, j - 1]
                headings[i, j] = headings[i, j - 1]
                j -= 1
            costs[i, j] = value
            headings[i, j] = k


@kernel("f8[:,::1], f8, f8 -> i8[::1]")
def spread(poses: Floats, radius: float, turn: float, chosen: NDArray[np.int64]) -> int:
    """Choose poses, best first, none near one chosen before.

    Args:
        poses: (x, y, yaw) or (x, y, yaw, z, …) from best to worst, shape (m, 3 or more).
        radius: Poses nearer than this, in the unit of x and y, …
        turn: … and turned by less than this, in rad, are alike.
        chosen: Output, indices into `poses`, shape (keep,).

    Returns:
        How many were chosen.
    """
    count = 0
    for i in range(len(poses)):
        alike = False
        for j in range(count):
            q = chosen[j]
            dx, dy = poses[i, 0] - poses[q, 0], poses[i, 1] - poses[q, 1]
            dz = poses[i, 3] - poses[q, 3] if poses.shape[1] > 3 else 0.0
            if dx * dx + dy * dy + dz * dz < radius * radius:
                d = (poses[i, 2] - poses[q, 2] + math.pi) % (2.0 * math.pi) - math.pi
                if abs(d) < turn:
                    alike = True
                    break
        if not alike:
            chosen[count] = i
            count += 1
            if count == len(chosen):
                break
    return count
