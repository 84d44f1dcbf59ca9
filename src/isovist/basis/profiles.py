"""Profiles ψ: how the weight of a direction decreases with the angle to it.

A profile is a function ψ ≥ 0 of t = θ·d ∈ [−1, 1].  Users of a profile take log ψ, its slope in t
and its slope in the parameter of the profile, so that no temperature overflows:

    softmax        log ψ(t) = t/ε                                            (1)
    bump           log ψ(t) = 1 − 1/(1 − x²),   x = (1 − t)/(1 − cos ρ)      (2)
    cosine power   log ψ(t) = k log t,          t > 0                        (3)

The bump vanishes beyond the angle ρ, the cosine power beyond π/2; there log ψ = −∞.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from isovist.arrays import BoolArray, FloatArray
from isovist.errors import InputError

MIN_TEMPERATURE = 1e-300
"""Smaller temperatures overflow in (1)."""


class Profile(Protocol):
    """A weight profile ψ with one parameter; you can write your own."""

    @property
    def parameter(self) -> float:
        """The parameter of the profile: ε, ρ or k."""

    @property
    def support(self) -> float:
        """The angle beyond which ψ vanishes, in rad; π when it vanishes nowhere."""

    @property
    def lipschitz(self) -> float:
        """The Lipschitz constant L_ψ of ψ on [−1, 1]."""

    def log(self, t: FloatArray) -> FloatArray:
        """Return log ψ(t), or −∞ where ψ vanishes."""

    def slope(self, t: FloatArray) -> FloatArray:
        """Return the derivative (log ψ)′(t), or 0 where ψ vanishes."""

    def parameter_slope(self, t: FloatArray) -> FloatArray:
        """Return the derivative ∂ log ψ(t)/∂parameter, or 0 where ψ vanishes."""

    def with_parameter(self, value: float) -> "Profile":
        """Return a profile of this kind with another parameter."""
        return type(self)(value)  # type: ignore[call-arg]  # each has this one field


@dataclass(frozen=True, slots=True)
class Softmax(Profile):
    """The softmax profile ψ(t) = exp(t/ε), equation (1), of von Mises–Fisher form."""

    temperature: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.temperature) and self.temperature > MIN_TEMPERATURE):
            raise InputError.about(
                "temperature",
                f"must be a positive number, got {self.temperature}. "
                "Small is sharp; 0.5 suits 8 directions.",
            )

    @property
    def parameter(self) -> float:
        return self.temperature

    @property
    def scaled(self) -> float:
        return 1.0 / self.temperature

    @property
    def support(self) -> float:
        return float(np.pi)

    @property
    def lipschitz(self) -> float:
        with np.errstate(over="ignore"):
            return float(np.exp(1.0 / self.temperature) / self.temperature)

    def log(self, t: FloatArray) -> FloatArray:
        return t / self.temperature

    def slope(self, t: FloatArray) -> FloatArray:
        return np.full_like(t, 1.0 / self.temperature)

    def parameter_slope(self, t: FloatArray) -> FloatArray:
        return -t / self.temperature**2


@dataclass(frozen=True, slots=True)
class Bump(Profile):
    """The bump profile, equation (2): infinitely smooth, zero beyond the angle `radius` (rad)."""

    radius: float

    def __post_init__(self) -> None:
        if not 0.0 < self.radius <= np.pi:
            raise InputError.about(
                "radius", f"of a bump must lie in (0, π] rad, got {self.radius}."
            )

    @property
    def parameter(self) -> float:
        return self.radius

    @property
    def scaled(self) -> float:
        return 1.0 / (1.0 - float(np.cos(self.radius)))

    @property
    def support(self) -> float:
        return self.radius

    @property
    def lipschitz(self) -> float:
        # max over x of |d exp(1 − 1/(1 − x²))/dx| is 2.1704…, reached at x² = 1/√3.
        return 2.1705 * self.scaled

    def _gap(self, t: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """x and 1 − x² of equation (2), and where x < 1."""
        x = (1.0 - t) * self.scaled
        return x, np.where(x < 1.0, 1.0 - x * x, 1.0), x < 1.0

    def log(self, t: FloatArray) -> FloatArray:
        _, gap, inside = self._gap(t)
        return np.where(inside, 1.0 - 1.0 / gap, -np.inf)

    def _slope_in_x(self, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        x, gap, inside = self._gap(t)
        return x, np.where(inside, -2.0 * x / (gap * gap), 0.0)

    def slope(self, t: FloatArray) -> FloatArray:
        return -self._slope_in_x(t)[1] * self.scaled

    def parameter_slope(self, t: FloatArray) -> FloatArray:
        x, slope = self._slope_in_x(t)
        return -slope * x * np.sin(self.radius) * self.scaled


@dataclass(frozen=True, slots=True)
class CosinePower(Profile):
    """The cosine-power profile ψ(t) = max(t, 0)^k, equation (3), zero beyond a right angle."""

    power: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.power) and self.power >= 2.0):
            raise InputError.about(
                "power",
                f"of a cosine power must be at least 2, got {self.power}; "
                "a smaller one has no continuous derivative.",
            )

    @property
    def parameter(self) -> float:
        return self.power

    @property
    def scaled(self) -> float:
        return self.power

    @property
    def support(self) -> float:
        return float(np.pi / 2.0)

    @property
    def lipschitz(self) -> float:
        return self.power

    def log(self, t: FloatArray) -> FloatArray:
        inside = t > 0.0
        return np.where(inside, self.power * np.log(np.where(inside, t, 1.0)), -np.inf)

    def slope(self, t: FloatArray) -> FloatArray:
        inside = t > 0.0
        return np.where(inside, self.power / np.where(inside, t, 1.0), 0.0)

    def parameter_slope(self, t: FloatArray) -> FloatArray:
        inside = t > 0.0
        return np.log(np.where(inside, t, 1.0))


_COMPILED: dict[type, int] = {Softmax: 0, Bump: 1, CosinePower: 2}


def compiled(profile: Profile) -> tuple[int, float] | None:
    """Return the number of a profile in the kernels, and its parameter there.

    The parameter is 1/ε, 1/(1 − cos ρ) or k.  The result is `None` for a profile of your own.
    """
    if isinstance(profile, Softmax | Bump | CosinePower) and type(profile) in _COMPILED:
        return _COMPILED[type(profile)], profile.scaled
    return None
