"""A map as the complete search wants it (`localization.verification.branch_and_bound`)."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, FloatArray, IntArray, once_for_each, readonly
from isovist.atlas import PlaneAtlas, bridge_gaps
from isovist.maps import Cell, distance_to, wall_faces

WALLS = np.concatenate(
    [
        np.arange(0.0, 0.4, 0.025),
        np.arange(0.4, 0.8, 0.05),
        [0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2, 2.5],
    ]
)
"""Lower edges of the classes of D in m: fine where a beam's worth falls, then as boxes halve."""
FRONTIERS = np.array([0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0])
"""Lower edges of the classes of U in m; its exponential has a length of 1/λ = 1.7 m."""
EXACT = 1000.0
"""In cells: squares of singles below it are off by less than a quarter.  Cells of a map on which
5 m are more would be smaller than 5 mm."""
RIM = 16
"""Cells this near to the rim of the map hold ends from outside, where (3) has one more √½."""


@dataclass(frozen=True, slots=True, eq=False)
class UpperBoundMap:
    """A map as bounds want it.

    Attributes:
        codes: Class of D and of U of each cell, padded, uint8.
        pad: Cells around the map.
        free: Where the sensor can be.
        walls: Bits of occupied cells (`compute.branch_and_bound.visibility.meets_wall`).
        unknown: Bits of unknown cells.
        seen: What `standing` and, by minus its size, `squares` have said before.
    """

    codes: NDArray[np.uint8]
    pad: int
    free: BoolArray
    walls: tuple[NDArray[np.uint64], ...]
    unknown: tuple[NDArray[np.uint64], ...]
    seen: dict[int, NDArray[Any]] = field(default_factory=dict)

    @staticmethod
    @once_for_each
    def of(atlas: PlaneAtlas) -> "UpperBoundMap":
        """Those of an atlas; made once for each."""
        from scipy.ndimage import binary_dilation

        unit = atlas.world.resolution
        pad = math.ceil(WALLS[-1] / unit) + 2
        clear = bridge_gaps(atlas.world, atlas.settings.gap).cells
        inner = (slice(pad + RIM, -pad - RIM),) * 2
        plain, near = _classes(np.pad(wall_faces(atlas.world.cells), pad), unit, WALLS)
        near[inner] = plain[inner]
        free = clear == Cell.FREE
        around = np.ones((3, 3), dtype=np.bool_)
        unknown = np.pad(clear == Cell.UNKNOWN, pad, constant_values=True)
        enterable = unknown & binary_dilation(np.pad(free, pad), around)
        # A ray enters a cell at its rim, √½ from its middle.
        _, dark = _classes(enterable, unit, FRONTIERS)
        codes = near * np.uint8(len(FRONTIERS)) + dark
        return UpperBoundMap(
            readonly(codes), pad, free, pack_lines(clear == Cell.OCCUPIED, fill=False),
            pack_lines(clear == Cell.UNKNOWN, fill=True),
        )  # fmt: skip

    def free_mask(self, size: int) -> BoolArray:
        """Which squares of `size` cells hold a free one."""
        if size in self.seen:
            return self.seen[size]
        height, width = self.free.shape
        padded = np.pad(self.free, ((0, -height % size), (0, -width % size)))
        rows, columns = padded.shape
        held = padded.reshape(rows // size, size, columns // size, size).any(axis=(1, 3))
        return self.seen.setdefault(size, readonly(np.asarray(held)))

    def has_free_cell(self, squares: IntArray, size: int) -> BoolArray:
        """Whether squares, column and row, hold a free cell; quarters may lie beyond the map."""
        held = self.free_mask(size)
        rows, columns = held.shape
        beyond = np.pad(held, ((0, 1), (0, 1))).ravel()
        row, column = np.minimum(squares[:, 1], rows), np.minimum(squares[:, 0], columns)
        return beyond[row * (columns + 1) + column]

    def free_squares(self, size: int) -> NDArray[np.int32]:
        """Column and row of these."""
        if -size not in self.seen:
            found = np.argwhere(self.free_mask(size))[:, ::-1].astype(np.int32)
            self.seen[-size] = readonly(np.ascontiguousarray(found))
        return self.seen[-size]


def _classes(met: BoolArray, unit: float, edges: FloatArray) -> list[NDArray[np.uint8]]:
    """The class, by lower edges in m, of the distance of each cell to the nearest of some cells,
    and that of the same less √½ cells.
    """
    if not met.any():
        return 2 * [np.full(met.shape, len(edges) - 1, dtype=np.uint8)]
    # Distances are roots of whole numbers, and singles tell of which.
    beyond = min(edges[-1] / unit + 2.0, EXACT)
    squares = np.rint(np.square(np.minimum(distance_to(met), np.float32(beyond)))).astype(np.int32)
    roots = np.sqrt(np.arange(int(squares.max()) + 1))
    return [
        (np.searchsorted(edges, np.maximum(roots - less, 0.0) * unit, side="right") - 1)
        .astype(np.uint8)[squares]
        for less in (0.0, math.sqrt(0.5))
    ]  # fmt: skip


def pack_lines(mask: BoolArray, *, fill: bool) -> tuple[NDArray[np.uint64], ...]:
    """Columns from the left and from the right, rows from below and from above, as words.

    Bits beyond the map are `fill`, and so is the last word, which windows may touch.
    """

    def pack(lines: BoolArray) -> NDArray[np.uint64]:
        words = -(-lines.shape[1] // 64) + 1
        full = np.full((len(lines), 64 * words), fill)
        full[:, : lines.shape[1]] = lines
        return readonly(np.packbits(full, axis=1, bitorder="little").view(np.uint64))

    return pack(mask.T), pack(mask.T[::-1]), pack(mask), pack(mask[::-1])
