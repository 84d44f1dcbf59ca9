"""Places where the robot may be, carried along and compared on the way they share.

Poses are (x, y, yaw) of the sensor in the frame of the grid, in m and rad.  A frame is a scan that
was kept; it remembers how well each place of the bank explains it.  A place that is found late is
walked back along the odometry through all frames, so that every place is compared with every other
on the same evidence.  With w_f the weight of a frame (nearby views repeat each other), ℓ_fb the
mean rating of block b of its beams, and s the slips, by how much odometry disagrees,

    E_k = Σ_f w_f (Σ_b ℓ_kfb − s_kf),       p_k ∝ exp(E_k).                                (1)

Rivals are refuted as in `locate.judge`, over all frames: with δ = ℓ_0 − ℓ_j,

    t_j = Σ w δ / √(Σ w δ² + τ²),    d_j = Σ_f w_f (mean rating, less the rival's) / √Σ_f w_f.   (2)
"""

from dataclasses import dataclass, field

import numpy as np

from isovist.atlas.plane import Atlas
from isovist.localization.judge import (
    APART,
    EXPLAINED,
    SOFT,
    TURNED,
    average_blocks,
    count_blocks,
    covariances,
    distinct,
    informations,
)
from isovist.localization.refine import fit, rate, thin
from isovist.poses import Pose, wrap_angle
from isovist.sensing.scan import Scan
from isovist.tracking.drift import Drift
from isovist.tracking.gramian import Gramian
from isovist.types import FloatArray, IntArray

BEAMS = 120
"""Of a frame."""
WIDTHS = (0.35, 0.25, 0.25, 0.15, 0.15, 0.12, 0.1, 0.1)
"""σ of the steps of a fit in m: from the error of odometry down to two cells."""
FRESH_M, FRESH_RAD = 1.0, 1.5
"""A view is new when it is this far from the last, in m, or turned by this, in rad."""
SLIP = 3.0
"""Most that one disagreement with odometry can cost, in nats."""
FRAMES = 30
"""Most frames that are kept."""
PER_PLACE = ("blocks", "scores", "slips", "inliers", "places", "known")
"""What a frame holds for each place."""


@dataclass(slots=True, eq=False)
class Frame:
    """A scan that was kept, and what it says about each place of the bank.

    Attributes:
        bearings: Of its beams in rad, shape (m,).
        ranges: In m, shape (m,).
        T_odom_sensor: Where odometry says that it was taken.
        weight: w of (1).
        blocks: ℓ of each place and block, shape (K, B).
        scores: Mean rating, shape (K,).
        slips: s of (1), shape (K,).
        inliers: Share of beams explained, shape (K,).
        places: Where it was taken from, by each place, shape (K, 3).
        known: What it alone says about that, shape (K, 3, 3), per m and rad.
    """

    bearings: FloatArray
    ranges: FloatArray
    T_odom_sensor: Pose
    weight: float
    blocks: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    scores: FloatArray = field(default_factory=lambda: np.empty(0))
    slips: FloatArray = field(default_factory=lambda: np.empty(0))
    inliers: FloatArray = field(default_factory=lambda: np.empty(0))
    places: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    known: FloatArray = field(default_factory=lambda: np.empty((0, 3, 3)))

    @classmethod
    def from_scan(cls, scan: Scan, T_odom_sensor: Pose, weight: float) -> "Frame":
        """A frame that has not been compared with anything."""
        return cls(*thin(scan, BEAMS), T_odom_sensor, weight)

    def select(self, index: IntArray) -> None:
        """Keep only some places, in this order."""
        for name in PER_PLACE:
            setattr(self, name, getattr(self, name)[index])

    def append(self, other: "Frame") -> None:
        """Add what the same scan says about more places."""
        for name in PER_PLACE:
            setattr(self, name, np.concatenate([getattr(self, name), getattr(other, name)]))


