"""The channels of a scan of the plane."""

import numpy as np
from numpy.typing import NDArray

from isovist.compute.infra.compiled import kernel, within

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@within
def _arc(known: Bools, ends: NDArray[np.int64]) -> None:
    """First channel and number of channels of the shortest arc that holds all known ones, of
    several the one whose gap comes first.
    """
    n, mark, widest = len(known), -1, 0
    for c in range(n):
        if known[c]:
            if mark >= 0 and c - mark > widest:
                ends[0], widest = c, c - mark
            mark = c
    if mark < 0:
        ends[0], ends[1] = 0, 0
        return
    begin = 0
    while not known[begin]:
        begin += 1
    if begin + n - mark > widest:
        ends[0], widest = begin, begin + n - mark
    ends[1] = n - widest + 1


@kernel("f8[:,::1], b1[::1], i8[:,::1], f8[:,:,::1], f8[::1], b1 -> f4[::1], b1[::1], i8[::1]")
def channels_of(
    signals: Floats, valid: Bools, firsts: NDArray[np.int64], weights: Floats, least: Floats,
    cut: bool, values: NDArray[np.float32], seen: Bools, arc: NDArray[np.int64],
) -> None:  # fmt: skip
    """Means of signals over channels, those that were seen.

    Args:
        signals: Of each beam, shape (S, M).
        valid: Which beams returned, shape (M,).
        firsts: The first channel that each beam counts in, at each phase, shape (P, M).
        weights: In that channel and those after it, around the circle, shape (P, M, W).
        least: Mass of a channel that counts as seen, shape (n,).
        cut: Leave out what is not seen at either end of the circle.
        values: Output, those of an array (P, S, m) with m channels; room for n of them.
        seen: Output, likewise.
        arc: Output, the first channel and m, shape (2,).
    """
    phases, count, width = weights.shape
    rows, n = len(signals), len(least)
    sums = np.zeros((phases, 1 + rows, n))
    known = np.zeros((phases + 1, n), dtype=np.bool_)
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
            known[p, c] = sums[p, 0, c] >= least[c]
            known[phases, c] |= known[p, c]
    arc[0], arc[1] = 0, n
    if cut:
        _arc(known[phases], arc)
    at = 0
    for p in range(phases):
        for s in range(rows):
            for k in range(arc[1]):
                c = (arc[0] + k) % n
                seen[at] = known[p, c]
                values[at] = np.float32(sums[p, 1 + s, c] / sums[p, 0, c] if known[p, c] else 0.0)
                at += 1


@kernel("b1[:,:,::1] -> i4[:,:,::1], i4[:,::1]")
def seen_first(seen: Bools, channels: NDArray[np.int32], counts: NDArray[np.int32]) -> None:
    """Numbers of channels in order, those that were seen before the others, and how many were.

    Args:
        seen: Shape (P, rings, m).
        channels: Output, likewise.
        counts: Output, shape (P, rings).
    """
    phases, rings, m = seen.shape
    for p in range(phases):
        for ring in range(rings):
            at = 0
            for wanted in (True, False):
                for c in range(m):
                    if seen[p, ring, c] == wanted:
                        channels[p, ring, at] = c
                        at += 1
                if wanted:
                    counts[p, ring] = at
