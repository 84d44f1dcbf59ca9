"""What `locate` says: a verdict, the estimates it rests on, and what it cost."""

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
"""ν and the share of the covariance of Student's law for the errors of positions: where the map is
bent they are large though the scan fits.  Fitted to right answers on both splits of six logs."""


class Verdict(StrEnum):
    """How far an answer can be trusted."""

    UNIQUE = "unique"
    AMBIGUOUS = "ambiguous"
    LOST = "lost"


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """One place that may be the right one.

    Attributes:
        pose: T_world_robot; a `Pose3` in space.
        covariance: Of (x, y, yaw) in m and rad, shape (3, 3); in space of (x, y, yaw, z), and of
            (x, y, yaw, z, roll, pitch) where the tilt was fitted.  Read-only.
        probability: That it is the right one; those of an answer sum to less than 1 (`none`).
        inliers: Share of the beams that end at a wall which the robot would see from here.
        score: Mean log-likelihood ratio of a beam against a random return, in nats.
        refuted: Whether the scan excludes it against the best estimate (`judge`, equation 3).
        map: Name of the map that the pose is of, where several were asked; else `None`.
    """

    pose: AnyPose
    covariance: FloatArray
    probability: float
    inliers: float
    score: float
    refuted: bool = False
    map: str | None = None

    def ellipse(self, level: float = 0.95) -> tuple[float, float, float]:
        """Half axes in m, the longer one first, and its direction in rad.

        A share `level` of right answers has the true position in it.  Errors have longer tails than
        a normal law with this covariance, which holds 65, 77 and 92 % where it should hold 50, 68
        and 95 %.
        """
        values, vectors = np.linalg.eigh(self.covariance[:2, :2])
        half = ellipse_radius(level) * np.sqrt(np.maximum(values, 0.0))
        return float(half[1]), float(half[0]), float(np.arctan2(vectors[1, 1], vectors[0, 1]))

    @property
    def covariance_ros(self) -> FloatArray:
        """The covariance as `geometry_msgs/PoseWithCovariance` has it, shape (36,).

        Row after row of (x, y, z, roll, pitch, yaw), in m and rad; 0 for what was not fitted.
        """
        rows = [ROS_ORDER.index(name) for name in COORDINATES[: len(self.covariance)]]
        full = np.zeros((6, 6))
        full[np.ix_(rows, rows)] = self.covariance
        return full.ravel()


@final
class Estimates(Sequence[Estimate]):
    """Estimates side by side: each is made when somebody asks for it, most of them never.

    Attributes:
        poses: Of all of them.
        covariances: Likewise, shape (K, n, n), or one by one where some are larger.  Read-only.
        told: The rest number by number, K of each: probabilities, inliers, scores, whether they are
            refuted, and maps.
    """

    __slots__ = ("_made", "covariances", "poses", "told")

    def __init__(
        self, poses: AnyPose, covariances: FloatArray | list[FloatArray], told: Sequence[list[Any]]
    ) -> None:
        for each in [covariances] if isinstance(covariances, np.ndarray) else covariances:
            readonly(each)
        self.poses, self.covariances, self.told = poses, covariances, told
        self._made: list[Estimate | None] = [None] * len(told[0])

    @classmethod
    def of(cls, estimates: Sequence[Estimate]) -> "Estimates":
        """One or more that were made before."""
        if isinstance(estimates, Estimates):
            return estimates
        ways, parts = zip(*(one.pose.__reduce__() for one in estimates), strict=True)
        poses = ways[0](*(np.stack(each) for each in zip(*parts, strict=True)))
        spreads = [one.covariance for one in estimates]
        alike = len({spread.shape for spread in spreads}) == 1
        names = "probability", "inliers", "score", "refuted", "map"
        told = [[getattr(one, name) for one in estimates] for name in names]
        return cls(poses, np.stack(spreads) if alike else spreads, told)

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> Estimate: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Estimate, ...]: ...

    def __getitem__(self, index: int | slice) -> Estimate | tuple[Estimate, ...]:
        if isinstance(index, slice):
            return tuple(self[k] for k in range(*index.indices(len(self))))
        made = self._made[index]
        if made is None:
            numbers = (each[index] for each in self.told)
            made = Estimate(self.poses[index], self.covariances[index], *numbers)
            self._made[index] = made
        return made

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return Estimates, (self.poses, self.covariances, self.told)


