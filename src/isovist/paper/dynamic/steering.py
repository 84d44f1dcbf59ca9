"""Decide where to drive next by the Gramian of descriptors.

The paper steers towards the largest growth rate of λ_min(W), u_minᵀ JᵀJ u_min, with u_min the
weakest axis.  That rate is a property of the place: it is the same whatever the direction of
motion.  So whole motions are tried: straight legs of length ℓ in directions v, with m observations
on each,

    W(v) = W + Σ_j J(p + jℓv/m)ᵀ J(p + jℓv/m),      v* = argmax λ_min(W(v)),                (1)

over legs that stay in free space, in 2D and in 3D.
"""

from dataclasses import dataclass

import numpy as np

from isovist import AtlasSettings, InputError, Range
from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.basis import DirectionalBasis, fibonacci_sphere
from isovist.maps import Map
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import EqualArea
from isovist.paper.settings import SteeringSettings
from isovist.paper.static.map_space import Field, MapField
from isovist.poses import unit_vectors
from isovist.settings import default_of


@dataclass(frozen=True, slots=True, eq=False)
class Legs:
    """Straight motions that were tried.

    Attributes:
        directions: v, unit vectors, shape (m, d).  Read-only.
        min_eigenvalues: λ_min(W(v)) of each, −1 where the leg is not free, shape (m,).  Read-only.
        start_eigenvalue: λ_min(W) before the leg.
        rate: The paper's growth rate at the place, whatever the direction.
    """

    directions: FloatArray
    min_eigenvalues: FloatArray
    start_eigenvalue: float
    rate: float

    @property
    def best(self) -> FloatArray:
        """Return v* of (1), shape (d,)."""
        return np.asarray(self.directions[int(self.min_eigenvalues.argmax())])


@dataclass(frozen=True, slots=True, eq=False)
class Drive:
    """Legs that were driven one after the other.

    Attributes:
        places: The start and the end of every leg, shape (k + 1, d), in m.  Read-only.
        min_eigenvalues: λ_min(W) at each, shape (k + 1,).  Read-only.
    """

    places: FloatArray
    min_eigenvalues: FloatArray


def field_of(world: Map, channels: int = 16) -> MapField:
    """Return the descriptor field that rates legs on a map: ranges on a basis of n channels."""
    signal = Range(maximum=AtlasSettings().reach)
    rays = default_of(SteeringSettings).rays_3d
    if world.dimension == 2:
        return MapField(Descriptor(DirectionalBasis.circle(channels), signal), world)
    return MapField(
        Descriptor(DirectionalBasis.fibonacci(channels), signal, EqualArea(rays)), world
    )


def drive_legs(
    field: Field, start: ArrayLike, *, legs: int = 4, length: float = 1.0, count: int = 16
) -> Drive:
    """Drive the best leg (1) repeatedly, with known heading.

    Args:
        field: Computes F and J.
        start: Start, shape (d,), in m; its observation is the first term of W.
        legs: Number of legs.
        length: Length of each leg, in m.
        count: Number of directions that are tried for each leg.
    """
    d, shape = field.basis.dimension, np.shape(start)
    if shape in ((2,), (3,)) and shape != (d,):
        raise InputError("A 2D map needs x and y, a 3D map x, y and z.")
    p = as_floats("start", start, (d,))
    if legs < 1:
        raise InputError.about("legs", f"must be at least 1, got {legs}.")
    if not bool(np.asarray(field.is_free(p[None])).all()):
        raise InputError("The place is not in free space, or too near to a wall.", code="not_free")
    J = field.at(p[None])[1][0]
    W, places, eigenvalues = J.T @ J, [p], [float(np.linalg.eigvalsh(J.T @ J)[0])]
    for _ in range(legs):
        best = try_legs(field, p, W, length=length, count=count).best
        stops = _stops(p, best[None], length)[0]
        J = field.at(stops)[1].reshape(-1, len(p))
        W, p = W + J.T @ J, stops[-1]
        places.append(p)
        eigenvalues.append(float(np.linalg.eigvalsh(W)[0]))
    return Drive(readonly(np.array(places)), readonly(np.array(eigenvalues)))


def _stops(place: FloatArray, directions: FloatArray, length: float) -> FloatArray:
    """Return where a leg in each direction observes, shape (m, observations, d), in m."""
    count = default_of(SteeringSettings).observations
    steps = length * np.arange(1, count + 1) / count
    return np.asarray(place + steps[None, :, None] * directions[:, None])


def try_legs(
    field: Field, place: ArrayLike, W: ArrayLike, *, length: float = 1.0, count: int = 16
) -> Legs:
    """Try straight legs from a place, equation (1), with known heading.

    Args:
        field: Computes F and J.
        place: p, shape (d,), in m.
        W: The Gramian so far, shape (d, d).
        length: ℓ in m.
        count: Number of directions.
    """
    d = field.basis.dimension
    p, gramian = as_floats("place", place, (d,)), as_floats("W", W, (d, d))
    if not length > 0.0 or count < 2:
        raise InputError(
            f"Legs need a positive `length` and a `count` of 2 or more, got {length} and {count}."
        )
    if not bool(np.asarray(field.is_free(p[None])).all()):
        raise InputError("The place is not in free space, or too near to a wall.", code="not_free")
    v = unit_vectors(2.0 * np.pi * np.arange(count) / count) if d == 2 else fibonacci_sphere(count)
    wall_step = default_of(SteeringSettings).wall_step_m
    along = np.linspace(0.0, length, int(np.ceil(length / wall_step)) + 1)[1:]
    lines = p + along[None, :, None] * v[:, None]
    free = np.asarray(field.is_free(lines.reshape(-1, d))).reshape(count, -1).all(axis=1)
    if not free.any():
        raise InputError(
            f"Every leg of {length:g} m meets a wall; take a shorter `length`.", code="empty"
        )
    stops = _stops(p, np.asarray(v[free]), length)
    J = field.at(stops.reshape(-1, d))[1].reshape(int(free.sum()), -1, d)
    eigenvalues = np.full(count, -1.0)
    eigenvalues[free] = np.linalg.eigvalsh(gramian + np.swapaxes(J, 1, 2) @ J)[:, 0]
    values, axes = np.linalg.eigh(gramian)
    slope = field.at(p[None])[1][0] @ axes[:, 0]
    rate = float(slope @ slope)
    return Legs(readonly(np.asarray(v)), readonly(eigenvalues), float(values[0]), rate)
