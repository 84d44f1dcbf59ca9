"""How well poses explain a scan, beam by beam, by ray casting (`kernels.beam`)."""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.kernels.align import distance_at
from isovist.kernels.beam import UNKNOWN, WALL, is_open, is_through, is_unseen, rate_beam, sort_beam
from isovist.kernels.compiled import kernel
from isovist.kernels.occupancy import cast_one

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


@kernel(
    "u1[:,::1], u1[:,::1], f4[:,::1], f8, f8[::1], f8[:,::1], f8[::1], f8[:,::1] -> "
    "f4[:,::1], u1[:,::1]",
    over="poses",
)
def score(
    first: int,
    last: int,
    skip: NDArray[np.uint8],
    walls: NDArray[np.uint8],
    field: Singles,
    unit: float,
    model: Floats,
    ends: Floats,
    noise: Floats,
    poses: Floats,
    ratings: Singles,
    kinds: NDArray[np.uint8],
) -> None:
    """Rate each beam from each pose.

    Args:
        skip: The map as `cast_one` wants it.
        walls: The same with unknown cells free, so that only walls end a ray.
        field: D in cells, shape (height, width).
        unit: Side of a cell in m.
        model: Of `kernels.beam`, shape (10,).
        ends: Ends of the beams in the frame of the sensor, in m, shape (m, 2).
        noise: What each beam adds to σ of the model, in m, shape (m,), or empty.
        poses: (x, y, yaw) in cells and rad, shape (K, 3).
        ratings: Output, ℓ, shape (K, m).
        kinds: Output, what became of each beam, shape (K, m).
    """
    reach = model[1] / unit
    own = model.copy()
    for q in range(first, last):
        x, y = poses[q, 0], poses[q, 1]
        c, s = math.cos(poses[q, 2]), math.sin(poses[q, 2])
        for k in range(len(ends)):
            u, v = ends[k, 0], ends[k, 1]
            z = math.sqrt(u * u + v * v)
            along, across = (c * u - s * v) / z, (s * u + c * v) / z
            r, ending = 0.0, WALL
            if not is_open(model):
                free, ending, _cell, _axis = cast_one(skip, x, y, along, across, reach)
                r = free * unit
            wall = r
            unseen = is_unseen(model, z, r, ending)
            if unseen and ending == UNKNOWN:
                wall = cast_one(walls, x, y, along, across, reach)[0] * unit
            through = is_through(model, z, wall)
            if through:
                miss = z - r
            else:
                miss = distance_at(field, x + z * along / unit, y + z * across / unit)[0] * unit
            if len(noise) > 0:
                own[0] = math.hypot(model[0], noise[k])
            ratings[q, k] = rate_beam(own, z, r, miss, unseen)
            kinds[q, k] = sort_beam(own, z, r, miss, unseen, through)


@kernel(
    "f4[:,::1], f8, f8[::1], f4[:,:,::1], f4[:,:,:,::1], f4[:,:,::1] -> f4[:,:,:,::1]",
    over="ranges",
)
def separate(
    first: int, last: int, field: Singles, unit: float, model: Floats, ranges: Singles,
    along: Singles, places: Singles, delta: Singles,
) -> None:  # fmt: skip
    """By how much beams predicted at one place favour it over every other place.

    Args:
        field: D in cells, shape (height, width).
        unit: Side of a cell in m.
        model: Of `kernels.beam`, shape (10,).
        ranges: To the wall along each beam from each place at each view in m, `inf` where there
            is none within reach, shape (V, K, m).
        along: Unit vectors of the beams in the axes of the grid, shape (V, K, m, 2).
        places: In cells, shape (V, K, 2).
        delta: Output, ℓ_ii − ℓ_ij when i is right and j is not, 0 where i has no return, shape
            (V, K, K, m).
    """
    _V, K, m = ranges.shape
    height, width = field.shape
    longest = model[1]
    for v in range(first, last):
        for i in range(K):
            for k in range(m):
                z = ranges[v, i, k]
                for j in range(K):
                    delta[v, i, j, k] = 0.0
                if not (0.0 < z < np.inf):
                    continue
                # Half a cell on, so that a beam that ends on the face of a cell ends in it.
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
                    delta[v, i, j, k] = rate_beam(model, z, wall, miss, False)
                own = delta[v, i, i, k]
                for j in range(K):
                    delta[v, i, j, k] = own - delta[v, i, j, k]
