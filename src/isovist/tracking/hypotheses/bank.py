"""Hypotheses: places where the robot may be, moved by odometry and compared on one path.

Poses are those of the sensor in the world, in m and rad: (x, y, yaw), in 3D those of its level
frame, (x, y, yaw, z, roll, pitch).  The first n coordinates are fitted and have covariances.  A
keyframe stores how well each hypothesis explains its scan.  A hypothesis that is added later is
moved back along the odometry through all keyframes, so that all are compared on the same evidence.
With w_f the weight of a keyframe (neighbouring views repeat each other), ℓ_fb the mean rating of
block b of its beams, and s the slips, by how much odometry disagrees,

    E_k = Σ_f w_f (Σ_b ℓ_kfb − s_kf),       p_k ∝ exp(E_k).                                (1)

Competitors are refuted as in `localization.decision.decide`, over all keyframes.  With
δ = ℓ_0 − ℓ_j,

    t_j = Σ w δ / √(Σ w δ² + τ²),   d_j = Σ_f w_f (difference of mean ratings) / √Σ_f w_f.   (2)
"""

from dataclasses import dataclass, field

import numpy as np

from isovist.arrays import BoolArray, FloatArray, IntArray
from isovist.atlas import SearchSpace
from isovist.localization import LocalizationSettings, coordinate_vector
from isovist.poses import AnyPose, swing
from isovist.sensing import DEFAULT_ELAPSED, Drift
from isovist.tracking.gramian import Gramian
from isovist.tracking.hypotheses.correction import Correction, Corrector
from isovist.tracking.hypotheses.distinct import distinct_poses, is_same_place
from isovist.tracking.hypotheses.keyframe import Keyframe
from isovist.tracking.settings import TrackingSettings


