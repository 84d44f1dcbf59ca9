"""A motion of the sensor as the bounds see it."""

from typing import Protocol

from isovist.arrays import ArrayLike, BoolArray, FloatArray


class Trajectory(Protocol):
    """Observations along a known motion, as a function of the start."""

    @property
    def weights(self) -> FloatArray:
        """Return the weight of each observation, shape (k,): its share of the time in s, or 1."""

    @property
    def arm(self) -> float | None:
        """Return ℓ of (4) in m if the last coordinate of the start is a heading, else `None`."""

    @property
    def units(self) -> FloatArray:
        """Return the length in m that a unit of each coordinate of the start is worth, (D,)."""

    def at(self, starts: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return F, shape (..., k, n), and J̃, shape (..., k, n, D), for starts (..., D)."""

    def is_free(self, starts: ArrayLike) -> BoolArray:
        """Return whether all places are free for each start, shape (...)."""

    def clearance(self, start: FloatArray) -> FloatArray | None:
        """Return the distance of each place from the walls in m, (k,); `None` on cells."""

    @property
    def is_exact(self) -> bool:
        """Return whether J̃ is the derivative of F, not a difference quotient over rays."""

    @property
    def swing(self) -> FloatArray:
        """Return how far a change of the start by 1 m can move each place, shape (k,)."""
