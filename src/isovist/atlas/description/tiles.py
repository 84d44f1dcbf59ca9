"""Cut the nodes of a map into blocks that are described separately, here or on other machines.

A block has the cells that the rays of its nodes can reach, and knows where they lie in the map.  So
its descriptors are equal bit by bit to those of the map described in one piece.
"""

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from isovist.arrays import Float32Array, IntArray

Progress = Callable[[float], None]
Box = tuple[slice, slice]
"""Rows and columns of cells."""
MARGIN = 3
"""Cells that a block has beyond twice the reach.  Rays are drawn up to half a cell to the side.  A
ray nearly parallel to a wall may meet it at up to twice its range."""


class Block(Protocol):
    """A group of nodes that are described together.

    Attributes:
        slots: Places of the nodes among all nodes, shape (N,).
    """

    @property
    def slots(self) -> IntArray: ...

    def describe(self, progress: Progress) -> Float32Array:
        """Compute the descriptor F of each node, `FAR` where unknown, shape (N, …)."""


class Workers(Protocol):
    """A group of workers that describe blocks of nodes."""

    def side(self, cells: int, max_side: int) -> int:
        """Return the side of the square that the nodes of a block lie in, in cells.

        Args:
            cells: Number of cells of one level of the map, rows times columns.
            max_side: Largest side whose block a worker has the memory for.
        """

    def describe(self, blocks: Iterator[Block]) -> Iterator[tuple[IntArray, Float32Array]]:
        """Describe blocks, yielding the places and descriptors of their nodes in any order."""


def squares(shape: tuple[int, int], side: int) -> list[Box]:
    """Cut a grid into squares of `side` cells; the last ones may be smaller."""
    rows, columns = (
        [slice(k, min(k + side, size)) for k in range(0, size, side)] for size in shape
    )
    return [(row, column) for row in rows for column in columns]


def around(box: Box, shape: tuple[int, int], reach: float) -> Box:
    """Return the box of cells that rays of `reach` cells from another box can meet.

    The rays are those of `compute.grids.sweep2d`.
    """
    margin = int(np.ceil(2.0 * reach)) + MARGIN
    rows, columns = (
        slice(max(part.start - margin, 0), min(part.stop + margin, size))
        for part, size in zip(box, shape, strict=True)
    )
    return rows, columns


def inside(box: Box, rows: IntArray, columns: IntArray) -> IntArray:
    """Return the places of the nodes that lie in a box, shape (N,)."""
    is_inside = [
        (part.start <= index) & (index < part.stop)
        for part, index in zip(box, (rows, columns), strict=True)
    ]
    return np.flatnonzero(is_inside[0] & is_inside[1])


def describe_nodes(
    blocks: Iterator[Block], workers: Workers | None, nodes: int, progress: Progress
) -> Float32Array:
    """Return the descriptors of all nodes, computed by the workers, or here without one.

    Without a workers all nodes are one block.
    """
    if workers is None:
        return next(blocks).describe(progress)
    F, count = np.empty(0, dtype=np.float32), 0
    for slots, part in workers.describe(blocks):
        if F.size == 0:
            F = np.empty((nodes, *part.shape[1:]), dtype=np.float32)
        F[slots] = part
        count += len(slots)
        progress(count / nodes)
    return F
