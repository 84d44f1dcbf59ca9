"""Rays among triangles: a wide bounding-volume hierarchy and a watertight hit.

The tree is built by the surface-area heuristic over bins and then flattened to nodes of four
children, whose float32 boxes stand side by side, so that one node is tested in vector code.
Boxes are relative to the middle of the mesh and grown by a few units in the last place of its
extent; a ray is first moved to where it enters the mesh.  So rounding never loses a box.

The hit itself is float64.  A ray is sheared on to the axis of its largest component and the
three edge functions are

    e_a = c_x b_y − c_y b_x,   e_b = a_x c_y − a_y c_x,   e_c = b_x a_y − b_y a_x,             (1)

with a, b, c the sheared corners relative to the origin.  Rounding is monotone, so a computed e is
0 or has the true sign for these corners; faces that share an edge compute it from the same two
corners up to the sign.  A face is met when no two of its e differ in sign, 0 being neither: a ray
through a shared edge or corner meets at least one of the faces and never leaks.  Of faces met at
the same distance the one with the smaller index wins.
"""

import numpy as np
from llvmlite import ir
from numba import njit, prange, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

BINS = 16
LEAF = 4
DEEP = 48  # beyond this depth halves are split at the median, so the stacks below suffice
STACK = 256
BIG = np.float32(3e37)
GROWN = 4e-7  # of the extent, added to every box: 4 times the rounding of a float32
WIDER = np.float32(1.0 + 1e-6)  # of the distance at which a ray leaves a box


@njit(cache=True, nogil=True)
def _half_area(lo, hi):
    x, y, z = hi[0] - lo[0], hi[1] - lo[1], hi[2] - lo[2]
    return x * y + y * z + z * x


@njit(cache=True, nogil=True)
def _split(lo, hi, order, first, last, bin_lo, bin_hi, bin_count, right_cost):
    """Best plane by the surface-area heuristic.  Returns (axis, least centre, bins per m, bin).

    Bin is −1 when no plane is better than a leaf.
    """
    c_lo, c_hi = np.full(3, np.inf), np.full(3, -np.inf)
    all_lo, all_hi = np.full(3, np.inf), np.full(3, -np.inf)
    for i in range(first, last):
        j = order[i]
        for k in range(3):
            centre = 0.5 * (lo[j, k] + hi[j, k])
            c_lo[k], c_hi[k] = min(c_lo[k], centre), max(c_hi[k], centre)
            all_lo[k], all_hi[k] = min(all_lo[k], lo[j, k]), max(all_hi[k], hi[j, k])
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
            right_cost[b] = count * _half_area(run_lo, run_hi) if count > 0 else 0.0
        run_lo[:], run_hi[:] = np.inf, -np.inf
        count = 0
        for b in range(BINS - 1):
            count += bin_count[b]
            for k in range(3):
                run_lo[k], run_hi[k] = min(run_lo[k], bin_lo[b, k]), max(run_hi[k], bin_hi[b, k])
            if 0 < count < last - first:
                cost = count * _half_area(run_lo, run_hi) + right_cost[b + 1]
                if cost < best:
                    best, best_axis, best_bin = cost, axis, b
    if best_axis < 0:
        return 0, 0.0, 0.0, -1
    # A leaf costs its faces; a split costs one more node, about as much as one face.
    if last - first <= LEAF:
        whole = _half_area(all_lo, all_hi)
        if best + whole >= (last - first) * whole:
            return 0, 0.0, 0.0, -1
    scale = BINS * (1.0 - 1e-9) / (c_hi[best_axis] - c_lo[best_axis])
    return best_axis, c_lo[best_axis], scale, best_bin


@njit(cache=True, nogil=True)
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
        if last - first > 1:
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
                order[middle:last] = scratch[:behind]
            elif last - first > LEAF:
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


