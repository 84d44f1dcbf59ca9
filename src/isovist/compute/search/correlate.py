"""Every node and every heading against one scan.

A node has a descriptor f of n channels around the circle; a large number stands for channels that
look into unknown space.  A scan has o over a window of m channels, of which those with w_c = 1
count.  For a heading of k channels,

    cost(k) = Σ_c w_c |clip(o_c − f_{k+c}, −a, b)|,                                      (1)

so that a beam shorter than the map (people, furniture) costs at most a, one longer than the map
(through a wall) at most b, and a channel that the map does not know costs a, like clutter.  In
space (1) is summed over rings of latitude, of which the plane has one.

Everything is counted in whole steps above a base (`atlas.matching.channels.Codes`), in 16 bits, so
that one instruction works on eight headings or more, and sums are exact: a term is off by a step at
most.
"""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.compute.infra.compiled import kernel, within
from isovist.compute.infra.simd import lowest_bit
from isovist.compute.search.correlate_terms import FULL, LANES, add_terms

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]
Keys = NDArray[np.int64]

# Inputs are finite, so comparisons need not think of NaN: this lets them run four at a time.
FINITE = {"nnan", "nsz"}
HIGHEST = 32767
"""Largest code."""
NEVER = 2**31 - 1
"""Cost of headings that do not count."""
WORD = 32
"""Headings that are looked at in one go."""
LAST = 2**63 - 1
"""No key is larger."""


@kernel("f4[:,:,::1], b1[:,:,::1], f8, f8 -> i2[:,:,::1], f8[::1]")
def code(
    values: Singles, seen: NDArray[np.bool_], short: float, finest: float,
    codes: NDArray[np.int16], scale: Floats,
) -> None:  # fmt: skip
    """The channels of a scan in whole steps above a base (`atlas.matching.channels.Codes`).

    Args:
        values: Of the channels, shape (P, rings, m).
        seen: Which of them count, shape (P, rings, m).
        short: a of equation (1); b is twice that.
        finest: Least step.
        codes: Output, 0 where nothing was seen, shape (P, rings, m).
        scale: Output, the base and the step, shape (2,).
    """
    phases, rings, m = values.shape
    low, high = 0.0, 0.0
    for p in range(phases):
        for ring in range(rings):
            for c in range(m):
                if seen[p, ring, c]:
                    low = min(low, float(values[p, ring, c]))
                    high = max(high, float(values[p, ring, c]))
    base, top = low - 2.0 * short, high + short
    # A power of two, so that costs are the same numbers as floats.
    wanted = max(finest, (top - base) / (HIGHEST - 2))
    step = math.ldexp(1.0, math.ceil(math.log2(wanted)))
    bottom, per = np.float32(base - step), np.float32(1.0 / step)
    for p in range(phases):
        for ring in range(rings):
            for c in range(m):
                # As `_encode` does it with nodes, so that what is the same costs nothing.
                above = (values[p, ring, c] - bottom) * per + np.float32(0.5)
                codes[p, ring, c] = np.int16(np.int32(above)) if seen[p, ring, c] else np.int16(0)
    scale[0], scale[1] = bottom, step


@within(fastmath=FINITE)
def _encode(f: Singles, base: np.float32, per: np.float32, codes: NDArray[np.int16]) -> None:
    """Steps above the base, to the nearest; what is outside is at the end.  f has shape (n,)."""
    for c in range(len(f)):
        above = max((f[c] - base) * per + np.float32(0.5), np.float32(0.0))
        codes[c] = np.int16(np.int32(min(above, np.float32(HIGHEST))))


@within
def _around(codes: NDArray[np.int16], n: int) -> None:
    """Repeat the first n codes until the end."""
    for c in range(np.uint64(n), np.uint64(len(codes))):  # vector code: no index from the end
        codes[c] = codes[c - np.uint64(n)]


@within
def _empty_into(sums: NDArray[np.uint16], table: Numbers) -> None:
    """Add sums to a table (n,), and begin anew."""
    for k in range(len(table)):
        table[k] += np.int32(sums[k])
    for k in range(len(sums)):
        sums[k] = 0


