"""Robots in space that are followed in any attitude: in a hand, flying, on the side, upside down.

As in `any_attitude`, a scan is looked at as that of a level robot in the place of this
one,

    T_world_robot = T_world_level A,        A u = ẑ.                                        (1)

All places of a bank share A, where u is up by the best of them; a place in another attitude leans
in that frame as far as it must.  From update to update A follows u by the least turn.  Only a place
that would look straight up or down has no yaw and roll of its own; before one does, the level frame
is turned about ẑ.
"""

from collections.abc import Callable

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas import AnyScan, SearchSpace
from isovist.localization import (
    MAX_ATTITUDES,
    AttitudeHypothesis,
    LocalizationSettings,
    SearchRegion,
    all_up_directions,
    as_level_robot,
    attitude_hypotheses,
    coordinate_vector,
    levelling_tilt,
    to_robot_frame,
)
from isovist.poses import AnyPose, Pose3
from isovist.sensing import MIN_TILT, CloudScan, up_directions
from isovist.tracking.motion import mount_of

STRAIGHT = float(np.sin(np.radians(60.0)))
"""A place that looks up or down by more has yaw and roll that err together more than they tell."""
TURNS = 16
"""Turns of the level frame that are tried, over half a circle."""

Found = tuple[FloatArray, FloatArray, FloatArray]
"""Poses of level frames, best first, their covariances, and their mean ratings in nats."""


def tilt_by(mount: AnyPose) -> Pose3:
    """A of (1) from T_robot_level."""
    return Pose3.from_quaternion(Pose3.lifted(mount).inverse.quaternion, np.zeros(3))


def levelled(scan: AnyScan, tilt: Pose3) -> tuple[CloudScan, AnyPose]:
    """The scan of the level robot by A of (1), and T_robot_level."""
    level = as_level_robot(scan, tilt)
    return level, tilt.inverse @ mount_of(level)


def ups_by(site: SearchSpace, poses: FloatArray, mount: AnyPose) -> FloatArray:
    """Ways up in the frame of the robot by poses of its level frame, shape (K, 3)."""
    return np.asarray((site.lift(poses) @ mount.inverse).rotation[:, 2])


def followed(tilt: Pose3, ups: FloatArray) -> Pose3:
    """A of (1) after another.

    Args:
        tilt: The other.
        ups: Ways up in the frame of the robot by each place, the best first, shape (K, 3).
    """
    lean = np.arccos(np.clip(tilt.rotation[2] @ ups[0], -1.0, 1.0))
    if lean > MIN_TILT:
        tilt = levelling_tilt(tilt.rotation @ ups[0]) @ tilt
    if np.abs(ups @ tilt.rotation[0]).max() <= STRAIGHT:
        return tilt
    ways = np.concatenate([ups, np.eye(3)])  # robots are put on their sides, too
    turned = [Pose3(yaw=float(yaw)) @ tilt for yaw in np.arange(TURNS) * (np.pi / TURNS)]
    return min(turned, key=lambda one: float(np.abs(ways @ one.rotation[0]).max()))


def find(
    site: SearchSpace,
    scan: AnyScan,
    mount: AnyPose,
    region: SearchRegion,
    fit: Callable[[CloudScan], Found],
    tight: tuple[float, float],
    settings: LocalizationSettings,
    *,
    all_round: bool,
) -> Found:
    """Places that explain a scan in any attitude.

    Args:
        site: The map in space, or several side by side.
        scan: Of the level robot.
        mount: T_robot_level; poses that are found are of that level frame.
        region: Where the robot may be.
        fit: Finds places of a scan whose robot is nearly level, roll and pitch fitted.
        tight: Standard deviations of a place that had no more than a glance, in m and rad.
        settings: How to look.
        all_round: Whether ways all round are tried where no plane gives one that explains the scan.
    """
    robot = as_level_robot(scan, tilt_by(mount).inverse)
    ways = _ways(site, robot, region, settings, all_round)
    parts = []
    for way in ways[:MAX_ATTITUDES]:
        assert isinstance(way.scan, CloudScan)
        poses, spreads, scores = fit(way.scan)
        T_way_level = way.scan.T_level_robot @ way.tilt @ mount
        places, spreads = to_robot_frame(site, T_way_level, poses, spreads)
        parts.append((np.reshape(places.vector, (-1, 6)), spreads, scores))
    for way in ways[MAX_ATTITUDES:]:
        spread = np.diag(np.square(coordinate_vector(*tight, 6)))
        place = (way.pose @ mount).vector
        parts.append((place[None], spread[None], np.array([way.score])))
    if not parts:
        return np.empty((0, 6)), np.empty((0, 6, 6)), np.empty(0)
    poses, spreads, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(-scores, kind="stable")
    return poses[order], spreads[order], scores[order]


def _ways(
    site: SearchSpace,
    scan: CloudScan,
    region: SearchRegion,
    settings: LocalizationSettings,
    all_round: bool,
) -> list[AttitudeHypothesis]:
    ways = attitude_hypotheses(site, scan, region, up_directions(scan), settings)
    if all_round and not _best(ways) >= settings.poor[0]:
        more = attitude_hypotheses(site, scan, region, all_up_directions(), settings)
        ways = more if _best(more) > _best(ways) else ways
    return ways


def _best(ways: list[AttitudeHypothesis]) -> float:
    return ways[0].score if ways else -np.inf
