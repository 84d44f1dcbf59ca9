"""Find directions that may be up in a 3D scan of unknown attitude, from the planes that it shows.

A few hundred returns, spread evenly over directions, vote.  Each and its nearest neighbours make a
patch with a normal n, the last principal axis.  A flat patch votes for ±n by the area at 1 m that
it stands for, 1 / cos of the angle between beam and normal: floors, ceilings and walls get most
votes.  Up is along one of the normals, or at right angles to two of them.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np

from isovist.arrays import FloatArray
from isovist.poses import Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.settings import PlaneSettings

SETTINGS = PlaneSettings()
VOTE_SPACING = float(np.radians(SETTINGS.vote_spacing_deg))
NEIGHBOUR_SPACING = float(np.radians(SETTINGS.neighbour_spacing_deg))
SAME_PLANE = float(np.cos(np.radians(SETTINGS.same_plane_deg)))
"""Normals with a larger cosine are of one plane; those of another differ by twice the angle."""
SAME_DIRECTION = float(np.cos(np.radians(SETTINGS.same_direction_deg)))


def plane_normals(scan: CloudScan) -> FloatArray:
    """Return the normals of the largest planes, in the frame of the sensor, shape (k, 3)."""
    normals, votes = _patch_votes(scan)
    is_same = (np.abs(normals @ normals.T) > SAME_PLANE).astype(np.float64)
    min_votes = SETTINGS.min_vote_share * votes.sum()
    planes: list[FloatArray] = []
    while len(planes) < SETTINGS.max_planes:
        sums = is_same @ votes
        if not sums.max(initial=0.0) > min_votes:
            break
        axis = normals[int(np.argmax(sums))]
        for _ in range(3):
            weights = votes * (np.abs(normals @ axis) > SAME_PLANE)
            axis = np.linalg.eigh((normals.T * weights) @ normals)[1][:, -1]
        planes.append(axis)
        votes = np.where(np.abs(normals @ axis) > 2.0 * SAME_PLANE**2 - 1.0, 0.0, votes)
    return np.array(planes).reshape(-1, 3)


def _patch_votes(scan: CloudScan) -> tuple[FloatArray, FloatArray]:
    """Return the normals of flat patches, shape (n, 3), and their votes, shape (n,)."""
    from scipy.spatial import cKDTree

    scan = replace(scan, T_robot_sensor=Pose3(), roll=0.0, pitch=0.0)  # the attitude is unknown
    cloud, patches = (scan.points[scan.spread(a)] for a in (NEIGHBOUR_SPACING, VOTE_SPACING))
    if len(cloud) < 3:
        return np.empty((0, 3)), np.empty(0)
    _, nearest = cKDTree(cloud).query(patches, k=min(SETTINGS.neighbours, len(cloud)))
    offsets = cloud[nearest] - cloud[nearest].mean(axis=1, keepdims=True)
    variances, axes = np.linalg.eigh(np.einsum("nki,nkj->nij", offsets, offsets))
    smallest, middle, largest = variances.T
    ratio = SETTINGS.max_variance_ratio
    is_flat = (smallest < ratio * middle) & (middle > ratio * largest)
    normals, patches = axes[is_flat, :, 0], patches[is_flat]
    cosine = np.abs((normals * patches).sum(axis=1)) / np.linalg.norm(patches, axis=1)
    return normals, 1.0 / np.maximum(cosine, SETTINGS.min_cosine)


def up_directions(scan: CloudScan) -> FloatArray:
    """Return unit vectors that may point up, in the frame of the sensor, shape (2k, 3).

    There may be none.
    """
    normals = plane_normals(scan)
    across = [np.cross(a, b) for a, b in combinations(normals[: SETTINGS.max_walls], 2)]
    lengths = [float(np.linalg.norm(axis)) for axis in across]
    corners = [
        axis / length
        for axis, length in zip(across, lengths, strict=True)
        if length > SETTINGS.min_wall_sine
    ]
    axes: list[FloatArray] = []
    for axis in (*normals, *corners):
        if all(abs(axis @ other) < SAME_DIRECTION for other in axes):
            axes.append(axis)
    return np.array([sign * axis for axis in axes for sign in (1.0, -1.0)]).reshape(-1, 3)
