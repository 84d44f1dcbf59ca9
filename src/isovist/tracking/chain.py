"""Refine the start of a trajectory whose odometry drifts.

Each scan is fitted on its own, from where odometry puts it: to a pose y_t with information H_t,
which may be singular, as in a corridor.  Let A_t be the derivative of pose t + 1 by pose t, (4) of
`gramian`, and Q_t the covariance of the error of that step.  What the scans from t on say about the
deviation of pose t from its predicted value ŷ_t is a pair (Λ, η) with mean Λ⁻¹η.  From the last
scan back,

    Λ ← A_tᵀ Λ (I + Q_t Λ)⁻¹ A_t + H_t,                                       (1)
    η ← A_tᵀ (I + Λ Q_t)⁻¹ η + H_t (y_t − ŷ_t),                               (2)

a Kalman filter run backwards, in information form.  At the start it gives the step Λ⁻¹η and the
covariance Λ⁻¹.  The drift of early steps is shared by all later scans, and is counted once.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from isovist.atlas.plane import Atlas
from isovist.errors import InputError
from isovist.localization.judge import FLOOR, WIDEST
from isovist.poses import Pose, wrap_angle
from isovist.sensing.scan import Scan
from isovist.tracking.gramian import ARM, Gramian, carry, fade
from isovist.tracking.trajectory import STILL, StartFit, refine_start
from isovist.types import ArrayLike, FloatArray, as_floats, readonly

ROUNDS = 4
"""Most rounds of fitting all scans and stepping."""


def refine_chain(
    atlas: Atlas,
    scans: Sequence[Scan],
    odometry: Sequence[Pose],
    start: Pose,
    drift: ArrayLike,
    *,
    arm: float = ARM,
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
    """
    k = len(scans)
    if len(odometry) != k or k == 0:
        raise InputError(
            f"`odometry` must hold one pose per scan, at least one, got {len(odometry)} for {k}."
        )
    Q = as_floats("drift", drift, (k - 1, 3, 3)) if k > 1 else np.empty((0, 3, 3))
    steps = [a.inverse @ b for a, b in pairwise(odometry)]
    path = [start]
    for _ in range(ROUNDS):
        predicted = [path[-1]]
        for step in steps:
            predicted.append(predicted[-1] @ step)
        fits = [
            refine_start(atlas, [scan], [Pose()], pose)
            for scan, pose in zip(scans, predicted, strict=True)
        ]
        information, pull = _backwards(predicted, steps, fits, Q)
        total = information + np.diag(1.0 / np.square(WIDEST))
        move = np.linalg.solve(total, pull)
        path.append(Pose.from_vector(path[-1].vector + move))
        if (np.abs(move) < STILL).all():
            break
    covariance = np.linalg.inv(total) + np.diag(np.square(FLOOR))
    least = Gramian.pose(arm=arm).add_information(information).least
    return StartFit(
        readonly(path[-1].vector), readonly(covariance), readonly(information), least,
        len(path) - 1, bool((np.abs(move) < STILL).all()),
        readonly(np.stack([p.vector for p in path])),
    )  # fmt: skip


def _backwards(
    predicted: Sequence[Pose],
    steps: Sequence[Pose],
    fits: Sequence[StartFit],
    Q: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """(Λ, η) of the start, equations (1) and (2), in the axes of the world."""
    information, pull = np.zeros((3, 3)), np.zeros(3)
    for t in range(len(predicted) - 1, -1, -1):
        here = predicted[t]
        if t < len(steps):
            turn = np.eye(3)
            turn[:2, :2] = here.rotation
            error = turn @ Q[t] @ turn.T
            A = carry(steps[t], here.yaw)
            pull = A.T @ np.linalg.solve(np.eye(3) + information @ error, pull)
            information = A.T @ fade(information, error) @ A
        gap = fits[t].start - here.vector
        gap[2] = wrap_angle(gap[2])
        information = information + fits[t].information
        pull = pull + fits[t].information @ gap
    return information, pull
