"""How much a motion tells about where it started: the observability Gramian.

Along a trajectory with velocity v the descriptor changes at the rate

    dF/dt = J(p_t) v,                                                         (1)

and what the stream of descriptors says about the start adds up to the Gramian

    W(0, T) = ∫₀ᵀ J̃(t)ᵀ J̃(t) dt,                                              (2)

where J̃ is the derivative of what is observed at t by the start: J(p_t) when the heading is known,
(3) of `course` when it is not.  W is positive semidefinite; it grows in the Löwner order, by
increments of rank up to D; and

    uᵀ W u = ∫ ‖J̃ u‖² dt,                                                     (3)

so W u = 0 exactly for directions u that were invisible all the time.  The value itself, how its
least eigenvalue grows and how it becomes information are in `tracking.gramian`.
"""

from dataclasses import dataclass

import numpy as np

from isovist.arrays import ArrayLike, FloatArray, as_floats, readonly
from isovist.paper.dynamic.observations import Course
from isovist.tracking.gramian import Gramian, whiten


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """W(0, t) after each observation of a course.

    Attributes:
        elapsed: Sum of the weights so far, shape (k,), in s or observations.
        W: Shape (k, D, D), per m².
    """

    elapsed: FloatArray
    W: FloatArray

    @classmethod
    def along(
        cls, course: Course, start: ArrayLike, *, noise: float | ArrayLike | None = None
    ) -> "History":
        """Of a course from `start`, shape (D,), in m and rad."""
        _, J = course.at(start)
        W = gramians(whiten(J / course.units, noise), course.weights)
        return cls(readonly(np.cumsum(course.weights)), readonly(W))

    def ready(self, needed: float) -> int | None:
        """Number of the first observation after which λ_min ≥ `needed`; `None` if there is none.

        `tracking.gramian.least_needed` says what a refinement needs.
        """
        enough = self.least >= needed
        return int(enough.argmax()) if enough.any() else None

    @property
    def least(self) -> FloatArray:
        """λ_min over time, shape (k,)."""
        return np.asarray(np.linalg.eigvalsh(self.W)[:, 0])

    @property
    def weakest(self) -> FloatArray:
        """u_min over time, shape (k, D)."""
        return np.stack([Gramian(W).weakest for W in self.W])


def gramian_along(
    course: Course, start: ArrayLike, *, noise: float | ArrayLike | None = None
) -> Gramian:
    """Of a whole course from `start`, shape (D,), in m and rad."""
    W = History.along(course, start, noise=noise).W[-1]
    return Gramian(readonly(0.5 * (W + W.T)), float(course.weights.sum()), course.arm)


def gramians(J: FloatArray, weights: FloatArray) -> FloatArray:
    """W(0, t) after each observation, shape (..., k, D, D), for J̃ of shape (..., k, n, D)."""
    return np.cumsum(weights[:, None, None] * (np.swapaxes(J, -1, -2) @ J), axis=-3)


def rate(J: ArrayLike, velocity: ArrayLike) -> FloatArray:
    """dF/dt of equation (1), shape (..., n).

    Args:
        J: Derivative by the present place or pose, shape (..., n, D).
        velocity: In the axes of the map, shape (..., D), in m/s (and rad/s).
    """
    return np.einsum("...nd,...d->...n", as_floats("J", J), as_floats("velocity", velocity))
