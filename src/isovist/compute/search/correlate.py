"""Compare a scan with every node at every heading.

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

from isovist.compute.infra.compiled import inline, kernel
from isovist.compute.infra.simd import lowest_bit
from isovist.compute.search.correlate_terms import MAX_SUM, WORD_LANES, add_terms

# Inputs are finite, so comparisons may ignore NaN: four of them run at a time.
ASSUME_FINITE = {"nnan", "nsz"}
MAX_CODE = 32767
"""Largest code."""
BARRED_COST = 2**31 - 1
"""Cost of headings that do not count."""
HEADINGS_PER_WORD = 32
"""Headings that are tested at once, a bit each."""
MAX_KEY = 2**63 - 1
"""No key is larger."""


@kernel("f4[:,:,::1], b1[:,:,::1], f8, f8 -> i2[:,:,::1], f8[::1]")
def encode_scan(values, mask, short, finest, codes, scale):
    """Encode the channels of a scan as steps above a base (`atlas.matching.channels.Codes`).

    Args:
        values: Values of the channels, shape (P, rings, m).
        mask: Whether a channel counts, shape (P, rings, m).
        short: a of equation (1); b is twice that.
        finest: Smallest step.
        codes: Output, 0 for channels that do not count, shape (P, rings, m).
        scale: Output, the base and the step, shape (2,).
    """
    phases, rings, m = values.shape
    low, high = 0.0, 0.0
    for p in range(phases):
        for ring in range(rings):
            for c in range(m):
                if mask[p, ring, c]:
                    low = min(low, float(values[p, ring, c]))
                    high = max(high, float(values[p, ring, c]))
    base, top = low - 2.0 * short, high + short
    # With a power of two, costs are exact as floats.
    min_step = max(finest, (top - base) / (MAX_CODE - 2))
    step = math.ldexp(1.0, math.ceil(math.log2(min_step)))
    bottom, per = np.float32(base - step), np.float32(1.0 / step)
    for p in range(phases):
        for ring in range(rings):
            for c in range(m):
                # Rounded as nodes are by `_encode`, so that equal values cost nothing.
                above = (values[p, ring, c] - bottom) * per + np.float32(0.5)
                codes[p, ring, c] = np.int16(np.int32(above)) if mask[p, ring, c] else np.int16(0)
    scale[0], scale[1] = bottom, step


@inline(fastmath=ASSUME_FINITE)
def _encode(f, base, per, codes):
    """Round values (n,) to whole steps above the base; values outside get the nearest code."""
    for c in range(len(f)):
        above = max((f[c] - base) * per + np.float32(0.5), np.float32(0.0))
        codes[c] = np.int16(np.int32(min(above, np.float32(MAX_CODE))))


@inline
def _wrap(codes, n):
    """Repeat the first n codes until the end."""
    for c in range(np.uint64(n), np.uint64(len(codes))):  # vector code: no index from the end
        codes[c] = codes[c - np.uint64(n)]


@inline
def _flush_sums(sums, table):
    """Add sums to a table (n,), and reset them."""
    for k in range(len(table)):
        table[k] += np.int32(sums[k])
    for k in range(len(sums)):
        sums[k] = 0


@inline
def _bar_headings(blocked, table):
    """Replace the costs of headings that do not count. Shapes (n,)."""
    for k in range(len(blocked)):
        table[k] = max(table[k], blocked[k])


@inline
def _local_minima(before, costs, after, start):
    """Return a bit for each of `HEADINGS_PER_WORD` costs that neither neighbour is below."""
    bits, first = np.uint32(0), np.uint64(start)
    for k in range(HEADINGS_PER_WORD):
        i = first + np.uint64(k)
        limit = min(before[i], after[i], np.int32(BARRED_COST - 1))
        bits |= np.uint32(1) << np.uint32(k) if costs[i] <= limit else np.uint32(0)
    return bits


@inline
def _min_cost(costs):
    """Return the least cost."""
    lowest = np.int32(BARRED_COST)
    for k in range(len(costs)):
        lowest = min(lowest, costs[k])
    return lowest


@inline
def _min_sum(sums):
    """Return the least sum."""
    lowest = np.uint16(MAX_SUM)
    for k in range(len(sums)):
        lowest = min(lowest, sums[k])
    return lowest


@inline
def _insert_key(key, keys):
    """Insert a key into the smallest keys, ascending, without a branch."""
    for j in range(len(keys)):
        low = min(keys[j], key)
        key = max(keys[j], key)
        keys[j] = low


@inline
def _find_best(table, n, best, headings):
    """Find the first heading of least cost, as `_find_minima` would."""
    phases = len(table)
    for p in range(phases):
        lowest_cost, k = _min_cost(table[p, 1 : n + 1]), 0
        if lowest_cost < BARRED_COST and lowest_cost <= best[0]:
            while table[p, 1 + k] > lowest_cost:
                k += 1
            heading = k * phases + p
            if lowest_cost < best[0] or heading < headings[0]:
                best[0], headings[0] = lowest_cost, heading


@inline
def _find_minima(table, n, keys, best, headings):
    """Find the smallest local minima of the costs of n headings around the circle.

    Args:
        table: Costs from the second column on, shape (P, n + 2) or wider.
        n: Headings of a phase.
        keys: Scratch, shape of `best`.
        best: Output, the smallest costs, ascending, `BARRED_COST` where there are fewer.
        headings: Output, their headings, of equal costs the first ones.
    """
    phases = len(table)
    best[:], headings[:] = BARRED_COST, 0
    if len(best) == 1:
        _find_best(table, n, best, headings)
        return
    for p in range(phases):
        table[p, 0], table[p, n + 1] = table[p, n], table[p, 1]
    keys[:] = MAX_KEY
    for p in range(phases):
        costs = table[p, 1:]
        before = table[p - 1, 1:] if p > 0 else table[phases - 1]
        after = table[p + 1, 1:] if p < phases - 1 else table[0, 2:]
        for start in range(0, n, HEADINGS_PER_WORD):
            left = _local_minima(before, costs, after, start)
            if n - start < HEADINGS_PER_WORD:
                left &= (np.uint32(1) << np.uint32(n - start)) - np.uint32(1)
            while left:
                k = start + lowest_bit(left)
                left &= left - np.uint32(1)
                _insert_key(np.int64(costs[k]) << np.int64(32) | np.int64(k * phases + p), keys)
    for j in range(len(best)):
        if keys[j] < MAX_KEY:
            best[j] = np.int32(keys[j] >> np.int64(32))
            headings[j] = np.int32(keys[j] & np.int64(BARRED_COST))


@kernel(
    "f4[:,:,::1], i8, i8[::1], i2[:,:,::1], b1[:,:,::1], b1[::1], f8, f8, i8, i8 -> "
    "f4[:,::1], i4[:,::1]",
    over="active",
    block=256,
)
def correlate(
    first, last, nodes, lowest, active, windows, mask, allowed, base, step, short, long, costs,
    headings,
):  # fmt: skip
    """Find the best headings of each active node.

    Args:
        nodes: f, shape (N, all rings, n).  Finite.
        lowest: Ring of the node that the first ring of the scan is compared with.
        active: Indices of the nodes to evaluate, shape (A,).
        windows: o, one row for each fraction of a channel, in steps above the base, shape
            (P, rings, m), m ≤ n.  Those that count are at least `long`, and `short` below 2^15.
        mask: w, whether a channel of the scan counts, shape (P, rings, m).
        allowed: Whether a heading counts, shape (n P,); heading k P + p is k channels and p/P.
        base: Value of code 0.
        step: Size of a step.
        short: a of equation (1) in steps.
        long: b of equation (1) in steps.
        costs: Output, the smallest local minima of (1) over headings, ascending, `inf` where
            there are fewer; shape (A, keep).
        headings: Output, their headings, shape (A, keep), or (A, 0) to leave them out.
    """
    n = nodes.shape[2]
    phases, rings, m = windows.shape
    wide = -(-n // WORD_LANES) * WORD_LANES
    bottom, per = np.float32(base), np.float32(1.0 / step)
    low = np.zeros((phases, rings, m), dtype=np.int16)
    high = np.zeros((phases, rings, m), dtype=np.int16)
    channels = np.empty((phases, rings, m), dtype=np.int64)
    counts = np.zeros((phases, rings), dtype=np.int64)
    blocked, has_barred = np.zeros((phases, n), dtype=np.int32), False
    for p in range(phases):
        for k in range(n):
            if not allowed[k * phases + p]:
                blocked[p, k], has_barred = BARRED_COST, True
        for ring in range(rings):
            for c in range(m):
                if mask[p, ring, c]:
                    low[p, ring, c] = windows[p, ring, c] - long
                    high[p, ring, c] = windows[p, ring, c] + short
                    channels[p, ring, counts[p, ring]] = c
                    counts[p, ring] += 1
    terms_per_sum = max(MAX_SUM // max(short, long, 1), 1)
    # Only the least cost over all headings is needed, and sums of 16 bits hold it.
    is_simple = (
        headings.shape[1] == 0 and not has_barred and rings == 1 and counts.max() <= terms_per_sum
    )
    sums = np.zeros(wide, dtype=np.uint16)
    keys = np.empty(costs.shape[1], dtype=np.int64)
    best = np.empty(costs.shape[1], dtype=np.int32)
    turns = np.empty(costs.shape[1], dtype=np.int32)
    # Nodes pass through three stages, one iteration each: a processor stalls when it reads at
    # once what it has just written in pieces of another size.
    codes = np.zeros((2, rings, wide + m), dtype=np.int16)
    tables = np.zeros(
        (2, phases, -(-n // HEADINGS_PER_WORD) * HEADINGS_PER_WORD + 2), dtype=np.int32
    )
    for i in range(first, last + 2):
        if i < last:
            for ring in range(rings):
                row = codes[i % 2, ring]
                _encode(nodes[active[i], lowest + ring], bottom, per, row[:n])
                _wrap(row, n)
        if is_simple:
            if first < i <= last:
                lowest_cost = np.uint16(MAX_SUM)
                for p in range(phases):
                    sums[:] = 0
                    add_terms(
                        codes[(i - 1) % 2, 0], channels[p, 0], 0, counts[p, 0],
                        windows[p, 0], low[p, 0], high[p, 0], sums,
                    )  # fmt: skip
                    lowest_cost = min(lowest_cost, _min_sum(sums[:n]))
                costs[i - 1, 0] = lowest_cost * step
            continue
        if first < i <= last:
            table = tables[(i - 1) % 2]
            table[:] = 0
            for ring in range(rings):
                for p in range(phases):
                    begin, count = 0, counts[p, ring]
                    while begin < count:
                        end = min(begin + terms_per_sum, count)
                        add_terms(
                            codes[(i - 1) % 2, ring], channels[p, ring], begin, end,
                            windows[p, ring], low[p, ring], high[p, ring], sums,
                        )  # fmt: skip
                        _flush_sums(sums, table[p, 1 : n + 1])
                        begin = end
            for p in range(phases if has_barred else 0):
                _bar_headings(blocked[p], table[p, 1 : n + 1])
        if first <= i - 2:
            _find_minima(tables[i % 2], n, keys, best, turns)
            for j in range(len(best)):
                costs[i - 2, j] = np.inf if best[j] == BARRED_COST else best[j] * step
            for j in range(headings.shape[1]):
                headings[i - 2, j] = turns[j]
