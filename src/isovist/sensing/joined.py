"""Several scans of one robot, joined by its odometry: one long scan.

With T_k,k+1 the motion of the robot from scan k to the next, all that was seen is told in the frame
of the last scan, whose pose is asked for:

    T_last_k = (T_k,k+1 … T_last−1,last)⁻¹.                                                 (1)

Odometry errs.  What is known of scan k in that frame is known to within the drift of the way from
there, and a heading that errs by φ moves what lies w m back by φ w.
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
from isovist.sensing.drift import Drift
from isovist.sensing.scan import Scan


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """Two or more scans joined by odometry motions, the latest last; `joined` makes one.

    Attributes:
        scans: The scans, all in 2D or all in 3D.
        motions: T_k,k+1 of the robot, in 3D between its tilted frames; one fewer than scans.
        drift: Error model of these motions.
    """

    scans: tuple[Scan | CloudScan, ...]
    motions: tuple[AnyPose, ...]
    drift: Drift

    @property
    def last(self) -> Scan | CloudScan:
        """The last scan, whose pose is asked for."""
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
    def robots(self) -> tuple[AnyPose, ...]:
        """The pose T_last_k of the robot at each scan, in its frame at the last one, by (1)."""
        rest = (self.motions[k:] for k in range(len(self.motions)))
        start = type(self.last.T_level_robot)()
        return (*(reduce(matmul, motions).inverse for motions in rest), start)

    @property
    def views(self) -> tuple[AnyPose, ...]:
        """The pose of each scan's level frame in the level frame of the last scan."""
        return tuple(
            self.T_level_robot @ robot @ scan.T_robot_level
            for robot, scan in zip(self.robots, self.scans, strict=True)
        )

    @property
    def errors(self) -> FloatArray:
        """The variances of `views` in x, y, yaw, z, roll, pitch, in m² and rad², shape (k, 6)."""
        rows = [np.zeros(6)]
        way = 0.0
        for motion in reversed(self.motions):
            flat = motion if isinstance(motion, Pose) else motion.flat
            way += float(np.hypot(flat.x, flat.y))
            place, _, yaw = np.diag(self.drift.covariance(flat))
            rows.append(rows[-1] + [place, place, yaw, place, yaw, yaw])
            rows[-1][[0, 1, 3]] += yaw * way**2
        return np.array(rows[::-1])

    @property
    def span(self) -> float:
        """The largest distance of a scan from the last one, in m."""
        return max(float(np.linalg.norm(robot.position)) for robot in self.robots)

    @property
    def distances(self) -> FloatArray:
        """The lengths of the valid beams of all scans, in m."""
        return np.concatenate([scan.distances for scan in self.scans])

    def within(self, limit: float) -> "Look | None":
        """Return the scans without beams longer than `limit` (m), and drop scans left empty.

        `None` if the last scan has no beam left.
        """
        sighted, motion = leave_out_blind(self, limit)
        return sighted if motion is None else None

    def mirrored(self) -> "Joined":
        """Return the scans of a sensor mounted upside down, with the same robot motions."""
        return replace(self, scans=tuple(scan.mirrored() for scan in self.scans))

    def scaled(self, factor: float) -> "Joined":
        """Return the joined scans with their lengths and motions multiplied by a factor."""
        return replace(
            self,
            scans=tuple(scan.scaled(factor) for scan in self.scans),
            motions=tuple(_scaled(motion, factor) for motion in self.motions),
        )


Look = Scan | CloudScan | Joined
"""What is located: one scan, or several as one."""
L = TypeVar("L", bound=Look)


def leave_out_blind(scan: Look, limit: float) -> tuple[Look | None, AnyPose | None]:
    """Leave out beams that are too long, and scans that have no others.

    Args:
        scan: One scan, or several joined.
        limit: Length of the longest beam that is kept, in m.

    Returns:
        What is left, `None` if nothing is; and the motion of the robot since the last scan of it,
        `None` if that is the last of all.
    """
    if not isinstance(scan, Joined):
        return scan.within(limit), None
    scans = [one.within(limit) for one in scan.scans]
    index = [k for k, one in enumerate(scans) if one is not None]
    if not index:
        return None, None
    ends = [*index, len(scans) - 1]
    steps = [reduce(matmul, scan.motions[a:b]) if a < b else None for a, b in pairwise(ends)]
    sighted = tuple(one for one in scans if one is not None)
    motions = tuple(step for step in steps[:-1] if step is not None)
    if len(sighted) == 1:
        return sighted[0], steps[-1]
    return replace(scan, scans=sighted, motions=motions), steps[-1]


