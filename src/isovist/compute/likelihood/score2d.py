"""Rate the beams of 2D scans from poses by ray casting (`compute.likelihood.beam_model`)."""

import math

import numpy as np

from isovist.compute.fitting.align2d import POSES_PER_PART
from isovist.compute.fitting.endpoints import MAX_COORDINATE, end_distances, pack_ends, padded_beams
from isovist.compute.infra.compiled import kernel
from isovist.compute.likelihood.beam_model import (
    LONGEST,
    SIGMA,
    UNKNOWN,
    WALL,
    ends_in_unknown,
    is_open,
    is_through,
    rate_beam,
)
from isovist.compute.likelihood.ratings import (
    BEAM_ROWS,
    BEAM_SIGMA,
    LIMIT,
    NEAR,
    RANGE,
    WALL_BEHIND,
    Z,
    rate_beams,
)
from isovist.compute.rays.grid2d import cast_ray
from isovist.compute.rays.packet_traversal import STATE_ROWS, padded_rays
from isovist.compute.rays.ray_packet import cast_fan


@kernel(
    "u1[:,::1], u1[:,::1], f4[:,::1], f8, f8[::1], f8[:,::1], f8[::1], f8[:,::1] -> "
    "f4[:,::1], u1[:,::1]",
    over="poses",
    block=POSES_PER_PART,
)
def score_2d(first, last, skip, walls, field, unit, model, ends, noise, poses, ratings, kinds):
    """Rate each beam from each pose.

    Args:
        skip: Skip grid of the map (`compute.rays.grid2d`).
        walls: Skip grid with unknown cells free, so that only walls end a ray.
        field: D in cells, shape (height, width).
        unit: Side of a cell in m.
        model: Row of the beam model (`compute.likelihood.beam_model`), shape (10,).
        ends: Ends of the beams in the frame of the sensor, in m, shape (m, 2).
        noise: Noise of each beam, added in square to σ of the model, in m, shape (m,), or empty.
        poses: (x, y, yaw) in cells and rad, shape (K, 3).
        ratings: Output, ℓ, shape (K, m).
        kinds: Output, kind of each beam (`sort_beam`), shape (K, m).
    """
    m, n, reach = len(ends), padded_beams(len(ends)), model[LONGEST] / unit
    cells = np.empty((2, n), dtype=np.float32)
    pack_ends(ends, unit, cells)
    beams, beam_ratings = np.ones((BEAM_ROWS, n), dtype=np.float32), np.empty(n, dtype=np.float32)
    beam_kinds, z, directions = np.empty(n, dtype=np.uint8), np.empty(m), np.empty((2, m))
    for k in range(m):
        z[k] = math.sqrt(ends[k, 0] ** 2 + ends[k, 1] ** 2)
        directions[0, k], directions[1, k] = ends[k, 0] / z[k], ends[k, 1] / z[k]
        sigma = model[SIGMA]
        beams[BEAM_SIGMA, k] = sigma if len(noise) == 0 else math.hypot(sigma, noise[k])
        beams[Z, k] = min(z[k], MAX_COORDINATE)
    rays = np.empty((STATE_ROWS, padded_rays(m)), dtype=np.float32)
    at = np.empty(rays.shape[1], dtype=np.int32)
    along, across, r = np.empty(m), np.empty(m), np.zeros(m)
    endings = np.full(m, WALL, dtype=np.uint8)
    beams[RANGE], beams[WALL_BEHIND], beams[LIMIT] = 0.0, 0.0, np.inf
    for q in range(first, last):
        x, y, yaw = poses[q, 0], poses[q, 1], poses[q, 2]
        end_distances(field, cells, x, y, yaw, beams[NEAR])
        for k in range(n):
            beams[NEAR, k] *= np.float32(unit)
        if not is_open(model):
            c, s = math.cos(yaw), math.sin(yaw)
            for k in range(m):
                along[k] = c * directions[0, k] - s * directions[1, k]
                across[k] = s * directions[0, k] + c * directions[1, k]
            cast_fan(skip, x, y, along, across, reach, rays, at, r, endings)
            for k in range(m):
                free = wall = r[k] * unit
                in_unknown = ends_in_unknown(model, z[k], free, endings[k])
                if in_unknown and endings[k] == UNKNOWN:
                    wall = cast_ray(walls, x, y, along[k], across[k], reach)[0] * unit
                beams[RANGE, k], beams[WALL_BEHIND, k] = free, wall
                beams[LIMIT, k] = 0.0 if in_unknown else np.inf
        rate_beams(model, beams, beam_ratings, beam_kinds)
        for k in range(m):
            ratings[q, k], kinds[q, k] = beam_ratings[k], beam_kinds[k]


@kernel(
    "f4[:,::1], f8, f8[::1], f4[:,:,::1], f4[:,:,:,::1], f4[:,:,::1] -> f4[:,:,:,::1]",
    over="ranges",
)
def separate_views(first, last, field, unit, model, ranges, along, places, delta):
    """Compute how much beams predicted at one place favour it over every other place.

    Args:
        field: D in cells, shape (height, width).
        unit: Side of a cell in m.
        model: Row of the beam model (`compute.likelihood.beam_model`), shape (10,).
        ranges: To the wall along each beam from each place at each view in m, `inf` where there
            is none within reach, shape (V, K, m).
        along: Unit vectors of the beams in the axes of the grid, shape (V, K, m, 2).
        places: Places in cells, shape (V, K, 2).
        delta: Output, ℓ_ii − ℓ_ij when i is right and j is not, 0 where i has no return, shape
            (V, K, K, m).
    """
    _V, K, m = ranges.shape
    height, width = field.shape
    longest = model[LONGEST]
    for v in range(first, last):
        for i in range(K):
            for k in range(m):
                z = ranges[v, i, k]
                for j in range(K):
                    delta[v, i, j, k] = 0.0
                if not (0.0 < z < np.inf):
                    continue
                # Add half a cell, so that a beam that ends on the face of a cell ends in it.
                end = z / unit + 0.5
                for j in range(K):
                    wall = min(ranges[v, j, k], longest)
                    if is_through(model, z, wall):
                        miss = z - wall
                    else:
                        col = places[v, j, 0] + end * along[v, j, k, 0]
                        row = places[v, j, 1] + end * along[v, j, k, 1]
                        col = min(max(col, 0.0), width - 1.0)
                        row = min(max(row, 0.0), height - 1.0)
                        miss = field[int(row), int(col)] * unit
                    delta[v, i, j, k] = rate_beam(model, model[SIGMA], z, wall, miss, False)
                own = delta[v, i, i, k]
                for j in range(K):
                    delta[v, i, j, k] = own - delta[v, i, j, k]
