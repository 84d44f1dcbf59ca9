"""Beams of a scan, and what they say together from each of some poses.

A block holds beams side by side, a column blocks that see one thing (`atlas.base.Beams`).  The mean
of a column is that of the means of its blocks.
"""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.kernels.beam import EXPLAINED, THROUGH, UNSEEN
from isovist.kernels.compiled import kernel, within

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
Kinds = NDArray[np.uint8]
Numbers = NDArray[np.int64]

BEFORE = 3
"""Sums of all beams that stand before those of columns."""
ROWS = 64
"""Poses of a part: fewer take less time than a helper does to begin."""


@within
def _end(starts: Numbers, k: int, end: int) -> int:
    """Where run k of those that begin at `starts` ends, the last one at `end`."""
    return starts[k + 1] if k + 1 < len(starts) else end


@kernel("f8[::1], f8[::1], f8[:,::1], b1[::1], f8, f8 -> i8[::1], f8[:,::1], i8[:,::1], i8[::1]")
def thin(
    ranges: Floats, bearings: Floats, along: Floats, valid: NDArray[np.bool_], width: float,
    length: float, index: Numbers, ends: Floats, begins: Numbers, counts: Numbers,
) -> None:  # fmt: skip
    """Valid beams of the plane, evenly chosen, their blocks, and columns: blocks side by side that
    see one thing.

    Args:
        ranges: In m, shape (M,).
        bearings: Ascending, in rad, shape (M,).
        along: Unit vectors of these, shape (M, 2).
        valid: Which beams returned, shape (M,).
        width: Of a block in rad.
        length: A column goes on until a block begins so far from where it began itself, in m.
        index: Output, which beams they are, shape (most,).
        ends: Output, in m, shape (most, 2).
        begins: Output, where each block begins among the beams, and each column among the blocks,
            shape (2, most).
        counts: Output, of beams, of blocks and of columns, shape (3,).
    """
    total = 0
    for k in range(len(valid)):
        total += valid[k]
    chosen, nth = min(total, len(index)), 0
    blocks, things, before, begun, m = 0, 0, -1.0, 0, 0
    for k in range(len(valid)):
        if not valid[k]:
            continue
        if m < chosen and nth == m * total // chosen:
            index[m] = k
            number = math.floor((bearings[k] - bearings[index[0]]) / width + 1e-9)
            ends[m, 0], ends[m, 1] = ranges[k] * along[k, 0], ranges[k] * along[k, 1]
            if m == 0 or number != before:
                away = math.hypot(ends[m, 0] - ends[begun, 0], ends[m, 1] - ends[begun, 1])
                if m == 0 or away >= length:
                    begins[1, things], begun = blocks, m
                    things += 1
                begins[0, blocks], before = m, number
                blocks += 1
            m += 1
        nth += 1
    counts[0], counts[1], counts[2] = m, blocks, things


@kernel("f4[:,::1], u1[:,::1], i8[::1], i8[::1], i8[::1] -> f8[:,::1]", over="ratings", block=ROWS)
def sum_up(
    first: int, last: int, ratings: Singles, kinds: Kinds, order: Numbers, starts: Numbers,
    columns: Numbers, sums: Floats,
) -> None:  # fmt: skip
    """What the beams say from each pose.

    Args:
        ratings: ℓ of each beam, shape (K, m).
        kinds: What became of each, shape (K, m).
        order: The beams block after block, shape (m,).
        starts: Where each block begins in that order, shape (B,).
        columns: Where each column begins among the blocks, shape (C,).
        sums: Output, shape (K, BEFORE + C): the mean of the ratings, the share of beams that are
            explained and that of beams which end in unknown space, then the mean of each column.
    """
    m = ratings.shape[1]
    for k in range(first, last):
        row, kind, out = ratings[k], kinds[k], sums[k]
        total, explained, unseen = 0.0, 0, 0
        for i in range(m):
            total += row[i]
            explained += kind[i] == EXPLAINED
            unseen += kind[i] == UNSEEN
        out[0], out[1], out[2] = total / m, explained / m, unseen / m
        for c in range(len(columns)):
            end, mean = _end(columns, c, len(starts)), 0.0
            for b in range(columns[c], end):
                stop, part = _end(starts, b, m), 0.0
                for i in range(starts[b], stop):
                    part += row[order[i]]
                mean += part / (stop - starts[b])
            out[BEFORE + c] = mean / (end - columns[c])


@within
def _spare(gain: Floats, least: float, spared: NDArray[np.bool_]) -> None:
    """Which columns are forgiven: of those side by side that gain, all but the one that gains most.

    The last column and the first are side by side, as in a scan all around.  More than half of all
    columns are no wall.  Of two that gain alike the first keeps what it says.
    """
    count, begin = len(gain), 0
    spared[:] = False
    while begin < count and gain[begin] > least:
        begin += 1
    if begin == count:  # all of them
        return
    c = begin
    while c < begin + count:
        if not gain[c % count] > least:
            c += 1
            continue
        end, most = c, c % count
        while gain[end % count] > least:
            at = end % count
            if gain[at] > gain[most] or (gain[at] == gain[most] and at < most):
                most = at
            end += 1
        if 2 * (end - c) <= count:
            for k in range(c, end):
                spared[k % count] = k % count != most
        c = end


@kernel(
    "f4[:,::1], u1[:,::1], f4[:,::1], i8[::1], i8[::1], i8[::1], f8 -> f4[:,::1]",
    over="ratings",
    block=ROWS,
)
def forgive(
    first: int, last: int, ratings: Singles, kinds: Kinds, bare: Singles, order: Numbers,
    starts: Numbers, columns: Numbers, least: float, told: Singles,
) -> None:  # fmt: skip
    """Ratings of beams with each wall that is not there counted once (`localization.gone`).

    Args:
        ratings: ℓ of each beam from each pose, shape (K, m).
        kinds: What became of each, shape (K, m).
        bare: ℓ as if nothing stood in their way, shape (K, m).
        order: As for `sum_up`.
        starts: Likewise.
        columns: Likewise.
        least: A gain of a column that is less is none, in nats.
        told: Output, shape (K, m).
    """
    m, count = ratings.shape[1], len(columns)
    gain, spared = np.empty(count), np.empty(count, dtype=np.bool_)
    for k in range(first, last):
        row, kind, free, out = ratings[k], kinds[k], bare[k], told[k]
        for c in range(count):
            end, mean = _end(columns, c, len(starts)), 0.0
            for b in range(columns[c], end):
                stop, part = _end(starts, b, m), 0.0
                for j in range(starts[b], stop):
                    i = order[j]
                    if kind[i] == THROUGH and free[i] > row[i]:
                        part += free[i] - row[i]
                mean += part / (stop - starts[b])
            gain[c] = mean / (end - columns[c])
        _spare(gain, least, spared)
        for i in range(m):
            out[i] = row[i]
        for c in range(count):
            if spared[c]:
                last_block = _end(columns, c, len(starts)) - 1
                for j in range(starts[columns[c]], _end(starts, last_block, m)):
                    i = order[j]
                    if kind[i] == THROUGH and free[i] > row[i]:
                        out[i] = free[i]
