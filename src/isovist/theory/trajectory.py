"""Refine the start of a trajectory from its descriptors, all at once.

With J̃ and F of a course, weights c_t and the covariance Σ of the noise,

    s ← s + I⁻¹ Σ_t c_t J̃ᵀ Σ⁻¹ (F_obs(t) − F(t; s)),     I = Σ_t c_t J̃ᵀ Σ⁻¹ J̃.  (1)

Odometry is taken as exact.  `tracking.trajectory` fits the same start to the walls.
"""

import numpy as np

from isovist.errors import InputError
from isovist.localization.judge import by_coordinate
from isovist.localization.settings import LocalizationSettings
from isovist.theory.course import Course
from isovist.tracking.gramian import whiten
from isovist.tracking.start import StartFit
from isovist.types import ArrayLike, FloatArray, as_floats, readonly


def refine_course(
    course: Course,
    observed: ArrayLike,
    start: ArrayLike,
    *,
    noise: float | ArrayLike | None = None,
    steps: int = 20,
    tolerance: float = 1e-12,
    trust_radius: float = 0.5,
) -> StartFit:
    """Gauss–Newton on descriptors, equation (1), damped when a step does not help.

    Args:
        course: The motion, and what it should observe.
        observed: F_obs, shape (k, n).
        start: First guess, shape (D,), in m and rad.
        noise: Standard deviation of a channel or covariance of all; without it the residuals
            themselves say how large the noise is.
        steps: At most so many.
        tolerance: Stop after a step smaller than this, in m.
        trust_radius: Largest step, in m.
    """
    units = course.units
    s = as_floats("start", start, units.shape)
    if not bool(course.free(s)):
        raise InputError("A place of the trajectory is not in free space from this start.")
    F, J = course.at(s)
    target = as_floats("observed", observed, F.shape)
    r, A = _rows(course, target - F, J / units, noise)
    path, damping, size = [s], 0.0, np.inf
    for _ in range(4 * steps):
        H = A.T @ A
        step = np.linalg.lstsq(H + damping * np.eye(len(s)), A.T @ r, rcond=None)[0]
        size = float(np.linalg.norm(step))
        step *= min(1.0, trust_radius / size) if size > 0.0 else 1.0
        q = s + step / units
        better = bool(course.free(q))
        if better:
            F_q, J_q = course.at(q)
            r_q, A_q = _rows(course, target - F_q, J_q / units, noise)
            better = float(r_q @ r_q) < float(r @ r)
        if better:
            s, r, A, damping = q, r_q, A_q, damping / 8.0
            path.append(s)
        else:
            damping = max(8.0 * damping, 1e-3 * float(np.trace(H)))
        if size < tolerance or len(path) > steps:
            break
    H = A.T @ A
    rest = float(np.linalg.norm(np.linalg.lstsq(H, A.T @ r, rcond=None)[0]))
    if noise is None:
        H = H / max(float(r @ r) / max(1, len(r) - len(s)), 1e-300)
    length = 10.0 * LocalizationSettings().loose
    widest = by_coordinate(length, np.pi if course.arm is not None else length, len(s))
    information = H * np.outer(units, units)
    covariance = np.linalg.inv(information + np.diag(1.0 / widest**2))
    return StartFit(
        readonly(s), readonly(covariance), readonly(information), float(np.linalg.eigvalsh(H)[0]),
        len(path) - 1, rest < max(tolerance, 1e-8), readonly(np.array(path)),
    )  # fmt: skip


def _rows(
    course: Course, gaps: FloatArray, J: FloatArray, noise: float | ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    """Whitened and weighted residuals, shape (m,), and derivatives, shape (m, D), stacked."""
    both = whiten(np.concatenate([gaps[..., None], J], axis=-1), noise)
    both = (both * np.sqrt(course.weights)[:, None, None]).reshape(-1, J.shape[-1] + 1)
    return both[:, 0], both[:, 1:]
