"""Lower bounds on the cost of every node, by which a search skips most of an atlas.

The bounds come from descriptors in bytes, which are made when an atlas is first searched.  They are
sound: a search that skips nodes by them finds what a search of every node finds.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, once_for_each, readonly
from isovist.atlas import FAR, Atlas, SearchSpace, Window

LEVELS = 207
"""Steps from 0 to the reach of an atlas, in log(1 + r).  With the usual settings a shorter channel
costs at most 15 of them, a longer one 30.  The other values of a byte mean unknown."""
UNKNOWN = 255
BYTE_OFFSET = 128
"""Levels are stored as signed bytes, less this."""
MIN_BOUNDED_NODES = 20_000
"""Nodes from which on bounds pay: for fewer they save less than their kernel takes to compile."""
LARGE_ATLAS_NODES = 130_000
"""Nodes of a large atlas, usually of 8000 m²."""
ROUNDING_SHARE = 1e-3
"""Largest relative error of float32 sums."""


def has_lower_bounds(atlas: SearchSpace) -> bool:
    """Return whether an atlas is large enough for lower bounds to pay."""
    return atlas.size >= MIN_BOUNDED_NODES


@dataclass(frozen=True, slots=True, eq=False)
class LowerBounds:
    """Descriptors in bytes, which bound the cost of nodes.

    Attributes:
        table: Levels of the channels, as `compute.search.lower_bounds` reads them, int8, shape
            (blocks, rings n, `BLOCK_NODES`).
        step: Size q of a level in log(1 + r).
        count: Number of nodes.
        n: Channels of a ring.
    """

    table: NDArray[np.int8]
    step: float
    count: int
    n: int

    @staticmethod
    def of(atlas: Atlas, stride: int = 1) -> "LowerBounds":
        """Return the bounds of every `stride`-th node of an atlas, which are made once."""
        by_stride = _bounds_by_stride(atlas)
        if stride not in by_stride:
            by_stride[stride] = LowerBounds.build(atlas, stride)
        return by_stride[stride]

    @classmethod
    def build(cls, atlas: Atlas, stride: int = 1) -> "LowerBounds":
        """Make the bounds of every `stride`-th node of an atlas."""
        from isovist.compute import BLOCK_NODES

        nodes = atlas.descriptors[::stride]
        count, rings, n = nodes.shape
        step = float(np.log1p(atlas.settings.reach)) / LEVELS
        shape = -(-count // BLOCK_NODES), rings * n, BLOCK_NODES
        table = np.full(shape, UNKNOWN - BYTE_OFFSET, dtype=np.int8)
        for block, part in enumerate(table):
            f = np.clip(nodes[block * BLOCK_NODES : (block + 1) * BLOCK_NODES], 0.0, FAR)
            f = f.reshape(-1, rings * n)
            levels = np.minimum(np.rint(f / np.float32(step)), UNKNOWN - 1)
            levels = np.where(f < FAR, levels, UNKNOWN)
            part[:, : len(f)] = (levels.T - BYTE_OFFSET).astype(np.int8)
        return cls(table, step, count, n)

    def bound_costs(self, window: Window, allowed: BoolArray, short: float) -> Float32Array:
        """Return a lower bound on the cost of each node at its best heading, shape (N,).

        Args:
            window: The scan in channels.
            allowed: Which headings count, shape (n P,) for P phases.
            short: Largest cost of a channel that is shorter than the map says.
        """
        steps, max_error = self._bound_steps(window, allowed, short)
        # The search counts in steps of its own, which err by one in each channel.
        rounding = max_error * window.codes(short).step * (1.0 + 10.0 * ROUNDING_SHARE)
        step = self.step * (1.0 - ROUNDING_SHARE)
        bounds = steps.astype(np.float32)
        bounds *= np.float32(step)
        bounds -= np.float32(max_error * step + rounding)
        return readonly(np.maximum(bounds, np.float32(0.0), out=bounds))

    def _bound_steps(
        self, window: Window, allowed: BoolArray, short: float
    ) -> tuple[NDArray[np.uint16], int]:
        """Return bounds in whole steps, shape (N,), and their largest error, one per channel."""
        from isovist.compute import BLOCK_NODES, MAX_TERM, TERMS_PER_BYTE, lower_bounds

        shape = -(-self.count // BLOCK_NODES), BLOCK_NODES
        bounds = np.full(shape, np.iinfo(np.uint16).max, dtype=np.uint16)
        shorter, longer = (min(int(limit / self.step), MAX_TERM) for limit in (short, 2.0 * short))
        limits = np.array([0, -longer, shorter])
        max_channels = int(window.seen.sum(axis=(1, 2)).max(initial=0))
        for phase, mask in enumerate(window.seen):
            rings, columns = np.nonzero(mask)
            padding = -rings.size % TERMS_PER_BYTE
            rows = np.zeros((rings.size + padding, 2), dtype=np.int64)
            rows[: rings.size] = np.column_stack([rings + window.ring, columns])
            values = np.rint(window.values[phase][mask] / self.step)[:, None]
            values = np.clip(values, 0, UNKNOWN)
            levels = np.zeros((len(rows), 3), dtype=np.int8)
            levels[: rings.size] = np.clip(values + limits, 0, UNKNOWN) - BYTE_OFFSET
            headings = np.ascontiguousarray(allowed[phase :: len(window.seen)])
            start = max_channels - rings.size
            lower_bounds(self.table, rows, levels, self.n, headings, start, bounds)
        return bounds.ravel()[: self.count], max_channels


@once_for_each
def _bounds_by_stride(atlas: Atlas) -> dict[int, LowerBounds]:
    """Return the bounds of an atlas that were made so far."""
    del atlas
    return {}
