"""Check ranges, range limits and intensities, for 2D and 3D scans."""

import numpy as np

from isovist.arrays import ArrayLike, FloatArray
from isovist.errors import InputError

MIN_RANGE = 1e-6
"""A shorter return, in m, is none: no sensor measures it, and its square may vanish."""


def check_limits(range_min: float, range_max: float) -> None:
    """Check that 0 ≤ `range_min` < `range_max`, the limits of a sensor in m."""
    if not 0.0 <= range_min < range_max:
        raise InputError.about(
            ("range_min", "range_max"),
            f"must satisfy 0 ≤ range_min < range_max, got {range_min} and {range_max}.",
        )


def in_millimetres(ranges: FloatArray, range_min: float, range_max: float) -> str:
    """Return a hint if the ranges would be valid in mm, or an empty string if not."""
    positive = ranges[np.isfinite(ranges) & (ranges > 0.0)]
    half = positive.size // 2
    # The upper median: the mean of the two in the middle may overflow.
    median = float(np.partition(positive, half)[half]) if positive.size else 0.0
    is_in_mm = median >= range_max and range_min <= 0.001 * median < range_max
    return " Are the ranges in mm? They must be in m." if is_in_mm else ""


def scaled_limits(range_min: float, range_max: float, factor: float) -> tuple[float, float]:
    """Return the range limits of a sensor multiplied by a factor, in m."""
    if not 0.0 < factor < np.inf:
        raise InputError.about("factor", f"must be a positive number, got {factor}.")
    return range_min * factor, range_max * factor


def as_strengths(intensities: ArrayLike, shape: tuple[int, ...], like: str) -> FloatArray:
    """Return a new array of intensities after a check that it has the required shape."""
    strengths = np.array(intensities, dtype=np.float64)
    if strengths.shape != shape:
        raise InputError.about(
            "intensities", f"must have shape {shape}, like `{like}`, got {strengths.shape}."
        )
    return strengths
