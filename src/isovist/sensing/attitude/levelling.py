"""Find the ground in a 3D scan, and level the scan by it.

The view from above is divided into patches.  A patch whose returns lie at one height is mostly
ground; a patch on a wall is not.  Random planes through the lowest returns of three patches are
tried.  The plane that is close to most patches is the ground,

    z = a x + b y + c,        tilt = arctan √(a² + b²),                                     (1)

and is fitted again to the patches close to it.  `GroundSettings` has the limits.
"""

from dataclasses import replace

import numpy as np

from isovist.arrays import FloatArray, once_for_each, readonly
from isovist.poses import AnyPose, Pose3
from isovist.sensing.attitude.planes import up_directions
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.scan import Scan
from isovist.sensing.scan_sequence import ScanInput, ScanSequence
from isovist.sensing.settings import GroundSettings

SETTINGS = GroundSettings()
MAX_SLOPE = float(np.tan(np.radians(SETTINGS.max_slope_deg)))
MIN_TILT = float(np.radians(SETTINGS.min_tilt_deg))
"""Tilt of the ground in rad below which the ground counts as level."""
ROUNDING = 1e-9
"""Roll and pitch of a motion below this, in rad, are rounding errors."""


@once_for_each
def fit_ground(scan: CloudScan) -> FloatArray | None:
    """Return the ground plane (a, b, c) of (1) in the level frame, or `None` if there is none."""
    points = scan.level_points
    is_low = points[:, 2] < SETTINGS.max_height_m
    points = points[is_low & (np.hypot(points[:, 0], points[:, 1]) < SETTINGS.max_distance_m)]
    lowest = _ground_patches(points)
    if len(lowest) < SETTINGS.min_patches:
        return None
    A = np.column_stack([lowest[:, :2], np.ones(len(lowest))])
    planes = _random_planes(lowest, A)
    if len(planes) == 0:
        return None
    residuals = np.abs(lowest[:, 2] - planes @ A.T)
    best = residuals[np.argmax((residuals < SETTINGS.max_residual_m).sum(axis=1))]
    for width in (2.0 * SETTINGS.max_residual_m, SETTINGS.max_residual_m):
        inliers = best < width
        if inliers.sum() < max(SETTINGS.min_patches, SETTINGS.min_share * len(lowest)):
            return None
        plane = np.linalg.lstsq(A[inliers], lowest[inliers, 2], rcond=None)[0]
        best = np.abs(lowest[:, 2] - A @ plane)
    heights = points[:, :2] @ plane[:2] + plane[2]
    is_below = points[:, 2] < heights - 2.0 * SETTINGS.max_residual_m
    return readonly(np.asarray(plane)) if is_below.mean() <= SETTINGS.max_share_below else None


def _ground_patches(points: FloatArray) -> FloatArray:
    """Return the lowest return of each patch that may be ground, shape (k, 3), in m."""
    if len(points) < SETTINGS.min_patches:
        return points[:0]
    patch = np.floor(points[:, :2] / SETTINGS.patch_m).astype(np.int64)
    number = (patch[:, 0] << 20) + patch[:, 1]  # row after row: both are small
    order = np.lexsort((points[:, 2], number))
    first = np.flatnonzero(np.diff(number[order], prepend=-(1 << 40)))
    count = np.diff(first, append=len(points))
    lowest = points[order[first]]
    top = points[order[first + (SETTINGS.flat_share * (count - 1)).astype(np.int64)], 2]
    is_flat = (top - lowest[:, 2] < SETTINGS.max_rise_m) & (count > 1)
    return lowest[is_flat & (lowest[:, 2] < 0.0)]


