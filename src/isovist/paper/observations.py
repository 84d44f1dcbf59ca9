"""Predict what a moving robot observes, as a function of where it started.

Heading known.  Odometry gives the displacement m_t in the axes of the map: p_t = p₀ + m_t, and

    ∂F(p_t)/∂p₀ = J(p_t).                                                     (1)

Heading unknown, in 2D.  The start is (p₀, ψ₀); odometry gives the motion (Δ_t, α_t) in the
frame of the start, so

    p_t = p₀ + R(ψ₀) Δ_t,     ψ_t = ψ₀ + α_t.                                 (2)

What is observed is F̃(p_t, ψ_t), the descriptor in the frame of the body (`heading`).  A change of
ψ₀ turns the robot and swings it around its start, so by the chain rule on (2)

    J̃(t) = ∂F̃(p_t, ψ_t)/∂(p₀, ψ₀) = [J,  ∂F̃/∂ψ + J R′(ψ₀) Δ_t].               (3)

Metres and radians are made comparable by a length ℓ, the arm: the size of a change of the start is

    ‖(δp, δψ)‖² = ‖δp‖² + ℓ² δψ²,                                             (4)

so an error of heading counts as what it displaces at the distance ℓ.  ℓ = 1 m unless said
otherwise; every λ_min of a start with a heading depends on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from isovist import InputError, MeshMap, Pose, SegmentMap
from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats, readonly
from isovist.maps import Map
from isovist.paper.descriptor.descriptor import Descriptor
from isovist.paper.descriptor.quadrature import Exact
from isovist.paper.settings import TrajectorySettings
from isovist.paper.static.heading import observe
from isovist.paper.static.map_space import Field, MapField
from isovist.settings import default_of

ARM = default_of(TrajectorySettings).arm_m


@dataclass(frozen=True, slots=True, eq=False)
class PlaceTrajectory:
    """A trajectory with known heading, equation (1), in 2D or 3D.

    Attributes:
        field: Field that returns F and J.
        moves: Moves m_t, shape (k, d), in m. Read-only.
        weights: Weights of the observations, shape (k,).  Read-only.
    """

    field: Field
    moves: FloatArray
    weights: FloatArray

    @classmethod
    def along(
        cls, field: Field, places: ArrayLike, times: ArrayLike | None = None
    ) -> "PlaceTrajectory":
        """Make a trajectory from places of a path, relative to the first place.

        Args:
            field: Field that returns F and J.
            places: Places of the path in any frame with the axes of the map, shape (k, d), in m.
            times: Ascending times in s, shape (k,): integrals over time are trapezoidal sums.
                Without times each place is one observation.
        """
        p = as_floats("places", places, (None, field.basis.dimension))
        return cls(field, readonly(p - p[:1]), readonly(time_weights(len(p), times)))

    @property
    def arm(self) -> None:
        return None

    @property
    def units(self) -> FloatArray:
        return np.ones(self.moves.shape[1])

    def at(self, starts: ArrayLike) -> tuple[FloatArray, FloatArray]:
        places = self._places(starts)
        F, J = self.field.at(places.reshape(-1, places.shape[-1]))
        shape = places.shape[:-1]
        return F.reshape(*shape, -1), J.reshape(*shape, *J.shape[1:])

    def is_free(self, starts: ArrayLike) -> BoolArray:
        places = self._places(starts)
        inside = self.field.is_free(places.reshape(-1, places.shape[-1]))
        return np.asarray(inside.reshape(places.shape[:-1]).all(axis=-1))

    def clearance(self, start: FloatArray) -> FloatArray | None:
        world = self.field.world if isinstance(self.field, MapField) else None
        return _clearance(world, self._places(start))

    @property
    def is_exact(self) -> bool:
        if not isinstance(self.field, MapField):
            return True
        return _is_exact(self.field.descriptor, self.field.world)

    @property
    def swing(self) -> FloatArray:
        return np.ones(len(self.moves))

    def _places(self, starts: ArrayLike) -> FloatArray:
        return as_floats("starts", starts)[..., None, :] + self.moves


@dataclass(frozen=True, slots=True, eq=False)
class PoseTrajectory:
    """A trajectory with unknown heading, equations (2) to (4), in 2D.

    Attributes:
        descriptor: Basis, signal and quadrature.
        world: The map.
        motions: (Δ_t, α_t), shape (k, 3), in m and rad.  Read-only.
        weights: Weights of the observations, shape (k,).  Read-only.
        arm: ℓ of (4), in m.
    """

    descriptor: Descriptor
    world: Map
    motions: FloatArray
    weights: FloatArray
    arm: float = ARM

    @classmethod
    def along(
        cls,
        descriptor: Descriptor,
        world: Map,
        odometry: Sequence[Pose],
        times: ArrayLike | None = None,
        *,
        arm: float = ARM,
    ) -> "PoseTrajectory":
        """Make a trajectory from poses of the robot in any fixed frame.

        Args:
            descriptor: Basis, signal and quadrature.
            world: The map.
            odometry: T_odom_robot at each observation.
            times: Times in s, as in `PlaceTrajectory.along`.
            arm: ℓ of (4), in m.
        """
        if not (np.isfinite(arm) and arm > 0.0):
            raise InputError.about("arm", f"must be a positive length in m, got {arm}.")
        motions = np.array(motions_since_start(odometry).vector)
        weights = readonly(time_weights(len(motions), times))
        return cls(descriptor, world, readonly(motions), weights, arm)

    @property
    def units(self) -> FloatArray:
        return np.array([1.0, 1.0, self.arm])

    def at(self, starts: ArrayLike) -> tuple[FloatArray, FloatArray]:
        s = as_floats("starts", starts)
        poses, swings = self._poses(s)
        F, K = observe(self.descriptor, self.world, poses.reshape(-1, 3))
        shape = poses.shape[:-1]
        J = K.reshape(*shape, -1, 3)
        J[..., 2] += np.einsum("...nd,...d->...n", J[..., :2], swings)
        return F.reshape(*shape, -1), J

    def is_free(self, starts: ArrayLike) -> BoolArray:
        poses, _ = self._poses(as_floats("starts", starts))
        return np.asarray(np.asarray(self.world.contains(poses[..., :2])).all(axis=-1))

    def clearance(self, start: FloatArray) -> FloatArray | None:
        return _clearance(self.world, self._poses(start)[0][..., :2])

    @property
    def is_exact(self) -> bool:
        return _is_exact(self.descriptor, self.world)

    @property
    def swing(self) -> FloatArray:
        return np.hypot(1.0, np.hypot(self.motions[:, 0], self.motions[:, 1]) / self.arm)

    def _poses(self, starts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return poses, shape (..., k, 3), and R′(ψ₀) Δ_t, shape (..., k, 2)."""
        poses = (Pose.from_vector(starts[..., None, :]) @ Pose.from_vector(self.motions)).vector
        along = poses[..., :2] - starts[..., None, :2]
        return poses, np.stack([-along[..., 1], along[..., 0]], axis=-1)


