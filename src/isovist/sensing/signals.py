"""Signals: functions on the circle or sphere of directions, of the walls around a point.

A signal f_p(θ) is a property of the first wall along θ.  For a function f of the range r, with n
the normal of that wall,

    ∇_p r = −n / (n·θ),      ∇_p f = f′(r) ∇_p r                              (1)

wherever the ray does not graze.  For an attribute a of the wall at the hit point x = p + rθ,

    ∇_p a = (I − n θᵀ/(n·θ)) ∇a(x).                                           (2)

The descriptor adds the effect of moving shadows.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from isovist.arrays import BoolArray, FloatArray, IntArray
from isovist.errors import InputError
from isovist.maps import Map


@dataclass(frozen=True, slots=True, eq=False)
class WallHits:
    """The walls that rays meet.

    Attributes:
        world: The map.
        directions: Unit vectors θ, shape (m, d).
        ranges: Ranges r, shape (m,), in m; `inf` where there is no wall.
        walls: Index of each wall, shape (m,); −1 for none.
        normals: Unit normals of the walls, shape (m, d); zero for none.
        origins: Origins of the rays, shape (m, d) or (d,), in m; only `FieldGradient` needs them.
    """

    world: Map
    directions: FloatArray
    ranges: FloatArray
    walls: IntArray
    normals: FloatArray
    origins: FloatArray | None = None

    def places(self, met: BoolArray) -> FloatArray:
        """Return the hit points of the rays that the mask `met` selects, shape (k, d), in m."""
        assert self.origins is not None  # every sum over directions gives the origins
        starts = np.broadcast_to(self.origins, self.directions.shape)[met]
        return np.asarray(starts + self.ranges[met, None] * self.directions[met])


class Signal(Protocol):
    """A scalar function of direction, such as the range or the intensity of the first wall."""

    @property
    def kinks(self) -> tuple[float, ...]:
        """The ranges in m at which the signal is not smooth."""

    def values(self, hits: WallHits, /) -> FloatArray:
        """Return the signal f along each direction, shape (m,)."""

    def gradients(self, hits: WallHits, /) -> FloatArray:
        """Return the gradient ∇_p f along each direction, shape (m, d)."""

    def of_walls(self, world: Map) -> FloatArray | None:
        """Return the signal of each wall, shape (walls,), or `None` if it varies on walls."""


class _Bounded:
    """A signal that jumps or bends at its `maximum` range, in m."""

    __slots__ = ()
    maximum: float

    @property
    def kinks(self) -> tuple[float, ...]:
        return (self.maximum,) if np.isfinite(self.maximum) else ()


@dataclass(frozen=True, slots=True)
class Range(_Bounded):
    """The range to the first wall in a direction, or a bounded function of the range.

    Attributes:
        maximum: Maximum range in m; longer ranges count as equal to it.
        transform: "linear" f = r, "saturating" f = r/(r + scale), or "logarithmic"
            f = scale·log(1 + r/scale).
        scale: Length scale of the transform, in m.
    """

    maximum: float = np.inf
    transform: str = "linear"
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.maximum > 0.0:
            raise InputError.about("maximum", f"range must be positive, got {self.maximum} m.")
        if self.transform not in ("linear", "saturating", "logarithmic"):
            raise InputError.about(
                "transform", f"must be linear, saturating or logarithmic, got {self.transform!r}."
            )
        if not (np.isfinite(self.scale) and self.scale > 0.0):
            raise InputError.about("scale", f"must be positive and finite, got {self.scale} m.")

    def of_ranges(self, ranges: FloatArray) -> FloatArray:
        """Return f(r) for ranges in m, shape (...); `inf` counts as the maximum range."""
        r = np.minimum(ranges, self.maximum)
        if self.transform == "linear":
            return r
        if self.transform == "saturating":
            with np.errstate(invalid="ignore"):
                return np.where(np.isinf(r), 1.0, r / (r + self.scale))
        return self.scale * np.log1p(r / self.scale)

    def slopes(self, ranges: FloatArray) -> FloatArray:
        """Return the derivative f′(r), shape (...); 0 beyond the maximum range."""
        inside = ranges < self.maximum
        r = np.where(inside, ranges, 0.0)
        if self.transform == "linear":
            slope = np.ones_like(r)
        elif self.transform == "saturating":
            slope = self.scale / (r + self.scale) ** 2
        else:
            slope = 1.0 / (1.0 + r / self.scale)
        return np.where(inside, slope, 0.0)

    def values(self, seen: WallHits) -> FloatArray:
        f = self.of_ranges(seen.ranges)
        if np.isinf(f).any():
            raise InputError(
                "Some directions meet no wall, so their range is infinite. "
                "Close the map, or bound the signal: Range(maximum=…).",
                code="empty",
                field="world",
            )
        return f

    def gradients(self, seen: WallHits) -> FloatArray:
        return self.slopes(seen.ranges)[:, None] * range_gradients(seen)

    def of_walls(self, world: Map) -> None:  # noqa: ARG002
        return None


def range_gradients(hits: WallHits) -> FloatArray:
    """Return the gradient ∇_p r, equation (1), shape (m, d); zero where there is no wall."""
    cosines = np.einsum("ij,ij->i", hits.normals, hits.directions)
    return -hits.normals / np.where(cosines == 0.0, 1.0, cosines)[:, None]


def measured_signal(
    signal: "Signal", ranges: FloatArray, strengths: FloatArray | None
) -> FloatArray:
    """Return a signal as a sensor measures it, from ranges (m) and perhaps intensities."""
    if isinstance(signal, Range):
        return signal.of_ranges(ranges)
    if not isinstance(signal, Intensity):
        raise InputError(
            f"A scan carries ranges and perhaps intensities, no {type(signal).__name__}. "
            "Use a Range or an Intensity signal.",
            code="conflict",
            field="signal",
        )
    if strengths is None:
        raise InputError(
            "An Intensity signal needs a scan with `intensities`; this one has none.",
            code="missing",
            field="intensities",
        )
    return np.where(ranges < signal.maximum, strengths, signal.missing)


class _Constant(_Bounded):
    """A signal with one value on each wall; `missing` where none is met within `maximum`."""

    __slots__ = ()
    missing: float

    @abstractmethod
    def of_walls(self, world: Map) -> FloatArray:
        """Return the value on each wall."""

    def values(self, seen: WallHits) -> FloatArray:
        met = (seen.walls >= 0) & (seen.ranges < self.maximum)
        return np.where(met, self.of_walls(seen.world)[seen.walls], self.missing)

    def gradients(self, seen: WallHits) -> FloatArray:
        return np.zeros_like(seen.directions)


@dataclass(frozen=True, slots=True)
class Intensity(_Constant):
    """The reflectance of the first wall in a direction.

    Attributes:
        maximum: Maximum range of a wall, in m.
        missing: Value where there is no wall within that range.
    """

    maximum: float = np.inf
    missing: float = 0.0

    def of_walls(self, world: Map) -> FloatArray:
        reflectance: FloatArray | None = getattr(world, "reflectance", None)
        if reflectance is None:
            raise InputError(
                "Intensity needs a map whose walls have a `reflectance`.",
                code="missing",
                field="reflectance",
            )
        return reflectance


@dataclass(frozen=True, slots=True)
class SurfaceGradient(_Constant):
    """The norm of the gradient of a surface attribute at the first wall in a direction.

    On a map whose walls carry an attribute that is linear on each wall, this is ‖∇a‖ along the
    wall. On a height field it may be the gradient of the height z over the ground, the tangent of
    the slope.

    Attributes:
        of: "attribute" or "height".
        maximum: Maximum range of a wall, in m.
        missing: Value where there is no wall within that range.
        steepest: Maximum value for "height", and the value of a vertical wall.
    """

    of: str = "attribute"
    maximum: float = np.inf
    missing: float = 0.0
    steepest: float = 10.0

    def __post_init__(self) -> None:
        if self.of not in ("attribute", "height"):
            raise InputError.about("of", f"must be attribute or height, got {self.of!r}.")
        if not (np.isfinite(self.steepest) and self.steepest > 0.0):
            raise InputError.about("steepest", f"must be positive and finite, got {self.steepest}.")

    def of_walls(self, world: Map) -> FloatArray:
        if self.of == "attribute":
            if getattr(world, "attribute", None) is None:
                raise InputError(
                    "SurfaceGradient needs a map whose walls have an `attribute`.",
                    code="missing",
                    field="attribute",
                )
            slopes: FloatArray = world.slopes  # type: ignore[attr-defined]
            return slopes
        normals: FloatArray | None = getattr(world, "normals", None)
        if world.dimension != 3 or normals is None:
            raise InputError(
                "The slope of the height needs a MeshMap.", code="wrong_dimension", field="world"
            )
        flat, up = np.hypot(normals[:, 0], normals[:, 1]), np.abs(normals[:, 2])
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(flat < self.steepest * up, flat / up, self.steepest)


@dataclass(frozen=True, slots=True)
class FieldGradient(_Bounded):
    """The gradient norm ‖∇s‖ of any field s at the first wall: the paper's surface gradient.

    With g = ∇s and H its Hessian at the hit point, the attribute a = ‖g‖ has ∇a = H g/‖g‖, and
    equation (2) gives the gradient of the signal.  The exact quadrature assumes a smooth signal on
    each wall.  For a field that varies over 1 m, F is exact to about 1e-6.

    Attributes:
        slope: Function that returns ∇s at places of shape (m, d), in m; shape (m, d).
        bend: Function that returns the Hessian of s there, shape (m, d, d).
        maximum: Maximum range of a wall, in m.
        missing: Value where there is no wall within that range.
    """

    slope: Callable[[FloatArray], FloatArray]
    bend: Callable[[FloatArray], FloatArray]
    maximum: float = np.inf
    missing: float = 0.0

    def values(self, hits: WallHits) -> FloatArray:
        met = (hits.walls >= 0) & (hits.ranges < self.maximum)
        out = np.full(len(met), self.missing)
        out[met] = np.linalg.norm(self.slope(hits.places(met)), axis=1)
        return out

    def gradients(self, hits: WallHits) -> FloatArray:
        met = (hits.walls >= 0) & (hits.ranges < self.maximum)
        places = hits.places(met)
        g = np.asarray(self.slope(places), dtype=np.float64)
        size = np.linalg.norm(g, axis=1)
        rise = np.einsum("mij,mj->mi", np.asarray(self.bend(places), np.float64), g)
        rise /= np.where(size > 0.0, size, 1.0)[:, None]
        n, theta = hits.normals[met], hits.directions[met]
        along = np.einsum("ij,ij->i", theta, rise) / np.einsum("ij,ij->i", n, theta)
        out = np.zeros_like(hits.directions)
        out[met] = rise - along[:, None] * n
        return out

    def of_walls(self, world: Map) -> None:  # noqa: ARG002
        return None
