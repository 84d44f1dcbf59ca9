"""Count the cells that beams pass and end in. Coordinates are in cells."""

from isovist.compute.infra.compiled import kernel

BAND_ROWS = 16


@kernel("f8[:,::1] -> i4[:,::1]")
def count_hits(ends, hits):
    """Add one to the cell of each end; `ends` (m, 2) as (x, y), `hits` (height, width)."""
    for k in range(len(ends)):
        hits[int(ends[k, 1]), int(ends[k, 0])] += 1


@kernel("f8[:,::1], f8[:,::1] -> i4[:,::1]", over="steps", block=BAND_ROWS)
def mark_passes(first, last, starts, ends, steps):
    """Mark the runs of cells that each beam passes, row by row.

    A run from column c to d of a row adds +1 at c and −1 at d + 1 of `steps`, whose running sum
    along rows is then the number of passes. The cell of the end is left out. Bands of rows are
    independent, so cores share nothing.

    Args:
        starts: (x, y) in cells, shape (m, 2).
        ends: (x, y) in cells, shape (m, 2).
        steps: Added to, shape (height, width + 1).
    """
    for bottom in range(first, last, BAND_ROWS):
        top = min(bottom + BAND_ROWS, last)
        for k in range(len(starts)):
            x0, y0, x1, y1 = starts[k, 0], starts[k, 1], ends[k, 0], ends[k, 1]
            if max(y0, y1) < bottom or min(y0, y1) >= top:
                continue
            last_row, last_col = int(y1), int(x1)
            if y1 < y0:
                x0, y0, x1, y1 = x1, y1, x0, y0
            slope = (x1 - x0) / (y1 - y0) if y1 > y0 else 0.0
            for row in range(max(bottom, int(y0)), min(top, int(y1) + 1)):
                a = x0 + slope * (row - y0) if row > y0 else x0
                b = x0 + slope * (row + 1 - y0) if row + 1 < y1 else x1
                low, high = int(min(a, b)), int(max(a, b))
                steps[row, low] += 1
                steps[row, high + 1] -= 1
                if row == last_row and low <= last_col <= high:
                    steps[row, last_col] -= 1
                    steps[row, last_col + 1] += 1
