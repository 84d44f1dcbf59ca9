"""Select the cheapest nodes, place poses at them, and keep those that differ.

Indices of nodes and poses keep their order unless a function says otherwise.
"""

import math

import numpy as np

from isovist.compute.infra.compiled import inline, kernel, subroutine

RADIX = ((21, 2047), (10, 2047), (0, 1023))
"""Shift and mask of the groups of bits of a float by which numbers are selected, one by one."""


@kernel("u4[::1] -> u8[::1]")
def cheapest_keys(bits, keys):
    """Select the keys of the smallest numbers, in their order of arrival, first ones first.

    Bits of floats that are not negative are in their order.  Sorted, keys are in that of the
    numbers, the first of equal ones first, and their lower half says where each was.

    Args:
        bits: Numbers, shape (A,).
        keys: Output; its length is the number of keys to select, at most A.
    """
    remaining, edge, fixed_bits = (
        len(keys),
        np.uint32(0),
        np.uint32(0),
    )  # edge: of the last that is wanted
    counts = np.empty(2048, dtype=np.int64)
    for shift, mask in RADIX:
        counts[:] = 0
        for k in range(len(bits)):
            if (bits[k] & fixed_bits) == edge:
                counts[(bits[k] >> np.uint32(shift)) & np.uint32(mask)] += 1
        place = 0
        while place < mask and counts[place] < remaining:
            remaining -= counts[place]
            place += 1
        edge |= np.uint32(place) << np.uint32(shift)
        fixed_bits |= np.uint32(mask) << np.uint32(shift)
    count = 0
    for k in range(len(bits)):
        if bits[k] > edge or count == len(keys):
            continue
        if bits[k] == edge:
            if remaining == 0:
                continue
            remaining -= 1
        keys[count] = (np.uint64(bits[k]) << np.uint64(32)) | np.uint64(k)
        count += 1


@inline
def _sort_by_bits(keys, digit, mask, counts, out):
    """Sort keys by some of their bits, stably."""
    shift, bits = np.uint64(digit), np.uint64(mask)
    counts[:] = 0
    for k in range(len(keys)):
        counts[(keys[k] >> shift) & bits] += 1
    before = 0
    for place in range(mask + 1):
        bucket_size = counts[place]
        counts[place] = before
        before += bucket_size
    for k in range(len(keys)):
        place = (keys[k] >> shift) & bits
        out[counts[place]] = keys[k]
        counts[place] += 1


@inline
def _sort_by_radix(keys, counts, ordered):
    """Sort keys of `cheapest_keys`; keys of equal numbers are in order. `keys` is overwritten."""
    _sort_by_bits(keys, 32, 1023, counts, ordered)
    _sort_by_bits(ordered, 42, 2047, counts, keys)
    _sort_by_bits(keys, 53, 2047, counts, ordered)


@inline
def _write_pose(pose, place, yaw):
    """Write a place (x, y) or (x, y, z) as a pose (x, y, yaw) or (x, y, yaw, z, 0, 0)."""
    pose[0], pose[1], pose[2] = place[0], place[1], yaw
    if len(place) > 2:
        pose[3], pose[4], pose[5] = place[2], 0.0, 0.0


@kernel("f8[:,::1], i8[::1], f8[::1] -> f8[:,::1]")
def place_poses(places, nodes, yaws, poses):
    """Make poses at nodes.

    Args:
        places: Places of all nodes, (x, y) or (x, y, z), shape (N, d).
        nodes: Indices of nodes, shape (K,).
        yaws: Yaws of the poses, in rad, shape (K,).
        poses: Output, (x, y, yaw) or (x, y, yaw, z, roll, pitch), shape (K, D).
    """
    for k in range(len(nodes)):
        _write_pose(poses[k], places[nodes[k]], yaws[k])


