"""A lost robot in a generated office, in the plane and in space, for `isovist demo`."""

from dataclasses import dataclass

import numpy as np

from isovist.atlas.plane import Atlas, build
from isovist.atlas.space import VoxelAtlas
from isovist.bench.office import office_floor
from isovist.localization.answer import Answer, Verdict
from isovist.localization.locate import locate
from isovist.maps.cells import OccupancyMap
from isovist.maps.mesh import MeshMap
from isovist.maps.segments import SegmentMap
from isovist.poses import Pose, wrap_angle
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.lidar import Lidar
from isovist.sensing.scan import Scan
from isovist.sensing.spinning import SpinningLidar

LIDAR = Lidar(field_of_view=1.5 * np.pi, beams=541, range_max=15.0, noise=0.03)
RESOLUTION = 0.05  # m, of the map that the robot has
CLEARANCE = 0.35  # m: a robot needs room to stand
RINGS = SpinningLidar(16, range_max=20.0, noise=0.03, clutter=0.05)
HEIGHT, CEILING = 1.0, 2.8  # m, of the sensor and of the rooms


@dataclass(frozen=True, slots=True, eq=False)
class Demonstration:
    """A robot that was dropped somewhere, and what it found.

    Attributes:
        atlas: What the robot knows: the plan, without furniture.
        scan: What it saw: the floor as it is, through a noisy lidar.
        truth: Where it is.
        answer: Where it thinks it is.
    """

    atlas: Atlas | VoxelAtlas
    scan: Scan | CloudScan
    truth: Pose
    answer: Answer

    @property
    def error(self) -> tuple[float, float]:
        """Of the best estimate, in m and rad; infinite without one."""
        if self.answer.best is None:
            return np.inf, np.inf
        found = self.answer.best.pose
        gap = float(np.hypot(found.x - self.truth.x, found.y - self.truth.y))
        return gap, abs(float(wrap_angle(found.yaw - self.truth.yaw)))

    @property
    def right(self) -> bool:
        """Whether the best estimate is within 0.5 m and 10° of the truth."""
        gap, turn = self.error
        return bool(gap < 0.5 and turn < np.deg2rad(10.0))

    @property
    def falsely_sure(self) -> bool:
        """Whether the answer says "unique" and is wrong."""
        return self.answer.verdict is Verdict.UNIQUE and not self.right


def demonstrate(seed: int = 0) -> Demonstration:
    """Drop a robot at a random place of the office floor of that seed, and ask where it is."""
    floor = office_floor(seed)
    atlas = build(OccupancyMap.from_segments(floor.plan.walls.reshape(-1, 2, 2), RESOLUTION))
    rng = np.random.default_rng(seed)
    truth = _somewhere(floor.reality, rng)
    scan = LIDAR.scan(floor.reality, truth, rng)
    locate(atlas, scan)  # the first call compiles; the second is what a robot sees
    return Demonstration(atlas, scan, truth, locate(atlas, scan))


def demonstrate_in_space(seed: int = 0) -> Demonstration:
    """The same in space: a building with floor and ceiling, and a spinning lidar of 16 rings."""
    floor = office_floor(seed, length=24.0, rows=2)
    atlas = build(MeshMap.extrude(floor.plan, 0.0, CEILING), height=HEIGHT)
    rng = np.random.default_rng(seed)
    place = _somewhere(floor.reality, rng)
    truth = Pose3(place.x, place.y, place.yaw, HEIGHT)
    scan = RINGS.scan(MeshMap.extrude(floor.reality, 0.0, CEILING), truth, rng)
    locate(atlas, scan)
    return Demonstration(atlas, scan, truth, locate(atlas, scan))


def _somewhere(world: SegmentMap, rng: np.random.Generator) -> Pose:
    """A random pose with room to stand."""
    low, high = world.bounds
    while True:
        place = rng.uniform(low, high)
        if world.contains(place) and world.clearance(place) > CLEARANCE:
            return Pose(float(place[0]), float(place[1]), float(rng.uniform(-np.pi, np.pi)))
