"""Bound boxes of poses on a card, and search a whole map by them (`branch_and_bound`).

The boxes that remain are those of the cores, in the order of their headings, rows and columns.
Rays are followed 32 beams at a time, so that the deficit of a box that remains may be larger than
on the cores.
"""

from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray, IntArray
from isovist.compute.cuda.device import BLOCK_THREADS, Argument, Device, DeviceArray, Kernel
from isovist.compute.requests import BoundRequest, BoxDeficits, BoxSearchRequest, BoxSearchResult

BOUND = Kernel("search.cu", "bound")
TABULATE = Kernel("branch_and_bound.cu", "tabulate")
SAMPLE = Kernel("branch_and_bound.cu", "sample")
BOUND_ROUND = Kernel("branch_and_bound.cu", "bound_round")
FOLLOW_RAYS = Kernel("branch_and_bound.cu", "follow_rays")
HALVE = Kernel("branch_and_bound.cu", "halve")
MAX_BEAMS = 256
"""Beams of a scan: eight for each lane of a warp."""
MAX_INSIDE = 1 << 18
"""Boxes of a round inside the place."""
MAX_BOXES = 1 << 26
"""Boxes that remain after the first round, which tries every place: a gigabyte of the card."""
NULL = np.uint64(0)
"""The address of no array."""
NO_PLACE = np.array([0.0, 0.0, 0.0, -1.0, 0.0])
"""A place that holds no box: its radius is negative."""