def last_of(scan: Look) -> Scan | CloudScan:
    """Return the last scan of several, or a single scan itself."""
    return scan.last if isinstance(scan, Joined) else scan


def unlit(scan: L) -> L:
    """Return 2D scans without their intensities, to compare several maps; 3D scans unchanged."""
    if isinstance(scan, Joined):
        return cast("L", replace(scan, scans=tuple(unlit(one) for one in scan.scans)))
    if isinstance(scan, CloudScan) or scan.intensities is None:
        return scan
    ranges = np.where(scan.valid, scan.ranges, np.nan)
    return cast("L", replace(scan, ranges=ranges, intensities=None))


def joined(
    scans: Look | Sequence[Scan | CloudScan],
    motions: Sequence[AnyPose] | None = None,
    drift: Drift | None = None,
) -> Look:
    """Join several scans into one, or return a single scan as it is.

    Args:
        scans: One, or a list of them, oldest first.
        motions: The robot at each scan after the first, in its frame at the scan before.  In 3D
            a `Pose` is a motion on level ground, whatever the tilts that the scans tell.
        drift: Error model of the motions.
    """
    if isinstance(scans, Scan | CloudScan | Joined):
        if motions is not None or drift is not None:
            raise InputError.about(
                ("motions", "drift"),
                "are for several scans. Give a list: locate(atlas, [first, "
                "second], motions=[motion]).",
                code="conflict",
            )
        return scans
    if not isinstance(scans, list | tuple):
        raise InputError(
            f"The scan must be a Scan or a CloudScan, got {type(scans).__name__}.", field="scan"
        )
    every, moves = tuple(scans), tuple(motions or ())
    if not every:
        raise InputError(
            "At least one scan is needed, got an empty list.", code="missing", field="scan"
        )
    kinds = {type(scan).__name__ for scan in every}
    if not all(isinstance(scan, Scan | CloudScan) for scan in every):
        other = next(s for s in every if not isinstance(s, Scan | CloudScan))
        raise InputError(
            f"Every scan must be a Scan or a CloudScan, got {type(other).__name__}.", field="scan"
        )
    if len(kinds) > 1:
        raise InputError(
            "The scans must all be of the plane, or all in space, got both.",
            code="wrong_dimension",
            field="scan",
        )
    if len(moves) != len(every) - 1:
        raise InputError.about(
            "motions",
            "must hold one motion from each scan to the next, "
            f"{len(every) - 1} for {len(every)} scans, got {len(moves)}.",
        )
    frames = sorted({scan.frame for scan in every})
    if len(frames) > 1:
        raise InputError(
            f"The scans must be of one robot, got the frames {', '.join(frames)}.",
            code="conflict",
            field="scan",
        )
    if drift is not None and not isinstance(drift, Drift):
        raise InputError.about("drift", f"must be a Drift, got {type(drift).__name__}.")
    for motion in moves:
        _check(motion, flat=isinstance(every[0], Scan))
    if len(every) == 1:
        return every[0]
    told = tuple(_tilted(m, a, b) for m, (a, b) in zip(moves, pairwise(every), strict=True))
    return Joined(every, told, Drift() if drift is None else drift)


def _check(motion: AnyPose, *, flat: bool) -> None:
    if not isinstance(motion, Pose if flat else AnyPose) or motion.shape != ():
        wanted = "Pose(x, y, yaw)" if flat else "Pose(x, y, yaw) or Pose3(x, y, yaw, z)"
        raise InputError(
            f"A motion must be {wanted}, got {type(motion).__name__}.", field="motions"
        )
    if not np.isfinite(motion.vector).all():
        raise InputError(f"A motion must be finite, got {motion}.", field="motions")


def _tilted(motion: AnyPose, before: Scan | CloudScan, after: Scan | CloudScan) -> AnyPose:
    """A motion between the frames of the robot, which tilt, from one on level ground."""
    if isinstance(before, Scan) or isinstance(after, Scan) or isinstance(motion, Pose3):
        return motion
    first, second = (Pose3(roll=scan.roll, pitch=scan.pitch) for scan in (before, after))
    return first.inverse @ Pose3.lifted(motion) @ second


def _scaled(motion: AnyPose, factor: float) -> AnyPose:
    if isinstance(motion, Pose):
        return Pose(factor * motion.x, factor * motion.y, motion.yaw)
    return Pose3.from_quaternion(motion.quaternion, factor * motion.position)
