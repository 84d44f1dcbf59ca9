"""Reflectances of walls against intensities of beams, in the plane and in space.

Where the map has reflectances ρ and a beam an intensity i, a beam that ends at a wall is rated by
that too,

    ℓ_i = log(a′ N(i − ρ; σ′) I + 1 − a′),                                                  (1)

with I the width of the reflectances of the map, so that 0 stands for a random one.  In space this
is the business of `kernels.score3d`.
"""

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.settings import BeamModel
from isovist.kernels.beam import EXPLAINED
from isovist.maps.cells import Cell, OccupancyMap
from isovist.maps.voxels import VoxelMap
from isovist.types import Float32Array, FloatArray, readonly

Shine = tuple[float, float] | None
"""5 % and 95 % quantile of the reflectance of the walls, or `None` where they do not differ."""


def shine_of(world: OccupancyMap | VoxelMap) -> Shine:
    """Of the walls of a map."""
    if world.reflectance is None:
        return None
    walls = world.reflectance[world.cells.ravel() == Cell.OCCUPIED]
    if walls.size == 0:
        return None
    dull, bright = (float(v) for v in np.quantile(walls, [0.05, 0.95]))
    return (dull, bright) if dull < bright else None


def comparable(shine: Shine, intensities: FloatArray | None) -> bool:
    """Whether map and scan have intensities, in units that can be compared.

    They can when the middle one of the scan lies among those of the walls.
    """
    if shine is None or intensities is None or not np.isfinite(intensities).all():
        return False
    dull, bright = shine
    slack = 0.5 * (bright - dull)
    return bool(dull - slack <= np.median(intensities) <= bright + slack)


def left_out(shine: Shine, intensities: FloatArray | None) -> str:
    """That intensities were left out, where they were; else nothing."""
    if shine is None or intensities is None or comparable(shine, intensities):
        return ""
    return (
        f" Intensities were left out: their median is {np.median(intensities):.3g}, and "
        f"the walls of the map have {shine[0]:.3g} to {shine[1]:.3g}."
    )


def gloss_of(shine: tuple[float, float], model: BeamModel) -> FloatArray:
    """σ′, I and a′ of (1), shape (3,)."""
    width = shine[1] - shine[0]
    return np.array([model.gloss[0] * width, width, model.gloss[1]])


def most_gloss(model: BeamModel) -> float:
    """The most that (1) can be."""
    spread, share = model.gloss
    return float(np.log(share / (np.sqrt(2.0 * np.pi) * spread) + 1.0 - share))


def spread_reflectance(world: OccupancyMap) -> Float32Array | None:
    """Reflectance of the wall nearest to each cell, shape (height, width), or `None`."""
    from scipy.ndimage import distance_transform_edt

    walls = world.cells == Cell.OCCUPIED
    if world.reflectance is None or not walls.any():
        return None
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
    """Add (1) to the ratings of beams that end at a wall, in place.

    Args:
        near: Reflectance of the wall nearest to each cell.
        gloss: σ′, I and a′.
        places: Rows and columns of the cells where beams end, −1 outside, shape (K, m) each.
        strengths: i, shape (m,).
        kinds: What became of each beam, shape (K, m).
        ratings: ℓ, shape (K, m).
    """
    spread, width, share = gloss
    met = (kinds == EXPLAINED) & (places[0] >= 0)
    off = (
        np.broadcast_to(strengths, met.shape)[met] - near[places[0][met], places[1][met]]
    ) / spread
    bell = np.exp(-0.5 * off * off) / (np.sqrt(2.0 * np.pi) * spread)
    ratings[met] += np.log(share * bell * width + 1.0 - share).astype(np.float32)
