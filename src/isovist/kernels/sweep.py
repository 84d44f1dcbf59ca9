"""Ranges of all cells in one direction, in one pass over the map.

Take the axis along which the direction (du, dv) advances faster as major, u, the other as minor,
v, and let column p be the cells at distance p along the ray, whatever its sense.  Draw parallel
lines one cell apart in v, line j through column p's centre at v = j + ½ + t p with t = dv / |du|.
All lines enter, cross and leave the cells of one column at the same fractions, so

    a_p = ⌊½ + t (p − ½)⌋,   s_p = ⌊½ + t p⌋,   b_p = a_{p+1}                                (1)

are the offsets from j of the row where a line enters column p, of the row at its middle and of
the row where it leaves.  Going from the far end of the rays to the near end, every line keeps
what it meets next.  Column p changes it to "cell (p, j + a_p), through its near face" when that
cell is not free, else to "cell (p, j + b_p), through its side" when that one is not:

    L_j ← A_p  if (p, j + a_p) is not free,   B_p  if (p, j + b_p) is not free,   else L_j.    (2)

No distance is summed up: L_j is the number of an event, in 16 bits, and the loop over j reads
contiguous bytes, has no branch, and its lines stay in the first cache.  A cell reads the line
nearest to its centre, at most half a cell to the side, and the range to the plane of the face
found is exact, with v_p' = max(a_p', b_p'):

    r = (p' − p − ½) / |du|  for A_p',     r = (v_p' − s_p − ½) / dv  for B_p'.                (3)

So a range is wrong only where the half cell to the side changes which face is met.
"""

import numpy as np
from numba import njit, prange

PAD = 2
MAXIMUM = 3


@njit(cache=True, nogil=True)
def _enter(lines, codes, event):
    """Equation (2) for columns whose lines keep to one row.  Shapes (m,)."""
    for k in range(len(lines)):
        code = np.uint16(codes[k])
        found = np.uint16(event + code)
        lines[k] = found if code != 0 else lines[k]


@njit(cache=True, nogil=True)
def _enter_and_cross(lines, near, side, event):
    """Equation (2) for columns whose lines change rows.  Shapes (m,)."""
    for k in range(len(lines)):
        code = np.uint16(near[k])
        beside = np.uint16(side[k])
        found = np.uint16(event + code)
        crossed = np.uint16(event + 4 + beside)
        rest = crossed if beside != 0 else lines[k]
        lines[k] = found if code != 0 else rest


