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

No distance is summed up: L_j is the number of an event, 2p for A_p and 2p + 1 for B_p, in 16
bits; the loop over j reads contiguous bytes and has no branch, and the lines stay in the first
cache while the map streams past once per direction, a byte per cell.  A cell reads the line
nearest to its centre, at most half a cell to the side, and the range to the plane of the face
found is exact, with v_p' = max(a_p', b_p'):

    r = (p' − p − ½) / |du|  for A_p',     r = (v_p' − s_p − ½) / dv  for B_p'.                (3)

So a range is wrong only where the half cell to the side changes which face is met.
"""

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

Codes = NDArray[np.uint8]
Events = NDArray[np.uint16]
Singles = NDArray[np.float32]
Order = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

PAD = 2
MAXIMUM = 3
# Events 0 to 2 m + 1 of a map with m columns fit 16 bits.
MOST_CELLS = 32766


@njit(cache=True, nogil=True)
def _enter(lines: Events, near: Codes, event: int) -> None:
    """Equation (2) where lines keep to one row.  Shapes (m,).

    Reading the line before choosing keeps the store unconditional, which vector code needs.
    """
    found = np.uint16(event)
    for k in range(len(lines)):
        line = lines[k]
        lines[k] = found if near[k] != 0 else line


@njit(cache=True, nogil=True)
def _enter_and_cross(lines: Events, near: Codes, side: Codes, event: int) -> None:
    """Equation (2) where lines change rows.  Shapes (m,)."""
    found, crossed = np.uint16(event), np.uint16(event + 1)
    for k in range(len(lines)):
        line = lines[k]
        line = crossed if side[k] != 0 else line
        lines[k] = found if near[k] != 0 else line


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
    majors, count = codes.shape[0] - 2 * PAD, codes.shape[1] - 2
    forward = du > 0.0
    t = dv / abs(du)
    per_u = 1.0 / abs(du)
    per_v = 1.0 / dv if dv != 0.0 else 0.0
    least, longest = np.float32(0.5 * per_u), np.float32(maximum)
    drift = int(np.floor(0.5 + t * (majors + 1)))
    lines = np.zeros(count + abs(drift) + 4, dtype=np.uint16)
    shift = max(drift, 0) + 3  # line j is lines[j + shift]
    planes = np.empty(2 * majors + 2, dtype=np.float32)
    offsets = np.empty(2 * majors + 2, dtype=np.int64)
    for p in range(majors, -1, -1):
        a = int(np.floor(0.5 + t * (p - 0.5)))
        b = int(np.floor(0.5 + t * (p + 0.5)))
        row = codes[(p if forward else majors - 1 - p) + PAD]
        planes[2 * p], offsets[2 * p] = p * per_u, a
        planes[2 * p + 1], offsets[2 * p + 1] = max(a, b) * per_v, b
        if p < majors:
            i = p if forward else majors - 1 - p
            s = int(np.floor(0.5 + t * p))
            back_u, back_v = np.float32((p + 0.5) * per_u), np.float32((s + 0.5) * per_v)
            turn = b - s
            for k in range(start[i], start[i + 1]):
                v = minors[k]
                event = int(lines[v - s + shift])
                if row[v + turn + PAD] != 0:
                    event = 2 * p + 1
                reach = planes[event] - (back_v if event & 1 else back_u)
                q = event >> 1
                met = codes[(q if forward else majors - 1 - q) + PAD, v - s + offsets[event] + PAD]
                ending = np.uint8(met - 1)
                reach = max(reach, least)
                if reach > longest:
                    reach, ending = longest, np.uint8(MAXIMUM)
                ranges[slots[k]] = reach
                endings[slots[k]] = ending
        window = lines[shift - a - 1 : shift - a - 1 + count]
        if a == b:
            _enter(window, row[1 : 1 + count], 2 * p)
        else:
            _enter_and_cross(window, row[1 : 1 + count], row[1 + b - a : 1 + b - a + count], 2 * p)


@njit(cache=True, nogil=True, parallel=True)
def sweep_all(
    by_row: Codes,
    by_col: Codes,
    directions: NDArray[np.float64],
    row_nodes: Order,
    col_nodes: Order,
    maximum: float,
    ranges: Singles,
    endings: Codes,
) -> None:
    """Ranges along many directions at the nodes, a direction at a time on each core.

    Args:
        by_row: The map with rows first, as `sweep_one` wants it.
        by_col: The map with columns first.
        directions: Unit vectors (x, y), shape (s, 2).
        row_nodes: (start, minors, slots) of the nodes with rows as major axis.
        col_nodes: The same with columns as major axis.
        maximum: Longest range, in cells.
        ranges: Output in cells, shape (s, nodes).
        endings: Output, `Ending` codes, shape (s, nodes).
    """
    for s in prange(len(directions)):
        x, y = directions[s, 0], directions[s, 1]
        if abs(y) > abs(x):
            sweep_one(by_row, y, x, row_nodes, maximum, ranges[s], endings[s])
        else:
            sweep_one(by_col, x, y, col_nodes, maximum, ranges[s], endings[s])


@njit(cache=True, nogil=True, parallel=True)
def accumulate(
    ranges: Singles,
    endings: Codes,
    weights: Singles,
    counted: NDArray[np.bool_],
    unit: float,
    transform: int,
    scale: float,
    F: Singles,
    K: Singles,
) -> None:
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
    side, reference = np.float32(unit), np.float32(scale)
    for c in prange((nodes + chunk - 1) // chunk):
        for k in range(c * chunk, min((c + 1) * chunk, nodes)):
            f_row, k_row = F[k], K[k]
            for s in range(len(ranges)):
                if not counted[endings[s, k]]:
                    continue
                value = ranges[s, k] * side
                if transform == 1:
                    value = np.log1p(value)
                elif transform == 2:
                    value = value / (value + reference)
                w = weights[s]
                for i in range(len(w)):
                    f_row[i] += value * w[i]
                    k_row[i] += w[i]
