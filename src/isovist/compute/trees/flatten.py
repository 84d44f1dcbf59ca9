"""Nodes of several children from a binary tree of boxes, as a ray enters them at once.

Which nodes of the binary tree stay is chosen so that their areas sum to the least.  With
c(v, k) the sum below v when it fills at most k places of the node above it, and v left and right
its children,

    c(v, k) = min over 0 < i < k of c(left, i) + c(right, k − i), and c(v, k − 1),             (1)
    c(v, 1) = area(v) + min over 0 < i < WIDE of c(left, i) + c(right, WIDE − i),

and c = 0 for a leaf.  The float32 boxes are relative to the middle of the mesh and grown by a few
units in the last place of its extent, so that rounding never loses one.
"""

import platform

import numpy as np

from isovist.compute.infra.compiled import inner, kernel
from isovist.compute.trees.build import half_area

WIDE = 4 if platform.machine() in ("aarch64", "arm64") else 8
"""Children of a node: as many singles as one vector of the machine holds."""
ROWS = 8
"""Of a node, as whole lines of cache: least and greatest x, y, z, children, and one of nothing."""
CHILD = 6  # the row of children
BIG = np.float32(3e37)
GROWN = 4e-7  # of the extent, added to every box: 4 times the rounding of a float32


@inner
def _share(lo, hi, children):
    """How many of k places the left child of each node gets in (1), shape (n, WIDE).

    0 stands for c(v, k − 1).  Those for k = 1 are of the node's own `WIDE` places.
    """
    n = len(lo)
    cost, shares = np.zeros((n, WIDE), np.float32), np.zeros((n, WIDE), np.uint8)
    down, listed = np.zeros(n, np.int64), 1
    for k in range(n):
        left = children[down[k], 0]
        if left >= 0:
            down[listed], down[listed + 1] = left, children[down[k], 1]
            listed += 2
    for k in range(n - 1, -1, -1):
        node = down[k]
        left, right = children[node, 0], children[node, 1]
        if left < 0:
            continue
        for places in range(1, WIDE + 1):
            whole = WIDE if places == 1 else places
            best = np.float32(np.inf) if places == 1 else cost[node, places - 2]
            for i in range(1, whole):
                sums = cost[left, i - 1] + cost[right, whole - i - 1]
                if sums < best:
                    best, shares[node, places - 1] = sums, i
            if places == 1:
                best += np.float32(half_area(lo[node], hi[node]))
            cost[node, places - 1] = best
    return shares


@kernel(
    "f8[:,::1], f8[:,::1], i8[:,::1], i8[::1], f8[::1], f8 -> f4[:,:,::1], i4[:,:,::1], i8[:,::1]"
)
def flatten_tree(lo, hi, children, order, centre, grown, boxes, child, groups):
    """Nodes of `WIDE` children from a tree of `compute.trees.build`.

    Outputs: boxes (w, ROWS, WIDE) float32 and child, the same memory as int32: rows least x, y, z,
    greatest x, y, z and, in child, a node or −1 − (8 · group + faces − 1) for a leaf; groups
    (g, LEAF), the faces of each leaf, the rest left as it is.  Empty places have boxes that nothing
    meets.  Returns the nodes and the groups used, at most as many of either as nodes in the binary
    tree, and how many nodes may wait while a ray is followed.
    """
    shares = _share(lo, hi, children)
    slots, split = np.empty(WIDE, np.int64), np.empty((WIDE, 2), np.int64)
    stack = np.empty((len(lo) + 1, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, -1, 1
    top, used, leaves, deepest = 1, 0, 0, 1
    while top > 0:
        top -= 1
        root, parent, waiting = stack[top, 0], stack[top, 1], stack[top, 2]
        wide = used
        used += 1
        if parent >= 0:
            child[parent // WIDE, CHILD, parent % WIDE] = wide
        split[0, 0], split[0, 1], left, found = root, WIDE, 1, 0
        while left > 0:
            left -= 1
            node, places = split[left, 0], split[left, 1]
            row = 0 if node == root else places - 1
            while row > 0 and shares[node, row] == 0:
                row -= 1
            if children[node, 0] < 0 or (row == 0 and node != root):
                slots[found] = node
                found += 1
                continue
            share = shares[node, row]
            places = WIDE if row == 0 else row + 1
            split[left, 0], split[left, 1] = children[node, 0], share
            split[left + 1, 0], split[left + 1, 1] = children[node, 1], places - share
            left += 2
        waiting += found - 1
        deepest = max(deepest, waiting)
        for s in range(WIDE):
            if s >= found:
                boxes[wide, :3, s], boxes[wide, 3:6, s] = BIG, -BIG
                child[wide, CHILD, s] = -1
                continue
            node = slots[s]
            for k in range(3):
                boxes[wide, k, s] = lo[node, k] - centre[k] - grown
                boxes[wide, 3 + k, s] = hi[node, k] - centre[k] + grown
            first, count = -1 - children[node, 0], children[node, 1]
            if first >= 0:
                child[wide, CHILD, s] = -1 - (8 * leaves + count - 1)
                for k in range(count):
                    groups[leaves, k] = order[first + k]
                leaves += 1
            else:
                stack[top, 0], stack[top, 1], stack[top, 2] = node, WIDE * wide + s, waiting
                top += 1
    return used, leaves, deepest
