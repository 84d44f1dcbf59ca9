"""Average the signals of a 2D scan over channels."""

import numpy as np

from isovist.compute.infra.compiled import inline, kernel


@inline
def _arc(mask, ends):
    """Find the shortest arc that holds all marked channels: its first channel and length.

    Of several arcs, the one whose gap comes first.
    """
    n, mark, widest = len(mask), -1, 0
    for c in range(n):
        if mask[c]:
            if mark >= 0 and c - mark > widest:
                ends[0], widest = c, c - mark
            mark = c
    if mark < 0:
        ends[0], ends[1] = 0, 0
        return
    begin = 0
    while not mask[begin]:
        begin += 1
    if begin + n - mark > widest:
        ends[0], widest = begin, begin + n - mark
    ends[1] = n - widest + 1


@kernel("f8[:,::1], b1[::1], i8[:,::1], f8[:,:,::1], f8[::1], b1 -> f4[::1], b1[::1], i8[::1]")
def channels_of(signals, valid, firsts, weights, min_mass, trim, values, mask, arc):
    """Average signals over channels, and mark the channels with enough beams.

    Args:
        signals: Signals of each beam, shape (S, M).
        valid: Whether a beam returned, shape (M,).
        firsts: The first channel that each beam counts in, at each phase, shape (P, M).
        weights: In that channel and those after it, around the circle, shape (P, M, W).
        min_mass: Least mass of a channel that counts, shape (n,).
        trim: Leave out channels that do not count at either end of the circle.
        values: Output, means of an array (P, S, m) with m channels; room for n of them.
        mask: Output, whether each of these channels counts.
        arc: Output, the first channel and m, shape (2,).
    """
    phases, count, width = weights.shape
    rows, n = len(signals), len(min_mass)
    sums = np.zeros((phases, 1 + rows, n))
    is_observed = np.zeros((phases + 1, n), dtype=np.bool_)
    for p in range(phases):
        for k in range(count):
            if valid[k]:
                c = firsts[p, k]
                for j in range(width):
                    sums[p, 0, c] += weights[p, k, j]
                    for s in range(rows):
                        sums[p, 1 + s, c] += signals[s, k] * weights[p, k, j]
                    c = c + 1 if c + 1 < n else 0
        for c in range(n):
            is_observed[p, c] = sums[p, 0, c] >= min_mass[c]
            is_observed[phases, c] |= is_observed[p, c]
    arc[0], arc[1] = 0, n
    if trim:
        _arc(is_observed[phases], arc)
    at = 0
    for p in range(phases):
        for s in range(rows):
            for k in range(arc[1]):
                c = (arc[0] + k) % n
                mask[at] = is_observed[p, c]
                values[at] = np.float32(
                    sums[p, 1 + s, c] / sums[p, 0, c] if is_observed[p, c] else 0.0
                )
                at += 1


@kernel("b1[:,:,::1] -> i4[:,:,::1], i4[:,::1]")
def observed_first(mask, channels, counts):
    """List channels, marked ones before the others, and count the marked ones.

    Args:
        mask: Whether a channel counts, shape (P, rings, m).
        channels: Output, indices of channels, shape (P, rings, m).
        counts: Output, shape (P, rings).
    """
    phases, rings, m = mask.shape
    for p in range(phases):
        for ring in range(rings):
            at = 0
            for value in (True, False):
                for c in range(m):
                    if mask[p, ring, c] == value:
                        channels[p, ring, at] = c
                        at += 1
                if value:
                    counts[p, ring] = at
