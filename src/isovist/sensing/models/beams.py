"""Compute what simulated 2D and 3D lidars share: checks, noise, faults and intensities."""

from typing import TYPE_CHECKING

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.errors import InputError
from isovist.maps import Ending, Hits, Map

if TYPE_CHECKING:
    from isovist.sensing.models.lidar2d import Lidar
    from isovist.sensing.models.spinning import SpinningLidar


MAX_BEAMS = 10_000_000
"""Of one scan: a hundred times those of the densest sensors."""


def check_view(field_of_view: float) -> None:
    """Check that an angle (rad) is a field of view: more than 0 and at most 2π."""
    if not 0.0 < field_of_view <= 2.0 * np.pi + 1e-12:
        raise InputError.about(
            "field_of_view",
            "must be more than 0° and at most 360°, as 2π rad, "
            f"got {np.degrees(field_of_view):g}°.",
        )


def check_beams(count: int) -> None:
    """Check that a scan does not have more beams than any real sensor."""
    if count > MAX_BEAMS:
        raise InputError(
            f"A lidar has at most {MAX_BEAMS} beams, got {count}.", code="too_large", field="beams"
        )


def check_faults(lidar: "Lidar | SpinningLidar") -> None:
    """Check that the range limits, the noise and the clutter of a lidar are possible."""
    if not lidar.range_min < lidar.range_max:
        raise InputError.about(
            "range_max",
            f"must be more than `range_min`, {lidar.range_min:g} m, got {lidar.range_max:g} m.",
        )
    if not 0.0 <= lidar.clutter < 1.0:
        raise InputError.about("clutter", f"must lie in [0, 1), got {lidar.clutter}.")
    if not 0.0 <= lidar.noise < np.inf:
        raise InputError.about("noise", f"must be a length in m, 0 or more, got {lidar.noise}.")
    if lidar.noise > lidar.range_max:
        raise InputError.about(
            "noise",
            f"must be less than `range_max`, {lidar.range_max:g} m, got {lidar.noise:g} m. "
            "Both are in m.",
        )


def measured_intensities(
    world: Map, hits: Hits, is_clutter: BoolArray, rng: np.random.Generator
) -> FloatArray | None:
    """Return intensities of the returns, random for clutter; `None` without reflectances."""
    reflectance: FloatArray | None = getattr(world, "reflectance", None)
    if reflectance is None:
        return None
    strengths = np.where(hits.walls >= 0, reflectance[hits.walls], 0.0)
    strengths[is_clutter] = rng.choice(reflectance, int(is_clutter.sum()))
    return strengths


def simulated_ranges(
    lidar: "Lidar | SpinningLidar", hits: Hits, rng: np.random.Generator
) -> tuple[FloatArray, BoolArray]:
    """Return ranges before noise, infinite for beams without a wall, and which are cut short."""
    ranges = np.where(hits.endings == Ending.WALL, hits.ranges, np.inf)
    is_clutter = rng.random(len(ranges)) < lidar.clutter
    shorter = np.minimum(ranges, lidar.range_max) * rng.random(len(ranges))
    return np.where(is_clutter, shorter, ranges), is_clutter
