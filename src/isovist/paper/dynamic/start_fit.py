"""Refine the start of a trajectory from all its observations at once.

Odometry exact (`refine_start`).  Odometry moves the ends q of all beams into the frame of the
start.  Then Σ_t Σ_b ρ(D(T_world_start T_start_t q_tb)) is the cost of one scan made of many, and
the fit of a scan fits the trajectory.  Its normal matrix is the information about the start.
Distances cannot tell the front of a wall from its back; so each guess is tried together with four
others around it, and ray casting chooses, as in `localization.scoring.refine`.

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

from isovist import InputError, LocalizationSettings, Pose, Scan
from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats, readonly
from isovist.atlas import Beams, SearchSpace
from isovist.localization import coordinate_vector, covariances, information
from isovist.paper.observations import motions_since_start
from isovist.paper.settings import StartFitSettings, TrajectorySettings
from isovist.poses import wrap_angle
from isovist.settings import default_of
from isovist.tracking import Gramian, HypothesisBank, carry, fade, scan_of


@dataclass(frozen=True, slots=True, eq=False)
class StartFit:
    """The fitted start of a trajectory.

    Attributes:
        start: (x, y), (x, y, z) or (x, y, yaw), shape (D,), in m and rad.  Read-only.
        covariance: Covariance of the start, shape (D, D), in m and rad; limited along directions
            that nothing constrains.  Read-only.
        information: Information about the start, shape (D, D), per m and rad.  Read-only.
        least: λ_min of the information, per m²; a heading counts through the arm.
        iterations: Number of steps.
        converged: Whether another step would be below the tolerance or the rounding error.
        path: Start after each step, beginning with the first guess, shape (iterations + 1, D).
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
        """Return the start as T_world_robot, when it has a heading."""
        return Pose.from_vector(self.start) @ Pose()


def refine_start(
    atlas: SearchSpace,
    scans: Sequence[Scan],
    odometry: Sequence[Pose],
    start: Pose,
    settings: LocalizationSettings | None = None,
) -> StartFit:
    """Fit the start of a trajectory to the walls, with all scans at once and exact odometry.

    Args:
        atlas: Atlas of the map.
        scans: The scans along the trajectory.
        odometry: T_odom_robot at each scan, in any fixed frame; assumed exact.
        start: First guess of T_world_robot at the first scan.
        settings: Settings of the selection, fit and rating of beams.
    """
    return refine_starts(atlas, scans, odometry, [start], settings)[0]


def refine_starts(
    atlas: SearchSpace,
    scans: Sequence[Scan],
    odometry: Sequence[Pose],
    starts: Sequence[Pose],
    settings: LocalizationSettings | None = None,
) -> list[StartFit]:
    """Fit several guesses of the start at once; `refine_start` describes the arguments."""
    settings, limits = settings or LocalizationSettings(), default_of(StartFitSettings)
    _check_odometry(scans, odometry)
    if len(starts) == 0:
        return []
    sigmas = as_floats("widths", settings.all_widths(atlas), (None,))
    sensors = motions_since_start(odometry) @ Pose.from_vector(
        [scan.T_robot_sensor.vector for scan in scans]
    )
    cross = np.array([[0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]])
    guesses = np.stack([start.vector for start in starts])
    pool, blocks = _pool_beams(atlas, scans, sensors, settings)
    paths = [(guesses[:, None] + limits.guess_offset_m * cross).reshape(-1, 3)]
    for sigma in (*sigmas, *[sigmas[-1]] * limits.max_rounds):
        fit = atlas.fit(pool, paths[-1], np.array([sigma]), 3)
        paths.append(fit.poses)
        rests = _is_at_rest(paths[-1] - paths[-2], limits)
        if len(paths) > len(sigmas) and rests.all():
            break
    steps = np.stack(paths, axis=1)
    ratings = _rate(atlas, scans, sensors, paths[-1], settings).reshape(len(starts), -1)
    best = ratings.argmax(axis=1) + len(cross) * np.arange(len(starts))
    matrices = information(fit, blocks, atlas.cell(fit.poses), settings)
    return [_start_fit(steps[k], matrices[k], bool(rests[k]), settings) for k in best]


