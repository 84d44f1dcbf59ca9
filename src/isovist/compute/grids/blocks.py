"""Compute on 3D grids of which only some blocks of cells are stored.

A grid is cut into blocks of BLOCK_SIDE³ cells. Its index, int32, shape (z, y, x) in blocks, holds
the row of a table with the cells of a block, [z, y, x] within it. Distances in a block are computed
axis by axis, from all cells within a margin T of it,

    g(z, y, x) = min_k |k|,   D∞ = min_j max(|j|, ·),   D² = min_j j² + (·)²,                  (1)

first along z, then along y, then along x. Farther cells give at least T, and the result is T.
"""

import numpy as np

from isovist.compute.infra.compiled import kernel, subroutine
from isovist.compute.rays.layout import BLOCK_MASK, BLOCK_SHIFT, BLOCK_SIDE, FIRST_OWN_ROW, FREE_ROW

FREE, UNKNOWN = 0, 2


@kernel("i4[:,:,::1], u1[:,:,:,::1], i8[::1], i8[::1] -> u1[::1]", over="cells", block=4096)
def codes_at(first, last, index, table, size, cells, codes):
    """Look up the codes of cells by flat index, shape (k,)."""
    last = min(last, len(cells))
    for i in range(first, last):
        flat = cells[i]
        x = flat % size[2]
        y, z = (flat // size[2]) % size[1], flat // (size[2] * size[1])
        codes[i] = table[
            index[z >> BLOCK_SHIFT, y >> BLOCK_SHIFT, x >> BLOCK_SHIFT],
            z & BLOCK_MASK,
            y & BLOCK_MASK,
            x & BLOCK_MASK,
        ]


@kernel("i4[:,:,::1], u1[:,:,:,::1], i8[::1], i8[:,::1], b1 -> u1[:,:,:,::1]", over="places")
def surface_cells(first, last, index, table, size, places, corners, out):
    """Extract the cells that have a face to a free cell; the others get code 0.

    places (k, 3): z, y, x of the blocks of rows FIRST_OWN_ROW and after, in order; corners: an edge
    or a corner to a free cell is enough; out has the shape of the table, and its first rows stay as
    they are.
    """
    window = np.empty((BLOCK_SIDE + 2, BLOCK_SIDE + 2, BLOCK_SIDE + 2), np.uint8)
    for k in range(first, last):
        row = FIRST_OWN_ROW + k
        _gather(index, table, places[k], 1, window)
        _close(window, places[k], size)
        for z in range(1, BLOCK_SIDE + 1):
            for y in range(1, BLOCK_SIDE + 1):
                for x in range(1, BLOCK_SIDE + 1):
                    code, met = window[z, y, x], False
                    if code != FREE:
                        met = (
                            window[z - 1, y, x] == FREE or window[z + 1, y, x] == FREE
                            or window[z, y - 1, x] == FREE or window[z, y + 1, x] == FREE
                            or window[z, y, x - 1] == FREE or window[z, y, x + 1] == FREE
                        )  # fmt: skip
                        if corners and not met:
                            met = _touches(window, z, y, x)
                    inside = table[row, z - 1, y - 1, x - 1] == code  # what is beyond is unknown
                    out[row, z - 1, y - 1, x - 1] = code if met and inside else 0


@subroutine
def _touches(window, z, y, x):
    """Return whether any of the 26 cells around a cell is free."""
    for c in range(z - 1, z + 2):
        for b in range(y - 1, y + 2):
            for a in range(x - 1, x + 2):
                if window[c, b, a] == FREE:
                    return True
    return False


@subroutine
def _close(window, block, size):
    """Make the cells of a window around a block unknown where they lie outside the grid."""
    wide = len(window)
    for axis in range(3):
        low = BLOCK_SIDE * block[axis] - 1
        for k in range(wide):
            if 0 <= low + k < size[axis]:
                continue
            for b in range(wide):
                for a in range(wide):
                    if axis == 0:
                        window[k, b, a] = UNKNOWN
                    elif axis == 1:
                        window[b, k, a] = UNKNOWN
                    else:
                        window[b, a, k] = UNKNOWN


@subroutine
def _gather(index, table, block, margin, window):
    """Copy the cells around a block, with a margin, into a window; 0 outside the grid."""
    wide = len(window)
    window[:] = 0
    low_z, low_y = BLOCK_SIDE * block[0] - margin, BLOCK_SIDE * block[1] - margin
    low_x = BLOCK_SIDE * block[2] - margin
    for bz in range(
        max(low_z, 0) >> BLOCK_SHIFT, min(1 + ((low_z + wide - 1) >> BLOCK_SHIFT), len(index))
    ):
        for by in range(
            max(low_y, 0) >> BLOCK_SHIFT,
            min(1 + ((low_y + wide - 1) >> BLOCK_SHIFT), index.shape[1]),
        ):
            for bx in range(
                max(low_x, 0) >> BLOCK_SHIFT,
                min(1 + ((low_x + wide - 1) >> BLOCK_SHIFT), index.shape[2]),
            ):
                row = index[bz, by, bx]
                if row == FREE_ROW:
                    continue
                # Copy the part of this block that lies in the window.
                z, y, x = BLOCK_SIDE * bz - low_z, BLOCK_SIDE * by - low_y, BLOCK_SIDE * bx - low_x
                first, last = max(0, -x), min(BLOCK_SIDE, wide - x)
                for c in range(max(0, -z), min(BLOCK_SIDE, wide - z)):
                    for b in range(max(0, -y), min(BLOCK_SIDE, wide - y)):
                        for a in range(first, last):
                            window[z + c, y + b, x + a] = table[row, c, b, a]


@subroutine
def _along_z(window, margin, limit, out):
    """Compute g of (1) up to `limit`.

    window (w, w, w) marks cells, out (sides, w, w).
    """
    wide, tall = len(window), len(out)
    far, step = np.uint8(limit), np.uint8(1)
    run = np.empty((wide, wide), np.uint8)
    run[:] = far
    for z in range(margin + tall):
        for y in range(wide):
            for x in range(wide):
                near = min(np.uint8(run[y, x] + step), far)
                run[y, x] = np.uint8(0) if window[z, y, x] != 0 else near
        if z >= margin:
            out[z - margin] = run
    run[:] = far
    for z in range(wide - 1, margin - 1, -1):
        for y in range(wide):
            for x in range(wide):
                near = min(np.uint8(run[y, x] + step), far)
                run[y, x] = np.uint8(0) if window[z, y, x] != 0 else near
        if z < margin + tall:
            level = out[z - margin]
            for y in range(wide):
                for x in range(wide):
                    level[y, x] = min(level[y, x], run[y, x])


@subroutine
def _lower_square(line, add, out):
    """Lower `out` to line + add, element by element."""
    for x in range(len(out)):
        out[x] = min(out[x], np.uint16(line[x] + add))


@subroutine
def _lower_larger(line, floor, out):
    """Lower `out` to the larger of line and floor, element by element."""
    for x in range(len(out)):
        out[x] = min(out[x], max(line[x], floor))


@kernel("i4[:,:,::1], u1[:,:,:,::1], i8[:,::1], i8 -> u2[:,:,:,::1]", over="places")
def squared_distances(first, last, index, marks, places, margin, out):
    """Compute D² of (1) to the marked cells, at most margin², in cells, exact below that.

    places (k, 3): z, y, x of blocks; out (k, n, n, n) with n = BLOCK_SIDE + 1: the first cells of
    the next blocks are included, so that interpolation reads one block only.
    """
    sides = BLOCK_SIDE + 1
    wide = sides + 2 * margin
    far = np.uint16(margin * margin)
    window = np.empty((wide, wide, wide), np.uint8)
    along = np.empty((sides, wide, wide), np.uint8)
    square, line = np.empty((wide, wide), np.uint16), np.empty(wide, np.uint16)
    for k in range(first, last):
        _gather(index, marks, places[k], margin, window)
        _along_z(window, margin, margin, along)
        for z in range(sides):
            for y in range(wide):
                for x in range(wide):
                    g = np.uint16(along[z, y, x])
                    square[y, x] = np.uint16(g * g)
            for y in range(sides):
                line[:] = far
                for j in range(2 * margin + 1):
                    _lower_square(square[y + j], np.uint16((j - margin) * (j - margin)), line)
                row = out[k, z, y]
                row[:] = far
                for j in range(2 * margin + 1):
                    _lower_square(line[j : j + sides], np.uint16((j - margin) * (j - margin)), row)


@kernel("i4[:,:,::1], u1[:,:,:,::1], i8[:,::1] -> u1[:,:,:,::1]", over="places")
def skip_codes(first, last, index, table, places, out):
    """Compute the codes that rays of `compute.rays.grid3d` jump by.

    For free cells it is 2 + D∞ of (1) to the nearest cell that is not free.

    At most BLOCK_SIDE + 2; the code less one for the others. places and out are as in
    `surface_cells`.
    """
    wide = 3 * BLOCK_SIDE
    window = np.empty((wide, wide, wide), np.uint8)
    along = np.empty((BLOCK_SIDE, wide, wide), np.uint8)
    line, row = np.empty(wide, np.uint8), np.empty(BLOCK_SIDE, np.uint8)
    for k in range(first, last):
        _gather(index, table, places[k], BLOCK_SIDE, window)
        _along_z(window, BLOCK_SIDE, BLOCK_SIDE, along)
        for z in range(BLOCK_SIDE):
            for y in range(BLOCK_SIDE):
                line[:] = BLOCK_SIDE
                for j in range(2 * BLOCK_SIDE + 1):
                    _lower_larger(along[z, y + j], np.uint8(abs(j - BLOCK_SIDE)), line)
                row[:] = BLOCK_SIDE
                for j in range(2 * BLOCK_SIDE + 1):
                    _lower_larger(line[j : j + BLOCK_SIDE], np.uint8(abs(j - BLOCK_SIDE)), row)
                for x in range(BLOCK_SIDE):
                    code = table[FIRST_OWN_ROW + k, z, y, x]
                    out[FIRST_OWN_ROW + k, z, y, x] = row[x] + 2 if code == FREE else code - 1
