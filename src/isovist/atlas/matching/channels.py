"""Hold a scan in the channels of an atlas (`windows` makes it), and as the search counts them."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, FloatArray, readonly

COST_STEPS = 512
"""Steps of the search in the largest cost of a channel that is too short: 0.05 % of a range, where
nodes and noise leave several percent."""
PHASES = 2
"""Headings per channel: between two of them a descriptor changes less than by noise."""
RAYS = 4
"""Rays per channel, in 3D two by two: with fewer the sum (1) errs by more than people cause."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A scan in the channels of an atlas, ready to be compared with descriptors.

    Attributes:
        values: Mean log(1 + r) of each channel, float32, shape (P, rings, m), at each of P phases:
            headings within a channel.
        seen: Which channels the scan knows, shape (P, rings, m).
        first: Channel of the first column.
        ring: Ring of the atlas that the first ring of the window is.
    """

    values: Float32Array
    seen: BoolArray
    first: int = 0
    ring: int = 0

    @property
    def rough(self) -> "Window":
        """The window for a quick look, with every other phase and every other channel."""
        is_seen = self.seen[::2].copy()
        is_seen[:, :, 1::2] = False
        return Window(np.ascontiguousarray(self.values[::2]), is_seen, self.first, self.ring)

    def codes(self, short: float) -> "Codes":
        """Return the values of the window in whole steps, as the search counts them.

        Args:
            short: Most that a channel costs that is shorter than the map says, in log(1 + r); one
                that is longer costs up to twice that.
        """
        from isovist.compute import encode_scan

        values, scale = np.empty(self.values.shape, dtype=np.int16), np.empty(2)
        encode_scan(self.values, self.seen, short, short / COST_STEPS, values, scale)
        base, step = scale.tolist()
        steps = round(short / step)
        return Codes(values, base, step, steps, 2 * steps)

    def yaws(self, n: int, heading: float) -> FloatArray:
        """Return the yaw of each heading that the search tries, in rad, shape (n P,).

        Heading k P + p is k of n channels and p/P.
        """
        return _yaws(n, len(self.values), self.first, heading)


@lru_cache
def _yaws(n: int, phases: int, first: int, heading: float) -> FloatArray:
    turns = np.arange(n * phases) / phases - first
    return readonly(2.0 * np.pi * turns / n + heading)


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """The values of a window in whole steps above a base.

    The base is below all that differs in cost.

    Attributes:
        values: Values in steps, 16-bit integers, shape (P, rings, m); 0 where nothing was seen.
        base: The value that steps are counted from, in log(1 + r).
        step: Size of a step, in log(1 + r).
        short: Most that a channel costs that is shorter than the map says, in steps.
        long: Most that a channel costs that is longer than the map says, in steps.
    """

    values: NDArray[np.int16]
    base: float
    step: float
    short: int
    long: int
