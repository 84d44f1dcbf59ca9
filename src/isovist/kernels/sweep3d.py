"""Ranges of all cells of a block in one direction, in one pass over it.

The idea is that of `kernels.sweep`, with two minor axes.  Take the axis along which the direction
advances fastest as major, u, and let layer p be the cells at distance p along the ray.  Draw
parallel lines one cell apart in both v and w, line (j, k) through the middle of layer p at
v = j + ½ + t p, w = k + ½ + t′ p, with slopes t, t′ in [−1, 1].  All lines cross a layer alike:
they enter it in row a, are in row s at its middle and leave in row b, counted from j,

    a_p = ⌊½ + t (p − ½)⌋,   s_p = ⌊½ + t p⌋,   b_p = a_{p+1},                                 (1)

and the same for w; they change rows at q = (max(a, b) − ½)/t, so which of v and w changes first is
the same for all lines too.  Going from the far end to the near end every line keeps what it meets
next: in each layer the cell behind the last change, through that side, if it is not free; then the
one behind the first change; then the one it enters, through its near face.

A cell reads the line nearest to its centre, at most half a cell to the side along v and along w,
and takes the distance from its own centre to the plane of the face that the line meets:

    r = (p′ − p − ½)/|du|,   (max(a, b)_p′ − s_p − ½)/dv   or the same with w.                 (2)

A line is a float32, the first term of (2), and a byte: the code of the cell with 4 added for a
side along v and 8 for one along w.  Lines go from cell to cell through faces, so only cells with
a face to a free cell are ever met first; each row keeps these as runs of equal code, and a layer
is a few fills per run, first of the changes past its middle, then, when its cells have read their
lines, of those before it and of the near faces.
"""

import numpy as np
from numba import njit, prange

MAXIMUM = 3
V, W = 4, 8


@njit(cache=True, nogil=True)
def _meet(lines, ends, runs, layer, down, left, term, mark):
    """Lines take what they meet in a layer: cell (j, k) is met by line (j + down, k + left).

    lines (…, …) float32, ends uint8; runs as in `sweep_one`, layer as their index.
    """
    start, low, high, codes = runs
    rows = start.shape[1] - 1
    for j in range(rows):
        at = j - 1 + down
        for run in range(start[layer, j], start[layer, j + 1]):
            code = np.uint8(codes[run] | mark)
            for k in range(np.uint64(low[run] + left), np.uint64(high[run] + left)):
                lines[at, k], ends[at, k] = term, code


@njit(cache=True, nogil=True)
def _read(lines, ends, back_u, back_v, back_w, ranges, endings):
    """Equation (2) for cells side by side in a row.  Shapes (m,)."""
    one, three = np.uint8(1), np.uint8(3)
    for k in range(len(ranges)):
        end = ends[k]
        ranges[k] = lines[k] - (back_w if end > 7 else (back_v if end > 3 else back_u))
    for k in range(len(endings)):
        endings[k] = np.uint8(np.uint8(ends[k] & three) - one)


@njit(cache=True, nogil=True)
def sweep_one(runs, du, dv, dw, width, start, minors, slots, maximum, unit, ranges, endings):
    """Ranges along one direction at the nodes.

    Args:
        runs: (start, low, high, codes) of the cells that can be met.  Runs start[i + 1, j + 1] to
            start[i + 1, j + 2] lie in layer i, −1 to the last and one more, and row j, likewise;
            each takes cells low to high − 1 along w.  Codes are 1 wall, 2 unknown, 3 edge.
        du: Major component of the unit direction.
        dv: Minor component, |dv| ≤ |du|.
        dw: Minor component of the contiguous axis, |dw| ≤ |du|.
        width: Cells along w.
        start: Nodes start[i, j] to start[i, j + 1] lie in layer i, row j; shape (u, v + 1).
        minors: Place along w of each node, ascending in each row, shape (nodes,).
        slots: Place of each node in the outputs.
        maximum: Longest range, in cells.
        unit: Side of a cell in m.
        ranges: Output in m, shape (nodes,).
        endings: Output, `Ending` codes, shape (nodes,).
    """
    layers, rows = len(start), start.shape[1] - 1
    t1, t2 = dv / abs(du), dw / abs(du)
    per_u = 1.0 / abs(du)
    per_v = 1.0 / dv if dv != 0.0 else 0.0
    per_w = 1.0 / dw if dw != 0.0 else 0.0
    longest, side, most = np.float32(maximum), np.float32(unit), np.uint8(MAXIMUM)
    drift1 = int(np.floor(0.5 + t1 * (layers + 1)))
    drift2 = int(np.floor(0.5 + t2 * (layers + 1)))
    lines = np.zeros((rows + abs(drift1) + 8, width + abs(drift2) + 8), dtype=np.float32)
    ends = np.zeros(lines.shape, dtype=np.uint8)
    shift1, shift2 = max(drift1, 0) + 4, max(drift2, 0) + 4
    row_ranges, row_endings = np.empty(width, np.float32), np.empty(width, np.uint8)
    for p in range(layers, -1, -1):
        i = p if du > 0.0 else layers - 1 - p
        a1, b1 = int(np.floor(0.5 + t1 * (p - 0.5))), int(np.floor(0.5 + t1 * (p + 0.5)))
        a2, b2 = int(np.floor(0.5 + t2 * (p - 0.5))), int(np.floor(0.5 + t2 * (p + 0.5)))
        s1, s2 = int(np.floor(0.5 + t1 * p)), int(np.floor(0.5 + t2 * p))
        term_v, term_w = np.float32(max(a1, b1) * per_v), np.float32(max(a2, b2) * per_w)
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
                        _meet(lines, ends, runs, i + 1, down_w, left_w, term_w, W)
                elif a1 != b1 and (s1 != b1) == past:
                    _meet(lines, ends, runs, i + 1, down_v, left_v, term_v, V)
            if not past or p == layers or start[i, rows] == start[i, 0]:
                continue
            back_u = np.float32((p + 0.5) * per_u)
            back_v, back_w = np.float32((s1 + 0.5) * per_v), np.float32((s2 + 0.5) * per_w)
            for j in range(rows):
                if start[i, j + 1] == start[i, j]:
                    continue
                low = np.int64(minors[start[i, j]])
                span = np.int64(minors[start[i, j + 1] - 1]) + 1 - low
                at, left = j - s1 + shift1, shift2 - s2 + low
                line, end = lines[at, left : left + span], ends[at, left : left + span]
                r, e = row_ranges[low : low + span], row_endings[low : low + span]
                _read(line, end, back_u, back_v, back_w, r, e)
                for k in range(start[i, j], start[i, j + 1]):
                    slot, minor = slots[k], minors[k]
                    reach = min(row_ranges[minor], longest)
                    ranges[slot] = reach * side
                    endings[slot] = most if reach >= longest else row_endings[minor]
        _meet(lines, ends, runs, i + 1, shift1 - a1, shift2 - a2, np.float32(p * per_u), 0)


@njit(cache=True, nogil=True, parallel=True)
def sweep_all(runs, directions, width, start, minors, slots, maximum, unit, which, ranges, endings):
    """Ranges along directions of one major axis, a direction at a time on each core.

    `directions` are (du, dv, dw), shape (s, 3), and direction k fills row which[k] of the
    outputs, shape (…, nodes).  The rest is as in `sweep_one`.
    """
    for k in prange(len(directions)):
        du, dv, dw = directions[k, 0], directions[k, 1], directions[k, 2]
        row = which[k]
        sweep_one(
            runs, du, dv, dw, width, start, minors, slots, maximum, unit, ranges[row], endings[row]
        )
