"""Boxes of poses of one size against a scan, by where beams end (`branch_and_bound.upper_bounds`).

A box is a square of cells and a heading.  In the first round of a complete search all squares stand
before all headings, and are not listed one by one; later those are whose parents may hold a place.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray, IntArray
from isovist.compute import BoundRequest, active_backend
from isovist.localization.candidates.height_slices import tasks_of
from isovist.localization.verification.upper_bounds import UpperBoundMap

BATCH = 1 << 20
"""Boxes of a first round that are listed at once."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenBoxes:
    """Boxes that may hold a place, heading after heading.

    Attributes:
        cells: Column and row of the squares, shape (n, 2).
        heads: Headings, shape (n,).
        deficits: Of each, in units, shape (n,).
        lookups: That were made.
    """

    cells: IntArray
    heads: IntArray
    deficits: NDArray[np.int32]
    lookups: int


@dataclass(frozen=True, slots=True, eq=False)
class SearchLevel:
    """Boxes of one size.

    Attributes:
        ceilings: Of the map.
        ends: Of the beams from the sensor, in cells, shape (m, 2).
        width: Of a square in cells.
        step: From heading to heading in rad.
        tables: Deficits of beams by code, shape (m, 256).
        budget: Largest deficit that is good enough.
    """

    ceilings: UpperBoundMap
    ends: FloatArray
    width: float
    step: float
    tables: NDArray[np.uint16]
    budget: float

    def beam_order(self, squares: IntArray, heads: IntArray) -> IntArray:
        """An order of the beams in which a sample of boxes is dropped early, shape (m,).

        Each next beam is the one that costs the sample's remaining boxes most.
        """
        count = len(squares) * len(heads)
        some = np.random.default_rng(0).integers(0, count, min(256, count))
        head, square = np.divmod(some, len(squares))
        places, parts = self._places(squares[square])
        offsets = self._offsets(heads[head], parts)
        end = places[:, None] + self.ceilings.pad + offsets
        end = np.clip(end, 0, np.array(self.ceilings.codes.shape[::-1]) - 1)
        codes = self.ceilings.codes[end[..., 1], end[..., 0]]
        cost = self.tables[np.arange(len(self.tables)), codes].astype(float)
        total, chosen = np.zeros(len(some)), []
        rest = np.ones(len(self.tables), dtype=np.bool_)
        for _ in range(len(self.tables)):
            alive = total <= self.budget
            if not alive.any():
                break
            gain = alive.astype(np.float64) @ cost
            gain[~rest] = -1.0
            best = int(np.argmax(gain))
            rest[best] = False
            chosen.append(best)
            total += cost[:, best]
        late = np.flatnonzero(rest)
        late = late[np.argsort(-cost.sum(axis=0)[late])]
        return np.append(np.array(chosen, dtype=np.int64), late)

    def bound_all(self, squares: IntArray, heads: IntArray, order: IntArray) -> OpenBoxes:
        """All squares, as `UpperBoundMap.squares` gives them, at each of some headings."""
        places, parts = self._places(squares)
        offsets = self._offsets(heads, np.broadcast_to(parts[:1], (len(heads), 2)))
        count, found, lookups = len(squares), [], 0
        together = max(BATCH // count, 1)
        for first in range(0, len(heads), together):
            some = heads[first : first + together]
            tasks = tasks_of(np.repeat(np.arange(len(some)), count))
            every = np.tile(places, (len(some), 1))
            sums, looked = self._bound(tasks, every, offsets[first : first + together], order)
            alive = np.flatnonzero(sums >= 0)
            head, square = np.divmod(alive, count)
            found.append((square, some[head], sums[alive]))
            lookups += looked
        alive, turned, sums = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return OpenBoxes(squares[alive], turned, sums, lookups)

    def bound_boxes(self, cells: IntArray, heads: IntArray, order: IntArray) -> OpenBoxes:
        """Some squares at a heading each, heading after heading."""
        places, parts = self._places(cells)
        # Those that follow each other with one heading and middles that lie alike are a group.
        new = np.diff(heads, prepend=-1) != 0
        new[1:] |= (np.diff(parts, axis=0) != 0.0).any(axis=1)
        first = np.flatnonzero(new)
        offsets = self._offsets(heads[first], parts[first])
        tasks = tasks_of(np.cumsum(new) - 1)
        sums, lookups = self._bound(tasks, places, offsets, order)
        alive = np.flatnonzero(sums >= 0)
        return OpenBoxes(cells[alive], heads[alive], sums[alive], lookups)

    def _places(self, cells: IntArray) -> tuple[NDArray[np.int32], FloatArray]:
        """Cells that hold the middles of squares, and where in them these lie, shapes (n, 2)."""
        middles = (cells + 0.5) * self.width
        places = np.floor(middles)
        return places.astype(np.int32), middles - places

    def _offsets(self, heads: IntArray, parts: FloatArray) -> NDArray[np.int32]:
        """Cells from the middle's to those of the ends of the beams, shape (g, m, 2)."""
        yaws = (heads + 0.5) * self.step
        c, s = np.cos(yaws)[:, None], np.sin(yaws)[:, None]
        x = c * self.ends[:, 0] - s * self.ends[:, 1] + parts[:, :1]
        y = s * self.ends[:, 0] + c * self.ends[:, 1] + parts[:, 1:]
        return np.floor(np.stack([x, y], axis=-1)).astype(np.int32)

    def _bound(
        self,
        tasks: IntArray,
        places: NDArray[np.int32],
        offsets: NDArray[np.int32],
        order: IntArray,
    ) -> tuple[NDArray[np.int32], int]:
        """Deficits of boxes, −1 for those that are dropped, and how many look-ups that took."""
        request = BoundRequest(
            self.ceilings.codes, tasks, places + np.int32(self.ceilings.pad),
            np.ascontiguousarray(offsets[:, order]), np.ascontiguousarray(self.tables[order]),
            math.floor(self.budget),
        )  # fmt: skip
        bounded = active_backend().bound_boxes(request)
        return bounded.deficits, bounded.lookups
