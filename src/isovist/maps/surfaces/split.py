"""Split segments where they cross, touch or overlap, so that they meet only at their ends."""

from itertools import pairwise

import numpy as np
import shapely

from isovist.arrays import FloatArray, IntArray

TOUCH = 1e-9  # m: an end this near to a segment lies on it


def split_crossings(segments: FloatArray) -> tuple[FloatArray, IntArray]:
    """Split segments into walls that meet only at their ends, and return each wall's segment.

    Ends nearer than TOUCH to each other become one point.  An end that near to the inside of
    another segment splits it there.  A stretch covered by several segments stays once, as part of
    the first.

    Args:
        segments: Ends (x0, y0, x1, y1), shape (m, 4).
    """
    # Repeated segments add only pairs, whose number grows with the square.
    forth, back = segments, segments[:, [2, 3, 0, 1]]
    is_reversed = (forth[:, 0] > back[:, 0]) | (
        (forth[:, 0] == back[:, 0]) & (forth[:, 1] > back[:, 1])
    )
    sorted_ends = np.where(is_reversed[:, None], back, forth)
    distinct = np.sort(np.unique(sorted_ends, axis=0, return_index=True)[1])
    s = _merge_ends(segments[distinct])
    lines = shapely.linestrings(s.reshape(-1, 2, 2))
    tree = shapely.STRtree(lines)
    first, second = tree.query(lines, predicate="dwithin", distance=TOUCH)
    pairs = first < second
    cuts: list[list[tuple[float, float]]] = [[] for _ in s]
    for i, j in zip(first[pairs], second[pairs], strict=True):
        _cut_pair(s[i], s[j], cuts[i], cuts[j])
    walls: list[tuple[float, ...]] = []
    parents: list[int] = []
    keys: set[tuple[float, ...]] = set()
    for k, row in enumerate(s):
        along = row[2:] - row[:2]
        inner = sorted(
            set(cuts[k]), key=lambda c: (c[0] - row[0]) * along[0] + (c[1] - row[1]) * along[1]
        )
        stops = [(row[0], row[1]), *inner, (row[2], row[3])]
        for a, b in pairwise(stops):
            key = (*min(a, b), *max(a, b))
            if a != b and key not in keys:
                keys.add(key)
                walls.append((*a, *b))
                parents.append(int(distinct[k]))
    return np.array(walls), np.array(parents, dtype=np.int64)


def _merge_ends(segments: FloatArray) -> FloatArray:
    """Merge ends that are nearer than TOUCH to each other into the first one."""
    from scipy.spatial import cKDTree

    ends = segments.reshape(-1, 2)
    pairs = cKDTree(ends).query_pairs(TOUCH, output_type="ndarray")
    target = np.arange(len(ends))
    for a, b in pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]:
        target[b] = min(target[b], target[a])
    return np.ascontiguousarray(ends[target].reshape(-1, 4))


def _cut_pair(
    p: FloatArray,
    q: FloatArray,
    p_cuts: list[tuple[float, float]],
    q_cuts: list[tuple[float, float]],
) -> None:
    """Add the points where two segments that touch must be cut."""
    touched = False
    for segment, cuts, other in ((p, p_cuts, q), (q, q_cuts, p)):
        for end in (other[:2], other[2:]):
            if _on(segment, end):
                cuts.append((float(end[0]), float(end[1])))
                touched = True
    if touched or any((p[a : a + 2] == q[b : b + 2]).all() for a in (0, 2) for b in (0, 2)):
        return
    d, e = p[2:] - p[:2], q[2:] - q[:2]
    den = d[0] * e[1] - d[1] * e[0]
    if den == 0.0:
        return
    gap = q[:2] - p[:2]
    at = p[:2] + d * ((gap[0] * e[1] - gap[1] * e[0]) / den)
    if _on(p, at) and _on(q, at):
        for cuts in (p_cuts, q_cuts):
            cuts.append((float(at[0]), float(at[1])))


def _on(segment: FloatArray, point: FloatArray) -> bool:
    """Return whether the point lies on the segment, within TOUCH, and not at its ends."""
    d = segment[2:] - segment[:2]
    length = np.hypot(d[0], d[1])
    gap = point - segment[:2]
    along = (gap[0] * d[0] + gap[1] * d[1]) / length
    across = abs(gap[0] * d[1] - gap[1] * d[0]) / length
    return bool(across <= TOUCH < along < length - TOUCH)
