"""Build a bounding-volume hierarchy over boxes, in any dimension.

Nodes are numbered so that the left child of node k is k + 1 and `link[k]` is its right child;
a leaf has `count[k] > 0` boxes, which stand at `link[k]`, … in `order`.
"""

import numpy as np

from isovist.compute.infra.compiled import kernel, subroutine

MAX_LEAF_BOXES = 4


@subroutine
def _sort(order, spare, first, last, centre, axis):
    """Sort order[first:last] by centre[:, axis], stably.

    A merge sort of our own: NumPy's takes five times as long to compile.
    """
    width = 1
    while width < last - first:
        for start in range(first, last, 2 * width):
            middle, end = min(start + width, last), min(start + 2 * width, last)
            i, j = start, middle
            for k in range(start, end):
                left = j >= end
                if not left and i < middle:
                    left = centre[order[i], axis] <= centre[order[j], axis]
                if left:
                    spare[k] = order[i]
                    i += 1
                else:
                    spare[k] = order[j]
                    j += 1
        for k in range(first, last):
            order[k] = spare[k]
        width *= 2


@kernel("f8[:,::1], f8[:,::1] -> f8[:,::1], f8[:,::1], i8[::1], i8[::1], i8[::1]")
def build_bvh(lo, hi, node_lo, node_hi, link, count, order):
    """Split boxes at the median of the longest side down to `MAX_LEAF_BOXES` per leaf.

    Args:
        lo: Least corners of the boxes, shape (m, d).
        hi: Greatest corners, shape (m, d).
        node_lo: Output, least corners of the nodes, shape (2m, d).
        node_hi: Output, greatest corners, shape (2m, d).
        link: Output, right child or first box of each node, shape (2m,).
        count: Output, number of boxes of each leaf, 0 for other nodes, shape (2m,).
        order: Output, indices of the boxes leaf by leaf, shape (m,).

    Returns:
        Number of nodes.
    """
    m, d = lo.shape
    centre, spare = np.empty((m, d)), np.empty(m, np.int64)
    for i in range(m):
        order[i] = i
        for k in range(d):
            centre[i, k] = 0.5 * (lo[i, k] + hi[i, k])
    node_count = 0
    # Stack of ranges that become nodes; `parent` is patched for right children.
    stack = np.empty((128, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, m, -1
    top = 1
    while top > 0:
        top -= 1
        first, last, parent = stack[top, 0], stack[top, 1], stack[top, 2]
        node = node_count
        node_count += 1
        if parent >= 0:
            link[parent] = node
        spread_axis = 0
        spread = -1.0
        for k in range(d):
            a, b = np.inf, -np.inf
            ca, cb = np.inf, -np.inf
            for i in range(first, last):
                j = order[i]
                a = min(a, lo[j, k])
                b = max(b, hi[j, k])
                ca = min(ca, centre[j, k])
                cb = max(cb, centre[j, k])
            node_lo[node, k], node_hi[node, k] = a, b
            if cb - ca > spread:
                spread, spread_axis = cb - ca, k
        if last - first <= MAX_LEAF_BOXES:
            link[node], count[node] = first, last - first
            continue
        count[node] = 0
        _sort(order, spare, first, last, centre, spread_axis)
        middle = (first + last) // 2
        stack[top, 0], stack[top, 1], stack[top, 2] = middle, last, node
        top += 1
        stack[top, 0], stack[top, 1], stack[top, 2] = first, middle, -1
        top += 1
    return node_count