@within
def _bar(blocked: Numbers, table: Numbers) -> None:
    """Put costs of headings that do not count where those of the others are.  Shapes (n,)."""
    for k in range(len(blocked)):
        table[k] = max(table[k], blocked[k])


@within
def _valleys(before: Numbers, costs: Numbers, behind: Numbers, start: int) -> np.uint32:
    """Which of `WORD` costs from `start` on are not above those of either neighbour, a bit each."""
    bits, first = np.uint32(0), np.uint64(start)
    for k in range(WORD):
        i = first + np.uint64(k)
        most = min(before[i], behind[i], np.int32(NEVER - 1))
        bits |= np.uint32(1) << np.uint32(k) if costs[i] <= most else np.uint32(0)
    return bits


@within
def _least(costs: Numbers) -> np.int32:
    least = np.int32(NEVER)
    for k in range(len(costs)):
        least = min(least, costs[k])
    return least


@within
def _lowest(sums: NDArray[np.uint16]) -> np.uint16:
    lowest = np.uint16(FULL)
    for k in range(len(sums)):
        lowest = min(lowest, sums[k])
    return lowest


@within
def _sort_in(key: np.int64, keys: Keys) -> None:
    """Put a key among the smallest so far, ascending, without a branch."""
    for j in range(len(keys)):
        low = min(keys[j], key)
        key = max(keys[j], key)
        keys[j] = low


@within
def _find_least(table: Numbers, n: int, best: Numbers, headings: Numbers) -> None:
    """The first that costs least, as `_choose` would find it."""
    phases = len(table)
    for p in range(phases):
        least, k = _least(table[p, 1 : n + 1]), 0
        if least < NEVER and least <= best[0]:
            while table[p, 1 + k] > least:
                k += 1
            heading = k * phases + p
            if least < best[0] or heading < headings[0]:
                best[0], headings[0] = least, heading


@within
def _choose(table: Numbers, n: int, keys: Keys, best: Numbers, headings: Numbers) -> None:
    """The smallest local minima of costs of n headings, which are closed to a circle.

    Args:
        table: Costs from the second column on, shape (P, n + 2) or wider.
        n: Headings of a phase.
        keys: Scratch, as many as are wanted.
        best: Output, the smallest costs, ascending, `NEVER` where there are fewer.
        headings: Output, their headings, of equal costs the first ones.
    """
    phases = len(table)
    best[:], headings[:] = NEVER, 0
    if len(best) == 1:
        _find_least(table, n, best, headings)
        return
    for p in range(phases):
        table[p, 0], table[p, n + 1] = table[p, n], table[p, 1]
    keys[:] = LAST
    for p in range(phases):
        costs = table[p, 1:]
        before = table[p - 1, 1:] if p > 0 else table[phases - 1]
        behind = table[p + 1, 1:] if p < phases - 1 else table[0, 2:]
        for start in range(0, n, WORD):
            left = _valleys(before, costs, behind, start)
            if n - start < WORD:
                left &= (np.uint32(1) << np.uint32(n - start)) - np.uint32(1)
            while left:
                k = start + lowest_bit(left)
                left &= left - np.uint32(1)
                _sort_in(np.int64(costs[k]) << np.int64(32) | np.int64(k * phases + p), keys)
    for j in range(len(best)):
        if keys[j] < LAST:
            best[j] = np.int32(keys[j] >> np.int64(32))
            headings[j] = np.int32(keys[j] & np.int64(NEVER))


