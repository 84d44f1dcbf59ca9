"""Sum the ratings of the beams of a scan for each of several poses.

A block holds beams side by side, a group holds blocks that see one thing (`atlas.matching.beams`).
The mean of a group is that of the means of its blocks.
"""

import math

import numpy as np

from isovist.compute.infra.compiled import inline, kernel
from isovist.compute.likelihood.beam_model import EXPLAINED, IN_UNKNOWN, THROUGH

SUMMARY_COLUMNS = 3
"""Columns of the sums before those of groups: mean rating, share explained, share in unknown."""
POSES_PER_PART = 64
"""Poses of a part: fewer take less time than it takes to wake a helper."""


@inline
def _run_end(starts, k, end):
    """Return the end of run k. Runs begin at `starts`, and the last one ends at `end`."""
    return starts[k + 1] if k + 1 < len(starts) else end


@kernel("f8[::1], f8[::1], f8[:,::1], b1[::1], f8, f8 -> i8[::1], f8[:,::1], i8[:,::1], i8[::1]")
def thin_beams(ranges, bearings, along, valid, width, length, index, ends, begins, counts):
    """Select valid 2D beams evenly, and split them into blocks and groups.

    A group is blocks side by side that see one thing.

    Args:
        ranges: Ranges in m, shape (M,).
        bearings: Bearings in rad, ascending, shape (M,).
        along: Unit vectors of the bearings, shape (M, 2).
        valid: Whether a beam returned, shape (M,).
        width: Width of a block in rad.
        length: Distance of a block from the begin of its group at which a new group begins, in m.
        index: Output, indices of the selected beams, shape (most,).
        ends: Output, in m, shape (most, 2).
        begins: Output, index of the first beam of each block and of the first block of each group,
            shape (2, most).
        counts: Output, numbers of beams, blocks and groups, shape (3,).
    """
    total = 0
    for k in range(len(valid)):
        total += valid[k]
    count, valid_index = min(total, len(index)), 0
    blocks, groups, last_block, group_start, m = 0, 0, -1.0, 0, 0
    for k in range(len(valid)):
        if not valid[k]:
            continue
        if m < count and valid_index == m * total // count:
            index[m] = k
            number = math.floor((bearings[k] - bearings[index[0]]) / width + 1e-9)
            ends[m, 0], ends[m, 1] = ranges[k] * along[k, 0], ranges[k] * along[k, 1]
            if m == 0 or number != last_block:
                distance = math.hypot(
                    ends[m, 0] - ends[group_start, 0], ends[m, 1] - ends[group_start, 1]
                )
                if m == 0 or distance >= length:
                    begins[1, groups], group_start = blocks, m
                    groups += 1
                begins[0, blocks], last_block = m, number
                blocks += 1
            m += 1
        valid_index += 1
    counts[0], counts[1], counts[2] = m, blocks, groups


@inline
def _assign_groups(order, starts, group_starts, group_of, share):
    """Fill the group of each beam, and its share in the mean of the group."""
    for c in range(len(group_starts)):
        end = _run_end(group_starts, c, len(starts))
        for b in range(group_starts[c], end):
            stop = _run_end(starts, b, len(order))
            for i in range(starts[b], stop):
                group_of[order[i]] = c
                share[order[i]] = 1.0 / ((stop - starts[b]) * (end - group_starts[c]))


@kernel(
    "f4[:,::1], u1[:,::1], i8[::1], i8[::1], i8[::1] -> f8[:,::1]",
    over="ratings",
    block=POSES_PER_PART,
)
def sum_beams(first, last, ratings, kinds, order, starts, group_starts, sums):
    """Sum up the ratings of the beams from each pose.

    Args:
        ratings: ℓ of each beam, shape (K, m).
        kinds: Kind of each beam (`beam_model.sort_beam`), shape (K, m).
        order: Indices of the beams, block after block, shape (m,).
        starts: Index into `order` at which each block begins, shape (B,).
        group_starts: Block at which each group begins, shape (C,).
        sums: Output, shape (K, SUMMARY_COLUMNS + C): the mean rating, the share of explained beams
            and of beams that end in unknown space, then the mean rating of each group.
    """
    m = ratings.shape[1]
    group_of, share = np.empty(m, dtype=np.int64), np.empty(m)
    _assign_groups(order, starts, group_starts, group_of, share)
    for k in range(first, last):
        total, explained, in_unknown = 0.0, 0, 0
        for i in range(sums.shape[1]):
            sums[k, i] = 0.0
        for i in range(m):
            total += ratings[k, i]
            sums[k, SUMMARY_COLUMNS + group_of[i]] += share[i] * ratings[k, i]
            explained += kinds[k, i] == EXPLAINED
            in_unknown += kinds[k, i] == IN_UNKNOWN
        sums[k, 0], sums[k, 1], sums[k, 2] = total / m, explained / m, in_unknown / m


