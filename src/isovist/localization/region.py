"""Where the robot may be: what a person or a compass knows before the search."""

from dataclasses import dataclass

import numpy as np

from isovist.errors import InputError
from isovist.poses import Pose, wrap_angle
from isovist.types import ArrayLike, BoolArray, FloatArray, as_floats, readonly


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A part of the plane, a part of the headings, or both.

    Attributes:
        polygon: Corners in m, shape (k, 2), or `None` for the whole plane.  Read-only.
        centre: Centre of a circle in m, shape (2,), or `None`.  Read-only.
        radius: Of that circle, in m.
        heading: Middle of the headings in rad, or `None` for all.
        tolerance: Headings within this of the middle, in rad.
    """

    polygon: FloatArray | None = None
    centre: FloatArray | None = None
    radius: float = np.inf
    heading: float | None = None
    tolerance: float = np.pi

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if self.polygon is not None:
            corners = as_floats("polygon", self.polygon, (None, 2))
            if len(corners) < 3:
                raise InputError(f"`polygon` needs at least 3 corners, got {len(corners)}.")
            set_(self, "polygon", readonly(corners.copy()))
        if self.centre is not None:
            set_(self, "centre", readonly(as_floats("centre", self.centre, (2,)).copy()))
            if not self.radius > 0.0:
                raise InputError(f"`radius` must be a positive length in m, got {self.radius}.")
        if self.heading is not None and not np.isfinite(self.heading):
            raise InputError(f"`heading` must be an angle in rad, got {self.heading}.")
        if not self.tolerance > 0.0:
            raise InputError(f"`tolerance` must be a positive angle in rad, got {self.tolerance}.")

    @classmethod
    def around(cls, pose: Pose, radius: float, tolerance: float = np.pi) -> "Region":
        """Near a previous pose: within `radius` (m) and `tolerance` (rad) of it."""
        return cls(None, np.array([pose.x, pose.y]), radius, pose.yaw, tolerance)

    def contains(self, points: ArrayLike, margin: float = 0.0) -> BoolArray:
        """Whether points, shape (m, 2), lie in the region or within `margin` (m) of it."""
        p = np.asarray(points, dtype=np.float64)
        inside = np.ones(len(p), dtype=np.bool_)
        if self.centre is not None:
            inside &= np.hypot(*(p - self.centre).T) <= self.radius + margin
        if self.polygon is not None:
            import shapely

            shape = shapely.Polygon(self.polygon).buffer(margin)
            inside &= shapely.contains_xy(shape, p)
        return inside

    def heads(self, yaws: ArrayLike, margin: float = 0.0) -> BoolArray:
        """Whether headings, shape (m,), lie within the tolerance or `margin` (rad) of it."""
        angles = np.asarray(yaws, dtype=np.float64)
        if self.heading is None:
            return np.ones(angles.shape, dtype=np.bool_)
        return np.asarray(np.abs(wrap_angle(angles - self.heading)) <= self.tolerance + margin)
