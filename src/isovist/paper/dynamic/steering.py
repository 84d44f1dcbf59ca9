"""Where to go next, by the Gramian of descriptors.

The paper steers towards the largest growth rate of λ_min(W), u_minᵀ JᵀJ u_min, with u_min the
weakest axis.  That rate is a property of the place: it is the same whatever the direction of
motion.  So motions are tried as far as they go: straight legs of length ℓ in directions v, with m
looks on the way,

    W(v) = W + Σ_j J(p + jℓv/m)ᵀ J(p + jℓv/m),      v* = argmax λ_min(W(v)),                (1)

over legs that stay in free space, in the plane and in space.
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.atlas.settings import AtlasSettings
from isovist.basis.directional_basis import DirectionalBasis, fibonacci_sphere
from isovist.errors import InputError
from isovist.maps.base import Map
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import EqualArea
from isovist.paper.static.map_space import Field, MapField
from isovist.poses import unit_vectors
from isovist.sensing.signals import Range

LOOKS = 4
"""Observations on a leg."""
RAYS = 2000
"""Directions of the sums that stand in for F and J in space: legs are compared, not certified."""
CLOSE = 0.05
"""Steps in which a leg is tried for walls, in m."""


@dataclass(frozen=True, slots=True, eq=False)
class Legs:
    """Straight motions that were tried.

    Attributes:
        directions: v, unit vectors, shape (m, d).  Read-only.
        least: λ_min(W(v)) of each, −1 where the way is not free, shape (m,).  Read-only.
        now: λ_min(W) before.
        rate: The paper's growth rate at the place, whatever the direction.
    """

    directions: FloatArray
    least: FloatArray
    now: float
    rate: float

    @property
    def best(self) -> FloatArray:
        """v* of (1), shape (d,)."""
        return np.asarray(self.directions[int(self.least.argmax())])


@dataclass(frozen=True, slots=True, eq=False)
class Drive:
    """Legs that were driven one after the other.

    Attributes:
        places: The start and the end of every leg, shape (k + 1, d), in m.  Read-only.
        least: λ_min(W) at each, shape (k + 1,).  Read-only.
    """

    places: FloatArray
    least: FloatArray


def field_of(world: Map, channels: int = 16) -> MapField:
    """What legs on a map are judged by: ranges on a basis of as many channels."""
    signal = Range(maximum=AtlasSettings().reach)
    if world.dimension == 2:
        return MapField(Descriptor(DirectionalBasis.circle(channels), signal), world)
    return MapField(
        Descriptor(DirectionalBasis.fibonacci(channels), signal, EqualArea(RAYS)), world
    )


def drive_legs(
    field: Field, start: ArrayLike, *, legs: int = 4, length: float = 1.0, count: int = 16
) -> Drive:
    """Drive the best leg (1) again and again, heading known.

    Args:
        field: Gives F and J.
        start: Shape (d,), in m; W begins with what is seen there.
        legs: How many.
        length: Of each, in m.
        count: How many directions are tried for each.
    """
    d, given = field.basis.dimension, np.shape(start)
    if given in ((2,), (3,)) and given != (d,):
        raise InputError("A map of the plane needs x and y, a map in space x, y and z.")
    p = as_floats("start", start, (d,))
    if legs < 1:
        raise InputError.about("legs", f"must be at least 1, got {legs}.")
    if not bool(np.asarray(field.free(p[None])).all()):
        raise InputError("The place is not in free space, or too near to a wall.", code="not_free")
    J = field.at(p[None])[1][0]
    W, places, least = J.T @ J, [p], [float(np.linalg.eigvalsh(J.T @ J)[0])]
    for _ in range(legs):
        tried = try_legs(field, p, W, length=length, count=count)
        looks = _looks(p, tried.best[None], length)[0]
        J = field.at(looks)[1].reshape(-1, len(p))
        W, p = W + J.T @ J, looks[-1]
        places.append(p)
        least.append(float(np.linalg.eigvalsh(W)[0]))
    return Drive(readonly(np.array(places)), readonly(np.array(least)))


def _looks(place: FloatArray, directions: FloatArray, length: float) -> FloatArray:
    """Where a leg in each direction looks, shape (m, LOOKS, d), in m."""
    steps = length * np.arange(1, LOOKS + 1) / LOOKS
    return np.asarray(place + steps[None, :, None] * directions[:, None])


def try_legs(
    field: Field, place: ArrayLike, W: ArrayLike, *, length: float = 1.0, count: int = 16
) -> Legs:
    """Try straight legs from a place, equation (1), heading known.

    Args:
        field: Gives F and J.
        place: p, shape (d,), in m.
        W: The Gramian so far, shape (d, d).
        length: ℓ in m.
        count: How many directions.
    """
    d = field.basis.dimension
    p, gramian = as_floats("place", place, (d,)), as_floats("W", W, (d, d))
    if not length > 0.0 or count < 2:
        raise InputError(
            f"Legs need a positive `length` and a `count` of 2 or more, got {length} and {count}."
        )
    if not bool(np.asarray(field.free(p[None])).all()):
        raise InputError("The place is not in free space, or too near to a wall.", code="not_free")
    v = unit_vectors(2.0 * np.pi * np.arange(count) / count) if d == 2 else fibonacci_sphere(count)
    along = np.linspace(0.0, length, int(np.ceil(length / CLOSE)) + 1)[1:]
    ways = p + along[None, :, None] * v[:, None]
    free = np.asarray(field.free(ways.reshape(-1, d))).reshape(count, -1).all(axis=1)
    if not free.any():
        raise InputError(
            f"Every leg of {length:g} m meets a wall; take a shorter `length`.", code="empty"
        )
    looks = _looks(p, np.asarray(v[free]), length)
    J = field.at(looks.reshape(-1, d))[1].reshape(int(free.sum()), -1, d)
    least = np.full(count, -1.0)
    least[free] = np.linalg.eigvalsh(gramian + np.swapaxes(J, 1, 2) @ J)[:, 0]
    values, axes = np.linalg.eigh(gramian)
    here = field.at(p[None])[1][0] @ axes[:, 0]
    return Legs(readonly(np.asarray(v)), readonly(least), float(values[0]), float(here @ here))