@kernel("f8[:,::1], f8[::1], f8[::1], f8, f8")
def min_cost_within(rows, costs, pose, radius, turn):
    """Return the least cost around a pose, `inf` if there is none.

    Args:
        rows: (x, y, yaw, …), shape (K, D).
        costs: Cost of each row, shape (K,).
        pose: (x, y, yaw, …), shape (D,).
        radius: Rows nearer than this in x and y, in m, count …
        turn: … if they are turned by less than this, in rad.
    """
    lowest_cost = np.inf
    for k in range(len(rows)):
        dx, dy = rows[k, 0] - pose[0], rows[k, 1] - pose[1]
        if costs[k] < lowest_cost and dx * dx + dy * dy < radius * radius:
            rotation = rows[k, 2] - pose[2]
            rotation -= 2.0 * math.pi * math.floor(rotation / (2.0 * math.pi) + 0.5)
            if abs(rotation) < turn:
                lowest_cost = costs[k]
    return lowest_cost


@kernel("f8[:,::1], i8[::1], f4[::1], f8[::1], f8")
def min_cost_near(places, nodes, costs, pose, radius):
    """Return the least cost of nodes near a pose, `inf` if there is none.

    Args:
        places: Places of all nodes, (x, y, …), shape (N, d).
        nodes: Indices of nodes, shape (A,).
        costs: Cost of each of these, shape (A,).
        pose: (x, y, …), shape (D,).
        radius: Nodes nearer than this in x and y, in m, count.
    """
    lowest_cost = np.inf
    for k in range(len(nodes)):
        if costs[k] < lowest_cost:
            dx, dy = places[nodes[k], 0] - pose[0], places[nodes[k], 1] - pose[1]
            if dx * dx + dy * dy < radius * radius:
                lowest_cost = float(costs[k])
    return lowest_cost


SQUARES_PER_SIDE = 32
"""Squares of the map along either side before their numbers repeat. The order changes no result."""


@kernel("f8[:,::1], f8 -> i8[::1]")
def order_by_place(poses, side, order):
    """Order poses so that neighbours come together, whose map is still in the cache.

    Args:
        poses: (x, y, yaw), shape (K, 3).
        side: Side of a square of neighbours, in the unit of x and y.
        order: Output, shape (K,).
    """
    counts, square = (
        np.zeros(SQUARES_PER_SIDE * SQUARES_PER_SIDE + 1, np.int64),
        np.empty(len(poses), np.int64),
    )
    for k in range(len(poses)):
        column, row = math.floor(poses[k, 0] / side), math.floor(poses[k, 1] / side)
        square[k] = (int(column) & (SQUARES_PER_SIDE - 1)) * SQUARES_PER_SIDE + (
            int(row) & (SQUARES_PER_SIDE - 1)
        )
        counts[square[k] + 1] += 1
    for k in range(SQUARES_PER_SIDE * SQUARES_PER_SIDE):
        counts[k + 1] += counts[k]
    for k in range(len(poses)):
        order[counts[square[k]]] = k
        counts[square[k]] += 1


@inline
def _is_alike(poses, i, j, radius, turn):
    """Return whether two poses are nearer than `radius` and `turn`."""
    dx, dy = poses[i, 0] - poses[j, 0], poses[i, 1] - poses[j, 1]
    dz = poses[i, 3] - poses[j, 3] if poses.shape[1] > 3 else 0.0
    if dx * dx + dy * dy + dz * dz >= radius * radius:
        return False
    rotation = poses[i, 2] - poses[j, 2]
    return abs(rotation - 2.0 * math.pi * math.floor(rotation / (2.0 * math.pi) + 0.5)) < turn


@subroutine
def _hash_square(x, y, size):
    """Return the chain of a square; `size` is a power of two."""
    return (x * 73856093 + y * 19349663) & (size - 1)


