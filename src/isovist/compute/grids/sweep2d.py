"""Compute the ranges of all cells in one direction, in one pass over a 2D map.

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

So there is no bias of half a cell, no error accumulates, and a range is wrong only
where the half cell to the side changes which face is met.

A line is a float32, the first term of (3), and a byte, the code of the cell with 4 added for B.
They stay in the first cache.  Lines go from cell to cell through faces, so only cells with a face
to a free cell are ever met first; a column keeps these as runs of equal code, and (2) is a fill
per run.  Reading (3) goes over contiguous memory without branches, so it becomes vector code that
is limited by how fast the ranges can be written.
"""

import numpy as np

from isovist.compute.infra.compiled import kernel, subroutine
from isovist.compute.rays.grid2d import MAXIMUM

SIDE_FACE = 4
DIRECTION_GROUP = 4
NODE_CHUNK = 64


@subroutine
def _meet(lines, ends, runs, column, shift, reach, face):
    """Apply half of equation (2): lines take what they meet in a column.

    Row v is line v + shift.
    """
    start, low, high, codes = runs
    for k in range(start[column], start[column + 1]):
        code = np.uint8(codes[k] | face)
        for v in range(np.uint64(low[k] + shift), np.uint64(high[k] + shift)):
            lines[v], ends[v] = reach, code


@subroutine
def _read(lines, ends, back_u, back_v, ranges, endings):
    """Evaluate equation (3) for a whole column. Shapes (m,)."""
    wall_code, code_mask = np.uint8(1), np.uint8(3)
    for k in range(len(ranges)):
        end = ends[k]
        ranges[k] = lines[k] - (back_v if end > 3 else back_u)
        endings[k] = np.uint8(np.uint8(end & code_mask) - wall_code)


@subroutine
def sweep_one(runs, du, dv, before, places, nodes, ranges, endings, node_ranges, node_endings):
    """Compute ranges along one direction for all cells of some columns, and for nodes.

    Args:
        runs: (start, low, high, codes) of the cells that can be met.  Runs start[i + 1] to
            start[i + 2] are in column i, −1 to m, and each takes rows low to high − 1, −1 to k,
            of the major axis first.  Codes are 1 wall, 2 unknown, 3 edge.
        du: Major component of the unit direction.
        dv: Minor component, |dv| ≤ |du|.
        before: p of the first column: how many columns of a larger map lie before these.
        places: Row of `ranges` for each column of cells, −1 for none, shape (m,).  Columns may
            share a row when only their nodes are wanted.
        nodes: (start, rows): nodes start[i] to start[i + 1] lie in column i, in these rows.
        ranges: Output in cells, shape (…, k).  Cells that are not free get numbers that mean
            nothing.
        endings: Output, `Ending` codes, shape (…, k).
        node_ranges: Output, shape (nodes,).
        node_endings: Output, shape (nodes,).
    """
    start, rows = nodes
    majors, width = len(places), ranges.shape[1]
    t = dv / abs(du)
    per_u = 1.0 / abs(du)
    per_v = 1.0 / dv if dv != 0.0 else 0.0
    drift = int(np.floor(0.5 + t * (majors + 1)))
    lines = np.zeros(width + abs(drift) + 8, dtype=np.float32)
    ends = np.zeros(len(lines), dtype=np.uint8)
    shift = max(drift, 0) + 4 + int(np.floor(0.5 + t * before))  # line j is lines[j + shift]
    for p in range(before + majors, before - 1, -1):
        at = p - before
        i = at if du > 0.0 else majors - 1 - at
        a = int(np.floor(0.5 + t * (p - 0.5)))
        s = int(np.floor(0.5 + t * p))
        b = int(np.floor(0.5 + t * (p + 0.5)))
        crossed = np.float32(max(a, b) * per_v)
        if b != s:
            _meet(lines, ends, runs, i + 1, shift - b, crossed, SIDE_FACE)
        if at < majors and places[i] >= 0:
            j = shift - s
            _read(
                lines[j : j + width], ends[j : j + width], np.float32((p + 0.5) * per_u),
                np.float32((s + 0.5) * per_v), ranges[places[i]], endings[places[i]],
            )  # fmt: skip
            for k in range(start[i], start[i + 1]):
                node_ranges[k] = ranges[places[i], rows[k]]
                node_endings[k] = endings[places[i], rows[k]]
        if b == s and a != b:
            _meet(lines, ends, runs, i + 1, shift - b, crossed, SIDE_FACE)
        _meet(lines, ends, runs, i + 1, shift - a, np.float32(p * per_u), 0)


@kernel(
    "Tuple((i8[::1], i8[::1], i8[::1], u1[::1])), f8[:,::1], i8[::1], i8[::1], "
    "Tuple((i8[::1], i8[::1])) -> f4[:,:,::1], u1[:,:,::1], f4[:,::1], u1[:,::1]",
    over="directions",
)
def sweep_all_2d(
    first, last, runs, directions, before, places, nodes, ranges, endings, node_ranges, node_endings
):
    """Compute ranges along directions of one major axis; each core takes a direction at a time.

    The arguments are those of `sweep_one`. `directions` are (du, dv), shape (s, 2), and `before`
    has shape (s,); the outputs have one more axis, the first, for the directions.
    """
    for k in range(first, last):
        sweep_one(
            runs, directions[k, 0], directions[k, 1], before[k], places, nodes, ranges[k],
            endings[k], node_ranges[k], node_endings[k],
        )  # fmt: skip


