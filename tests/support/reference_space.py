"""Slow exact twins of the kernels in space, and small buildings."""

import math
from functools import lru_cache

import numpy as np
from tests.support.reference_beams import rate

import isovist as iv
from isovist import Pose3, SpinningLidar, VoxelMap

UNIT = 0.1
LIDAR = SpinningLidar(16, azimuths=360, range_max=20.0, noise=0.02, clutter=0.05)


def house_cells():
    """Two rooms of 5.4 × 4.2 m and 3.6 × 4.2 m under one roof, furnished, without symmetry."""
    cells = np.zeros((28, 44, 94), np.uint8)
    for axis in range(3):
        np.moveaxis(cells, axis, 0)[[0, -1]] = 1
    cells[:, :, 55] = 1
    cells[1:22, 12:22, 55] = 0
    cells[1:9, 4:14, 8:20] = 1
    cells[1:20, 36:43, 30:40] = 1
    cells[1:27, 20:24, 70:73] = 1
    cells[1:12, 1:6, 80:93] = 1
    cells[1:16, 30:36, 60:63] = 1
    return cells


@lru_cache
def house():
    """The house at a place that is not the origin."""
    return VoxelMap.from_array(house_cells(), UNIT, (3.0, -2.0, 0.4))


@lru_cache
def atlas_of(world):
    """Of a map that is made once, built once."""
    return iv.build(world)


def house_atlas():
    return atlas_of(house())


@lru_cache
def symmetric_room(shiny: bool):
    """A room that looks the same when turned by 180°, but for the reflectance of its walls."""
    cells = np.zeros((26, 42, 62), np.uint8)
    for axis in range(3):
        np.moveaxis(cells, axis, 0)[[0, -1]] = 1
    cells[1:16, 8:14, 10:16] = 1
    cells[1:16, -14:-8, -16:-10] = 1
    reflectance = None
    if shiny:
        reflectance = np.full(cells.shape, 0.5)
        reflectance[:, :, :2], reflectance[:, :2] = 0.9, 0.2
    return VoxelMap.from_array(cells, UNIT, reflectance=reflectance)


def ring_costs(f, windows, seen, short, long):
    """Equation (1) of `compute.search.correlate` over rings, at every heading, shape (n P,)."""
    rings, n = f.shape
    phases, _, m = windows.shape
    cost = np.zeros(n * phases)
    for k in range(n):
        for p in range(phases):
            for ring in range(rings):
                for c in range(m):
                    if seen[p, ring, c]:
                        d = float(windows[p, ring, c]) - float(f[ring, (k + c) % n])
                        cost[k * phases + p] += abs(min(max(d, -short), long))
    return cost


def distance(field, x, y, z):
    """D between the centres of cells, by weighing the eight around; beyond them plus the way."""
    sizes = np.array(field.shape[::-1])
    p = np.array([x, y, z]) - 0.5
    q = np.clip(p, 0.0, sizes - 1.000001)
    low, t = np.floor(q).astype(int), q - np.floor(q)
    value = 0.0
    for corner in range(8):
        bits = np.array([(corner >> k) & 1 for k in range(3)])
        i, j, k = low + bits
        value += np.prod(np.where(bits == 1, t, 1.0 - t)) * float(field[k, j, i])
    return value + float(np.linalg.norm(p - q))


def rate_beams(world, bare, field, model, shine, gloss, ends, strengths, pose):
    """ℓ and kind of each beam by `VoxelMap.cast`, as `compute.likelihood.score3d` says."""
    sigma, longest, slack = model[0], model[1], model[8]
    unit = world.resolution
    place = Pose3(pose[0] * unit, pose[1] * unit, pose[2], pose[3] * unit, pose[4], pose[5])
    place = Pose3.from_matrix(place.rotation, place.position + world.corner)
    ratings, kinds = [], []
    for k, q in enumerate(ends):
        z = float(np.linalg.norm(q))
        d = place.rotation @ q / z
        hit = world.cast(place.position, d, maximum=longest)
        r, ending, cell = float(hit.ranges), int(hit.endings), int(hit.walls)
        wall = r
        in_unknown = ending != 0 and z > r - slack
        if in_unknown and ending == 1:
            behind = bare.cast(place.position, d, maximum=longest)
            wall, cell = float(behind.ranges), int(behind.walls)
        end = (place.position + z * d - world.corner) / unit
        near = distance(field, *end) * unit
        rating, kind = rate(model, sigma, z, r, wall, near, in_unknown)
        if shine.size and kind == 0:
            if cell < 0 or abs(wall - z) > 3.0 * sigma + slack:
                inside = int(world.index(place.position + z * d))
                cell = inside if inside >= 0 and world.cells.ravel()[inside] == 1 else -1
            if cell >= 0:
                spread, width, share = gloss
                bell = math.exp(-0.5 * ((strengths[k] - shine[cell]) / spread) ** 2)
                bell /= math.sqrt(2.0 * math.pi) * spread
                rating += math.log(share * bell * width + 1.0 - share)
        ratings.append(rating)
        kinds.append(kind)
    return np.array(ratings), np.array(kinds)


def clipped(triangle):
    """What the cell ±½ around 0 leaves of a triangle, cut plane by plane; empty when apart."""
    polygon = [np.array(p, dtype=float) for p in triangle]
    for axis in range(3):
        for side in (1.0, -1.0):
            kept = []
            for p, q in zip(polygon, polygon[1:] + polygon[:1], strict=True):
                a, b = 0.5 - side * p[axis], 0.5 - side * q[axis]
                if a >= 0.0:
                    kept.append(p)
                if a * b < 0.0:
                    kept.append(p + a / (a - b) * (q - p))
            polygon = kept
    return polygon


def at(x, y, yaw, z=1.5, roll=0.0, pitch=0.0):
    """A pose in the house, whose floor is at 0.5 m."""
    return Pose3(x, y, yaw, z, roll, pitch)