def refine_chain(
    atlas: SearchSpace,
    scans: Sequence[Scan],
    odometry: Sequence[Pose],
    start: Pose,
    drift: ArrayLike,
    settings: LocalizationSettings | None = None,
) -> StartFit:
    """Fit the start of a trajectory to the walls, with odometry that has errors.

    Args:
        atlas: Atlas of the map.
        scans: The scans along the trajectory.
        odometry: T_odom_robot at each scan, in any fixed frame.
        start: First guess of T_world_robot at the first scan.
        drift: Covariance of (x, y, yaw) of each step, in the frame of the robot before the step,
            shape (k − 1, 3, 3), in m and rad.
        settings: Settings of the selection, fit and rating of beams.
    """
    settings, limits = settings or LocalizationSettings(), default_of(StartFitSettings)
    k = _check_odometry(scans, odometry)
    Q = as_floats("drift", drift, (k - 1, 3, 3)) if k > 1 else np.empty((0, 3, 3))
    steps = [a.inverse @ b for a, b in pairwise(odometry)]
    widest = coordinate_vector(10.0 * settings.decision.max_position_std_m, np.pi, 3)
    path = [start]
    for _ in range(limits.max_rounds // 2):
        predicted = [path[-1]]
        for step in steps:
            predicted.append(predicted[-1] @ step)
        fits = [
            refine_start(atlas, [scan], [Pose()], pose, settings)
            for scan, pose in zip(scans, predicted, strict=True)
        ]
        matrix, pull = _backwards(predicted, steps, fits, Q)
        move = np.asarray(
            np.linalg.solve(matrix + np.diag(1.0 / np.square(widest)), pull), np.float64
        )
        path.append(Pose.from_vector(path[-1].vector + move))
        rests = bool(_is_at_rest(move, limits))
        if rests:
            break
    return _start_fit(np.stack([p.vector for p in path]), matrix, rests, settings)


def refine_frames(atlas: SearchSpace, bank: HypothesisBank, mount: Pose) -> tuple[Pose, StartFit]:
    """Refine the pose of the first frame of a tracker on a 2D map.

    Args:
        atlas: The map, described.
        bank: The hypotheses and frames of the tracker, with at least one hypothesis.
        mount: T_robot_sensor.

    Returns:
        T_world_robot at the first frame by the best hypothesis, and refined by `refine_chain`.
    """
    back = mount.inverse
    odometry = [Pose.from_vector(frame.T_odom_sensor.vector) @ back for frame in bank.keyframes]
    waits = np.diff([frame.time for frame in bank.keyframes])
    drift = [
        bank.drift.covariance(a.inverse @ b, wait)
        for (a, b), wait in zip(pairwise(odometry), waits, strict=True)
    ]
    guess = Pose.from_vector(bank.keyframes[0].explanations.poses[0]) @ back
    scans = [scan_of(frame, mount) for frame in bank.keyframes]
    steps = np.reshape(drift, (-1, 3, 3))
    return guess, refine_chain(atlas, scans, odometry, guess, steps, bank.localization)


def _check_odometry(scans: Sequence[Scan], odometry: Sequence[Pose]) -> int:
    """Return the number of scans; refuse another number of poses, and none."""
    if len(scans) != len(odometry) or len(scans) == 0:
        raise InputError.about(
            "odometry",
            f"must hold one pose per scan, at least one, got {len(odometry)} for {len(scans)}.",
        )
    return len(scans)


def _is_at_rest(moves: FloatArray, limits: StartFitSettings) -> BoolArray:
    """Return which moves, shape (..., 3), in m and rad, are too small to go on."""
    smallest = (limits.rest_m, limits.rest_m, limits.rest_rad)
    return np.asarray((np.abs(moves) < smallest).all(axis=-1))


def _start_fit(
    path: FloatArray, matrix: FloatArray, converged: bool, settings: LocalizationSettings
) -> StartFit:
    """Return the fit that ends a path, shape (k, 3), with an information matrix, shape (3, 3)."""
    least = Gramian.pose(arm=default_of(TrajectorySettings).arm_m).add_information(matrix).least
    return StartFit(
        readonly(path[-1].copy()), readonly(covariances(matrix, settings)), readonly(matrix),
        least, len(path) - 1, converged, readonly(path),
    )  # fmt: skip


def _pool_beams(
    atlas: SearchSpace, scans: Sequence[Scan], sensors: Pose, settings: LocalizationSettings
) -> tuple[Beams, int]:
    """Return the beams of all scans in the frame of the start, and how many blocks they fill."""
    parts = [atlas.beams(scan, settings.fit.fine_beams, settings.scoring.group) for scan in scans]
    ends = np.concatenate([sensors[t].apply(part.ends) for t, part in enumerate(parts)])
    zeros = np.zeros(len(ends), dtype=np.int64)
    sigmas = Beams.sigmas_of(parts)
    return Beams.of(ends, zeros, zeros, np.empty(0), sigmas), sum(part.blocks for part in parts)


def _rate(
    atlas: SearchSpace,
    scans: Sequence[Scan],
    sensors: Pose,
    starts: FloatArray,
    settings: LocalizationSettings,
) -> FloatArray:
    """Return the mean rating of all beams by ray casting from starts, shape (K, 3); shape (K,)."""
    total = np.zeros(len(starts))
    for t, scan in enumerate(scans):
        poses = (Pose.from_vector(starts) @ sensors[t]).vector
        beams = atlas.beams(scan, settings.fit.coarse_beams, settings.scoring.group)
        total += atlas.rate(beams, poses, settings.model)[0].mean(axis=1, dtype=np.float64)
    return total / len(scans)


def _backwards(
    predicted: Sequence[Pose], steps: Sequence[Pose], fits: Sequence[StartFit], Q: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return (Λ, η) of the start, equations (1) and (2), in the axes of the world."""
    matrix, pull = np.zeros((3, 3)), np.zeros(3)
    for t in range(len(predicted) - 1, -1, -1):
        pose = predicted[t]
        if t < len(steps):
            turn = np.eye(3)
            turn[:2, :2] = pose.rotation
            error = turn @ Q[t] @ turn.T
            A = carry(steps[t], pose.yaw)
            pull = A.T @ np.linalg.solve(np.eye(3) + matrix @ error, pull)
            matrix = A.T @ fade(matrix, error) @ A
        gap = fits[t].start - pose.vector
        gap[2] = wrap_angle(gap[2])
        matrix = matrix + fits[t].information
        pull = pull + fits[t].information @ gap
    return matrix, pull
