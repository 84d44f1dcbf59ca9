"""Measure how well a motion determines its start: the observability Gramian.

Along a trajectory with velocity v the descriptor changes at the rate

    dF/dt = J(p_t) v,                                                         (1)

and what the stream of descriptors says about the start adds up to the Gramian

    W(0, T) = ∫₀ᵀ J̃(t)ᵀ J̃(t) dt,                                              (2)

where J̃ is the derivative of what is observed at t by the start: J(p_t) when the heading is known,
(3) of `observations` when it is not.  W is positive semidefinite; it grows in the Löwner order, by
increments of rank up to D; and

    uᵀ W u = ∫ ‖J̃ u‖² dt,                                                     (3)

so W u = 0 exactly for directions u that were invisible all the time.  The value itself, how its
least eigenvalue grows and how it becomes information are in `tracking.gramian`.
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.paper.static.trajectory import Trajectory
from isovist.tracking import Gramian, whiten


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The Gramian W(0, t) after each observation of a trajectory.

    Attributes:
        elapsed: Sum of the weights so far, shape (k,), in s or observations.
        W: Gramian, shape (k, D, D), per m².
    """

    elapsed: FloatArray
    W: FloatArray

    @classmethod
    def along(
        cls, trajectory: Trajectory, start: ArrayLike, *, noise: float | ArrayLike | None = None
    ) -> "History":
        """Compute W(0, t) of a trajectory from `start`, shape (D,), in m and rad."""
        _, J = trajectory.at(start)
        W = gramians(whiten(J / trajectory.units, noise), trajectory.weights)
        return cls(readonly(np.cumsum(trajectory.weights)), readonly(W))

    def first_ready(self, min_eigenvalue: float) -> int | None:
        """Return the number of the first observation after which λ_min reaches a value, or `None`.

        `tracking.gramian.least_needed` gives the value that a refinement needs.
        """
        is_ready = self.min_eigenvalues >= min_eigenvalue
        return int(is_ready.argmax()) if is_ready.any() else None

    @property
    def min_eigenvalues(self) -> FloatArray:
        """Return λ_min after each observation, shape (k,)."""
        return np.asarray(np.linalg.eigvalsh(self.W)[:, 0])

    @property
    def weakest(self) -> FloatArray:
        """Return u_min after each observation, shape (k, D)."""
        return np.stack([Gramian(W).weakest for W in self.W])


def gramian_along(
    trajectory: Trajectory, start: ArrayLike, *, noise: float | ArrayLike | None = None
) -> Gramian:
    """Compute the Gramian of a whole trajectory from `start`, shape (D,), in m and rad."""
    W = History.along(trajectory, start, noise=noise).W[-1]
    return Gramian(readonly(0.5 * (W + W.T)), float(trajectory.weights.sum()), trajectory.arm)


def gramians(J: FloatArray, weights: FloatArray) -> FloatArray:
    """Return W(0, t) after each observation, (..., k, D, D), for J̃ of shape (..., k, n, D)."""
    return np.cumsum(weights[:, None, None] * (np.swapaxes(J, -1, -2) @ J), axis=-3)


def rate(J: ArrayLike, velocity: ArrayLike) -> FloatArray:
    """Return dF/dt of equation (1), shape (..., n).

    Args:
        J: Derivative with respect to the current place or pose, shape (..., n, D).
        velocity: Velocity in the axes of the map, shape (..., D), in m/s (and rad/s).
    """
    return np.einsum("...nd,...d->...n", as_floats("J", J), as_floats("velocity", velocity))
