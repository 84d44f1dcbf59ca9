"""Ranges and descriptors of many cells at once, by sweeping the map direction by direction.

With ranges r_s along directions θ_s, weights W of shape (S, n) and a transform f,

    F_i = Σ_s known_s f(r_s) W_si,      K_i = Σ_s known_s W_si,                             (1)

where known_s says whether the ending of the ray counts: by default a wall or the maximum does,
unknown cells and the edge of the map do not.  The S × nodes table of ranges is never held for F.
"""

from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from isovist.errors import InputError
from isovist.maps.base import Ending
from isovist.maps.occupancy import Cell, OccupancyMap
from isovist.types import ArrayLike, Float32Array, FloatArray, IntArray, as_floats, readonly

Transform = Literal["range", "log", "saturating"]
TRANSFORMS: tuple[Transform, ...] = ("range", "log", "saturating")
KNOWN = (Ending.WALL, Ending.MAXIMUM)
BLOCK_BYTES = 1 << 25


def free_nodes(world: OccupancyMap, stride: int) -> tuple[IntArray, IntArray]:
    """Rows and columns of the free cells among every `stride`-th one, in row order."""
    if stride < 1:
        raise InputError(f"`stride` must be at least 1 cell, got {stride}.")
    first = stride // 2
    rows, cols = np.nonzero(world.cells[first::stride, first::stride] == Cell.FREE)
    if rows.size == 0:
        raise InputError(f"No free cell lies on a lattice of {stride} cells; take a smaller one.")
    return rows * stride + first, cols * stride + first


def sweep_ranges(
    world: OccupancyMap,
    angles: ArrayLike,
    rows: ArrayLike,
    cols: ArrayLike,
    *,
    maximum: float = np.inf,
) -> tuple[Float32Array, NDArray[np.uint8]]:
    """Ranges (m) and `Ending` codes from cell centres, both of shape (S, nodes).

    Args:
        world: The map.
        angles: Directions in the world frame in rad, shape (S,).
        rows: Row of each node, a free cell, shape (nodes,).
        cols: Column of each node.
        maximum: Longest range in m.
    """
    from isovist.kernels.sweep import sweep_all  # noqa: PLC0415

    directions = _directions(world, angles)
    nodes = _Nodes(world, rows, cols)
    ranges = np.empty((len(directions), nodes.count), dtype=np.float32)
    endings = np.empty((len(directions), nodes.count), dtype=np.uint8)
    sweep_all(*_codes(world), directions, *nodes.orders, _cells(world, maximum), ranges, endings)
    ranges *= np.float32(world.resolution)
    return readonly(ranges), readonly(endings)


def describe_field(
    world: OccupancyMap,
    angles: ArrayLike,
    weights: ArrayLike,
    rows: ArrayLike,
    cols: ArrayLike,
    *,
    transform: Transform = "range",
    scale: float = 1.0,
    maximum: float = np.inf,
    known: Iterable[Ending] = KNOWN,
) -> tuple[Float32Array, Float32Array]:
    """Descriptors F and known mass K of equation (1), both of shape (nodes, n), float32.

    Args:
        world: The map.
        angles: Directions in the world frame in rad, shape (S,).
        weights: W, shape (S, n), quadrature weights included.
        rows: Row of each node, a free cell, shape (nodes,).
        cols: Column of each node.
        transform: f: "range" r, "log" log(1 + r), "saturating" r / (r + scale), r in m.
        scale: In m, for "saturating".
        maximum: Longest range in m.
        known: Endings that count.
    """
    from isovist.kernels.sweep import accumulate, sweep_all  # noqa: PLC0415

    directions = _directions(world, angles)
    W = as_floats("weights", weights, (len(directions), None)).astype(np.float32)
    if transform not in TRANSFORMS:
        raise InputError(f"`transform` must be one of {', '.join(TRANSFORMS)}, got {transform}.")
    if not (np.isfinite(scale) and scale > 0.0):
        raise InputError(f"`scale` must be a positive length in m, got {scale}.")
    nodes = _Nodes(world, rows, cols)
    counted = np.isin(np.arange(4), [int(ending) for ending in known])
    F = np.zeros((nodes.count, W.shape[1]), dtype=np.float32)
    K = np.zeros_like(F)
    block = int(np.clip(BLOCK_BYTES // (5 * nodes.count), 1, 64))
    ranges = np.empty((block, nodes.count), dtype=np.float32)
    endings = np.empty((block, nodes.count), dtype=np.uint8)
    options = (world.resolution, TRANSFORMS.index(transform), scale)
    for first in range(0, len(directions), block):
        some = directions[first : first + block]
        r, e = ranges[: len(some)], endings[: len(some)]
        sweep_all(*_codes(world), some, *nodes.orders, _cells(world, maximum), r, e)
        accumulate(r, e, W[first : first + block], counted, *options, F, K)
    return readonly(F), readonly(K)


class _Nodes:
    """Nodes sorted by row and by column, each with its place in the outputs."""

    def __init__(self, world: OccupancyMap, rows: ArrayLike, cols: ArrayLike) -> None:
        r, c = np.asarray(rows), np.asarray(cols)
        if r.ndim != 1 or r.shape != c.shape or r.size == 0:
            raise InputError(
                f"`rows` and `cols` must be lists of equal length, got {r.shape} and {c.shape}."
            )
        height, width = world.shape
        inside = (r >= 0) & (r < height) & (c >= 0) & (c < width)
        if not inside.all() or (world.cells[r, c] != Cell.FREE).any():
            raise InputError("`rows` and `cols` must name free cells of the map.")
        self.count = r.size
        self.orders = (_sorted(r, c, height), _sorted(c, r, width))


def _sorted(majors: IntArray, minors: IntArray, size: int) -> tuple[IntArray, IntArray, IntArray]:
    """Start of each major index, then minor index and place of each node."""
    order = np.argsort(majors, kind="stable")
    start = np.searchsorted(majors[order], np.arange(size + 1))
    return start.astype(np.int64), minors[order].astype(np.int64), order.astype(np.int64)


def _codes(world: OccupancyMap) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The map padded for the kernels, rows first and columns first.  Made once."""
    from isovist.kernels.sweep import MOST_CELLS, PAD  # noqa: PLC0415

    derived = world._derived
    if max(world.shape) > MOST_CELLS:
        raise InputError(
            f"A map to sweep must have at most {MOST_CELLS} cells a side, got {world.shape}; "
            "take a coarser resolution or cut it in parts."
        )
    if "by_row" not in derived:
        derived["by_row"] = readonly(np.pad(world.cells, PAD, constant_values=3))
        derived["by_col"] = readonly(np.ascontiguousarray(derived["by_row"].T))
    return derived["by_row"], derived["by_col"]


def _directions(world: OccupancyMap, angles: ArrayLike) -> FloatArray:
    """Unit vectors in the map frame, shape (S, 2)."""
    turned = as_floats("angles", angles, (None,)) - world.origin.yaw
    if turned.size == 0:
        raise InputError("`angles` must not be empty.")
    return np.stack([np.cos(turned), np.sin(turned)], axis=-1)


def _cells(world: OccupancyMap, maximum: float) -> float:
    """A longest range in cells."""
    if not maximum > 0.0:
        raise InputError(f"`maximum` must be a positive length in m, got {maximum}.")
    return maximum / world.resolution
