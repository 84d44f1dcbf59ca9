"""Where the robot may be: what a person or a compass knows before the search."""

from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats, readonly
from isovist.atlas import FARTHEST
from isovist.errors import InputError
from isovist.poses import AnyPose, wrap_angle


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """A part of the plane, a part of the headings, or both, for the pose of the robot.

    One constructor per kind: `around` a pose, within a `circle`, inside a `polygon`, or `facing` a
    heading anywhere; `r.towards(…)` narrows the headings of any of them.

    Attributes:
        corners: Of a polygon in m, shape (k, 2), or `None` for the whole plane.  Read-only.
        centre: Of a circle in m, shape (2,), or `None`.  Read-only.
        radius: Of that circle, in m.
        heading: Middle of the headings in rad, or `None` for all.
        tolerance: Headings within this of the middle, in rad.
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
        """Near a pose of the robot: within `radius` (m) and `tolerance` (rad) of it."""
        if not isinstance(pose, AnyPose):
            raise InputError.about("pose", f"must be a Pose or a Pose3, got {type(pose).__name__}.")
        return cls.circle([pose.x, pose.y], radius).towards(pose.yaw, tolerance)

    @classmethod
    def circle(cls, centre: ArrayLike, radius: float) -> "Region":
        """Within `radius` (m) of a place (x, y), any heading."""
        return cls(centre=as_floats("centre", centre, (2,)), radius=radius)

    @classmethod
    def polygon(cls, corners: ArrayLike) -> "Region":
        """Inside a polygon, shape (k, 2), in m, any heading."""
        return cls(corners=as_floats("corners", corners, (None, 2)))

    @classmethod
    def facing(cls, heading: float, tolerance: float) -> "Region":
        """Anywhere, within `tolerance` of a heading, both in rad."""
        return cls(heading=heading, tolerance=tolerance)

    def towards(self, heading: float, tolerance: float) -> "Region":
        """The same places, only within `tolerance` of a heading, both in rad."""
        return replace(self, heading=heading, tolerance=tolerance)

    def grown(self, way: float, turn: float) -> "Region":
        """Where a robot may be that was here before it drove `way` (m) and turned (rad)."""
        heading = None if self.heading is None else float(wrap_angle(self.heading + turn))
        corners = self.corners
        if corners is not None and way > 0.0:
            import shapely

            corners = np.array(shapely.Polygon(corners).buffer(way).exterior.coords)[:-1]
        return replace(self, corners=corners, radius=self.radius + way, heading=heading)

    def holds(self, poses: FloatArray, margin: float = 0.0, turn: float = 0.0) -> BoolArray:
        """Whether poses (x, y, yaw, …), shape (m, 3 or more), lie in it, or within the margins."""
        return self.contains(poses[:, :2], margin) & self.heads(poses[:, 2], turn)

    def contains(self, points: ArrayLike, margin: float = 0.0) -> BoolArray:
        """Whether points, shape (m, 2), lie in the region or within `margin` (m) of it."""
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
        """Lowest and highest x and y, in m, of whatever lies within `margin` (m) of it."""
        low, high = np.full(2, -np.inf), np.full(2, np.inf)
        if self.centre is not None:
            low, high = self.centre - self.radius, self.centre + self.radius
        if self.corners is not None:
            low = np.maximum(low, self.corners.min(axis=0))
            high = np.minimum(high, self.corners.max(axis=0))
        return low - margin, high + margin

    def heads(self, yaws: ArrayLike, margin: float = 0.0) -> BoolArray:
        """Whether headings, shape (m,), lie within the tolerance or `margin` (rad) of it."""
        angles = np.asarray(yaws, dtype=np.float64)
        if self.heading is None:
            return np.ones(angles.shape, dtype=np.bool_)
        return np.asarray(np.abs(wrap_angle(angles - self.heading)) <= self.tolerance + margin)
