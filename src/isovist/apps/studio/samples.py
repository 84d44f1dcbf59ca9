"""Make demonstration maps and a drive, so that the studio works without files.

The office is that of `isovist demo`, and the building that of `isovist demo --3d`. The hall looks
the same after half a turn, except for a crate.
"""

from functools import lru_cache

import numpy as np

import isovist as iv
from isovist.apps.ros import MOUNT, STEPS_PER_S, STEPS_PER_SCAN, motion_of
from isovist.apps.studio.session_store import Named, SessionStore, Site
from isovist.sensing import ScanSet
from isovist.simulation import (
    CEILING,
    HEIGHT,
    LIDAR,
    OfficeFloor,
    office_floor,
    random_pose,
    twofold_hall,
)

DRIVE_S = 40.0
SEED = 41
SITES = {"office": "demo office", "hall": "demo hall", "building": "demo building in 3D"}
DRIVE = "drive"


@lru_cache(maxsize=1)
def floor() -> OfficeFloor:
    """Return the office floor of the demonstration, as planned and as it is."""
    return office_floor(0)


def office() -> Site:
    """Build the demonstration office, 1000 m² with furniture that is not on its plan."""
    return Site(SITES["office"], iv.build(floor().plan), floor().reality)


def hall() -> Site:
    """Build the demonstration hall, which looks nearly the same after half a turn."""
    return Site(SITES["hall"], iv.build(twofold_hall()))


def building() -> Site:
    """Build the demonstration building, a 3D map with floor and ceiling."""
    floor3d = office_floor(0, length=24.0, rows=2)
    atlas = iv.build(iv.MeshMap.extrude(floor3d.plan, 0.0, CEILING), height=HEIGHT)
    return Site(SITES["building"], atlas, iv.MeshMap.extrude(floor3d.reality, 0.0, CEILING))


def drive() -> iv.Log:
    """Simulate a drive through the office, recorded by a robot with drifting odometry."""
    world, random, drift = floor().reality, np.random.default_rng(SEED), iv.Drift()
    truth, odometry = random_pose(world, random), iv.Pose()
    ranges, sensor_poses, odometry_rows = [], [], []
    for k in range(int(DRIVE_S * STEPS_PER_S)):
        if k % STEPS_PER_SCAN == 0:
            scan = LIDAR.scan(world, truth @ MOUNT, random)
            ranges.append(np.where(scan.valid, scan.ranges, np.inf))
            sensor_poses.append((truth @ MOUNT).vector)
            odometry_rows.append(odometry.vector)
        motion = motion_of(world, truth)
        truth = truth @ motion
        odometry = odometry @ drift.simulate(motion, random)
    true_poses = (iv.Pose.from_vector(np.array(sensor_poses)) @ MOUNT.inverse).vector
    scans = ScanSet(
        np.array(ranges), scan.bearings, np.array(sensor_poses), LIDAR.range_max,
        times=np.arange(len(ranges)) * STEPS_PER_SCAN / STEPS_PER_S,
    )  # fmt: skip
    return iv.Log.from_set(scans, np.array(odometry_rows), np.array(true_poses), MOUNT, 0.0)


def add_demos(store: SessionStore) -> None:
    """Add the demonstrations to a store; each is built when it is first requested."""
    for key, build_site in (("office", office), ("hall", hall), ("building", building)):
        store.sites.add_demo(key, SITES[key], build_site)
    store.logs.add_demo(DRIVE, "demo drive", lambda: Named("demo drive", drive()))
