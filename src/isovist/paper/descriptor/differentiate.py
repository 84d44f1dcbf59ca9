"""Differentiate a loss of F by everything that F depends on.

On a plan of walls, F depends on the places p and on the corners v of the walls.  It also depends on
the directions d_i of the basis and the parameter λ of its profile, which is the temperature ε of a
softmax.  Given u = ∂ℓ/∂F of any loss ℓ, `Plan.pull` gives

    ∂ℓ/∂p = Σ_i u_i ∂F_i/∂p,   and likewise  ∂ℓ/∂v,  ∂ℓ/∂d_i,  ∂ℓ/∂λ,                     (1)

exactly and with shadows.  Each is one sum over the nodes of `paper.descriptor.moments`, for any
number of corners.  Walls that meet in a corner move together, and a corner that occludes walls
moves its shadow.  Moving all corners and p together changes nothing,

    Σ_v ∂F/∂v = −J.                                                           (2)

Where p and two corners lie on one line, F has only derivatives to either side; one is given.
`paper.descriptor.torch_operator` makes an operator of PyTorch of it.
"""

from dataclasses import dataclass

import numpy as np

from isovist import DirectionalBasis, InputError, Intensity, Range, SegmentMap
from isovist.arrays import ArrayLike, FloatArray, IntArray, as_floats, readonly
from isovist.paper.descriptor.moments import Moments
from isovist.paper.descriptor.pull_back import pull_back
from isovist.sensing import Signal


@dataclass(frozen=True, slots=True, eq=False)
class Pulled:
    """Derivatives of a loss, equation (1).

    Attributes:
        points: By the places, shape (P, 2), per m.
        corners: By the corners, shape (k, 2), per m.
        directions: By the directions, tangent to the circle, shape (n, 2).
        parameter: By the parameter of the profile.
    """

    points: FloatArray
    corners: FloatArray
    directions: FloatArray
    parameter: float


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A map of walls, given by corners that can be varied.

    Attributes:
        corners: Corners v, shape (k, 2), in m.
        walls: Indices of the two corners of each wall, shape (m, 2); walls may meet in corners
            only.
        reflectance: Reflectance of each wall, shape (m,), or `None`.
    """

    corners: FloatArray
    walls: IntArray
    reflectance: FloatArray | None = None

    @classmethod
    def from_map(cls, world: SegmentMap) -> "Plan":
        """Make the plan of a map of walls."""
        corners, walls = np.unique(world.walls.reshape(-1, 2), axis=0, return_inverse=True)
        return cls(readonly(corners), readonly(walls.reshape(-1, 2)), world.reflectance)

    def with_corners(self, corners: ArrayLike) -> "Plan":
        """Return the plan with other corners, shape (k, 2), in m."""
        v = as_floats("corners", corners, self.corners.shape)
        return Plan(readonly(v), self.walls, self.reflectance)

    @property
    def world(self) -> SegmentMap:
        """Return the plan as a map, on which every place off the walls is free."""
        walls = np.ascontiguousarray(self.corners[self.walls].reshape(-1, 4))
        parents = np.arange(len(walls))
        return SegmentMap(readonly(walls), readonly(parents), None, self.reflectance)

    def moments(
        self, points: ArrayLike, basis: DirectionalBasis, signal: Signal | None = None
    ) -> Moments:
        """Compute the moments of F and its derivatives at places, shape (P, 2), in m."""
        if not isinstance(signal, Range | Intensity | None):
            raise InputError(
                f"A {type(signal).__name__} signal depends on where walls stand in a way that is "
                "not differentiated. Use a Range or an Intensity signal.",
                code="conflict",
            )
        return Moments.from_segments(self.world, points, basis, signal)

    def pull(self, moments: Moments, basis: DirectionalBasis, u: FloatArray) -> Pulled:
        """Return the derivatives (1) of a loss, from those with respect to F, `u`, shape (P, n)."""
        assert moments.walls is not None
        assert moments.shares is not None
        owners = moments.owners
        weights_of_loss = np.einsum("sn,sn->s", basis.weights(moments.directions), u[owners])
        moves = weights_of_loss[:, None] * moments.values[:, 1:]
        points = np.add.reduceat(moves, moments.offsets[:-1])
        met = moments.walls >= 0
        ends, t = self.walls[moments.walls[met]], moments.shares[met, None]
        corners = np.zeros_like(self.corners)
        np.subtract.at(corners, ends[:, 0], (1.0 - t) * moves[met])
        np.subtract.at(corners, ends[:, 1], t * moves[met])
        directions, parameter = pull_back(
            basis, moments.directions, moments.values[:, 0], owners, u
        )
        return Pulled(points, corners, directions, parameter)
