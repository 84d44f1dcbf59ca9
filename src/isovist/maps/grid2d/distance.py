"""How far each cell is from the nearest one of a set.

In the plane by `compute.grids.distance`, on all cores and with a twentieth of the memory that SciPy
takes; in space, where maps have fewer cells, and on small maps by SciPy, bit for bit the same.
King moves of small maps are counted without it: to import SciPy takes longer than to count them.
"""

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array

MIN_KERNEL_CELLS = 2_000_000
"""Cells of a map of the plane from which on kernels are worth compiling: 1.5 s, once on a machine,
which SciPy takes for about so many."""


def king_moves(free: BoolArray) -> NDArray[np.uint8]:
    """Return the chessboard distance to the nearest cell that is not free, at most 253."""
    from isovist.compute.grids import distance as kernels

    if free.ndim == 2 and free.size >= MIN_KERNEL_CELLS:
        moves = np.empty(free.shape, dtype=np.uint8)
        kernels.king_moves(free, moves)
        return moves
    if free.ndim == 2:
        return _in_two_passes(free, kernels.MAX_MOVES)
    from scipy.ndimage import distance_transform_cdt

    return np.minimum(distance_transform_cdt(free, metric="chessboard"), kernels.MAX_MOVES).astype(
        np.uint8
    )


def distance_to(met: BoolArray) -> Float32Array:
    """Return the distance from each cell to the nearest cell of a non-empty set, in cells."""
    from isovist.compute.grids import distance as kernels

    if met.ndim == 2 and met.size >= MIN_KERNEL_CELLS:
        gaps = np.empty(met.shape, dtype=np.int32)
        distance = np.empty(met.shape, dtype=np.float32)
        kernels.along_columns(np.ascontiguousarray(met), np.arange(met.shape[1]), gaps)
        kernels.along_rows(gaps, distance)
        return distance
    from scipy.ndimage import distance_transform_edt

    return np.asarray(distance_transform_edt(~met), dtype=np.float32)


def _in_two_passes(free: BoolArray, most: int) -> NDArray[np.uint8]:
    """King moves by rows: from above and the left, then from below and the right."""
    moves = np.where(free, most, 0).astype(np.int32)
    columns = np.arange(free.shape[1], dtype=np.int32)
    for _ in range(2):
        before = np.full_like(columns, most)
        for row in moves:
            near = before.copy()
            near[1:] = np.minimum(near[1:], before[:-1])
            near[:-1] = np.minimum(near[:-1], before[1:])
            # The least of what the cells to the left have, and one more for each step from there.
            before = np.minimum(row, near + 1) - columns
            before = row[:] = np.minimum.accumulate(before) + columns
        moves = moves[::-1, ::-1]
    return moves.astype(np.uint8)
