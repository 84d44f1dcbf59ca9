"""Improve a tree of boxes: move nodes to where they enlarge other boxes least.

Splitting from above puts a large face, such as a floor, into one box with small faces near its
middle, at every level. So each node x is removed with its subtree, and inserted beside the node y
for which

    area(x ∪ y) + Σ_a (area(a ∪ x) − area(a)),   a the nodes above y,                          (1)

is least, which never makes the sum of the areas larger.  The search goes from the root, the least
sum first, and ends when no sum can be less than what was found, as area(x ∪ y) ≥ area(x).
"""

import numpy as np

from isovist.compute.infra.compiled import kernel, subroutine
from isovist.compute.trees.build import half_area

ROUNDS = 2
"""Rounds over all nodes. In the hall of `benchmarks.mesh`, nodes have 32 times the area of the
root; the first round saves 6 of these, the second 0.6, a third would save 0.1."""
MAX_PLACES = 64
"""Largest number of places tried for a node: 30 on average, all places where all boxes overlap."""


@subroutine
def _joint_area(lo, hi, a, b):
    """Return half the surface area of the box around two nodes."""
    x = max(hi[a, 0], hi[b, 0]) - min(lo[a, 0], lo[b, 0])
    y = max(hi[a, 1], hi[b, 1]) - min(lo[a, 1], lo[b, 1])
    z = max(hi[a, 2], hi[b, 2]) - min(lo[a, 2], lo[b, 2])
    return x * y + y * z + z * x


@subroutine
def _refit(lo, hi, children, parent, node):
    """Fit the box of a node to its children, and the boxes above as far as they change."""
    changed = True
    while changed and node >= 0:
        a, b = children[node, 0], children[node, 1]
        changed = False
        for k in range(3):
            low, high = min(lo[a, k], lo[b, k]), max(hi[a, k], hi[b, k])
            changed |= low != lo[node, k] or high != hi[node, k]
            lo[node, k], hi[node, k] = low, high
        node = parent[node]


@subroutine
def _push(sums, queue, count, growth, node):
    """Add a node to a queue of `count` nodes, ordered by the growth of areas."""
    at = count
    while at > 0 and sums[(at - 1) // 2] > growth:
        sums[at], queue[at] = sums[(at - 1) // 2], queue[(at - 1) // 2]
        at = (at - 1) // 2
    sums[at], queue[at] = growth, node


@subroutine
def _pop(sums, queue, count):
    """Remove the first node of a queue, which leaves count − 1."""
    growth, node, at = sums[count - 1], queue[count - 1], 0
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and sums[below + 1] < sums[below]:
            below += 1
        if sums[below] >= growth:
            break
        sums[at], queue[at] = sums[below], queue[below]
        at = below
    sums[at], queue[at] = growth, node


@subroutine
def _best_place(lo, hi, children, parent, node, sibling, sums, queue):
    """Find where (1) is least for a node that was taken out.

    Returns `sibling`, its place before, unless another place costs less.
    """
    best = _joint_area(lo, hi, node, sibling)
    above = parent[sibling]
    while above >= 0:
        best += _joint_area(lo, hi, node, above) - half_area(lo[above], hi[above])
        above = parent[above]
    best *= 1.0 - 1e-9  # rounding moves nothing
    area = half_area(lo[node], hi[node])
    sums[0], queue[0], count = 0.0, 0, 1
    for _ in range(MAX_PLACES):
        if count == 0 or sums[0] + area >= best:
            break
        growth, at = sums[0], queue[0]
        _pop(sums, queue, count)
        count -= 1
        joint = _joint_area(lo, hi, node, at)
        if at > 0 and growth + joint < best:
            best, sibling = growth + joint, at
        growth += joint - half_area(lo[at], hi[at])
        if children[at, 0] >= 0 and growth + area < best:
            for k in range(2):
                _push(sums, queue, count, growth, children[at, k])
                count += 1
    return sibling


@kernel("-> f8[:,::1], f8[:,::1], i8[:,::1]")
def move_nodes(lo, hi, children):
    """Improve a tree of `compute.trees.build` in place; its root stays node 0.

    Args:
        lo: Least corners of the boxes, shape (n, 3).
        hi: Greatest corners, shape (n, 3).
        children: Children of the nodes, shape (n, 2).
    """
    n = len(lo)
    parent = np.full(n, -1)
    for node in range(n):
        if children[node, 0] >= 0:
            parent[children[node, 0]] = parent[children[node, 1]] = node
    sums, queue = np.empty(2 * MAX_PLACES + 1), np.empty(2 * MAX_PLACES + 1, np.int64)
    for _ in range(ROUNDS):
        for node in range(1, n):
            joint = parent[node]
            above = parent[joint]
            if above < 0:
                continue
            other = children[joint, 0] + children[joint, 1] - node
            children[above, 0 if children[above, 0] == joint else 1] = other
            parent[other] = above
            _refit(lo, hi, children, parent, above)
            sibling = _best_place(lo, hi, children, parent, node, other, sums, queue)
            above = parent[sibling]
            children[above, 0 if children[above, 0] == sibling else 1] = joint
            children[joint, 0], children[joint, 1] = sibling, node
            parent[joint], parent[sibling], parent[node] = above, joint, joint
            lo[joint, 0] = np.inf  # known to have changed
            _refit(lo, hi, children, parent, joint)
