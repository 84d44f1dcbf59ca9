"""Convert walls as line segments to cells, and back.

Rasterising marks every cell that a segment passes through.  A cell owns its lower and left faces,
so a segment along a grid line makes one row of cells.  The cells of one segment are connected by
their faces, so regions that the segments enclose stay enclosed.

In the other direction, closed loops go around the occupied cells with the wall on their left.  They
are simplified so that no corner is farther than the tolerance from the result (Douglas–Peucker).
Where two walls touch at a corner one loop goes around both.
"""

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, FloatArray
from isovist.maps.grid2d.mapping import count


def rasterise(segments: FloatArray, resolution: float) -> tuple[BoolArray, FloatArray]:
    """Return the cells that segments (m, 2, 2) cross, and the grid's lower left corner in m."""
    starts, ends = np.moveaxis(segments, 1, 0)
    hits, passes, corner = count(starts, ends, np.ones(len(ends), dtype=np.bool_), resolution)
    return (hits > 0) | (passes > 0), corner


def nearest_segments(segments: FloatArray, points: FloatArray) -> NDArray[np.int64]:
    """Return the index of the segment (m, 2, 2) nearest to each point (k, 2)."""
    import shapely

    tree = shapely.STRtree(shapely.linestrings(segments))
    pairs, _ = tree.query_nearest(shapely.points(points), return_distance=True, all_matches=False)
    return np.asarray(pairs[1])


def enclosed(occupied: BoolArray) -> BoolArray:
    """Return the cells that are not occupied and not connected to the first cell."""
    from scipy.ndimage import label

    parts, _ = label(~occupied)
    return np.asarray(~occupied & (parts != parts[0, 0]))


def outlines(occupied: BoolArray) -> list[NDArray[np.int64]]:
    """Return closed loops around the occupied cells, each as corners (x, y) in cells, (k, 2)."""
    padded = np.pad(occupied, 1)
    own, left = padded[1:, 1:], padded[1:, :-1]
    below, below_left = padded[:-1, 1:], padded[:-1, :-1]
    # Whether a loop leaves this grid point to the right, up, to the left or down.
    leaves = np.stack([own & ~below, left & ~own, below_left & ~left, below & ~below_left], axis=-1)
    width, steps = leaves.shape[1], np.flatnonzero(leaves)
    points, headings = steps >> 2, steps & 3
    ends = points + np.array([1, width, -1, -width])[headings]
    # A right turn comes first: it goes around walls that touch at a corner.
    turns = [4 * ends + ((headings + turn) & 3) for turn in (-1, 0, 1)]
    flat = leaves.reshape(-1)
    successor = np.where(flat[turns[0]], turns[0], np.where(flat[turns[1]], turns[1], turns[2]))
    after = np.searchsorted(steps, successor)
    bends = np.empty(len(steps), dtype=np.bool_)
    bends[after] = headings[after] != headings
    next_step, is_bend, visited = after.tolist(), bends.tolist(), [False] * len(steps)
    loops = []
    for first in np.flatnonzero(bends).tolist():
        corners, step = [], first
        while not visited[step]:
            visited[step] = True
            if is_bend[step]:
                corners.append(step)
            step = next_step[step]
        if corners:
            rows, cols = np.divmod(points[corners], width)
            loops.append(np.stack([cols, rows], axis=-1))
    return loops


def simplified(loops: list[NDArray[np.int64]], tolerance: float) -> FloatArray:
    """Return the sides of the loops after simplification, shape (m, 2, 2), in cells.

    A loop that would shrink to a line is simplified less, so that it keeps an inside.
    """
    import shapely

    sides = []
    for loop in loops:
        closed = np.vstack([loop, loop[:1]]).astype(np.float64)
        line, allowed, corners = shapely.linestrings(closed), tolerance, closed[:0]
        while len(corners) < 4:
            corners = shapely.get_coordinates(
                shapely.simplify(line, allowed, preserve_topology=False)
            )
            allowed /= 2.0
        sides.append(np.stack([corners[:-1], corners[1:]], axis=1))
    return np.concatenate(sides) if sides else np.zeros((0, 2, 2))
