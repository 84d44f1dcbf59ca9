"""Hold a scan in the channels of an atlas (`windows` makes it), and as the search counts them."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, FloatArray, readonly

COST_STEPS = 512
"""Number of steps in the largest cost of a channel that is too short.

A step is 0.05 % of a range, where nodes and noise cause errors of several percent.
"""
PHASES = 2
"""Headings per channel; between two of them a descriptor changes less than by noise."""
RAYS = 4
"""Rays per channel, in 3D in both directions; with fewer, the sum (1) errs more than by people."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A scan as channels of an atlas, to be compared with the descriptors of its nodes.

    Attributes:
        values: Mean log(1 + r) of each channel, float32, shape (P, rings, m), at each of P phases,
            which are headings within a channel.
        seen: Mask of the channels that the scan sees, shape (P, rings, m).
        first: Channel of the first column.
        ring: Ring of the atlas that is the first ring of the window.
    """

    values: Float32Array
    seen: BoolArray
    first: int = 0
    ring: int = 0

    @property
    def rough(self) -> "Window":
        """The window with only every other phase and every other channel, for a coarse search."""
        is_seen = self.seen[::2].copy()
        is_seen[:, :, 1::2] = False
        return Window(np.ascontiguousarray(self.values[::2]), is_seen, self.first, self.ring)

    def codes(self, short: float) -> "Codes":
        """Return the values of the window as integer steps, in which the search adds up costs.

        Args:
            short: Maximum cost of a channel that is shorter than on the map, in log(1 + r).  A
                channel that is longer costs at most twice as much.
        """
        from isovist.compute import encode_scan

        values, scale = np.empty(self.values.shape, dtype=np.int16), np.empty(2)
        encode_scan(self.values, self.seen, short, short / COST_STEPS, values, scale)
        base, step = scale.tolist()
        steps = round(short / step)
        return Codes(values, base, step, steps, 2 * steps)

    def yaws(self, n: int, heading: float) -> FloatArray:
        """Return the yaw of each heading that the search tries, in rad, shape (n P,).

        Heading k P + p is channel k of n at phase p of P.
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
