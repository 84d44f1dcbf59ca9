"""Restrict where the robot may be, e.g. by a click on the map or a compass."""

from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats, readonly
from isovist.atlas import FARTHEST
from isovist.errors import InputError
from isovist.poses import AnyPose, wrap_angle


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A set of positions and headings that the pose of the robot is restricted to.

    One constructor per kind: `around` a pose, within a `circle`, inside a `polygon`, or `facing` a
    heading anywhere. `r.towards(…)` restricts the headings of any of them.

    Attributes:
        corners: Corners of a polygon in m, shape (k, 2), or `None`.  Read-only.
        centre: Centre of a circle in m, shape (2,), or `None`.  Read-only.
        radius: Radius of that circle in m.
        heading: Middle of the headings in rad, or `None` for all headings.
        tolerance: Largest difference from that heading in rad.
    """

    corners: FloatArray | None = None
    centre: FloatArray | None = None
    radius: float = np.inf
    heading: float | None = None
    tolerance: float = np.pi

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        if self.corners is not None:
            import shapely

            corners = as_floats("corners", self.corners, (None, 2))
            if len(corners) < 3:
                raise InputError(
                    f"A polygon needs at least 3 corners, got {len(corners)}.", field="corners"
                )
            if not shapely.Polygon(corners).is_valid:
                raise InputError("The sides of the polygon cross each other.", field="corners")
            set_(self, "corners", readonly(corners.copy()))
        if self.centre is not None:
            centre = as_floats("centre", self.centre, (2,))
            if not np.abs(centre).max() <= FARTHEST:
                raise InputError.about(
                    "centre",
                    f"must lie within {FARTHEST:g} m of the origin, "
                    f"got ({centre[0]:g}, {centre[1]:g}).",
                )
            set_(self, "centre", readonly(centre.copy()))
        elif np.isfinite(self.radius):
            raise InputError(
                "A `radius` needs a `centre`: Region.circle(centre, radius).",
                code="missing",
                field="centre",
            )
        if not self.radius > 0.0:
            raise InputError.about("radius", f"must be a positive length in m, got {self.radius}.")
        if self.heading is not None and not abs(self.heading) <= 2.0 * np.pi:
            raise InputError.about(
                "heading",
                f"must be an angle in rad, within ±2π, got {self.heading}. "
                "Is it in degrees? Take np.radians of it.",
            )
        if not self.tolerance > 0.0:
            raise InputError.about(
                "tolerance", f"must be a positive angle in rad, got {self.tolerance}."
            )

    @classmethod
    def around(cls, pose: AnyPose, radius: float, tolerance: float = np.pi) -> "Region":
        """Restrict to poses within `radius` (m) and `tolerance` (rad) of a pose of the robot."""
        if not isinstance(pose, AnyPose):
            raise InputError.about("pose", f"must be a Pose or a Pose3, got {type(pose).__name__}.")
        return cls.circle([pose.x, pose.y], radius).towards(pose.yaw, tolerance)

    @classmethod
    def circle(cls, centre: ArrayLike, radius: float) -> "Region":
        """Restrict to positions within `radius` (m) of a point (x, y), with any heading."""
        return cls(centre=as_floats("centre", centre, (2,)), radius=radius)

    @classmethod
    def polygon(cls, corners: ArrayLike) -> "Region":
        """Restrict to positions inside a polygon in m, shape (k, 2), with any heading."""
        return cls(corners=as_floats("corners", corners, (None, 2)))

    @classmethod
    def facing(cls, heading: float, tolerance: float) -> "Region":
        """Restrict to headings within `tolerance` of a heading, both in rad, anywhere."""
        return cls(heading=heading, tolerance=tolerance)

    def towards(self, heading: float, tolerance: float) -> "Region":
        """Restrict the headings too: within `tolerance` of a heading, both in rad."""
        return replace(self, heading=heading, tolerance=tolerance)

    def grown(self, way: float, turn: float) -> "Region":
        """Return the region after the robot has driven `way` (m) and turned by `turn` (rad)."""
        heading = None if self.heading is None else float(wrap_angle(self.heading + turn))
        corners = self.corners
        if corners is not None and way > 0.0:
            import shapely

            corners = np.array(shapely.Polygon(corners).buffer(way).exterior.coords)[:-1]
        return replace(self, corners=corners, radius=self.radius + way, heading=heading)

    def holds(self, poses: FloatArray, margin: float = 0.0, turn: float = 0.0) -> BoolArray:
        """Return which poses lie in the region, or within margins of it, shape (m,).

        Args:
            poses: Poses (x, y, yaw, …) in m and rad, shape (m, 3 or more).
            margin: Margin of the position in m.
            turn: Margin of the heading in rad.
        """
        return self.contains(poses[:, :2], margin) & self.heads(poses[:, 2], turn)

    def contains(self, points: ArrayLike, margin: float = 0.0) -> BoolArray:
        """Return which points, shape (m, 2), lie in the region or within `margin` (m) of it."""
        p = np.asarray(points, dtype=np.float64)
        inside = np.ones(len(p), dtype=np.bool_)
        if self.centre is not None:
            inside &= np.hypot(*(p - self.centre).T) <= self.radius + margin
        if self.corners is not None:
            import shapely

            shape = shapely.Polygon(self.corners).buffer(margin)
            inside &= shapely.contains_xy(shape, p)
        return inside

    def box(self, margin: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and highest (x, y) within `margin` of the region, all in m."""
        low, high = np.full(2, -np.inf), np.full(2, np.inf)
        if self.centre is not None:
            low, high = self.centre - self.radius, self.centre + self.radius
        if self.corners is not None:
            low = np.maximum(low, self.corners.min(axis=0))
            high = np.minimum(high, self.corners.max(axis=0))
        return low - margin, high + margin

    def heads(self, yaws: ArrayLike, margin: float = 0.0) -> BoolArray:
        """Return which headings, shape (m,), lie within the tolerance and `margin` (rad)."""
        angles = np.asarray(yaws, dtype=np.float64)
        if self.heading is None:
            return np.ones(angles.shape, dtype=np.bool_)
        return np.asarray(np.abs(wrap_angle(angles - self.heading)) <= self.tolerance + margin)
