"""Poses that count as the same place, and the distinct ones among many."""

import numpy as np

from isovist.arrays import BoolArray, FloatArray, IntArray
from isovist.atlas import SearchSpace
from isovist.localization import distinct_indices
from isovist.poses import Pose3, wrap_angle


def distinct_poses(
    space: SearchSpace, poses: FloatArray, tolerance: tuple[float, float], any_attitude: bool
) -> IntArray:
    """Return the indices of poses, in order, that are not at the place of an earlier one.

    Args:
        space: The map, or several.
        poses: Shape (K, D), in m and rad.
        tolerance: Distance (m) and angle (rad) within which poses are at the same place.
        any_attitude: Whether all three angles count, not the heading alone.
    """
    if not any_attitude:
        return distinct_indices(poses, *tolerance)
    poses_3d = space.lift(poses)
    assert isinstance(poses_3d, Pose3)
    return np.array(distinct_attitudes(poses_3d, *tolerance), dtype=np.int64)


def is_same_place(
    space: SearchSpace,
    poses: FloatArray,
    pose: FloatArray,
    tolerance: tuple[float, float],
    any_attitude: bool,
) -> BoolArray:
    """Return which poses are at the place of another pose, shape (K,); see `distinct_poses`."""
    if any_attitude:
        pairs = (np.stack([pose, other]) for other in poses)
        counts = [len(distinct_poses(space, pair, tolerance, any_attitude)) for pair in pairs]
        return np.array([count == 1 for count in counts], dtype=np.bool_)
    distance, angle = tolerance
    is_near = np.hypot(*(poses[:, :2] - pose[:2]).T) <= distance
    return np.asarray(is_near & (np.abs(wrap_angle(poses[:, 2] - pose[2])) <= angle))


def distinct_attitudes(poses: Pose3, distance: float, angle: float) -> list[int]:
    """Return the indices of poses, in order, that differ from each earlier one.

    Args:
        poses: Poses in any attitude.
        distance: Minimum distance of different poses, in m.
        angle: Minimum rotation between different poses, in rad.
    """
    index: list[int] = []
    R, p = poses.rotation, poses.position
    for k in range(len(p)):
        is_near = np.linalg.norm(p[index] - p[k], axis=1) <= distance
        traces = np.einsum("kij,ij->k", R[index], R[k])
        if not (is_near & (traces >= 1.0 + 2.0 * np.cos(angle))).any():
            index.append(k)
    return index