@njit(cache=True, nogil=True)
def flatten_tree(node_lo, node_hi, link, count, centre, grown, boxes, child):
    """Nodes of four children from a binary tree.

    Outputs: boxes (w, 6, 4) float32, rows least x, y, z, greatest x, y, z; child (w, 4) int32,
    ≥ 0 for a node, else −1 − (8 · first + faces − 1) for a leaf.  Empty slots have boxes that
    nothing meets.  Returns the nodes used; there are at most as many as in the binary tree.
    """
    slots, found = np.empty(4, np.int64), 0
    stack = np.empty((STACK, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, -1
    top, used = 1, 0
    while top > 0:
        top -= 1
        root, parent = stack[top, 0], stack[top, 1]
        wide = used
        used += 1
        if parent >= 0:
            child[parent // 4, parent % 4] = wide
        slots[0], found = root, 1
        if count[root] == 0:
            slots[0], slots[1], found = root + 1, link[root], 2
        while found < 4:
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
        for s in range(4):
            if s >= found:
                boxes[wide, :3, s], boxes[wide, 3:, s], child[wide, s] = BIG, -BIG, -1
                continue
            node = slots[s]
            for k in range(3):
                boxes[wide, k, s] = node_lo[node, k] - centre[k] - grown
                boxes[wide, 3 + k, s] = node_hi[node, k] - centre[k] + grown
            if count[node] > 0:
                child[wide, s] = -1 - (8 * link[node] + count[node] - 1)
            else:
                stack[top, 0], stack[top, 1] = node, 4 * wide + s
                top += 1
    return used


@intrinsic
def _enter_four(_typing, boxes, node, rows, ray, reach, out):
    """Where a ray enters the four boxes of a node, written to out (4,); BIG where it does not.

    rows: the six rows of the node in the order near x, y, z, far x, y, z; ray: (ox, oy, oz, ix,
    iy, iz) with the inverses of the direction, all float32; reach: no box beyond it counts.
    Written as vector code by hand, since the compiler does not find it in a loop of four.
    """

    def code(context, builder, signature, arguments):
        boxes_, node_, rows_, ray_, reach_, out_ = arguments
        four = ir.VectorType(ir.FloatType(), 4)
        index = ir.IntType(64)
        flags = ("nnan", "nsz")

        def spread(value):
            first = builder.insert_element(
                ir.Constant(four, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
            )
            mask = ir.Constant(ir.VectorType(ir.IntType(32), 4), [0, 0, 0, 0])
            return builder.shuffle_vector(first, ir.Constant(four, ir.Undefined), mask)

        def larger(x, y):
            return builder.select(builder.fcmp_ordered(">", x, y, flags=flags), x, y)

        def smaller(x, y):
            return builder.select(builder.fcmp_ordered("<", x, y, flags=flags), x, y)

        def four_at(array, array_type, offset):
            data = make_array(array_type)(context, builder, array).data
            return builder.bitcast(builder.gep(data, [offset]), four.as_pointer())

        start = builder.mul(node_, ir.Constant(index, 24))
        t = []
        for k in range(6):
            row = builder.mul(builder.extract_value(rows_, k), ir.Constant(index, 4))
            place = four_at(boxes_, signature.args[0], builder.add(start, row))
            side = builder.load(place, align=4)
            gap = builder.fsub(side, spread(builder.extract_value(ray_, k % 3)))
            t.append(builder.fmul(gap, spread(builder.extract_value(ray_, 3 + k % 3))))
        near = larger(larger(t[0], t[1]), larger(t[2], ir.Constant(four, [0.0] * 4)))
        far = smaller(smaller(t[3], t[4]), smaller(t[5], spread(reach_)))
        far = builder.fmul(far, ir.Constant(four, [float(WIDER)] * 4))
        met = builder.fcmp_ordered("<=", near, far)
        entered = builder.select(met, near, ir.Constant(four, [float(BIG)] * 4))
        place = four_at(out_, signature.args[5], ir.Constant(index, 0))
        builder.store(entered, place, align=4)
        return context.get_dummy_value()

    return types.void(boxes, node, rows, ray, reach, out), code


@njit(nogil=True)
def _inverse(x):
    """1/x as float32, a huge number of the same sign where x is 0: no 0 · ∞ arises."""
    if abs(x) < 1e-30:
        return np.float32(-1e30 if x < 0.0 else 1e30)
    return np.float32(1.0 / x)


@njit(nogil=True, error_model="numpy")
def first_face(origin, direction, shift, counting, corners, order, boxes, child, stack, entry,
               near4):  # fmt: skip
    """First face along a ray.  Returns (t, face) with the hit at origin + t · direction.

    (inf, −1) if there is none.  When counting, all faces are followed and `face` is how many
    were met, or −1 when an edge or a corner was, so that the number has no meaning.  corners
    (m, 9) float64 in leaf order, relative to the middle of the mesh, as is the origin; shift is
    the t at which the ray enters the mesh.  stack, entry (STACK,) and near4 (4,) are scratch.
    """
    dx, dy, dz = direction[0], direction[1], direction[2]
    px, py, pz = origin[0], origin[1], origin[2]
    # The largest component becomes z; swapping the others keeps the sense of turning.
    kz = 0
    if abs(dy) > abs(dx):
        kz = 1
    if abs(dz) > max(abs(dx), abs(dy)):
        kz = 2
    kx, ky = (kz + 1) % 3, (kz + 2) % 3
    dk = direction[kz]
    sx, sy, sz = direction[kx] / dk, direction[ky] / dk, 1.0 / dk
    qx, qy, qz = origin[kx], origin[ky], origin[kz]
    ox, oy, oz = (
        np.float32(px + shift * dx),
        np.float32(py + shift * dy),
        np.float32(pz + shift * dz),
    )
    ix, iy, iz = _inverse(dx), _inverse(dy), _inverse(dz)
    nx, fx = (0, 3) if ix > 0 else (3, 0)
    ny, fy = (1, 4) if iy > 0 else (4, 1)
    nz, fz = (2, 5) if iz > 0 else (5, 2)
    rows, ray = (nx, ny, nz, fx, fy, fz), (ox, oy, oz, ix, iy, iz)
    best, face, met = np.inf, -1, 0
    reach = BIG
    stack[0], entry[0] = 0, np.float32(0.0)
    top = 1
    while top > 0:
        top -= 1
        node = np.int64(stack[top])
        if entry[top] > reach:
            continue
        if node >= 0:
            _enter_four(boxes, node, rows, ray, reach, near4)
            base = top
            for s in range(4):
                t4 = near4[s]
                if t4 < BIG:
                    at = top
                    while at > base and entry[at - 1] < t4:
                        entry[at], stack[at] = entry[at - 1], stack[at - 1]
                        at -= 1
                    entry[at], stack[at] = t4, child[node, s]
                    top += 1
            continue
        leaf = -1 - node
        first = leaf >> 3
        for i in range(first, first + (leaf & 7) + 1):
            az = corners[i, kz] - qz
            bz = corners[i, 3 + kz] - qz
            cz = corners[i, 6 + kz] - qz
            ax, ay = corners[i, kx] - qx - sx * az, corners[i, ky] - qy - sy * az
            bx, by = corners[i, 3 + kx] - qx - sx * bz, corners[i, 3 + ky] - qy - sy * bz
            cx, cy = corners[i, 6 + kx] - qx - sx * cz, corners[i, 6 + ky] - qy - sy * cz
            ea = cx * by - cy * bx
            eb = ax * cy - ay * cx
            ec = bx * ay - by * ax
            if (ea < 0.0 or eb < 0.0 or ec < 0.0) and (ea > 0.0 or eb > 0.0 or ec > 0.0):
                continue
            det = ea + eb + ec
            if counting and (ea == 0.0 or eb == 0.0 or ec == 0.0):
                return np.inf, -1
            if det == 0.0:
                continue
            t = sz * (ea * az + eb * bz + ec * cz) / det
            if counting:
                met += t > 0.0
            elif t > 0.0 and (t < best or (t == best and order[i] < face)):
                best, face = t, order[i]
                reach = np.float32(t - shift) * WIDER
    return best, met if counting else face


@njit(nogil=True, error_model="numpy")
def enter_mesh(origin, direction, half):
    """Least t ≥ 0 at which a ray is in the box ±half around the middle; inf if it never is."""
    near, far = 0.0, np.inf
    for k in range(3):
        p, d = origin[k], direction[k]
        if d == 0.0:
            if abs(p) > half[k]:
                return np.inf
            continue
        a, b = (-half[k] - p) / d, (half[k] - p) / d
        near, far = max(near, min(a, b)), min(far, max(a, b))
    return near if near <= far else np.inf


@njit(cache=True, nogil=True, parallel=True, error_model="numpy")
def cast_faces(origins, directions, counting, centre, half, corners, normals, order, boxes, child,
               ranges, faces, facing):  # fmt: skip
    """First face along each ray, or how many faces it meets; see `first_face`.

    origins, directions (m, 3), directions of any length; normals (f, 3) of the faces.  Outputs
    ranges (m,) in m, faces (m,), −1 for none, facing (m, 3): normals turned towards the origin.
    When counting, only faces has a meaning.
    """
    block = 64
    for k in prange((len(origins) + block - 1) // block):
        stack, entry = np.empty(STACK, np.int32), np.empty(STACK, np.float32)
        near4, p, d = np.empty(4, np.float32), np.empty(3), np.empty(3)
        for i in range(k * block, min(len(origins), (k + 1) * block)):
            for c in range(3):
                p[c], d[c] = origins[i, c] - centre[c], directions[i, c]
            shift = enter_mesh(p, d, half)
            t, face = np.inf, 0 if counting else -1
            if shift < np.inf:
                t, face = first_face(
                    p, d, shift, counting, corners, order, boxes, child, stack, entry, near4
                )
            faces[i] = face
            if counting:
                continue
            ranges[i] = t * np.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
            if face < 0:
                facing[i, 0] = facing[i, 1] = facing[i, 2] = 0.0
                continue
            x, y, z = normals[face, 0], normals[face, 1], normals[face, 2]
            sign = -1.0 if x * d[0] + y * d[1] + z * d[2] > 0.0 else 1.0
            facing[i, 0], facing[i, 1], facing[i, 2] = sign * x, sign * y, sign * z
