"""One site of the plane and one in space, so that the same tests run on both."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from tests.support.angles import wrap_angle
from tests.support.reference_locate import building, twin_rooms
from tests.support.reference_space import LIDAR, at, atlas_of, house, symmetric_room

import isovist as iv
from isovist import Pose, Pose3

PLANAR = iv.Lidar(beams=360, range_max=20.0, noise=0.02)
ABSURD = (np.nan, np.inf, -np.inf, -1.0, 0.0, 9999.0, 3.4028235e38, 1e308, -1e308, 1e-300, 5e-324)
"""Ranges that sensors and drivers write and that no wall has, in m."""


@dataclass(frozen=True)
class Site:
    """A map, what a sensor sees of it, and places to try.

    Attributes:
        name: "plane" or "space".
        world: The map.
        twins: Another, in which `lonely` has a twin.
        places: Of a robot on the map.
        lonely: A place on `twins`.
        twin: Where it could be as well.
        mount: Of a sensor that looks backwards.
        elsewhere: A scan of another building.
    """

    name: str
    world: object
    twins: object
    places: tuple[Pose | Pose3, ...]
    lonely: Pose | Pose3
    twin: Pose | Pose3
    mount: Pose | Pose3
    elsewhere: Callable[[], object]

    @property
    def atlas(self):
        return atlas_of(self.world)

    @property
    def twin_atlas(self):
        return atlas_of(self.twins)

    def look(self, pose, *, mount=None, seed=3, world=None):
        """What a robot at a pose sees with a sensor on a mount."""
        from dataclasses import replace

        mount = type(pose)() if mount is None else mount
        lidar = PLANAR if isinstance(pose, Pose) else LIDAR
        random = np.random.default_rng(seed)
        scan = lidar.scan(self.world if world is None else world, pose @ mount, random)
        if isinstance(pose, Pose3):
            return replace(scan, T_robot_sensor=mount, roll=pose.roll, pitch=pose.pitch)
        ranges = np.where(scan.valid, scan.ranges, np.inf)
        return iv.Scan(scan.bearings, ranges, 0.0, scan.range_max, T_robot_sensor=mount)

    def asked(self, number=0):
        """The scan of one of the places and its answer, which is asked for once."""
        return _asked(self.name, number)

    def asked_alike(self):
        """The scan of the place that has a twin, and its answer, which is asked for once."""
        return _asked(self.name, None)


@lru_cache
def _asked(name, number):
    site = SITES[name]
    if number is None:
        scan = site.look(site.lonely, world=site.twins, seed=6)
        return scan, iv.locate(site.twin_atlas, scan)
    scan = site.look(site.places[number])
    return scan, iv.locate(site.atlas, scan)


def round_hall():
    """A round building with a block in its middle, like no other here."""
    cells = np.full((200, 200), iv.Cell.OCCUPIED, dtype=np.uint8)
    yy, xx = np.mgrid[:200, :200]
    cells[(xx - 100) ** 2 + (yy - 100) ** 2 < 80**2] = iv.Cell.FREE
    cells[95:105, 95:105] = iv.Cell.OCCUPIED
    return iv.OccupancyMap(cells, 0.05)


def far_scan_of_the_plane():
    return PLANAR.scan(round_hall(), Pose(3.1, 5.0, 1.0), np.random.default_rng(5))


def far_scan_in_space():
    return iv.CloudScan(np.random.default_rng(7).normal(size=(150, 3)) * [4.0, 4.0, 0.5])


PLANE = Site(
    "plane", building(), twin_rooms(),
    (Pose(2.3, 2.4, 0.7), Pose(8.1, 1.4, 2.9), Pose(5.2, 6.4, -1.9)),
    Pose(3.3, 3.1, 0.8), Pose(8.5, 3.1, 0.8), Pose(-0.25, 0.1, np.pi), far_scan_of_the_plane,
)  # fmt: skip
SPACE = Site(
    "space", house(), symmetric_room(False),
    (at(5.0, 0.0, 0.7), at(10.5, 0.5, -2.5), at(4.2, 1.2, 3.0)),
    Pose3(2.2, 2.9, 0.4, 1.1), Pose3(4.0, 1.3, 0.4 + np.pi, 1.1),
    Pose3(-0.25, 0.1, np.pi, 0.2), far_scan_in_space,
)  # fmt: skip
SITES = {"plane": PLANE, "space": SPACE}


def gap(pose, truth):
    """Distance in m, in space with height, and angle in rad."""
    away = float(np.linalg.norm(pose.position - truth.position))
    return away, abs(float(wrap_angle(pose.yaw - truth.yaw)))