@kernel(
    "f4[:,::1], u1[:,::1], i8[::1], i8[::1], i8[::1], f8, f8 -> f4[:,::1], u1[:,::1]", over="ranges"
)
def copy_node_ranges(
    first, last, ranges, endings, nodes, slots, rows, unit, maximum, out, out_endings
):
    """Copy the ranges of nodes out of swept columns.

    Args:
        ranges: Ranges in cells, shape (s, cells).
        endings: `Ending` codes, shape (s, cells).
        nodes: Cell of each node, shape (nodes,).
        slots: Column of the output for each node, shape (nodes,).
        rows: Row of the output for each direction, shape (s,).
        unit: Side of a cell in m.
        maximum: Longest range, in cells.
        out: Output in m, shape (…, nodes).
        out_endings: Output, shape (…, nodes).
    """
    side, longest = np.float32(unit), np.float32(maximum)
    for s in range(first, last):
        for k in range(len(nodes)):
            reach, ending = ranges[s, nodes[k]], endings[s, nodes[k]]
            if reach > longest:
                reach, ending = longest, np.uint8(MAXIMUM)
            out[rows[s], slots[k]] = reach * side
            out_endings[rows[s], slots[k]] = ending


@subroutine
def _add(sums, row):
    """Add a row to sums: sums_i += row_i. Shapes (n,)."""
    for i in range(len(sums)):
        sums[i] += row[i]


@subroutine(fastmath={"contract"})
def _add_products(values, weights, sums):
    """Add products: sums_ki += Σ_s v_sk w_si.

    It takes two nodes and four directions at a time, which saves loads.

    Shapes (s, 2 q), (s, n) and (2 q, n), s a multiple of `DIRECTION_GROUP`.
    """
    for k in range(0, len(sums), 2):
        a, b = sums[k], sums[k + 1]
        for s in range(0, len(weights), DIRECTION_GROUP):
            w0, w1, w2, w3 = weights[s], weights[s + 1], weights[s + 2], weights[s + 3]
            a0, a1, a2, a3 = values[s, k], values[s + 1, k], values[s + 2, k], values[s + 3, k]
            j = k + 1
            b0, b1, b2, b3 = values[s, j], values[s + 1, j], values[s + 2, j], values[s + 3, j]
            for i in range(len(a)):
                a[i] = a[i] + a0 * w0[i] + a1 * w1[i] + a2 * w2[i] + a3 * w3[i]
                b[i] = b[i] + b0 * w0[i] + b1 * w1[i] + b2 * w2[i] + b3 * w3[i]


@kernel(
    "f4[:,::1], u1[:,::1], i8[::1], i8[::1], f4[:,::1], b1[::1], f8, f8, i8, f8 "
    "-> f4[:,::1], f4[:,::1]",
    over="nodes",
    block=NODE_CHUNK,
)
def accumulate_ranges(
    first, last, ranges, endings, nodes, slots, weights, counted, unit, maximum, transform, scale,
    F, K,
):  # fmt: skip
    """Add directions to descriptors: F_i += f(r_s) w_si and K_i += w_si over counted endings.

    Args:
        ranges: Ranges in cells, shape (s, cells).
        endings: `Ending` codes, shape (s, cells).
        nodes: Cell of each node, shape (nodes,).
        slots: Row of F and K of each node, no two alike, shape (nodes,).
        weights: Shape (s rounded up to a multiple of `DIRECTION_GROUP`, n), the rest zero.
        counted: Whether each of the four endings counts, shape (4,).
        unit: Side of a cell in m.
        maximum: Longest range, in cells.
        transform: 0 for f = r, 1 for scale · log(1 + r/scale), 2 for r / (r + scale), r in m.
        scale: Length of `transform`, in m.
        F: Added to, shape (nodes, n).
        K: Added to, shape (nodes, n).
    """
    side, longest = np.float32(unit), np.float32(maximum)
    reference, unit_mass, zero = np.float32(scale), np.float32(1.0), np.float32(0.0)
    total = np.zeros(weights.shape[1], dtype=np.float32)
    for s in range(len(weights)):
        _add(total, weights[s])
    for start in range(first, last, NODE_CHUNK):
        count = min(NODE_CHUNK, last - start)
        values = np.zeros((len(weights), NODE_CHUNK), dtype=np.float32)
        masses = np.zeros((len(weights), NODE_CHUNK), dtype=np.float32)
        missed = 0
        for s in range(len(ranges)):
            for k in range(count):
                cell = np.uint64(nodes[start + k])
                reach, ending = ranges[s, cell], endings[s, cell]
                if reach > longest:
                    reach, ending = longest, np.uint8(MAXIMUM)
                value = reach * side
                if transform == 1:
                    value = reference * np.log(unit_mass + value / reference)
                elif transform == 2:
                    value = value / (value + reference)
                mass = unit_mass if counted[ending] else zero
                missed += mass == zero
                values[s, k], masses[s, k] = mass * value, mass
        sums = np.zeros((2, NODE_CHUNK, weights.shape[1]), dtype=np.float32)
        _add_products(values, weights, sums[0])
        if missed > 0:
            _add_products(masses, weights, sums[1])
        for k in range(count):
            _add(F[slots[start + k]], sums[0, k])
            _add(K[slots[start + k]], sums[1, k] if missed > 0 else total)
