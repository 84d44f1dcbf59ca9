"""Compute distances of cells to the nearest cell of a set.

Large 2D maps use `compute.grids.distance`, on all cores and with a twentieth of the memory of
SciPy.  Small maps, and 3D maps, which have fewer cells, use SciPy.  The results have the same bits.
Chessboard distances of small 2D maps need no SciPy: importing it takes longer than counting.
"""

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array

MIN_KERNEL_CELLS = 2_000_000
"""Cells of a 2D map from which on kernels are worth compiling: it takes 1.5 s, once on a machine,
and SciPy takes as long for this many cells."""


def king_moves(free: BoolArray) -> NDArray[np.uint8]:
    """Return the chessboard distance to the nearest cell that is not free, at most 253."""
    from isovist.compute import MAX_MOVES, count_king_moves

    if free.ndim == 2 and free.size >= MIN_KERNEL_CELLS:
        moves = np.empty(free.shape, dtype=np.uint8)
        count_king_moves(free, moves)
        return moves
    if free.ndim == 2:
        return _in_two_passes(free, MAX_MOVES)
    from scipy.ndimage import distance_transform_cdt

    return np.minimum(distance_transform_cdt(free, metric="chessboard"), MAX_MOVES).astype(np.uint8)


def distance_to(met: BoolArray) -> Float32Array:
    """Return the distance from each cell to the nearest cell of a set, in cells.

    The set must not be empty.
    """
    from isovist.compute import along_columns, along_rows

    if met.ndim == 2 and met.size >= MIN_KERNEL_CELLS:
        gaps = np.empty(met.shape, dtype=np.int32)
        distance = np.empty(met.shape, dtype=np.float32)
        along_columns(np.ascontiguousarray(met), np.arange(met.shape[1]), gaps)
        along_rows(gaps, distance)
        return distance
    from scipy.ndimage import distance_transform_edt

    return np.asarray(distance_transform_edt(~met), dtype=np.float32)


def _in_two_passes(free: BoolArray, limit: int) -> NDArray[np.uint8]:
    """Count king moves by rows: from above and the left, then from below and the right."""
    moves = np.where(free, limit, 0).astype(np.int32)
    columns = np.arange(free.shape[1], dtype=np.int32)
    for _ in range(2):
        before = np.full_like(columns, limit)
        for row in moves:
            near = before.copy()
            near[1:] = np.minimum(near[1:], before[:-1])
            near[:-1] = np.minimum(near[:-1], before[1:])
            # The minimum of the cells to the left, plus one for each step from there.
            before = np.minimum(row, near + 1) - columns
            before = row[:] = np.minimum.accumulate(before) + columns
        moves = moves[::-1, ::-1]
    return moves.astype(np.uint8)