@kernel(
    "f4[:,:,::1], i8, i8[::1], i2[:,:,::1], b1[:,:,::1], b1[::1], f8, f8, i8, i8 -> "
    "f4[:,::1], i4[:,::1]",
    over="active",
    block=256,
)
def correlate(
    first: int,
    last: int,
    nodes: Singles,
    lowest: int,
    active: NDArray[np.int64],
    windows: NDArray[np.int16],
    seen: NDArray[np.bool_],
    allowed: NDArray[np.bool_],
    base: float,
    step: float,
    short: int,
    long: int,
    costs: Singles,
    headings: Numbers,
) -> None:
    """The best headings of each active node.

    Args:
        nodes: f, shape (N, all rings, n).  Finite.
        lowest: The ring that the first of the scan is.
        active: Which nodes to try, shape (A,).
        windows: o, one row for each fraction of a channel, in steps above the base, shape
            (P, rings, m), m ≤ n.  Those that count are at least `long`, and `short` below 2^15.
        seen: w, which channels of the scan count, shape (P, rings, m).
        allowed: Which headings count, shape (n P,); heading k P + p is k channels and p/P.
        base: What counts as 0.
        step: One step.
        short: a of equation (1) in steps.
        long: b of equation (1) in steps.
        costs: Output, the smallest local minima of (1) over headings, ascending, `inf` where
            there are fewer; shape (A, keep).
        headings: Output, their headings, shape (A, keep); of shape (A, 0) where nobody asks.
    """
    n = nodes.shape[2]
    phases, rings, m = windows.shape
    wide = -(-n // LANES) * LANES
    bottom, per = np.float32(base), np.float32(1.0 / step)
    low = np.zeros((phases, rings, m), dtype=np.int16)
    high = np.zeros((phases, rings, m), dtype=np.int16)
    channels = np.empty((phases, rings, m), dtype=np.int64)
    counts = np.zeros((phases, rings), dtype=np.int64)
    blocked, barred = np.zeros((phases, n), dtype=np.int32), False
    for p in range(phases):
        for k in range(n):
            if not allowed[k * phases + p]:
                blocked[p, k], barred = NEVER, True
        for ring in range(rings):
            for c in range(m):
                if seen[p, ring, c]:
                    low[p, ring, c] = windows[p, ring, c] - long
                    high[p, ring, c] = windows[p, ring, c] + short
                    channels[p, ring, counts[p, ring]] = c
                    counts[p, ring] += 1
    together = max(FULL // max(short, long, 1), 1)
    # Nobody asks for more than the least of all headings, and sums of 16 bits tell it.
    quick = headings.shape[1] == 0 and not barred and rings == 1 and counts.max() <= together
    sums = np.zeros(wide, dtype=np.uint16)
    keys = np.empty(costs.shape[1], dtype=np.int64)
    best = np.empty(costs.shape[1], dtype=np.int32)
    turns = np.empty(costs.shape[1], dtype=np.int32)
    # Nodes follow each other from stage to stage: what was just written in pieces of other sizes
    # is not there to be read at once.
    codes = np.zeros((2, rings, wide + m), dtype=np.int16)
    tables = np.zeros((2, phases, -(-n // WORD) * WORD + 2), dtype=np.int32)
    for i in range(first, last + 2):
        if i < last:
            for ring in range(rings):
                row = codes[i % 2, ring]
                _encode(nodes[active[i], lowest + ring], bottom, per, row[:n])
                _around(row, n)
        if quick:
            if first < i <= last:
                least = np.uint16(FULL)
                for p in range(phases):
                    sums[:] = 0
                    add_terms(
                        codes[(i - 1) % 2, 0], channels[p, 0], 0, counts[p, 0],
                        windows[p, 0], low[p, 0], high[p, 0], sums,
                    )  # fmt: skip
                    least = min(least, _lowest(sums[:n]))
                costs[i - 1, 0] = least * step
            continue
        if first < i <= last:
            table = tables[(i - 1) % 2]
            table[:] = 0
            for ring in range(rings):
                for p in range(phases):
                    begin, count = 0, counts[p, ring]
                    while begin < count:
                        end = min(begin + together, count)
                        add_terms(
                            codes[(i - 1) % 2, ring], channels[p, ring], begin, end,
                            windows[p, ring], low[p, ring], high[p, ring], sums,
                        )  # fmt: skip
                        _empty_into(sums, table[p, 1 : n + 1])
                        begin = end
            for p in range(phases if barred else 0):
                _bar(blocked[p], table[p, 1 : n + 1])
        if first <= i - 2:
            _choose(tables[i % 2], n, keys, best, turns)
            for j in range(len(best)):
                costs[i - 2, j] = np.inf if best[j] == NEVER else best[j] * step
            for j in range(headings.shape[1]):
                headings[i - 2, j] = turns[j]
