"""Upper bounds for boxes of poses of one size, by where beams end.

A box is a square of cells and a heading.  The first level of a search has all squares with a free
cell at all headings, which are never listed at once.  Later levels list their boxes.
`compute.branch_and_bound.upper_bounds` computes the bounds.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray, IntArray
from isovist.compute import BoundRequest, active_backend
from isovist.localization.candidates.height_slices import split_runs
from isovist.localization.verification.upper_bounds import UpperBoundMap

BATCH_BOXES = 1 << 20
"""Boxes of the first level that are listed at once."""
ORDER_SAMPLE = 256
"""Boxes by which beams are put in order."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenBoxes:
    """Boxes that may hold a pose with a high enough rating, heading after heading.

    Attributes:
        cells: Column and row of the squares, shape (n, 2).
        headings: Index of the heading of each box, shape (n,).
        deficits: Lower bound on the deficit of each box, in units, shape (n,).
        lookups: Beam ends that were looked up.
    """

    cells: IntArray
    headings: IntArray
    deficits: NDArray[np.int32]
    lookups: int


@dataclass(frozen=True, slots=True, eq=False)
class SearchLevel:
    """One level of a branch-and-bound search: all boxes have the same size.

    Attributes:
        bound_map: Distance classes of the map.
        ends: Ends of the beams in the frame of the sensor, in cells, shape (m, 2).
        width: Width of a square in cells.
        heading_step: Angle between headings in rad.
        tables: Deficits of the beams by class code, uint16, shape (m, 256).
        budget: Largest deficit of a box that is not dropped, in units.
    """

    bound_map: UpperBoundMap
    ends: FloatArray
    width: float
    heading_step: float
    tables: NDArray[np.uint16]
    budget: float

    def beam_order(self, squares: IntArray, headings: IntArray) -> IntArray:
        """Return an order of the beams that drops a sample of boxes early, shape (m,).

        Each next beam is the one with the largest total deficit over the remaining sample.
        """
        costs = self._sample_deficits(squares, headings)
        sums, order = np.zeros(len(costs)), []
        is_left = np.ones(len(self.tables), dtype=np.bool_)
        for _ in range(len(self.tables)):
            is_open = sums <= self.budget
            if not is_open.any():
                break
            gain = is_open.astype(np.float64) @ costs
            gain[~is_left] = -1.0
            best = int(np.argmax(gain))
            is_left[best] = False
            order.append(best)
            sums += costs[:, best]
        left = np.flatnonzero(is_left)
        left = left[np.argsort(-costs.sum(axis=0)[left])]
        return np.append(np.array(order, dtype=np.int64), left)

    def bound_all(self, squares: IntArray, headings: IntArray, order: IntArray) -> OpenBoxes:
        """Bound all squares of `UpperBoundMap.free_squares` at each of some headings.

        Args:
            squares: Column and row, shape (n, 2).
            headings: Indices of headings, shape (h,).
            order: Order of the beams.
        """
        cells, fractions = self._centres(squares)
        offsets = self._offsets(headings, np.broadcast_to(fractions[:1], (len(headings), 2)))
        count, parts, lookups = len(squares), [], 0
        step = max(BATCH_BOXES // count, 1)
        for first in range(0, len(headings), step):
            batch = headings[first : first + step]
            runs = split_runs(np.repeat(np.arange(len(batch)), count))
            centres = np.tile(cells, (len(batch), 1))
            sums, looked_up = self._bound(runs, centres, offsets[first : first + step], order)
            is_open = np.flatnonzero(sums >= 0)
            heading, square = np.divmod(is_open, count)
            parts.append((square, batch[heading], sums[is_open]))
            lookups += looked_up
        square, open_headings, sums = (np.concatenate(p) for p in zip(*parts, strict=True))
        return OpenBoxes(squares[square], open_headings, sums, lookups)

    def bound_boxes(self, squares: IntArray, headings: IntArray, order: IntArray) -> OpenBoxes:
        """Bound a list of boxes, sorted by heading.

        Args:
            squares: Column and row of each box, shape (n, 2).
            headings: Index of the heading of each box, shape (n,).
            order: Order of the beams.
        """
        cells, fractions = self._centres(squares)
        # Neighbours with one heading and the same place of their centre in a cell are a group.
        is_first = np.diff(headings, prepend=-1) != 0
        is_first[1:] |= (np.diff(fractions, axis=0) != 0.0).any(axis=1)
        first = np.flatnonzero(is_first)
        offsets = self._offsets(headings[first], fractions[first])
        runs = split_runs(np.cumsum(is_first) - 1)
        sums, lookups = self._bound(runs, cells, offsets, order)
        is_open = np.flatnonzero(sums >= 0)
        return OpenBoxes(squares[is_open], headings[is_open], sums[is_open], lookups)

    def _sample_deficits(self, squares: IntArray, headings: IntArray) -> FloatArray:
        """Return the deficit of each beam for a sample of the boxes, shape (sample, m)."""
        count = len(squares) * len(headings)
        sample = np.random.default_rng(0).integers(0, count, min(ORDER_SAMPLE, count))
        heading, square = np.divmod(sample, len(squares))
        cells, fractions = self._centres(squares[square])
        ends = cells[:, None] + self.bound_map.padding + self._offsets(headings[heading], fractions)
        ends = np.clip(ends, 0, np.array(self.bound_map.codes.shape[::-1]) - 1)
        codes = self.bound_map.codes[ends[..., 1], ends[..., 0]]
        return self.tables[np.arange(len(self.tables)), codes].astype(float)

    def _centres(self, squares: IntArray) -> tuple[NDArray[np.int32], FloatArray]:
        """Return the cells that hold the centres of squares, and the places in these, (n, 2)."""
        centres = (squares + 0.5) * self.width
        cells = np.floor(centres)
        return cells.astype(np.int32), centres - cells

    def _offsets(self, headings: IntArray, fractions: FloatArray) -> NDArray[np.int32]:
        """Return the cells from the one of the centre to those of the beam ends, (g, m, 2)."""
        yaws = (headings + 0.5) * self.heading_step
        c, s = np.cos(yaws)[:, None], np.sin(yaws)[:, None]
        x = c * self.ends[:, 0] - s * self.ends[:, 1] + fractions[:, :1]
        y = s * self.ends[:, 0] + c * self.ends[:, 1] + fractions[:, 1:]
        return np.floor(np.stack([x, y], axis=-1)).astype(np.int32)

    def _bound(
        self, runs: IntArray, cells: NDArray[np.int32], offsets: NDArray[np.int32], order: IntArray
    ) -> tuple[NDArray[np.int32], int]:
        """Return the deficits of boxes, −1 if dropped, and the number of look-ups."""
        request = BoundRequest(
            self.bound_map.codes, runs, cells + np.int32(self.bound_map.padding),
            np.ascontiguousarray(offsets[:, order]), np.ascontiguousarray(self.tables[order]),
            math.floor(self.budget),
        )  # fmt: skip
        bounded = active_backend().bound_boxes(request)
        return bounded.deficits, bounded.lookups
