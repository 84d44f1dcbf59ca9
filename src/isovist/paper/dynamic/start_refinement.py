"""Refine the start of a trajectory from its descriptors, and say when that can be done.

Where the noise comes from.  A scan gives F_i = Σ_b f(r_b) Δ_b w_i(b) (`descriptor`), so range
noise of standard deviation σ makes

    Σ = Σ_b σ² f′(r_b)² Δ_b² w(b) w(b)ᵀ + Σ_b (f(r_b) − f(r_{b−1}))² Δ_b² w(b) w(b)ᵀ/12.    (1)

The first sum is σ² (2π/m) G for m even beams and f = r, with G the Gram matrix of the basis: then
information is the Gramian in the metric of the paper, times m/2πσ².  The second is for shadows:
their edge lies anywhere between two beams.  On slanting walls it counts a little too much.

The ball.  A refined start can be trusted when noise leaves it in the ball in which Gauss–Newton
converges, (6) of `tracking.gramian`.  Let κ₂ bound the variation of the stacked J̃ over it, around
its centre s*, where the least singular value is √μ (see `dynamic`).  In it σ_min ≥ √μ − κ₂, J̃
varies by at most 2κ₂ between any two starts, and a step of Gauss–Newton leaves
‖s⁺ − s*‖ ≤ 2κ₂/(√μ − κ₂) ‖s − s*‖.  So

    3 κ₂(ρ) < √μ                                                              (2)

makes it a contraction.  In use the candidate stands for s*, and κ₂ comes from samples.

The refinement.  With J̃ and F of a trajectory, weights c_t and the covariance Σ of the noise,

    s ← s + I⁻¹ Σ_t c_t J̃ᵀ Σ⁻¹ (F_obs(t) − F(t; s)),     I = Σ_t c_t J̃ᵀ Σ⁻¹ J̃.  (3)

Odometry is taken as exact.  `start_fit` fits the same start to the walls.
"""

import numpy as np

from isovist import InputError, LocalizationSettings, Range, Scan, StartFit
from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.localization import coordinate_vector
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.dynamic.dynamic_bound import stack
from isovist.paper.settings import BoundSettings
from isovist.paper.static.assumptions import ball_points
from isovist.paper.static.gauss_newton import (
    Linearization,
    Problem,
    StepLimits,
    damped_gauss_newton,
)
from isovist.paper.static.trajectory import Trajectory
from isovist.poses import unit_vectors
from isovist.settings import default_of
from isovist.tracking import whiten


def descriptor_noise(descriptor: Descriptor, scan: Scan, sigma: float) -> FloatArray:
    """Return Σ of equation (1), shape (n, n).

    Args:
        descriptor: A basis on the circle and a Range signal.
        scan: The scan with the beams.
        sigma: Standard deviation of a range, in m.
    """
    if descriptor.basis.dimension != 2 or not isinstance(descriptor.signal, Range):
        raise InputError(
            "A 2D scan needs a basis on the circle and a Range signal.", code="wrong_dimension"
        )
    if not sigma > 0.0:
        raise InputError.about("sigma", f"must be positive, got {sigma} m.")
    ranges, owned = scan.ranges[scan.valid], scan.beam_widths[scan.valid]
    slopes, values = descriptor.signal.slopes(ranges), descriptor.signal.of_ranges(ranges)
    variance = (sigma * slopes) ** 2 + (values - np.roll(values, 1)) ** 2 / 12.0
    w = descriptor.basis.weights(unit_vectors(scan.bearings[scan.valid]))
    return np.asarray((w * (variance * owned**2)[:, None]).T @ w)


def convergence_radius(trajectory: Trajectory, start: ArrayLike, *, largest: float = 1.0) -> float:
    """Return the convergence radius ρ of (2), in m.

    It is `largest`, halved until (2) holds, or 0 if (2) does not hold above 1 mm.
    """
    limits = default_of(BoundSettings)
    s = as_floats("start", start, trajectory.units.shape)
    J = stack(trajectory.at(s)[1] / trajectory.units, trajectory.weights)
    root = float(np.linalg.svd(J, compute_uv=False)[-1])
    points = ball_points(len(s), limits.trajectory_samples)
    radius = largest
    while radius >= 1e-3:
        around = s + points * radius / trajectory.units
        if bool(np.asarray(trajectory.is_free(around)).all()):
            change = stack(trajectory.at(around)[1] / trajectory.units, trajectory.weights) - J
            if 3.0 * limits.margin * np.linalg.norm(change, ord=2, axis=(1, 2)).max() < root:
                return radius
        radius *= 0.5
    return 0.0


def fit_start(
    trajectory: Trajectory,
    observed: ArrayLike,
    start: ArrayLike,
    *,
    noise: float | ArrayLike | None = None,
    limits: StepLimits | None = None,
) -> StartFit:
    """Fit the start of a trajectory to descriptors by damped Gauss–Newton, equation (3).

    Args:
        trajectory: The motion, and the descriptors expected along it.
        observed: F_obs, shape (k, n).
        start: First guess, shape (D,), in m and rad.
        noise: Standard deviation of a channel, or covariance of all channels; estimated from the
            residuals when `None`.
        limits: Limits on the steps.
    """
    limits = limits or StepLimits.bounded()
    units = trajectory.units
    s = as_floats("start", start, units.shape)
    if not bool(trajectory.is_free(s)):
        raise InputError(
            "A place of the trajectory is not in free space from this start.", code="not_free"
        )
    F, _ = trajectory.at(s)
    target = as_floats("observed", observed, F.shape)

    def linearize(at: FloatArray) -> Linearization:
        F, J = trajectory.at(at)
        scaled = whiten(np.concatenate([(target - F)[..., None], J / units], axis=-1), noise)
        scaled = stack(scaled, trajectory.weights)
        return Linearization(float(scaled[:, 0] @ scaled[:, 0]), scaled[:, 0], scaled[:, 1:])

    solution = damped_gauss_newton(Problem(linearize, trajectory.is_free, units), s, limits)
    end, A = solution.end, solution.end.slopes
    H = A.T @ A
    last_step = np.linalg.lstsq(H, A.T @ end.residuals, rcond=None)[0]
    if noise is None:
        H = H / max(end.cost / max(1, len(end.residuals) - len(s)), 1e-300)
    length = 10.0 * LocalizationSettings().decision.max_position_std_m
    widest = coordinate_vector(length, np.pi if trajectory.arm is not None else length, len(s))
    information = H * np.outer(units, units)
    covariance = np.linalg.inv(information + np.diag(1.0 / widest**2))
    return StartFit(
        readonly(solution.path[-1]), readonly(covariance), readonly(information),
        float(np.linalg.eigvalsh(H)[0]), len(solution.path) - 1,
        float(np.linalg.norm(last_step)) < max(limits.tolerance_m, 1e-8),
        readonly(np.array(solution.path)),
    )  # fmt: skip
