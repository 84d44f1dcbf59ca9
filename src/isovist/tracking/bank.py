"""Places where the robot may be, carried along and compared on the way they share.

Poses are those of the sensor in the world, in m and rad: (x, y, yaw), in space those of its level
frame, (x, y, yaw, z, roll, pitch), of which the first n are fitted and have covariances.  A frame
is a scan that was kept; it remembers how well each place of the bank explains it.  A place that is
found late is walked back along the odometry through all frames, so that every place is compared
with every other on the same evidence.  With w_f the weight of a frame (nearby views repeat each
other), ℓ_fb the mean rating of block b of its beams, and s the slips, by how much odometry
disagrees,

    E_k = Σ_f w_f (Σ_b ℓ_kfb − s_kf),       p_k ∝ exp(E_k).                                (1)

Rivals are refuted as in `localization.decision.decide`, over all frames: with δ = ℓ_0 − ℓ_j,

    t_j = Σ w δ / √(Σ w δ² + τ²),    d_j = Σ_f w_f (mean rating, less the rival's) / √Σ_f w_f.   (2)
"""

from dataclasses import dataclass, field, replace

import numpy as np

from isovist.arrays import BoolArray, FloatArray, IntArray
from isovist.atlas import Beams, SearchSpace
from isovist.localization import (
    RANGE_BIAS_PRIOR,
    Fits,
    LocalizationSettings,
    coordinate_vector,
    covariances,
    distinct_indices,
    information,
)
from isovist.poses import AnyPose, Pose3, swing, wrap_angle
from isovist.sensing import DEFAULT_ELAPSED, Drift
from isovist.tracking.gramian import Gramian
from isovist.tracking.settings import TrackingSettings

PER_PLACE = ("blocks", "scores", "slips", "inliers", "places", "known")
"""What a frame holds for each place."""