@kernel("f8[:,::1], f8, f8 -> i8[::1]")
def select_distinct(poses, radius, turn, order):
    """Select poses, best first, and skip every pose near a better one.

    Args:
        poses: (x, y, yaw) or (x, y, yaw, z, …) from best to worst, shape (m, 3 or more).
        radius: Poses nearer than this, in the unit of x and y, …
        turn: … and turned by less than this, in rad, are alike.
        order: Output, indices into `poses`, shape (keep,).

    Returns:
        How many were chosen.
    """
    # Selected poses are chained by the square of side `radius` that they lie in; squares may
    # share a chain.
    size = 64
    while size < 2 * len(order):
        size *= 2
    heads = np.full(size, -1, dtype=np.int64)
    next_in_chain = np.empty(len(order), dtype=np.int64)
    side = radius if radius > 0.0 else 1.0
    count = 0
    for i in range(len(poses)):
        x, y = math.floor(poses[i, 0] / side), math.floor(poses[i, 1] / side)
        is_alike = False
        for nth in range(9):
            square = (nth + 4) % 9  # its own first, which mostly holds one that is alike
            j = heads[_hash_square(x + square % 3 - 1, y + square // 3 - 1, size)]
            while j >= 0 and not is_alike:
                is_alike = _is_alike(poses, i, order[j], radius, turn)
                j = next_in_chain[j]
            if is_alike:
                break
        if not is_alike:
            chain = _hash_square(x, y, size)
            next_in_chain[count], heads[chain] = heads[chain], count
            order[count] = i
            count += 1
            if count == len(order):
                break
    return count


BUCKETS = 4096
"""Buckets between the least and the largest number: most hold one number or none."""
MAX_SORTED_BUCKET = 64
"""Largest bucket that is sorted by insertion."""
INFINITY_BITS = 0x7F800000
"""Bits of infinity."""


@inline
def _bucket_shift(low, high):
    """Return the shift of bits that puts each number between two into one of `BUCKETS`."""
    shift = np.uint32(0)
    while (high - low) >> shift >= BUCKETS:
        shift += np.uint32(1)
    return shift


@inline
def _sort_between(keys, low, high, counts, out):
    """Sort keys of numbers between two: by buckets, then among neighbours."""
    shift, before, largest = _bucket_shift(low, high), 0, 0
    counts[:] = 0
    for k in range(len(keys)):
        counts[(np.uint32(keys[k] >> np.uint64(32)) - low) >> shift] += 1
    for bucket in range(BUCKETS):
        bucket_size = counts[bucket]
        counts[bucket] = before
        before += bucket_size
        largest = max(largest, bucket_size)
    if largest > MAX_SORTED_BUCKET:
        _sort_by_radix(keys, counts, out)
        return
    for k in range(len(keys)):
        bucket = (np.uint32(keys[k] >> np.uint64(32)) - low) >> shift
        out[counts[bucket]] = keys[k]
        counts[bucket] += 1
    for k in range(1, len(keys)):
        key, at = out[k], k
        while at > 0 and out[at - 1] > key:
            out[at] = out[at - 1]
            at -= 1
        out[at] = key


@subroutine
def _sort_cheapest(bits, min_count, keys):
    """Collect the keys (`cheapest_keys`) of at least `min_count` of the smallest finite numbers.

    Args:
        bits: Numbers, shape (A,).
        min_count: Least number of keys.
        keys: Output, in order, of equal ones the first first, shape (A,).

    Returns:
        How many there are.
    """
    infinite, low, high = np.uint32(INFINITY_BITS), np.uint32(INFINITY_BITS), np.uint32(0)
    for k in range(len(bits)):
        low = min(low, bits[k])
        high = max(high, bits[k] if bits[k] < infinite else np.uint32(0))
    if low == infinite:
        return 0
    counts, shift = np.zeros(BUCKETS, dtype=np.int64), _bucket_shift(low, high)
    for k in range(len(bits)):
        if bits[k] < infinite:
            counts[(bits[k] - low) >> shift] += 1
    total, bucket_count = 0, 0
    while bucket_count < BUCKETS and total < min_count:
        total += counts[bucket_count]
        bucket_count += 1
    last = np.uint64(low) + (np.uint64(bucket_count) << np.uint64(shift)) - np.uint64(1)
    high, count = min(high, np.uint32(min(last, np.uint64(INFINITY_BITS)))), 0
    unsorted = np.empty(len(bits) + 1, dtype=np.uint64)
    for k in range(len(bits)):
        unsorted[count] = (np.uint64(bits[k]) << np.uint64(32)) | np.uint64(k)
        count += bits[k] <= high
    _sort_between(unsorted[:total], low, high, counts, keys[:total])
    return total


@inline
def _mark_headings(count, heading, reach, out):
    """Set the bits of the headings that are at most `reach` from one of them."""
    for word in range(len(out)):
        out[word] = 0
    for k in range(heading - reach, heading + reach + 1):
        h = k + count if k < 0 else (k - count if k >= count else k)
        out[h >> 6] |= np.uint64(1) << np.uint64(h & 63)


@kernel(
    "f4[:,::1], u4[::1], i4[:,::1], i8[::1], f8[:,::1], f8[::1], f8, f8, f8, i8"
    " -> f8[:,::1], f8[::1]"
)
def cheapest_distinct(
    costs, bits, headings, nodes, places, yaws, max_cost, radius, turn, first_count, poses,
    pose_costs,
):  # fmt: skip
    """Select the cheapest poses at evaluated nodes, and skip every pose near a cheaper one.

    The result is that of `select_distinct` for all poses. Each chosen pose marks its headings at
    the nodes around it, so that one look-up decides whether another pose is alike.

    Args:
        costs: Costs of the headings of each node, shape (A, keep).
        bits: Bits of these costs, flat, shape (A keep,).
        headings: Indices of these headings, shape (A, keep).
        nodes: Indices of the evaluated nodes, shape (A,).
        places: Places of all nodes, shape (N, d).
        yaws: Yaws of all headings, equal steps around the circle, in rad, shape (H,).
        max_cost: Poses of larger or infinite cost are left out.
        radius: Poses nearer than this, in the unit of places, …
        turn: … and turned by less than this, in rad, are alike.
        first_count: Number of the cheapest poses to try first; then all, unless that is enough.
        poses: Output, best first, shape (most, D).
        pose_costs: Output, their costs, shape (most,).

    Returns:
        How many there are.
    """
    keep, is_3d, capacity = np.uint32(costs.shape[1]), places.shape[1] > 2, len(pose_costs)
    per_m, size = (1.0 - 1e-9) / radius if radius > 0.0 else 1.0, 64
    while size < len(nodes):
        size *= 2
    # Nodes are chained by the square that they lie in, a hair wider than `radius`; squares may
    # share a chain.
    heads, next_in_chain = np.full(size, -1, dtype=np.int32), np.empty(len(nodes), dtype=np.int32)
    for k in range(len(nodes)):
        x, y = places[nodes[k], 0], places[nodes[k], 1]
        chain = _hash_square(math.floor(x * per_m), math.floor(y * per_m), size)
        next_in_chain[k], heads[chain] = heads[chain], k
    reach = -1  # headings to either side that are alike
    while 2 * reach + 2 <= len(yaws) and (reach + 1) * 2.0 * math.pi / len(yaws) < turn:
        reach += 1
    words, count, key_count = (len(yaws) + 63) >> 6, 0, 0
    alike_headings, keys = np.empty(words, dtype=np.uint64), np.empty(len(bits), dtype=np.uint64)
    for min_count in (first_count, len(bits)):
        before, key_count = key_count, _sort_cheapest(bits, min_count, keys)
        if key_count == before or capacity == 0:
            break
        is_taken, count = np.zeros((len(nodes), words), dtype=np.uint64), 0
        for k in range(key_count):
            flat = np.uint32(keys[k] & np.uint64(0xFFFFFFFF))
            i, j = np.int64(flat // keep), np.int64(flat % keep)
            h = headings[i, j]
            if (is_taken[i, h >> 6] >> np.uint64(h & 63)) & np.uint64(1):
                continue
            cost, node = costs[i, j], nodes[i]
            if cost > max_cost:
                return count
            _write_pose(poses[count], places[node], yaws[h])
            pose_costs[count] = cost
            count += 1
            if count == capacity:
                return count
            _mark_headings(len(yaws), h, reach, alike_headings)
            x, y = places[node, 0], places[node, 1]
            column, row = math.floor(x * per_m), math.floor(y * per_m)
            for square in range(9):
                at = heads[_hash_square(column + square % 3 - 1, row + square // 3 - 1, size)]
                while at >= 0:
                    other = nodes[at]
                    dx, dy = x - places[other, 0], y - places[other, 1]
                    dz = places[node, 2] - places[other, 2] if is_3d else 0.0
                    if dx * dx + dy * dy + dz * dz < radius * radius:
                        for word in range(words):
                            is_taken[at, word] |= alike_headings[word]
                    at = next_in_chain[at]
    return count
