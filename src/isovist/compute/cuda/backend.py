"""The backend of NVIDIA cards, through CuPy (`pip install 'isovist[cuda]'`).

Sources are compiled when the first of their kernels is called.  What a map is made of stays on the
card as long as it lives on this machine; scans and poses travel with each call, in one piece there
and in one back (`Mail`), since a piece takes as long as a core takes to fit a pose.  Products are
never fused with sums, so that what is exact on the cores is the same here bit by bit.
"""

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import Float32Array, IntArray
from isovist.compute.backend import (
    Backend,
    Boxes,
    Bytes,
    Described,
    Given,
    Rated,
    Rays,
    Rounds,
    Scanned,
    Told,
    firmest,
    rated_room,
)
from isovist.compute.cuda.branch_and_bound import BLOCK, complete
from isovist.compute.cuda.transfer import Mail, Post, in_turns
from isovist.errors import InputError

OPTIONS = ("--std=c++17", "--fmad=false")
COMMON = '#include "common.cuh"'
WARP, WARPS = 32, 4
"""Lines of a warp, and warps of a block, of `sweep.cu`."""
PAD = WARP + 16
"""Cells of nothing of each class on both sides: lines of a warp lie at most so far outside."""
SHARED = 48 << 10
"""Bytes of shared memory that a block has without asking for more."""
MOVES = 253
"""Largest number of king moves (`compute.grids.distance.MOST`)."""
TABLE_BYTES = 1 << 33
"""Ranges that are on the card at a time."""
TOGETHER = 256
"""Rays of a node that a block of `sweep.cu` adds up at a time."""
LARGEST = 1 << 19
"""Rows and columns that steps of `sweep.cu` can count."""
LEAST = 1e-9
"""Weights below this share of those of their channel are left out: singles do not feel them."""
LAYOUTS = {
    "correlate": Struct("PiiiiPqPPPiiPffdiiiPP"),
    "cheapest": Struct("PqPqPP"),
    "align": Struct("PiiPiPidPiPP"),
    "score": Struct("PPiiPdPPiPiPP"),
}
"""Arguments of the kernels that every scan needs: P is an array, the others are numbers."""
FEW = 4
"""Poses that a core fits, or rates, before the card has answered: 0.03 ms for one."""


def unavailable_error(what: str) -> InputError:
    """Say what this machine lacks for the card."""
    return InputError(
        f"The cuda backend needs an NVIDIA card and CuPy, and {what}. "
        "Install isovist[cuda] on a machine that has a card, or leave the backend out.",
        field="backend",
        code="unavailable",
    )


