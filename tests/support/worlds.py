"""Generated sites: floors of offices, halls, storeys, towers and streets, and scans taken there."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from benchmarks.worlds.streets import HEIGHT as STREET_HEIGHT
from benchmarks.worlds.streets import LIDAR as ON_THE_ROOF
from benchmarks.worlds.streets import quarter
from benchmarks.worlds.tower import tower
from tests.support.reference_space import LIDAR as INDOORS

import isovist as iv
from isovist.evaluation import run_trials, simulated_trials, summarise
from isovist.simulation import office_floor, random_pose, twofold_hall

__all__ = ["FEW", "TALL", "office_floor", "tower", "twofold_hall"]

FEW = replace(ON_THE_ROOF, azimuths=240)
TALL = replace(INDOORS, rings=24, low=-0.7, high=0.7)
HEIGHT = 1.0
"""Of the sensor above the floors of the tower, in m."""
RINGS = iv.SpinningLidar(16, azimuths=360, range_max=30.0, noise=0.02, clutter=0.05)


def office(seed, length):
    """A generated floor of offices in cells of 5 cm."""
    walls = office_floor(seed, length=length, rows=2).plan.walls
    return iv.OccupancyMap.from_segments(walls.reshape(-1, 2, 2), 0.05)


def row_of(atlas, lidar, scans, seed):
    """The row of a benchmark of simulated scans: shares of them, and errors in m."""
    return summarise(
        list(run_trials(atlas, simulated_trials(atlas.world, scans, lidar, seed=seed)))
    )


@lru_cache
def built():
    """A tower of three storeys in cells of a twentieth of one."""
    return tower(0, 3, length=15.0, rows=2, cell=0.14)


def seen_on(floor, rng, pose=None):
    """A pose on a floor of the tower, a new one where none is given, and what is seen from it."""
    if pose is None:
        place = random_pose(built().grounds[floor], rng)
        z = built().heights[floor] + HEIGHT
        pose = iv.Pose3(place.x, place.y, place.yaw, z)
    return pose, RINGS.scan(built().reality[floor], pose, rng)


def tilt_between(a, b):
    """Angle in ° between the vertical axes of two poses."""
    return float(np.degrees(np.arccos(np.clip(a.rotation[2] @ b.rotation[2], -1.0, 1.0))))


def untold(scan):
    """A scan of a sensor that does not tell how it leans."""
    return iv.CloudScan(scan.points)


@lru_cache
def street():
    """A quarter of a town, and a map of it from its cloud."""
    town = quarter(3, size=100.0)
    cloud = town.cloud(replace(FEW, azimuths=450))
    inside = (np.abs(cloud[:, :2] - 50.0) < 55.0).all(axis=1)  # what is seen beyond is not asked
    return town, iv.VoxelMap.from_points(cloud[inside], 0.5)


@lru_cache
def street_atlas():
    return iv.build(street()[1], height=STREET_HEIGHT, spacing=1.6)
