"""Slow exact twins of the kernels, and random rooms to try them in."""

import numpy as np
from tests.support.angles import unit_vectors

from isovist import DirectionalBasis, SegmentMap


def cast_all(walls, origin, direction):
    """First wall along one ray, by trying every wall: (range, wall), (inf, −1) for none."""
    best, wall = np.inf, -1
    for j, (x0, y0, x1, y1) in enumerate(walls):
        a, b = np.array([x0, y0]) - origin, np.array([x1, y1]) - origin
        ca = direction[0] * a[1] - direction[1] * a[0]
        cb = direction[0] * b[1] - direction[1] * b[0]
        if (ca > 0.0) == (cb > 0.0):
            continue
        t = (a[0] * b[1] - a[1] * b[0]) / (cb - ca)
        if 0.0 < t < best:
            best, wall = t, j
    return best, wall


def see_all(world, point):
    """Pieces around a point from the angles of all corners and one ray between every two."""
    gap = world.corners - point
    angles = np.unique(np.arctan2(gap[:, 1], gap[:, 0]) % (2.0 * np.pi))
    angles = np.concatenate([[0.0], angles[angles > 0.0], [2.0 * np.pi]])
    middles = 0.5 * (angles[:-1] + angles[1:])
    walls = np.array([cast_all(world.walls, point, d)[1] for d in unit_vectors(middles)])
    keep = np.concatenate([[True], walls[1:] != walls[:-1]])
    return angles[:-1][keep], walls[keep]


def weights_plainly(basis, theta):
    """w_i(θ) straight from the definition; only for temperatures that do not overflow."""
    psi = np.exp(basis.profile.log(np.clip(theta @ basis.directions.T, -1.0, 1.0)))
    return psi / psi.sum(axis=-1, keepdims=True)


def describe_plainly(
    world: SegmentMap, point, basis: DirectionalBasis, terms: int, signal=lambda r: r
):
    """F by the plain S-term sum, all walls against all rays."""
    theta = 2.0 * np.pi * (np.arange(terms) + 0.5) / terms
    directions = unit_vectors(theta)
    a, b = world.walls[:, :2] - point, world.walls[:, 2:] - point
    ca = directions[:, :1] * a[:, 1] - directions[:, 1:] * a[:, 0]
    cb = directions[:, :1] * b[:, 1] - directions[:, 1:] * b[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        t = (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / (cb - ca)
    t = np.where(((ca > 0.0) != (cb > 0.0)) & (t > 0.0), t, np.inf).min(axis=1)
    return 2.0 * np.pi / terms * signal(t) @ basis.weights(directions)


def random_room(rng: np.random.Generator) -> SegmentMap:
    """A rectangle with up to four walls, which may cross, and up to three turned pillars."""
    width, height = rng.uniform(3.0, 9.0, 2)
    walls = rng.uniform((0.0, 0.0), (width, height), (int(rng.integers(0, 5)), 2, 2))
    pillars = []
    for _ in range(int(rng.integers(0, 4))):
        k = int(rng.integers(3, 7))
        turn = np.sort(rng.uniform(0.0, 2.0 * np.pi, k))
        if np.diff(turn, append=turn[0] + 2.0 * np.pi).max() > 3.0:
            continue
        radius = rng.uniform(0.15, 0.6)
        centre = rng.uniform((0.7, 0.7), (width - 0.7, height - 0.7))
        pillars.append(centre + radius * unit_vectors(turn))
    outline = [(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)]
    return SegmentMap.from_polygons([outline], pillars, walls if len(walls) else None)


def random_point(rng: np.random.Generator, world: SegmentMap, clearance: float = 0.05):
    """A free point at least `clearance` m from every wall and 1 mm off every alignment."""
    while True:
        p = rng.uniform(*world.bounds)
        if world.contains(p) and world.clearance(p) > clearance and alignment(world, p) > 1e-3:
            return p


def alignment(world: SegmentMap, point) -> float:
    """Distance in m from the point to the nearest line through two corners."""
    c = world.corners
    i, j = np.triu_indices(len(c), 1)
    d = c[j] - c[i]
    gap = point - c[i]
    return float((np.abs(gap[:, 0] * d[:, 1] - gap[:, 1] * d[:, 0]) / np.hypot(*d.T)).min())
