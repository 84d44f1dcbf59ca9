"""Cast rays and find visible walls among line segments that do not cross.

A wall spans a ray when one end is to the left of it and the other is not (an end exactly on the
ray counts as right of it).  The side of an end depends on nothing but the ray and that end, so
walls that share an end leave no crack between them, and "along the direction a" means "at the
angle a + 0" throughout.
"""

import numpy as np

from isovist.compute.infra.compiled import kernel, subroutine

NO_WALL = -1


@subroutine
def first_wall(px, py, dx, dy, walls, node_lo, node_hi, link, count, order, stack, entry):
    """Find the first wall along d from p.

    Returns (t, wall) with the hit at p + t·d; (inf, NO_WALL) if there is none.

    Two walls that leave the same corner of the ray to the left tie; the one that turns back more
    towards p hides the other at the angle a + 0.  stack, entry (64,) are scratch.
    """
    best, wall = np.inf, NO_WALL
    touches, best_mx, best_my = False, 0.0, 0.0
    # A huge finite number instead of 1/0 keeps 0 · ∞ out of the box test.
    ix = 1.0 / dx if dx != 0.0 else 1e300
    iy = 1.0 / dy if dy != 0.0 else 1e300
    stack[0], entry[0] = 0, 0.0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        if entry[top] > best * (1.0 + 1e-12):
            continue
        if count[node] == 0:
            near, far = node + 1, link[node]
            t_near = _entry(px, py, ix, iy, node_lo, node_hi, near)
            t_far = _entry(px, py, ix, iy, node_lo, node_hi, far)
            if t_far < t_near:
                near, far, t_near, t_far = far, near, t_far, t_near
            if t_far < np.inf:
                stack[top], entry[top] = far, t_far
                top += 1
            if t_near < np.inf:
                stack[top], entry[top] = near, t_near
                top += 1
            continue
        for i in range(link[node], link[node] + count[node]):
            j = order[i]
            ax, ay = walls[j, 0] - px, walls[j, 1] - py
            bx, by = walls[j, 2] - px, walls[j, 3] - py
            ca = dx * ay - dy * ax
            cb = dx * by - dy * bx
            if (ca > 0.0) == (cb > 0.0):
                continue
            # Where the chord between the ends meets the ray, in units of |d|.
            t = (ax * by - ay * bx) / (cb - ca)
            if t <= 0.0:
                continue
            touch = ca == 0.0 or cb == 0.0
            side = 1.0 if cb > 0.0 else -1.0
            mx, my = side * (bx - ax), side * (by - ay)
            if touch and touches and abs(t - best) <= 1e-12 * best:
                is_nearer = best_mx * my - best_my * mx > 0.0
            else:
                is_nearer = t < best
            if is_nearer:
                best, wall, touches, best_mx, best_my = t, j, touch, mx, my
    return best, wall


@subroutine
def _entry(px, py, ix, iy, node_lo, node_hi, node):
    """Return where the ray enters a box, in units of |d|; inf if it misses.

    ix, iy are 1/d.
    """
    a, b = (node_lo[node, 0] - px) * ix, (node_hi[node, 0] - px) * ix
    c, d = (node_lo[node, 1] - py) * iy, (node_hi[node, 1] - py) * iy
    near = max(min(a, b), min(c, d), 0.0)
    far = min(max(a, b), max(c, d))
    return near if near <= far * (1.0 + 1e-12) else np.inf


@kernel(
    "f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], i8[::1], i8[::1], i8[::1] "
    "-> f8[::1], i8[::1]",
    over="origins",
)
def cast_walls(
    first, last, origins, directions, walls, node_lo, node_hi, link, count, order, out_t, out_wall
):
    """Find the first wall along each ray.

    Args:
        origins: In m, shape (m, 2).
        directions: Of any length, shape (m, 2).
        walls: Both ends of each wall in m, shape (w, 4).
        node_lo: Least corners of the tree of `compute.trees.boxes`.
        node_hi: Greatest corners of the tree.
        link: Links of the tree.
        count: Counts of the tree.
        order: Order of the tree.
        out_t: Output, t of the hit at p + t·d, `inf` for none, shape (m,).
        out_wall: Output, index of the wall, `NO_WALL` for none, shape (m,).
    """
    stack, entry = np.empty(64, np.int64), np.empty(64)
    for i in range(first, last):
        out_t[i], out_wall[i] = first_wall(
            origins[i, 0], origins[i, 1], directions[i, 0], directions[i, 1],
            walls, node_lo, node_hi, link, count, order, stack, entry,
        )  # fmt: skip


