"""How a robot moved between two updates: by odometry, or at even pace where there is none.

In space poses are those of a level frame at the place of the sensor, as in `localization`: what the
robot leans by is taken off both scan and odometry.  Where the scan does not tell it, odometry does,
and where neither does, the ground that the scan shows (`sensing.levelling`).
A sensor that turns sees a moving world: returns that have times are brought to where they would be,
had the robot stood still, by its motion since the update before.
"""

from dataclasses import replace

import numpy as np

from isovist.atlas import AnyScan, SearchSpace
from isovist.errors import InputError
from isovist.poses import AnyPose, Pose, Pose3
from isovist.sensing import CloudScan, Drift, check_tilt, level_scan

FARTHEST = 1e7
"""Odometry farther from its origin than a quarter of the Earth's girth, in m, is none."""
UNAIDED = Drift(still=0.6)
"""Of even pace instead of odometry: at 10 Hz what a robot that drives 2 m/s and stops is off by.
Where nothing is seen along a corridor, the place is called loose before it is wrong."""
ON_GROUND = (
    "A pose x, y, yaw is of a robot on level ground. In any attitude `odometry` must be a Pose3, "
    "x, y, yaw, z, roll, pitch, or none."
)


def checked(
    site: SearchSpace, odometry: AnyPose | None, any_attitude: bool = False
) -> AnyPose | None:
    """T_odom_robot as a site needs it, a pose of the plane lifted in space; or an error.

    Args:
        site: The map, or several.
        odometry: As it was told.
        any_attitude: Whether the robot may lean by any angle, which a pose of the plane says not.
    """
    if odometry is None:
        return None
    flat = site.dimension == 2
    if not isinstance(odometry, Pose if flat else AnyPose) or odometry.shape != ():
        wanted = "Pose(x, y, yaw)" if flat else "Pose3(x, y, yaw, z, roll, pitch)"
        raise InputError.about(
            "odometry", f"must be a pose, {wanted}, got {type(odometry).__name__}."
        )
    if not np.isfinite(odometry.vector).all():
        raise InputError.about("odometry", f"must be finite, got {odometry}.")
    if np.abs(odometry.position).max() > FARTHEST:
        raise InputError.about(
            "odometry",
            f"must lie within {FARTHEST:g} m of its origin, got {odometry}. "
            "Is it in m, and is it sound?",
        )
    if flat:
        return odometry
    if any_attitude:
        if not isinstance(odometry, Pose3):
            raise InputError(ON_GROUND, code="conflict", field="odometry")
        return odometry
    lifted = Pose3.lifted(odometry)
    check_tilt(lifted.roll, lifted.pitch)
    return lifted


def seen_from(
    scan: AnyScan, odometry: AnyPose, before: AnyPose | None, seconds: float | None, aided: bool
) -> AnyScan:
    """A scan as it would be, had the robot stood where odometry says, leaning as it does.

    Args:
        scan: What the sensor saw.
        odometry: T_odom_robot now.
        before: The same at the update before, if there was one.
        seconds: Since then; `None` when nobody told.
        aided: Whether odometry was told, and not expected.
    """
    scan = straightened(scan, odometry, before, seconds)
    if not isinstance(scan, CloudScan):
        return scan
    if scan.roll == scan.pitch == 0.0 and aided and _leans(odometry):
        assert isinstance(odometry, Pose3)
        return replace(scan, roll=odometry.roll, pitch=odometry.pitch)
    return level_scan(scan)


def straightened(
    scan: AnyScan, odometry: AnyPose, before: AnyPose | None, seconds: float | None
) -> AnyScan:
    """A scan as it would be, had the robot stood where odometry says; arguments of `seen_from`."""
    timed = isinstance(scan, CloudScan) and scan.times is not None
    if not timed or before is None or not seconds:
        return scan
    assert isinstance(scan, CloudScan)
    place = scan.T_robot_sensor
    return scan.straighten((before @ place).inverse @ (odometry @ place), seconds)


def leaning(odometry: AnyPose, scan: AnyScan, aided: bool) -> AnyPose:
    """T_odom_robot that leans as a scan (`seen_from`) does, where odometry does not tell how."""
    if not isinstance(scan, CloudScan) or (aided and _leans(odometry)):
        return odometry
    x, y, z = (float(v) for v in odometry.position)
    return Pose3(x, y, odometry.yaw, z, scan.roll, scan.pitch)


def by_ground(scan: AnyScan, seen: AnyScan, odometry: AnyPose) -> bool:
    """Whether the ground alone told how a scan leans."""
    if not isinstance(scan, CloudScan) or not isinstance(seen, CloudScan):
        return False
    return (scan.roll, scan.pitch) != (seen.roll, seen.pitch) and not _leans(odometry)


def _leans(odometry: AnyPose) -> bool:
    return isinstance(odometry, Pose3) and (odometry.roll, odometry.pitch) != (0.0, 0.0)


def mount_of(scan: AnyScan) -> AnyPose:
    """Where the frame that is searched for sits on the robot: T_robot_sensor in the plane."""
    return scan.T_robot_level
