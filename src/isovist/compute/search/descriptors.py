"""Place quadrature nodes on visible walls, and sum weighted signals into channels.

On a wall at distance c whose normal points to the angle α, r = c/cos φ with φ = θ − α.  The
nodes are Gauss–Legendre in u = artanh(sin φ), where

    r = c cosh u,   cos φ = 1/cosh u,   sin φ = tanh u,   dθ = du/cosh u,        (1)

because there the integrand has no pole nearer than iπ/2, however grazing the view.
"""

import numpy as np

from isovist.compute.infra.compiled import kernel, subroutine
from isovist.compute.rays.segments import NO_WALL

NEGLIGIBLE_LOG = 42.0  # a weight below exp(−42) of the largest is lost in the rounding of their sum
MAX_STRETCH = 0.9 * np.pi / 2.0  # longest stretch in u: 0.9 of the distance to the poles


@subroutine
def _step(angle, length, edges, poles):
    """Return the longest stretch from `angle` over which the weights are smooth enough.

    Without edges it is `length` everywhere.  With them, stretches end at every edge and grow
    with the distance to it, since the weights have their poles above the edges.
    """
    n = len(edges)
    if n == 0:
        return length
    if angle + 1e-14 >= edges[0] + 2.0 * np.pi:
        angle -= 2.0 * np.pi
    k = np.searchsorted(edges, angle + 1e-14)
    to_next = edges[k] - angle if k < n else edges[0] + 2.0 * np.pi - angle
    to_previous = angle - edges[k - 1] if k > 0 else angle - edges[n - 1] + 2.0 * np.pi
    pole_ahead, pole_behind = poles[k % n], poles[k - 1]
    pole_distance = 0.9 * np.sqrt(to_previous * to_previous + pole_behind * pole_behind)
    return min(pole_distance, max(0.9 * pole_ahead, 0.47 * to_next), length, to_next)


@subroutine
def _node_count(fill, reach):
    """Return the fewest nodes for a stretch that fills a share of the longest one."""
    m = 1
    while m < len(reach) - 1 and fill > reach[m]:
        m += 1
    return m


@subroutine
def _place(
    px, py, a0, a1, wall, walls, breaks, length, edges, poles, x, w, reach, start, write, direction,
    weight, span, node_walls,
):  # fmt: skip
    """Place the nodes of one piece of wall from angle a0 to a1.

    Returns the index after the last node.
    """
    at = start
    if wall == NO_WALL:
        angle = a0
        while angle < a1 - 1e-15:
            longest = _step(angle, length, edges, poles)
            stop = min(a1, angle + longest)
            m = _node_count((stop - angle) / longest, reach)
            if write:
                for k in range(m):
                    th = 0.5 * (angle + stop) + 0.5 * (stop - angle) * x[m, k]
                    direction[at + k, 0], direction[at + k, 1] = np.cos(th), np.sin(th)
                    weight[at + k] = 0.5 * (stop - angle) * w[m, k]
                    span[at + k] = np.inf
                    node_walls[at + k] = NO_WALL
            at += m
            angle = stop
        return at
    ax, ay = walls[wall, 0] - px, walls[wall, 1] - py
    mx, my = walls[wall, 2] - walls[wall, 0], walls[wall, 3] - walls[wall, 1]
    inv = 1.0 / np.sqrt(mx * mx + my * my)
    nx, ny = my * inv, -mx * inv
    c = nx * ax + ny * ay
    if c < 0.0:
        nx, ny, c = -nx, -ny, -c
    alpha = np.arctan2(ny, nx)
    phi = (a0 - alpha + np.pi) % (2.0 * np.pi) - np.pi
    end = phi + (a1 - a0)
    limit = 0.5 * np.pi - 1e-12
    phi, end = max(phi, -limit), min(end, limit)
    u, u_end = np.arcsinh(np.tan(phi)), np.arcsinh(np.tan(end))
    while u < u_end - 1e-15:
        longest = _step((alpha + phi) % (2.0 * np.pi), length, edges, poles)
        stop = min(u_end, u + MAX_STRETCH)
        if phi + longest < limit:
            stop = min(stop, np.arcsinh(np.tan(phi + longest)))
        for k in range(len(breaks)):
            if breaks[k] > c:
                kink = np.arccosh(breaks[k] / c)
                if u + 1e-13 < -kink < stop:
                    stop = -kink
                if u + 1e-13 < kink < stop:
                    stop = kink
        if stop <= u:
            stop = u_end
        after = np.arctan(np.sinh(stop))
        m = _node_count(max((stop - u) / MAX_STRETCH, (after - phi) / longest), reach)
        if write:
            for k in range(m):
                v = 0.5 * (u + stop) + 0.5 * (stop - u) * x[m, k]
                cosine, sine = 1.0 / np.cosh(v), np.tanh(v)
                direction[at + k, 0] = nx * cosine - ny * sine
                direction[at + k, 1] = ny * cosine + nx * sine
                weight[at + k] = 0.5 * (stop - u) * w[m, k] * cosine
                span[at + k] = c / cosine
                node_walls[at + k] = wall
        at += m
        u, phi = stop, after
    return at


