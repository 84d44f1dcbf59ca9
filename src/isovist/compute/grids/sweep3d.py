"""Ranges of all cells of a block in one direction, in one pass over it.

The idea is that of `compute.grids.sweep2d`, with two minor axes.  Take the axis along which the
direction advances fastest as major, u, and let layer p be the cells at distance p along the ray.
Draw parallel lines one cell apart in both v and w, line (j, k) through the middle of layer p at v =
j + ½ + t p, w = k + ½ + t′ p, with slopes t, t′ in [−1, 1].  All lines cross a layer alike: they
enter it in row a, are in row s at its middle and leave in row b, counted from j,

    a_p = ⌊½ + t (p − ½)⌋,   s_p = ⌊½ + t p⌋,   b_p = a_{p+1},                                 (1)

and the same for w; they change rows at q = (max(a, b) − ½)/t, so which of v and w changes first is
the same for all lines too.  Going from the far end to the near end every line keeps what it meets
next: in each layer the cell behind the last change, through that side, if it is not free; then the
one behind the first change; then the one it enters, through its near face.

A cell reads the line nearest to its centre, at most half a cell to the side along v and along w,
and takes the distance from its own centre to the plane of the face that the line meets:

    r = (p′ − p − ½)/|du|,   (max(a, b)_p′ − s_p − ½)/dv   or the same with w.                 (2)

A line is one int32: the number p′ or max(a, b) of (2) times 16, the code of the cell, and 4 for a
side along v or 8 for one along w.  Lines go from cell to cell through faces, so only cells with a
face to a free cell are ever met first, and only those are gone through: in each layer first for the
changes past its middle, then, when its nodes have read their lines, for those before it and for the
near faces.
"""

import numpy as np

from isovist.compute.infra.compiled import inner, kernel

MAXIMUM = 3
V, W = 4, 8


@inner
def _meet(lines, cells, layer, down, left, number, mark):
    """Lines take what they meet in a layer: cell (j, k) is met by line (j + down, k + left).

    lines (…, …) int32; cells as in `sweep_one`, layer as their index.
    """
    start, places = cells
    line = np.int32(16 * number + mark)
    for j in range(start.shape[1] - 1):
        at = np.uint64(j - 1 + down)
        for k in range(start[layer, j], start[layer, j + 1]):
            lines[at, np.uint64((places[k] >> 2) + left)] = line | (places[k] & 3)


@inner
def _read(lines, nodes, layer, down, left, planes, longest, side, ranges, endings):
    """Equation (2) for the nodes of a layer: cell (j, k) reads line (j + down, k + left).

    nodes, longest and side as in `sweep_one`; planes: p, s_p for v and for w, each with ½ added,
    and 1 over |du|, dv and dw.
    """
    start, low, first, to = nodes
    u, v, w, per_u, per_v, per_w = planes
    for j in range(start.shape[1] - 1):
        at = np.uint64(j + down)
        for run in range(start[layer, j], start[layer, j + 1]):
            ahead, place = np.uint64(low[run] + left), np.uint64(to[run])
            for k in range(np.uint64(first[run + 1] - first[run])):
                line = lines[at, ahead + k]
                number = np.float32(line >> 4)
                reach = (number - u) * per_u
                reach = (number - v) * per_v if line & V else reach
                reach = (number - w) * per_w if line & W else reach
                ranges[place + k] = (reach if reach < longest else longest) * side
                endings[place + k] = np.uint8((line & 3) - 1 if reach < longest else MAXIMUM)


