"""Locate a robot in a generated office, in 2D and 3D, for `isovist demo`."""

from dataclasses import dataclass

import numpy as np

from isovist.atlas import Atlas
from isovist.atlas.build import build
from isovist.localization import Answer, LocalizationSettings, is_same_place
from isovist.localization.locate import locate
from isovist.maps import Map, MeshMap, SegmentMap
from isovist.poses import AnyPose, Pose, Pose3, pose_error
from isovist.sensing import CloudScan, Lidar, Scan, SpinningLidar
from isovist.simulation.worlds import office_floor

LIDAR = Lidar(field_of_view=1.5 * np.pi, beams=541, range_max=15.0, noise=0.03)
"""The 2D sensor of the demonstration."""
CLEARANCE = 0.35  # m
RINGS = SpinningLidar(16, range_max=20.0, noise=0.03, clutter=0.05)
HEIGHT, CEILING = 1.0, 2.8  # m, of the sensor and of the rooms


@dataclass(frozen=True, slots=True, eq=False)
class Demonstration:
    """A simulated robot at an unknown pose, with its scan and its answer.

    Attributes:
        atlas: Atlas of the plan, without furniture.
        scan: Simulated scan with noise, in a world with furniture.
        truth: True pose of the robot.
        answer: Result of `locate`.
    """

    atlas: Atlas
    scan: Scan | CloudScan
    truth: AnyPose
    answer: Answer

    @property
    def error(self) -> tuple[float, float]:
        """The error of the best estimate in m and rad; infinite if there is none."""
        best = self.answer.best
        return (np.inf, np.inf) if best is None else pose_error(best.pose, self.truth)

    @property
    def right(self) -> bool:
        """True if the best estimate is at the true pose."""
        best = self.answer.best
        return best is not None and is_same_place(best.pose, self.truth, LocalizationSettings())


def demonstrate(seed: int = 0) -> Demonstration:
    """Locate a robot at a random place of a generated office floor.

    Equal seeds give equal results.
    """
    floor = office_floor(seed)
    rng = np.random.default_rng(seed)
    truth = random_pose(floor.reality, rng)
    return _locate_simulated(build(floor.plan), LIDAR, floor.reality, truth, rng)


def demonstrate_in_space(seed: int = 0) -> Demonstration:
    """Locate a robot with a 3D lidar of 16 rings in a generated building.

    Equal seeds give equal results.
    """
    floor = office_floor(seed, length=24.0, rows=2)
    atlas = build(MeshMap.extrude(floor.plan, 0.0, CEILING), height=HEIGHT)
    rng = np.random.default_rng(seed)
    place = random_pose(floor.reality, rng)
    truth = Pose3(place.x, place.y, place.yaw, HEIGHT)
    return _locate_simulated(atlas, RINGS, MeshMap.extrude(floor.reality, 0.0, CEILING), truth, rng)


def _locate_simulated(
    atlas: Atlas,
    lidar: Lidar | SpinningLidar,
    reality: Map,
    truth: AnyPose,
    rng: np.random.Generator,
) -> Demonstration:
    scan = lidar.scan(reality, truth, rng)
    return Demonstration(atlas, scan, truth, locate(atlas, scan))


def random_pose(world: SegmentMap, rng: np.random.Generator) -> Pose:
    """Return a random pose at which the robot has room."""
    low, high = world.bounds
    while True:
        place = rng.uniform(low, high)
        if world.contains(place) and world.clearance(place) > CLEARANCE:
            return Pose(float(place[0]), float(place[1]), float(rng.uniform(-np.pi, np.pi)))
