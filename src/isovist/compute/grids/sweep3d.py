"""Compute the ranges of all cells of a 3D block in one direction, in one pass.

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

from isovist.compute.infra.compiled import kernel, subroutine
from isovist.compute.rays.grid2d import MAXIMUM

V_FACE, W_FACE = 4, 8


@subroutine
def _meet(lines, cells, layer, down, left, number, mark):
    """Let lines take what they meet in a layer.

    Cell (j, k) is met by line (j + down, k + left).

    lines (…, …) int32; cells as in `sweep_one`, layer as their index.
    """
    start, places = cells
    line = np.int32(16 * number + mark)
    for j in range(start.shape[1] - 1):
        at = np.uint64(j - 1 + down)
        for k in range(start[layer, j], start[layer, j + 1]):
            lines[at, np.uint64((places[k] >> 2) + left)] = line | (places[k] & 3)


@subroutine
def _read(lines, nodes, layer, down, left, planes, longest, side, ranges, endings):
    """Evaluate equation (2) for the nodes of a layer.

    Cell (j, k) reads line (j + down, k + left).

    nodes, longest and side as in `sweep_one`; planes: p, s_p for v and for w, each with ½ added,
    and 1 over |du|, dv and dw.
    """
    start, low, first, to = nodes
    u, v, w, per_u, per_v, per_w = planes
    for j in range(start.shape[1] - 1):
        at = np.uint64(j + down)
        for run in range(start[layer, j], start[layer, j + 1]):
            column, place = np.uint64(low[run] + left), np.uint64(to[run])
            for k in range(np.uint64(first[run + 1] - first[run])):
                line = lines[at, column + k]
                number = np.float32(line >> 4)
                reach = (number - u) * per_u
                reach = (number - v) * per_v if line & V_FACE else reach
                reach = (number - w) * per_w if line & W_FACE else reach
                ranges[place + k] = (reach if reach < longest else longest) * side
                endings[place + k] = np.uint8((line & 3) - 1 if reach < longest else MAXIMUM)


@subroutine
def sweep_one(cells, du, dv, dw, before, width, nodes, maximum, unit, ranges, endings):
    """Compute ranges along one direction at the nodes, layer by layer, row by row.

    Args:
        cells: (start, places) of the cells that can be met. Those from start[i + 1, j + 1] to
            start[i + 1, j + 2] lie in layer i and row j, both from −1 to one beyond the last; each
            is its place along w times 4 plus its code: 1 wall, 2 unknown, 3 edge.
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
                        _meet(lines, cells, i + 1, down_w, left_w, max(a2, b2), W_FACE)
                elif a1 != b1 and (s1 != b1) == past:
                    _meet(lines, cells, i + 1, down_v, left_v, max(a1, b1), V_FACE)
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
def sweep_all_3d(
    first, last, cells, directions, before, width, nodes, moves, maximum, unit, output_rows, ranges,
    endings,
):  # fmt: skip
    """Compute ranges along directions of one major axis; each core takes a direction at a time.

    The other arguments are those of `sweep_one`.

    Args:
        cells: Cells that can be met.
        directions: (du, dv, dw), shape (s, 3).
        before: Layers of a larger block before these, for each direction, shape (s,).
        width: Cells along w.
        nodes: Runs of nodes.
        moves: (places, slots): a node at places[i] in the order of the sweep goes to slots[i] of
            the outputs. Both are empty if `nodes` says where runs go.
        maximum: Longest range, in cells.
        unit: Side of a cell in m.
        output_rows: Row of the outputs that direction k fills, shape (s,).
        ranges: Output in m, shape (…, nodes).
        endings: Output, `Ending` codes, shape (…, nodes).
    """
    places, slots = moves
    for k in range(first, last):
        du, dv, dw = directions[k, 0], directions[k, 1], directions[k, 2]
        r, e = ranges[output_rows[k]], endings[output_rows[k]]
        if len(slots) == 0:
            sweep_one(cells, du, dv, dw, before[k], width, nodes, maximum, unit, r, e)
        else:
            swept, ended = np.empty_like(r), np.empty_like(e)
            sweep_one(cells, du, dv, dw, before[k], width, nodes, maximum, unit, swept, ended)
            for i in range(len(slots)):
                place, slot = np.uint64(places[i]), np.uint64(slots[i])
                r[slot], e[slot] = swept[place], ended[place]
