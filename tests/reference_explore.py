"""Slow exact twins of what plans a drive."""

import heapq
import math

import numpy as np

from isovist.atlas.plane import REACH, Atlas
from isovist.exploration.foresight import BLUR
from isovist.exploration.paths import HALF_WIDTH, NEIGHBOURS, STEP
from isovist.localization.refine import MIXTURE, NOISE, SLACK
from isovist.poses import Pose, unit_vectors


def shortest(free: np.ndarray, joined, start: tuple[int, int], reach: float) -> np.ndarray:
    """Lengths of shortest ways over a lattice, by a heap."""
    far = np.full(free.shape, np.inf)
    far[start] = 0.0
    heap = [(0.0, start)]
    moves = [*NEIGHBOURS, *((-r, -c) for r, c in NEIGHBOURS)]
    while heap:
        here, (row, col) = heapq.heappop(heap)
        if here > far[row, col]:
            continue
        for dr, dc in moves:
            r, c = row + dr, col + dc
            if not (0 <= r < free.shape[0] and 0 <= c < free.shape[1] and free[r, c]):
                continue
            there = here + STEP * math.hypot(dr, dc)
            if there <= reach and there < far[r, c] and joined((row, col), (r, c)):
                far[r, c] = there
                heapq.heappush(heap, (there, (r, c)))
    return far


def room_ahead(points: np.ndarray, heading: float, reach: float) -> float:
    """Centre of the first disc along a line that a point lies in, by small steps."""
    along = np.array([math.cos(heading), math.sin(heading)])
    for s in np.arange(0.0, reach, 1e-4):
        ahead = points @ along > 0.0
        if (np.hypot(*(points[ahead] - s * along).T) < HALF_WIDTH).any():
            return float(s)
    return reach


def rating(atlas: Atlas, place: Pose, bearing: float, z: float, wall: float) -> float:
    """ℓ of one beam, by equation (1) of `foresight`."""
    unit = atlas.world.resolution
    if z > wall + SLACK[0] + SLACK[1] * z:
        miss = z - wall
    else:
        end = place.apply((z + 0.5 * unit) * unit_vectors(bearing))
        row, col = atlas.world.index(end)
        miss = float(atlas.wall_distance[row, col]) * unit
    sigma = math.hypot(NOISE, unit / math.sqrt(12.0))
    a, b, nearest, random = MIXTURE
    hit = a / (math.sqrt(2.0 * math.pi) * sigma) * math.exp(-0.5 * (miss / BLUR) ** 2)
    short = b / max(wall, nearest) if z < wall else 0.0
    return math.log(REACH * (hit + short) + random)
