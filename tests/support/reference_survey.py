"""Slow exact twins of the kernels of the survey, and maps that are hard in one way each."""

import math
from functools import lru_cache

import numpy as np
from tests.support.reference_locate import UNIT, bilinear, costs_of_node
from tests.support.reference_space import house_atlas

from isovist import (
    Cell,
    Lidar,
    LocalizationSettings,
    OccupancyMap,
    SpinningLidar,
    SurveyingSettings,
    VoxelMap,
    survey,
)

FULL = Lidar(range_max=10.0, noise=0.03)
RINGS = SpinningLidar(rings=4, azimuths=32, range_max=12.0, noise=0.02)
QUICK = LocalizationSettings().with_values(
    {
        "search.max_nodes": 600,
        "search.headings_per_node": 4,
        "search.first_candidates": 60,
        "search.full_candidates": 60,
        "fit.first_rated": 60,
        "fit.first_refined": 12,
        "fit.full_rated": 60,
        "fit.full_refined": 12,
    }
)
"""A search with few candidates, for claims that do not depend on them."""
FEW = SurveyingSettings().with_values({"visibility.max_views": 1600})
"""Few views, which take longest."""
RULE = ((0.0, 2 / 3), (math.sqrt(3), 1 / 6), (-math.sqrt(3), 1 / 6))


def corridor(length=600) -> OccupancyMap:
    """30 m × 2 m unless told otherwise, in cells, and nothing in it."""
    cells = np.full((48, length + 8), Cell.OCCUPIED, dtype=np.uint8)
    cells[4:44, 4 : length + 4] = Cell.FREE
    return OccupancyMap(cells, UNIT)


def small_room() -> OccupancyMap:
    """6 m × 3.5 m with a closet and a pillar, without symmetry."""
    cells = np.full((78, 128), Cell.OCCUPIED, dtype=np.uint8)
    cells[4:74, 4:124] = Cell.FREE
    cells[4:34, 4:30] = Cell.OCCUPIED
    cells[50:58, 80:88] = Cell.OCCUPIED
    return OccupancyMap(cells, UNIT)


def nook() -> OccupancyMap:
    """3 m × 2 m with a closet, for what is said of any map."""
    cells = np.full((48, 68), Cell.OCCUPIED, dtype=np.uint8)
    cells[4:44, 4:64] = Cell.FREE
    cells[4:24, 4:20] = Cell.OCCUPIED
    return OccupancyMap(cells, UNIT)


def hall() -> OccupancyMap:
    """11 m × 9 m with a step in one corner: nothing near its middle."""
    cells = np.full((188, 228), Cell.OCCUPIED, dtype=np.uint8)
    cells[4:184, 4:224] = Cell.FREE
    cells[4:44, 4:64] = Cell.OCCUPIED
    return OccupancyMap(cells, UNIT)


def raised(world: OccupancyMap) -> VoxelMap:
    """The same with floor and ceiling, 2.4 m apart, in cells of 0.1 m."""
    walls = world.cells == Cell.OCCUPIED
    plan = walls.reshape(walls.shape[0] // 2, 2, walls.shape[1] // 2, 2).any(axis=(1, 3))
    cells = np.repeat(plan[None], 26, axis=0)
    cells[[0, -1]] = True
    return VoxelMap.from_array(cells.astype(np.uint8), 2.0 * UNIT)


@lru_cache
def house_survey():
    """The survey of the house in space, made once."""
    return survey(house_atlas(), RINGS, max_scans=20, settings=FEW, localization=QUICK)


def normal_of(field, place, ranges, angles, noise, width):
    """Equation (1) of `fitting.information` over all rays, by central differences; shape (8,)."""
    total = np.zeros(8)
    h = 1e-6
    for r0, angle in zip(ranges, angles, strict=True):
        if not math.isfinite(r0):
            continue
        for shift, share in RULE:
            r = float(r0) + shift * noise

            def end(dx, dy, da, r=r, angle=angle):
                x = place[0] + dx + r * math.cos(angle + da)
                return bilinear(field, x, place[1] + dy + r * math.sin(angle + da))

            e = end(0.0, 0.0, 0.0)
            if e > 3.5 * width:
                continue
            steps = ((h, 0.0, 0.0), (0.0, h, 0.0), (0.0, 0.0, h))
            J = [(end(*d) - end(*(-v for v in d))) / (2 * h) for d in steps]
            w = share * math.exp(-0.5 * (e / width) ** 2)
            pairs = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
            total += w * np.array([*(J[a] * J[b] for a, b in pairs), 1.0, e * e])
    return total


def compared(f, near, view, seen, barred, short, long):
    """Least cost of a node over the headings that count, and the heading."""
    costs = costs_of_node(f, view[None], seen[None], short, long)
    n = len(f)
    allowed = [k for k in range(n) if not near or min(k, n - k) > barred]
    best = min(allowed, key=lambda k: costs[k])
    return costs[best], best


def rough_costs(known, values, seen, group, cap):
    """Least squared distance over headings of rough channels, for one view, shape (A,)."""
    n = known.shape[1] // group
    f = np.minimum(known.reshape(-1, n, group).mean(axis=2), cap)
    counted = [seen[group * c : group * (c + 1)] for c in range(n)]
    parts = [values[group * c : group * (c + 1)] for c in range(n)]
    used = [c for c in range(n) if 2 * counted[c].sum() >= group]
    o = {c: parts[c][counted[c]].mean() for c in used}
    return np.array(
        [min(sum((o[c] - row[(k + c) % n]) ** 2 for c in used) for k in range(n)) for row in f]
    )
