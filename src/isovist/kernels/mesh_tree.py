"""A tree of boxes over triangles, with several children to a node.

It is built by the surface-area heuristic over bins and then flattened.  The faces of a leaf are a
group of `LEAF`, as they are tested together.  The float32 boxes are
relative to the middle of the mesh and grown by a few units in the last place of its extent, so
that rounding never loses one.
"""

import platform

import numpy as np

from isovist.kernels.compiled import inner, kernel

WIDE = 4 if platform.machine() in ("aarch64", "arm64") else 8
"""Children of a node: as many singles as one vector of the machine holds."""
BINS = 16
LEAF = 4
DEEP = 48  # beyond this depth halves are split at the median, so the stacks below suffice
STACK = 256
BIG = np.float32(3e37)
GROWN = 4e-7  # of the extent, added to every box: 4 times the rounding of a float32


@inner
def _half_area(lo, hi):
    x, y, z = hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]
    return x * y + y * z + z * x


@inner
def _groups(count):
    """How many groups so many faces fill."""
    return (count + LEAF - 1) // LEAF


@inner
def _split(lo, hi, order, first, last, bin_lo, bin_hi, bin_count, right_cost):
    """Best plane by the surface-area heuristic.  Returns (axis, least centre, bins per m, bin).

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
            right_cost[b] = _groups(count) * _half_area(run_lo, run_hi) if count > 0 else 0.0
        run_lo[:], run_hi[:] = np.inf, -np.inf
        count = 0
        for b in range(BINS - 1):
            count += bin_count[b]
            for k in range(3):
                run_lo[k], run_hi[k] = min(run_lo[k], bin_lo[b, k]), max(run_hi[k], bin_hi[b, k])
            if 0 < count < last - first:
                cost = _groups(count) * _half_area(run_lo, run_hi) + right_cost[b + 1]
                if cost < best:
                    best, best_axis, best_bin = cost, axis, b
    if best_axis < 0:
        return 0, 0.0, 0.0, -1
    scale = BINS * (1.0 - 1e-9) / (c_hi[best_axis] - c_lo[best_axis])
    return best_axis, c_lo[best_axis], scale, best_bin


@kernel("f8[:,::1], f8[:,::1] -> i8[::1], f8[:,::1], f8[:,::1], i8[::1], i8[::1]")
def build_tree(lo, hi, order, node_lo, node_hi, link, count):
    """Binary tree over boxes lo, hi (m, 3), numbered as in `kernels.bvh`.

    Outputs: order (m,); node_lo, node_hi (2m, 3), link, count (2m,).  Returns the nodes used.
    """
    m = len(lo)
    for i in range(m):
        order[i] = i
    bin_lo, bin_hi = np.empty((BINS, 3)), np.empty((BINS, 3))
    bin_count, right_cost = np.empty(BINS, np.int64), np.empty(BINS)
    scratch = np.empty(m, order.dtype)
    stack = np.empty((STACK, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, m, -1, 0
    top, used = 1, 0
    while top > 0:
        top -= 1
        first, last, parent, depth = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        node = used
        used += 1
        if parent >= 0:
            link[parent] = node
        for k in range(3):
            a, b = np.inf, -np.inf
            for i in range(first, last):
                a, b = min(a, lo[order[i], k]), max(b, hi[order[i], k])
            node_lo[node, k], node_hi[node, k] = a, b
        middle = -1
        if last - first > LEAF:
            axis, start, scale, cut = _split(
                lo, hi, order, first, last, bin_lo, bin_hi, bin_count, right_cost
            )
            if cut >= 0 and depth < DEEP:
                middle, behind = first, 0
                for i in range(first, last):
                    j = order[i]
                    if int((0.5 * (lo[j, axis] + hi[j, axis]) - start) * scale) <= cut:
                        order[middle] = j
                        middle += 1
                    else:
                        scratch[behind] = j
                        behind += 1
                for i in range(behind):
                    order[middle + i] = scratch[i]
            else:
                middle = (first + last) // 2
        if middle < 0:
            link[node], count[node] = first, last - first
            continue
        count[node] = 0
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = middle, last, node, depth + 1
        top += 1
        stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = first, middle, -1, depth + 1
        top += 1
    return used


@kernel(
    "f8[:,::1], f8[:,::1], i8[::1], i8[::1], i8[::1], f8[::1], f8 "
    "-> f4[:,:,::1], i4[:,:], i8[:,::1]"
)
def flatten_tree(node_lo, node_hi, link, count, order, centre, grown, boxes, child, groups):
    """Nodes of `WIDE` children from a binary tree.

    Outputs: boxes (w, 8, WIDE) float32, rows least x, y, z, greatest x, y, z; child (w, WIDE)
    int32, ≥ 0 for a node, else −1 − (8 · group + faces − 1) for a leaf; groups (g, LEAF), the
    faces of each leaf, the rest left as it is.  Empty slots have boxes that nothing meets.  Returns
    the nodes and the groups used; there are at most as many of either as nodes in the binary tree.
    """
    slots, found = np.empty(WIDE, np.int64), 0
    stack = np.empty((STACK, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, -1
    top, used, leaves = 1, 0, 0
    while top > 0:
        top -= 1
        root, parent = stack[top, 0], stack[top, 1]
        wide = used
        used += 1
        if parent >= 0:
            child[parent // WIDE, parent % WIDE] = wide
        slots[0], found = root, 1
        if count[root] == 0:
            slots[0], slots[1], found = root + 1, link[root], 2
        while found < WIDE:
            widest, area = -1, -1.0
            for s in range(found):
                if count[slots[s]] == 0:
                    size = _half_area(node_lo[slots[s]], node_hi[slots[s]])
                    if size > area:
                        widest, area = s, size
            if widest < 0:
                break
            node = slots[widest]
            slots[widest], slots[found] = node + 1, link[node]
            found += 1
        for s in range(WIDE):
            if s >= found:
                boxes[wide, :3, s], boxes[wide, 3:6, s], child[wide, s] = BIG, -BIG, -1
                continue
            node = slots[s]
            for k in range(3):
                boxes[wide, k, s] = node_lo[node, k] - centre[k] - grown
                boxes[wide, 3 + k, s] = node_hi[node, k] - centre[k] + grown
            if count[node] > 0:
                child[wide, s] = -1 - (8 * leaves + count[node] - 1)
                for k in range(count[node]):
                    groups[leaves, k] = order[link[node] + k]
                leaves += 1
            else:
                stack[top, 0], stack[top, 1] = node, WIDE * wide + s
                top += 1
    return used, leaves
