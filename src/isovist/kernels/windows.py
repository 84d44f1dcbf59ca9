"""The channels of a scan of the plane."""

import numpy as np
from numpy.typing import NDArray

from isovist.kernels.compiled import kernel, within

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@within
def _add(sums: Floats, signal: float, weights: Floats) -> None:
    for c in range(len(sums)):
        sums[c] += signal * weights[c]


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


@kernel("f8[:,::1], b1[::1], f8[:,:,::1], f8[::1], b1 -> f4[::1], b1[::1], i8[::1]")
def channels_of(
    signals: Floats, valid: Bools, weights: Floats, least: Floats, cut: bool,
    values: NDArray[np.float32], seen: Bools, arc: NDArray[np.int64],
) -> None:  # fmt: skip
    """Means of signals over channels, those that were seen.

    Args:
        signals: Of each beam, shape (S, M).
        valid: Which beams returned, shape (M,).
        weights: Of each beam in each channel at each phase, shape (P, M, n).
        least: Mass of a channel that counts as seen, shape (n,).
        cut: Leave out what is not seen at either end of the circle.
        values: Output, shape (P S m,) of an array (P, S, m) with m channels, and beyond that
            nothing; room for n of them.
        seen: Output, likewise.
        arc: Output, the first channel and m, shape (2,).
    """
    phases, count, n = weights.shape
    rows = len(signals)
    sums, known = np.zeros((phases, rows + 1, n)), np.zeros((phases + 1, n), dtype=np.bool_)
    for p in range(phases):
        for k in range(count):
            if valid[k]:
                _add(sums[p, 0], 1.0, weights[p, k])
                for s in range(rows):
                    _add(sums[p, s + 1], signals[s, k], weights[p, k])
        for c in range(n):
            known[p, c] = sums[p, 0, c] >= least[c]
            known[phases, c] |= known[p, c]
    arc[0], arc[1] = 0, n
    if cut:
        _arc(known[phases], arc)
    m, at = arc[1], 0
    for p in range(phases):
        for s in range(rows):
            for k in range(m):
                c = (arc[0] + k) % n
                seen[at] = known[p, c]
                mean = sums[p, s + 1, c] / sums[p, 0, c] if known[p, c] else 0.0
                values[at] = np.float32(mean)
                at += 1
