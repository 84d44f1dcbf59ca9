"""Scans of sensors that lean, on streets and indoors."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from tests.support.reference_space import LIDAR as INDOORS

import isovist as iv
from isovist import CloudScan, VoxelMap
from isovist.bench.streets import HEIGHT
from isovist.simulation import LIDAR, quarter

FEW = replace(LIDAR, azimuths=240)


TALL = replace(INDOORS, rings=24, low=-0.7, high=0.7)


def tilt_between(a, b):
    """Angle in ° between the vertical axes of two poses."""
    return float(np.degrees(np.arccos(np.clip(a.rotation[2] @ b.rotation[2], -1.0, 1.0))))


def untold(scan):
    return CloudScan(scan.points)


@lru_cache
def street():
    town = quarter(3, size=100.0)
    cloud = town.cloud(replace(FEW, azimuths=450))
    inside = (np.abs(cloud[:, :2] - 50.0) < 55.0).all(axis=1)  # what is seen beyond is not asked
    return town, VoxelMap.from_points(cloud[inside], 0.5)


@lru_cache
def street_atlas():
    return iv.build(street()[1], height=HEIGHT, spacing=1.6)
