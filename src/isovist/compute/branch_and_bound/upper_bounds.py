"""Bound from above how well any pose of a box explains a scan, from the ends of the beams.

A box holds the poses within a of (x, y), on each axis, and within b of a yaw.  Its poses move the
end of a beam of length z by at most

    ρ = √2 a + 2 z sin(b / 2),                                                            (1)

and the distance to the nearest wall is 1-Lipschitz.  So the code of the cell where the beam ends
from the middle of the box, a class of distances to walls and to unknown space, bounds what the
beam is worth from every pose of the box.  Tables turn codes into deficits: how much less than its
best a beam is worth at least.  A box whose deficits exceed the budget holds no pose that is good
enough.

With D the distance from the end to the nearest wall and U that to the nearest cell through which a
ray can enter unknown space, both less what the box may take off, a beam of length z has

    ℓ ≤ log(Z max(a h + b / max(z, r₀), u h + (1 − u) λ e) + c),                            (2)
    h = N(min(D, s(z)); σ),      e = exp(−λ U), 1 where U ≤ s₀,

in the letters of `compute.likelihood.beam_model`: it hits, is short of a wall that is farther than
z, ends behind a wall by more than s(z), or |z − r| ≥ U beyond where it entered unknown space at r.
"""

import math

import numpy as np

from isovist.compute.infra.compiled import inline, kernel, subroutine

BEAMS_PER_PASS = 4
"""Beams looked up between two drops of boxes."""


@subroutine
def rating_bound(model, z, to_wall, to_unknown):
    """Evaluate the bound (2) for a beam of z m that ends `to_wall` and `to_unknown` m off."""
    sigma, longest, hits, short, nearest, random, unknown_hits, fading, slack, share = model
    off = min(max(to_wall, 0.0), slack + share * z)
    hit = math.exp(-0.5 * (off / sigma) ** 2) / (math.sqrt(2.0 * math.pi) * sigma)
    faded = 1.0
    if to_unknown > slack and z <= longest - slack:
        faded = math.exp(-fading * to_unknown)
    wall_density = hits * hit + short / max(z, nearest)
    unknown_density = unknown_hits * hit + (1.0 - unknown_hits) * fading * faded
    return math.log(longest * max(wall_density, unknown_density) + random)


@kernel("f8[::1], f8[::1], f8[::1], f8[::1], f8[:,::1], f8 -> u2[:,::1], f8[::1]", over="lengths")
def tabulate(first, last, model, lengths, walls, frontiers, box_reach, unit, tables, max_ratings):
    """Tabulate the deficits of beams by code, in parts of a nat, rounded down.

    Args:
        model: Row of the beam model (`compute.likelihood.beam_model`), shape (10,).
        lengths: Ranges of the beams in m, shape (m,).
        walls: Least D of each class in m.
        frontiers: Least U of each class in m.
        box_reach: Largest change of D and of U within a box, in m, shape (m, 2).
        unit: Unit of deficits in nats.
        tables: Output, shape (m, 256).
        max_ratings: Output, largest rating of each beam, in nats, shape (m,).
    """
    for k in range(first, last):
        max_ratings[k] = rating_bound(model, lengths[k], 0.0, 0.0)
        for i in range(len(walls)):
            for j in range(len(frontiers)):
                bound = rating_bound(
                    model, lengths[k], walls[i] - box_reach[k, 0], frontiers[j] - box_reach[k, 1]
                )
                deficit = max(0.0, (max_ratings[k] - bound) / unit - 1e-6)
                tables[k, i * len(frontiers) + j] = np.uint16(min(deficit, 65535.0))


