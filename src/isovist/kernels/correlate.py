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

from isovist.kernels.compiled import inner, kernel, within

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]

# Inputs are finite, so comparisons need not think of NaN: this lets them run four at a time.
FINITE = {"nnan", "nsz"}


@within(fastmath=FINITE)
def _term(f: np.float32, o: np.float32, low: np.float32, high: np.float32) -> np.float32:
    return abs(min(max(o - f, low), high))


@within(fastmath=FINITE)
def _add_cost(f: Singles, o: np.float32, low: np.float32, high: np.float32, cost: Singles) -> None:
    """One term of equation (1) for all headings; f starts at its channel.  Shapes (n,)."""
    for k in range(len(cost)):
        cost[k] += _term(f[k], o, low, high)


@within(fastmath=FINITE)
def _add_costs(
    f: Singles, channels: NDArray[np.int64], o: Singles, low: np.float32, high: np.float32,
    cost: Singles,
) -> None:  # fmt: skip
    """Terms of eight channels, one after the other, which saves loads.  f has shape (2 n,)."""
    n = len(cost)
    c0, c1, c2, c3 = channels[0], channels[1], channels[2], channels[3]
    c4, c5, c6, c7 = channels[4], channels[5], channels[6], channels[7]
    f0, f1, f2, f3 = f[c0 : c0 + n], f[c1 : c1 + n], f[c2 : c2 + n], f[c3 : c3 + n]
    f4, f5, f6, f7 = f[c4 : c4 + n], f[c5 : c5 + n], f[c6 : c6 + n], f[c7 : c7 + n]
    o0, o1, o2, o3, o4, o5, o6, o7 = o[c0], o[c1], o[c2], o[c3], o[c4], o[c5], o[c6], o[c7]
    for k in range(n):
        sum_ = cost[k] + _term(f0[k], o0, low, high)
        sum_ += _term(f1[k], o1, low, high)
        sum_ += _term(f2[k], o2, low, high)
        sum_ += _term(f3[k], o3, low, high)
        sum_ += _term(f4[k], o4, low, high)
        sum_ += _term(f5[k], o5, low, high)
        sum_ += _term(f6[k], o6, low, high)
        cost[k] = sum_ + _term(f7[k], o7, low, high)


@within
def _add_ring(
    f: Singles, windows: Singles, channels: NDArray[np.int64], counts: NDArray[np.int64],
    ring: int, low: np.float32, high: np.float32, table: Singles,
) -> None:  # fmt: skip
    """Terms of one ring for all headings of all phases.  Shapes as in `correlate`."""
    n = table.shape[1]
    for p in range(len(windows)):
        o, which, count = windows[p, ring], channels[p, ring], counts[p, ring]
        whole = count - count % 8
        for j in range(0, whole, 8):
            _add_costs(f, which[j : j + 8], o, low, high, table[p])
        for j in range(whole, count):
            c = which[j]
            _add_cost(f[c : c + n], o[c], low, high, table[p])


@within
def _place(cost: Singles, blocked: Singles, p: int, phases: int, around: Singles) -> None:
    """Costs of phase p among those of all headings, which begin at 1.  Shapes (n,)."""
    for k in range(len(cost)):
        around[1 + k * phases + p] = cost[k] + blocked[k]


@within
def _keep_valleys(around: Singles, valleys: Singles) -> None:
    """Costs that are not above those of either neighbour; `inf` for the others.  Shape (turns,)."""
    turns = len(valleys)
    around[0], around[turns + 1] = around[turns], around[1]
    for k in range(turns):
        lower = min(around[k], around[k + 2])
        valleys[k] = np.float32(np.inf) if lower < around[k + 1] else around[k + 1]


@within
def _sort_in(valleys: Singles, costs: Singles, headings: NDArray[np.int32]) -> None:
    """The smallest, ascending, the first of equal ones first.  Shape (keep,)."""
    keep = len(costs)
    for j in range(keep):
        costs[j] = np.inf
        headings[j] = 0
    worst = np.float32(np.inf)
    for k in range(len(valleys)):
        value = valleys[k]
        if value < worst:
            j = keep - 1
            while j > 0 and costs[j - 1] > value:
                costs[j] = costs[j - 1]
                headings[j] = headings[j - 1]
                j -= 1
            costs[j] = value
            headings[j] = k
            worst = costs[keep - 1]


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
    low, high = np.float32(-short), np.float32(long)
    f = np.empty(2 * n, dtype=np.float32)
    table = np.empty((phases, n), dtype=np.float32)
    around = np.empty(n * phases + 2, dtype=np.float32)
    valleys = np.empty(n * phases, dtype=np.float32)
    blocked = np.zeros((phases, n), dtype=np.float32)
    channels = np.empty((phases, rings, m), dtype=np.int64)
    counts = np.zeros((phases, rings), dtype=np.int64)
    for p in range(phases):
        for k in range(n):
            if not allowed[k * phases + p]:
                blocked[p, k] = np.inf
        for ring in range(rings):
            for c in range(m):
                if seen[p, ring, c]:
                    channels[p, ring, counts[p, ring]] = c
                    counts[p, ring] += 1
    for i in range(first, last):
        table[:] = 0.0
        for ring in range(rings):
            for c in range(n):
                f[c] = f[n + c] = nodes[active[i], ring, c]
            _add_ring(f, windows, channels, counts, ring, low, high, table)
        for p in range(phases):
            _place(table[p], blocked[p], p, phases, around)
        _keep_valleys(around, valleys)
        _sort_in(valleys, costs[i], headings[i])


@inner
def _alike(p: Floats, q: Floats, radius: float, turn: float) -> bool:
    dx, dy = p[0] - q[0], p[1] - q[1]
    dz = p[3] - q[3] if len(p) > 3 else 0.0
    if dx * dx + dy * dy + dz * dz >= radius * radius:
        return False
    return abs((p[2] - q[2] + math.pi) % (2.0 * math.pi) - math.pi) < turn


@inner
def _chain(x: int, y: int, size: int) -> int:
    """Number of the chain of a square; `size` is a power of two."""
    return (x * 73856093 + y * 19349663) & (size - 1)


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
    # Those chosen are chained by the square of side `radius` that they lie in; squares may share
    # a chain.
    size = 64
    while size < 2 * len(chosen):
        size *= 2
    heads = np.full(size, -1, dtype=np.int64)
    behind = np.empty(len(chosen), dtype=np.int64)
    side = radius if radius > 0.0 else 1.0
    count = 0
    for i in range(len(poses)):
        x, y = math.floor(poses[i, 0] / side), math.floor(poses[i, 1] / side)
        alike = False
        for square in range(9):
            j = heads[_chain(x + square % 3 - 1, y + square // 3 - 1, size)]
            while j >= 0 and not alike:
                alike = _alike(poses[i], poses[chosen[j]], radius, turn)
                j = behind[j]
            if alike:
                break
        if not alike:
            chain = _chain(x, y, size)
            behind[count], heads[chain] = heads[chain], count
            chosen[count] = i
            count += 1
            if count == len(chosen):
                break
    return count
