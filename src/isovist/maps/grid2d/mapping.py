"""Make occupancy maps from scans at known poses, by counting.

Every valid beam adds one miss to each cell it passes and one hit to the cell it ends in.  With
h hits and m misses a cell is

    occupied   when h ≥ 1 and h ≥ ρ (h + m),
    free       when not occupied and m ≥ 1,
    unknown    otherwise.                                                                   (1)

Beams that graze a wall pass many of its cells, so ρ is below one half.  On six real logs, with ρ =
¼ and cells of 5 cm, 95 to 100 % of the held-out beams end at a wall of the map. 81 to 94 % end
within 0.2 m of the measured range, typically 3 cm before it.  A smaller ρ makes walls thicker, a
larger one makes holes in them.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import ArrayLike, BoolArray, FloatArray, as_floats
from isovist.errors import InputError
from isovist.maps.cells import Cell
from isovist.poses import unit_vectors

MARGIN_CELLS = 2
PASSES = 8
"""Beams are counted in this many passes, with a call of `progress` after each."""
MAX_CELLS = 1 << 26


class Beams(Protocol):
    """The fields of a scan that mapping needs."""

    @property
    def bearings(self) -> FloatArray: ...
    @property
    def ranges(self) -> FloatArray: ...
    @property
    def valid(self) -> BoolArray: ...


def gather(
    scans: Sequence[Beams], poses: ArrayLike, maximum: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return starts and ends of all valid beams, (m, 2), in m, and which ends are returns."""
    where = as_floats("poses", poses, (None, 3))
    if len(scans) != len(where):
        raise InputError.about(
            "poses", f"must have one row per scan, got {len(where)} rows and {len(scans)} scans."
        )
    if len(scans) == 0:
        raise InputError("A map needs at least one scan, got none.", code="missing")
    counts = [int(np.count_nonzero(scan.valid)) for scan in scans]
    ranges = np.concatenate([scan.ranges[scan.valid] for scan in scans])
    bearings = np.concatenate([scan.bearings[scan.valid] for scan in scans])
    sensor = np.repeat(where, counts, axis=0)
    starts, along = sensor[:, :2], unit_vectors(bearings + sensor[:, 2])
    ends = starts + np.minimum(ranges, maximum)[:, None] * along
    return starts, ends, ranges <= maximum


def count(
    starts: FloatArray,
    ends: FloatArray,
    returned: BoolArray,
    resolution: float,
    progress: Callable[[float], None] = lambda _: None,
) -> tuple[NDArray[np.int32], NDArray[np.int32], FloatArray]:
    """Count hits and misses per cell, shapes (height, width), and find the grid's corner in m.

    The grid goes around all starts and ends, with a margin.  `progress` is called with the share
    that is done.
    """
    from isovist.compute import count_hits, mark_passes

    points = np.concatenate([starts, ends])
    with np.errstate(over="ignore", invalid="ignore"):
        corner = np.floor(points.min(axis=0) / resolution - MARGIN_CELLS) * resolution
        sizes = np.ceil((points.max(axis=0) - corner) / resolution) + MARGIN_CELLS
    check_cells(float(sizes[0]), float(sizes[1]), resolution)
    width, height = (int(size) for size in sizes)
    a, b = ((points - corner) / resolution for points in (starts, ends))
    hits = np.zeros((height, width), dtype=np.int32)
    misses = np.zeros((height, width + 1), dtype=np.int32)
    count_hits(b[returned], hits)
    for k in range(PASSES):
        beams = slice(k * len(a) // PASSES, (k + 1) * len(a) // PASSES)
        mark_passes(a[beams], b[beams], misses)
        progress((k + 1) / PASSES)
    return hits, np.cumsum(misses, axis=1, dtype=np.int32)[:, :-1], corner


def classify(hits: NDArray[np.int32], misses: NDArray[np.int32], share: float) -> NDArray[np.uint8]:
    """Turn counts of hits and misses into `Cell` codes, by equation (1) with ρ = `share`."""
    occupied = (hits > 0) & (hits >= share * (hits + misses))
    passed = np.where(misses > 0, Cell.FREE, Cell.UNKNOWN)
    return np.where(occupied, Cell.OCCUPIED, passed).astype(np.uint8)


def check_cells(width: float, height: float, resolution: float) -> None:
    """Check that a map `width` × `height` cells large does not exceed the most cells allowed."""
    if not width * height <= MAX_CELLS:
        raise InputError(
            f"The map would have {width:.10g} × {height:.10g} cells, more than {MAX_CELLS}; "
            f"take a coarser `resolution` than {resolution} m.",
            code="too_large",
            field="resolution",
        )
