"""How well poses explain a scan, beam by beam, by ray casting (`kernels.beam`)."""

import math

import numpy as np
from numpy.typing import NDArray

from isovist.kernels.align import look_up
from isovist.kernels.beam import UNKNOWN, WALL, is_open, is_through, is_unseen, rate_beam, sort_beam
from isovist.kernels.compiled import kernel, within
from isovist.kernels.elementary import FREELY
from isovist.kernels.fan import cast_fan
from isovist.kernels.follow import LANES, STATE
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
    m, reach = len(ends), model[1] / unit
    cells, z, sigma = np.empty((2, m)), np.empty(m), np.empty(m)
    for k in range(m):
        z[k] = math.sqrt(ends[k, 0] ** 2 + ends[k, 1] ** 2)
        cells[0, k], cells[1, k] = ends[k, 0] / unit, ends[k, 1] / unit
        sigma[k] = model[0] if len(noise) == 0 else math.hypot(model[0], noise[k])
    seen, corners, at = np.empty((6, m)), np.empty((4, m), dtype=np.float32), np.full(m + 1, -1)
    rays = np.empty((STATE, LANES))
    along, across, r, wall = np.empty(m), np.empty(m), np.zeros(m), np.zeros(m)
    endings = np.full(m, WALL, dtype=np.uint8)
    for q in range(first, last):
        x, y = poses[q, 0], poses[q, 1]
        look_up(field, cells, x, y, poses[q, 2], seen, at, corners)
        if not is_open(model):
            for k in range(m):
                along[k], across[k] = seen[0, k] * unit / z[k], seen[1, k] * unit / z[k]
            cast_fan(skip, x, y, along, across, reach, rays, r, endings)
            for k in range(m):
                r[k] *= unit
                wall[k] = r[k]
                if endings[k] == UNKNOWN and is_unseen(model, z[k], r[k], UNKNOWN):
                    wall[k] = cast_one(walls, x, y, along[k], across[k], reach)[0] * unit
        _rate(model, sigma, z, r, wall, endings, seen[2], unit, ratings[q], kinds[q])


@within(fastmath=FREELY)
def _rate(model, sigma, z, r, wall, endings, near, unit, ratings, kinds):
    """ℓ and kind of each beam, all of shape (m,); `near` has D of their ends, in cells."""
    for k in range(len(z)):
        unseen = is_unseen(model, z[k], r[k], endings[k])
        through = is_through(model, z[k], wall[k])
        miss = z[k] - r[k] if through else near[k] * unit
        ratings[k] = rate_beam(model, sigma[k], z[k], r[k], miss, unseen)
        kinds[k] = sort_beam(sigma[k], z[k], r[k], miss, unseen, through)


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
                    delta[v, i, j, k] = rate_beam(model, model[0], z, wall, miss, False)
                own = delta[v, i, i, k]
                for j in range(K):
                    delta[v, i, j, k] = own - delta[v, i, j, k]
