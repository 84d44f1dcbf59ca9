"""Turn depth images into points.

A pinhole camera has focal lengths f_x, f_y and a centre (c_x, c_y), in pixels. Its pixel (u, v), of
depth z along the axis, shows the point

    ((u − c_x) z/f_x,  (v − c_y) z/f_y,  z)                                                  (1)

to the right, down and ahead.  Scans look ahead along x with y to the left and z up, so (1) becomes
(z, −(u − c_x) z/f_x, −(v − c_y) z/f_y).  Depths of 0, NaN or infinity are missing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import ArrayLike, FloatArray, as_floats, check_whole
from isovist.errors import InputError
from isovist.sensing.settings import DepthSettings

SETTINGS = DepthSettings()
MILLIMETRES = 1000.0
"""Millimetres in a metre."""


def points_of_depth(image: ArrayLike, intrinsics: ArrayLike, stride: int = 1) -> FloatArray:
    """Return the points that a depth image shows, by equation (1), shape (k, 3), in m.

    The arguments are those of `Scan.from_depth`.
    """
    raw = np.asarray(image)
    if raw.ndim != 2 or raw.size == 0 or raw.dtype.kind not in "iuf":
        raise InputError(
            "A depth image must be a table of rows and columns of numbers, "
            f"got {raw.dtype} of shape {raw.shape}.",
            field="depth",
        )
    check_whole("stride", stride)
    if stride < 1:
        raise InputError.about("stride", f"must be at least 1 pixel, got {stride}.")
    fx, fy, cx, cy = _camera(intrinsics, raw.shape)
    depth = raw.astype(np.float64) / (1.0 if raw.dtype.kind == "f" else MILLIMETRES)
    _check_unit(depth, raw)
    v, u = (np.arange(0, size, stride, dtype=np.float64) for size in raw.shape)
    z = depth[::stride, ::stride]
    right, down = (u - cx) / fx * z, ((v - cy) / fy)[:, None] * z
    points = np.stack([z, -right, -down], axis=-1).reshape(-1, 3)
    valid = np.isfinite(points).all(axis=1) & (points[:, 0] > 0.0)
    return points[valid]


def _camera(intrinsics: ArrayLike, shape: tuple[int, ...]) -> tuple[float, float, float, float]:
    """Return focal lengths and centre (f_x, f_y, c_x, c_y), in pixels."""
    if intrinsics is None:
        raise InputError(
            "A depth image needs `intrinsics`: fx, fy, cx and cy in pixels, got None.",
            code="missing",
            field="intrinsics",
        )
    k = as_floats("intrinsics", intrinsics)
    if k.shape == (3, 3):
        k = k[[0, 1, 0, 1], [0, 1, 2, 2]]
    if k.shape != (4,):
        raise InputError.about(
            "intrinsics",
            "must be fx, fy, cx and cy in pixels, or the matrix of the camera, shape "
            f"(3, 3), got shape {k.shape}.",
        )
    fx, fy, cx, cy = (float(value) for value in k)
    height, width = shape
    if not (fx > 1.0 and fy > 1.0 and -width < cx < 2 * width and -height < cy < 2 * height):
        raise InputError.about(
            "intrinsics",
            f"{fx:g}, {fy:g}, {cx:g}, {cy:g} do not fit an image of "
            f"{width} × {height} pixels: focal lengths and centre are in pixels.",
            code="conflict",
        )
    return fx, fy, cx, cy


def _check_unit(depth: FloatArray, raw: NDArray[Any]) -> None:
    """Check that the depths are plausible in the unit that belongs to their type."""
    valid = depth[np.isfinite(depth) & (depth > 0.0)]
    if valid.size == 0:
        raise InputError(
            "The depth image has no depth above 0: every pixel is missing.",
            code="empty",
            field="depth",
        )
    median = float(np.median(valid))
    if SETTINGS.min_median_m <= median <= SETTINGS.max_median_m:
        return
    kind = "numbers with a point are in m" if raw.dtype.kind == "f" else "whole numbers are in mm"
    raise InputError(
        f"The middle depth of the image would be {median:g} m; {kind}. Convert them.", field="depth"
    )
