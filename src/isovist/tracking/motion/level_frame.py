"""Level frames of 3D robots in any attitude: in a hand, flying, on the side, upside down.

As in `any_attitude` of `localization`, a scan is seen as that of a level robot at the same place,

    T_world_robot = T_world_level A,        A u = ẑ.                                        (1)

All hypotheses of a bank share A, where u is the up direction by the best of them; a hypothesis in
another attitude leans in that frame.  From update to update A follows u by the smallest rotation.
Yaw and roll are only inseparable for a robot that looks straight up or down.  Before a hypothesis
does, the level frame is turned about ẑ.
"""

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import AnyScan, SearchSpace
from isovist.localization import as_level_robot, levelling_tilt
from isovist.poses import AnyPose, Pose3
from isovist.sensing import MIN_TILT, CloudScan
from isovist.tracking.settings import MotionSettings


def mount_of(scan: AnyScan) -> AnyPose:
    """Return the pose on the robot of the frame that is searched: T_robot_sensor in 2D."""
    return scan.T_robot_level


def tilt_of_mount(mount: AnyPose) -> Pose3:
    """Return A of (1) from T_robot_level."""
    return Pose3.from_quaternion(Pose3.lifted(mount).inverse.quaternion, np.zeros(3))


def to_level_robot(scan: AnyScan, tilt: Pose3) -> tuple[CloudScan, AnyPose]:
    """Return the scan of the level robot by A of (1), and T_robot_level."""
    level = as_level_robot(scan, tilt)
    return level, tilt.inverse @ mount_of(level)


def up_directions_of(space: SearchSpace, poses: FloatArray, mount: AnyPose) -> FloatArray:
    """Return the up directions in the frame of the robot by poses of its level frame, (K, 3)."""
    return np.asarray((space.lift(poses) @ mount.inverse).rotation[:, 2])


def follow_up_directions(tilt: Pose3, ups: FloatArray, settings: MotionSettings) -> Pose3:
    """Return A of (1) after a motion.

    Args:
        tilt: A before the motion.
        ups: Up direction in the frame of the robot by each hypothesis, the best one first, (K, 3).
        settings: When and how finely the level frame is turned.
    """
    lean = np.arccos(np.clip(tilt.rotation[2] @ ups[0], -1.0, 1.0))
    if lean > MIN_TILT:
        tilt = levelling_tilt(tilt.rotation @ ups[0]) @ tilt
    if np.abs(ups @ tilt.rotation[0]).max() <= np.sin(settings.max_elevation_rad):
        return tilt
    directions = np.concatenate([ups, np.eye(3)])  # robots are put on their sides, too
    yaws = np.arange(settings.yaw_candidates) * (np.pi / settings.yaw_candidates)
    tilts = [Pose3(yaw=float(yaw)) @ tilt for yaw in yaws]
    return min(tilts, key=lambda frame: float(np.abs(directions @ frame.rotation[0]).max()))
