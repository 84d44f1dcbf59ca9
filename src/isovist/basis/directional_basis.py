"""Partition-of-unity weights on the sphere of directions.

With unit vectors d_1, …, d_n and a profile ψ ≥ 0,

    w_i(θ) = ψ(θ·d_i) / Σ_j ψ(θ·d_j),   so that   Σ_i w_i(θ) = 1.            (1)

With g = (log ψ)′ and w̄[·] the mean under the weights, the derivatives are

    ∂w_i/∂θ   = w_i (g_i d_i − Σ_j w_j g_j d_j),                             (2)
    ∂w_i/∂d_j = w_i (δ_ij − w_j) g_j θ,                                      (3)
    ∂w_i/∂λ   = w_i (∂_λ log ψ_i − Σ_j w_j ∂_λ log ψ_j),                     (4)

with λ the parameter of the profile; (2) is to be read on the tangent space of θ, (3) on that
of d_j.  As the softmax temperature goes to 0 the weights become the hard bins

    w_i(θ) → 1 where θ·d_i > θ·d_j for all j ≠ i, and 0 elsewhere.           (5)

The mesh norm is h_n = max_θ min_i ∠(θ, d_i).
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import ArrayLike, FloatArray, IntArray, as_floats, check_whole, readonly
from isovist.basis.mesh_norm import mesh_norm
from isovist.basis.profiles import Profile, Softmax
from isovist.errors import InputError
from isovist.poses import unit_vectors


@dataclass(frozen=True, slots=True, eq=False)
class DirectionalBasis:
    """A set of directions with smooth weights, which share every direction of view among them.

    The weights in any direction sum to one.

    Attributes:
        directions: Unit vectors d_i, shape (n, d).  Read-only.
        profile: Profile ψ of the weights; the softmax profile holds the temperature ε.
        mesh_norm: h_n, the largest angle from any direction to the nearest d_i, in rad.

    Examples:
        >>> import isovist as iv
        >>> basis = iv.DirectionalBasis.circle(8)
        >>> weights = basis.weights([[1.0, 0.0]])
        >>> weights.shape, round(float(weights.sum()), 6)
        ((1, 8), 1.0)
    """

    directions: FloatArray
    profile: Profile
    mesh_norm: float

    @classmethod
    def from_directions(
        cls,
        directions: ArrayLike,
        temperature: float | None = None,
        *,
        profile: Profile | None = None,
    ) -> "DirectionalBasis":
        """Make a basis from 2D or 3D vectors.

        Args:
            directions: Vectors of any length but 0, shape (n, 2) or (n, 3).
            temperature: Width ε of the softmax profile.  When `None`, h_n²: weights are about as
                wide as the distance between directions, and the family stays complete as n grows.
            profile: Another profile in place of the softmax.
        """
        d = as_floats("directions", directions)
        if d.ndim != 2 or d.shape[1] not in (2, 3):
            raise InputError.about(
                "directions", f"must have shape (n, 2) or (n, 3), got {d.shape}."
            )
        if len(d) < 2:
            raise InputError(f"A basis needs at least 2 directions, got {len(d)}.")
        lengths = np.linalg.norm(d, axis=1)
        if (lengths < 1e-12).any():
            raise InputError.about("directions", "must not contain a zero vector.")
        d = d / lengths[:, None]
        h = mesh_norm(d)
        if profile is not None and temperature is not None:
            raise InputError("Give `temperature` or `profile`, not both.", code="conflict")
        if profile is None:
            profile = Softmax(h * h if temperature is None else temperature)
        if profile.support < np.pi and h >= profile.support:
            raise InputError(
                f"The profile vanishes {profile.support:.4g} rad from its direction, but some "
                f"directions are {h:.4g} rad from all {len(d)}: they would be covered by none. "
                "Widen the profile or add directions.",
                code="conflict",
            )
        return cls(readonly(d), profile, h)

    @classmethod
    def circle(
        cls, n: int, temperature: float | None = None, *, profile: Profile | None = None
    ) -> "DirectionalBasis":
        """Make a basis of 2D directions in equal steps, the first along x.

        Args:
            n: Number of directions.
            temperature: Width ε of the softmax profile; h_n² when `None`.
            profile: Another profile in place of the softmax.
        """
        _check_count(n)
        angles = 2.0 * np.pi * np.arange(n) / n
        return cls.from_directions(unit_vectors(angles), temperature, profile=profile)

    @classmethod
    def fibonacci(
        cls, n: int, temperature: float | None = None, *, profile: Profile | None = None
    ) -> "DirectionalBasis":
        """Make a basis of 3D directions on a Fibonacci spiral, which are nearly evenly spread.

        Args:
            n: Number of directions.
            temperature: Width ε of the softmax profile; h_n² when `None`.
            profile: Another profile in place of the softmax.
        """
        _check_count(n)
        return cls.from_directions(fibonacci_sphere(n), temperature, profile=profile)

    @classmethod
    def rings(
        cls,
        rings: int,
        azimuths: int,
        temperature: float | None = None,
        *,
        profile: Profile | None = None,
    ) -> "DirectionalBasis":
        """Make a basis of rings of latitude, each with the same azimuths in equal steps.

        The rings are bands of equal area, from the bottom up.  A rotation by 2π/azimuths about the
        vertical is a cyclic shift within every ring.

        Args:
            rings: Number of rings.
            azimuths: Number of directions in each ring.
            temperature: Width ε of the softmax profile; h_n² when `None`.
            profile: Another profile in place of the softmax.
        """
        check_whole("rings", rings)
        check_whole("azimuths", azimuths)
        if rings < 1 or azimuths < 2:
            raise InputError(f"Rings need rings ≥ 1 and azimuths ≥ 2, got {rings} and {azimuths}.")
        z = (2.0 * np.arange(rings) + 1.0) / rings - 1.0
        flat = np.sqrt(1.0 - z * z)
        circle = unit_vectors(2.0 * np.pi * np.arange(azimuths) / azimuths)
        d = np.empty((rings, azimuths, 3))
        d[:, :, :2] = flat[:, None, None] * circle
        d[:, :, 2] = z[:, None]
        return cls.from_directions(d.reshape(-1, 3), temperature, profile=profile)

    def __len__(self) -> int:
        return len(self.directions)

    @property
    def dimension(self) -> int:
        """The dimension of the directions: 2 on the circle, 3 on the sphere."""
        return int(self.directions.shape[1])

    @property
    def temperature(self) -> float:
        """The temperature ε of the softmax profile."""
        if not isinstance(self.profile, Softmax):
            raise InputError(
                f"A {type(self.profile).__name__} profile has no temperature.", code="missing"
            )
        return self.profile.temperature

    @property
    def is_uniform_circle(self) -> bool:
        """True if the directions are those of `circle`, where a rotation is a cyclic shift."""
        if self.dimension != 2:
            return False
        n = len(self)
        return np.allclose(
            self.directions, unit_vectors(2.0 * np.pi * np.arange(n) / n), atol=1e-12, rtol=0.0
        )

    @property
    def order(self) -> IntArray:
        """The indices of the directions: by ascending angle in 2D, as given in 3D."""
        if self.dimension == 3:
            return np.arange(len(self))
        angles = np.arctan2(self.directions[:, 1], self.directions[:, 0])
        return np.argsort(angles, kind="stable")

    def _cosines(self, theta: ArrayLike) -> tuple[FloatArray, FloatArray]:
        th = np.asarray(theta, dtype=np.float64)
        if th.ndim == 0 or th.shape[-1] != self.dimension:
            raise InputError.about(
                "theta", f"must be unit vectors of shape (..., {self.dimension}), got {th.shape}."
            )
        return th, np.clip(th @ self.directions.T, -1.0, 1.0)

    def _softmax(self, t: FloatArray) -> FloatArray:
        logs = self.profile.log(t)
        w = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return w / w.sum(axis=-1, keepdims=True)

    def weights(self, theta: ArrayLike) -> FloatArray:
        """Return the weights w_i(θ) at unit vectors θ, shape (..., n), equation (1).

        Each row sums to one.
        """
        return self._softmax(self._cosines(theta)[1])

    def hard_weights(self, theta: ArrayLike) -> FloatArray:
        """Return the weights (5) of hard bins, shape (..., n): 1 for the nearest direction, else 0.

        On a boundary the nearest directions share the weight equally.
        """
        t = self._cosines(theta)[1]
        best = t >= t.max(axis=-1, keepdims=True)
        return best / best.sum(axis=-1, keepdims=True)

    def gradient(self, theta: ArrayLike) -> FloatArray:
        """Return the derivative ∂w_i/∂θ on the tangent space of θ, (..., n, d), equation (2)."""
        th, t = self._cosines(theta)
        w = self._softmax(t)
        pull = (w * self.profile.slope(t))[..., None] * self.directions
        ambient = pull - w[..., None] * pull.sum(axis=-2, keepdims=True)
        along = np.einsum("...nd,...d->...n", ambient, th)
        return ambient - along[..., None] * th[..., None, :]

    def direction_slopes(self, theta: ArrayLike) -> FloatArray:
        """Return the factors C_ij of ∂w_i/∂d_j = C_ij θ, shape (..., n, n), equation (3)."""
        t = self._cosines(theta)[1]
        w = self._softmax(t)
        wg = w * self.profile.slope(t)
        eye = np.eye(len(self))
        return eye * wg[..., None, :] - w[..., :, None] * wg[..., None, :]

    def parameter_slopes(self, theta: ArrayLike) -> FloatArray:
        """Return ∂w_i/∂λ for the profile's parameter λ, shape (..., n), equation (4)."""
        t = self._cosines(theta)[1]
        w = self._softmax(t)
        pull = w * self.profile.parameter_slope(t)
        return pull - w * pull.sum(axis=-1, keepdims=True)


def _check_count(n: int) -> None:
    check_whole("n", n)
    if n < 2:
        raise InputError(f"A basis needs at least 2 directions, got {n}.")


def fibonacci_sphere(n: int) -> FloatArray:
    """Return n points on the unit sphere along a golden-angle spiral, each with area 4π/n."""
    k = np.arange(n) + 0.5
    z = 1.0 - 2.0 * k / n
    azimuth = np.pi * (1.0 + np.sqrt(5.0)) * k
    radius = np.sqrt(1.0 - z * z)
    return np.stack([radius * np.cos(azimuth), radius * np.sin(azimuth), z], axis=-1)
