"""Turn a binary tree of boxes into nodes of several children, which a ray tests at once.

Which nodes of the binary tree stay is chosen so that their areas sum to the least.  With
c(v, k) the sum below v when it fills at most k places of the node above it, and v left and right
its children,

    c(v, k) = min over 0 < i < k of c(left, i) + c(right, k − i), and c(v, k − 1),             (1)
    c(v, 1) = area(v) + min over 0 < i < NODE_WIDTH of c(left, i) + c(right, NODE_WIDTH − i),

and c = 0 for a leaf.  The float32 boxes are relative to the middle of the mesh and grown by a few
units in the last place of its extent, so that rounding never loses one.
"""

import platform

import numpy as np

from isovist.compute.infra.compiled import kernel, subroutine
from isovist.compute.trees.build import half_area

NODE_WIDTH = 4 if platform.machine() in ("aarch64", "arm64") else 8
"""Children of a node: as many singles as one vector of the machine holds."""
NODE_ROWS = 8
"""Of a node, as whole lines of cache: least and greatest x, y, z, children, and one of nothing."""
CHILD_ROW = 6  # the row of children
EMPTY_BOX = np.float32(3e37)
BOX_MARGIN = 4e-7  # of the extent, added to every box: 4 times the rounding of a float32


@subroutine
def _split_places(lo, hi, children):
    """Return how many of k places the left child of each node gets in (1), shape (n, NODE_WIDTH).

    0 stands for c(v, k − 1).  Those for k = 1 are of the node's own `NODE_WIDTH` places.
    """
    n = len(lo)
    cost, shares = np.zeros((n, NODE_WIDTH), np.float32), np.zeros((n, NODE_WIDTH), np.uint8)
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
        for places in range(1, NODE_WIDTH + 1):
            capacity = NODE_WIDTH if places == 1 else places
            best = np.float32(np.inf) if places == 1 else cost[node, places - 2]
            for i in range(1, capacity):
                sums = cost[left, i - 1] + cost[right, capacity - i - 1]
                if sums < best:
                    best, shares[node, places - 1] = sums, i
            if places == 1:
                best += np.float32(half_area(lo[node], hi[node]))
            cost[node, places - 1] = best
    return shares


@kernel(
    "f8[:,::1], f8[:,::1], i8[:,::1], i8[::1], f8[::1], f8 -> f4[:,:,::1], i4[:,:,::1], i8[:,::1]"
)
def flatten_tree(lo, hi, children, order, centre, margin, boxes, child, groups):
    """Make nodes of `NODE_WIDTH` children from a tree of `compute.trees.build`.

    Args:
        lo: Least corners of the boxes of the binary tree, shape (n, 3).
        hi: Greatest corners, shape (n, 3).
        children: Children of `compute.trees.build`, shape (n, 2).
        order: Faces, leaf by leaf, shape (m,).
        centre: Middle of the mesh, shape (3,).
        margin: Added to every box, in m.
        boxes: Output, rows least x, y, z, greatest x, y, z, shape (w, NODE_ROWS, NODE_WIDTH). Empty
            places have boxes that nothing meets.
        child: The same memory as int32. Its row of children has a node, or
            −1 − (8 · group + faces − 1) for a leaf.
        groups: Output, faces of each leaf, shape (g, LEAF_FACES); the rest stays as it is.

    Returns:
        Number of nodes, number of groups, and how many nodes may wait while a ray is followed.
        There are at most as many nodes, and groups, as nodes in the binary tree.
    """
    shares = _split_places(lo, hi, children)
    slots, split = np.empty(NODE_WIDTH, np.int64), np.empty((NODE_WIDTH, 2), np.int64)
    stack = np.empty((len(lo) + 1, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, -1, 1
    top, node_count, leaves, deepest = 1, 0, 0, 1
    while top > 0:
        top -= 1
        root, parent, waiting = stack[top, 0], stack[top, 1], stack[top, 2]
        wide = node_count
        node_count += 1
        if parent >= 0:
            child[parent // NODE_WIDTH, CHILD_ROW, parent % NODE_WIDTH] = wide
        split[0, 0], split[0, 1], left, slot_count = root, NODE_WIDTH, 1, 0
        while left > 0:
            left -= 1
            node, places = split[left, 0], split[left, 1]
            row = 0 if node == root else places - 1
            while row > 0 and shares[node, row] == 0:
                row -= 1
            if children[node, 0] < 0 or (row == 0 and node != root):
                slots[slot_count] = node
                slot_count += 1
                continue
            share = shares[node, row]
            places = NODE_WIDTH if row == 0 else row + 1
            split[left, 0], split[left, 1] = children[node, 0], share
            split[left + 1, 0], split[left + 1, 1] = children[node, 1], places - share
            left += 2
        waiting += slot_count - 1
        deepest = max(deepest, waiting)
        for s in range(NODE_WIDTH):
            if s >= slot_count:
                boxes[wide, :3, s], boxes[wide, 3:6, s] = EMPTY_BOX, -EMPTY_BOX
                child[wide, CHILD_ROW, s] = -1
                continue
            node = slots[s]
            for k in range(3):
                boxes[wide, k, s] = lo[node, k] - centre[k] - margin
                boxes[wide, 3 + k, s] = hi[node, k] - centre[k] + margin
            first, count = -1 - children[node, 0], children[node, 1]
            if first >= 0:
                child[wide, CHILD_ROW, s] = -1 - (8 * leaves + count - 1)
                for k in range(count):
                    groups[leaves, k] = order[first + k]
                leaves += 1
            else:
                stack[top, 0], stack[top, 1], stack[top, 2] = node, NODE_WIDTH * wide + s, waiting
                top += 1
    return node_count, leaves, deepest
