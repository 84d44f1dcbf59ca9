"""Compare intensities of beams with reflectances of walls, in 2D and in 3D.

Where the map has reflectances ρ and a beam an intensity i, a beam that ends at a wall is rated by
that too,

    ℓ_i = log(a′ N(i − ρ; σ′) I + 1 − a′),                                                  (1)

with I the width of the reflectances of the map, so that a random intensity rates 0.  In 3D
`compute.likelihood.score3d` computes it.

A 2D atlas may hold reflectances as a second ring of channels that the search compares, too.  The
dull walls ρ₀ and the bright ones ρ₁ of the map (`ReflectanceRange`) give

    b = min(max((ρ − ρ₀)/(ρ₁ − ρ₀), 0), 1),                                                 (2)
    B_i = Σ_s met_s b_s w_i(θ_s) / Σ_s met_s w_i(θ_s),                                      (3)

over the rays that meet a wall.  A bright wall in place of a dull one costs as much as a range that
is e times too long.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import Float32Array, FloatArray, IntArray, readonly
from isovist.atlas.matching.unknown import FAR, MAJORITY
from isovist.atlas.settings import BeamModel, ReflectanceSettings
from isovist.compute import EXPLAINED
from isovist.maps import Cell, Ending, OccupancyMap, VoxelMap, sweep_ranges
from isovist.poses import unit_vectors

DIRECTIONS = 16
"""Directions that are swept together for (3); they take 1 kB per node."""


@dataclass(frozen=True, slots=True)
class ReflectanceRange:
    """The reflectances of the walls of a map, from dull to bright.

    Attributes:
        dull: Reflectance of a dull wall.
        bright: Reflectance of a bright wall.
        max_offset: Largest distance of the median of a scan from this range, as a share of it.
    """

    dull: float
    bright: float
    max_offset: float

    @classmethod
    def of(
        cls, world: OccupancyMap | VoxelMap, settings: ReflectanceSettings
    ) -> "ReflectanceRange | None":
        """Measure the range on a map; `None` where its walls have no or equal reflectances."""
        if world.reflectance is None:
            return None
        walls = world.reflectance[world.cells.ravel() == Cell.OCCUPIED]
        if walls.size == 0:
            return None
        quantiles = np.quantile(walls, [settings.dull_quantile, settings.bright_quantile])
        dull, bright = (float(v) for v in quantiles)
        return cls(dull, bright, settings.max_offset) if dull < bright else None

    def brightness(self, intensities: NDArray[Any]) -> FloatArray:
        """Scale intensities to this range, from 0 to 1: b of (2)."""
        return np.asarray(np.clip((intensities - self.dull) / (self.bright - self.dull), 0.0, 1.0))

    def intensity_model(self, model: BeamModel) -> FloatArray:
        """Return the numbers of (1) for rating intensities: σ′, I and a′, shape (3,)."""
        width = self.bright - self.dull
        return np.array([model.intensity_sigma_share * width, width, model.intensity_weight])


def is_comparable(walls: ReflectanceRange | None, intensities: FloatArray | None) -> bool:
    """Return whether map and scan have intensities in units that can be compared.

    They can be compared when the median of the scan lies near the range of the walls.
    """
    if walls is None or intensities is None or not np.isfinite(intensities).all():
        return False
    slack = walls.max_offset * (walls.bright - walls.dull)
    return bool(walls.dull - slack <= np.median(intensities) <= walls.bright + slack)


def explain_ignored(
    walls: ReflectanceRange | None, intensities: FloatArray | None
) -> tuple[float, ...] | None:
    """Return why intensities are ignored: their median, and the range of the walls.

    `None` where they can be compared, or where there are none.
    """
    if walls is None or intensities is None or is_comparable(walls, intensities):
        return None
    return float(np.median(intensities)), walls.dull, walls.bright


def describe_brightness(
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
    for first in range(0, len(turns), DIRECTIONS):
        batch = slice(first, first + DIRECTIONS)
        ranges, endings = sweep_ranges(clear, angles[batch], *nodes, maximum=reach)
        inside = ranges[..., None] + 0.5 * clear.resolution  # of the cell that is met
        rows, columns = clear.index(places + inside * unit_vectors(angles[batch])[:, None])
        met = (endings == Ending.WALL) & (rows >= 0)
        w = W[batch].astype(np.float32)
        B += np.where(met, near[rows, columns], 0.0).astype(np.float32).T @ w
        K += met.astype(np.float32).T @ w
    is_known = K / W.sum(axis=0, dtype=np.float32) >= MAJORITY
    return np.where(is_known, B / np.where(is_known, K, 1.0), np.float32(FAR)).astype(np.float32)


def max_intensity_rating(model: BeamModel) -> float:
    """Return the largest possible rating of an intensity, the maximum of (1)."""
    spread, share = model.intensity_sigma_share, model.intensity_weight
    return float(np.log(share / (np.sqrt(2.0 * np.pi) * spread) + 1.0 - share))


def nearest_reflectance(world: OccupancyMap) -> Float32Array | None:
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


def add_intensity_ratings(
    near: Float32Array,
    intensity_model: FloatArray,
    places: tuple[NDArray[np.int64], NDArray[np.int64]],
    strengths: FloatArray,
    kinds: NDArray[np.uint8],
    ratings: Float32Array,
) -> None:
    """Add the rating of the intensity, (1), to each beam that ends at a wall, in place.

    Args:
        near: Reflectance of the wall nearest to each cell.
        intensity_model: σ′, I and a′.
        places: Rows and columns of the cells where beams end, −1 outside, shape (K, m) each.
        strengths: Intensity i of each beam, shape (m,).
        kinds: What became of each beam, shape (K, m).
        ratings: Rating ℓ of each beam, shape (K, m).
    """
    spread, width, share = intensity_model
    met = (kinds == EXPLAINED) & (places[0] >= 0)
    off = (
        np.broadcast_to(strengths, met.shape)[met] - near[places[0][met], places[1][met]]
    ) / spread
    bell = np.exp(-0.5 * off * off) / (np.sqrt(2.0 * np.pi) * spread)
    ratings[met] += np.log(share * bell * width + 1.0 - share).astype(np.float32)
