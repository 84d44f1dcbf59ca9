"""Rate the beams of 3D scans from poses by ray casting.

Ranges are rated by `compute.likelihood.beam_model`. A floor made of cells lies up to a cell too
high, so a beam that grazes it meets it early by a share of its range: s₁ is larger here.  Where the
map has reflectances ρ and the beam an intensity i, a beam that ends at a wall is rated by that too,

    ℓ_i = log(a′ N(i − ρ; σ′) I + 1 − a′),                                                 (1)

with I the width of the intensities of the map, so that 0 stands for a random one.
"""

import math

import numpy as np

from isovist.compute.fitting.align3d import distance_3d, fill_rotation
from isovist.compute.infra.compiled import kernel, subroutine
from isovist.compute.likelihood.beam_model import (
    EXPLAINED,
    EXPLAINED_SIGMAS,
    LONGEST,
    SIGMA,
    SLACK,
    UNKNOWN,
    WALL,
    ends_in_unknown,
    is_open,
    is_through,
    rate_beam,
    sort_beam,
)
from isovist.compute.rays.fields import code_at, size_of
from isovist.compute.rays.grid3d import cast_ray


@subroutine
def _beam(skip, walls, field, unit, model, o, d, z, at, step, sides, tied, met_cell):
    """Return ℓ, kind and cell (−1 for none) of a beam of z m from o along d, in cells.

    at, step, sides, tied, found (3,) are scratch of `cast_ray`.
    """
    reach = model[LONGEST] / unit
    r, ending, cell = 0.0, WALL, -1
    if not is_open(model):
        free, ending, cell, _axis = cast_ray(skip, o, d, reach, at, step, sides, tied, met_cell)
        r = free * unit
    wall = r
    in_unknown = ends_in_unknown(model, z, r, ending)
    if in_unknown and ending == UNKNOWN:
        free, _, cell, _axis = cast_ray(walls, o, d, reach, at, step, sides, tied, met_cell)
        wall = free * unit
    through = is_through(model, z, wall)
    x, y, h = o[0] + z * d[0] / unit, o[1] + z * d[1] / unit, o[2] + z * d[2] / unit
    miss = z - r if through else distance_3d(field, x, y, h)[0] * unit
    rating = rate_beam(model, model[SIGMA], z, r, miss, in_unknown)
    kind = sort_beam(model[SIGMA], z, r, miss, in_unknown, through)
    if cell < 0 or abs(wall - z) > EXPLAINED_SIGMAS * model[SIGMA] + model[SLACK]:
        # The ray went astray: take the cell in which the beam ends, if it is a wall.
        columns, rows, levels = size_of(walls, 0), size_of(walls, 1), size_of(walls, 2)
        i, j, up = math.floor(x), math.floor(y), math.floor(h)
        inside = 0 <= i < columns and 0 <= j < rows and 0 <= up < levels
        cell = -1
        if inside and code_at(walls, i, j, up) == WALL:
            cell = (up * rows + j) * columns + i
    return rating, kind, cell


@subroutine
def _scan(
    skip, walls, field, unit, model, reflectances, intensity_model, ends, intensities, pose,
    ratings, kinds,
):  # fmt: skip
    """Rate the beams from one pose (6,); see `score_3d`."""
    spread, width, share = intensity_model
    R, o, d = np.empty((3, 3)), np.empty(3), np.empty(3)
    at, step, sides = np.empty(3, np.int64), np.empty(3, np.int64), np.empty(3, np.int64)
    tied, met_cell = np.empty(3, np.int64), np.empty(3, np.int64)
    fill_rotation(pose, R)
    o[0], o[1], o[2] = pose[0], pose[1], pose[3]
    for k in range(len(ends)):
        z = math.sqrt(ends[k, 0] ** 2 + ends[k, 1] ** 2 + ends[k, 2] ** 2)
        for i in range(3):
            d[i] = (R[i, 0] * ends[k, 0] + R[i, 1] * ends[k, 1] + R[i, 2] * ends[k, 2]) / z
        rating, kind, cell = _beam(
            skip, walls, field, unit, model, o, d, z, at, step, sides, tied, met_cell
        )
        if len(reflectances) > 0 and kind == EXPLAINED and cell >= 0:
            off = (intensities[k] - reflectances[cell]) / spread
            bell = math.exp(-0.5 * off * off) / (math.sqrt(2.0 * math.pi) * spread)
            rating += math.log(share * bell * width + 1.0 - share)
        ratings[k], kinds[k] = rating, kind


@kernel(
    "u1[:,:,::1], u1[:,:,::1], f4[:,:,::1], f8, f8[::1], f8[::1], f8[::1], f8[:,::1], "
    "f8[::1], f8[:,::1] -> f4[:,::1], u1[:,::1]",
    over="poses",
)
def score_3d(
    first, last, skip, walls, field, unit, model, reflectances, intensity_model, ends, intensities,
    poses, ratings, kinds,
):  # fmt: skip
    """Rate each beam from each pose.

    Args:
        skip: Skip grid of the map (`compute.grids.fields`).
        walls: Skip grid with unknown cells free, so that only walls end a ray.
        field: D in cells, shape (levels, rows, columns).
        unit: Side of a cell in m.
        model: Row of the beam model (`compute.likelihood.beam_model`), shape (10,).
        shine: ρ by flat index of the cell, shape (cells,); empty for none.
        gloss: σ′, I and a′ of (1).
        ends: Ends of the beams in the level frame, in m, shape (m, 3).
        strengths: i, shape (m,), or empty.
        poses: (x, y, yaw, z, roll, pitch) in cells and rad, shape (K, 6).
        ratings: Output, ℓ, shape (K, m).
        kinds: Output, kind of each beam (`sort_beam`), shape (K, m).
    """
    for q in range(first, last):
        _scan(
            skip, walls, field, unit, model, reflectances, intensity_model, ends, intensities,
            poses[q], ratings[q], kinds[q],
        )  # fmt: skip


@kernel(
    "Tuple((i4[:,:,::1], u1[:,:,:,::1], i8[::1])), Tuple((i4[:,:,::1], u1[:,:,:,::1], i8[::1])), "
    "Tuple((i4[:,:,::1], u1[:,:,:,::1], i8[::1], f4[::1])), f8, f8[::1], f8[::1], f8[::1], "
    "f8[:,::1], f8[::1], f8[:,::1] -> f4[:,::1], u1[:,::1]",
    over="poses",
)
def score_3d_by_blocks(
    first, last, skip, walls, field, unit, model, reflectances, intensity_model, ends, intensities,
    poses, ratings, kinds,
):  # fmt: skip
    """Rate each beam from each pose on grids that are stored by blocks; see `score_3d`."""
    for q in range(first, last):
        _scan(
            skip, walls, field, unit, model, reflectances, intensity_model, ends, intensities,
            poses[q], ratings[q], kinds[q],
        )  # fmt: skip
