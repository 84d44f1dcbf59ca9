"""Which of many: the cheapest nodes, where they are, and those that are unlike.

Numbers of nodes and poses stay in the order in which they came unless a function says otherwise.
"""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.compute.infra.compiled import inner, kernel, within

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Keys = NDArray[np.uint64]

RADIX = ((21, 2047), (10, 2047), (0, 1023))
"""Bits of a float that are looked at one after the other: by how far they are shifted, and all of
them."""


@kernel("u4[::1] -> u8[::1]")
def cheapest(bits: NDArray[np.uint32], keys: Keys) -> None:
    """Keys of the smallest numbers, in the order in which they came, of equal ones the first.

    Bits of floats that are not negative are in their order.  Sorted, keys are in that of the
    numbers, the first of equal ones first, and their lower half says where each was.

    Args:
        bits: Numbers, shape (A,).
        keys: Output, as many as are wanted, A at most, shape (most,).
    """
    wanted, edge, known = len(keys), np.uint32(0), np.uint32(0)  # edge: of the last that is wanted
    counts = np.empty(2048, dtype=np.int64)
    for shift, mask in RADIX:
        counts[:] = 0
        for k in range(len(bits)):
            if (bits[k] & known) == edge:
                counts[(bits[k] >> np.uint32(shift)) & np.uint32(mask)] += 1
        place = 0
        while place < mask and counts[place] < wanted:
            wanted -= counts[place]
            place += 1
        edge |= np.uint32(place) << np.uint32(shift)
        known |= np.uint32(mask) << np.uint32(shift)
    count = 0
    for k in range(len(bits)):
        if bits[k] > edge or count == len(keys):
            continue
        if bits[k] == edge:
            if wanted == 0:
                continue
            wanted -= 1
        keys[count] = (np.uint64(bits[k]) << np.uint64(32)) | np.uint64(k)
        count += 1


@within
def _sort_by(given: Keys, digit: int, mask: int, counts: Numbers, out: Keys) -> None:
    """Put keys in the order of some of their bits, equal ones as they came."""
    shift, bits = np.uint64(digit), np.uint64(mask)
    counts[:] = 0
    for k in range(len(given)):
        counts[(given[k] >> shift) & bits] += 1
    before = 0
    for place in range(mask + 1):
        here = counts[place]
        counts[place] = before
        before += here
    for k in range(len(given)):
        place = (given[k] >> shift) & bits
        out[counts[place]] = given[k]
        counts[place] += 1


@within
def _sort(keys: Keys, counts: Numbers, ordered: Keys) -> None:
    """Keys of `cheapest` in order: those of equal numbers already are.  They are written over."""
    _sort_by(keys, 32, 1023, counts, ordered)
    _sort_by(ordered, 42, 2047, counts, keys)
    _sort_by(keys, 53, 2047, counts, ordered)


@within
def _put(pose: Floats, place: Floats, yaw: float) -> None:
    """A place (x, y) or (x, y, z) as a pose (x, y, yaw) or (x, y, yaw, z, 0, 0)."""
    pose[0], pose[1], pose[2] = place[0], place[1], yaw
    if len(place) > 2:
        pose[3], pose[4], pose[5] = place[2], 0.0, 0.0


@kernel("f8[:,::1], i8[::1], f8[::1] -> f8[:,::1]")
def stand(places: Floats, nodes: Numbers, yaws: Floats, poses: Floats) -> None:
    """Poses at nodes.

    Args:
        places: Of all nodes, (x, y) or (x, y, z), shape (N, d).
        nodes: Which of them, shape (K,).
        yaws: Of the poses, shape (K,).
        poses: Output, (x, y, yaw) or (x, y, yaw, z, roll, pitch), shape (K, D).
    """
    for k in range(len(nodes)):
        _put(poses[k], places[nodes[k]], yaws[k])


@kernel("f8[:,::1], f8[::1], f8[::1], f8, f8")
def least_within(rows: Floats, costs: Floats, pose: Floats, radius: float, turn: float) -> float:
    """The least cost around a pose, `inf` where there is none.

    Args:
        rows: (x, y, yaw, …), shape (K, D).
        costs: Of each, shape (K,).
        pose: (x, y, yaw, …), shape (D,).
        radius: Those nearer than this in x and y, in m, …
        turn: … and turned by less than this, in rad, are around it.
    """
    least = np.inf
    for k in range(len(rows)):
        dx, dy = rows[k, 0] - pose[0], rows[k, 1] - pose[1]
        if costs[k] < least and dx * dx + dy * dy < radius * radius:
            turned = rows[k, 2] - pose[2]
            turned -= 2.0 * math.pi * math.floor(turned / (2.0 * math.pi) + 0.5)
            if abs(turned) < turn:
                least = costs[k]
    return least


