"""Several scans of one robot, joined by its odometry into one large scan.

T_k,k+1 is the motion of the robot from scan k to the next.  All beams are expressed in the frame of
the last scan, whose pose is searched:

    T_last_k = (T_k,k+1 … T_last−1,last)⁻¹.                                                 (1)

Odometry errs.  The pose of scan k in that frame is uncertain by the drift of the path between them.
A heading error of φ rad moves what lies w m back by φ w.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from operator import matmul
from typing import TypeVar, cast

import numpy as np

from isovist.arrays import FloatArray
from isovist.errors import InputError
from isovist.poses import AnyPose, Pose, Pose3
from isovist.sensing.cloud_scan import CloudScan
from isovist.sensing.motion.drift import Drift
from isovist.sensing.scan import Scan


@dataclass(frozen=True, slots=True, eq=False)
class ScanSequence:
    """Two or more scans joined by odometry motions, the latest scan last.

    `join_scans` makes a sequence.

    Attributes:
        scans: The scans, all 2D or all 3D.
        motions: Motions of the robot from each scan to the next, T_k,k+1, in 3D between its tilted
            frames; one fewer than scans.
        drift: Error model of the motions.
    """

    scans: tuple[Scan | CloudScan, ...]
    motions: tuple[AnyPose, ...]
    drift: Drift

    @property
    def last(self) -> Scan | CloudScan:
        """The last scan, whose pose is estimated."""
        return self.scans[-1]

    @property
    def T_level_robot(self) -> AnyPose:
        """The pose of the robot at the last scan, in the level frame of that scan."""
        return self.last.T_level_robot

    @property
    def T_robot_level(self) -> AnyPose:
        """The pose of the last scan's level frame in the frame of the robot."""
        return self.last.T_robot_level

    @property
    def robot_poses(self) -> tuple[AnyPose, ...]:
        """The pose T_last_k of the robot at each scan, in its frame at the last scan, by (1)."""
        later = (self.motions[k:] for k in range(len(self.motions)))
        start = type(self.last.T_level_robot)()
        return (*(reduce(matmul, motions).inverse for motions in later), start)

    @property
    def view_poses(self) -> tuple[AnyPose, ...]:
        """The pose of each scan's level frame in the level frame of the last scan."""
        return tuple(
            self.T_level_robot @ robot @ scan.T_robot_level
            for robot, scan in zip(self.robot_poses, self.scans, strict=True)
        )

    @property
    def view_variances(self) -> FloatArray:
        """The variances of `view_poses` in x, y, yaw, z, roll, pitch (m², rad²), shape (k, 6)."""
        rows = [np.zeros(6)]
        path = 0.0
        for motion in reversed(self.motions):
            flat = motion if isinstance(motion, Pose) else motion.flat
            path += float(np.hypot(flat.x, flat.y))
            position, _, yaw = np.diag(self.drift.covariance(flat))
            rows.append(rows[-1] + [position, position, yaw, position, yaw, yaw])
            rows[-1][[0, 1, 3]] += yaw * path**2
        return np.array(rows[::-1])

    @property
    def span(self) -> float:
        """The largest distance from a scan to the last scan, in m."""
        return max(float(np.linalg.norm(robot.position)) for robot in self.robot_poses)

    @property
    def distances(self) -> FloatArray:
        """The lengths of the valid beams of all scans, in m."""
        return np.concatenate([scan.distances for scan in self.scans])

    def within(self, limit: float) -> "ScanInput | None":
        """Remove beams longer than `limit` (m), and scans that have no other beams.

        Returns:
            The remaining scans; `None` if the last scan has no beam left.
        """
        remaining, motion = limit_range(self, limit)
        return remaining if motion is None else None

    def mirrored(self) -> "ScanSequence":
        """Return the scans of a sensor mounted upside down, with the same robot motions."""
        return replace(self, scans=tuple(scan.mirrored() for scan in self.scans))

    def scaled(self, factor: float) -> "ScanSequence":
        """Return the sequence with the lengths of scans and motions multiplied by a factor."""
        return replace(
            self,
            scans=tuple(scan.scaled(factor) for scan in self.scans),
            motions=tuple(_scaled(motion, factor) for motion in self.motions),
        )


ScanInput = Scan | CloudScan | ScanSequence
"""A scan, or a sequence of scans that `join_scans` made."""
S = TypeVar("S", bound=ScanInput)


def limit_range(scan: ScanInput, limit: float) -> tuple[ScanInput | None, AnyPose | None]:
    """Remove beams that are too long, and scans that have no other beams.

    Args:
        scan: One scan, or a sequence.
        limit: Maximum length of a beam, in m.

    Returns:
        The remaining scans, or `None` if there are none.  Then the motion of the robot after the
        last of them, or `None` if no later scan was removed.
    """
    if not isinstance(scan, ScanSequence):
        return scan.within(limit), None
    limited = [member.within(limit) for member in scan.scans]
    index = [k for k, member in enumerate(limited) if member is not None]
    if not index:
        return None, None
    ends = [*index, len(limited) - 1]
    steps = [reduce(matmul, scan.motions[a:b]) if a < b else None for a, b in pairwise(ends)]
    remaining = tuple(member for member in limited if member is not None)
    motions = tuple(step for step in steps[:-1] if step is not None)
    if len(remaining) == 1:
        return remaining[0], steps[-1]
    return replace(scan, scans=remaining, motions=motions), steps[-1]


