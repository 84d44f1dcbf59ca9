"""Beams of a scan, and poses that are fitted to where they end."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import Float32Array, FloatArray, IntArray
from isovist.compute import heaviest


@dataclass(frozen=True, slots=True, eq=False)
class Beams:
    """Selected beams of a scan, in blocks of beams whose errors are correlated.

    Attributes:
        ends: End points in the level frame of the sensor, in m, shape (m, d).
        strengths: Intensities, shape (m,), or empty.
        sigmas: Standard deviation of each range in m, added to that of the beam model, shape (m,),
            or empty.
        order: Indices of the beams, block after block, shape (m,).
        starts: Position in that order at which each block begins, shape (B,).
        columns: First block of each column, shape (C,).  The blocks of a column usually see the
            same object.
    """

    ends: FloatArray
    strengths: FloatArray
    sigmas: FloatArray
    order: IntArray
    starts: IntArray
    columns: IntArray

    @classmethod
    def of(
        cls,
        ends: FloatArray,
        blocks: IntArray,
        columns: IntArray,
        strengths: FloatArray,
        sigmas: FloatArray | None = None,
    ) -> "Beams":
        """Build beams from the block number and the column number of each beam."""
        order = np.lexsort((blocks, columns))
        runs = np.ones((2, len(order)), dtype=np.bool_)
        for row, number in zip(runs, (columns[order], blocks[order]), strict=True):
            np.not_equal(number[1:], number[:-1], out=row[1:])
        starts = np.flatnonzero(runs[0] | runs[1])
        own = np.empty(0) if sigmas is None else sigmas
        first = np.flatnonzero(runs[0][starts])
        return cls(np.ascontiguousarray(ends), strengths, own, order, starts, first)

    def scaled(self, factor: float) -> "Beams":
        """Return the beams with lengths and errors multiplied by a factor."""
        ends, sigmas = factor * self.ends, factor * self.sigmas
        return Beams(ends, self.strengths, sigmas, self.order, self.starts, self.columns)

    @staticmethod
    def sigmas_of(parts: Iterable["Beams"]) -> FloatArray:
        """Join the standard deviations of several groups of beams.

        The array is empty if no group has any.
        """
        rows = [part.sigmas if part.sigmas.size else np.zeros(len(part)) for part in parts]
        sigmas = np.concatenate(rows)
        return sigmas if sigmas.any() else np.empty(0)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return len(self.starts)

    @property
    def block_of(self) -> IntArray:
        """The number of the block of each beam, shape (m,)."""
        number = np.empty(len(self), dtype=np.int64)
        number[self.order] = np.repeat(np.arange(self.blocks), _lengths(self.starts, len(self)))
        return number

    @property
    def column_of(self) -> IntArray:
        """The number of the column of each beam, shape (m,)."""
        return np.searchsorted(self.columns, self.block_of, side="right") - 1

    def by_block(self, ratings: Float32Array) -> FloatArray:
        """Return the mean over the beams of each block, from shape (K, m) to (K, B)."""
        sums = np.add.reduceat(ratings[:, self.order], self.starts, axis=1, dtype=np.float64)
        return np.asarray(sums / _lengths(self.starts, len(self)))

    def by_column(self, blocks: FloatArray) -> FloatArray:
        """Return the mean over the blocks of each column, from shape (K, B) to (K, C)."""
        sums = np.add.reduceat(blocks, self.columns, axis=1)
        return np.asarray(sums / _lengths(self.columns, self.blocks))


def _lengths(starts: IntArray, end: int) -> IntArray:
    """Return the lengths of runs that begin at ascending places, the last before `end`.

    It takes a fifth of the time of `np.diff`, and a check calls it a dozen times.
    """
    out = np.empty_like(starts)
    out[:-1] = starts[1:]
    out[-1:] = end
    out -= starts
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The result of a fit: poses moved so that beams end at walls.

    Attributes:
        poses: The fitted poses, shape (K, D).
        normal: Σ w J Jᵀ, in world axes, per m and rad, shape (K, n, n).  J is the derivative of the
            distance to the wall by the n fitted coordinates.
        weight: Σ w, shape (K,).
        square: Σ w e², in m², shape (K,), with e the distance to the wall.
    """

    poses: FloatArray
    normal: FloatArray
    weight: FloatArray
    square: FloatArray

    @property
    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The arrays of the fit, in order: poses, normal, weight and square."""
        return self.poses, self.normal, self.weight, self.square

    def select(self, index: NDArray[Any]) -> "Fit":
        """Return the poses with the given indices, in that order."""
        return Fit(self.poses[index], self.normal[index], self.weight[index], self.square[index])

    def firmest(self, count: int | None) -> "Fit":
        """Return the `count` poses that beams constrain best, in their order; all when `None`."""
        if count is None or count >= len(self.poses):
            return self
        return self.select(heaviest(self.weight, count))