@kernel("f8[:,::1], i8[::1], f4[::1], f8[::1], f8")
def least_beside(
    places: Floats, nodes: Numbers, costs: Singles, pose: Floats, radius: float
) -> float:
    """The least cost of nodes beside a pose, `inf` where there is none.

    Args:
        places: Of all nodes, (x, y, …), shape (N, d).
        nodes: Some of them, shape (A,).
        costs: Of these, shape (A,).
        pose: (x, y, …), shape (D,).
        radius: Those nearer than this in x and y, in m, are beside it.
    """
    least = np.inf
    for k in range(len(nodes)):
        if costs[k] < least:
            dx, dy = places[nodes[k], 0] - pose[0], places[nodes[k], 1] - pose[1]
            if dx * dx + dy * dy < radius * radius:
                least = float(costs[k])
    return least


SQUARES = 32
"""Squares of the map along either side before their numbers begin anew; which poses come together
changes no result."""


@kernel("f8[:,::1], f8 -> i8[::1]")
def by_place(poses: Floats, side: float, order: Numbers) -> None:
    """An order in which neighbours come together: what they read of a map is still in the cache.

    Args:
        poses: (x, y, yaw), shape (K, 3).
        side: Of a square of neighbours, in the unit of x and y.
        order: Output, shape (K,).
    """
    counts, square = np.zeros(SQUARES * SQUARES + 1, np.int64), np.empty(len(poses), np.int64)
    for k in range(len(poses)):
        column, row = math.floor(poses[k, 0] / side), math.floor(poses[k, 1] / side)
        square[k] = (int(column) & (SQUARES - 1)) * SQUARES + (int(row) & (SQUARES - 1))
        counts[square[k] + 1] += 1
    for k in range(SQUARES * SQUARES):
        counts[k + 1] += counts[k]
    for k in range(len(poses)):
        order[counts[square[k]]] = k
        counts[square[k]] += 1


@within
def _alike(poses: Floats, i: int, j: int, radius: float, turn: float) -> bool:
    dx, dy = poses[i, 0] - poses[j, 0], poses[i, 1] - poses[j, 1]
    dz = poses[i, 3] - poses[j, 3] if poses.shape[1] > 3 else 0.0
    if dx * dx + dy * dy + dz * dz >= radius * radius:
        return False
    turned = poses[i, 2] - poses[j, 2]
    return abs(turned - 2.0 * math.pi * math.floor(turned / (2.0 * math.pi) + 0.5)) < turn


@inner
def _chain(x: int, y: int, size: int) -> int:
    """Number of the chain of a square; `size` is a power of two."""
    return (x * 73856093 + y * 19349663) & (size - 1)


