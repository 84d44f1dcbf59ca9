"""Beams of a scan, and what they say together from each of some poses.

A block holds beams side by side, a column blocks that see one thing (`atlas.matching.beams`).  The
mean of a column is that of the means of its blocks.
"""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.compute.infra.compiled import kernel, within
from isovist.compute.likelihood.beam_model import EXPLAINED, THROUGH, UNSEEN

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


@within
def _weigh(
    order: Numbers, starts: Numbers, columns: Numbers, column: Numbers, share: Floats
) -> None:
    """Of each beam its column, and how much it counts in the mean of that."""
    for c in range(len(columns)):
        end = _end(columns, c, len(starts))
        for b in range(columns[c], end):
            stop = _end(starts, b, len(order))
            for i in range(starts[b], stop):
                column[order[i]] = c
                share[order[i]] = 1.0 / ((stop - starts[b]) * (end - columns[c]))


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
    column, share = np.empty(m, dtype=np.int64), np.empty(m)
    _weigh(order, starts, columns, column, share)
    for k in range(first, last):
        total, explained, unseen = 0.0, 0, 0
        for i in range(sums.shape[1]):
            sums[k, i] = 0.0
        for i in range(m):
            total += ratings[k, i]
            sums[k, BEFORE + column[i]] += share[i] * ratings[k, i]
            explained += kinds[k, i] == EXPLAINED
            unseen += kinds[k, i] == UNSEEN
        sums[k, 0], sums[k, 1], sums[k, 2] = total / m, explained / m, unseen / m


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
    "f4[:,::1], u1[:,::1], f4[:,::1], i8[::1], i8[::1], i8[::1], f8, f8[:,::1] -> f8[:,::1]",
    over="ratings",
    block=ROWS,
)
def forgive(
    first: int, last: int, ratings: Singles, kinds: Kinds, bare: Singles, order: Numbers,
    starts: Numbers, columns: Numbers, least: float, sums: Floats, told: Floats,
) -> None:  # fmt: skip
    """What `sum_up` says with each wall that is not there counted once (`localization.gone`).

    Args:
        ratings: ℓ of each beam from each pose, shape (K, m).
        kinds: What became of each, shape (K, m).
        bare: ℓ as if nothing stood in their way, shape (K, m).
        order: As for `sum_up`.
        starts: Likewise.
        columns: Likewise.
        least: A gain of a column that is less is none, in nats.
        sums: What `sum_up` says of them as they are, shape (K, BEFORE + C).
        told: Output, the same with some forgiven.
    """
    m, count = ratings.shape[1], len(columns)
    column, share = np.empty(m, dtype=np.int64), np.empty(m)
    _weigh(order, starts, columns, column, share)
    gain, plus, spared = np.empty(count), np.empty(count), np.empty(count, dtype=np.bool_)
    for k in range(first, last):
        gain[:] = plus[:] = 0.0
        for i in range(m):
            if kinds[k, i] == THROUGH and bare[k, i] > ratings[k, i]:
                more = np.float64(bare[k, i]) - ratings[k, i]
                gain[column[i]] += share[i] * more
                plus[column[i]] += more
        _spare(gain, least, spared)
        total = 0.0
        for c in range(count):
            told[k, BEFORE + c] = sums[k, BEFORE + c]
            if spared[c]:
                total += plus[c]
                told[k, BEFORE + c] += gain[c]
        told[k, 0], told[k, 1], told[k, 2] = sums[k, 0] + total / m, sums[k, 1], sums[k, 2]


@kernel("f8[:,::1], f8 -> f8[::1]")
def total(sums: Floats, worth: float, totals: Floats) -> None:
    """What a scan is worth from each pose, `localization.judge` (1).

    Args:
        sums: What `sum_up` says, shape (K, BEFORE + C).
        worth: κ.
        totals: Output, L in nats, shape (K,).
    """
    for k in range(len(sums)):
        extra, whole = worth * (sums[k, 1] - sums[k, 2]), 0.0
        for c in range(BEFORE, sums.shape[1]):
            whole += sums[k, c] + extra
        totals[k] = whole


@kernel("f8[:,:], f8[:], f8, f8, f8, f8 -> b1[::1]")
def refute(
    witnesses: Floats, scores: Floats, inliers: float, enough: float, soft: float, margin: float,
    out: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Which of the other places `localization.judge` (4) excludes against the first.

    Args:
        witnesses: ℓ of each place by each witness, shape (K, C).
        scores: Mean rating of all beams from each, shape (K,).
        inliers: Share of beams that the first explains.
        enough: Least t of (3) times that share.
        soft: τ².
        margin: d_min.
        out: Output, shape (K − 1,).
    """
    for j in range(1, len(scores)):
        total, square = 0.0, soft
        for c in range(witnesses.shape[1]):
            delta = witnesses[0, c] - witnesses[j, c]
            total += delta
            square += delta * delta
        t = total / math.sqrt(square)
        out[j - 1] = t * inliers >= enough and scores[0] - scores[j] >= margin
