"""Refine the start of a trajectory from its descriptors, all at once; and when that can be done.

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

The refinement.  With J̃ and F of a course, weights c_t and the covariance Σ of the noise,

    s ← s + I⁻¹ Σ_t c_t J̃ᵀ Σ⁻¹ (F_obs(t) − F(t; s)),     I = Σ_t c_t J̃ᵀ Σ⁻¹ J̃.  (3)

Odometry is taken as exact.  `tracking.trajectory` fits the same start to the walls.
"""

import numpy as np

from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.errors import InputError
from isovist.localization.settings import LocalizationSettings
from isovist.localization.spread import by_coordinate
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.dynamic.dynamic_bound import MARGIN, SAMPLES, ball, stack
from isovist.paper.dynamic.observations import Course
from isovist.paper.static.gauss_newton import Rows, damped_steps
from isovist.poses import unit_vectors
from isovist.sensing.scan import Scan
from isovist.sensing.signals import Range
from isovist.tracking.gramian import whiten
from isovist.tracking.start import StartFit


def descriptor_noise(descriptor: Descriptor, scan: Scan, sigma: float) -> FloatArray:
    """Σ of equation (1), shape (n, n).

    Args:
        descriptor: DirectionalBasis on the circle and a Range signal.
        scan: The beams.
        sigma: Standard deviation of a range, in m.
    """
    if descriptor.basis.dimension != 2 or not isinstance(descriptor.signal, Range):
        raise InputError(
            "A planar scan needs a basis on the circle and a Range signal.", code="wrong_dimension"
        )
    if not sigma > 0.0:
        raise InputError.about("sigma", f"must be positive, got {sigma} m.")
    ranges, owned = scan.ranges[scan.valid], scan.beam_widths[scan.valid]
    slopes, values = descriptor.signal.slopes(ranges), descriptor.signal.of_ranges(ranges)
    variance = (sigma * slopes) ** 2 + (values - np.roll(values, 1)) ** 2 / 12.0
    w = descriptor.basis.weights(unit_vectors(scan.bearings[scan.valid]))
    return np.asarray((w * (variance * owned**2)[:, None]).T @ w)


def convergence_radius(course: Course, start: ArrayLike, *, largest: float = 1.0) -> float:
    """ρ of (2): `largest`, halved until it holds, in m; 0 when it does not above 1 mm."""
    s = as_floats("start", start, course.units.shape)
    J = stack(course.at(s)[1] / course.units, course.weights)
    root = float(np.linalg.svd(J, compute_uv=False)[-1])
    radius = largest
    while radius >= 1e-3:
        around = s + ball(len(s), SAMPLES) * radius / course.units
        if bool(np.asarray(course.free(around)).all()):
            change = stack(course.at(around)[1] / course.units, course.weights) - J
            if 3.0 * MARGIN * np.linalg.norm(change, ord=2, axis=(1, 2)).max() < root:
                return radius
        radius *= 0.5
    return 0.0


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
    """Gauss–Newton on descriptors, equation (3), damped when a step does not help.

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
        raise InputError(
            "A place of the trajectory is not in free space from this start.", code="not_free"
        )
    F, _ = course.at(s)
    target = as_floats("observed", observed, F.shape)

    def rows(at: FloatArray) -> Rows:
        F, J = course.at(at)
        both = whiten(np.concatenate([(target - F)[..., None], J / units], axis=-1), noise)
        both = stack(both, course.weights)
        return float(both[:, 0] @ both[:, 0]), both[:, 0], both[:, 1:]

    path, _, (cost, r, A), _ = damped_steps(
        rows, course.free, s, units,
        steps=steps, tries=4 * steps, tolerance=tolerance, trust_radius=trust_radius,
    )  # fmt: skip
    H = A.T @ A
    rest = float(np.linalg.norm(np.linalg.lstsq(H, A.T @ r, rcond=None)[0]))
    if noise is None:
        H = H / max(cost / max(1, len(r) - len(s)), 1e-300)
    length = 10.0 * LocalizationSettings().loose
    widest = by_coordinate(length, np.pi if course.arm is not None else length, len(s))
    information = H * np.outer(units, units)
    covariance = np.linalg.inv(information + np.diag(1.0 / widest**2))
    return StartFit(
        readonly(path[-1]), readonly(covariance), readonly(information),
        float(np.linalg.eigvalsh(H)[0]), len(path) - 1, rest < max(tolerance, 1e-8),
        readonly(np.array(path)),
    )  # fmt: skip
