"""Cast rays among triangles: descend a tree of boxes, then test faces without leaks.

The tree is that of `compute.trees.flatten`: nodes of several children, whose float32 boxes stand
side by side, so that one node is tested in vector code, and leaves of a few faces, which are tested
together too.  A ray is first moved to where it enters the mesh, so that its float32 origin errs by
no more than the boxes were grown.

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

from isovist.compute.infra.compiled import inline, kernel
from isovist.compute.infra.simd import lowest_bit
from isovist.compute.rays.mesh_node import EXIT_SLACK, bits_of, child_of, enter_vector, meet_vector
from isovist.compute.rays.ray_order import ray_key, sort_keys
from isovist.compute.trees.build import LEAF_FACES
from isovist.compute.trees.flatten import EMPTY_BOX, NODE_WIDTH

WALL, EDGE = 0, 2
LOW_BITS, SIGN_OFFSET = (
    0xFFFFFFFF,
    1 << 31,
)  # of 64 bits, the lower ones, and what makes their numbers positive
RAYS_PER_SORT = 32_768
"""Rays at once: with all that is kept of them they fill the cache of a core, and no more."""


@inline
def first_face(rays, i, inverse, shift, counting, corners, groups, boxes, stack, near, edges):
    """Find the first face along a ray, or count the faces that it meets.

    A node waits behind its `near` in one number, by which the stack is sorted.

    Args:
        rays: Origins and directions, relative to the middle of the mesh, shape (m, 6).
        i: Index of the ray.
        inverse: 1/d of `enter_mesh`, shape (3,).
        shift: t at which the ray enters the mesh.
        counting: Follow all faces, and count them.
        corners: Corners of the faces by group, relative to the middle, shape (g, 9, LEAF_FACES).
        groups: Indices of the faces by group, shape (g, LEAF_FACES).
        boxes: Nodes of `compute.trees.flatten`.
        stack: Scratch, shape (deepest,).
        near: Scratch, shape (NODE_WIDTH,).
        edges: Scratch, shape (6, LEAF_FACES).

    Returns:
        (t, face) with the hit at origin + t · direction, (inf, −1) if there is none. When counting,
        `face` is the number of faces, or −1 if the ray met an edge or a corner, where the number
        has no meaning.
    """
    dx, dy, dz = rays[i, 3], rays[i, 4], rays[i, 5]
    # The largest component becomes z; swapping the others keeps the sense of turning.
    kz = 0
    if abs(dy) > abs(dx):
        kz = 1
    if abs(dz) > max(abs(dx), abs(dy)):
        kz = 2
    kx, ky = (kz + 1) % 3, (kz + 2) % 3
    sz = inverse[kz]
    sx, sy = rays[i, 3 + kx] * sz, rays[i, 3 + ky] * sz
    axes, sheared = (kx, ky, kz), (rays[i, kx], rays[i, ky], rays[i, kz], sx, sy)
    ox, oy, oz = (
        np.float32(rays[i, 0] + shift * dx),
        np.float32(rays[i, 1] + shift * dy),
        np.float32(rays[i, 2] + shift * dz),
    )
    ix, iy, iz = np.float32(inverse[0]), np.float32(inverse[1]), np.float32(inverse[2])
    nx, fx = (0, 3) if ix > 0 else (3, 0)
    ny, fy = (1, 4) if iy > 0 else (4, 1)
    nz, fz = (2, 5) if iz > 0 else (5, 2)
    rows = (nx, ny, nz, fx, fy, fz)
    slab = (ox, oy, oz, ix, iy, iz, ix * EXIT_SLACK, iy * EXIT_SLACK, iz * EXIT_SLACK)
    best, face, count = np.inf, -1, 0
    reach, unsure = EMPTY_BOX, False
    top, node = 0, 0
    while not unsure:
        while node >= 0:
            entered = enter_vector(boxes, node, rows, slab, reach, near)
            if entered == 0:
                break
            if entered & (entered - 1) == 0:
                node = child_of(boxes, node, lowest_bit(entered))
                continue
            # The nearest child comes next; the others wait, the nearer ones on top.
            base = top
            while entered != 0:
                s = lowest_bit(entered)
                entered &= entered - 1
                waits = np.int64(near[s]) << 32 | (child_of(boxes, node, s) + SIGN_OFFSET)
                at = top
                while at > base and stack[at - 1] < waits:
                    stack[at] = stack[at - 1]
                    at -= 1
                stack[at] = waits
                top += 1
            top -= 1
            node = (stack[top] & LOW_BITS) - SIGN_OFFSET
        if node < 0:
            leaf = -1 - node
            group = leaf >> 3
            met = meet_vector(corners, group, axes, sheared, edges)
            met &= (2 << (leaf & 7)) - 1
            while met != 0:
                s = lowest_bit(met)
                met &= met - 1
                ea, eb, ec = edges[0, s], edges[1, s], edges[2, s]
                det = ea + eb + ec
                if counting and (ea == 0.0 or eb == 0.0 or ec == 0.0):
                    unsure = True
                if det == 0.0:
                    continue
                t = sz * (ea * edges[3, s] + eb * edges[4, s] + ec * edges[5, s]) / det
                number = groups[group, s]
                if counting:
                    count += t > 0.0
                elif t > 0.0 and (t < best or (t == best and number < face)):
                    best, face = t, number
                    reach = np.float32(max(t - shift, 0.0)) * EXIT_SLACK
        # Drop the waiting nodes that are farther away than the nearest face.
        farthest = (bits_of(reach) + 1) << 32
        while top > 0 and stack[top - 1] >= farthest:
            top -= 1
        if top == 0:
            break
        top -= 1
        node = (stack[top] & LOW_BITS) - SIGN_OFFSET
    if counting:
        face = -1 if unsure else count
    return best, face


@inline
def enter_mesh(rays, i, half, inverse):
    """Return the least and greatest t ≥ 0 at which a ray is in the box ±half, (inf, inf) for none.

    Fills inverse (3,) with 1/d, and with a huge number of the same sign where d is 0, so that no
    0 · ∞ arises.
    """
    near, far = 0.0, np.inf
    for k in range(3):
        p, d = rays[i, k], rays[i, 3 + k]
        inverse[k] = 1.0 / d if abs(d) > 1e-30 else (-1e30 if d < 0.0 else 1e30)
        a, b = (-half[k] - p) * inverse[k], (half[k] - p) * inverse[k]
        near, far = max(near, min(a, b)), min(far, max(a, b))
    return (near, far) if near <= far * (1.0 + 1e-12) else (np.inf, np.inf)


@kernel(
    "f8[:,::1], f8[:,::1], b1, f8[::1], f8[::1], f8[:,:,::1], f8[:,::1], i8[:,::1], f4[:,:,::1], "
    "i8 -> f8[::1], i8[::1], f8[:,::1], u1[::1]",
    over="origins",
    max_rows=RAYS_PER_SORT,
)
def cast_faces(
    first, last, origins, directions, counting, centre, half, corners, normals, groups, boxes,
    deepest, ranges, faces, facing, endings,
):  # fmt: skip
    """Find the first face along each ray, or count its faces; see `first_face`.

    The rays of a part are sorted, `RAYS_PER_SORT` at a time; the results do not depend on the
    parts.

    Args:
        origins: In m, shape (m, 3).
        directions: Of any length, shape (m, 3).
        counting: Count faces; then only `faces` and `endings` have a meaning.
        centre: Middle of the mesh in m, shape (3,).
        half: Half its extent in m, shape (3,).
        corners: Corners of the faces by group, shape (g, 9, LEAF_FACES).
        normals: Normals of the faces, shape (f, 3).
        groups: Indices of the faces by group, shape (g, LEAF_FACES).
        boxes: Nodes of `compute.trees.flatten`.
        deepest: Largest number of nodes that wait, from `compute.trees.flatten`.
        ranges: Output, in m, shape (m,).
        faces: Output, −1 for none, shape (m,).
        facing: Output, normals turned towards the origins, shape (m, 3).
        endings: Output, `Ending` codes, 255 for a direction that is zero, shape (m,).
    """
    per_size = 1.0 / max(half[0], half[1], half[2])
    stack, near = np.empty(deepest, np.int64), np.empty(NODE_WIDTH, np.int32)
    edges, inverse = np.empty((6, LEAF_FACES)), np.empty(3)
    size = min(last - first, RAYS_PER_SORT)
    room, other = np.empty(size, np.int64), np.empty(size, np.int64)
    rays, reach, met = np.empty((size, 6)), np.empty(size), np.empty(size, np.int64)
    for start in range(first, last, RAYS_PER_SORT):
        keys = room[: min(last - start, RAYS_PER_SORT)]
        for j in range(len(keys)):
            i = start + j
            keys[j] = i | ray_key(
                origins[i, 0] - centre[0], origins[i, 1] - centre[1], origins[i, 2] - centre[2],
                directions[i, 0], directions[i, 1], directions[i, 2], per_size,
            ) << 32  # fmt: skip
        sort_keys(keys, other[: len(keys)])
        # Rays are loaded and stored in loops of their own, so that none waits for another.
        for j in range(len(keys)):
            i = keys[j] & LOW_BITS
            for c in range(3):
                rays[j, c], rays[j, 3 + c] = origins[i, c] - centre[c], directions[i, c]
        for j in range(len(keys)):
            shift, _ = enter_mesh(rays, j, half, inverse)
            reach[j], met[j] = np.inf, 0 if counting else -1
            if shift < np.inf:
                reach[j], met[j] = first_face(
                    rays, j, inverse, shift, counting, corners, groups, boxes, stack, near, edges
                )
        for j in range(len(keys)):
            i, face = keys[j] & LOW_BITS, met[j]
            dx, dy, dz = rays[j, 3], rays[j, 4], rays[j, 5]
            faces[i], endings[i] = face, WALL if face >= 0 else EDGE
            if dx == 0.0 and dy == 0.0 and dz == 0.0:
                endings[i] = 255
            if not counting:
                ranges[i] = reach[j] * np.sqrt(dx * dx + dy * dy + dz * dz)
                x, y, z = 0.0, 0.0, 0.0
                if face >= 0:
                    x, y, z = normals[face, 0], normals[face, 1], normals[face, 2]
                sign = -1.0 if x * dx + y * dy + z * dz > 0.0 else 1.0
                facing[i, 0], facing[i, 1], facing[i, 2] = sign * x, sign * y, sign * z
