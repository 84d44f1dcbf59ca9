"""The answer of `locate`: a verdict, its reasons, the estimates and their uncertainty."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, final, overload

import numpy as np

from isovist.arrays import FloatArray, readonly
from isovist.errors import InputError
from isovist.localization.advice import advice
from isovist.localization.reasons import Facts, Reason
from isovist.localization.settings import LocalizationSettings
from isovist.poses import COORDINATES, AnyPose, Pose3, wrap_angle
from isovist.renamed import accept_old_names

ROS_ORDER = ("x", "y", "z", "roll", "pitch", "yaw")
STUDENT_TAILS = 2.5, 0.41
"""Degrees of freedom ν of Student's t distribution for errors of positions, and the share of the
covariance that it has. Where a map is bent, errors are large although the scan fits. Fitted to
right answers on both splits of six logs."""


class Verdict(StrEnum):
    """The number of places that explain the scan: one, several, or none."""

    UNIQUE = "unique"
    AMBIGUOUS = "ambiguous"
    LOST = "lost"


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A pose that may be the right one, with its uncertainty.

    Attributes:
        pose: T_world_robot; a `Pose3` on a 3D map.
        covariance: Covariance of (x, y, yaw) in m and rad, shape (3, 3). On a 3D map of (x, y, yaw,
            z), and of (x, y, yaw, z, roll, pitch) if roll and pitch were fitted.  Read-only.
        probability: Probability that it is the right pose. Those of an answer sum to less than 1;
            the rest is `Answer.none`.
        inliers: Share of the beams that end at a wall which is visible from here.
        score: Mean log-likelihood ratio of a beam against a random return, in nats.
        refuted: Whether the scan rules it out against the best estimate (`decide`, equation 4).
        map: Name of the map of the pose if there are several; else `None`.
    """

    pose: AnyPose
    covariance: FloatArray
    probability: float
    inliers: float
    score: float
    refuted: bool = False
    map: str | None = None

    def ellipse(self, level: float = 0.95) -> tuple[float, float, float]:
        """Return the half axes of an error ellipse in m, the longer one first, and its direction.

        The ellipse contains the true position in a share `level` of right answers. Errors have
        longer tails than a normal distribution with this covariance: its ellipses of 50, 68 and
        95 % contain 65, 77 and 92 %. The direction is that of the longer axis in rad.
        """
        values, vectors = np.linalg.eigh(self.covariance[:2, :2])
        half = ellipse_radius(level) * np.sqrt(np.maximum(values, 0.0))
        return float(half[1]), float(half[0]), float(np.arctan2(vectors[1, 1], vectors[0, 1]))

    @property
    def covariance_ros(self) -> FloatArray:
        """Return the covariance in the order of `geometry_msgs/PoseWithCovariance`, shape (36,).

        Row after row of (x, y, z, roll, pitch, yaw), in m and rad; 0 for what was not fitted.
        """
        rows = [ROS_ORDER.index(name) for name in COORDINATES[: len(self.covariance)]]
        full = np.zeros((6, 6))
        full[np.ix_(rows, rows)] = self.covariance
        return full.ravel()


@final
class Estimates(Sequence[Estimate]):
    """K estimates stored as arrays; an `Estimate` is created when it is accessed.

    Attributes:
        poses: T_world_robot of all estimates.
        covariances: Their covariances, shape (K, n, n), or a list if shapes differ.  Read-only.
        columns: Probabilities, inliers, scores, whether they are refuted, and maps, K of each.
    """

    __slots__ = ("_cache", "columns", "covariances", "poses")

    def __init__(
        self,
        poses: AnyPose,
        covariances: FloatArray | list[FloatArray],
        columns: Sequence[list[Any]],
    ) -> None:
        for matrix in [covariances] if isinstance(covariances, np.ndarray) else covariances:
            readonly(matrix)
        self.poses, self.covariances, self.columns = poses, covariances, columns
        self._cache: list[Estimate | None] = [None] * len(columns[0])

    @classmethod
    def of(cls, estimates: Sequence[Estimate]) -> "Estimates":
        """Store one or more estimates as arrays."""
        if isinstance(estimates, Estimates):
            return estimates
        makers, parts = zip(*(estimate.pose.__reduce__() for estimate in estimates), strict=True)
        poses = makers[0](*(np.stack(part) for part in zip(*parts, strict=True)))
        spreads = [estimate.covariance for estimate in estimates]
        has_one_shape = len({spread.shape for spread in spreads}) == 1
        names = "probability", "inliers", "score", "refuted", "map"
        columns = [[getattr(estimate, name) for estimate in estimates] for name in names]
        return cls(poses, np.stack(spreads) if has_one_shape else spreads, columns)

    def __len__(self) -> int:
        return len(self._cache)

    @overload
    def __getitem__(self, index: int) -> Estimate: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Estimate, ...]: ...

    def __getitem__(self, index: int | slice) -> Estimate | tuple[Estimate, ...]:
        if isinstance(index, slice):
            return tuple(self[k] for k in range(*index.indices(len(self))))
        estimate = self._cache[index]
        if estimate is None:
            values = (column[index] for column in self.columns)
            estimate = Estimate(self.poses[index], self.covariances[index], *values)
            self._cache[index] = estimate
        return estimate

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Estimates, (self.poses, self.covariances, self.columns)


def ellipse_radius(level: float) -> float:
    """Return the radius of the ellipse with a share `level` of the positions, in σ."""
    if not 0.0 < level < 1.0:
        raise InputError.about("level", f"must be a share between 0 and 1, got {level:g}.")
    nu, share = STUDENT_TAILS
    return float(np.sqrt(share * nu * np.expm1(-2.0 / nu * np.log1p(-level))))


