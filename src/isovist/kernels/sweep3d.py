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
side along v and 8 for one along w.
"""

import numpy as np
from numba import njit, prange

from isovist.kernels.sweep import MAXIMUM, PAD, _enter


@njit(cache=True, nogil=True)
def _change(lines, ends, near, first, second, reach, terms, marks):
    """One layer of lines that change rows.  Shapes (m,).

    first, second: what lines come to by the first and by the second change; terms (term of the
    first, of the second) and marks (what is added to its codes).  With one change second is near.
    """
    term1, term2 = terms
    mark1, mark2 = marks
    for k in range(len(lines)):
        line = lines[k]
        line = term2 if second[k] != 0 else line
        line = term1 if first[k] != 0 else line
        lines[k] = reach if near[k] != 0 else line
    for k in range(len(ends)):
        end, code, c1, c2 = ends[k], near[k], first[k], second[k]
        end = np.uint8(c2 | mark2) if c2 != 0 else end
        end = np.uint8(c1 | mark1) if c1 != 0 else end
        ends[k] = code if code != 0 else end


@njit(cache=True, nogil=True)
def _read(lines, ends, back, ranges, endings):
    """Equation (2) in a row where no line changes past the middle of the layer.  Shapes (m,)."""
    back_u, back_v, back_w = back
    one, three = np.uint8(1), np.uint8(3)
    for k in range(len(ranges)):
        end = ends[k]
        ranges[k] = lines[k] - (back_w if end > 7 else (back_v if end > 3 else back_u))
    for k in range(len(endings)):
        endings[k] = np.uint8(np.uint8(ends[k] & three) - one)


@njit(cache=True, nogil=True)
def _read_changed(lines, ends, first, second, back, terms, ranges, endings):
    """The same where lines do; first, second: what they come to.  Shapes (m,)."""
    back_u, back_v, back_w = back
    term1, term2 = terms
    one, three = np.uint8(1), np.uint8(3)
    for k in range(len(ranges)):
        end = ends[k]
        reach = lines[k] - (back_w if end > 7 else (back_v if end > 3 else back_u))
        reach = term2 if second[k] != 0 else reach
        ranges[k] = term1 if first[k] != 0 else reach
    for k in range(len(endings)):
        end, c1, c2 = ends[k], first[k], second[k]
        end = c2 if c2 != 0 else end
        end = c1 if c1 != 0 else end
        endings[k] = np.uint8(np.uint8(end & three) - one)


@njit(cache=True, nogil=True)
def sweep_one(codes, du, dv, dw, start, minors, slots, maximum, unit, ranges, endings):
    """Ranges along one direction at the nodes.

    Args:
        codes: The map as (u, v, w), uint8, padded by `PAD` cells of code 3 all around; 0 free,
            1 wall, 2 unknown, 3 edge.
        du: Major component of the unit direction.
        dv: Minor component, |dv| ≤ |du|.
        dw: Minor component of the contiguous axis, |dw| ≤ |du|.
        start: Nodes start[i, j] to start[i, j + 1] lie in layer i, row j; shape (u, v + 1).
        minors: Place along w of each node, ascending in each row, shape (nodes,).
        slots: Place of each node in the outputs.
        maximum: Longest range, in cells.
        unit: Side of a cell in m.
        ranges: Output in m, shape (nodes,).
        endings: Output, `Ending` codes, shape (nodes,).
    """
    layers, rows = codes.shape[0] - 2 * PAD, codes.shape[1] - 2 * PAD
    width = codes.shape[2] - 2 * PAD
    t1, t2 = dv / abs(du), dw / abs(du)
    per_u = 1.0 / abs(du)
    per_v = 1.0 / dv if dv != 0.0 else 0.0
    per_w = 1.0 / dw if dw != 0.0 else 0.0
    least, longest = np.float32(0.5 * per_u), np.float32(maximum)
    drift1 = int(np.floor(0.5 + t1 * (layers + 1)))
    drift2 = int(np.floor(0.5 + t2 * (layers + 1)))
    count = width + 2  # −1 to width, so that lines come in from beyond the sides
    lines = np.zeros((rows + abs(drift1) + 6, count + abs(drift2) + 4), dtype=np.float32)
    ends = np.zeros(lines.shape, dtype=np.uint8)
    shift1, shift2 = max(drift1, 0) + 3, max(drift2, 0) + 3
    row_ranges, row_endings = np.empty(width, np.float32), np.empty(width, np.uint8)
    four, eight, most, side = np.uint8(4), np.uint8(8), np.uint8(MAXIMUM), np.float32(unit)
    for p in range(layers, -1, -1):
        i = p if du > 0.0 else layers - 1 - p
        a1, b1 = int(np.floor(0.5 + t1 * (p - 0.5))), int(np.floor(0.5 + t1 * (p + 0.5)))
        a2, b2 = int(np.floor(0.5 + t2 * (p - 0.5))), int(np.floor(0.5 + t2 * (p + 0.5)))
        layer = codes[i + PAD]
        term_u = np.float32(p * per_u)
        term_v, term_w = np.float32(max(a1, b1) * per_v), np.float32(max(a2, b2) * per_w)
        # Which minor axis changes first: where lines cross the plane between two rows.
        q1 = (max(a1, b1) - 0.5) / t1 if a1 != b1 else np.inf
        q2 = (max(a2, b2) - 0.5) / t2 if a2 != b2 else np.inf
        v_first = q1 <= q2
        if p < layers and start[i, rows] > start[i, 0]:
            s1, s2 = int(np.floor(0.5 + t1 * p)), int(np.floor(0.5 + t2 * p))
            back_v, back_w = np.float32((s1 + 0.5) * per_v), np.float32((s2 + 0.5) * per_w)
            back = np.float32((p + 0.5) * per_u), back_v, back_w
            # The rows that lines come to past the middle; where none changes, the cell itself,
            # which is free.
            f1, f2 = (b1 - s1, 0) if v_first else (0, b2 - s2)
            after = term_v - back_v, term_w - back_w
            terms = after if v_first else (after[1], after[0])
            changes = b1 != s1 or b2 != s2
            for j in range(rows):
                if start[i, j + 1] == start[i, j]:
                    continue
                low = np.int64(minors[start[i, j]])
                span = np.int64(minors[start[i, j + 1] - 1]) + 1 - low
                at, left = j - s1 + shift1, shift2 - s2 + low
                turn1, turn2 = PAD + f2 + low, PAD + b2 - s2 + low
                r, e = row_ranges[low : low + span], row_endings[low : low + span]
                line, end = lines[at, left : left + span], ends[at, left : left + span]
                if changes:
                    first = layer[j + PAD + f1, turn1 : turn1 + span]
                    second = layer[j + PAD + b1 - s1, turn2 : turn2 + span]
                    _read_changed(line, end, first, second, back, terms, r, e)
                else:
                    _read(line, end, back, r, e)
                for k in range(start[i, j], start[i, j + 1]):
                    slot, minor = slots[k], minors[k]
                    reach = min(max(row_ranges[minor], least), longest)
                    ranges[slot] = reach * side
                    endings[slot] = most if reach >= longest else row_endings[minor]
        left = shift2 - a2 - 1
        for j in range(-1, rows + 1):
            at = j - a1 + shift1
            line, end = lines[at, left : left + count], ends[at, left : left + count]
            near = layer[j + PAD, 1 : 1 + count]
            if a1 == b1 and a2 == b2:
                _enter(line, end, near, term_u)
                continue
            if v_first:
                first = layer[j + PAD + b1 - a1, 1 : 1 + count]
                terms, marks = (term_v, term_w), (four, eight)
            else:
                first = layer[j + PAD, 1 + b2 - a2 : 1 + b2 - a2 + count]
                terms, marks = (term_w, term_v), (eight, four)
            second = near
            if a1 != b1 and a2 != b2:
                second = layer[j + PAD + b1 - a1, 1 + b2 - a2 : 1 + b2 - a2 + count]
            _change(line, end, near, first, second, term_u, terms, marks)


@njit(cache=True, nogil=True, parallel=True)
def sweep_all(codes, directions, start, minors, slots, maximum, unit, which, ranges, endings):
    """Ranges along directions of one major axis, a direction at a time on each core.

    `directions` are (du, dv, dw), shape (s, 3), and direction k fills row which[k] of the
    outputs, shape (…, nodes).  The rest is as in `sweep_one`.
    """
    for k in prange(len(directions)):
        du, dv, dw = directions[k, 0], directions[k, 1], directions[k, 2]
        row = which[k]
        sweep_one(codes, du, dv, dw, start, minors, slots, maximum, unit, ranges[row], endings[row])
