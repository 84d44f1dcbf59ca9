"""Which of many: the cheapest nodes, where they are, and those that are unlike.

Numbers of nodes and poses stay in the order in which they came unless a function says otherwise.
"""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.kernels.compiled import inner, kernel, within

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


@kernel("f4[:,::1], i4[:,::1], i8[::1], f8[:,::1], f8[::1], f8 -> u8[::1], f8[:,::1], f8[::1]")
def stand_by_cost(
    costs: Singles, headings: NDArray[np.int32], nodes: Numbers, places: Floats, yaws: Floats,
    dearest: float, keys: Keys, poses: Floats, known: Floats,
) -> int:  # fmt: skip
    """Poses at nodes that were tried (`correlate`), from the cheapest on.

    Args:
        costs: Of the headings of each node, shape (A, keep).
        headings: Which they are, shape (A, keep).
        nodes: That were tried, shape (A,).
        places: Of all nodes, shape (N, d).
        yaws: Of all headings, in rad.
        dearest: What costs more is left out, and what is infinite.
        keys: Of some of the costs (`cheapest`), shape (K,); written over.
        poses: Output, shape (K, D).
        known: Output, what they cost, shape (K,).

    Returns:
        How many there are.
    """
    ordered = np.empty(len(keys), dtype=np.uint64)
    _sort(keys, np.empty(2048, dtype=np.int64), ordered)
    keep, count = costs.shape[1], 0
    for k in range(len(ordered)):
        which = np.int64(ordered[k] & np.uint64(0xFFFFFFFF))
        i, j = which // keep, which % keep
        if costs[i, j] > dearest or costs[i, j] == np.inf:
            break
        _put(poses[count], places[nodes[i]], yaws[headings[i, j]])
        known[count] = costs[i, j]
        count += 1
    return count


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