def bound_boxes(device: Device, request: BoundRequest) -> BoxDeficits:
    """Sum the deficits of boxes, a box a thread."""
    cp, runs, count = device.cp, request.runs, len(request.cells)
    groups = np.repeat(runs[:, 0], runs[:, 2] - runs[:, 1]).astype(np.int32)
    deficits, lookups = cp.empty(count, dtype=cp.int32), cp.zeros(1, dtype=cp.uint64)
    device.launch(
        BOUND, (-(-count // BLOCK_THREADS), 1), BLOCK_THREADS, device.upload(request.codes),
        *(np.int32(v) for v in request.codes.shape), cp.asarray(groups), cp.asarray(request.cells),
        np.int64(count), cp.asarray(request.offsets), cp.asarray(request.tables),
        np.int32(len(request.tables)), np.int32(request.budget), deficits, lookups,
    )  # fmt: skip
    return BoxDeficits(deficits.get(), int(lookups[0]))


class _Bounded(NamedTuple):
    """The boxes of a round that remain after the ends of beams are looked up.

    Attributes:
        boxes: Boxes outside the place.
        inside: Boxes inside it.
        lookups: Ends of beams that were looked up.
    """

    boxes: DeviceArray
    inside: DeviceArray
    lookups: int


def search_boxes(device: Device, request: BoxSearchRequest) -> BoxSearchResult | None:
    """Search all boxes round by round; `None` where the card has no room for them."""
    rounds, limits = request.rounds, request.limits
    if len(request.beams.ends) > MAX_BEAMS:
        return None
    search = _BoxSearch(device, request)
    boxes, count = NULL, len(rounds.squares) * rounds.sizes[0].headings
    inside, lookups, wedges = [], 0, 0
    for k in range(len(rounds.sizes)):
        bounded = search.bound(k, boxes, count)
        if bounded is None:
            return None
        lookups += bounded.lookups
        inside.append(_in_order(bounded.inside)[0])
        remaining, deficits = bounded.boxes, None
        if k >= rounds.first_with_rays and len(remaining):
            remaining, deficits, followed = search.follow_rays(k, remaining)
            wedges += followed
        is_done = k + 1 == len(rounds.sizes) or len(remaining) == 0
        is_late = 8 * len(remaining) > limits.max_boxes or perf_counter() > limits.deadline
        if is_done or is_late:
            return BoxSearchResult(
                *_in_order(remaining, deficits), tuple(inside), is_done, lookups, wedges
            )
        boxes = search.halve(k, remaining)
        count = len(boxes)
    raise AssertionError("a search has rounds")


class _BoxSearch:
    """The map and the beams of a search on the card."""

    def __init__(self, device: Device, request: BoxSearchRequest) -> None:
        cp, world, beams = device.cp, request.world, request.beams
        self.device, self.request, rounds = device, request, request.rounds
        m, self.m = len(beams.ends), np.int32(len(beams.ends))
        self.codes, self.squares = device.upload(world.codes), device.upload(rounds.squares)
        self.shape = tuple(np.int32(v) for v in (*world.codes.shape, world.padding))
        self.model = cp.asarray(beams.model)
        self.frontier_classes = cp.asarray(world.frontier_classes)
        place = request.limits.place
        self.place = cp.asarray(NO_PLACE if place is None else place)
        lengths = np.hypot(*beams.ends.T)
        tables = cp.empty((len(rounds.sizes), m, 256), dtype=cp.uint16)
        device.launch(
            TABULATE, (m, len(rounds.sizes)), 256, self.model, cp.asarray(lengths),
            cp.asarray(world.wall_classes), np.int32(len(world.wall_classes)),
            self.frontier_classes, np.int32(len(world.frontier_classes)),
            cp.asarray(rounds.margins), self.m, np.float64(request.limits.unit), tables,
        )  # fmt: skip
        ends, means = cp.asarray(beams.ends / world.cell), cp.zeros(m, dtype=cp.float32)
        count = len(rounds.squares) * rounds.sizes[0].headings
        device.launch(
            SAMPLE, (m, 1), BLOCK_THREADS, self.codes, *self.shape, self.squares,
            np.int64(len(rounds.squares)), np.int64(count), *self.size(0), ends, tables, means,
        )  # fmt: skip
        order = cp.argsort(-means)  # beams that drop most boxes first
        self.ends, self.tables = ends[order], cp.ascontiguousarray(tables[:, order])
        self.longest_first = np.argsort(-lengths, kind="stable")

    def size(self, k: int) -> tuple[np.float64, np.float64]:
        """Return the width of the boxes of a round in cells, and their heading in rad."""
        size = self.request.rounds.sizes[k]
        return np.float64(size.width), np.float64(2.0 * np.pi / size.headings)

    def bound(self, k: int, boxes: DeviceArray, count: int) -> _Bounded | None:
        """Drop boxes by where beams end; `None` if too many remain.

        Args:
            k: Number of the round.
            boxes: Its boxes; `NULL` for all squares at all headings, in the first round.
            count: Number of these boxes.
        """
        cp, limits = self.device.cp, self.request.limits
        squares = self.request.rounds.squares
        room = min(MAX_BOXES, count)
        remaining = cp.empty((room, 4), dtype=cp.int32)
        inside = cp.empty((MAX_INSIDE, 4), dtype=cp.int32)
        counts = cp.zeros(3, dtype=cp.uint64)
        self._launch(
            BOUND_ROUND, count, self.codes, *self.shape, NULL if k else self.squares,
            boxes, np.int64(len(squares)), np.int64(count), *self.size(k), self.ends,
            self.m, self.tables[k], np.int32(int(limits.budget / limits.unit)), self.place,
            remaining, np.int64(room), inside, np.int64(MAX_INSIDE), counts,
        )  # fmt: skip
        remaining_count, inside_count, lookups = (int(v) for v in counts.get())
        if remaining_count > room or inside_count > MAX_INSIDE:
            return None
        return _Bounded(remaining[:remaining_count], inside[:inside_count], lookups)

    def follow_rays(self, k: int, boxes: DeviceArray) -> tuple[DeviceArray, DeviceArray, int]:
        """Drop boxes by what their rays pass; return the rest, their deficits, and wedges."""
        device, cp = self.device, self.device.cp
        world, beams = self.request.world, self.request.beams
        sides = np.zeros(4, dtype=[("walls", "u8"), ("unknown", "u8"), ("lines", "i4"),
                                   ("words", "i4")])  # fmt: skip
        copies = []  # alive until the kernel has read them
        for side, bits in enumerate(zip(world.wall_bits, world.unknown_bits, strict=True)):
            copies += [device.upload(words) for words in bits]
            sides[side] = (copies[-2].data.ptr, copies[-1].data.ptr, *bits[0].shape)
        remaining, deficits = cp.empty_like(boxes), cp.empty(len(boxes))
        counts, order = cp.zeros(2, dtype=cp.uint64), self.longest_first
        device.launch(
            FOLLOW_RAYS, (-(-len(boxes) // 4), 1), 128, device.upload(world.wall_distance),
            self.codes, *self.shape, self.frontier_classes, np.int32(len(world.frontier_classes)),
            cp.asarray(sides.view(np.uint64)), device.upload(world.clear),
            *(np.int32(v) for v in world.clear.shape), np.float64(world.cell), self.model,
            cp.asarray(beams.ends[order]), self.m, cp.asarray(beams.wall_deficits[order]),
            cp.asarray(beams.max_ratings[order]), np.float64(self.request.limits.budget),
            *self.size(k), boxes, np.int64(len(boxes)), remaining, deficits, counts,
        )  # fmt: skip
        count, wedges = (int(v) for v in counts.get())
        return remaining[:count], deficits[:count], wedges

    def halve(self, k: int, boxes: DeviceArray) -> DeviceArray:
        """Return the halves of boxes that hold a free cell."""
        cp, is_free = self.device.cp, self.request.rounds.free_halves[k]
        squares = NULL if is_free is None else self.device.upload(is_free)
        shape = (0, 0) if is_free is None else is_free.shape
        halves = cp.empty((8 * len(boxes), 4), dtype=cp.int32)
        count = cp.zeros(1, dtype=cp.uint64)
        self._launch(
            HALVE, len(boxes), boxes, np.int64(len(boxes)), squares,
            *(np.int32(v) for v in shape), halves, np.int64(len(halves)), count,
        )  # fmt: skip
        return halves[: int(count[0])]

    def _launch(self, kernel: Kernel, count: int, *arguments: Argument) -> None:
        """Run a kernel with a box for each thread."""
        grid = -(-count // BLOCK_THREADS), 1
        self.device.launch(kernel, grid, BLOCK_THREADS, *arguments)


def _in_order(
    boxes: DeviceArray, deficits: DeviceArray | None = None
) -> tuple[IntArray, FloatArray]:
    """Return boxes and deficits in the order of their headings, rows and columns."""
    rows: NDArray[np.int64] = boxes.get().astype(np.int64)
    order = np.lexsort((rows[:, 0], rows[:, 1], rows[:, 2]))
    values = np.full(len(rows), -np.inf) if deficits is None else deficits.get()
    return rows[order], values[order]