@dataclass(slots=True, eq=False)
class HypothesisBank:
    """Hypotheses, their covariances, and the keyframes that they are compared on.

    Attributes:
        atlas: The map, or several side by side.
        drift: Error model of the odometry.
        settings: How hypotheses are followed.
        localization: How they are fitted and rated.
        poses: Shape (K, D), in m and rad; after `sort`, the best one first.
        covariances: Shape (K, n, n), in m and rad.
        keyframes: Oldest first.
        tilt: Whether roll and pitch are fitted.
        any_attitude: Whether hypotheses may lean by any angle, not only by a few degrees.
        has_odometry: Whether odometry moves the hypotheses, and not a guess.
        prediction: Poses and covariances before the last scan corrected them, shapes as above.
        share: Share of the last scan that was new (`Corrector.correct`).
    """

    atlas: SearchSpace
    drift: Drift
    settings: TrackingSettings
    localization: LocalizationSettings
    poses: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    covariances: FloatArray = field(default_factory=lambda: np.empty((0, 0, 0)))
    keyframes: list[Keyframe] = field(default_factory=list)
    tilt: bool = False
    any_attitude: bool = False
    has_odometry: bool = True
    prediction: tuple[FloatArray, FloatArray] = field(init=False)
    share: float = 1.0

    def __post_init__(self) -> None:
        D, n = self.shape
        self.prediction = np.empty((0, D)), np.empty((0, n, n))
        if len(self.poses) == 0:
            self.poses, self.covariances = self.prediction

    def fit_tilt(self) -> None:
        """Fit roll and pitch from now on; only before the first scan."""
        self.tilt, self.poses = True, np.empty((0, 0))
        self.__post_init__()

    def __len__(self) -> int:
        return len(self.poses)

    @property
    def shape(self) -> tuple[int, int]:
        """D and n: the number of coordinates of a pose, and how many of them are fitted."""
        return 3 * (self.atlas.dimension - 1), self.atlas.fitted(self.tilt)

    def carry(self, motion: AnyPose, elapsed: float = DEFAULT_ELAPSED) -> None:
        """Move all hypotheses by the motion of the last `elapsed` seconds."""
        self.poses, self.covariances = self.drift.carry(
            self.poses, self.covariances, motion, elapsed
        )
        self.prediction = self.drift.carry(*self.prediction, motion, elapsed)

    def correct(self, keyframe: Keyframe, share: float) -> None:
        """Correct all hypotheses by a new keyframe, and store it."""
        self.prediction, self.share = (self.poses, self.covariances), share
        self._correct_and_append(keyframe)
        del self.keyframes[: -self.settings.keyframes.max_keyframes]

    def correct_again(self, keyframe: Keyframe, share: float) -> None:
        """Correct by a better keyframe of the same place, which replaces the last one.

        Scans of a robot that stands still are not independent, so together they count as one.

        Args:
            keyframe: The new keyframe; it gets the weight of the last one.
            share: The share of the scan that is new, added to that of the last one, at most 1.
        """
        keyframe.weight = self.keyframes.pop().weight
        self.share = min(1.0, self.share + share)
        self._correct_and_append(keyframe)

    def _correct_and_append(self, keyframe: Keyframe) -> None:
        correction = self.compare(keyframe, *self.prediction, self.share)
        self.poses, self.covariances = correction.poses, correction.covariances
        keyframe.explanations = correction.explanations
        self.keyframes.append(keyframe)

    def compare(
        self, keyframe: Keyframe, poses: FloatArray, covariances: FloatArray, share: float = 1.0
    ) -> Correction:
        """Return poses corrected by a keyframe, and how well they explain it."""
        corrector = Corrector(self.atlas, self.localization, self.shape[1], self.has_odometry)
        return corrector.correct(keyframe.beams, poses, covariances, share)

    def add(self, poses: FloatArray, covariances: FloatArray) -> None:
        """Add hypotheses at the last keyframe, and move them back through all others."""
        index = self.distinct(np.concatenate([self.poses, poses]))
        new = index[index >= len(self.poses)] - len(self.poses)
        if new.size == 0:
            return
        back, spread = poses[new], covariances[new]
        later, corrected = self.keyframes[-1], None
        for keyframe in reversed(self.keyframes):
            motion = later.T_odom_sensor.inverse @ keyframe.T_odom_sensor
            back, spread = self.drift.carry(back, spread, motion, later.time - keyframe.time)
            later = keyframe
            correction = self.compare(keyframe, back, spread)
            back, spread = correction.poses, correction.covariances
            corrected = corrected or correction
            keyframe.explanations = keyframe.explanations.join(correction.explanations)
        assert corrected is not None
        self._append(corrected, poses[new], covariances[new])

    def _append(self, correction: Correction, poses: FloatArray, covariances: FloatArray) -> None:
        """Append hypotheses, as corrected by the last keyframe, and as predicted before it."""
        self.poses = np.concatenate([self.poses, correction.poses])
        self.covariances = np.concatenate([self.covariances, correction.covariances])
        rows = zip(self.prediction, (poses, covariances), strict=True)
        before, priors = (np.concatenate(pair) for pair in rows)
        self.prediction = before, priors

    def spawn_twins(self, index: IntArray, motion: AnyPose) -> None:
        """Add twins of hypotheses at another place.

        Twins share the past of the hypotheses, and are rated on the last keyframe.

        Args:
            index: Indices of the hypotheses.
            motion: T_world_world, from the place of the hypotheses to that of the twins.
        """
        lift, n = self.atlas.lift, self.shape[1]
        turn = np.eye(n)
        turn[:2, :2] = motion.rotation[:2, :2]
        *past, last = self.keyframes
        for keyframe in past:
            twin = keyframe.explanations.select(index)
            twin.poses = (motion @ lift(twin.poses)).vector
            twin.information = turn @ twin.information @ turn.T
            keyframe.explanations = keyframe.explanations.join(twin)
        poses = (motion @ lift(self.prediction[0][index])).vector
        covariances = turn @ self.prediction[1][index] @ turn.T + self.new_covariance
        correction = self.compare(last, poses, covariances)
        last.explanations = last.explanations.join(correction.explanations)
        self._append(correction, poses, covariances)

    @property
    def new_covariance(self) -> FloatArray:
        """Covariance of a new hypothesis, besides that of its fit, shape (n, n)."""
        search = self.settings.search
        stds = coordinate_vector(search.position_std_m, search.angle_std_rad, self.shape[1])
        return np.diag(np.square(stds))

    def select(self, index: IntArray) -> None:
        """Keep only the hypotheses with these indices, in that order."""
        if np.array_equal(index, np.arange(len(self))):
            return
        self.poses, self.covariances = self.poses[index], self.covariances[index]
        self.prediction = self.prediction[0][index], self.prediction[1][index]
        for keyframe in self.keyframes:
            keyframe.explanations = keyframe.explanations.select(index)

    def distinct(self, poses: FloatArray) -> IntArray:
        """Return the indices of poses, in order, that are not at the place of an earlier one."""
        return distinct_poses(
            self.atlas, poses, self.localization.decision.same_place, self.any_attitude
        )

    def is_same_place(self, poses: FloatArray, pose: FloatArray) -> BoolArray:
        """Return which poses are at the place of another pose, shape (K,)."""
        tolerance = self.localization.decision.same_place
        return is_same_place(self.atlas, poses, pose, tolerance, self.any_attitude)

    def evidence(self) -> FloatArray:
        """Return E of (1), in nats, shape (K,)."""
        total = np.zeros(len(self))
        for keyframe in self.keyframes:
            values = keyframe.explanations
            total += keyframe.weight * (values.blocks.sum(axis=1) - values.slips)
        return total

    def sort(self) -> FloatArray:
        """Sort the hypotheses, best first, one of each place; return E of (1)."""
        E = self.evidence()
        order = np.argsort(-E, kind="stable")
        order = order[self.distinct(self.poses[order])]
        self.select(order)
        return np.asarray(E[order])

    def margins(self, last: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return t and d of (2) of each hypothesis after the first, shape (K − 1,) each.

        Args:
            last: Number of last keyframes that count; all if 0.
        """
        if len(self) == 1:
            return np.empty(0), np.empty(0)
        total, square, lead, weights = 0.0, self.localization.refutation.softness, 0.0, 0.0
        for keyframe in self.keyframes[-last:]:
            ratings, scores, weight = keyframe.group_ratings, keyframe.scores, keyframe.weight
            delta = ratings[0] - ratings[1:]
            total = total + weight * delta.sum(axis=1)
            square = square + weight * (delta**2).sum(axis=1)
            lead = lead + weight * (scores[0] - scores[1:])
            weights += weight
        return np.asarray(total / np.sqrt(square)), np.asarray(lead / np.sqrt(weights))

    def explained_share(self, last: int = 0) -> float:
        """Return the share of beams that the first hypothesis explains, averaged over keyframes.

        Args:
            last: Number of last keyframes that count; all if 0.
        """
        shares = [keyframe.explanations.inliers[0] for keyframe in self.keyframes[-last:]]
        return float(np.mean(shares))

    def gramian(self) -> Gramian:
        """Return the information about the present pose of the first hypothesis."""
        empty = Gramian.pose(coordinates=self.shape[1])
        if len(self) == 0:
            return empty
        present = self.atlas.lift(self.poses[:1])
        rows = [(frame.weight, frame.explanations) for frame in self.keyframes]
        past = self.atlas.lift(np.stack([values.poses[0] for _, values in rows]))
        H = np.stack([weight * values.information[0] for weight, values in rows])
        A = swing(present[np.zeros(len(H), dtype=np.int64)], past, self.shape[1])
        return empty.add_information((A.transpose(0, 2, 1) @ H @ A).sum(axis=0))
