"""A 2D map in the form that upper bounds on ratings need (`verification.branch_and_bound`)."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, FloatArray, IntArray, once_for_each, readonly
from isovist.atlas import PlaneAtlas, bridge_gaps
from isovist.maps import Cell, distance_to, wall_faces

WALL_CLASSES = np.concatenate(
    [
        np.arange(0.0, 0.4, 0.025),
        np.arange(0.4, 0.8, 0.05),
        [0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2, 2.5],
    ]
)
"""Lower edges of the classes of wall distance D in m: fine where the rating of a beam falls."""
FRONTIER_CLASSES = np.array([0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0])
"""Lower edges of the classes of distance U to unknown space in m; the rating decays over 1.7 m."""
MAX_EXACT_DISTANCE = 1000.0
"""In cells: float32 squares below it are off by less than a quarter.  Only cells smaller than 5 mm
make 5 m longer than this."""
MAP_RIM = 16
"""Cells this near to the rim of the map also hold ends outside of it: `√½` more error."""


@dataclass(frozen=True, slots=True, eq=False)
class UpperBoundMap:
    """Distance classes and occupancy bits of a 2D map.

    Attributes:
        codes: Class of D and of U of each cell, padded, uint8, shape (height, width).
        padding: Cells added on each side of the map.
        free: Cells where the sensor can be, shape (rows, columns) of the map.
        walls: Bits of occupied cells (`compute.branch_and_bound.visibility.meets_wall`).
        unknown: Bits of unknown cells.
        cache: Results of `free_mask` by size and of `free_squares` by minus the size.
    """

    codes: NDArray[np.uint8]
    padding: int
    free: BoolArray
    walls: tuple[NDArray[np.uint64], ...]
    unknown: tuple[NDArray[np.uint64], ...]
    cache: dict[int, NDArray[Any]] = field(default_factory=dict)

    @staticmethod
    @once_for_each
    def of(atlas: PlaneAtlas) -> "UpperBoundMap":
        """Return the bound map of an atlas, which is made once per atlas."""
        from scipy.ndimage import binary_dilation

        cell = atlas.world.resolution
        padding = math.ceil(WALL_CLASSES[-1] / cell) + 2
        cells = bridge_gaps(atlas.world, atlas.settings.gap).cells
        inner = (slice(padding + MAP_RIM, -padding - MAP_RIM),) * 2
        faces = np.pad(wall_faces(atlas.world.cells), padding)
        centre_classes, wall_classes = _distance_classes(faces, cell, WALL_CLASSES)
        wall_classes[inner] = centre_classes[inner]
        free = cells == Cell.FREE
        neighbours = np.ones((3, 3), dtype=np.bool_)
        unknown = np.pad(cells == Cell.UNKNOWN, padding, constant_values=True)
        enterable = unknown & binary_dilation(np.pad(free, padding), neighbours)
        # A ray enters a cell at its rim, √½ from its middle.
        _, frontier_classes = _distance_classes(enterable, cell, FRONTIER_CLASSES)
        codes = wall_classes * np.uint8(len(FRONTIER_CLASSES)) + frontier_classes
        return UpperBoundMap(
            readonly(codes), padding, free, pack_lines(cells == Cell.OCCUPIED, fill=False),
            pack_lines(cells == Cell.UNKNOWN, fill=True),
        )  # fmt: skip

    def free_mask(self, size: int) -> BoolArray:
        """Return which squares of `size` cells hold a free cell."""
        if size in self.cache:
            return self.cache[size]
        height, width = self.free.shape
        padded = np.pad(self.free, ((0, -height % size), (0, -width % size)))
        rows, columns = padded.shape
        mask = padded.reshape(rows // size, size, columns // size, size).any(axis=(1, 3))
        return self.cache.setdefault(size, readonly(np.asarray(mask)))

    def has_free_cell(self, squares: IntArray, size: int) -> BoolArray:
        """Return whether squares (column, row) hold a free cell; they may lie beyond the map."""
        mask = self.free_mask(size)
        rows, columns = mask.shape
        padded = np.pad(mask, ((0, 1), (0, 1))).ravel()
        row, column = np.minimum(squares[:, 1], rows), np.minimum(squares[:, 0], columns)
        return padded[row * (columns + 1) + column]

    def free_squares(self, size: int) -> NDArray[np.int32]:
        """Return column and row of the squares of `size` cells that hold a free cell, (n, 2)."""
        if -size not in self.cache:
            squares = np.argwhere(self.free_mask(size))[:, ::-1].astype(np.int32)
            self.cache[-size] = readonly(np.ascontiguousarray(squares))
        return self.cache[-size]


def _distance_classes(
    targets: BoolArray, cell: float, edges: FloatArray
) -> list[NDArray[np.uint8]]:
    """Classify the distance from each cell to the nearest target cell.

    Args:
        targets: Target cells.
        cell: Side of a cell in m.
        edges: Lower edges of the classes in m.

    Returns:
        The classes of the distance, and of the distance less √½ cells.
    """
    if not targets.any():
        return 2 * [np.full(targets.shape, len(edges) - 1, dtype=np.uint8)]
    # Squared distances are whole numbers, so float32 distances determine them.
    limit = np.float32(min(edges[-1] / cell + 2.0, MAX_EXACT_DISTANCE))
    squares = np.rint(np.square(np.minimum(distance_to(targets), limit))).astype(np.int32)
    roots = np.sqrt(np.arange(int(squares.max()) + 1))
    return [
        (np.searchsorted(edges, np.maximum(roots - margin, 0.0) * cell, side="right") - 1)
        .astype(np.uint8)[squares]
        for margin in (0.0, math.sqrt(0.5))
    ]  # fmt: skip


def pack_lines(mask: BoolArray, *, fill: bool) -> tuple[NDArray[np.uint64], ...]:
    """Pack columns from the left and from the right, and rows from below and above, into words.

    Bits beyond the map are `fill`, and so is the last word, which windows may touch.
    """

    def pack(lines: BoolArray) -> NDArray[np.uint64]:
        words = -(-lines.shape[1] // 64) + 1
        padded = np.full((len(lines), 64 * words), fill)
        padded[:, : lines.shape[1]] = lines
        return readonly(np.packbits(padded, axis=1, bitorder="little").view(np.uint64))

    return pack(mask.T), pack(mask.T[::-1]), pack(mask), pack(mask[::-1])
