"""Compute ranges and descriptors of many cells of a `VoxelMap` at once, per direction.

F and the known mass K are those of `maps.sweep.sweep2d`, equation (1), with directions on the
sphere.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import ArrayLike, Float32Array, FloatArray, IntArray, as_floats, readonly
from isovist.errors import InputError
from isovist.maps.cells import Cell
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.sweep.sweep2d import (
    BLOCK_BYTES,
    MapPart,
    RangeSum,
    reach_in_cells,
    without_negligible,
)

EDGE = 3
LAYERS = 16  # layers whose ranges are written together: as many as fill a cache line


def free_voxels(world: VoxelMap, stride: int = 1, heights: ArrayLike | None = None) -> IntArray:
    """Return flat indices of the free cells in every `stride`-th row and column.

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
        part: Position of the map in a larger one.
    """

    world: VoxelMap
    nodes: IntArray
    part: MapPart
    _orders: "tuple[_Order, ...]"

    @classmethod
    def over(cls, world: VoxelMap, nodes: ArrayLike, part: MapPart | None = None) -> "VoxelSweep":
        """Prepare a sweep over distinct free cells, given by flat index, shape (nodes,).

        With `part`, nodes farther from the edges of the map than twice the longest range have the
        same bits as in the larger map.
        """
        index = np.asarray(nodes)
        if index.ndim != 1 or index.size == 0 or not np.issubdtype(index.dtype, np.integer):
            raise InputError.about("nodes", "must be a list of flat indices of cells.")
        inside = (index >= 0) & (index < world.grid.size)
        if not inside.all() or (world.grid.at(index) != Cell.FREE).any():
            raise InputError.about("nodes", "must name free cells of the map.", code="not_free")
        if np.unique(index).size < index.size:
            raise InputError.about("nodes", "must not name a cell twice.")
        if part is None:
            part = MapPart((0, 0, 0), world.shape, direction_blocks_3d(index))
        nodes = readonly(index.astype(np.int64))
        positions = np.stack(np.unravel_index(nodes, world.shape)[::-1])
        surface = _surface(world)
        orders = tuple(_order(world, u, positions, surface, part) for u in range(3))
        return cls(world, nodes, part, orders)

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
        for order, index in self._by_axis(d):
            order.sweep(d[index], True, reach, self.world.resolution, index, ranges, endings)
        return readonly(ranges), readonly(endings)

    def describe(
        self, directions: ArrayLike, weights: ArrayLike, ranges: RangeSum | None = None
    ) -> tuple[Float32Array, Float32Array]:
        """Compute descriptors F and known mass K, both of shape (nodes, n), float32.

        Args:
            directions: Vectors in the world frame, shape (S, 3).
            weights: Weights W, including those of the quadrature, shape (S, n).
            ranges: Transform and limit of the ranges.

        Raises:
            InputError: If an argument has a wrong shape or value.
        """
        from isovist.compute import DIRECTION_GROUP, accumulate_ranges

        d = _unit_vectors(directions)
        W = as_floats("weights", weights, (len(d), None))
        signal = (ranges or RangeSum()).signal(self.world)
        count = len(self.nodes)
        F = np.zeros((count, W.shape[1]), dtype=np.float32)
        K = np.zeros_like(F)
        (block,) = self.part.blocks
        lengths, endings = np.empty((block, count), np.float32), np.empty((block, count), np.uint8)
        in_order = np.arange(count)
        for order, index in self._by_axis(d):
            for first in range(0, len(index), block):
                part = index[first : first + block]
                n = len(part)
                order.sweep(d[part], False, np.inf, 1.0, np.arange(n), lengths[:n], endings[:n])
                w = np.pad(without_negligible(W[part]), ((0, -n % DIRECTION_GROUP), (0, 0)))
                accumulate_ranges(lengths[:n], endings[:n], in_order, order.slots, w, *signal, F, K)
        return readonly(F), readonly(K)

    def _by_axis(self, d: FloatArray) -> list[tuple["_Order", IntArray]]:
        """Divide the directions by the axis along which they advance fastest."""
        major = np.argmax(np.abs(d), axis=1)
        parts = [(order, np.flatnonzero(major == u)) for u, order in enumerate(self._orders)]
        return [(order, index) for order, index in parts if index.size]


def direction_blocks_3d(nodes: IntArray) -> tuple[int]:
    """Return the number of directions that are summed together over nodes (`MapPart`)."""
    from isovist.compute import DIRECTION_GROUP

    return (
        int(np.clip(BLOCK_BYTES // (5 * len(nodes)) // DIRECTION_GROUP * DIRECTION_GROUP, 16, 64)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Order:
    """The map and its nodes for `grids.sweep3d`, with one axis as the major one."""

    axes: tuple[int, int, int]
    part: MapPart
    layers: int
    width: int
    cells: tuple[IntArray, NDArray[np.int32]]
    runs: tuple[IntArray, NDArray[np.int32], IntArray]
    to: IntArray
    slots: IntArray
    moves: tuple[NDArray[np.int32], NDArray[np.int32]]

    def sweep(self, d: FloatArray, in_node_order: bool, *outputs: Any) -> None:
        """Sweep directions d; outputs are in the order of the nodes, or of the sweep."""
        from isovist.compute import sweep_all_3d

        rotated = np.ascontiguousarray(d[:, self.axes])
        nothing = self.moves[0][:0]
        moves = self.moves if in_node_order else (nothing, nothing)
        nodes = *self.runs, self.to if in_node_order else self.runs[2][:-1]
        before = self.part.before(2 - self.axes[0], self.layers, rotated[:, 0])
        sweep_all_3d(self.cells, rotated, before, self.width, nodes, moves, *outputs)


def _order(
    world: VoxelMap,
    u: int,
    positions: IntArray,
    surface: tuple[NDArray[np.int32], NDArray[np.uint8]],
    part: MapPart,
) -> _Order:
    """Sort the nodes and the surface of a map for one major axis.

    Args:
        world: The map.
        u: The axis, 0 for x.
        positions: Nodes in cells along x, y and z, shape (3, nodes).
        surface: Cells where rays can end, as by `_surface`.
        part: Position of the map in a larger one.
    """
    # The longer minor axis is the contiguous one: the loops run along it.
    sizes = world.shape[::-1]
    v, w = sorted((k for k in range(3) if k != u), key=lambda k: part.full_shape[2 - k])
    shape = sizes[u], sizes[v], sizes[w]
    at = (positions[u] * sizes[v] + positions[v]) * sizes[w] + positions[w]
    slots = np.argsort(at).astype(np.int32)
    at = at[slots]
    # A run of nodes ends at a cell without a node, and at the end of a row.
    continues = (np.diff(at, prepend=-2) == 1) & (at % sizes[w] != 0)
    first = np.flatnonzero(~continues)
    to, moves = slots[first].astype(np.int64), (slots[:0], slots[:0])
    if (np.diff(slots, prepend=-2)[continues] != 1).any():
        # A few layers at a time, in the order of the outputs, so that writes are contiguous.
        layers = at // (sizes[w] * sizes[v] * LAYERS)
        places = np.lexsort((slots, layers)).astype(np.int32)
        to, moves = first, (places, slots[places])
    starts = _starts(at[first], shape)
    # The surface has a border of one around the map.
    cells, codes = surface
    flat = ((cells[u] + np.int64(1)) * (sizes[v] + 2) + cells[v] + 1) * (sizes[w] + 2)
    flat += cells[w] + 1
    order = np.argsort(flat)
    ends = (4 * cells[w][order] + codes[order]).astype(np.int32)
    return _Order(
        axes=(u, v, w),
        part=part,
        layers=sizes[u],
        width=sizes[w],
        cells=(_starts(flat[order], (sizes[u] + 2, sizes[v] + 2, sizes[w] + 2)), ends),
        runs=(starts, (at[first] % sizes[w]).astype(np.int32), np.append(first, len(at))),
        to=to,
        slots=slots.astype(np.int64),
        moves=moves,
    )


def _starts(places: IntArray, shape: tuple[int, int, int]) -> IntArray:
    """Return the start of each row among ascending flat indices, shape (u, v + 1) with ends."""
    layers, rows, width = shape
    bounds = np.searchsorted(places, np.arange(layers * rows + 1) * width)
    ends = bounds[rows::rows, None]
    return np.concatenate([bounds[:-1].reshape(layers, rows), ends], axis=1)


def _surface(world: VoxelMap) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return the cells where rays can end: position (x, y, z), shape (3, k), and code, shape (k,).

    These are cells with a face to a free cell, also outside the edge of the map.  Codes are 1 wall,
    2 unknown, 3 edge.
    """
    flat, codes = world.grid.surface()
    parts = [np.stack(np.unravel_index(flat, world.shape)[::-1]).astype(np.int32)]
    kinds = [codes]
    sizes = world.shape[::-1]
    for k in range(3):
        others = [j for j in range(3) if j != k]
        for inner, outer in ((0, -1), (sizes[k] - 1, sizes[k])):
            side = np.indices([sizes[j] for j in others], dtype=np.int32).reshape(2, -1)
            place = np.empty((3, side.shape[1]), dtype=np.int32)
            place[others], place[k] = side, inner
            index = (place[2].astype(np.int64) * sizes[1] + place[1]) * sizes[0] + place[0]
            place = place[:, world.grid.at(index) == Cell.FREE]
            place[k] = outer
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