@inner
def sweep_one(cells, du, dv, dw, before, width, nodes, maximum, unit, ranges, endings):
    """Ranges along one direction at the nodes, layer by layer, row by row.

    Args:
        cells: (start, places) of the cells that can be met.  Those from start[i + 1, j + 1] to
            start[i + 1, j + 2] lie in layer i, −1 to the last and one more, and row j, likewise;
            each is its place along w times 4 plus its code: 1 wall, 2 unknown, 3 edge.
        du: Major component of the unit direction.
        dv: Minor component, |dv| ≤ |du|.
        dw: Minor component of the contiguous axis, |dw| ≤ |du|.
        before: p of the first layer: how many layers of a larger block lie before these.
        width: Cells along w.
        nodes: (start, low, first, to): runs of nodes side by side, start[i, j] to start[i, j + 1]
            in layer i, row j; run k begins at low[k] along w, holds nodes first[k] to
            first[k + 1] − 1 and is written from place to[k] of the outputs on.
        maximum: Longest range, in cells.
        unit: Side of a cell in m.
        ranges: Output in m, shape (nodes,).
        endings: Output, `Ending` codes, shape (nodes,).
    """
    start = nodes[0]
    layers, rows = len(start), start.shape[1] - 1
    t1, t2 = dv / abs(du), dw / abs(du)
    per_u = 1.0 / abs(du)
    per_v = 1.0 / dv if dv != 0.0 else 0.0
    per_w = 1.0 / dw if dw != 0.0 else 0.0
    longest, side = np.float32(maximum), np.float32(unit)
    drift1 = int(np.floor(0.5 + t1 * (layers + 1)))
    drift2 = int(np.floor(0.5 + t2 * (layers + 1)))
    lines = np.zeros((rows + abs(drift1) + 8, width + abs(drift2) + 8), dtype=np.int32)
    shift1 = max(drift1, 0) + 4 + int(np.floor(0.5 + t1 * before))
    shift2 = max(drift2, 0) + 4 + int(np.floor(0.5 + t2 * before))
    for p in range(before + layers, before - 1, -1):
        at = p - before
        i = at if du > 0.0 else layers - 1 - at
        a1, b1 = int(np.floor(0.5 + t1 * (p - 0.5))), int(np.floor(0.5 + t1 * (p + 0.5)))
        a2, b2 = int(np.floor(0.5 + t2 * (p - 0.5))), int(np.floor(0.5 + t2 * (p + 0.5)))
        s1, s2 = int(np.floor(0.5 + t1 * p)), int(np.floor(0.5 + t2 * p))
        # Which minor axis changes first: where lines cross the plane between two rows.
        q1 = (max(a1, b1) - 0.5) / t1 if a1 != b1 else np.inf
        q2 = (max(a2, b2) - 0.5) / t2 if a2 != b2 else np.inf
        v_first = q1 <= q2
        down_v, left_v = shift1 - b1, shift2 - (a2 if v_first else b2)
        down_w, left_w = shift1 - (b1 if v_first else a1), shift2 - b2
        for past in (True, False):
            # From the far end: the later change, the earlier one, the near face.
            for later in (True, False):
                if later == v_first:
                    if a2 != b2 and (s2 != b2) == past:
                        _meet(lines, cells, i + 1, down_w, left_w, max(a2, b2), W)
                elif a1 != b1 and (s1 != b1) == past:
                    _meet(lines, cells, i + 1, down_v, left_v, max(a1, b1), V)
            if not past or at == layers or start[i, rows] == start[i, 0]:
                continue
            planes = (
                np.float32(p + 0.5), np.float32(s1 + 0.5), np.float32(s2 + 0.5),
                np.float32(per_u), np.float32(per_v), np.float32(per_w),
            )  # fmt: skip
            _read(
                lines, nodes, i, shift1 - s1, shift2 - s2, planes, longest, side, ranges, endings
            )  # fmt: skip
        _meet(lines, cells, i + 1, shift1 - a1, shift2 - a2, p, 0)


@kernel(
    "Tuple((i8[:,::1], i4[::1])), f8[:,::1], i8[::1], i8, "
    "Tuple((i8[:,::1], i4[::1], i8[::1], i8[::1])), Tuple((i4[::1], i4[::1])), f8, f8, i8[::1] "
    "-> f4[:,::1], u1[:,::1]",
    over="directions",
)
def sweep_all(first, last, cells, directions, before, width, nodes, moves, maximum, unit, which,
              ranges, endings):  # fmt: skip
    """Ranges along directions of one major axis, a direction at a time on each core.

    `directions` are (du, dv, dw), shape (s, 3), `before` has shape (s,), and direction k fills row
    which[k] of the outputs, shape (…, nodes).  moves: (places, slots), what stands at places[i] in
    the order of the sweep goes to slots[i] of the outputs; both empty when `nodes` says where runs
    go.  The rest is as in `sweep_one`.
    """
    places, slots = moves
    for k in range(first, last):
        du, dv, dw = directions[k, 0], directions[k, 1], directions[k, 2]
        r, e = ranges[which[k]], endings[which[k]]
        if len(slots) == 0:
            sweep_one(cells, du, dv, dw, before[k], width, nodes, maximum, unit, r, e)
        else:
            swept, ended = np.empty_like(r), np.empty_like(e)
            sweep_one(cells, du, dv, dw, before[k], width, nodes, maximum, unit, swept, ended)
            for i in range(len(slots)):
                place, slot = np.uint64(places[i]), np.uint64(slots[i])
                r[slot], e[slot] = swept[place], ended[place]
