"""Slow exact twins of the kernels of search, refinement and scoring, and a small building."""

import math

import numpy as np
from tests.support.reference_beams import rate

from isovist import Cell, OccupancyMap, Pose

UNIT = 0.05


def building(origin: Pose | None = None) -> OccupancyMap:
    """Two rooms, a corridor and some furniture on 12 m × 8 m, without symmetry."""
    cells = np.full((160, 240), Cell.OCCUPIED, dtype=np.uint8)
    cells[4:70, 4:100] = Cell.FREE
    cells[4:70, 104:236] = Cell.FREE
    cells[74:104, 4:236] = Cell.FREE
    cells[108:156, 60:180] = Cell.FREE
    cells[70:74, 40:58] = Cell.FREE
    cells[70:74, 190:206] = Cell.FREE
    cells[104:108, 100:120] = Cell.FREE
    cells[10:30, 10:24] = Cell.OCCUPIED
    cells[50:56, 120:160] = Cell.OCCUPIED
    cells[130:140, 150:158] = Cell.OCCUPIED
    cells[74:84, 150:156] = Cell.OCCUPIED
    cells[108:156, 181:240] = Cell.UNKNOWN
    return OccupancyMap(cells, UNIT, Pose() if origin is None else origin)


def twin_rooms() -> OccupancyMap:
    """Two rooms of the same shape that no ray connects."""
    cells = np.full((100, 210), Cell.OCCUPIED, dtype=np.uint8)
    for left in (2, 106):
        cells[2:98, left : left + 96] = Cell.FREE
        cells[2:40, left : left + 30] = Cell.OCCUPIED
        cells[60:70, left + 70 : left + 96] = Cell.OCCUPIED
    return OccupancyMap(cells, UNIT)


def steps_above(f, codes):
    """Channels of nodes in the steps of a scan, in singles as the search does it."""
    above = (f - np.float32(codes.base)) * np.float32(1.0 / codes.step) + np.float32(0.5)
    return np.clip(np.floor(above), 0, 32767)


def costs_of_node(f, windows, seen, short, long):
    """Equation (1) of `compute.search.correlate` at every heading, shape (n P,)."""
    n, (phases, m) = len(f), windows.shape
    cost = np.zeros(n * phases)
    for k in range(n):
        for p in range(phases):
            for c in range(m):
                if seen[p, c]:
                    d = float(windows[p, c]) - float(f[(k + c) % n])
                    cost[k * phases + p] += abs(min(max(d, -short), long))
    return cost


def spread_out(poses, radius, turn, most):
    chosen = []
    for i, (x, y, a) in enumerate(poses):
        alike = any(
            math.hypot(x - poses[j][0], y - poses[j][1]) < radius
            and abs((a - poses[j][2] + math.pi) % (2 * math.pi) - math.pi) < turn
            for j in chosen
        )
        if not alike and len(chosen) < most:
            chosen.append(i)
    return chosen


def bilinear(field, x, y):
    """Value between the centres of cells; beyond them the nearest value plus the distance."""
    height, width = field.shape
    u, v = np.clip(x - 0.5, 0, width - 1), np.clip(y - 0.5, 0, height - 1)
    i, j = min(int(u), width - 2), min(int(v), height - 2)
    corners = [(j + b, i + a) for b in (0, 1) for a in (0, 1)]
    value = sum(field[r, c] * (1 - abs(u - c)) * (1 - abs(v - r)) for r, c in corners)
    return value + math.hypot(x - 0.5 - u, y - 0.5 - v)


def fit_step(field, ends, sigma, damping, pose, noise=None):
    """One damped Gauss–Newton step, with derivatives of the field by central differences."""
    x, y, yaw = pose
    rotation = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
    H, g = np.zeros((3, 3)), np.zeros(3)
    h = 1e-6
    for end, own in zip(ends, np.zeros(len(ends)) if noise is None else noise, strict=True):
        rx, ry = rotation @ end
        px, py = x + rx, y + ry
        e, width = bilinear(field, px, py), math.hypot(sigma, own)
        if e > 3.5 * width:
            continue
        dx = (bilinear(field, px + h, py) - bilinear(field, px - h, py)) / (2 * h)
        dy = (bilinear(field, px, py + h) - bilinear(field, px, py - h)) / (2 * h)
        J = np.array([dx, dy, dy * rx - dx * ry])
        w = math.exp(-0.5 * (e / width) ** 2) * (sigma / width) ** 2
        H += w * np.outer(J, J)
        g += w * J * e
    arm = np.mean(np.sum(np.square(ends), axis=1))
    damped = H + damping * len(ends) * np.diag([1.0, 1.0, 0.1 * arm])
    step = -np.linalg.solve(damped, g)
    length = math.hypot(step[0], step[1])
    step[:2] *= min(1.0, sigma / length) if length > 0 else 1.0
    step[2] = np.clip(step[2], -0.1, 0.1)
    return np.array(pose) + step, H


def rating(world, walls, field, model, pose, bearing, z):
    """ℓ of one beam, equations (1) to (3) of `compute.likelihood.beam_model`; `pose` in m."""
    longest, slack = model[1], model[8]
    direction = [math.cos(pose[2] + bearing), math.sin(pose[2] + bearing)]
    hit = world.cast(pose[:2], direction, maximum=longest)
    r, ending = float(hit.ranges), int(hit.endings)
    in_unknown = ending != 0 and z > r - slack
    wall = r
    if in_unknown and ending == 1:
        wall = float(walls.cast(pose[:2], direction, maximum=longest).ranges)
    end = world.to_grid(np.asarray(pose[:2]) + z * np.asarray(direction))
    near = bilinear(field, *end) * world.resolution
    return rate(model, model[0], z, r, wall, near, in_unknown)[0]
