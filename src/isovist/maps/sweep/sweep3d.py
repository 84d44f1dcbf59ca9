"""Ranges and descriptors of many cells of a `VoxelMap` at once, direction by direction.

F and the known mass K are those of `maps.sweep.sweep2d`, equation (1), with directions on the
sphere.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import ArrayLike, Float32Array, FloatArray, IntArray, as_floats, readonly
from isovist.errors import InputError
from isovist.maps.base import Ending
from isovist.maps.grid2d.occupancy_map import Cell
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.sweep.sweep2d import (
    BLOCK_BYTES,
    MEASURED_ENDINGS,
    MapPart,
    Transform,
    ray_signal,
    reach_in_cells,
    without_negligible,
)

EDGE = 3
LAYERS = 16  # whose ranges are put in place together: a line of cache holds as many


def free_voxels(world: VoxelMap, stride: int = 1, heights: ArrayLike | None = None) -> IntArray:
    """Return flat indices of free cells among every `stride`-th one along x and y.

    Args:
        world: The map.
        stride: Spacing in cells.
        heights: Lowest and highest z of the centres of the cells, in m; all by default.
    """
    if stride < 1:
        raise InputError.about("stride", f"must be at least 1 cell, got {stride}.")
    first = stride // 2
    levels = np.arange(world.shape[0])
    if heights is not None:
        low, high = as_floats("heights", heights, (2,))
        z = world.corner[2] + (levels + 0.5) * world.resolution
        levels = levels[(z >= low) & (z <= high)]
    lattice = np.ix_(levels, *(np.arange(first, n, stride) for n in world.shape[1:]))
    nodes = np.ravel_multi_index(tuple(np.broadcast_arrays(*lattice)), world.shape).ravel()
    nodes = nodes[world.grid.at(nodes) == Cell.FREE]
    if nodes.size == 0:
        raise InputError(
            f"No free cell lies on a lattice of {stride} cells at those heights; "
            "take a smaller `stride` or other `heights`.",
            code="empty",
        )
    return nodes


@dataclass(frozen=True, slots=True, eq=False)
class VoxelSweep:
    """The cells of a 3D map, prepared to be swept in any number of directions.

    Attributes:
        world: The map.
        nodes: Flat indices of free cells, shape (nodes,).  Read-only.
        part: Where the map lies in a larger one.
    """

    world: VoxelMap
    nodes: IntArray
    part: MapPart
    _orders: "tuple[_Order, ...]"

    @classmethod
    def over(cls, world: VoxelMap, nodes: ArrayLike, part: MapPart | None = None) -> "VoxelSweep":
        """Prepare a sweep over distinct free cells, given by flat index, shape (nodes,).

        With `part`, the map lies there in a larger one, and nodes farther from its edges than twice
        a longest range have the bits that they have in the whole.
        """
        index = np.asarray(nodes)
        if index.ndim != 1 or index.size == 0 or not np.issubdtype(index.dtype, np.integer):
            raise InputError.about("nodes", "must be a list of flat indices of cells.")
        inside = (index >= 0) & (index < world.grid.size)
        if not inside.all() or (world.grid.at(index) != Cell.FREE).any():
            raise InputError.about("nodes", "must name free cells of the map.", code="not_free")
        if np.unique(index).size < index.size:
            raise InputError.about("nodes", "must not name a cell twice.")
        lies = MapPart((0, 0, 0), world.shape, blocks_of(index)) if part is None else part
        nodes = readonly(index.astype(np.int64))
        place = np.stack(np.unravel_index(nodes, world.shape)[::-1])
        met = _met(world)
        orders = tuple(_order(world, u, place, *met, lies) for u in range(3))
        return cls(world, nodes, lies, orders)

    def ranges(
        self, directions: ArrayLike, *, maximum: float = np.inf
    ) -> tuple[Float32Array, NDArray[np.uint8]]:
        """Return ranges (m) and `Ending` codes of rays from cell centres, both (S, nodes).

        Args:
            directions: Vectors in the world frame, shape (S, 3).
            maximum: Longest range in m.
        """
        d, reach = _unit_vectors(directions), reach_in_cells(self.world, maximum)
        shape = len(d), len(self.nodes)
        ranges, endings = np.empty(shape, np.float32), np.empty(shape, np.uint8)
        for order, which in self._parted(d):
            order.sweep(d[which], True, reach, self.world.resolution, which, ranges, endings)
        return readonly(ranges), readonly(endings)

    def describe(
        self,
        directions: ArrayLike,
        weights: ArrayLike,
        *,
        transform: Transform = "linear",
        scale: float = 1.0,
        maximum: float = np.inf,
        known: Iterable[Ending] = MEASURED_ENDINGS,
    ) -> tuple[Float32Array, Float32Array]:
        """Compute descriptors F and known mass K, both of shape (nodes, n), float32.

        Args:
            directions: Vectors in the world frame, shape (S, 3).
            weights: W, shape (S, n), quadrature weights included.
            transform: Function f of the range in m, as in `sensing.signals.Range`.
            scale: Scale of f in m, for "logarithmic" and "saturating".
            maximum: Longest range in m.
            known: Endings that count.
        """
        from isovist.compute.grids.sweep2d import DIRECTION_GROUP, accumulate

        d = _unit_vectors(directions)
        W = as_floats("weights", weights, (len(d), None))
        signal = ray_signal(self.world, maximum, transform, scale, known)
        count = len(self.nodes)
        F = np.zeros((count, W.shape[1]), dtype=np.float32)
        K = np.zeros_like(F)
        (block,) = self.part.blocks
        ranges, endings = np.empty((block, count), np.float32), np.empty((block, count), np.uint8)
        in_order = np.arange(count)
        for order, which in self._parted(d):
            for first in range(0, len(which), block):
                some = which[first : first + block]
                r, e, rows = ranges[: len(some)], endings[: len(some)], np.arange(len(some))
                order.sweep(d[some], False, np.inf, 1.0, rows, r, e)
                w = np.pad(without_negligible(W[some]), ((0, -len(some) % DIRECTION_GROUP), (0, 0)))
                accumulate(r, e, in_order, order.slots, w, *signal, F, K)
        return readonly(F), readonly(K)

    def _parted(self, d: FloatArray) -> list[tuple["_Order", IntArray]]:
        """The directions parted by the axis along which they advance fastest."""
        major = np.argmax(np.abs(d), axis=1)
        parts = [(order, np.flatnonzero(major == u)) for u, order in enumerate(self._orders)]
        return [(order, which) for order, which in parts if which.size]


def blocks_of(nodes: IntArray) -> tuple[int]:
    """Return the number of directions that are summed together over nodes (`MapPart`)."""
    from isovist.compute.grids.sweep2d import DIRECTION_GROUP

    return (
        int(np.clip(BLOCK_BYTES // (5 * len(nodes)) // DIRECTION_GROUP * DIRECTION_GROUP, 16, 64)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Order:
    """The map and its nodes as `grids.sweep3d` wants them with one axis as the major one."""

    axes: tuple[int, int, int]
    part: MapPart
    layers: int
    width: int
    cells: tuple[IntArray, NDArray[np.int32]]
    runs: tuple[IntArray, NDArray[np.int32], IntArray]
    to: IntArray
    slots: IntArray
    moves: tuple[NDArray[np.int32], NDArray[np.int32]]

    def sweep(self, d: FloatArray, placed: bool, *rest: Any) -> None:
        """Sweep directions d; the outputs are in the order of the sweep unless placed."""
        from isovist.compute.grids.sweep3d import sweep_all

        turned = np.ascontiguousarray(d[:, self.axes])
        nothing = self.moves[0][:0]
        moves = self.moves if placed else (nothing, nothing)
        nodes = *self.runs, self.to if placed else self.runs[2][:-1]
        before = self.part.before(2 - self.axes[0], self.layers, turned[:, 0])
        sweep_all(self.cells, turned, before, self.width, nodes, moves, *rest)


def _order(
    world: VoxelMap, u: int, place: IntArray, met: NDArray[np.int32], codes: NDArray[np.uint8],
    part: MapPart,
) -> _Order:  # fmt: skip
    """The order of one major axis.

    Args:
        world: The map.
        u: The axis, 0 for x.
        place: Of the nodes, in cells along x, y and z, shape (3, nodes).
        met: Of the cells that can be met, likewise.
        codes: Theirs, 1 wall, 2 unknown, 3 edge.
        part: Where the map lies in a larger one.
    """
    # The longer minor axis is the contiguous one: the loops run along it.
    sizes = world.shape[::-1]
    v, w = sorted((k for k in range(3) if k != u), key=lambda k: part.whole[2 - k])
    shape = sizes[u], sizes[v], sizes[w]
    at = (place[u] * sizes[v] + place[v]) * sizes[w] + place[w]
    slots = np.argsort(at).astype(np.int32)
    at = at[slots]
    # A run of nodes ends where a cell is left out or a row is.
    ahead = (np.diff(at, prepend=-2) == 1) & (at % sizes[w] != 0)
    first = np.flatnonzero(~ahead)
    to, moves = slots[first].astype(np.int64), (slots[:0], slots[:0])
    if (np.diff(slots, prepend=-2)[ahead] != 1).any():
        # Some layers at a time, in the order of the outputs: what is written lies side by side.
        some = at // (sizes[w] * sizes[v] * LAYERS)
        places = np.lexsort((slots, some)).astype(np.int32)
        to, moves = first, (places, slots[places])
    starts = _starts(at[first], shape)
    # The cells that can be met have a border of one around the map.
    flat = ((met[u] + np.int64(1)) * (sizes[v] + 2) + met[v] + 1) * (sizes[w] + 2) + met[w] + 1
    order = np.argsort(flat)
    places = (4 * met[w][order] + codes[order]).astype(np.int32)
    return _Order(
        (u, v, w),
        part,
        sizes[u],
        sizes[w],
        (_starts(flat[order], (sizes[u] + 2, sizes[v] + 2, sizes[w] + 2)), places),
        (starts, (at[first] % sizes[w]).astype(np.int32), np.append(first, len(at))),
        to,
        slots.astype(np.int64),
        moves,
    )


def _starts(places: IntArray, shape: tuple[int, int, int]) -> IntArray:
    """Where each row begins among ascending flat indices, shape (u, v + 1) with the ends."""
    layers, rows, width = shape
    bounds = np.searchsorted(places, np.arange(layers * rows + 1) * width)
    ends = bounds[rows::rows, None]
    return np.concatenate([bounds[:-1].reshape(layers, rows), ends], axis=1)


def _met(world: VoxelMap) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Where lines can end: place along x, y and z, shape (3, k), and code, shape (k,).

    Cells with a face to a free cell, and cells beyond the edge beside one.
    """
    flat, codes = world.grid.surface()
    parts = [np.stack(np.unravel_index(flat, world.shape)[::-1]).astype(np.int32)]
    kinds = [codes]
    sizes = world.shape[::-1]
    for k in range(3):
        others = [j for j in range(3) if j != k]
        for last, beyond in ((0, -1), (sizes[k] - 1, sizes[k])):
            side = np.indices([sizes[j] for j in others], dtype=np.int32).reshape(2, -1)
            place = np.empty((3, side.shape[1]), dtype=np.int32)
            place[others], place[k] = side, last
            index = (place[2].astype(np.int64) * sizes[1] + place[1]) * sizes[0] + place[0]
            place = place[:, world.grid.at(index) == Cell.FREE]
            place[k] = beyond
            parts.append(place)
            kinds.append(np.full(place.shape[1], EDGE, dtype=np.uint8))
    return np.concatenate(parts, axis=1), np.concatenate(kinds)


def _unit_vectors(directions: ArrayLike) -> FloatArray:
    d = as_floats("directions", directions, (None, 3))
    lengths = np.linalg.norm(d, axis=1)
    if d.size == 0 or (lengths == 0.0).any():
        raise InputError.about(
            "directions", "must not be empty, and none of them zero.", code="missing"
        )
    return d / lengths[:, None]
