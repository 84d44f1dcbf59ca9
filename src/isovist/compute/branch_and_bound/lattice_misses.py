"""Count the beams that miss, from every box of a lattice at once.

The middles of the boxes of a lattice lie `size` squares apart, and a beam leads from each of them
to a square at the same offset. With the squares sorted by their place in the boxes, the squares
that a beam reaches from a row of boxes are contiguous, so that sixteen and more are looked up at a
time. `compute.branch_and_bound.upper_bounds` takes one after the other, and drops boxes early.
"""

import numpy as np

from isovist.compute.infra.compiled import inline, kernel


@inline
def _take_hits(codes, mask, counts):
    """Subtract one for each square that has one of the bits of a mask. Shapes (n,)."""
    for j in range(len(counts)):
        counts[j] = np.uint8(counts[j] - np.uint8((codes[j] & mask) != 0))


@kernel("u1[:,:,:,::1], i8[:,:,::1], u1[::1], i8[:,::1] -> u1[:,:,::1]", over="offsets")
def count_misses(first, last, codes, offsets, masks, spans, counts):
    """Count the beams that end in squares without their bits, for each box and heading.

    Args:
        codes: Codes of the squares: [v, u, row, column] is v squares up and u along in its box,
            shape (size, size, rows, columns). Beyond them nothing has bits.
        offsets: From the first square of a box to where beam k ends, x and y, for each heading,
            shape (g, m, 2).
        masks: Bits of the beams, shape (m,), m < 256.
        spans: First and end of the columns of boxes to count for, for each row, shape (n, 2).
        counts: Output, shape (g, n, widest); the number of all beams for boxes outside of `spans`.
    """
    size, rows, columns = len(codes), codes.shape[2], codes.shape[3]
    for g in range(first, last):
        counts[g] = np.uint8(len(masks))
        for k in range(len(masks)):
            x, y = offsets[g, k, 0], offsets[g, k, 1]
            u, v = x % size, y % size
            right, up = (x - u) // size, (y - v) // size
            for j in range(max(0, -up), min(len(spans), rows - up)):
                begin, end = max(spans[j, 0], -right), min(spans[j, 1], columns - right)
                if begin < end:
                    _take_hits(
                        codes[v, u, up + j, right + begin : right + end], masks[k],
                        counts[g, j, begin:end],
                    )  # fmt: skip
