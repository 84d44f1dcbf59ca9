"""Make triangles of simple solids: extruded plans and lattices."""

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import shapely

from isovist.arrays import FloatArray, IntArray
from isovist.errors import InputError

if TYPE_CHECKING:
    from isovist.maps.surfaces.segment_map import SegmentMap


def extruded(plan: "SegmentMap", low: float, high: float) -> tuple[FloatArray, IntArray]:
    """Return triangles (m, 3, 3) of a plan with vertical walls, and each one's wall, −1 for caps.

    A wall with free space on both sides, or on neither, has each of its two triangles twice:
    crossing it then changes nothing about inside and outside.
    """
    walls = plan.walls.reshape(-1, 2, 2)
    caps, touching = _caps(plan)
    twice = touching != 1 if plan.free is not None else np.zeros(len(walls), bool)
    index = np.concatenate([np.arange(len(walls)), np.flatnonzero(twice)])
    (a, b), (c, d) = (np.moveaxis(_at(walls[index], z), 1, 0) for z in (low, high))
    sides = [np.stack(corners, axis=1) for corners in ([a, b, d], [a, d, c])]
    owners = np.concatenate([index, index, np.full(2 * len(caps), -1)])
    return np.concatenate([*sides, _at(caps, low), _at(caps, high)]), owners


def _at(points: FloatArray, z: float) -> FloatArray:
    """Return 2D points, shape (..., 2), at a height, shape (..., 3)."""
    return np.concatenate([points, np.full((*points.shape[:-1], 1), z)], axis=-1)


def _caps(plan: "SegmentMap") -> tuple[FloatArray, IntArray]:
    """Return triangles of the free space, (k, 3, 2), and how many regions of it touch each wall.

    The regions are those that the walls cut the plane into, so that caps and walls share their
    corners and no crack is left between them.
    """
    walls = plan.walls.reshape(-1, 2, 2)
    touching = np.zeros(len(walls), np.int64)
    if plan.free is None:
        return np.empty((0, 3, 2)), touching
    regions = shapely.get_parts(shapely.polygonize(list(shapely.linestrings(walls))))
    middles = shapely.get_coordinates(shapely.point_on_surface(regions))
    regions = regions[shapely.contains_xy(plan.free, middles[:, 0], middles[:, 1])]
    if abs(shapely.area(regions).sum() - plan.free.area) > 1e-6 * plan.free.area:
        raise InputError(
            "The free space of the plan is not bounded by its walls, so it has no outline to "
            "extrude. Draw a wall around it.",
            code="empty",
        )
    number = {_key(a, b): k for k, (a, b) in enumerate(walls.tolist())}
    for region in regions:
        for ring in (region.exterior, *region.interiors):
            for a, b in pairwise(ring.coords):
                touching[number[_key(a, b)]] += 1
    parts = shapely.get_parts(shapely.constrained_delaunay_triangles(regions))
    return shapely.get_coordinates(parts).reshape(-1, 4, 2)[:, :3], touching


def _key(a: list[float], b: list[float]) -> tuple[tuple[float, ...], ...]:
    return tuple(sorted((tuple(a), tuple(b))))


def lattice_faces(rows: int, columns: int) -> IntArray:
    """Return two triangles for each cell of a lattice of vertices in row order, shape (k, 3)."""
    at = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = at[:-1, :-1], at[:-1, 1:], at[1:, :-1], at[1:, 1:]
    return np.moveaxis(np.array([[a, b, d], [a, d, c]]), 1, -1).reshape(-1, 3)
