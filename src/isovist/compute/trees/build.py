"""Build a binary tree of boxes over triangles by the surface-area heuristic over bins.

How many boxes a ray enters is about the sum of their areas over that of the root, so that the best
tree has the least.  `compute.trees.improve` betters this one, and `compute.trees.flatten` makes of
it what rays are followed through.
"""

import numpy as np

from isovist.compute.infra.compiled import kernel, subroutine

BINS = 16
LEAF_FACES = 4  # faces of a leaf, as they are tested together
MAX_SPLIT_DEPTH = (
    48  # beyond this depth halves are split at the median, so the stack below suffices
)
STACK_SIZE = 128


@subroutine
def half_area(lo, hi):
    """Return half the surface area of a box."""
    x, y, z = hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]
    return x * y + y * z + z * x


@subroutine
def _group_count(count):
    """Return how many groups of `LEAF_FACES` a number of faces fills."""
    return (count + LEAF_FACES - 1) // LEAF_FACES


@subroutine
def _split(lo, hi, order, first, last, bin_lo, bin_hi, bin_count, right_cost):
    """Find the best plane by the surface-area heuristic.

    Returns (axis, least centre, bins per m, bin).

    Bin is −1 when there is no plane.
    """
    c_lo, c_hi = np.full(3, np.inf), np.full(3, -np.inf)
    for i in range(first, last):
        j = order[i]
        for k in range(3):
            centre = 0.5 * (lo[j, k] + hi[j, k])
            c_lo[k], c_hi[k] = min(c_lo[k], centre), max(c_hi[k], centre)
    best = np.inf
    best_axis, best_bin = -1, -1
    run_lo, run_hi = np.empty(3), np.empty(3)
    for axis in range(3):
        width = c_hi[axis] - c_lo[axis]
        if not width > 0.0:
            continue
        scale = BINS * (1.0 - 1e-9) / width
        bin_lo[:], bin_hi[:], bin_count[:] = np.inf, -np.inf, 0
        for i in range(first, last):
            j = order[i]
            b = int((0.5 * (lo[j, axis] + hi[j, axis]) - c_lo[axis]) * scale)
            bin_count[b] += 1
            for k in range(3):
                bin_lo[b, k] = min(bin_lo[b, k], lo[j, k])
                bin_hi[b, k] = max(bin_hi[b, k], hi[j, k])
        run_lo[:], run_hi[:] = np.inf, -np.inf
        count = 0
        for b in range(BINS - 1, 0, -1):
            count += bin_count[b]
            for k in range(3):
                run_lo[k], run_hi[k] = min(run_lo[k], bin_lo[b, k]), max(run_hi[k], bin_hi[b, k])
            right_cost[b] = _group_count(count) * half_area(run_lo, run_hi) if count > 0 else 0.0
        run_lo[:], run_hi[:] = np.inf, -np.inf
        count = 0
        for b in range(BINS - 1):
            count += bin_count[b]
            for k in range(3):
                run_lo[k], run_hi[k] = min(run_lo[k], bin_lo[b, k]), max(run_hi[k], bin_hi[b, k])
            if 0 < count < last - first:
                cost = _group_count(count) * half_area(run_lo, run_hi) + right_cost[b + 1]
                if cost < best:
                    best, best_axis, best_bin = cost, axis, b
    if best_axis < 0:
        return 0, 0.0, 0.0, -1
    scale = BINS * (1.0 - 1e-9) / (c_hi[best_axis] - c_lo[best_axis])
    return best_axis, c_lo[best_axis], scale, best_bin


@kernel("f8[:,::1], f8[:,::1] -> i8[::1], f8[:,::1], f8[:,::1], i8[:,::1]")
def build_tree(lo, hi, order, node_lo, node_hi, children):
    """Build a binary tree over boxes; its root is node 0.

    Args:
        lo: Least corners of the boxes, shape (m, 3).
        hi: Greatest corners, shape (m, 3).
        order: Output, indices of the boxes leaf by leaf, shape (m,).
        node_lo: Output, least corners of the nodes, shape (2m, 3).
        node_hi: Output, greatest corners, shape (2m, 3).
        children: Output, two nodes, or −1 − first place of a leaf in `order` and its number of
            boxes, shape (2m, 2).

    Returns:
        Number of nodes.
    """
    m = len(lo)
    for i in range(m):
        order[i] = i
    bin_lo, bin_hi = np.empty((BINS, 3)), np.empty((BINS, 3))
    bin_count, right_cost = np.empty(BINS, np.int64), np.empty(BINS)
    scratch = np.empty(m, order.dtype)
    stack = np.empty((STACK_SIZE, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, m, -1, 0
    top, node_count = 1, 0
    while top > 0:
        top -= 1
        first, last, parent, depth = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        node = node_count
        node_count += 1
        if parent >= 0:
            children[parent, 1] = node
        for k in range(3):
            a, b = np.inf, -np.inf
            for i in range(first, last):
                a, b = min(a, lo[order[i], k]), max(b, hi[order[i], k])
            node_lo[node, k], node_hi[node, k] = a, b
        if last - first <= LEAF_FACES:
            children[node, 0], children[node, 1] = -1 - first, last - first
            continue
        axis, start, scale, split_bin = _split(
            lo, hi, order, first, last, bin_lo, bin_hi, bin_count, right_cost
        )
        if split_bin >= 0 and depth < MAX_SPLIT_DEPTH:
            middle, right_count = first, 0
            for i in range(first, last):
                j = order[i]
                if int((0.5 * (lo[j, axis] + hi[j, axis]) - start) * scale) <= split_bin:
                    order[middle] = j
                    middle += 1
                else:
                    scratch[right_count] = j
                    right_count += 1
            for i in range(right_count):
                order[middle + i] = scratch[i]
        else:
            middle = (first + last) // 2
        children[node, 0] = node + 1
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = middle, last, node, depth + 1
        top += 1
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = first, middle, -1, depth + 1
        top += 1
    return node_count