def last_scan(scan: ScanInput) -> Scan | CloudScan:
    """Return the last scan of a sequence, or a single scan itself."""
    return scan.last if isinstance(scan, ScanSequence) else scan


def without_intensities(scan: S) -> S:
    """Return 2D scans without intensities, to compare several maps; 3D scans are unchanged."""
    if isinstance(scan, ScanSequence):
        return cast("S", replace(scan, scans=tuple(map(without_intensities, scan.scans))))
    if isinstance(scan, CloudScan) or scan.intensities is None:
        return scan
    ranges = np.where(scan.valid, scan.ranges, np.nan)
    return cast("S", replace(scan, ranges=ranges, intensities=None))


def join_scans(
    scans: ScanInput | Sequence[Scan | CloudScan],
    motions: Sequence[AnyPose] | None = None,
    drift: Drift | None = None,
) -> ScanInput:
    """Join several scans into a sequence; a single scan is returned as it is.

    Args:
        scans: One scan, or a list of them, oldest first.
        motions: Motions of the robot, each from one scan to the next (T_k,k+1).  In 3D a `Pose` is
            a motion on level ground, for any tilt of the scans.
        drift: Error model of the motions.

    Raises:
        InputError: If the scans do not belong together, or a motion is missing or not finite.
    """
    if isinstance(scans, ScanInput):
        if motions is not None or drift is not None:
            raise InputError.about(
                ("motions", "drift"),
                "are for several scans. Give a list: locate(atlas, [first, second], "
                "motions=[motion]).",
                code="conflict",
            )
        return scans
    members = _check_scans(scans)
    steps = tuple(motions or ())
    if len(steps) != len(members) - 1:
        raise InputError.about(
            "motions",
            "must have one motion from each scan to the next, "
            f"{len(members) - 1} for {len(members)} scans, got {len(steps)}.",
        )
    if drift is not None and not isinstance(drift, Drift):
        raise InputError.about("drift", f"must be a Drift, got {type(drift).__name__}.")
    for step in steps:
        _check_motion(step, is_2d=isinstance(members[0], Scan))
    if len(members) == 1:
        return members[0]
    tilted = (_tilted(m, a, b) for m, (a, b) in zip(steps, pairwise(members), strict=True))
    return ScanSequence(members, tuple(tilted), Drift() if drift is None else drift)


def _check_scans(scans: Sequence[Scan | CloudScan]) -> tuple[Scan | CloudScan, ...]:
    """Check that the scans of a list are of one robot and of one dimension."""
    members = tuple(scans) if isinstance(scans, list | tuple) else (scans,)
    for scan in members:
        if not isinstance(scan, Scan | CloudScan):
            raise InputError(
                f"Each scan must be a Scan or a CloudScan, got {type(scan).__name__}.", field="scan"
            )
    if not members:
        raise InputError("At least 1 scan is needed, got none.", code="missing", field="scan")
    if len({type(scan) for scan in members}) > 1:
        raise InputError(
            "The scans must all be 2D or all 3D, got both.", code="wrong_dimension", field="scan"
        )
    frames = sorted({scan.frame for scan in members})
    if len(frames) > 1:
        raise InputError(
            f"The scans must be of one robot, got the frames {', '.join(frames)}.",
            code="conflict",
            field="scan",
        )
    return members


def _check_motion(motion: AnyPose, *, is_2d: bool) -> None:
    if not isinstance(motion, Pose if is_2d else AnyPose) or motion.shape != ():
        types = "Pose(x, y, yaw)" if is_2d else "Pose(x, y, yaw) or Pose3(x, y, yaw, z)"
        raise InputError(f"A motion must be {types}, got {type(motion).__name__}.", field="motions")
    if not np.isfinite(motion.vector).all():
        raise InputError(f"A motion must be finite, got {motion}.", field="motions")


def _tilted(motion: AnyPose, before: Scan | CloudScan, after: Scan | CloudScan) -> AnyPose:
    """Convert a motion on level ground to one between the tilted frames of the robot."""
    if isinstance(before, Scan) or isinstance(after, Scan) or isinstance(motion, Pose3):
        return motion
    first, second = (Pose3(roll=scan.roll, pitch=scan.pitch) for scan in (before, after))
    return first.inverse @ Pose3.lifted(motion) @ second


def _scaled(motion: AnyPose, factor: float) -> AnyPose:
    if isinstance(motion, Pose):
        return Pose(factor * motion.x, factor * motion.y, motion.yaw)
    return Pose3.from_quaternion(motion.quaternion, factor * motion.position)
