"""Slow exact twins of what plans a drive, and a hall to drive in."""

import heapq
import math
from functools import lru_cache

import numpy as np
from tests.support.angles import unit_vectors
from tests.support.worlds import twofold_hall

from isovist import Atlas, BeamModel, Lidar, Pose, build

LIDAR = Lidar(beams=180, range_max=3.0)
START = Pose(4.3, 1.6, 0.4)


@lru_cache
def hall_atlas(odd: bool) -> Atlas:
    """A small hall that is the same after half a turn, without the `odd` crate."""
    return build(twofold_hall(9.0, 6.0, odd=odd))


def walled(height: int, width: int) -> np.ndarray:
    """Free cells with a wall around."""
    cells = np.zeros((height, width), dtype=np.uint8)
    cells[[0, -1], :] = cells[:, [0, -1]] = 1
    return cells


def shortest(
    free: np.ndarray, joined, start: tuple[int, int], reach: float, step: float
) -> np.ndarray:
    """Lengths of shortest ways over a lattice, by a heap."""
    far = np.full(free.shape, np.inf)
    far[start] = 0.0
    heap = [(0.0, start)]
    moves = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if r or c]
    while heap:
        here, (row, col) = heapq.heappop(heap)
        if here > far[row, col]:
            continue
        for dr, dc in moves:
            r, c = row + dr, col + dc
            if not (0 <= r < free.shape[0] and 0 <= c < free.shape[1] and free[r, c]):
                continue
            there = here + step * math.hypot(dr, dc)
            if there <= reach and there < far[r, c] and joined((row, col), (r, c)):
                far[r, c] = there
                heapq.heappush(heap, (there, (r, c)))
    return far


def room_ahead(points: np.ndarray, heading: float, half_width: float, reach: float) -> float:
    """Centre of the first disc along a line that a point lies in, by small steps."""
    along = np.array([math.cos(heading), math.sin(heading)])
    for s in np.arange(0.0, reach, 1e-4):
        ahead = points @ along > 0.0
        if (np.hypot(*(points[ahead] - s * along).T) < half_width).any():
            return float(s)
    return reach


def rating(atlas: Atlas, place: Pose, bearing: float, z: float, wall: float, blur: float) -> float:
    """ℓ of one beam, by equation (1) of `foresight`, with one σ in peak and exponent."""
    unit, model, reach = atlas.world.resolution, BeamModel(), atlas.settings.reach
    if z > wall + model.behind_m + model.behind_share * z:
        miss = z - wall
    else:
        end = place.apply((z + 0.5 * unit) * unit_vectors(bearing))
        height, width = atlas.world.shape
        x, y = atlas.world.to_grid(end)  # beyond the map, the cell at its edge counts
        row, col = int(min(max(y, 0), height - 1)), int(min(max(x, 0), width - 1))
        miss = float(atlas.wall_distance[row, col]) * unit
    sigma = math.hypot(blur, unit / math.sqrt(12.0))
    a, b, nearest, random = model.hit, model.short, model.short_range_m, model.random
    hit = a / (math.sqrt(2.0 * math.pi) * sigma) * math.exp(-0.5 * (miss / sigma) ** 2)
    short = b / max(wall, nearest) if z < wall else 0.0
    return math.log(reach * (hit + short) + random)


def separated(
    atlas: Atlas, places: list[Pose], bearings: np.ndarray, ranges: np.ndarray, blur: float
) -> np.ndarray:
    """δ of every beam for every pair of places, shape (K, K, m), 0 where nothing returns."""
    K, m = ranges.shape
    walls = np.minimum(ranges, atlas.settings.reach)
    delta = np.zeros((K, K, m))
    for i in range(K):
        for k in range(m):
            z = ranges[i, k]
            if not 0.0 < z < math.inf:
                continue
            ratings = [
                rating(atlas, place, bearings[k], z, walls[j, k], blur)
                for j, place in enumerate(places)
            ]
            delta[i, :, k] = ratings[i] - np.array(ratings)
    return delta