@njit(cache=True, nogil=True)
def sweep_one(codes, du, dv, start, minors, slots, maximum, ranges, endings):
    """Ranges along one direction at the nodes.

    Args:
        codes: The map with the major axis first, uint8, padded by `PAD` cells of code 3 all
            around; 0 free, 1 wall, 2 unknown, 3 edge.  Shape (m + 2 PAD, k + 2 PAD).
        du: Major component of the unit direction.
        dv: Minor component, |dv| ≤ |du|.
        start: Nodes of major index i are start[i] to start[i + 1], shape (m + 1,).
        minors: Minor index of each node, shape (nodes,).
        slots: Where in the outputs each node goes, shape (nodes,).
        maximum: Longest range, in cells.
        ranges: Output in cells, float32, shape (nodes,).
        endings: Output, `Ending` codes, shape (nodes,).
    """
    majors, width = codes.shape[0] - 2 * PAD, codes.shape[1]
    t = dv / abs(du)
    per_u, per_v = 1.0 / abs(du), (1.0 / dv if dv != 0.0 else 0.0)
    least = np.float32(0.5 * per_u)
    longest = np.float32(maximum)
    table = np.empty(2 * (majors + 2), dtype=np.float32)
    low = min(0.0, np.floor(0.5 + t * (majors + 1)))
    high = max(0.0, np.floor(0.5 + t * (majors + 1)))
    span = int(high - low)
    lines = np.zeros(width + span + 4, dtype=np.uint16)
    # Line j sits at lines[j + shift]; rows −PAD + 1 to k + PAD − 2 enter the loops.
    shift = int(high) + PAD + 1
    count = width - 2
    for p in range(majors, -1, -1):
        i = p if du > 0.0 else majors - 1 - p
        a = int(np.floor(0.5 + t * (p - 0.5)))
        b = int(np.floor(0.5 + t * (p + 0.5)))
        s = int(np.floor(0.5 + t * p))
        event = np.uint16(8 * p)
        table[2 * p] = p * per_u
        table[2 * p + 1] = max(a, b) * per_v
        row = codes[i + PAD]
        if p < majors:
            back_u = np.float32((p + 0.5) * per_u)
            back_v = np.float32((s + 0.5) * per_v)
            turn = b - s
            for k in range(start[i], start[i + 1]):
                v = minors[k]
                met = lines[v - s + shift]
                beside = row[v + turn + PAD]
                if beside != 0:
                    met = event + 4 + beside
                place = met >> 2
                reach = table[place] - (back_v if place & 1 else back_u)
                ending = np.uint8((met & 3) - 1)
                reach = max(reach, least)
                if reach > longest:
                    reach, ending = longest, np.uint8(MAXIMUM)
                ranges[slots[k]] = reach
                endings[slots[k]] = ending
        first = shift - a - 1
        window = lines[first : first + count]
        if a == b:
            _enter(window, row[1 : 1 + count], event)
        else:
            _enter_and_cross(window, row[1 : 1 + count], row[1 + b - a : 1 + b - a + count], event)


@njit(cache=True, nogil=True, parallel=True)
def sweep_all(
    by_row, by_col, directions, row_nodes, col_nodes, maximum, ranges, endings
):
    """Ranges along many directions at the nodes, a direction at a time on each core.

    Args:
        by_row: The map with rows first, as `sweep_one` wants it.
        by_col: The map with columns first.
        directions: Unit vectors (x, y), shape (s, 2).
        row_nodes: (start, minors, slots) of the nodes with rows as major axis.
        col_nodes: The same with columns as major axis.
        maximum: Longest range, in cells.
        ranges: Output in cells, float32, shape (s, nodes).
        endings: Output, `Ending` codes, shape (s, nodes).
    """
    for s in prange(len(directions)):
        x, y = directions[s, 0], directions[s, 1]
        if abs(y) > abs(x):
            start, minors, slots = row_nodes
            sweep_one(by_row, y, x, start, minors, slots, maximum, ranges[s], endings[s])
        else:
            start, minors, slots = col_nodes
            sweep_one(by_col, x, y, start, minors, slots, maximum, ranges[s], endings[s])


@njit(cache=True, nogil=True, parallel=True)
def accumulate(ranges, endings, weights, counted, unit, transform, scale, F, K):
    """Add directions to descriptors: F_i += f(r_s) w_si and K_i += w_si over counted endings.

    Args:
        ranges: In cells, float32, shape (s, nodes).
        endings: `Ending` codes, shape (s, nodes).
        weights: float32, shape (s, n).
        counted: Which of the four endings count, shape (4,).
        unit: Side of a cell in m.
        transform: 0 for f = r, 1 for log(1 + r), 2 for r / (r + scale), with r in m.
        scale: In m.
        F: Added to, float32, shape (nodes, n).
        K: Added to, float32, shape (nodes, n).
    """
    chunk = 64
    nodes = ranges.shape[1]
    for c in prange((nodes + chunk - 1) // chunk):
        for k in range(c * chunk, min((c + 1) * chunk, nodes)):
            f_row, k_row = F[k], K[k]
            for s in range(len(ranges)):
                if not counted[endings[s, k]]:
                    continue
                value = ranges[s, k] * unit
                if transform == 1:
                    value = np.log1p(value)
                elif transform == 2:
                    value = value / (value + scale)
                w = weights[s]
                for i in range(len(w)):
                    f_row[i] += value * w[i]
                    k_row[i] += w[i]
