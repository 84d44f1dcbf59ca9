"""Refine the start of a trajectory from all its observations at once.

Odometry exact (`refine_start`).  With the ends q of all beams carried into the frame of the start
by odometry, Σ_t Σ_b ρ(D(T_world_start T_start_t q_tb)) is the cost of one scan made of many, and
what fits a scan fits the trajectory.  Its normal matrix is the information, already about the
start.  Distances cannot tell the front of a wall from its back; so each guess is tried together
with four others around it, and ray casting chooses, as in `localization.refine`.

Odometry that drifts (`refine_chain`).  Each scan is fitted on its own, from where odometry puts it:
to a pose y_t with information H_t, which may be singular, as in a corridor.  Let A_t be the
derivative of pose t + 1 by pose t, (4) of `gramian`, and Q_t the covariance of the error of that
step.  What the scans from t on say about the deviation of pose t from its predicted value ŷ_t is a
pair (Λ, η) with mean Λ⁻¹η.  From the last scan back,

    Λ ← A_tᵀ Λ (I + Q_t Λ)⁻¹ A_t + H_t,                                       (1)
    η ← A_tᵀ (I + Λ Q_t)⁻¹ η + H_t (y_t − ŷ_t),                               (2)

a Kalman filter run backwards, in information form.  At the start it gives the step Λ⁻¹η and the
covariance Λ⁻¹.  The drift of early steps is shared by all later scans, and is counted once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.atlas.base import SearchSpace
from isovist.atlas.matching.beams import Beams
from isovist.errors import InputError
from isovist.localization.settings import LocalizationSettings
from isovist.localization.spread import by_coordinate, covariances, information
from isovist.poses import Pose, wrap_angle
from isovist.sensing.scan import Scan
from isovist.tracking.gramian import ARM, Gramian, carry, fade

ROUNDS = 10
"""The last σ of a fit is repeated at most so many times, and a chain is fitted so often, until the
start rests."""
STILL = (1e-3, 1e-3, 2e-4)
"""It rests when it moves by less, in m and rad; the field of distances has kinks at this scale."""
ASIDE = 0.2
"""How far around a guess others are tried, in m: about as thick as walls are."""


@dataclass(frozen=True, slots=True, eq=False)
class StartFit:
    """A refined start.

    Attributes:
        start: (x, y), (x, y, z) or (x, y, yaw), shape (D,), in m and rad.  Read-only.
        covariance: Of the start, shape (D, D), in m and rad; bounded along what nothing
            constrains.  Read-only.
        information: About the start, shape (D, D), per m and rad.  Read-only.
        least: λ_min of the information, per m²; a heading counts through the arm.
        iterations: Steps taken.
        converged: Whether another step would be below the tolerance, or rounding.
        path: Starts after each step, the guess that led here first, shape (iterations + 1, D).
    """

    start: FloatArray
    covariance: FloatArray
    information: FloatArray
    least: float
    iterations: int
    converged: bool
    path: FloatArray

    @property
    def pose(self) -> Pose:
        """The start as T_world_robot, when it has a heading."""
        return Pose.from_vector(self.start) @ Pose()


def refine_start(
    atlas: SearchSpace,
    scans: Sequence[Scan],
    odometry: Sequence[Pose],
    start: Pose,
    *,
    widths: ArrayLike | None = None,
    arm: float = ARM,
    settings: LocalizationSettings | None = None,
) -> StartFit:
    """Fit the start of a trajectory to the walls, with all scans at once.

    Args:
        atlas: The map, described.
        scans: What the sensor saw.
        odometry: T_odom_robot at each scan, in any fixed frame; taken as exact.
        start: First guess of T_world_robot at the first scan.
        widths: σ of the steps in m; narrow ones for a good guess.
        arm: ℓ for `least`, in m.
        settings: How beams are chosen, fitted and rated.
    """
    return refine_starts(
        atlas, scans, odometry, [start], widths=widths, arm=arm, settings=settings
    )[0]


def refine_starts(
    atlas: SearchSpace,
    scans: Sequence[Scan],
    odometry: Sequence[Pose],
    starts: Sequence[Pose],
    *,
    widths: ArrayLike | None = None,
    arm: float = ARM,
    settings: LocalizationSettings | None = None,
) -> list[StartFit]:
    """`refine_start` from several guesses at once."""
    chosen = LocalizationSettings() if settings is None else settings
    if len(scans) != len(odometry) or len(scans) == 0:
        raise InputError.about(
            "odometry",
            f"must hold one pose per scan, at least one, got {len(odometry)} for {len(scans)}.",
        )
    if len(starts) == 0:
        return []
    if widths is None:
        widths = chosen.all_widths(atlas)
    sigmas = as_floats("widths", widths, (None,))
    sensors = motions_since_start(odometry) @ Pose.from_vector(
        [scan.T_robot_sensor.vector for scan in scans]
    )
    star = ASIDE * np.array([[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])
    guesses = np.stack([start.vector for start in starts])
    poses = (guesses[:, None] + star).reshape(-1, 3)
    pool, blocks = _pool(atlas, scans, sensors, chosen)
    paths = [poses]
    for sigma in (*sigmas, *[sigmas[-1]] * ROUNDS):
        fit = atlas.fit(pool, paths[-1], np.array([sigma]), 3)
        paths.append(fit.poses)
        still = np.asarray((np.abs(paths[-1] - paths[-2]) < STILL).all(axis=1))
        if len(paths) > len(sigmas) and still.all():
            break
    steps = np.stack(paths, axis=1)
    ratings = _rate(atlas, scans, sensors, paths[-1], chosen).reshape(len(starts), -1)
    best = ratings.argmax(axis=1) + len(star) * np.arange(len(starts))
    known = information(fit, blocks, atlas.cell(fit.poses), chosen)
    spreads = covariances(known, chosen)
    return [
        StartFit(
            readonly(steps[k, -1].copy()), readonly(spreads[k]), readonly(known[k]),
            Gramian.pose(arm=arm).add_information(known[k]).least,
            len(paths) - 1, bool(still[k]), readonly(steps[k]),
        )
        for k in best
    ]  # fmt: skip


def motions_since_start(odometry: Sequence[Pose]) -> Pose:
    """T_start_t for each pose of the odometry, as an array of poses."""
    if len(odometry) == 0:
        raise InputError.about("odometry", "must hold at least one pose.", code="missing")
    return odometry[0].inverse @ Pose.from_vector([pose.vector for pose in odometry])


def refine_chain(
    atlas: SearchSpace,
    scans: Sequence[Scan],
    odometry: Sequence[Pose],
    start: Pose,
    drift: ArrayLike,
    *,
    arm: float = ARM,
    settings: LocalizationSettings | None = None,
) -> StartFit:
    """Fit the start of a trajectory to the walls, with odometry that is not exact.

    Args:
        atlas: The map, described.
        scans: What the sensor saw.
        odometry: T_odom_robot at each scan, in any fixed frame.
        start: First guess of T_world_robot at the first scan.
        drift: Covariance of (x, y, yaw) of each step in the frame of the robot before it, shape
            (k − 1, 3, 3), in m and rad.
        arm: ℓ for `least`, in m.
        settings: How beams are chosen, fitted and rated.
    """
    k = len(scans)
    if len(odometry) != k or k == 0:
        raise InputError.about(
            "odometry", f"must hold one pose per scan, at least one, got {len(odometry)} for {k}."
        )
    chosen = LocalizationSettings() if settings is None else settings
    Q = as_floats("drift", drift, (k - 1, 3, 3)) if k > 1 else np.empty((0, 3, 3))
    steps = [a.inverse @ b for a, b in pairwise(odometry)]
    path = [start]
    for _ in range(ROUNDS // 2):
        predicted = [path[-1]]
        for step in steps:
            predicted.append(predicted[-1] @ step)
        fits = [
            refine_start(atlas, [scan], [Pose()], pose, settings=chosen)
            for scan, pose in zip(scans, predicted, strict=True)
        ]
        known, pull = _backwards(predicted, steps, fits, Q)
        widest = by_coordinate(10.0 * chosen.loose, np.pi, 3)
        move = np.linalg.solve(known + np.diag(1.0 / np.square(widest)), pull)
        path.append(Pose.from_vector(path[-1].vector + move))
        if (np.abs(move) < STILL).all():
            break
    return StartFit(
        readonly(np.array(path[-1].vector)), readonly(covariances(known, chosen)), readonly(known),
        Gramian.pose(arm=arm).add_information(known).least,
        len(path) - 1, bool((np.abs(move) < STILL).all()),
        readonly(np.stack([p.vector for p in path])),
    )  # fmt: skip


def _pool(
    atlas: SearchSpace, scans: Sequence[Scan], sensors: Pose, settings: LocalizationSettings
) -> tuple[Beams, int]:
    """Beams of all scans in the frame of the start, and how many blocks they fill."""
    parts = [atlas.beams(scan, settings.beams[1], settings.block) for scan in scans]
    ends = np.concatenate([sensors[t].apply(part.ends) for t, part in enumerate(parts)])
    one = np.zeros(len(ends), dtype=np.int64)
    sigmas = Beams.sigmas_of(parts)
    return Beams.of(ends, one, one, np.empty(0), sigmas), sum(part.blocks for part in parts)


def _rate(
    atlas: SearchSpace,
    scans: Sequence[Scan],
    sensors: Pose,
    starts: FloatArray,
    settings: LocalizationSettings,
) -> FloatArray:
    """Mean rating of all beams by ray casting from starts, shape (K, 3); (K,)."""
    total = np.zeros(len(starts))
    for t, scan in enumerate(scans):
        poses = (Pose.from_vector(starts) @ sensors[t]).vector
        few = atlas.beams(scan, settings.beams[0], settings.block)
        total += atlas.rate(few, poses, settings.model)[0].mean(axis=1, dtype=np.float64)
    return total / len(scans)


def _backwards(
    predicted: Sequence[Pose], steps: Sequence[Pose], fits: Sequence[StartFit], Q: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(Λ, η) of the start, equations (1) and (2), in the axes of the world."""
    known, pull = np.zeros((3, 3)), np.zeros(3)
    for t in range(len(predicted) - 1, -1, -1):
        here = predicted[t]
        if t < len(steps):
            turn = np.eye(3)
            turn[:2, :2] = here.rotation
            error = turn @ Q[t] @ turn.T
            A = carry(steps[t], here.yaw)
            pull = A.T @ np.linalg.solve(np.eye(3) + known @ error, pull)
            known = A.T @ fade(known, error) @ A
        gap = fits[t].start - here.vector
        gap[2] = wrap_angle(gap[2])
        known = known + fits[t].information
        pull = pull + fits[t].information @ gap
    return known, pull