@kernel("f8[:,::1], f8, f8 -> i8[::1]")
def spread(poses: Floats, radius: float, turn: float, chosen: Numbers) -> int:
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
        for nth in range(9):
            square = (nth + 4) % 9  # its own first, which as a rule holds one that is alike
            j = heads[_chain(x + square % 3 - 1, y + square // 3 - 1, size)]
            while j >= 0 and not alike:
                alike = _alike(poses, i, chosen[j], radius, turn)
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


BUCKETS = 4096
"""Of numbers between the least and the largest: most hold one or none."""
CROWD = 64
"""Numbers of a bucket that are put in order one by one."""
INFINITE = 0x7F800000
"""Bits of infinity."""


@within
def _shift(low: np.uint32, high: np.uint32) -> np.uint32:
    """By how far bits between two numbers are shifted, so that each is in one of `BUCKETS`."""
    shift = np.uint32(0)
    while (high - low) >> shift >= BUCKETS:
        shift += np.uint32(1)
    return shift


@within
def _sort_between(given: Keys, low: np.uint32, high: np.uint32, counts: Numbers, out: Keys) -> None:
    """Put keys of numbers between two in order: by buckets, then each among its neighbours."""
    shift, before, largest = _shift(low, high), 0, 0
    counts[:] = 0
    for k in range(len(given)):
        counts[(np.uint32(given[k] >> np.uint64(32)) - low) >> shift] += 1
    for bucket in range(BUCKETS):
        here = counts[bucket]
        counts[bucket] = before
        before += here
        largest = max(largest, here)
    if largest > CROWD:
        _sort(given, counts, out)
        return
    for k in range(len(given)):
        bucket = (np.uint32(given[k] >> np.uint64(32)) - low) >> shift
        out[counts[bucket]] = given[k]
        counts[bucket] += 1
    for k in range(1, len(given)):
        key, at = out[k], k
        while at > 0 and out[at - 1] > key:
            out[at] = out[at - 1]
            at -= 1
        out[at] = key


@inner
def _sort_least(bits: NDArray[np.uint32], few: int, keys: Keys) -> int:
    """Keys (`cheapest`) of at least `few` of the smallest numbers that are finite, or of all.

    Args:
        bits: Numbers, shape (A,).
        few: How many are wanted.
        keys: Output, in order, of equal ones the first first, shape (A,).

    Returns:
        How many there are.
    """
    infinite, low, high = np.uint32(INFINITE), np.uint32(INFINITE), np.uint32(0)
    for k in range(len(bits)):
        low = min(low, bits[k])
        high = max(high, bits[k] if bits[k] < infinite else np.uint32(0))
    if low == infinite:
        return 0
    counts, shift = np.zeros(BUCKETS, dtype=np.int64), _shift(low, high)
    for k in range(len(bits)):
        if bits[k] < infinite:
            counts[(bits[k] - low) >> shift] += 1
    total, used = 0, 0
    while used < BUCKETS and total < few:
        total += counts[used]
        used += 1
    last = np.uint64(low) + (np.uint64(used) << np.uint64(shift)) - np.uint64(1)
    high, count = min(high, np.uint32(min(last, np.uint64(INFINITE)))), 0
    given = np.empty(len(bits) + 1, dtype=np.uint64)
    for k in range(len(bits)):
        given[count] = (np.uint64(bits[k]) << np.uint64(32)) | np.uint64(k)
        count += bits[k] <= high
    _sort_between(given[:total], low, high, counts, keys[:total])
    return total


@within
def _around(count: int, heading: int, reach: int, out: NDArray[np.uint64]) -> None:
    """Bits of the headings, of so many, that are at most `reach` from one of them."""
    for word in range(len(out)):
        out[word] = 0
    for k in range(heading - reach, heading + reach + 1):
        h = k + count if k < 0 else (k - count if k >= count else k)
        out[h >> 6] |= np.uint64(1) << np.uint64(h & 63)


@kernel(
    "f4[:,::1], u4[::1], i4[:,::1], i8[::1], f8[:,::1], f8[::1], f8, f8, f8, i8"
    " -> f8[:,::1], f8[::1]"
)
def cheapest_apart(
    costs: Singles, bits: NDArray[np.uint32], headings: NDArray[np.int32], nodes: Numbers,
    places: Floats, yaws: Floats, dearest: float, radius: float, turn: float, few: int,
    poses: Floats, known: Floats,
) -> int:  # fmt: skip
    """The cheapest poses at nodes that were tried (`correlate`), none near one that costs less.

    What `spread` says of all of them; but each that is chosen takes its headings from the nodes
    around it, so that one look tells whether another is alike one chosen before.

    Args:
        costs: Of the headings of each node, shape (A, keep).
        bits: Of these, one after the other, shape (A keep,).
        headings: Which they are, shape (A, keep).
        nodes: That were tried, shape (A,).
        places: Of all nodes, shape (N, d).
        yaws: Of all headings, equal steps around the circle, in rad, shape (H,).
        dearest: What costs more is left out, and what is infinite.
        radius: As for `spread`.
        turn: Likewise.
        few: So many of the cheapest are looked at first; then all, unless that is enough.
        poses: Output, best first, shape (most, D).
        known: Output, what they cost, shape (most,).

    Returns:
        How many there are.
    """
    keep, deep, most = np.uint32(costs.shape[1]), places.shape[1] > 2, len(known)
    per_m, size = (1.0 - 1e-9) / radius if radius > 0.0 else 1.0, 64
    while size < len(nodes):
        size *= 2
    # Nodes are chained by the square that they lie in, a hair wider than `radius`; squares may
    # share a chain.
    heads, behind = np.full(size, -1, dtype=np.int32), np.empty(len(nodes), dtype=np.int32)
    for k in range(len(nodes)):
        x, y = places[nodes[k], 0], places[nodes[k], 1]
        chain = _chain(math.floor(x * per_m), math.floor(y * per_m), size)
        behind[k], heads[chain] = heads[chain], k
    reach = -1  # headings to either side that are alike
    while 2 * reach + 2 <= len(yaws) and (reach + 1) * 2.0 * math.pi / len(yaws) < turn:
        reach += 1
    words, count, looked = (len(yaws) + 63) >> 6, 0, 0
    near, keys = np.empty(words, dtype=np.uint64), np.empty(len(bits), dtype=np.uint64)
    for wanted in (few, len(bits)):
        before, looked = looked, _sort_least(bits, wanted, keys)
        if looked == before or most == 0:
            break
        taken, count = np.zeros((len(nodes), words), dtype=np.uint64), 0
        for k in range(looked):
            which = np.uint32(keys[k] & np.uint64(0xFFFFFFFF))
            i, j = np.int64(which // keep), np.int64(which % keep)
            h = headings[i, j]
            if (taken[i, h >> 6] >> np.uint64(h & 63)) & np.uint64(1):
                continue
            cost, node = costs[i, j], nodes[i]
            if cost > dearest:
                return count
            _put(poses[count], places[node], yaws[h])
            known[count] = cost
            count += 1
            if count == most:
                return count
            _around(len(yaws), h, reach, near)
            x, y = places[node, 0], places[node, 1]
            column, row = math.floor(x * per_m), math.floor(y * per_m)
            for square in range(9):
                at = heads[_chain(column + square % 3 - 1, row + square // 3 - 1, size)]
                while at >= 0:
                    other = nodes[at]
                    dx, dy = x - places[other, 0], y - places[other, 1]
                    dz = places[node, 2] - places[other, 2] if deep else 0.0
                    if dx * dx + dy * dy + dz * dz < radius * radius:
                        for word in range(words):
                            taken[at, word] |= near[word]
                    at = behind[at]
    return count
