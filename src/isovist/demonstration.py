"""A lost robot in a generated office, for `isovist demo`."""

from dataclasses import dataclass

import numpy as np

from isovist.atlas.atlas import Atlas, build
from isovist.locate.answer import Answer, Verdict
from isovist.locate.locate import locate
from isovist.maps.occupancy import OccupancyMap
from isovist.maps.office import office_floor
from isovist.poses import Pose, wrap_angle
from isovist.sensing.lidar import Lidar
from isovist.sensing.scan import Scan

LIDAR = Lidar(field_of_view=1.5 * np.pi, beams=541, range_max=15.0, noise=0.03)
RESOLUTION = 0.05  # m, of the map that the robot has
CLEARANCE = 0.35  # m: a robot needs room to stand


@dataclass(frozen=True, slots=True, eq=False)
class Demonstration:
    """A robot that was dropped somewhere, and what it found.

    Attributes:
        atlas: What the robot knows: the plan, without furniture.
        scan: What it saw: the floor as it is, through a noisy 270° lidar.
        truth: Where it is.
        answer: Where it thinks it is.
    """

    atlas: Atlas
    scan: Scan
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
        return gap < 0.5 and turn < np.deg2rad(10.0)

    @property
    def falsely_sure(self) -> bool:
        """Whether the answer says "unique" and is wrong."""
        return self.answer.verdict is Verdict.UNIQUE and not self.right


def demonstrate(seed: int = 0) -> Demonstration:
    """Drop a robot at a random place of the office floor of that seed, and ask where it is."""
    floor = office_floor(seed)
    atlas = build(OccupancyMap.from_segments(floor.plan.walls.reshape(-1, 2, 2), RESOLUTION))
    rng = np.random.default_rng(seed)
    low, high = floor.plan.bounds
    while True:
        place = rng.uniform(low, high)
        if floor.reality.contains(place) and floor.reality.clearance(place) > CLEARANCE:
            break
    truth = Pose(float(place[0]), float(place[1]), float(rng.uniform(-np.pi, np.pi)))
    scan = LIDAR.scan(floor.reality, truth, rng)
    locate(atlas, scan)  # the first call compiles; the second is what a robot sees
    return Demonstration(atlas, scan, truth, locate(atlas, scan))
