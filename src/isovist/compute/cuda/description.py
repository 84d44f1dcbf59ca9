"""Describe 2D maps on a card: rays of the nodes of a lattice, distances, and what rays walk on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, IntArray
from isovist.compute.cuda.device import BLOCK_THREADS, Argument, Device, DeviceArray, Kernel
from isovist.compute.requests import (
    DescribeMapRequest,
    DescribeNodesRequest,
    MapDescription,
    NodeSums,
    RaySet,
)
from isovist.errors import InputError

SWEEP = Kernel("sweep.cu", "sweep")
ACCUMULATE = Kernel("sweep.cu", "accumulate")
ALONG_COLUMNS = Kernel("fields.cu", "along_columns")
WARP, WARPS = 32, 4
"""Lines of a warp, and warps of a block, of `sweep.cu`."""
PADDING = WARP + 16
"""Empty cells of each class on both sides: lines of a warp lie at most so far outside."""
MAX_KING_MOVES = 253
"""Largest number of king moves in a byte (`compute.grids.distance`)."""
TABLE_BYTES = 1 << 33
"""Memory for the ranges that are on the card at a time."""
MAX_RAYS = 256
"""Rays of a node that a block of `sweep.cu` adds up at a time."""
MAX_SIDE = 1 << 19
"""Rows and columns that steps of `sweep.cu` can count."""
MAX_STRIDE = 64
"""Strides that steps of `sweep.cu` can count are smaller."""
NEGLIGIBLE_SHARE = 1e-9
"""Weights below this share of those of their channel are left out: float32 sums do not change."""


class Lattice(NamedTuple):
    """A lattice of cells: its first row and column, its stride, and its rows and columns."""

    row: int
    column: int
    stride: int
    rows: int
    columns: int


class _Axis(NamedTuple):
    """The directions that are swept along rows, or along columns.

    Attributes:
        mask: Which of all directions these are, shape (S,).
        is_rowwise: Whether they are swept row by row.
        origin: First cell of the lattice, the major axis first, as in what follows.
        shape: Nodes of the lattice along both axes.
        steps: Distances in memory from node to node along both axes.
        words: What lines meet, as bits.
        size: Columns, cells of a column, and words of a class.
    """

    mask: BoolArray
    is_rowwise: bool
    origin: tuple[int, int]
    shape: tuple[int, int]
    steps: tuple[int, int]
    words: DeviceArray
    size: tuple[int, int, int]


def describe_nodes(device: Device, request: DescribeNodesRequest) -> NodeSums:
    """Sum the rays of nodes, taken from the smallest lattice that holds them all."""
    cp, rows, columns = device.cp, request.rows, request.columns
    row, column = int(rows.min()), int(columns.min())
    stride = int(np.gcd(np.gcd.reduce(rows - row), np.gcd.reduce(columns - column))) or 1
    height = (int(rows.max()) - row) // stride + 1
    width = (int(columns.max()) - column) // stride + 1
    lattice = Lattice(row, column, stride, height, width)
    F, K = sweep(device, cp.asarray(request.cells), lattice, request.rays)
    nodes = cp.asarray((rows - row) // stride * width + (columns - column) // stride)
    return NodeSums(cp.asnumpy(F[nodes]), cp.asnumpy(K[nodes]))


def describe_map(device: Device, request: DescribeMapRequest) -> MapDescription | None:
    """Describe a map; `None` without free nodes or walls, which the caller then reports."""
    cp, shape, stride = device.cp, request.cells.shape, request.stride
    cells = cp.asarray(request.cells)
    size = _int32(shape)
    clear, faces = cp.empty_like(cells), cp.empty_like(cells)
    _for_each_cell(device, "bridge", shape, cells, *size, np.float64(request.gap), clear)
    _for_each_cell(device, "faces", shape, cells, *size, faces)
    first = stride // 2
    is_free = clear[first::stride, first::stride] == 0
    nodes = cp.flatnonzero(is_free)
    if not (len(nodes) and bool(faces.any())):
        return None
    lattice = Lattice(first, first, stride, *is_free.shape)
    F, K = (sums[nodes] for sums in sweep(device, clear, lattice, request.rays))
    totals = request.rays.weights.sum(axis=0, dtype=np.float32)
    is_unknown = K / cp.asarray(totals) < request.min_known
    descriptors = cp.where(is_unknown, cp.float32(request.unknown), F / K)
    rows, columns = cp.divmod(nodes, is_free.shape[1])
    index = (rows * stride + first) * shape[1] + columns * stride + first
    distance = cp.empty(shape, dtype=cp.float32)
    gaps = _gaps(device, faces, sum(shape))
    _for_each_cell(device, "along_rows", shape, gaps, *size, distance)
    walls = (cells == 1).astype(cp.uint8)
    parts = index, descriptors, distance, _skip(device, clear), _skip(device, walls)
    return MapDescription(*(cp.asnumpy(part) for part in parts))


def sweep(
    device: Device, cells: DeviceArray, lattice: Lattice, rays: RaySet
) -> tuple[DeviceArray, DeviceArray]:
    """Return F and K of the nodes of a lattice, row by row."""
    cp, stride = device.cp, lattice.stride
    if not (stride < MAX_STRIDE and max(cells.shape) < MAX_SIDE):
        raise InputError(
            f"The cuda backend describes maps of fewer than {MAX_SIDE} rows and columns with nodes "
            f"at most {MAX_STRIDE - 1} cells apart, got {max(cells.shape)} and {stride}. "
            "Take a smaller `spacing`, crop the map, or use the cpu backend.",
            code="too_large",
        )
    map_sweep = _Sweep(device, cells, lattice, rays)
    count, channels = lattice.rows * lattice.columns, rays.weights.shape[1]
    F, K = (cp.empty((count, channels), dtype=cp.float32) for _ in range(2))
    group = int(np.clip(TABLE_BYTES // (4 * count), 1, MAX_RAYS))
    for start in range(0, len(rays.directions), group):
        index = np.arange(start, min(start + group, len(rays.directions)))
        map_sweep.accumulate(index, map_sweep.ranges(index), F, K)
    return F, K


class _Sweep:
    """A map on the card, and the rays of the nodes of a lattice."""

    def __init__(self, device: Device, cells: DeviceArray, lattice: Lattice, rays: RaySet) -> None:
        self.device, self.lattice, self.rays = device, lattice, rays
        row, column, stride, rows, columns = lattice
        self.count = rows * columns
        self.is_upright = np.abs(rays.directions[:, 1]) > np.abs(rays.directions[:, 0])
        self.axes = (
            _Axis(self.is_upright, True, (row, column), (rows, columns), (columns, 1),
                  *_surface(device, cells, stride, False)),
            _Axis(~self.is_upright, False, (column, row), (columns, rows), (rows, 1),
                  *_surface(device, cells, stride, True)),
        )  # fmt: skip
        self.reach = np.float32(min(rays.signal.reach, float(np.finfo(np.float32).max)))

    def ranges(self, index: IntArray) -> DeviceArray:
        """Return the ranges of some rays from all nodes, in cells, −1 where they do not count.

        Nodes lie column by column for rays along columns, else row by row.
        """
        cp, stride = self.device.cp, self.lattice.stride
        endings = np.int32(np.packbits(self.rays.signal.endings, bitorder="little")[0])
        ranges = cp.empty((len(index), self.count), dtype=cp.float32)
        for axis in self.axes:
            rays = index[axis.mask[index]]
            if len(rays) == 0:
                continue
            directions = self.rays.directions[rays]
            if axis.is_rowwise:
                directions = directions[:, ::-1]
            warps = -(-(axis.size[0] + axis.size[1] + 16) // (WARP * stride)) * stride
            self.device.launch(
                SWEEP, (-(-warps // WARPS), len(rays)), WARP * WARPS, axis.words,
                *_int32((*axis.size, PADDING * stride)),
                cp.asarray(np.ascontiguousarray(directions)),
                cp.asarray((rays - index[0]).astype(np.int32)),
                *_int32((*axis.origin, stride, *axis.shape)),
                *(np.int64(v) for v in (*axis.steps, self.count)), self.reach, endings, ranges,
            )  # fmt: skip
        return ranges

    def accumulate(
        self, index: IntArray, ranges: DeviceArray, F: DeviceArray, K: DeviceArray
    ) -> None:
        """Add some rays to F and K; the first rays begin them."""
        cp, rays, lattice = self.device.cp, self.rays, self.lattice
        channels, signal = rays.weights.shape[1], rays.signal
        starts, weights, totals = _sparse(rays.weights[index])
        shared = 4 * (WARP * len(index) + WARP * (channels + 1)) + weights.nbytes
        self.device.launch(
            ACCUMULATE, (-(-lattice.columns // 8), -(-lattice.rows // 4)), BLOCK_THREADS, ranges,
            cp.asarray(~self.is_upright[index]),
            *_int32((len(index), lattice.rows, lattice.columns, channels)),
            *map(cp.asarray, (starts, weights, totals)), self.reach, np.float32(signal.cell),
            np.int32(signal.transform), np.float32(signal.scale), np.bool_(index[0] > 0), F, K,
            shared=shared,
        )  # fmt: skip


def _surface(
    device: Device, cells: DeviceArray, stride: int, is_transposed: bool
) -> tuple[DeviceArray, tuple[int, int, int]]:
    """Return the last two attributes of an `_Axis`."""
    majors, minors = cells.shape[::-1] if is_transposed else cells.shape
    class_words = -(-(minors // stride + 2 + 2 * PADDING) // 32) + 1
    words = device.cp.empty((majors + 2, stride * class_words, 2), dtype=device.cp.uint32)
    shape = majors + 2, 32 * stride * class_words
    layout = stride, 32 * class_words, PADDING * stride, *shape
    _for_each_cell(device, "surface", shape, cells, *_int32(cells.shape), np.bool_(is_transposed),
                   *_int32(layout), words)  # fmt: skip
    return words, (majors, minors, class_words)


def _gaps(device: Device, mask: DeviceArray, limit: int) -> DeviceArray:
    """Return the steps along its column from each cell to the nearest one of a mask."""
    height, width = mask.shape
    gaps = device.cp.empty(mask.shape, dtype=device.cp.int32)
    grid = (-(-width // BLOCK_THREADS), 1)
    device.launch(ALONG_COLUMNS, grid, BLOCK_THREADS, mask, *_int32((height, width, limit)), gaps)
    return gaps


def _skip(device: Device, cells: DeviceArray) -> DeviceArray:
    """Return what `maps.grid2d.occupancy_map.skip_of` returns."""
    cp = device.cp
    padded = cp.pad(cells, 1, constant_values=3)
    is_free = padded == 0
    moves = cp.empty_like(padded)
    gaps = _gaps(device, (~is_free).astype(cp.uint8), MAX_KING_MOVES)
    size = _int32((*padded.shape, MAX_KING_MOVES))
    _for_each_cell(device, "king_moves", padded.shape, gaps, *size, moves)
    return cp.where(is_free, moves + cp.uint8(2), padded - cp.uint8(1))


def _for_each_cell(device: Device, name: str, shape: tuple[int, int], *arguments: Argument) -> None:
    """Run a kernel of `fields.cu` with a thread for each cell."""
    grid = -(-shape[1] // BLOCK_THREADS), shape[0]
    device.launch(Kernel("fields.cu", name), grid, BLOCK_THREADS, *arguments)


def _int32(values: tuple[int, ...]) -> tuple[np.int32, ...]:
    """Return whole numbers as kernels take them."""
    return tuple(np.int32(value) for value in values)


def _sparse(weights: Float32Array) -> tuple[NDArray[np.int32], IntArray, Float32Array]:
    """Return the weights of each channel without negligible ones.

    Returns:
        Where the entries of each channel begin, shape (n + 1,); ray and weight of each entry,
        packed in 8 bytes; and the sums of the weights of each channel, shape (n,).
    """
    mask = np.abs(weights) > NEGLIGIBLE_SHARE * np.abs(weights).sum(axis=0)
    channel, ray = np.nonzero(mask.T)
    entries = np.empty(len(ray), dtype=[("ray", np.int32), ("weight", np.float32)])
    entries["ray"], entries["weight"] = ray, weights[ray, channel]
    starts = np.searchsorted(channel, np.arange(weights.shape[1] + 1)).astype(np.int32)
    totals = np.where(mask, weights, 0.0).sum(axis=0, dtype=np.float32)
    return starts, entries.view(np.int64), totals
