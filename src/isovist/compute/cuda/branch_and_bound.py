"""A complete search on a card: `localization.complete`, boxes of a round at a time.

The same boxes survive, in the order of their headings, rows and columns; what beams pass is asked
of 32 beams at a time, so that a box that stays may be known to be worth less than on the cores.
"""

from time import perf_counter
from typing import Any

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.compute.backend import Boxes, Rounds

BLOCK = 256
BEAMS = 256
"""Most beams of a scan: eight of each lane."""
INSIDE = 1 << 18
"""Boxes of a round inside the place that is known."""
FIRST = 1 << 26
"""Boxes that may survive the first round, which tries every place: a gigabyte of the card."""
NOTHING = np.uint64(0)


def complete(card: Any, rounds: Rounds) -> Boxes | None:
    """What survives, or `None` when the card has no room for it.

    Args:
        card: The backend.
        rounds: The map, the beams, and what counts.
    """
    cp = card.cp
    m = len(rounds.ends)
    if m > BEAMS:
        return None
    look = _Look(card, rounds)
    boxes: Any = NOTHING
    count = len(rounds.squares) * rounds.sizes[0][1]
    inside, lookups, wedges = [], 0, 0
    left, deficits = cp.empty((0, 4), dtype=cp.int32), None
    for k in range(len(rounds.sizes)):
        room = min(FIRST, count)
        kept, held = cp.empty((room, 4), dtype=cp.int32), cp.empty((INSIDE, 4), dtype=cp.int32)
        counts = cp.zeros(3, dtype=cp.uint64)
        look.bound(k, boxes, count, kept, held, counts)
        count, settled, looked = (int(v) for v in counts.get())
        lookups += looked
        if count > room or settled > INSIDE:
            return None
        inside.append(_in_order(held[:settled])[0])
        left, deficits = kept[:count], None
        if k >= rounds.seen and count:
            left, deficits, asked = look.through(k, left)
            wedges += asked
        done = k + 1 == len(rounds.sizes) or len(left) == 0
        late = 8 * len(left) > rounds.most or perf_counter() > rounds.until
        if done or late:
            return Boxes(*_in_order(left, deficits), tuple(inside), done, lookups, wedges)
        boxes = look.halves(k, left)
        count = len(boxes)
    raise AssertionError("a search has rounds")