@dataclass(slots=True, eq=False)
class Bank:
    """Places, their covariances, and the frames that they are compared on.

    Attributes:
        atlas: The map.
        drift: Of the odometry.
        poses: Shape (K, 3).
        spreads: Covariances, shape (K, 3, 3), in m and rad.
        frames: Oldest first.
    """

    atlas: Atlas
    drift: Drift
    poses: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    spreads: FloatArray = field(default_factory=lambda: np.empty((0, 3, 3)))
    frames: list[Frame] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.poses)

    def carry(self, motion: Pose) -> None:
        """Move all places by what odometry says."""
        self.poses, self.spreads = carry(self.poses, self.spreads, motion, self.drift)

    def look(self, frame: Frame, share: float) -> None:
        """Correct all places by a new frame and remember what it says about each."""
        self.poses, self.spreads = compare(self.atlas, frame, self.poses, self.spreads, share)
        self.frames.append(frame)
        del self.frames[:-FRAMES]

    def add(self, poses: FloatArray, spreads: FloatArray) -> None:
        """Add places at the last frame, and walk them back through all the others."""
        everything = np.concatenate([self.poses, poses])
        near = distinct(everything, APART, TURNED)
        new = np.array([k for k in near if k >= len(self.poses)], dtype=np.int64) - len(self.poses)
        if new.size == 0:
            return
        back, loose = poses[new], spreads[new]
        here = self.frames[-1].T_odom_sensor
        kept = None
        for frame in reversed(self.frames):
            motion = here.inverse @ frame.T_odom_sensor
            here = frame.T_odom_sensor
            back, loose = carry(back, loose, motion, self.drift)
            said = Frame(frame.bearings, frame.ranges, here, frame.weight)
            back, loose = compare(self.atlas, said, back, loose, 1.0)
            if kept is None:
                kept = back, loose
            frame.append(said)
        assert kept is not None
        self.poses = np.concatenate([self.poses, kept[0]])
        self.spreads = np.concatenate([self.spreads, kept[1]])

    def select(self, index: IntArray) -> None:
        """Keep only some places, in this order."""
        self.poses, self.spreads = self.poses[index], self.spreads[index]
        for frame in self.frames:
            frame.select(index)

    def evidence(self) -> FloatArray:
        """E of (1), shape (K,)."""
        total = np.zeros(len(self))
        for frame in self.frames:
            total += frame.weight * (frame.blocks.sum(axis=1) - frame.slips)
        return total

    def sort(self) -> FloatArray:
        """Best first, one of each place; gives E of (1)."""
        E = self.evidence()
        order = np.argsort(-E, kind="stable")
        keep = order[distinct(self.poses[order], APART, TURNED)]
        self.select(keep)
        return np.asarray(E[keep])

    def margins(self) -> tuple[FloatArray, FloatArray]:
        """t and d of (2) for every place after the first, shape (K − 1,) each."""
        total, square, ahead, views = 0.0, SOFT, 0.0, 0.0
        for frame in self.frames:
            delta = frame.blocks[0] - frame.blocks[1:]
            total = total + frame.weight * delta.sum(axis=1)
            square = square + frame.weight * (delta**2).sum(axis=1)
            ahead = ahead + frame.weight * (frame.scores[0] - frame.scores[1:])
            views += frame.weight
        return np.asarray(total / np.sqrt(square)), np.asarray(ahead / np.sqrt(views))

    def gramian(self) -> Gramian:
        """What the frames have told about the present pose of the first place."""
        total = Gramian.pose()
        if len(self):
            for frame in self.frames:
                before = frame.places[0] - self.poses[0]
                motion = Pose(float(before[0]), float(before[1]))
                total = total.add_information(frame.weight * frame.known[0], motion)
        return total


def carry(
    poses: FloatArray, spreads: FloatArray, motion: Pose, drift: Drift
) -> tuple[FloatArray, FloatArray]:
    """Poses and covariances after a motion of the sensor."""
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    dx, dy = c * motion.x - s * motion.y, s * motion.x + c * motion.y
    moved = np.stack(
        [poses[:, 0] + dx, poses[:, 1] + dy, wrap_angle(poses[:, 2] + motion.yaw)], axis=-1
    )
    A = np.broadcast_to(np.eye(3), spreads.shape).copy()
    A[:, 0, 2], A[:, 1, 2] = -dy, dx
    # The same along and across, so that the noise needs no turning into the frame of the grid.
    return moved, A @ spreads @ A.transpose(0, 2, 1) + drift.covariance(motion)


def compare(
    atlas: Atlas, frame: Frame, poses: FloatArray, spreads: FloatArray, share: float
) -> tuple[FloatArray, FloatArray]:
    """Correct poses by a frame and write into it how well they explain it.

    Args:
        atlas: The map.
        frame: The scan; overwritten.
        poses: Where the places are by odometry, shape (K, 3).
        spreads: Their covariances.
        share: How much of what the scan says is new, 0 to 1: what the map has wrong stays wrong
            from one view to the next.
    """
    unit = atlas.world.resolution
    scale = np.array([unit, unit, 1.0])
    fitted, normal = fit(atlas, frame.bearings, frame.ranges, poses / scale, WIDTHS)
    step = fitted * scale - poses
    step[:, 2] = wrap_angle(step[:, 2])
    blocks = count_blocks(frame.bearings)
    R = covariances(normal, unit, blocks)
    information = share * np.linalg.inv(R)
    slip = np.einsum("ki,kij,kj->k", step, np.linalg.inv(spreads + R), step)
    after = np.linalg.inv(np.linalg.inv(spreads) + information)
    poses = poses + np.einsum("kij,kj->ki", after @ information, step)
    poses[:, 2] = wrap_angle(poses[:, 2])
    ratings, kinds = rate(atlas, frame.bearings, frame.ranges, poses / scale)
    frame.blocks = average_blocks(ratings.astype(np.float64), frame.bearings)
    frame.scores = ratings.mean(axis=1, dtype=np.float64)
    frame.slips = np.minimum(0.5 * slip, SLIP)
    frame.inliers = np.asarray((kinds == EXPLAINED).mean(axis=1))
    frame.places, frame.known = poses, informations(normal, unit, blocks)
    return poses, after