def ellipse_radius(level: float) -> float:
    """Of the ellipse that holds a share of the positions, in standard deviations."""
    if not 0.0 < level < 1.0:
        raise InputError.about("level", f"must be a share between 0 and 1, got {level:g}.")
    nu, share = STUDENT_TAILS
    return float(np.sqrt(share * nu * np.expm1(-2.0 / nu * np.log1p(-level))))


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the descriptors say about an estimate (`certify`).

    Attributes:
        mu: μ, how fast the descriptor leaves that of the estimate, per m.
        bound: On the position error in m; `inf` where none is proved.
        holds: Whether every assumption that can be checked does.
        separation: Distance from the estimate to its nearest rival in m; `inf` without one.
        assumptions: What it rests on, in words.
    """

    mu: float
    bound: float
    holds: bool
    separation: float
    assumptions: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """What a complete search of the map found (`localization.verification.proof`).

    Attributes:
        premise: What it rests on, in words.  Nothing else is assumed.
        floor: Least mean rating of the beams in the premise, in nats.
        complete: Whether the search came to its end; if not, the regions are only larger.
        unique: Whether every pose that satisfies the premise lies within 0.5 m and 10° of the
            best estimate.
        regions: Discs of poses of the robot that hold every pose that satisfies the premise:
            (x, y, yaw, radius, turn) in m and rad, shape (K, 5).  Read-only.
        lookups: How many beams of boxes of poses were looked at.
        seconds: That it took.
    """

    premise: str
    floor: float
    complete: bool
    unique: bool
    regions: FloatArray
    lookups: int
    seconds: float

    def holds(self, pose: AnyPose) -> bool:
        """Whether a pose lies in one of the regions."""
        gap = np.hypot(self.regions[:, 0] - pose.x, self.regions[:, 1] - pose.y)
        turn = np.abs(wrap_angle(self.regions[:, 2] - pose.yaw))
        return bool(((gap <= self.regions[:, 3]) & (turn <= self.regions[:, 4])).any())


@dataclass(frozen=True, slots=True)
class SearchStep:
    """One batch of a search (`decision.search_loop`).

    Attributes:
        candidates: How many new poses were fitted.
        hypotheses: How many fitted places there are after it.
        cost_ratio: How many times the cost of the best place the cheapest pose not searched costs.
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
    """Where the robot is, as far as one scan can tell.

    Attributes:
        verdict: Unique, ambiguous or lost.
        reasons: Why: all rules of this verdict that apply, the one that decides first.
        estimates: From most to least likely; empty when no place was found at all.
        timing_ms: Milliseconds spent on `search`, `refine`, `judge` and in `total`.
        certificate: What the theory guarantees here, or `None` when it was not asked for.
        proof: Where else it could be, certainly, or `None` when it was not asked for.
        frame: What the poses are of: a frame that a bag names, "robot", or "sensor" where nothing
            says where that sits on the robot.
        facts: Numbers that the reasons rest on.
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
        """Estimates travel side by side, in a fraction of the time that they take one by one."""
        estimates = Estimates.of(self.estimates) if self.estimates else ()
        rest = self.timing_ms, self.certificate, self.proof, self.frame, self.facts, self.trace
        return _unpickle, (self.verdict.value, tuple(map(str, self.reasons)), estimates, *rest)

    @property
    def advice(self) -> str:
        """The verdict in words, and what to do about it."""
        return advice(self.reasons, self.facts)

    @property
    def best(self) -> Estimate | None:
        """The most likely estimate, or `None` when there is none."""
        return self.estimates[0] if self.estimates else None

    @property
    def map(self) -> str | None:
        """Name of the map of the best estimate, where several were asked; else `None`."""
        return self.estimates[0].map if self.estimates else None

    @property
    def none(self) -> float:
        """Probability that none of the estimates is right."""
        return max(0.0, 1.0 - sum(estimate.probability for estimate in self.estimates))

    @property
    def rivals(self) -> tuple[Estimate, ...]:
        """The other estimates that the scan does not exclude."""
        return tuple(estimate for estimate in self.estimates[1:] if not estimate.refuted)


def _unpickle(verdict: str, reasons: Sequence[str], *rest: Any) -> Answer:
    """Make an answer of what `Answer.__reduce__` gives."""
    return Answer(Verdict(verdict), tuple(map(Reason, reasons)), *rest)


def is_same_place(a: AnyPose, b: AnyPose, settings: LocalizationSettings) -> bool:
    """Whether two poses are of one place: near enough for an answer to be right."""
    near, turned = settings.same
    gap = float(np.hypot(a.x - b.x, a.y - b.y))
    if isinstance(a, Pose3) and isinstance(b, Pose3):
        gap = float(np.hypot(gap, a.z - b.z))
    return gap <= near and float(abs(wrap_angle(a.yaw - b.yaw))) <= turned