def _random_planes(lowest: FloatArray, A: FloatArray) -> FloatArray:
    """Return planes (a, b, c) through three random patches each, if they may be ground."""
    picks = np.random.default_rng(0).integers(0, len(lowest), (SETTINGS.planes, 3))
    u, v = (lowest[picks[:, k], :2] - lowest[picks[:, 0], :2] for k in (1, 2))
    has_area = np.abs(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]) > 1.0  # twice the area, in m²
    picks = picks[has_area]
    planes = np.linalg.solve(A[picks], lowest[picks, 2][..., None])[..., 0]
    is_gentle = np.hypot(planes[:, 0], planes[:, 1]) <= MAX_SLOPE
    return np.asarray(planes[is_gentle & (planes[:, 2] <= -SETTINGS.min_depth_m)])


def level_by_ground(scan: CloudScan) -> tuple[CloudScan, float]:
    """Level a scan by its ground.

    Roll and pitch of the scan change, its points do not.  A scan without ground is returned
    unchanged.

    Returns:
        The scan, and the angle by which it was rotated, in rad.
    """
    plane = fit_ground(scan)
    if plane is None:
        return scan, 0.0
    up = np.array([-plane[0], -plane[1], 1.0]) / np.sqrt(plane[0] ** 2 + plane[1] ** 2 + 1.0)
    return level_with(scan, up)


def level_with(scan: CloudScan, up: FloatArray) -> tuple[CloudScan, float]:
    """Level a scan so that `up`, in its level frame, is vertical; return the angle too, in rad."""
    # Turn the level frame so that `up` becomes ẑ: its pitch and roll, its heading as it was.
    pitch = -np.arctan2(up[0], up[2])
    roll = np.arctan2(up[1], np.hypot(up[0], up[2]))
    tilt = Pose3(roll=float(roll), pitch=float(pitch)) @ Pose3(roll=scan.roll, pitch=scan.pitch)
    angle = float(np.arccos(np.clip(up[2], -1.0, 1.0)))
    return replace(scan, roll=tilt.roll, pitch=tilt.pitch), angle


def level_by_planes(scan: ScanInput) -> list[CloudScan]:
    """Return a 3D scan levelled by each direction that its planes suggest as up.

    The list is empty for a 2D scan, a sequence, and a scan with known roll and pitch.
    """
    if not isinstance(scan, CloudScan) or (scan.roll, scan.pitch) != (0.0, 0.0):
        return []
    ups = up_directions(scan) @ scan.T_robot_sensor.rotation.T
    levelled = (level_with(scan, up) for up in ups if up[2] > 0.0)
    return [flat for flat, angle in levelled if MIN_TILT < angle <= np.arctan(MAX_SLOPE)]


def level_scan(scan: Scan | CloudScan) -> Scan | CloudScan:
    """Level a 3D scan without roll and pitch by its ground; return other scans unchanged."""
    if not isinstance(scan, CloudScan) or (scan.roll, scan.pitch) != (0.0, 0.0):
        return scan
    flat, angle = level_by_ground(scan)
    return flat if angle > MIN_TILT else scan


def level_scans(scan: ScanInput) -> ScanInput:
    """Level a scan, or each scan of a sequence, by its ground (see `level_scan`).

    Level motions of a sequence become motions between the tilted frames of the robot.
    """
    if not isinstance(scan, ScanSequence):
        return level_scan(scan)
    levelled = tuple(map(level_scan, scan.scans))
    pairs = list(zip(levelled, scan.scans, strict=True))
    if all(flat is original for flat, original in pairs):
        return scan
    tilts = [
        Pose3(roll=flat.roll, pitch=flat.pitch)
        if isinstance(flat, CloudScan) and flat is not original
        else Pose3()
        for flat, original in pairs
    ]
    motions = tuple(
        tilts[k].inverse @ motion @ tilts[k + 1] if _has_no_tilt(motion) else motion
        for k, motion in enumerate(scan.motions)
    )
    return replace(scan, scans=levelled, motions=motions)


def _has_no_tilt(motion: AnyPose) -> bool:
    return isinstance(motion, Pose3) and max(abs(motion.roll), abs(motion.pitch)) < ROUNDING
