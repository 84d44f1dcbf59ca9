"""The information of observations along a motion about its start: the Gramian.

Let J̃ be the derivative of the observation at t by the start.  With weights c_t, shares of the time
or 1 for each observation, the Gramian is

    W = Σ_t c_t J̃ᵀ J̃.                                                         (1)

With λ_min its least eigenvalue and U its eigenspace, the right-hand derivative while J̃ is seen is

    dλ_min/dt = λ_min(Uᵀ J̃ᵀJ̃ U),                                              (2)

‖J̃u‖² when the eigenvalue is simple, as the paper has it.

Information.  If the observations have independent noise of covariance Σ, then

    I = Σ_t J̃ᵀ Σ⁻¹ J̃                                                          (3)

is the Fisher information about the start, and I⁻¹ bounds the covariance of every unbiased
estimate from below (Cramér–Rao).  It is the same sum with whitened J̃ and unit weights, so one
value serves both.  Where Σ is singular to rounding, what lies in its null space is left out.

A pose that is fitted at time t has information H about (x, y, yaw) there.  With the displacement
(a, b) since the start, in the axes of H, its information about the start is

    Aᵀ H A,     A = [[1, 0, −b], [0, 1, a], [0, 0, 1]],                       (4)

since a rotation of the start moves the present position around it.  After a motion whose error has
the covariance Q (of the pose after it), information Λ about that pose fades to

    (Λ⁻¹ + Q)⁻¹ = Λ (I + Q Λ)⁻¹,                                              (5)

which needs no inverse of Λ, so Λ may be singular.

When to refine.  Near the truth a refined start has about the covariance I⁻¹, so along its worst
axis the standard deviation 1/√λ_min(I).  Two lengths must exceed its χ² radius: the required
accuracy ε, and the radius ρ of the ball in which the refinement converges.  Hence

    λ_min(I) ≥ q_D / min(ε, ρ)²,     q_D the quantile of χ² with D degrees.   (6)

A length ℓ, the arm, makes metres and radians comparable: an error of the heading counts as the
displacement that it causes at the distance ℓ.  Each λ_min of a start with a heading depends on it.
"""

from dataclasses import dataclass, replace

import numpy as np

from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.errors import InputError
from isovist.poses import Pose

ARM = 1.0
"""ℓ, in m."""
CONFIDENCE = 0.99
"""Confidence of the χ² radius in (6)."""
_RANK = 1e-12  # eigenvalues of a covariance below this share of the largest are rounding
_EQUAL = 1e-9  # eigenvalues of W nearer than this share of the largest are one


@dataclass(frozen=True, slots=True, eq=False)
class Gramian:
    """The information about the start of a motion.

    Attributes:
        W: Equation (1), or (3), shape (D, D), per m².  Read-only.
        duration: Sum of the weights: s, or the number of observations.
        arm: ℓ in m when the third coordinate is a heading, which W holds as ℓψ, as it does roll and
            pitch; otherwise `None`.
    """

    W: FloatArray
    duration: float = 0.0
    arm: float | None = None

    @classmethod
    def zero(cls, d: int, *, arm: float | None = None) -> "Gramian":
        """Return the Gramian of a start of d coordinates before any observation."""
        if d not in (2, 3) or (arm is not None and (d != 3 or not arm > 0.0)):
            raise InputError(
                "A start has 2 or 3 coordinates, and an `arm` (m, positive) only with 3, "
                f"got d = {d} and arm = {arm}.",
                field="arm",
            )
        return cls(readonly(np.zeros((d, d))), arm=arm)

    @classmethod
    def pose(cls, *, arm: float = ARM, coordinates: int = 3) -> "Gramian":
        """Return the Gramian of a start pose before any observation.

        Args:
            arm: ℓ in m.
            coordinates: 3 for (x, y, yaw), 4 for (x, y, yaw, z), 6 with roll and pitch.
        """
        if coordinates == 3:
            return cls.zero(3, arm=arm)
        return cls(readonly(np.zeros((coordinates, coordinates))), arm=arm)

    def add(
        self, J: ArrayLike, dt: float = 1.0, *, noise: float | ArrayLike | None = None
    ) -> "Gramian":
        """Return the Gramian with one more observation.

        Args:
            J: J̃, shape (n, D), per m (and per rad in the last column when there is an arm).
            dt: Weight: its share of the time in s, or 1 for one observation.
            noise: Standard deviation of each channel, or their covariance, shape (n, n).
        """
        if not dt >= 0.0:
            raise InputError.about("dt", f"must not be negative, got {dt}.")
        rows = whiten(as_floats("J", J, (None, len(self.W))) / self.units, noise)
        return self._plus(self.W + dt * rows.T @ rows, dt)

    def add_information(
        self, H: ArrayLike, motion: Pose | None = None, *, yaw: float = 0.0
    ) -> "Gramian":
        """Return the Gramian with the information of a fitted pose, equation (4).

        Args:
            H: Information about the present pose, shape (D, D), per m and rad.
            motion: T_start_now, by odometry, in 2D; `None` if the present pose is the start.
            yaw: Heading of the start in the axes of H, in rad; 0 when H is in those of the start.
        """
        A = np.eye(len(self.W)) if motion is None else carry(motion, yaw)
        values = A.T @ self._check_information(H) @ A
        return self._plus(self.W + values / np.outer(self.units, self.units), 1.0)

    def carried(
        self, motion: Pose, *, yaw: float = 0.0, drift: ArrayLike | None = None
    ) -> "Gramian":
        """Return the Gramian about the pose after a motion instead of the one before it.

        Args:
            motion: T_before_after.
            yaw: Heading before, in the axes of W, in rad.
            drift: Q of (5), of (x, y, yaw) after the motion, shape (3, 3), in m and rad.
        """
        B = np.linalg.inv(carry(motion, yaw))
        values = B.T @ self._check_information(self.information) @ B
        if drift is not None:
            values = fade(values, as_floats("drift", drift, (3, 3)))
        return replace(self, W=readonly(_symmetric(values / np.outer(self.units, self.units))))

    def growth(self, J: ArrayLike, *, noise: float | ArrayLike | None = None) -> float:
        """Return the rate at which J̃ makes λ_min grow, equation (2), per s (or per observation)."""
        rows = whiten(as_floats("J", J, (None, len(self.W))) / self.units, noise)
        values, vectors = np.linalg.eigh(self.W)
        U = vectors[:, values <= values[0] + _EQUAL * values[-1]]
        return float(np.linalg.eigvalsh(U.T @ rows.T @ rows @ U)[0])

    @property
    def units(self) -> FloatArray:
        """Length in m that each coordinate is worth per unit, shape (D,)."""
        if self.arm is None:
            return np.ones(len(self.W))
        return np.array([1.0, 1.0, self.arm, 1.0, self.arm, self.arm])[: len(self.W)]

    @property
    def information(self) -> FloatArray:
        """W in m and rad, shape (D, D)."""
        return self.W * np.outer(self.units, self.units)

    @property
    def least(self) -> float:
        """λ_min, per m²."""
        return float(np.linalg.eigvalsh(self.W)[0])

    @property
    def weakest(self) -> FloatArray:
        """u_min, a unit vector whose largest coordinate is positive, shape (D,).

        With a heading its last coordinate is ℓψ.
        """
        return _with_positive_peak(np.linalg.eigh(self.W)[1][:, 0])

    def _plus(self, W: FloatArray, dt: float) -> "Gramian":
        return replace(self, W=readonly(_symmetric(W)), duration=self.duration + dt)

    def _check_information(self, H: ArrayLike) -> FloatArray:
        if self.arm is None:
            raise InputError(
                "Information of a pose needs a Gramian with an arm: `Gramian.pose()`.",
                code="missing",
                field="arm",
            )
        return as_floats("H", H, self.W.shape)


