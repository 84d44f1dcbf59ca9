"""A bounding-volume hierarchy over boxes, in any dimension.

Nodes are numbered so that the left child of node k is k + 1 and `link[k]` is its right child;
a leaf has `count[k] > 0` boxes, which stand at `link[k]`, … in `order`.
"""

import numpy as np
from numba import njit

LEAF = 4


@njit(cache=True, nogil=True)
def build_bvh(lo, hi, node_lo, node_hi, link, count, order):
    """Split at the median of the longest side until at most LEAF boxes are left.

    lo, hi: corners of the boxes (m, d).  Outputs: node_lo, node_hi (2m, d), link, count (2m,),
    order (m,).  Returns the number of nodes used.
    """
    m, d = lo.shape
    centre = np.empty((m, d))
    for i in range(m):
        order[i] = i
        for k in range(d):
            centre[i, k] = 0.5 * (lo[i, k] + hi[i, k])
    used = 0
    # A stack of ranges still to be made into nodes; `parent` is patched for right children.
    stack = np.empty((128, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, m, -1
    top = 1
    while top > 0:
        top -= 1
        first, last, parent = stack[top, 0], stack[top, 1], stack[top, 2]
        node = used
        used += 1
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
        if last - first <= LEAF:
            link[node], count[node] = first, last - first
            continue
        count[node] = 0
        keys = np.empty(last - first)
        for i in range(first, last):
            keys[i - first] = centre[order[i], spread_axis]
        order[first:last] = order[first:last][np.argsort(keys, kind="mergesort")]
        middle = (first + last) // 2
        stack[top, 0], stack[top, 1], stack[top, 2] = middle, last, node
        top += 1
        stack[top, 0], stack[top, 1], stack[top, 2] = first, middle, -1
        top += 1
    return used