@dataclass(frozen=True, slots=True)
class Certificate:
    """A bound on the error of an estimate, from the descriptors (`certify`).

    Attributes:
        mu: Rate μ at which the descriptor changes with the distance from the estimate, per m.
        bound: Bound on the position error in m; `inf` if none is proved.
        holds: Whether every assumption that can be checked holds.
        separation: Distance from the estimate to its nearest competitor in m; `inf` without one.
        assumptions: The assumptions in words.
    """

    mu: float
    bound: float
    holds: bool
    separation: float
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """The result of a complete search of the map (`localization.verification.proof`).

    Attributes:
        premise: The only assumption, in words.
        floor: Smallest mean rating of a beam by the premise, in nats.
        complete: Whether the search finished. If not, the regions are larger than necessary.
        unique: Whether every pose that satisfies the premise lies within 0.5 m and 10° of the
            best estimate.
        regions: Discs of poses of the robot that hold every pose that satisfies the premise:
            (x, y, yaw, radius, turn) in m and rad, shape (K, 5).  Read-only.
        lookups: Number of beams that were rated, over all boxes of poses.
        seconds: Duration of the search in s.
    """

    premise: str
    floor: float
    complete: bool
    unique: bool
    regions: FloatArray
    lookups: int
    seconds: float

    def holds(self, pose: AnyPose) -> bool:
        """Return whether a pose lies in one of the regions."""
        gap = np.hypot(self.regions[:, 0] - pose.x, self.regions[:, 1] - pose.y)
        turn = np.abs(wrap_angle(self.regions[:, 2] - pose.yaw))
        return bool(((gap <= self.regions[:, 3]) & (turn <= self.regions[:, 4])).any())


@dataclass(frozen=True, slots=True)
class SearchStep:
    """One batch of a search (`decision.search_loop`).

    Attributes:
        candidates: Number of new poses that were fitted.
        hypotheses: Number of fits after it.
        cost_ratio: Lowest cost of a pose that was not searched, relative to that of the best place.
        verdict: The verdict after it.
        reasons: The reasons of this verdict.
        search_ms: Time of the search, in ms.
        fit_ms: Time of fitting and scoring, in ms.
        decide_ms: Time of the decision, in ms.
    """

    candidates: int
    hypotheses: int
    cost_ratio: float
    verdict: Verdict
    reasons: tuple[Reason, ...]
    search_ms: float
    fit_ms: float
    decide_ms: float


@accept_old_names
@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The pose of the robot from a scan: a verdict, its reasons and all possible poses.

    Attributes:
        verdict: Unique, ambiguous or lost.
        reasons: Why: all rules of this verdict that apply, the decisive one first.
        estimates: Poses from most to least likely; empty if none was found.
        timing_ms: Time of the steps `search`, `refine` and `judge`, and their `total`, in ms.
        certificate: A bound on the error, or `None` if none was requested.
        proof: All other places where the robot could be, or `None` if no proof was requested.
        frame: Name of the frame whose poses these are: one that a bag names, "robot", or "sensor"
            if the pose of the sensor on the robot is not known.
        facts: The numbers behind the reasons.
        trace: The batches of the search that found the estimates, in order.
    """

    verdict: Verdict
    reasons: tuple[Reason, ...]
    estimates: Sequence[Estimate]
    timing_ms: Mapping[str, float] = field(default_factory=dict)
    certificate: Certificate | None = None
    proof: Proof | None = None
    frame: str = "sensor"
    facts: Facts = field(default_factory=Facts)
    trace: tuple[SearchStep, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle estimates as arrays, in a fraction of the time that single estimates take."""
        estimates = Estimates.of(self.estimates) if self.estimates else ()
        rest = self.timing_ms, self.certificate, self.proof, self.frame, self.facts, self.trace
        return _unpickle, (self.verdict.value, tuple(map(str, self.reasons)), estimates, *rest)

    @property
    def advice(self) -> str:
        """Return the verdict in words, and what to do about it."""
        return advice(self.reasons, self.facts)

    @property
    def best(self) -> Estimate | None:
        """Return the most likely estimate, or `None` if there is none."""
        return self.estimates[0] if self.estimates else None

    @property
    def map(self) -> str | None:
        """Return the name of the map of the best estimate if there are several; else `None`."""
        return self.estimates[0].map if self.estimates else None

    @property
    def none(self) -> float:
        """Return the probability that none of the estimates is right."""
        return max(0.0, 1.0 - sum(estimate.probability for estimate in self.estimates))

    @property
    def rivals(self) -> tuple[Estimate, ...]:
        """Return the other estimates that the scan does not rule out."""
        return tuple(estimate for estimate in self.estimates[1:] if not estimate.refuted)


def _unpickle(verdict: str, reasons: Sequence[str], *rest: Any) -> Answer:
    """Create an answer from what `Answer.__reduce__` returns."""
    return Answer(Verdict(verdict), tuple(map(Reason, reasons)), *rest)


def is_same_place(a: AnyPose, b: AnyPose, settings: LocalizationSettings) -> bool:
    """Return whether two poses are of one place: within the error of a right answer."""
    max_gap, max_turn = settings.decision.same_place
    gap = float(np.hypot(a.x - b.x, a.y - b.y))
    if isinstance(a, Pose3) and isinstance(b, Pose3):
        gap = float(np.hypot(gap, a.z - b.z))
    return gap <= max_gap and float(abs(wrap_angle(a.yaw - b.yaw))) <= max_turn