class _Look:
    """The map and the beams on the card."""

    def __init__(self, card: Any, rounds: Rounds) -> None:
        cp = card.cp
        self.card, self.rounds = card, rounds
        m, turns = len(rounds.ends), len(rounds.sizes)
        self.m = np.int32(m)
        self.codes, self.squares = card.on_card(rounds.codes), card.on_card(rounds.squares)
        self.shape = tuple(np.int32(v) for v in (*rounds.codes.shape, rounds.pad))
        self.model = cp.asarray(rounds.model)
        self.frontiers = cp.asarray(rounds.frontiers)
        known = np.array([0.0, 0.0, 0.0, -1.0, 0.0]) if rounds.known is None else rounds.known
        self.known = cp.asarray(known)
        lengths = np.hypot(*rounds.ends.T)
        tables = cp.empty((turns, m, 256), dtype=cp.uint16)
        card.launch(
            "complete.cu", "tabulate", (m, turns), 256, self.model, cp.asarray(lengths),
            cp.asarray(rounds.walls), np.int32(len(rounds.walls)), self.frontiers,
            np.int32(len(rounds.frontiers)), cp.asarray(rounds.taken), self.m,
            np.float64(rounds.unit), tables,
        )  # fmt: skip
        beams, means = cp.asarray(rounds.ends / rounds.cell), cp.zeros(m, dtype=cp.float32)
        count = len(rounds.squares) * rounds.sizes[0][1]
        card.launch(
            "complete.cu", "sample", (m, 1), BLOCK, self.codes, *self.shape, self.squares,
            np.int64(len(rounds.squares)), np.int64(count), *self.size(0), beams, tables, means,
        )  # fmt: skip
        order = cp.argsort(-means)
        self.beams, self.tables = beams[order], cp.ascontiguousarray(tables[:, order])
        self.longest = np.argsort(-lengths, kind="stable")

    def size(self, k: int) -> tuple[Any, Any]:
        """Width and heading of the boxes of a round, in cells and rad."""
        width, turns = self.rounds.sizes[k]
        return np.float64(width), np.float64(2.0 * np.pi / turns)

    def bound(self, k: int, boxes: Any, count: int, kept: Any, held: Any, counts: Any) -> None:
        """Those of a round whose ends do not drop them."""
        rounds = self.rounds
        self.card.launch(
            "complete.cu", "bounded", (-(-count // BLOCK), 1), BLOCK, self.codes, *self.shape,
            NOTHING if k else self.squares, boxes, np.int64(len(rounds.squares)), np.int64(count),
            *self.size(k), self.beams, self.m, self.tables[k],
            np.int32(int(rounds.spare / rounds.unit)), self.known, kept, np.int64(len(kept)), held,
            np.int64(len(held)), counts,
        )  # fmt: skip

    def through(self, k: int, boxes: Any) -> tuple[Any, Any, int]:
        """Those that what beams pass does not drop either, deficits in nats, and wedges."""
        card, cp, rounds = self.card, self.card.cp, self.rounds
        sides = np.zeros(4, dtype=[("walls", "u8"), ("unknown", "u8"), ("lines", "i4"),
                                   ("words", "i4")])  # fmt: skip
        alive = []
        for side, pair in enumerate(zip(rounds.wall_bits, rounds.unknown_bits, strict=True)):
            alive += [card.on_card(bits) for bits in pair]
            sides[side] = (alive[-2].data.ptr, alive[-1].data.ptr, *pair[0].shape)
        kept, deficits = cp.empty_like(boxes), cp.empty(len(boxes))
        counts = cp.zeros(2, dtype=cp.uint64)
        card.launch(
            "complete.cu", "seen", (-(-len(boxes) // 4), 1), 128, card.on_card(rounds.field),
            self.codes, *self.shape, self.frontiers, np.int32(len(rounds.frontiers)),
            cp.asarray(sides.view(np.uint64)), card.on_card(rounds.clear),
            *(np.int32(v) for v in rounds.clear.shape), np.float64(rounds.cell), self.model,
            cp.asarray(rounds.ends[self.longest]), self.m,
            cp.asarray(rounds.behind[self.longest]), cp.asarray(rounds.tops[self.longest]),
            np.float64(rounds.spare), *self.size(k), boxes, np.int64(len(boxes)), kept, deficits,
            counts,
        )  # fmt: skip
        count, wedges = (int(v) for v in counts.get())
        return kept[:count], deficits[:count], wedges

    def halves(self, k: int, boxes: Any) -> Any:
        """The halves of boxes that hold a free cell."""
        cp, free = self.card.cp, self.rounds.standing[k]
        standing = NOTHING if free is None else self.card.on_card(free)
        out = cp.empty((8 * len(boxes), 4), dtype=cp.int32)
        made = cp.zeros(1, dtype=cp.uint64)
        self.card.launch(
            "complete.cu", "halves", (-(-len(boxes) // BLOCK), 1), BLOCK, boxes,
            np.int64(len(boxes)), standing,
            *(np.int32(v) for v in ((0, 0) if free is None else free.shape)), out,
            np.int64(len(out)), made,
        )  # fmt: skip
        return out[: int(made[0])]


def _in_order(boxes: Any, deficits: Any = None) -> tuple[IntArray, FloatArray]:
    rows = boxes.get().astype(np.int64)
    order = np.lexsort((rows[:, 0], rows[:, 1], rows[:, 2]))
    told = np.full(len(rows), -np.inf) if deficits is None else deficits.get()
    return rows[order], told[order]
