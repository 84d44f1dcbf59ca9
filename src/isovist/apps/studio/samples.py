"""What is there at first start, so that nothing is needed to begin: two buildings, a hall, a drive.

The office is that of `isovist demo`, the building that of `isovist demo --3d`; the hall looks the
same after half a turn but for a crate.
"""

from functools import lru_cache

import numpy as np

from isovist.apps.ros.demo_bag import EVERY, MOUNT, RATE, motion_of
from isovist.apps.studio.session_store import Named, Shelf, Site
from isovist.atlas.build import build
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.poses import Pose
from isovist.sensing.drift import Drift
from isovist.sensing.log import Log
from isovist.sensing.scan_set import ScanSet
from isovist.simulation.demo import CEILING, HEIGHT, LIDAR, somewhere
from isovist.simulation.worlds import OfficeFloor, office_floor, twofold_hall

SECONDS = 40.0
"""That the drive takes."""
SEED = 41
"""Of the drive: it begins in a corridor, where one scan is not enough, and goes on along it."""
SITES = {"office": "demo office", "hall": "demo hall", "building": "demo building in space"}
DRIVE = "drive"


@lru_cache(maxsize=1)
def floor() -> OfficeFloor:
    """Return the office floor of the demonstration, as planned and as it is."""
    return office_floor(0)


def office() -> Site:
    """Build the demonstration office, 1000 m² with furniture that its plan lacks."""
    return Site(SITES["office"], build(floor().plan), floor().reality)


def hall() -> Site:
    """Build the demonstration hall, which looks nearly the same after half a turn."""
    return Site(SITES["hall"], build(twofold_hall()))


def building() -> Site:
    """Build the demonstration building, a 3D map with floor and ceiling."""
    plain = office_floor(0, length=24.0, rows=2)
    atlas = build(MeshMap.extrude(plain.plan, 0.0, CEILING), height=HEIGHT)
    return Site(SITES["building"], atlas, MeshMap.extrude(plain.reality, 0.0, CEILING))


def drive() -> Log:
    """Simulate a drive through the office, recorded by a robot with drifting odometry."""
    world, random, drift = floor().reality, np.random.default_rng(SEED), Drift()
    truth, odometry = somewhere(world, random), Pose()
    ranges, poses, told = [], [], []
    for k in range(int(SECONDS * RATE)):
        if k % EVERY == 0:
            seen = LIDAR.scan(world, truth @ MOUNT, random)
            ranges.append(np.where(seen.valid, seen.ranges, np.inf))
            poses.append((truth @ MOUNT).vector)
            told.append(odometry.vector)
        motion = motion_of(world, truth)
        truth = truth @ motion
        odometry = odometry @ drift.simulate(motion, random)
    robots = (Pose.from_vector(np.array(poses)) @ MOUNT.inverse).vector
    scans = ScanSet(
        np.array(ranges), seen.bearings, np.array(poses), LIDAR.range_max,
        times=np.arange(len(ranges)) * EVERY / RATE,
    )  # fmt: skip
    return Log.from_set(scans, np.array(told), np.array(robots), MOUNT, 0.0)


def offer(shelf: Shelf) -> None:
    """Add the demonstrations to a store; each is built when it is first requested."""
    for key, make in (("office", office), ("hall", hall), ("building", building)):
        shelf.sites.offer(key, SITES[key], make)
    shelf.logs.offer(DRIVE, "demo drive", lambda: Named("demo drive", drive()))
