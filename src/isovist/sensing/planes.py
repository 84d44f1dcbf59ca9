"""Which way may be up in a cloud that does not tell: along or across the planes that it shows.

Each of a few hundred returns, spread evenly over directions, and those nearest to it lie on a patch
with a normal n, the last principal axis.  Where they are flat, it votes for ±n by the area at 1 m
that it stands for, 1 / cos of the angle between beam and normal: floors, ceilings and walls get
most votes.  Up is along one of them, or at right angles to two.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np

from isovist.arrays import FloatArray
from isovist.poses import Pose3
from isovist.sensing.cloud_scan import CloudScan

PATCHES, BETWEEN = float(np.radians(4.0)), float(np.radians(1.5))
"""Angles between the returns that vote, and between those that are their neighbours."""
NEIGHBOURS = 30
FLAT = 0.1
"""The least variance of a patch is less than this share of the middle one, and that is more than
this share of the largest."""
GRAZING = 0.2
"""Least cosine between beam and normal that counts."""
ALIKE = float(np.cos(np.radians(6.0)))
"""Normals nearer than this vote for the same plane; those of another differ by twice the angle."""
MOST, FEWEST = 6, 0.02
"""Planes that are looked for, and the share of the votes that each needs."""
CROSSED = 4
"""So many of them may be walls, two at a time; these are at an angle of 53° or more."""
STEEP = 0.8
APART = float(np.cos(np.radians(10.0)))
"""Ways that differ by less are one."""


def normals_of(scan: CloudScan) -> FloatArray:
    """Return normals of the planes with most votes, in the frame of the sensor, shape (k, 3)."""
    from scipy.spatial import cKDTree

    scan = replace(scan, T_robot_sensor=Pose3(), roll=0.0, pitch=0.0)  # what it tells counts not
    cloud, patches = (scan.points[scan.spread(angle)] for angle in (BETWEEN, PATCHES))
    if len(cloud) < 3:
        return np.empty((0, 3))  # no plane
    _, near = cKDTree(cloud).query(patches, k=min(NEIGHBOURS, len(cloud)))
    off = cloud[near] - cloud[near].mean(axis=1, keepdims=True)
    variances, axes = np.linalg.eigh(np.einsum("nki,nkj->nij", off, off))
    least, middle, largest = variances.T
    flat = (least < FLAT * middle) & (middle > FLAT * largest)
    n, patches = axes[flat, :, 0], patches[flat]
    cosine = np.abs((n * patches).sum(axis=1)) / np.linalg.norm(patches, axis=1)
    votes = 1.0 / np.maximum(cosine, GRAZING)
    alike = (np.abs(n @ n.T) > ALIKE).astype(np.float64)
    wanted = FEWEST * votes.sum()
    found: list[FloatArray] = []
    while len(found) < MOST:
        given = alike @ votes
        if not given.max(initial=0.0) > wanted:
            break
        axis = n[int(np.argmax(given))]
        for _ in range(3):
            share = votes * (np.abs(n @ axis) > ALIKE)
            axis = np.linalg.eigh((n.T * share) @ n)[1][:, -1]
        found.append(axis)
        votes = np.where(np.abs(n @ axis) > 2.0 * ALIKE**2 - 1.0, 0.0, votes)
    return np.array(found).reshape(-1, 3)


def ups_of(scan: CloudScan) -> FloatArray:
    """Return unit vectors that may point up, in the sensor frame, shape (2k, 3); may be none."""
    normals = normals_of(scan)
    across = [np.cross(a, b) for a, b in combinations(normals[:CROSSED], 2)]
    lengths = [float(np.linalg.norm(way)) for way in across]
    steep = [way / size for way, size in zip(across, lengths, strict=True) if size > STEEP]
    ways: list[FloatArray] = []
    for way in (*normals, *steep):
        if all(abs(way @ other) < APART for other in ways):
            ways.append(way)
    return np.array([sign * way for way in ways for sign in (1.0, -1.0)]).reshape(-1, 3)