@kernel(
    "f8[:,::1], f8[:,::1], i8[:,::1], i8[::1], f8[:,::1], f8[:,::1], f8[::1], f8, f8[::1], "
    "f8[::1], f8[:,::1], f8[:,::1], f8[::1] "
    "-> i8[::1], b1, f8[:,::1], f8[::1], f8[::1], i8[::1]",
    over="points",
)
def place_nodes(
    first, last, points, angle, wall, pieces, view, walls, breaks, length, edges, poles, x, w,
    reach, offsets, write, direction, weight, span, node_walls,
):  # fmt: skip
    """Place the nodes of all visible pieces within the view, point after point.

    Call it twice: without `write` to count the nodes, and with it to write them.

    Args:
        points: In m, shape (P, 2).
        angle: Angles of the pieces from `see_pieces`, in rad, shape (P, C + 1).
        wall: Walls of the pieces, shape (P, C).
        pieces: Number of pieces of each point, shape (P,).
        view: Intervals of [0, 2π] in view, shape (v, 2).
        walls: Both ends of each wall in m, shape (w, 4).
        breaks: Ranges at which the signal has a kink, in m.
        length: Longest stretch in rad.
        edges: Angles at which weights have edges; empty for none.
        poles: Distance of the poles above each edge.
        x: Nodes of the rule of m nodes in row m, shape (M + 1, M).
        w: Its weights, same shape.
        reach: Share of the longest stretch for which the rule of m nodes is good, shape (M + 1,).
        offsets: First node of each point. Without `write`, offsets[i + 1] receives the number of
            nodes of point i.
        write: Write the nodes.
        direction: Output, unit vectors, shape (m, 2).
        weight: Output, weights of the nodes in rad, shape (m,).
        span: Output, ranges in m, shape (m,).
        node_walls: Output, index of the wall of each node, shape (m,).
    """
    for i in range(first, last):
        at = offsets[i] if write else 0
        for k in range(pieces[i]):
            for v in range(len(view)):
                a0, a1 = max(angle[i, k], view[v, 0]), min(angle[i, k + 1], view[v, 1])
                if a1 > a0:
                    at = _place(
                        points[i, 0], points[i, 1], a0, a1, wall[i, k], walls, breaks, length,
                        edges, poles, x, w, reach, at, write, direction, weight, span, node_walls,
                    )  # fmt: skip
        if not write:
            offsets[i + 1] = at


@subroutine
def _log_profile(code, parameter, t):
    """Evaluate the logarithm of a profile at the cosine t."""
    if code == 0:
        return t * parameter
    if code == 1:
        x = (1.0 - t) * parameter
        return 1.0 - 1.0 / (1.0 - x * x) if x < 1.0 else -np.inf
    return parameter * np.log(t) if t > 0.0 else -np.inf