def least_needed(
    accuracy: float, *, basin: float = np.inf, dimension: int = 3, confidence: float = CONFIDENCE
) -> float:
    """Return the λ_min from which a refined start can be trusted, equation (6), per m².

    Args:
        accuracy: ε in m.
        basin: ρ in m.
        dimension: D of the start.
        confidence: Confidence of the χ² radius.
    """
    from scipy.special import gammaincinv

    if not (accuracy > 0.0 and basin > 0.0 and 0.0 < confidence < 1.0):
        raise InputError.about(
            ("accuracy", "basin"), "must be positive, `confidence` within (0, 1)."
        )
    quantile = 2.0 * float(gammaincinv(0.5 * dimension, confidence))
    return quantile / min(accuracy, basin) ** 2


def carry(motion: Pose | None, yaw: float = 0.0) -> FloatArray:
    """Return A of (4): the derivative of the pose after a motion by the one before it, (3, 3).

    Args:
        motion: T_before_after; the identity if `None`.
        yaw: Heading before, in rad; the axes are those in which it is measured.
    """
    A = np.eye(3)
    if motion is not None:
        a, b = Pose(yaw=yaw).apply([motion.x, motion.y])
        A[:2, 2] = [-b, a]
    return A


def fade(information: FloatArray, Q: FloatArray) -> FloatArray:
    """Return the information after an error of covariance Q, equation (5), shape (D, D)."""
    return _symmetric(information @ np.linalg.inv(np.eye(len(Q)) + Q @ information))


def whiten(J: FloatArray, noise: float | ArrayLike | None) -> FloatArray:
    """Return rows R with RᵀR = JᵀΣ⁻¹J, shape (..., n, D) like J.

    Args:
        J: Derivatives of n channels.
        noise: Standard deviation of each channel; or their covariance Σ, shape (n, n), or one for
            each observation, shape (..., n, n); or `None` for 1.
    """
    if noise is None:
        return J
    if np.ndim(noise) == 0:
        sigma = float(np.asarray(noise))
        if not sigma > 0.0:
            raise InputError.about("noise", f"must be positive, got {sigma}.")
        return J / sigma
    n = J.shape[-2]
    covariance = as_floats("noise", noise)
    if covariance.shape not in ((n, n), (*J.shape[:-2], n, n)):
        raise InputError.about(
            "noise", f"must be a number or have shape ({n}, {n}) per observation."
        )
    values, vectors = np.linalg.eigh(covariance)
    largest = values[..., -1:]
    if not (largest > 0.0).all() or (values < -1e-9 * largest).any():
        raise InputError.about(
            "noise", "must be a covariance: symmetric, without negative eigenvalues."
        )
    has_rank = values > _RANK * largest
    scale = np.where(has_rank, 1.0 / np.sqrt(np.where(has_rank, values, 1.0)), 0.0)
    return np.asarray(np.swapaxes(vectors * scale[..., None, :], -1, -2) @ J)


def _symmetric(W: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (W + W.T))


def _with_positive_peak(u: FloatArray) -> FloatArray:
    return np.asarray(u * np.sign(u[np.abs(u).argmax()]))