def motions_since_start(odometry: Sequence[Pose]) -> Pose:
    """Return T_start_t for each pose of the odometry, as an array of poses."""
    if len(odometry) == 0:
        raise InputError.about("odometry", "must hold at least one pose.", code="missing")
    return odometry[0].inverse @ Pose.from_vector([pose.vector for pose in odometry])


def time_weights(count: int, times: ArrayLike | None) -> FloatArray:
    """Return trapezoidal weights of ascending times in s, shape (count,).

    Without times, all weights are 1.
    """
    if times is None:
        return np.ones(count)
    t = as_floats("times", times, (count,))
    gaps = np.diff(t)
    if count < 2 or (gaps <= 0.0).any():
        raise InputError.about("times", "must be at least two and ascend.")
    weights = np.zeros(count)
    weights[:-1] += 0.5 * gaps
    weights[1:] += 0.5 * gaps
    return weights


def _clearance(world: Map | None, places: FloatArray) -> FloatArray | None:
    return world.clearance(places) if isinstance(world, SegmentMap | MeshMap) else None


def _is_exact(descriptor: Descriptor, world: Map) -> bool:
    if isinstance(world, MeshMap):
        return isinstance(descriptor.quadrature, Exact)
    return isinstance(world, SegmentMap) and isinstance(descriptor.quadrature, Exact | None)
