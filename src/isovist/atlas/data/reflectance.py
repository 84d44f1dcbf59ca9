"""Reflectances of walls against intensities of beams, in the plane and in space.

Where the map has reflectances ρ and a beam an intensity i, a beam that ends at a wall is rated by
that too,

    ℓ_i = log(a′ N(i − ρ; σ′) I + 1 − a′),                                                  (1)

with I the width of the reflectances of the map, so that 0 stands for a random one.  In space this
is the business of `compute.likelihood.score3d`.

An atlas of the plane may hold them as a second ring of channels, which the search compares, too.
Dull walls ρ₀ and bright ones ρ₁ of the map (`Shine`) give

    b = min(max((ρ − ρ₀)/(ρ₁ − ρ₀), 0), 1),                                                 (2)
    B_i = Σ_s met_s b_s w_i(θ_s) / Σ_s met_s w_i(θ_s),                                      (3)

over the rays that meet a wall.  A bright wall in place of a dull one costs as much as a range that
is e times too long.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import Float32Array, FloatArray, IntArray, readonly
from isovist.atlas.base import FAR, MAJORITY
from isovist.atlas.settings import BeamModel
from isovist.compute.likelihood.beam_model import EXPLAINED
from isovist.maps.base import Ending
from isovist.maps.grid2d.occupancy_map import Cell, OccupancyMap
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.sweep.sweep2d import sweep_ranges
from isovist.poses import unit_vectors

AT_ONCE = 16
"""Directions that are swept at once for (3): so they take 1 kB per node."""

Shine = tuple[float, float] | None
"""5 % and 95 % quantile of the reflectance of the walls, or `None` where they do not differ."""


def shine_of(world: OccupancyMap | VoxelMap) -> Shine:
    """Return the range of the reflectances of the walls of a map, their 5th and 95th percentile.

    `None` without reflectances, or where all are alike.
    """
    if world.reflectance is None:
        return None
    walls = world.reflectance[world.cells.ravel() == Cell.OCCUPIED]
    if walls.size == 0:
        return None
    dull, bright = (float(v) for v in np.quantile(walls, [0.05, 0.95]))
    return (dull, bright) if dull < bright else None


def comparable(shine: Shine, intensities: FloatArray | None) -> bool:
    """Return whether map and scan have intensities in units that can be compared.

    They can be compared when the median of the scan lies near the range of the walls.
    """
    if shine is None or intensities is None or not np.isfinite(intensities).all():
        return False
    dull, bright = shine
    slack = 0.5 * (bright - dull)
    return bool(dull - slack <= np.median(intensities) <= bright + slack)


def ignored(shine: Shine, intensities: FloatArray | None) -> tuple[float, ...] | None:
    """Return why intensities are ignored: their median and the range of the walls.

    `None` where they can be compared, or where there are none.
    """
    if shine is None or intensities is None or comparable(shine, intensities):
        return None
    return float(np.median(intensities)), float(shine[0]), float(shine[1])


def brightness(shine: tuple[float, float], strengths: NDArray[Any]) -> FloatArray:
    """Return intensities scaled to the range of the walls, from 0 to 1: b of (2)."""
    dull, bright = shine
    return np.asarray(np.clip((strengths - dull) / (bright - dull), 0.0, 1.0))


def describe_shine(
    clear: OccupancyMap,
    near: FloatArray,
    nodes: tuple[IntArray, IntArray],
    turns: FloatArray,
    W: FloatArray,
    reach: float,
) -> Float32Array:
    """Return the mean brightness of the walls in each channel, B of (3), shape (N, n).

    `FAR` where less than half of a channel meets walls.

    Args:
        clear: The map that rays walk on.
        near: b of the wall nearest to each cell.
        nodes: Rows and columns, shape (N,) each.
        turns: Angles of the rays from the first axis of the grid, in rad, shape (S,).
        W: Weight of each ray in each channel, shape (S, n).
        reach: Longest range that counts, in m.
    """
    places, angles = clear.centres(*nodes), turns + clear.origin.yaw
    B = np.zeros((len(places), W.shape[1]), dtype=np.float32)
    K = np.zeros_like(B)
    for first in range(0, len(turns), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        ranges, endings = sweep_ranges(clear, angles[some], *nodes, maximum=reach)
        inside = ranges[..., None] + 0.5 * clear.resolution  # of the cell that is met
        rows, columns = clear.index(places + inside * unit_vectors(angles[some])[:, None])
        met = (endings == Ending.WALL) & (rows >= 0)
        w = W[some].astype(np.float32)
        B += np.where(met, near[rows, columns], 0.0).astype(np.float32).T @ w
        K += met.astype(np.float32).T @ w
    known = K / W.sum(axis=0, dtype=np.float32) >= MAJORITY
    return np.where(known, B / np.where(known, K, 1.0), np.float32(FAR)).astype(np.float32)


def gloss_of(shine: tuple[float, float], model: BeamModel) -> FloatArray:
    """Return the numbers that (1) needs for rating intensities: σ′, I and a′, shape (3,)."""
    width = shine[1] - shine[0]
    return np.array([model.gloss[0] * width, width, model.gloss[1]])


def most_gloss(model: BeamModel) -> float:
    """Return the largest value of (1), the most that an intensity can add to a rating."""
    spread, share = model.gloss
    return float(np.log(share / (np.sqrt(2.0 * np.pi) * spread) + 1.0 - share))


def spread_reflectance(world: OccupancyMap) -> Float32Array | None:
    """Return the reflectance of the wall nearest to each cell, shape (height, width).

    `None` where the map has no reflectances or no walls.
    """
    walls = world.cells == Cell.OCCUPIED
    if world.reflectance is None or not walls.any():
        return None
    from scipy.ndimage import distance_transform_edt  # takes a third of a second to import

    nearest = distance_transform_edt(~walls, return_distances=False, return_indices=True)
    values = world.reflectance.reshape(world.shape)[tuple(nearest)]
    return np.asarray(readonly(values.astype(np.float32)))


def add_gloss(
    near: Float32Array,
    gloss: FloatArray,
    places: tuple[NDArray[np.int64], NDArray[np.int64]],
    strengths: FloatArray,
    kinds: NDArray[np.uint8],
    ratings: Float32Array,
) -> None:
    """Add the rating of the intensity, (1), to each beam that ends at a wall, in place.

    Args:
        near: Reflectance of the wall nearest to each cell.
        gloss: σ′, I and a′.
        places: Rows and columns of the cells where beams end, −1 outside, shape (K, m) each.
        strengths: Intensity i of each beam, shape (m,).
        kinds: What became of each beam, shape (K, m).
        ratings: Rating ℓ of each beam, shape (K, m).
    """
    spread, width, share = gloss
    met = (kinds == EXPLAINED) & (places[0] >= 0)
    off = (
        np.broadcast_to(strengths, met.shape)[met] - near[places[0][met], places[1][met]]
    ) / spread
    bell = np.exp(-0.5 * off * off) / (np.sqrt(2.0 * np.pi) * spread)
    ratings[met] += np.log(share * bell * width + 1.0 - share).astype(np.float32)