@subroutine
def _next_corner(px, py, dx, dy, wall, walls, node_lo, node_hi, link, count, order, stack):
    """Find the first corner met when turning left from the ray d, in front of `wall`.

    With a wall, corners inside the triangle (p, hit, left end of the wall) are candidates; if there
    are none, it is the left end itself. Without a wall, it is any corner less than a quarter turn
    to the left. Returns (has_corner, corner_x, corner_y) relative to p.
    """
    # The sector searched lies left of d and right of e, and shrinks as corners are found.
    if wall == NO_WALL:
        ex, ey = -dy, dx
        has_corner = False
        lx = ly = mx = my = 0.0
    else:
        ax, ay = walls[wall, 0] - px, walls[wall, 1] - py
        bx, by = walls[wall, 2] - px, walls[wall, 3] - py
        if dx * ay - dy * ax > 0.0:
            ax, ay, bx, by = bx, by, ax, ay
        ex, ey = bx, by
        lx, ly, mx, my = ax, ay, bx - ax, by - ay
        has_corner = True
    scale = abs(lx * my - ly * mx)
    stack[0] = 0
    top = 1
    while top > 0:
        top -= 1
        node = stack[top]
        x0, y0 = node_lo[node, 0] - px, node_lo[node, 1] - py
        x1, y1 = node_hi[node, 0] - px, node_hi[node, 1] - py
        # The box corner farthest to the left of d, farthest to the right of e, nearest to p's
        # side of the wall: if even that one is on the wrong side, nothing inside can qualify.
        if dx * (y1 if dx > 0.0 else y0) - dy * (x0 if dy > 0.0 else x1) <= 0.0:
            continue
        if ex * (y0 if ex > 0.0 else y1) - ey * (x1 if ey > 0.0 else x0) > 0.0:
            continue
        if wall != NO_WALL:
            c = mx * ((y1 if mx > 0.0 else y0) - ly) - my * ((x0 if my > 0.0 else x1) - lx)
            if c <= 0.0:
                continue
        if count[node] == 0:
            stack[top] = link[node]
            stack[top + 1] = node + 1
            top += 2
            continue
        for i in range(link[node], link[node] + count[node]):
            j = order[i]
            if j == wall:
                continue
            for k in range(0, 4, 2):
                vx, vy = walls[j, k] - px, walls[j, k + 1] - py
                if dx * vy - dy * vx <= 0.0:
                    continue
                if ex * vy - ey * vx >= 0.0:
                    continue
                if wall != NO_WALL and mx * (vy - ly) - my * (vx - lx) <= 1e-15 * scale:
                    continue
                ex, ey, has_corner = vx, vy, True
    return has_corner, ex, ey


@kernel(
    "f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], i8[::1], i8[::1], i8[::1] "
    "-> f8[:,::1], i8[:,::1], i8[::1]",
    over="points",
)
def see_pieces(
    first, last, points, walls, node_lo, node_hi, link, count, order, out_angle, out_wall, out_count
):
    """List the visible walls around each point, counter-clockwise from the angle 0.

    Piece k of point i shows wall out_wall[i, k] from out_angle[i, k] to out_angle[i, k + 1]; the
    last angle is 2π. The tree is that of `cast_walls`.

    Args:
        points: In m, shape (P, 2).
        walls: Both ends of each wall in m, shape (w, 4).
        node_lo: Least corners of the tree.
        node_hi: Greatest corners of the tree.
        link: Links of the tree.
        count: Counts of the tree.
        order: Order of the tree.
        out_angle: Output, in rad, shape (P, C + 1).
        out_wall: Output, indices of walls, shape (P, C).
        out_count: Output, number of pieces, −1 if there are more than C, shape (P,).
    """
    capacity = out_wall.shape[1]
    full = 2.0 * np.pi
    stack, entry = np.empty(64, np.int64), np.empty(64)
    for i in range(first, last):
        px, py = points[i, 0], points[i, 1]
        dx, dy, angle = 1.0, 0.0, 0.0
        pieces = 0
        for _ in range(8 * len(walls) + 64):
            if pieces == capacity:
                pieces = -1
                break
            _, wall = first_wall(
                px, py, dx, dy, walls, node_lo, node_hi, link, count, order, stack, entry
            )
            has_corner, ex, ey = _next_corner(
                px, py, dx, dy, wall, walls, node_lo, node_hi, link, count, order, stack
            )
            if not has_corner:
                ex, ey = -dy, dx
            new = np.arctan2(ey, ex) % full
            wrapped = new < angle - 1.0
            new = full if wrapped else max(new, angle)
            out_wall[i, pieces] = wall
            out_angle[i, pieces] = angle
            out_angle[i, pieces + 1] = new
            # Slivers and continued gaps are not pieces of their own.
            if new > angle:
                pieces += 1
            dx, dy, angle = ex, ey, new
            if new >= full:
                break
        out_count[i] = pieces
