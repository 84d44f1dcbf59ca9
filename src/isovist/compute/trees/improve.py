"""A better tree of boxes: parts of it move to where they make other boxes least larger.

Splitting from above puts large faces, a floor say, into the same box as whatever small ones have
their middle nearby, at every level anew.  So each node in turn is taken out with all that is below
it and put back beside the node y for which

    area(x ∪ y) + Σ_a (area(a ∪ x) − area(a)),   a the nodes above y,                          (1)

is least, which never makes the sum of the areas larger.  The search goes from the root, the least
sum first, and ends when no sum can be less than what was found, as area(x ∪ y) ≥ area(x).
"""

import numpy as np

from isovist.compute.infra.compiled import inner, kernel
from isovist.compute.trees.build import half_area

ROUNDS = 2
"""How often all are tried: the nodes of the hall of `benchmarks.mesh` have 32 times the area of the
root, of which the first takes away 6, the next 0.6 and a third 0.1."""
TRIED = 64
"""Places tried for a node at most: 30 are on average, but all there are where all boxes overlap."""


@inner
def _joint_area(lo, hi, a, b):
    x = max(hi[a, 0], hi[b, 0]) - min(lo[a, 0], lo[b, 0])
    y = max(hi[a, 1], hi[b, 1]) - min(lo[a, 1], lo[b, 1])
    z = max(hi[a, 2], hi[b, 2]) - min(lo[a, 2], lo[b, 2])
    return x * y + y * z + z * x


@inner
def _fit(lo, hi, children, parent, node):
    """Make the box of a node that of its children, and so those above it as far as they change."""
    changed = True
    while changed and node >= 0:
        a, b = children[node, 0], children[node, 1]
        changed = False
        for k in range(3):
            low, high = min(lo[a, k], lo[b, k]), max(hi[a, k], hi[b, k])
            changed |= low != lo[node, k] or high != hi[node, k]
            lo[node, k], hi[node, k] = low, high
        node = parent[node]


@inner
def _push(sums, queue, count, grown, node):
    at = count
    while at > 0 and sums[(at - 1) // 2] > grown:
        sums[at], queue[at] = sums[(at - 1) // 2], queue[(at - 1) // 2]
        at = (at - 1) // 2
    sums[at], queue[at] = grown, node


@inner
def _pop(sums, queue, count):
    """Drop the first of a queue, of which count − 1 are left."""
    grown, node, at = sums[count - 1], queue[count - 1], 0
    while 2 * at + 1 < count:
        below = 2 * at + 1
        if below + 1 < count and sums[below + 1] < sums[below]:
            below += 1
        if sums[below] >= grown:
            break
        sums[at], queue[at] = sums[below], queue[below]
        at = below
    sums[at], queue[at] = grown, node


@inner
def _best_place(lo, hi, children, parent, node, beside, sums, queue):
    """Where (1) is least for a node that was taken out; `beside`, where it was, unless less."""
    best = _joint_area(lo, hi, node, beside)
    above = parent[beside]
    while above >= 0:
        best += _joint_area(lo, hi, node, above) - half_area(lo[above], hi[above])
        above = parent[above]
    best *= 1.0 - 1e-9  # rounding moves nothing
    area = half_area(lo[node], hi[node])
    sums[0], queue[0], count = 0.0, 0, 1
    for _ in range(TRIED):
        if count == 0 or sums[0] + area >= best:
            break
        grown, at = sums[0], queue[0]
        _pop(sums, queue, count)
        count -= 1
        joint = _joint_area(lo, hi, node, at)
        if at > 0 and grown + joint < best:
            best, beside = grown + joint, at
        grown += joint - half_area(lo[at], hi[at])
        if children[at, 0] >= 0 and grown + area < best:
            for k in range(2):
                _push(sums, queue, count, grown, children[at, k])
                count += 1
    return beside


@kernel("-> f8[:,::1], f8[:,::1], i8[:,::1]")
def move_nodes(lo, hi, children):
    """Better a tree of `compute.trees.build` in place; its root stays node 0.

    lo, hi (n, 3), children (n, 2).
    """
    n = len(lo)
    parent = np.full(n, -1)
    for node in range(n):
        if children[node, 0] >= 0:
            parent[children[node, 0]] = parent[children[node, 1]] = node
    sums, queue = np.empty(2 * TRIED + 1), np.empty(2 * TRIED + 1, np.int64)
    for _ in range(ROUNDS):
        for node in range(1, n):
            joint = parent[node]
            above = parent[joint]
            if above < 0:
                continue
            other = children[joint, 0] + children[joint, 1] - node
            children[above, 0 if children[above, 0] == joint else 1] = other
            parent[other] = above
            _fit(lo, hi, children, parent, above)
            beside = _best_place(lo, hi, children, parent, node, other, sums, queue)
            above = parent[beside]
            children[above, 0 if children[above, 0] == beside else 1] = joint
            children[joint, 0], children[joint, 1] = beside, node
            parent[joint], parent[beside], parent[node] = above, joint, joint
            lo[joint, 0] = np.inf  # known to have changed
            _fit(lo, hi, children, parent, joint)