@inline
def _add_four(flat, width, offsets, tables, budget, sums, index, boxes):
    """Add four deficits to each sum, and keep the boxes within the budget; return their number.

    Four look-ups at a time wait less than one after the other.
    """
    s0 = offsets[0, 1] * width + offsets[0, 0]
    s1 = offsets[1, 1] * width + offsets[1, 0]
    s2 = offsets[2, 1] * width + offsets[2, 0]
    s3 = offsets[3, 1] * width + offsets[3, 0]
    t0, t1, t2, t3 = tables[0], tables[1], tables[2], tables[3]
    count = 0
    for j in range(len(sums)):
        at = index[j]
        first = np.int32(t0[flat[np.uint64(at + s0)]]) + np.int32(t1[flat[np.uint64(at + s1)]])
        other = np.int32(t2[flat[np.uint64(at + s2)]]) + np.int32(t3[flat[np.uint64(at + s3)]])
        total = np.int32(sums[j] + first + other)
        sums[count], index[count], boxes[count] = total, at, boxes[j]
        count += total <= budget
    return count


@inline
def _add_any_count(flat, shape, offsets, tables, budget, places, sums, index, boxes):
    """Add the deficits of any number of beams; beyond the map, the rim of the codes counts.

    Beyond the padding nothing is nearer than at its rim.
    """
    top, rim = np.int64(shape[0] - 1), np.int64(shape[1] - 1)
    width, count = np.int64(shape[1]), 0
    for j in range(len(sums)):
        total, box = sums[j], np.uint64(boxes[j])
        column, row = np.int64(places[box, 0]), np.int64(places[box, 1])
        for beam in range(len(offsets)):
            u = min(max(column + offsets[beam, 0], 0), rim)
            v = min(max(row + offsets[beam, 1], 0), top)
            total += np.int32(tables[beam, flat[np.uint64(v * width + u)]])
        sums[count], index[count], boxes[count] = total, index[j], boxes[j]
        count += total <= budget
    return count


@kernel(
    "u1[:,::1], i8[:,::1], i4[:,::1], i4[:,:,::1], u2[:,::1], i8 -> i4[::1], i8[::1]", over="tasks"
)
def bound(first, last, codes, tasks, places, offsets, tables, budget, deficits, lookups):
    """Sum the deficits of boxes, and drop them as soon as the budget is spent.

    Args:
        codes: Codes of the cells of the map, padded, shape (height, width).
        tasks: Group, first and end of boxes side by side, shape (t, 3).
        places: Column and row of the cell that holds the middle of each box, shape (n, 2).
        offsets: From there to where beam k ends, for each group, shape (g, m, 2).
        tables: Deficits by code, the most telling beams first, shape (m, 256).
        budget: Largest sum of a box that is good enough.
        deficits: Output, the sum, or −1 for boxes that are dropped, shape (n,).
        lookups: Output, look-ups of each task, shape (t,).
    """
    height, width = codes.shape
    m = len(tables)
    flat = codes.reshape(-1)
    for t in range(first, last):
        group, start, stop = tasks[t, 0], tasks[t, 1], tasks[t, 2]
        remaining = stop - start
        sums = np.zeros(remaining, dtype=np.int32)
        index = np.empty(remaining, dtype=np.int64)
        boxes = np.empty(remaining, dtype=np.int32)
        left, right, low, high = width, -1, height, -1
        for j in range(remaining):
            column, row = places[start + j, 0], places[start + j, 1]
            index[j], boxes[j] = row * width + column, start + j
            left, right = min(left, column), max(right, column)
            low, high = min(low, row), max(high, row)
            deficits[start + j] = -1
        count = 0
        for k in range(0, m, BEAMS_PER_PASS):
            end = min(k + BEAMS_PER_PASS, m)
            count += (end - k) * remaining
            inside = end == k + BEAMS_PER_PASS
            for beam in range(k, end):
                dx, dy = offsets[group, beam, 0], offsets[group, beam, 1]
                inside &= left + dx >= 0 and right + dx < width
                inside &= low + dy >= 0 and high + dy < height
            if inside:
                remaining = _add_four(
                    flat, width, offsets[group, k:end], tables[k:end], budget, sums[:remaining],
                    index, boxes,
                )  # fmt: skip
            else:
                remaining = _add_any_count(
                    flat, codes.shape, offsets[group, k:end], tables[k:end], budget, places,
                    sums[:remaining], index, boxes,
                )  # fmt: skip
            if remaining == 0:
                break
        for j in range(remaining):
            deficits[boxes[j]] = sums[j]
        lookups[t] = count
