"""The backend of NVIDIA cards, through CuPy (`pip install 'isovist[cuda]'`).

Sources are compiled when the first of their kernels is called.  What a map is made of stays on the
card as long as it lives on this machine; scans and poses travel with each call.  Products are never
fused with sums, so that what is exact on the cores is the same here bit by bit.
"""

import weakref
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.backends.base import Backend, Bytes, Described, Rays
from isovist.errors import InputError
from isovist.types import Float32Array, IntArray

OPTIONS = ("--std=c++17", "--fmad=false")
LINES = 128
"""Lines of a block of `sweep.cu`."""
PAD = 2 * LINES + 32
"""Zeros on both sides of a row of cells: lines of a block lie at most so far outside."""
BLOCK = 256
MOVES = 253
"""Largest number of king moves (`kernels.distance.MOST`)."""
TABLE_BYTES = 1 << 33
"""Ranges that are on the card at a time."""
NEEDED = (
    "The cuda backend needs an NVIDIA card and CuPy, and {}. "
    "Install isovist[cuda] on a machine that has a card, or leave the backend out."
)


class CudaBackend(Backend):
    """An NVIDIA card."""

    name = "cuda"
    exhaustive = True

    def __init__(self) -> None:
        try:
            import cupy
        except ImportError:
            raise InputError(NEEDED.format("CuPy is not installed")) from None
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError:
            count = 0
        if count == 0:
            raise InputError(NEEDED.format("no card was found"))
        self.cp: Any = cupy
        self._kept: dict[Any, Any] = {}

    def on_card(self, array: NDArray[Any]) -> Any:
        """A copy of an array on the card; of one that nobody writes to, the same each time."""
        if array.flags.writeable:
            return self.cp.asarray(array)
        pointer = array.__array_interface__["data"][0]
        key = pointer, array.shape, array.strides, array.dtype.str
        if key not in self._kept:
            owner = array
            while isinstance(owner.base, np.ndarray):
                owner = owner.base
            self._kept[key] = self.cp.asarray(array)
            weakref.finalize(owner, self._kept.pop, key, None)
        return self._kept[key]

    def launch(self, source: str, name: str, grid: tuple[int, ...], block: int, *arguments: Any,
               shared: int = 0) -> None:  # fmt: skip
        """Run a kernel of one of the sources beside this file."""
        function = _module(source).get_function(name)
        function(grid, (block,), arguments, shared_mem=shared)

    def describe(
        self, cells: Bytes, rows: IntArray, columns: IntArray, rays: Rays
    ) -> tuple[Float32Array, Float32Array]:
        low = int(rows.min()), int(columns.min())
        stride = int(np.gcd(np.gcd.reduce(rows - low[0]), np.gcd.reduce(columns - low[1]))) or 1
        size = [(int(at.max()) - first) // stride + 1
                for at, first in zip((rows, columns), low, strict=True)]  # fmt: skip
        F, K = self._swept(self.cp.asarray(cells), (*low, stride, size[0], size[1]), rays)
        at = self.cp.asarray((rows - low[0]) // stride * size[1] + (columns - low[1]) // stride)
        return self.cp.asnumpy(F[at]), self.cp.asnumpy(K[at])

    def plane(
        self, cells: Bytes, stride: int, gap: float, rays: Rays, unknown: tuple[float, float]
    ) -> Described | None:
        cp = self.cp
        given = cp.asarray(cells)
        size = tuple(np.int32(v) for v in cells.shape)
        clear, met = cp.empty_like(given), cp.empty_like(given)
        self._each("bridge", cells.shape, given, *size, np.float64(gap), clear)
        self._each("faces", cells.shape, given, *size, met)
        first = stride // 2
        free = clear[first::stride, first::stride] == 0
        at = cp.flatnonzero(free)
        if not (len(at) and bool(met.any())):
            return None
        F, K = self._swept(clear, (first, first, stride, *free.shape), rays)
        F, K = F[at], K[at]
        least, far = unknown
        missing = K / cp.asarray(rays.weights.sum(axis=0, dtype=np.float32)) < least
        F = cp.where(missing, cp.float32(far), F / K)
        rows, columns = cp.divmod(at, free.shape[1])
        nodes = (rows * stride + first) * cells.shape[1] + columns * stride + first
        distance = cp.empty(cells.shape, dtype=cp.float32)
        self._each("along_rows", cells.shape, self._gaps(met, sum(cells.shape)), *size, distance)
        bare = (given == 1).astype(cp.uint8)
        parts = nodes, F, distance, self._skip(clear), self._skip(bare)
        return Described(*(cp.asnumpy(part) for part in parts))

    def _swept(
        self, cells: Any, lattice: tuple[int, int, int, int, int], rays: Rays
    ) -> tuple[Any, Any]:
        """F and K of a lattice of cells: first row and column, stride, rows and columns of it."""
        cp = self.cp
        height, width = cells.shape
        if 4 * (max(cells.shape) + 2) * (min(cells.shape) + 2 + 2 * PAD) >= 1 << 31:
            raise InputError("A map for the cuda backend has at most 500 million cells.")
        r0, c0, stride, rows, columns = lattice
        pitches = [size + 2 + 2 * PAD for size in (width, height)]
        by_rows = cp.zeros((height + 2, pitches[0]), dtype=cp.uint8)
        by_columns = cp.zeros((width + 2, pitches[1]), dtype=cp.uint8)
        self._each("surface", (height + 2, width + 2), cells, np.int32(height + 2),
                   np.int32(width + 2), np.int32(PAD), by_rows, np.int32(pitches[0]), by_columns,
                   np.int32(pitches[1]))  # fmt: skip
        upright = np.abs(rays.along[:, 1]) > np.abs(rays.along[:, 0])
        axes = (
            (upright, rays.along[:, ::-1], by_rows, (height, width, pitches[0]),
             (r0, c0, stride, rows, columns), (columns, 1)),
            (~upright, rays.along, by_columns, (width, height, pitches[1]),
             (c0, r0, stride, columns, rows), (1, columns)),
        )  # fmt: skip
        count, n = rows * columns, rays.weights.shape[1]
        longest = min(rays.reach, float(np.finfo(np.float32).max))
        ending = (
            np.float32(longest), np.float32(rays.unit), np.int32(rays.transform),
            np.float32(rays.scale), np.int32(np.packbits(rays.counted, bitorder="little")[0]),
        )  # fmt: skip
        F, K = cp.zeros((count, n), dtype=cp.float32), cp.zeros((count, n), dtype=cp.float32)
        most = max(1, TABLE_BYTES // (8 * count))
        for mine, along, codes, size, place, steps in axes:
            which = np.flatnonzero(mine)
            blocks = -(-(size[0] + size[1] + 16) // LINES)
            for start in range(0, len(which), most):
                some = which[start : start + most]
                values = cp.full((len(some), count), -1.0, dtype=cp.float32)
                self.launch(
                    "sweep.cu", "sweep", (blocks, len(some)), LINES, codes,
                    *(np.int32(v) for v in (*size, PAD)),
                    cp.asarray(np.ascontiguousarray(along[some])),
                    *(np.int32(v) for v in place), *(np.int64(v) for v in (*steps, count)),
                    *ending, values,
                )  # fmt: skip
                known = values >= 0.0
                weights = cp.asarray(rays.weights[some])
                F += cp.maximum(values, 0.0).T @ weights
                K += known.astype(cp.float32).T @ weights
        return F, K

    def _gaps(self, met: Any, most: int) -> Any:
        height, width = met.shape
        gaps = self.cp.empty(met.shape, dtype=self.cp.int32)
        grid = (-(-width // BLOCK), 1)
        self.launch("fields.cu", "along_columns", grid, BLOCK, met, np.int32(height),
                    np.int32(width), np.int32(most), gaps)  # fmt: skip
        return gaps

    def _skip(self, cells: Any) -> Any:
        """`maps.cells.skip_of`."""
        cp = self.cp
        padded = cp.pad(cells, 1, constant_values=3)
        free = padded == 0
        moves = cp.empty_like(padded)
        gaps = self._gaps((~free).astype(cp.uint8), MOVES)
        size = tuple(np.int32(v) for v in padded.shape)
        self._each("kings", padded.shape, gaps, *size, np.int32(MOVES), moves)
        return cp.where(free, moves + cp.uint8(2), padded - cp.uint8(1))

    def _each(self, name: str, shape: tuple[int, int], *arguments: Any) -> None:
        height, width = shape
        self.launch("fields.cu", name, (-(-width // BLOCK), height), BLOCK, *arguments)

    def correlate(self, *arguments: Any) -> None:
        nodes, active, windows, seen, allowed, short, long, costs, headings = arguments
        cp = self.cp
        phases, rings, m = windows.shape
        n, keep = nodes.shape[2], costs.shape[1]
        counts = seen.sum(axis=-1, dtype=np.int32)
        channels = np.argsort(~seen, axis=-1, kind="stable").astype(np.int32)
        out = cp.empty(costs.shape, dtype=cp.float32), cp.empty(costs.shape, dtype=cp.int32)
        threads = -(-n * phases // 32) * 32
        shared = 4 * (2 * n * rings + n * phases)
        self.launch(
            "search.cu", "correlate", (min(len(active), 1 << 20), 1), threads,
            self.on_card(nodes), np.int32(rings), np.int32(n), cp.asarray(active),
            np.int64(len(active)), cp.asarray(windows), cp.asarray(channels), cp.asarray(counts),
            np.int32(phases), np.int32(m), cp.asarray(allowed), np.float32(-short),
            np.float32(long), np.int32(keep), *out, shared=shared,
        )  # fmt: skip
        out[0].get(out=costs)
        out[1].get(out=headings)

    def align(self, *arguments: Any) -> None:
        field, ends, widths, damping, poses, normal = arguments
        cp = self.cp
        moved, sums = cp.asarray(poses), cp.empty(normal.shape)
        self.launch(
            "fit.cu", "align", (-(-len(poses) // 4), 1), 128, self.on_card(field),
            *(np.int32(v) for v in field.shape), cp.asarray(ends),
            cp.asarray(np.array([0, len(ends)], dtype=np.int32)),
            cp.zeros(len(poses), dtype=cp.int32), cp.asarray(widths), np.int32(len(widths)),
            np.float64(damping), np.int32(len(poses)), moved, sums,
        )  # fmt: skip
        moved.get(out=poses)
        sums.get(out=normal)

    def score(self, *arguments: Any) -> None:
        skip, walls, field, unit, model, ends, poses, ratings, kinds = arguments
        cp = self.cp
        out = cp.empty(ratings.shape, dtype=cp.float32), cp.empty(kinds.shape, dtype=cp.uint8)
        self.launch(
            "fit.cu", "score", (-(-ratings.size // 128), 1), 128, self.on_card(skip),
            self.on_card(walls), *(np.int32(v) for v in skip.shape), self.on_card(field),
            np.float64(unit), cp.asarray(model), cp.asarray(ends), np.int32(len(ends)),
            cp.asarray(poses), np.int32(len(poses)), *out,
        )  # fmt: skip
        out[0].get(out=ratings)
        out[1].get(out=kinds)

    def bound(self, *arguments: Any) -> None:
        codes, tasks, places, offsets, tables, budget, deficits, looked = arguments
        cp = self.cp
        groups = np.repeat(tasks[:, 0], tasks[:, 2] - tasks[:, 1]).astype(np.int32)
        out, count = cp.empty(len(places), dtype=cp.int32), cp.zeros(1, dtype=cp.uint64)
        self.launch(
            "search.cu", "bound", (-(-len(places) // BLOCK), 1), BLOCK, self.on_card(codes),
            *(np.int32(v) for v in codes.shape), cp.asarray(groups), cp.asarray(places),
            np.int64(len(places)), cp.asarray(offsets), cp.asarray(tables), np.int32(len(tables)),
            np.int32(budget), out, count,
        )  # fmt: skip
        out.get(out=deficits)
        looked[:] = 0
        looked[:1] = int(count[0])


@cache
def _module(source: str) -> Any:
    import cupy

    text = files("isovist.backends").joinpath(source).read_text(encoding="utf-8")
    return cupy.RawModule(code=text, options=OPTIONS)