@inline
def _select_spared(gain, min_gain, is_spared):
    """Select the groups to credit: of neighbours that gain, all but the one that gains most.

    The last group and the first are neighbours, as in a scan all around. A run of more than half
    of all groups is no wall. Of two groups that gain the same, the first is not credited.
    """
    count, begin = len(gain), 0
    is_spared[:] = False
    while begin < count and gain[begin] > min_gain:
        begin += 1
    if begin == count:  # all of them
        return
    c = begin
    while c < begin + count:
        if not gain[c % count] > min_gain:
            c += 1
            continue
        end, best = c, c % count
        while gain[end % count] > min_gain:
            at = end % count
            if gain[at] > gain[best] or (gain[at] == gain[best] and at < best):
                best = at
            end += 1
        if 2 * (end - c) <= count:
            for k in range(c, end):
                is_spared[k % count] = k % count != best
        c = end


@kernel(
    "f4[:,::1], u1[:,::1], f4[:,::1], i8[::1], i8[::1], i8[::1], f8, f8[:,::1] -> f8[:,::1]",
    over="ratings",
    block=POSES_PER_PART,
)
def credit_removed_walls(
    first, last, ratings, kinds, open_ratings, order, starts, group_starts, min_gain, sums, adjusted
):
    """Sum up ratings with each removed wall counted once (`localization.scoring.removed_walls`).

    Args:
        ratings: ℓ of each beam from each pose, shape (K, m).
        kinds: Kind of each beam (`beam_model.sort_beam`), shape (K, m).
        open_ratings: ℓ of each beam as if no wall stood in its way, shape (K, m).
        order: Indices of the beams, block after block, as for `sum_beams`.
        starts: Index into `order` at which each block begins.
        group_starts: Block at which each group begins.
        min_gain: Smallest gain of a group that counts, in nats.
        sums: Result of `sum_beams` without credit, shape (K, SUMMARY_COLUMNS + C).
        adjusted: Output, `sums` with credit, same shape.
    """
    m, count = ratings.shape[1], len(group_starts)
    group_of, share = np.empty(m, dtype=np.int64), np.empty(m)
    _assign_groups(order, starts, group_starts, group_of, share)
    gain, total_gain, is_spared = np.empty(count), np.empty(count), np.empty(count, dtype=np.bool_)
    for k in range(first, last):
        gain[:] = total_gain[:] = 0.0
        for i in range(m):
            if kinds[k, i] == THROUGH and open_ratings[k, i] > ratings[k, i]:
                rise = np.float64(open_ratings[k, i]) - ratings[k, i]
                gain[group_of[i]] += share[i] * rise
                total_gain[group_of[i]] += rise
        _select_spared(gain, min_gain, is_spared)
        total = 0.0
        for c in range(count):
            adjusted[k, SUMMARY_COLUMNS + c] = sums[k, SUMMARY_COLUMNS + c]
            if is_spared[c]:
                total += total_gain[c]
                adjusted[k, SUMMARY_COLUMNS + c] += gain[c]
        adjusted[k, 0], adjusted[k, 1], adjusted[k, 2] = (
            sums[k, 0] + total / m,
            sums[k, 1],
            sums[k, 2],
        )


@kernel("f8[:,::1], f8 -> f8[::1]")
def sum_scores(sums, coverage_weight, totals):
    """Compute the score of a scan from each pose, `localization.decision.decide` (1).

    Args:
        sums: Result of `sum_beams`, shape (K, SUMMARY_COLUMNS + C).
        coverage_weight: κ.
        totals: Output, L in nats, shape (K,).
    """
    for k in range(len(sums)):
        extra, score = coverage_weight * (sums[k, 1] - sums[k, 2]), 0.0
        for c in range(SUMMARY_COLUMNS, sums.shape[1]):
            score += sums[k, c] + extra
        totals[k] = score


@kernel("f8[:,:], f8[:], f8, f8, f8, f8 -> b1[::1]")
def refute(group_ratings, scores, inliers, min_significance, variance_floor, min_lead, out):
    """Decide which places `localization.decision.decide` (4) excludes against the first.

    Args:
        group_ratings: Mean ℓ of each group at each place, shape (K, C).
        scores: Mean rating of all beams at each place, shape (K,).
        inliers: Share of beams that the first place explains.
        min_significance: Least t of (3) times that share.
        variance_floor: τ².
        min_lead: d_min.
        out: Output, whether each of the other places is excluded, shape (K − 1,).
    """
    for j in range(1, len(scores)):
        total, square = 0.0, variance_floor
        for c in range(group_ratings.shape[1]):
            delta = group_ratings[0, c] - group_ratings[j, c]
            total += delta
            square += delta * delta
        t = total / math.sqrt(square)
        out[j - 1] = t * inliers >= min_significance and scores[0] - scores[j] >= min_lead