class CudaBackend(Backend):
    """An NVIDIA card."""

    name = "cuda"
    exhaustive = True

    def __init__(self) -> None:
        try:
            import cupy
        except ImportError:
            raise unavailable_error("CuPy is not installed") from None
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError:
            count = 0
        if count == 0:
            raise unavailable_error("no card was found")
        self.cp: Any = cupy
        self.post = Post(cupy)
        self._kept: dict[Any, Any] = {}
        self._last: dict[int, tuple[Any, Any, int]] = {}

    @property
    def mail(self) -> Mail:
        """Of the call that goes on now."""
        return self.post.mail

    def each(self, ask: Callable[[int, Given], Told], given: Iterable[Given]) -> Iterator[Told]:
        if find_spec("greenlet") is None:  # CuPy alone is enough for all else
            return (ask(number, one) for number, one in enumerate(given))
        return in_turns(self.post, ask, given)

    def on_card(self, array: NDArray[Any]) -> Any:
        """A copy of an array on the card; of one that nobody writes to, the same each time."""
        known = self._last.get(id(array))
        if known is not None and known[0]() is array:
            return known[1]
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
        number = id(array)
        gone = weakref.ref(array, lambda _: self._last.pop(number, None))
        there = self._kept[key]
        self._last[number] = gone, there, int(there.data.ptr)
        return there

    def launch(self, source: str, name: str, grid: tuple[int, ...], block: int, *arguments: Any,
               shared: int = 0) -> None:  # fmt: skip
        """Run a kernel of one of the sources beside this file."""
        function = _function(source, name)
        if shared > SHARED:
            function.max_dynamic_shared_size_bytes = shared
        function(grid, (block,), arguments, shared_mem=shared)

    def address(self, array: NDArray[Any]) -> int:
        """Where on the card an array is; of one that somebody may write to, until `fetch`."""
        known = self._last.get(id(array))
        if known is not None and known[0]() is array:
            return known[2]
        there = self.on_card(array)
        self.mail.held.append(there)
        return int(there.data.ptr)

    def start(self, source: str, name: str, grid: int, block: int, *given: float,
              shared: int = 0) -> None:  # fmt: skip
        """Run one of the kernels of `LAYOUTS`."""
        if shared > SHARED:
            _function(source, name).max_dynamic_shared_size_bytes = shared
        self.mail.launch(_address(source, name), LAYOUTS[name], grid, block, shared, *given)

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
        r0, c0, stride, rows, columns = lattice
        if not (stride < 64 and max(cells.shape) < LARGEST):
            raise InputError(
                f"The cuda backend describes maps of less than {LARGEST} rows and columns, every "
                f"63rd cell at the least, got {max(cells.shape)} and every {stride}th.",
                code="too_large",
            )
        count, channels = rows * columns, rays.weights.shape[1]
        upright = np.abs(rays.along[:, 1]) > np.abs(rays.along[:, 0])
        sides = (
            (True, (r0, c0, stride, rows, columns, columns, 1)),
            (False, (c0, r0, stride, columns, rows, rows, 1)),
        )
        axes = [(upright == rowwise, place, *self._surface(cells, stride, not rowwise))
                for rowwise, place in sides]  # fmt: skip
        longest = np.float32(min(rays.reach, float(np.finfo(np.float32).max)))
        counted = np.int32(np.packbits(rays.counted, bitorder="little")[0])
        F, K = (cp.empty((count, channels), dtype=cp.float32) for _ in range(2))
        most = int(np.clip(TABLE_BYTES // (4 * count), 1, TOGETHER))
        for start in range(0, len(rays.along), most):
            some = np.arange(start, min(start + most, len(rays.along)))
            ranges = cp.empty((len(some), count), dtype=cp.float32)
            for mine, place, words, size in axes:
                which = some[mine[some]]
                if len(which) == 0:
                    continue
                along = rays.along[which, ::-1] if mine is axes[0][0] else rays.along[which]
                warps = -(-(size[0] + size[1] + 16) // (WARP * stride)) * stride
                self.launch(
                    "sweep.cu", "sweep", (-(-warps // WARPS), len(which)), WARP * WARPS, words,
                    *(np.int32(v) for v in (*size, PAD * stride)),
                    cp.asarray(np.ascontiguousarray(along)),
                    cp.asarray((which - start).astype(np.int32)),
                    *(np.int32(v) for v in place[:5]), *(np.int64(v) for v in (*place[5:], count)),
                    longest, counted, ranges,
                )  # fmt: skip
            starts, weights, totals = _felt_by(rays.weights[some])
            shared = 4 * (WARP * len(some) + WARP * (channels + 1)) + weights.nbytes
            self.launch(
                "sweep.cu", "accumulate", (-(-columns // 8), -(-rows // 4)), BLOCK, ranges,
                cp.asarray(~upright[some]), *(np.int32(v) for v in (len(some), rows, columns)),
                np.int32(channels), *map(cp.asarray, (starts, weights, totals)), longest,
                np.float32(rays.unit), np.int32(rays.transform), np.float32(rays.scale),
                np.bool_(start > 0), F, K, shared=shared,
            )  # fmt: skip
        return F, K

    def _surface(self, cells: Any, stride: int, turned: bool) -> tuple[Any, tuple[int, int, int]]:
        """What lines meet, and how many columns, cells of a column and words of a class it has."""
        majors, minors = cells.shape[::-1] if turned else cells.shape
        class_words = -(-(minors // stride + 2 + 2 * PAD) // 32) + 1
        words = self.cp.empty((majors + 2, stride * class_words, 2), dtype=self.cp.uint32)
        shape = majors + 2, 32 * stride * class_words
        told = stride, 32 * class_words, PAD * stride, *shape
        self._each("surface", shape, cells, *(np.int32(v) for v in cells.shape), np.bool_(turned),
                   *(np.int32(v) for v in told), words)  # fmt: skip
        return words, (majors, minors, class_words)

    def _gaps(self, met: Any, most: int) -> Any:
        height, width = met.shape
        gaps = self.cp.empty(met.shape, dtype=self.cp.int32)
        grid = (-(-width // BLOCK), 1)
        self.launch("fields.cu", "along_columns", grid, BLOCK, met, np.int32(height),
                    np.int32(width), np.int32(most), gaps)  # fmt: skip
        return gaps

    def _skip(self, cells: Any) -> Any:
        """`maps.grid2d.occupancy_map.skip_of`."""
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
        nodes, lowest, active, windows, seen, allowed, base, step, short, long, *out = arguments
        if len(active) == 0:
            return
        scan = windows, seen, allowed, base, step, short, long
        asked = out if out[1].size else out[:1]
        tried, *places = self.mail.send((active, *_sent(scan)), asked)
        room = places[4], places[5] if out[1].size else 0
        self._correlate(nodes, lowest, tried, len(active), scan, places[:4], out[0].shape[1], room)
        self.mail.fetch()

    def _correlate(
        self, nodes: Float32Array, lowest: int, tried: int, count: int, scan: Scanned,
        sent: Sequence[int], keep: int, room: tuple[int, int],
    ) -> None:  # fmt: skip
        """Launch it; `tried` 0 stands for the first nodes, headings at 0 are not asked for."""
        windows, _, _, base, step, short, long = scan
        phases, rings, m = windows.shape
        n = nodes.shape[2]
        o, which, many, counted = sent
        self.start(
            "search.cu", "correlate", min(count, 1 << 20), -(-n * phases // 32) * 32,
            self.address(nodes), nodes.shape[1], lowest, rings, n, tried, count, o, which, many,
            phases, m, counted, base, 1.0 / step, step, -short, long, keep, *room,
            shared=4 * (2 * n * rings + n * phases),
        )  # fmt: skip

    def glance(
        self,
        nodes: Float32Array,
        lowest: int,
        active: IntArray,
        rough: Scanned,
        full: Scanned,
        most: int,
        keep: int,
    ) -> tuple[IntArray, Float32Array, Float32Array, NDArray[np.int32]]:
        count, whole = len(active), len(active) == len(nodes)
        chosen, glanced = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.float32)
        costs = np.empty((most, keep), dtype=np.float32)
        headings = np.empty((most, keep), dtype=np.int32)
        given = () if whole else (active,)
        sent = *_sent(rough), *_sent(full), *given
        places = self.mail.send(sent, (chosen, glanced, costs, headings), 4 * count)
        tried, (these, theirs, *room, spare) = 0 if whole else places[8], places[len(sent) :]
        self._correlate(nodes, lowest, tried, count, rough, places[:4], 1, (spare, 0))
        self.start("search.cu", "cheapest", 1, 1024, spare, count, tried, most, these, theirs)
        self._correlate(nodes, lowest, these, most, full, places[4:8], keep, (room[0], room[1]))
        self.mail.fetch()
        return chosen, glanced, costs, headings

    def align(self, *arguments: Any) -> None:
        field, ends, noise, widths, damping, poses, normal = arguments
        if noise.size or len(poses) <= FEW:  # the card has one σ for all beams
            super().align(*arguments)
            return
        q, sigmas, given, moved, sums = self.mail.send((ends, widths, poses), (poses, normal))
        self._align(field, q, len(ends), sigmas, widths, damping, given, len(poses), moved, sums)
        self.mail.fetch()

    def score(self, *arguments: Any) -> None:
        skip, walls, field, unit, model, ends, noise, poses, *out = arguments
        if noise.size or len(poses) <= FEW:
            super().score(*arguments)
            return
        row, q, places, *rated = self.mail.send((model, ends, poses), out)
        self._score(skip, walls, field, unit, row, q, len(ends), places, len(poses), rated)
        self.mail.fetch()

    def align_and_score(
        self, fitting: tuple[Any, ...], rating: Sequence[tuple[Any, ...]], most: int
    ) -> tuple[IntArray, list[Rated]]:
        field, ends, noise, widths, damping, poses, normal = fitting
        if noise.size or len(poses) <= FEW:
            return super().align_and_score(fitting, rating, most)
        skip, walls, _, unit, _, lengths, _ = rating[0]
        models = [given[4] for given in rating]
        # All of them are rated before it is known which: one way there and back takes longer.
        told = [rated_room(len(poses), len(lengths)) for _ in rating]
        out = [array for pair in told for array in pair]
        q, sigmas, given, p, *places = self.mail.send(
            (ends, widths, poses, lengths, *models), (poses, normal, *out)
        )
        rows, moved, sums, rated = (
            places[: len(models)], *places[len(models) : len(models) + 2], places[len(models) + 2 :]
        )  # fmt: skip
        self._align(field, q, len(ends), sigmas, widths, damping, given, len(poses), moved, sums)
        for k, row in enumerate(rows):
            to = rated[2 * k : 2 * k + 2]
            self._score(skip, walls, field, unit, row, p, len(lengths), moved, len(poses), to)
        self.mail.fetch()
        chosen = firmest(normal[:, 6], most)
        if len(chosen) < len(poses):
            told = [(ratings[chosen], kinds[chosen]) for ratings, kinds in told]
        return chosen, told

    def _align(
        self, field: NDArray[Any], ends: int, m: int, sigmas: int, widths: NDArray[Any],
        damping: float, given: int, count: int, moved: int, sums: int,
    ) -> None:  # fmt: skip
        self.start(
            "fit.cu", "align", -(-count // 4), 128, self.address(field), *field.shape, ends, m,
            sigmas, len(widths), damping, given, count, moved, sums,
        )  # fmt: skip

    def _score(
        self, skip: NDArray[Any], walls: NDArray[Any], field: NDArray[Any], unit: float, model: int,
        ends: int, m: int, places: int, count: int, rated: Sequence[int],
    ) -> None:  # fmt: skip
        self.start(
            "fit.cu", "score", -(-count * m // 128), 128, self.address(skip), self.address(walls),
            *skip.shape, self.address(field), unit, model, ends, m, places, count, *rated,
        )  # fmt: skip

    def complete(self, rounds: Rounds) -> Boxes | None:
        return complete(self, rounds)

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


def _sent(scan: Scanned) -> tuple[NDArray[Any], ...]:
    """What goes to the card of a scan: windows, channels that count, how many, and headings."""
    from isovist.compute.search.windows import seen_first

    windows, seen, allowed, *_ = scan
    channels, counts = np.empty(seen.shape, np.int32), np.empty(seen.shape[:2], np.int32)
    seen_first(seen, channels, counts)
    return windows, channels, counts, allowed


@cache
def _module(source: str) -> Any:
    import cupy

    folder = files("isovist.compute.cuda")
    text = folder.joinpath(source).read_text(encoding="utf-8")
    if COMMON in text:
        text = text.replace(COMMON, folder.joinpath("common.cuh").read_text(encoding="utf-8"))
    return cupy.RawModule(code=text, options=OPTIONS)


@cache
def _function(source: str, name: str) -> Any:
    return _module(source).get_function(name)


@cache
def _address(source: str, name: str) -> int:
    return int(_function(source, name).kernel.ptr)


def _felt_by(weights: Float32Array) -> tuple[NDArray[Any], NDArray[Any], Float32Array]:
    """Where the rays of each channel begin, which they are with their weights, and their sums.

    Shapes (n + 1,), (e,) and (n,) from (S, n).
    """
    kept = np.abs(weights) > LEAST * np.abs(weights).sum(axis=0)
    channel, ray = np.nonzero(kept.T)
    told = np.empty(len(ray), dtype=[("ray", np.int32), ("weight", np.float32)])
    told["ray"], told["weight"] = ray, weights[ray, channel]
    starts = np.searchsorted(channel, np.arange(weights.shape[1] + 1)).astype(np.int32)
    totals = np.where(kept, weights, 0.0).sum(axis=0, dtype=np.float32)
    return starts, told.view(np.int64), totals