@subroutine
def _cosine(direction, basis, s, i):
    """Return the cosine between direction s and basis direction i."""
    t = 0.0
    for k in range(basis.shape[1]):
        t += direction[s, k] * basis[i, k]
    return min(t, 1.0)


@subroutine
def _window(direction, basis, s, code, parameter, peak, logs):
    """Evaluate log profiles around the nearest direction of a basis sorted by angle.

    Cosines rise towards the nearest direction and fall beyond it. So climb from `peak` to it, and
    stop on either side where a weight is lost in the rounding. Returns (peak, left, right): logs
    holds the entries from peak − left to peak + right, cyclically.
    """
    n = len(basis)
    cosine = _cosine(direction, basis, s, peak)
    for _ in range(n):
        next_cosine = _cosine(direction, basis, s, (peak + 1) % n)
        if next_cosine < cosine:
            break
        peak, cosine = (peak + 1) % n, next_cosine
    for _ in range(n):
        previous_cosine = _cosine(direction, basis, s, (peak - 1) % n)
        if previous_cosine <= cosine:
            break
        peak, cosine = (peak - 1) % n, previous_cosine
    top = _log_profile(code, parameter, cosine)
    logs[peak] = top
    right = 0
    while right < n - 1:
        i = (peak + right + 1) % n
        value = _log_profile(code, parameter, _cosine(direction, basis, s, i))
        if value < top - NEGLIGIBLE_LOG:
            break
        logs[i] = value
        right += 1
    left = 0
    while left + right < n - 1:
        i = (peak - left - 1) % n
        value = _log_profile(code, parameter, _cosine(direction, basis, s, i))
        if value < top - NEGLIGIBLE_LOG:
            break
        logs[i] = value
        left += 1
    return peak, left, right


@kernel("i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], i8[::1], i8, f8 -> f8[:,:,::1]", over="out")
def accumulate_signals(first, last, offsets, direction, value, basis, order, code, parameter, out):
    """Sum weighted signals: out[p, order[i], :] = Σ_s w_i(direction[s]) value[s, :].

    The sum runs over the nodes s of point p.

    Args:
        offsets: First node of each point, shape (P + 1,).
        direction: Unit vectors of the nodes, shape (m, d).
        value: Weighted signals of the nodes, shape (m, k).
        basis: Directions of the basis, sorted by angle in 2D, shape (n, d).
        order: Index of each of them in `out`, shape (n,).
        code: Profile of the basis.
        parameter: Its scaled parameter: 1/ε, 1/(1 − cos ρ) or k.
        out: Output, shape (P, n, k).
    """
    n, d = basis.shape
    channels = value.shape[1]
    for p in range(first, last):
        logs = np.empty(n)
        for i in range(n):
            for k in range(channels):
                out[p, i, k] = 0.0
        peak = 0
        for s in range(offsets[p], offsets[p + 1]):
            if d == 2:
                peak, left, right = _window(direction, basis, s, code, parameter, peak, logs)
            else:
                left, right, peak = 0, n - 1, 0
                for i in range(n):
                    logs[i] = _log_profile(code, parameter, _cosine(direction, basis, s, i))
            top = logs[peak]
            if d != 2:
                for i in range(n):
                    top = max(top, logs[i])
            total = 0.0
            for j in range(peak - left, peak + right + 1):
                i = j - n if j >= n else (j + n if j < 0 else j)
                logs[i] = np.exp(logs[i] - top) if logs[i] > top - NEGLIGIBLE_LOG else 0.0
                total += logs[i]
            for j in range(peak - left, peak + right + 1):
                i = j - n if j >= n else (j + n if j < 0 else j)
                if logs[i] > 0.0:
                    weight = logs[i] / total
                    for k in range(channels):
                        out[p, order[i], k] += weight * value[s, k]