@dataclass(slots=True, eq=False)
class Frame:
    """A scan that was kept, and what it says about each place of the bank.

    Attributes:
        beams: Of the scan.
        T_odom_sensor: Where odometry says that it was taken.
        weight: w of (1).
        blocks: ℓ of each place and block, shape (K, B).
        scores: Mean rating, shape (K,).
        slips: s of (1), shape (K,).
        inliers: Share of beams explained, shape (K,).
        places: Where it was taken from, by each place, shape (K, D).
        known: What it alone says about that, shape (K, n, n), per m and rad.
        time: When it was taken, in s of the tracker's own clock.
    """

    beams: Beams
    T_odom_sensor: AnyPose
    weight: float
    blocks: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    scores: FloatArray = field(default_factory=lambda: np.empty(0))
    slips: FloatArray = field(default_factory=lambda: np.empty(0))
    inliers: FloatArray = field(default_factory=lambda: np.empty(0))
    places: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    known: FloatArray = field(default_factory=lambda: np.empty((0, 0, 0)))
    time: float = 0.0

    @property
    def witnesses(self) -> FloatArray:
        """ℓ of what errs on its own, columns of blocks, shape (K, C)."""
        return self.beams.by_column(self.blocks)

    def again(self) -> "Frame":
        """The same scan, not compared with anything."""
        return Frame(self.beams, self.T_odom_sensor, self.weight, time=self.time)

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
        atlas: The map, or several side by side.
        drift: Of the odometry.
        settings: How places are followed.
        localization: How they are fitted and rated.
        poses: Shape (K, D).
        spreads: Covariances, shape (K, n, n), in m and rad.
        frames: Oldest first.
        tilt: Whether roll and pitch are fitted too.
        any_attitude: Whether places may be in any attitude, and not nearly level alone.
        aided: Whether odometry carries the places; if not, what they are carried by is a guess,
            and is believed less the more a scan disagrees with it.
        before: Poses and covariances before the last frame was looked at, shapes as above.
        share: How much of what that frame says was new (`compare`).
    """

    atlas: SearchSpace
    drift: Drift
    settings: TrackingSettings
    localization: LocalizationSettings
    poses: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    spreads: FloatArray = field(default_factory=lambda: np.empty((0, 0, 0)))
    frames: list[Frame] = field(default_factory=list)
    tilt: bool = False
    any_attitude: bool = False
    aided: bool = True
    before: tuple[FloatArray, FloatArray] = field(init=False)
    share: float = 1.0

    def __post_init__(self) -> None:
        D, n = self.shape
        self.before = np.empty((0, D)), np.empty((0, n, n))
        if len(self.poses) == 0:
            self.poses, self.spreads = self.before

    def fit_tilt(self) -> None:
        """Have roll and pitch fitted from now on; only while nothing was seen."""
        self.tilt, self.poses = True, np.empty((0, 0))
        self.__post_init__()

    def __len__(self) -> int:
        return len(self.poses)

    @property
    def shape(self) -> tuple[int, int]:
        """D and n: how many coordinates a pose has, and how many of them are fitted."""
        return 3 * (self.atlas.dimension - 1), self.atlas.fitted(self.tilt)

    @property
    def widths(self) -> tuple[FloatArray, FloatArray]:
        """σ of the steps of a fit in m, from the error of odometry down to two cells.

        The later half of the coarse ones and the earlier of the fine ones.
        """
        coarse = self.localization.coarse_widths(self.atlas)
        fine = self.localization.fine_widths(self.atlas)
        return coarse[2:6], fine[:4]

    def carry(self, motion: AnyPose, elapsed: float = DEFAULT_ELAPSED) -> None:
        """Move all places by what odometry says of the last `elapsed` s."""
        self.poses, self.spreads = self.drift.carry(self.poses, self.spreads, motion, elapsed)
        self.before = self.drift.carry(*self.before, motion, elapsed)

    def look(self, frame: Frame, share: float) -> None:
        """Correct all places by a new frame and remember what it says about each."""
        self.before, self.share = (self.poses, self.spreads), share
        self.poses, self.spreads = self.compare(frame, self.poses, self.spreads, share)
        self.frames.append(frame)
        del self.frames[: -self.settings.keep[2]]

    def look_again(self, frame: Frame, share: float) -> None:
        """Look at a frame that says what the last one did, only better: instead of it.

        Scans of a robot that stands are not independent, so together they tell no more than a
        whole one.

        Args:
            frame: Of the same place; it gets the weight of the last one.
            share: That is added to what the last one told, which reaches 1 at most.
        """
        frame.weight = self.frames.pop().weight
        self.share = min(1.0, self.share + share)
        self.poses, self.spreads = self.compare(frame, *self.before, self.share)
        self.frames.append(frame)

    def add(self, poses: FloatArray, spreads: FloatArray) -> None:
        """Add places at the last frame, and walk them back through all the others."""
        near = self.distinct_indices(np.concatenate([self.poses, poses]))
        new = near[near >= len(self.poses)] - len(self.poses)
        if new.size == 0:
            return
        back, loose = poses[new], spreads[new]
        here, kept = self.frames[-1], None
        for frame in reversed(self.frames):
            motion = here.T_odom_sensor.inverse @ frame.T_odom_sensor
            back, loose = self.drift.carry(back, loose, motion, here.time - frame.time)
            here = frame
            said = frame.again()
            back, loose = self.compare(said, back, loose, 1.0)
            if kept is None:
                kept = back, loose
            frame.append(said)
        assert kept is not None
        self._append(*kept, poses[new], spreads[new])

    def distinct_indices(self, poses: FloatArray) -> IntArray:
        """Indices of poses, first come first, none of which is of the place of one before it."""
        if not self.any_attitude:
            return distinct_indices(poses, *self.localization.same)
        lifted = self.atlas.lift(poses)
        assert isinstance(lifted, Pose3)
        return np.array(unlike_turned(lifted, *self.localization.same), dtype=np.int64)

    def alike(self, poses: FloatArray, pose: FloatArray) -> BoolArray:
        """Which poses are of the place of another, shape (K,)."""
        metres, radians = self.localization.same
        if self.any_attitude:
            pairs = (self.distinct_indices(np.stack([pose, other])) for other in poses)
            return np.array([len(pair) == 1 for pair in pairs], dtype=np.bool_)
        near = np.hypot(*(poses[:, :2] - pose[:2]).T) <= metres
        return np.asarray(near & (np.abs(wrap_angle(poses[:, 2] - pose[2])) <= radians))

    def _append(
        self, poses: FloatArray, spreads: FloatArray, began: FloatArray, loose: FloatArray
    ) -> None:
        """Add places with their covariances, now and before the last frame."""
        self.poses = np.concatenate([self.poses, poses])
        self.spreads = np.concatenate([self.spreads, spreads])
        before, wide = self.before
        self.before = np.concatenate([before, began]), np.concatenate([wide, loose])

    def branch(self, index: IntArray, way: AnyPose) -> None:
        """Give places a twin elsewhere that shares their past, and is rated on the last frame.

        Args:
            index: Which places.
            way: From where they are to the twins: T_world_world.
        """
        lift, n = self.atlas.lift, self.shape[1]
        turn = np.eye(n)
        turn[:2, :2] = way.rotation[:2, :2]
        *past, last = self.frames
        for frame in past:
            twin = replace(frame)
            twin.select(index)
            twin.places = (way @ lift(twin.places)).vector
            twin.known = turn @ twin.known @ turn.T
            frame.append(twin)
        said = last.again()
        loose = np.diag(np.square(coordinate_vector(*self.settings.tight, n)))
        began = (way @ lift(self.before[0][index])).vector
        wide = turn @ self.before[1][index] @ turn.T + loose
        poses, spreads = self.compare(said, began, wide, 1.0)
        last.append(said)
        self._append(poses, spreads, began, wide)

    def select(self, index: IntArray) -> None:
        """Keep only some places, in this order."""
        if np.array_equal(index, np.arange(len(self))):
            return
        self.poses, self.spreads = self.poses[index], self.spreads[index]
        self.before = self.before[0][index], self.before[1][index]
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
        keep = order[self.distinct_indices(self.poses[order])]
        self.select(keep)
        return np.asarray(E[keep])

    def margins(self, last: int = 0) -> tuple[FloatArray, FloatArray]:
        """t and d of (2) for every place after the first, shape (K − 1,) each.

        Over all frames, or the `last` ones.
        """
        if len(self) == 1:
            return np.empty(0), np.empty(0)
        total, square, ahead, views = 0.0, self.localization.refuted[2], 0.0, 0.0
        for frame in self.frames[-last:]:
            said = frame.witnesses
            delta = said[0] - said[1:]
            total = total + frame.weight * delta.sum(axis=1)
            square = square + frame.weight * (delta**2).sum(axis=1)
            ahead = ahead + frame.weight * (frame.scores[0] - frame.scores[1:])
            views += frame.weight
        return np.asarray(total / np.sqrt(square)), np.asarray(ahead / np.sqrt(views))

    def gramian(self) -> Gramian:
        """What the frames have told about the present pose of the first place."""
        nothing = Gramian.pose(coordinates=self.shape[1])
        if len(self) == 0:
            return nothing
        here = self.atlas.lift(self.poses[:1])
        then = self.atlas.lift(np.stack([frame.places[0] for frame in self.frames]))
        known = np.stack([frame.weight * frame.known[0] for frame in self.frames])
        A = swing(here[np.zeros(len(known), dtype=np.int64)], then, self.shape[1])
        return nothing.add_information((A.transpose(0, 2, 1) @ known @ A).sum(axis=0))

    def compare(
        self, frame: Frame, poses: FloatArray, spreads: FloatArray, share: float
    ) -> tuple[FloatArray, FloatArray]:
        """Correct poses by a frame and write into it how well they explain it.

        Args:
            frame: The scan; overwritten.
            poses: Where the places are by odometry, shape (K, D).
            spreads: Their covariances.
            share: How much of what the scan says is new, 0 to 1: what the map has wrong stays
                wrong from one view to the next.
        """
        atlas, beams, settings = self.atlas, frame.beams, self.localization
        n = self.shape[1]
        coarse, fine = self.widths
        if n == 3:
            fit = atlas.fit(beams, poses, np.concatenate([coarse, fine]), n)
        else:  # wide steps would take the height from whatever stands in the way
            start = atlas.fit(beams, poses, coarse, 3).poses
            fit = atlas.fit(beams, start, fine, n, held=RANGE_BIAS_PRIOR)
        step = _wrapped(fit.poses - poses)[:, :n]
        known = information(fit, beams.blocks, atlas.cell(fit.poses), settings)
        R = covariances(known, settings)
        told = share * np.linalg.inv(R)
        slip = np.einsum("ki,kij,kj->k", step, np.linalg.inv(spreads + R), step)
        if not self.aided:
            spreads = spreads * np.maximum(1.0, slip / n)[:, None, None]
        after = np.linalg.inv(np.linalg.inv(spreads) + told)
        moved = poses.copy()
        moved[:, :n] += np.einsum("kij,kj->ki", after @ told, step)
        poses = _wrapped(moved)
        rated = Fits(fit, beams, *atlas.rate(beams, poses, settings.model))
        frame.blocks = beams.by_block(rated.ratings)
        frame.scores, frame.inliers = rated.scores, rated.inliers
        frame.slips = np.minimum(0.5 * slip, self.localization.slip)
        frame.places, frame.known = poses, known
        return poses, after


def _wrapped(poses: FloatArray) -> FloatArray:
    """Poses, or steps between them, whose angles lie in [−π, π); in place."""
    for k in (2, 4, 5):
        if k < poses.shape[1]:
            poses[:, k] = wrap_angle(poses[:, k])
    return poses


def unlike_turned(poses: Pose3, metres: float, radians: float) -> list[int]:
    """Indices of poses, first come first, none of which is in place and attitude alike another."""
    chosen: list[int] = []
    R, p = poses.rotation, poses.position
    for k in range(len(p)):
        near = np.linalg.norm(p[chosen] - p[k], axis=1) <= metres
        traces = np.einsum("kij,ij->k", R[chosen], R[k])
        if not (near & (traces >= 1.0 + 2.0 * np.cos(radians))).any():
            chosen.append(k)
    return chosen
