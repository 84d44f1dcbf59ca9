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

A cell reads the line nearest to its centre, at most half a cell to the side, and takes the
distance from its own centre to the plane of the face that the line meets, with
v_p' = max(a_p', b_p'):

    r = (p' − p − ½) / |du|  for A_p',     r = (v_p' − s_p − ½) / dv  for B_p'.                (3)

So there is no bias of half a cell, nothing is summed up or smeared, and a range is wrong only
where the half cell to the side changes which face is met.

A line is a float32, the first term of (3), and a byte, the code of the cell with 4 added for B.
The loops over j read contiguous memory and have no branches, so they become vector code; the
lines stay in the first cache while the map streams past, one byte per cell and direction.
"""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Codes = NDArray[np.uint8]
Singles = NDArray[np.float32]
Pair = tuple[np.float32, np.float32]
Order = tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]

PAD = 2
MAXIMUM = 3
GROUP = 4


@njit(cache=True, nogil=True)
def _enter(lines: Singles, ends: Codes, near: Codes, reach: np.float32) -> None:
    """Equation (2) where lines keep to one row.  Shapes (m,).

    Reading before choosing keeps the stores unconditional, which vector code needs.
    """
    for k in range(len(lines)):
        line = lines[k]
        lines[k] = reach if near[k] != 0 else line
    for k in range(len(ends)):
        end, code = ends[k], near[k]
        ends[k] = code if code != 0 else end


@njit(cache=True, nogil=True)
def _enter_and_cross(
    lines: Singles, ends: Codes, near: Codes, side: Codes, reach: np.float32, crossed: np.float32
) -> None:
    """Equation (2) where lines change rows.  Shapes (m,)."""
    for k in range(len(lines)):
        line = lines[k]
        line = crossed if side[k] != 0 else line
        lines[k] = reach if near[k] != 0 else line
    four = np.uint8(4)
    for k in range(len(ends)):
        end, code, beside = ends[k], near[k], side[k]
        end = np.uint8(beside | four) if beside != 0 else end
        ends[k] = code if code != 0 else end


@njit(cache=True, nogil=True)
def _read(
    lines: Singles,
    ends: Codes,
    side: Codes,
    back: Pair,
    crossed: np.float32,
    limits: Pair,
    ranges: Singles,
    endings: Codes,
) -> None:
    """Equation (3) for a whole column; `side` is what a line crosses into past the middle."""
    back_u, back_v = back
    least, longest = limits
    one, three, most = np.uint8(1), np.uint8(3), np.uint8(MAXIMUM)
    for k in range(len(ranges)):
        reach = lines[k] - (back_v if ends[k] > 3 else back_u)
        reach = crossed if side[k] != 0 else reach
        reach = reach if reach > least else least
        ranges[k] = reach if reach < longest else longest
    for k in range(len(endings)):
        end, beside = ends[k], side[k]
        end = beside if beside != 0 else end
        endings[k] = np.uint8(np.uint8(end & three) - one)
    for k in range(len(endings)):
        ending, reach = endings[k], ranges[k]
        endings[k] = most if reach >= longest else ending


@njit(cache=True, nogil=True)
def sweep_one(
    codes: Codes,
    du: float,
    dv: float,
    nodes: Order,
    maximum: float,
    ranges: Singles,
    endings: Codes,
) -> None:
    """Ranges along one direction at the nodes.

    Args:
        codes: The map with the major axis first, uint8, padded by `PAD` cells of code 3 all
            around; 0 free, 1 wall, 2 unknown, 3 edge.  Shape (m + 2 PAD, k + 2 PAD).
        du: Major component of the unit direction.
        dv: Minor component, |dv| ≤ |du|.
        nodes: (start, minors, slots): nodes start[i] to start[i + 1] have major index i; the
            minor index of each, and its place in the outputs.
        maximum: Longest range, in cells.
        ranges: Output in cells, shape (nodes,).
        endings: Output, `Ending` codes, shape (nodes,).
    """
    start, minors, slots = nodes
    majors, width = codes.shape[0] - 2 * PAD, codes.shape[1] - 2 * PAD
    t = dv / abs(du)
    per_u = 1.0 / abs(du)
    per_v = 1.0 / dv if dv != 0.0 else 0.0
    limits = np.float32(0.5 * per_u), np.float32(maximum)
    drift = int(np.floor(0.5 + t * (majors + 1)))
    count = width + 2  # rows −1 to k, so that lines come in from beyond the sides
    lines = np.zeros(count + abs(drift) + 4, dtype=np.float32)
    ends = np.zeros(len(lines), dtype=np.uint8)
    shift = max(drift, 0) + 3  # line j is lines[j + shift]
    column, column_endings = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.uint8)
    for p in range(majors, -1, -1):
        i = p if du > 0.0 else majors - 1 - p
        a = int(np.floor(0.5 + t * (p - 0.5)))
        b = int(np.floor(0.5 + t * (p + 0.5)))
        row = codes[i + PAD]
        reach, crossed = np.float32(p * per_u), np.float32(max(a, b) * per_v)
        if p < majors and start[i + 1] > start[i]:
            s = int(np.floor(0.5 + t * p))
            back = np.float32((p + 0.5) * per_u), np.float32((s + 0.5) * per_v)
            j, turn = shift - s, PAD + b - s
            _read(
                lines[j : j + width],
                ends[j : j + width],
                row[turn : turn + width],
                back,
                crossed - back[1],
                limits,
                column,
                column_endings,
            )
            for k in range(start[i], start[i + 1]):
                ranges[slots[k]] = column[minors[k]]
                endings[slots[k]] = column_endings[minors[k]]
        j = shift - a - 1
        near = row[1 : 1 + count]
        if a == b:
            _enter(lines[j : j + count], ends[j : j + count], near, reach)
        else:
            side = row[1 + b - a : 1 + b - a + count]
            _enter_and_cross(lines[j : j + count], ends[j : j + count], near, side, reach, crossed)


@njit(cache=True, nogil=True, parallel=True)
def sweep_all(
    codes: Codes,
    directions: NDArray[np.float64],
    nodes: Order,
    maximum: float,
    rows: NDArray[np.int64],
    ranges: Singles,
    endings: Codes,
) -> None:
    """Ranges along directions of one major axis, a direction at a time on each core.

    `directions` are (du, dv), shape (s, 2), and direction k fills row rows[k] of the outputs,
    shape (…, nodes).  The rest is as in `sweep_one`.
    """
    for k in prange(len(directions)):
        du, dv = directions[k, 0], directions[k, 1]
        sweep_one(codes, du, dv, nodes, maximum, ranges[rows[k]], endings[rows[k]])


@njit(cache=True, nogil=True, parallel=True, fastmath={"contract"})
def accumulate(
    ranges: Singles,
    endings: Codes,
    weights: Singles,
    slots: NDArray[np.uint32],
    counted: NDArray[np.bool_],
    unit: float,
    transform: int,
    scale: float,
    F: Singles,
    K: Singles,
) -> None:
    """Add directions to descriptors: F_i += f(r_s) w_si and K_i += w_si over counted endings.

    Args:
        ranges: In cells, shape (s, nodes).
        endings: `Ending` codes, shape (s, nodes).
        weights: Shape (s rounded up to a multiple of `GROUP`, n); rows beyond s are not read
            with any weight.
        slots: Row of F and K of each node, no two alike, shape (nodes,).
        counted: Which of the four endings count, shape (4,).
        unit: Side of a cell in m.
        transform: 0 for f = r, 1 for log(1 + r), 2 for r / (r + scale), with r in m.
        scale: In m.
        F: Added to, shape (nodes, n).
        K: Added to, shape (nodes, n).
    """
    chunk = 64
    nodes = ranges.shape[1]
    side, reference, one = np.float32(unit), np.float32(scale), np.float32(1.0)
    for c in prange((nodes + chunk - 1) // chunk):
        values = np.zeros(len(weights), dtype=np.float32)
        masses = np.zeros(len(weights), dtype=np.float32)
        for k in range(c * chunk, min((c + 1) * chunk, nodes)):
            for s in range(len(ranges)):
                value = ranges[s, k] * side
                if transform == 1:
                    value = np.log(one + value)
                elif transform == 2:
                    value = value / (value + reference)
                mass = one if counted[endings[s, k]] else np.float32(0.0)
                values[s], masses[s] = mass * value, mass
            f_row, k_row = F[slots[k]], K[slots[k]]
            for s in range(0, len(weights), GROUP):
                v0, v1, v2, v3 = values[s], values[s + 1], values[s + 2], values[s + 3]
                m0, m1, m2, m3 = masses[s], masses[s + 1], masses[s + 2], masses[s + 3]
                w0, w1, w2, w3 = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
                for i in range(len(f_row)):
                    f_row[i] += v0 * w0[i] + v1 * w1[i] + v2 * w2[i] + v3 * w3[i]
                    k_row[i] += m0 * w0[i] + m1 * w1[i] + m2 * w2[i] + m3 * w3[i]
