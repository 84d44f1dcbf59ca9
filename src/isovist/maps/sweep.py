"""Ranges and descriptors of many cells at once, by sweeping the map direction by direction.

With ranges r_s along directions θ_s, weights W of shape (S, n) and a transform f,

    F_i = Σ_s known_s f(r_s) W_si,      K_i = Σ_s known_s W_si,                             (1)

where known_s says whether the ending of the ray counts: by default a wall or the maximum does,
unknown cells and the edge of the map do not.  The S × nodes table of ranges is never held for F.
"""

from collections.abc import Iterable
from dataclasses import dataclass
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
    from isovist.kernels.sweep import sweep_all

    reach = _cells(world, maximum)
    axes = _axes(world, angles, rows, cols)
    shape = sum(len(axis.which) for axis in axes), axes[0].slots.size
    ranges = np.empty(shape, dtype=np.float32)
    endings = np.empty(shape, dtype=np.uint8)
    for axis in axes:
        nodes = axis.start, axis.minors, axis.slots
        sweep_all(axis.codes, axis.directions, nodes, reach, axis.which, ranges, endings)
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
    from isovist.kernels.sweep import GROUP, accumulate, sweep_all

    reach = _cells(world, maximum)
    axes = _axes(world, angles, rows, cols)
    W = as_floats("weights", weights, (sum(len(axis.which) for axis in axes), None))
    if transform not in TRANSFORMS:
        raise InputError(f"`transform` must be one of {', '.join(TRANSFORMS)}, got {transform}.")
    if not (np.isfinite(scale) and scale > 0.0):
        raise InputError(f"`scale` must be a positive length in m, got {scale}.")
    counted = np.isin(np.arange(4), [int(ending) for ending in known])
    options = counted, world.resolution, TRANSFORMS.index(transform), scale
    count = axes[0].slots.size
    F = np.zeros((count, W.shape[1]), dtype=np.float32)
    K = np.zeros_like(F)
    block = GROUP * int(np.clip(BLOCK_BYTES // (5 * count) // GROUP, 1, 16))
    ranges = np.empty((block, count), dtype=np.float32)
    endings = np.empty((block, count), dtype=np.uint8)
    in_order = np.arange(count, dtype=np.uint32)
    for axis in axes:
        for first in range(0, len(axis.which), block):
            some = axis.directions[first : first + block]
            r, e = ranges[: len(some)], endings[: len(some)]
            nodes = axis.start, axis.minors, in_order
            sweep_all(axis.codes, some, nodes, reach, np.arange(len(some)), r, e)
            w = W[axis.which[first : first + block]].astype(np.float32)
            w = np.pad(w, ((0, -len(w) % GROUP), (0, 0)))
            accumulate(r, e, w, axis.slots, *options, F, K)
    return readonly(F), readonly(K)


@dataclass(frozen=True, slots=True, eq=False)
class _Axis:
    """What is swept with rows, or with columns, as the major axis; see `kernels.sweep`."""

    codes: NDArray[np.uint8]
    which: IntArray
    directions: FloatArray
    start: IntArray
    minors: NDArray[np.uint32]
    slots: NDArray[np.uint32]


def _axes(
    world: OccupancyMap, angles: ArrayLike, rows: ArrayLike, cols: ArrayLike
) -> tuple[_Axis, _Axis]:
    """The directions parted by major axis, with the nodes in the order each wants."""
    from isovist.kernels.sweep import PAD

    turned = as_floats("angles", angles, (None,)) - world.origin.yaw
    if turned.size == 0:
        raise InputError("`angles` must not be empty.")
    r, c = np.asarray(rows), np.asarray(cols)
    if r.ndim != 1 or r.shape != c.shape or r.size == 0:
        raise InputError(
            f"`rows` and `cols` must be lists of equal length, got {r.shape} and {c.shape}."
        )
    height, width = world.shape
    inside = (r >= 0) & (r < height) & (c >= 0) & (c < width)
    if not inside.all() or (world.cells[r, c] != Cell.FREE).any():
        raise InputError("`rows` and `cols` must name free cells of the map.")
    derived = world._derived
    if "by_row" not in derived:
        derived["by_row"] = readonly(np.pad(world.cells, PAD, constant_values=3))
        derived["by_col"] = readonly(np.ascontiguousarray(derived["by_row"].T))
    x, y = np.cos(turned), np.sin(turned)
    upright = np.abs(y) > np.abs(x)
    return (
        _axis(derived["by_row"], np.flatnonzero(upright), y, x, r, c),
        _axis(derived["by_col"], np.flatnonzero(~upright), x, y, c, r),
    )


def _axis(
    codes: NDArray[np.uint8],
    which: IntArray,
    u: FloatArray,
    v: FloatArray,
    majors: IntArray,
    minors: IntArray,
) -> _Axis:
    order = np.argsort(majors, kind="stable")
    start = np.searchsorted(majors[order], np.arange(len(codes) + 1))
    directions = np.stack([u[which], v[which]], axis=-1)
    return _Axis(
        codes,
        which,
        directions,
        start,
        minors[order].astype(np.uint32),
        order.astype(np.uint32),
    )


def _cells(world: OccupancyMap, maximum: float) -> float:
    """A longest range in cells."""
    if not maximum > 0.0:
        raise InputError(f"`maximum` must be a positive length in m, got {maximum}.")
    return maximum / world.resolution
