"""One map or several, and where on them the robot may be.

Several maps lie side by side (`atlas.multimap`); poses carry the name of their map outside.
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
"""What a user gives: one map, or several by name."""


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Where the robot may be on several maps.

    Attributes:
        site: The maps.
        regions: By name of the map, `None` for all of it; on maps that are not named it is not.
    """

    site: MultiMap
    regions: Mapping[str, Region | None]

    def holds(self, poses: FloatArray, margin: float = 0.0, turn: float = 0.0) -> BoolArray:
        """Whether poses side by side, shape (m, 3 or more), lie in them, or within the margins."""
        numbers = self.site.numbers(poses)
        held = np.zeros(len(poses), dtype=np.bool_)
        for name, region in self.regions.items():
            k = self.site.names.index(name)
            here = numbers == k
            rows = poses[here].copy()
            rows[:, 0] -= self.site.shifts[k]
            held[here] = region is None or region.holds(rows, margin, turn)
        return held


SearchRegion = Region | Regions | None

AnyRegion = Region | Mapping[str, Region | None] | None
"""What a user gives: a region of one map, or regions by name of several."""


def search_space_of(atlas: AnyMaps | SearchSpace) -> SearchSpace:
    """An atlas as it is, and several side by side."""
    if isinstance(atlas, SearchSpace):
        return atlas
    together = getattr(atlas, "multi_map", None)
    return MultiMap.of(atlas) if together is None else together


def search_region(site: SearchSpace, region: AnyRegion) -> SearchRegion:
    """A region as the site needs it: a region of one map, regions by name of several."""
    if region is None:
        return None
    if not isinstance(site, MultiMap):
        if not isinstance(region, Region):
            raise InputError.about(
                "region",
                f"must be a Region, e.g. Region.around(pose, 2.0), got {type(region).__name__}.",
            )
        return region
    if not isinstance(region, Mapping) or len(region) == 0:
        got = type(region).__name__ if not isinstance(region, Mapping) else "none"
        raise InputError(
            "On several maps `region` must say which map a Region is of, "
            f"e.g. {{{site.names[0]!r}: Region.around(pose, 2.0)}}, got {got}.",
            field="region",
        )
    for name, part in region.items():
        if name not in site.names:
            known = ", ".join(repr(known) for known in site.names)
            raise InputError.about("region", f"is of {name!r}, and the maps are {known}.")
        if part is not None and not isinstance(part, Region):
            raise InputError.about(
                "region", f"of {name!r} must be a Region or None, got {type(part).__name__}."
            )
    return Regions(site, dict(region))


def region_around(
    site: SearchSpace, pose: AnyPose, radius: float, tolerance: float
) -> Region | Regions:
    """Near a pose of the robot, on its own map: within `radius` (m) and `tolerance` (rad)."""
    if not isinstance(site, MultiMap):
        return Region.around(pose, radius, tolerance)
    region = Region.around(site.to_local(pose), radius, tolerance)
    return Regions(site, {site.name_of(pose): region})


def answer_in_map_frames(site: SearchSpace, answer: Answer) -> Answer:
    """An answer as a user wants it: each pose in the frame of its own map, with its name."""
    if not isinstance(site, MultiMap):
        return answer
    return replace(answer, estimates=estimates_in_map_frames(site, answer.estimates))


def estimates_in_map_frames(site: SearchSpace, estimates: Sequence[Estimate]) -> Sequence[Estimate]:
    """Estimates in the frames of their own maps."""
    if not isinstance(site, MultiMap):
        return estimates
    return tuple(to_map_frame(site, estimate) for estimate in estimates)


def to_map_frame(site: MultiMap, estimate: Estimate) -> Estimate:
    """An estimate in the frame of its own map, with its name."""
    return replace(estimate, pose=site.to_local(estimate.pose), map=site.name_of(estimate.pose))


def to_common_frame(site: SearchSpace, estimate: Estimate) -> Estimate:
    """The way back."""
    if not isinstance(site, MultiMap) or estimate.map is None:
        return estimate
    return replace(estimate, pose=site.to_common(estimate.map, estimate.pose))


def frame_of(scan: AnyScan) -> str:
    """What the pose of an answer is of."""
    return scan.frame or ("robot" if scan.T_robot_sensor.vector.any() else "sensor")
