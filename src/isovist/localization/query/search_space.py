"""The map or maps that are searched, and where on them the robot may be.

Several maps lie side by side in one common frame (`atlas.multimap`). An answer has each pose in the
frame of its own map, with the name of that map.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.atlas import AnyScan, Atlas, MultiMap, SearchSpace
from isovist.errors import InputError
from isovist.localization.answer import Answer, Estimate
from isovist.localization.query.region import Region
from isovist.poses import AnyPose

AnyMaps = Atlas | Mapping[str, Atlas]
"""One map, or several by name, as a user gives them."""


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """The regions that the robot may be in, on several maps.

    Attributes:
        space: The maps side by side.
        regions: Region by name of the map; `None` allows all of that map. The robot is on none of
            the maps that are not named.
    """

    space: MultiMap
    regions: Mapping[str, Region | None]

    def holds(self, poses: FloatArray, margin: float = 0.0, turn: float = 0.0) -> BoolArray:
        """Return which poses lie in the regions.

        Args:
            poses: Poses in the common frame (x, y, yaw, …) in m and rad, shape (m, 3 or more).
            margin: Distance by which a pose may lie outside, in m.
            turn: Angle by which a heading may lie outside, in rad.
        """
        numbers = self.space.numbers(poses)
        is_inside = np.zeros(len(poses), dtype=np.bool_)
        for name, region in self.regions.items():
            k = self.space.names.index(name)
            is_on_map = numbers == k
            rows = poses[is_on_map].copy()
            rows[:, 0] -= self.space.shifts[k]
            is_inside[is_on_map] = region is None or region.holds(rows, margin, turn)
        return is_inside


SearchRegion = Region | Regions | None

AnyRegion = Region | Mapping[str, Region | None] | None
"""A region of one map, or regions by name of several, as a user gives them."""


def search_space_of(atlas: AnyMaps | SearchSpace) -> SearchSpace:
    """Return one map as it is, and several maps side by side."""
    if isinstance(atlas, SearchSpace):
        return atlas
    multi_map = getattr(atlas, "multi_map", None)
    return MultiMap.of(atlas) if multi_map is None else multi_map


def search_region(space: SearchSpace, region: AnyRegion) -> SearchRegion:
    """Check the region that a user gives.

    Raises:
        InputError: If it is no region of the map, or of one of the maps.
    """
    if region is None:
        return None
    if not isinstance(space, MultiMap):
        if not isinstance(region, Region):
            raise InputError.about(
                "region",
                f"must be a Region, e.g. Region.around(pose, 2.0), got {type(region).__name__}.",
            )
        return region
    if not isinstance(region, Mapping) or len(region) == 0:
        kind = type(region).__name__ if not isinstance(region, Mapping) else "none"
        raise InputError(
            "On several maps `region` must say which map a Region is of, "
            f"e.g. {{{space.names[0]!r}: Region.around(pose, 2.0)}}, got {kind}.",
            field="region",
        )
    for name, part in region.items():
        if name not in space.names:
            names = ", ".join(map(repr, space.names))
            raise InputError.about("region", f"is of {name!r}, and the maps are {names}.")
        if part is not None and not isinstance(part, Region):
            raise InputError.about(
                "region", f"of {name!r} must be a Region or None, got {type(part).__name__}."
            )
    return Regions(space, dict(region))


def region_around(
    space: SearchSpace, pose: AnyPose, radius: float, tolerance: float
) -> Region | Regions:
    """Return the region around a pose of the robot, on its own map.

    Args:
        space: The map or maps.
        pose: T_world_robot in the frame of `space`.
        radius: Largest distance from the pose in m.
        tolerance: Largest difference of the heading in rad.
    """
    if not isinstance(space, MultiMap):
        return Region.around(pose, radius, tolerance)
    region = Region.around(space.to_local(pose), radius, tolerance)
    return Regions(space, {space.name_of(pose): region})


def answer_in_map_frames(space: SearchSpace, answer: Answer) -> Answer:
    """Return an answer with each pose in the frame of its own map."""
    if not isinstance(space, MultiMap):
        return answer
    return replace(answer, estimates=estimates_in_map_frames(space, answer.estimates))


def estimates_in_map_frames(
    space: SearchSpace, estimates: Sequence[Estimate]
) -> Sequence[Estimate]:
    """Return estimates with each pose in the frame of its own map."""
    if not isinstance(space, MultiMap):
        return estimates
    return tuple(to_map_frame(space, estimate) for estimate in estimates)


def to_map_frame(space: MultiMap, estimate: Estimate) -> Estimate:
    """Return an estimate in the frame of its own map, with the name of that map."""
    pose = estimate.pose
    return replace(estimate, pose=space.to_local(pose), map=space.name_of(pose))


def to_common_frame(space: SearchSpace, estimate: Estimate) -> Estimate:
    """Return an estimate in the common frame of all maps."""
    if not isinstance(space, MultiMap) or estimate.map is None:
        return estimate
    return replace(estimate, pose=space.to_common(estimate.map, estimate.pose))


def frame_of(scan: AnyScan) -> str:
    """Return the name of the frame that the poses of an answer are of."""
    return scan.frame or ("robot" if scan.T_robot_sensor.vector.any() else "sensor")
