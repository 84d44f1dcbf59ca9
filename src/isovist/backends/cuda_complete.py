"""Rounds of the complete search on a card: boxes are halved there until rays are worth following.

What survives is what `localization.complete` would keep by where beams end, whatever it would drop
besides by what beams pass.  The order of the boxes is that of their headings, rows and columns.
"""

from typing import Any

import numpy as np

from isovist.backends.base import Boxes, Ends
from isovist.types import IntArray

BLOCK = 256
MOST = 1 << 26
"""Boxes of a round: a gigabyte of the card."""
INSIDE = 1 << 16
"""Boxes of a round inside the place that is known."""


def halve(card: Any, ends: Ends) -> Boxes | None:
    """Boxes that may hold a pose that is good enough; `None` when there are too many.

    Args:
        card: The backend.
        ends: The map, the beams, and what counts.
    """
    cp = card.cp
    m, rounds = len(ends.lengths), len(ends.sizes)
    tables = cp.empty((rounds, m, 256), dtype=cp.uint16)
    card.launch(
        "complete.cu", "tabulate", (m, rounds), 256, cp.asarray(ends.model),
        cp.asarray(ends.lengths), cp.asarray(ends.walls), np.int32(len(ends.walls)),
        cp.asarray(ends.frontiers), np.int32(len(ends.frontiers)), cp.asarray(ends.taken),
        np.int32(m), np.float64(ends.unit), tables,
    )  # fmt: skip
    codes, squares = card.on_card(ends.codes), card.on_card(ends.squares)
    shape = tuple(np.int32(v) for v in (*ends.codes.shape, ends.pad))
    known = cp.asarray(np.array([0.0, 0.0, 0.0, -1.0, 0.0]) if ends.known is None else ends.known)
    per_heading = np.int64(len(ends.squares))
    count = len(ends.squares) * ends.sizes[0][1]
    beams, tables = _telling(card, ends, codes, shape, squares, count, tables)
    boxes: Any = np.uint64(0)
    inside, lookups = [], 0
    for k, (size, turns) in enumerate(ends.sizes):
        free = ends.standing[k]
        standing = np.uint64(0) if free is None else card.on_card(free)
        squared = (0, 0) if free is None else free.shape
        room = min(MOST, 8 * count)
        halves, held = cp.empty((room, 4), dtype=cp.int32), cp.empty((INSIDE, 4), dtype=cp.int32)
        counts = cp.zeros(3, dtype=cp.uint64)
        card.launch(
            "complete.cu", "halve", (-(-count // BLOCK), 1), BLOCK, codes, *shape,
            np.uint64(0) if k else squares, boxes, per_heading, np.int64(count), np.float64(size),
            np.float64(2.0 * np.pi / turns), beams, np.int32(m), tables[k], np.int32(ends.budget),
            known, standing, *(np.int32(v) for v in squared), halves, np.int64(room), held,
            np.int64(INSIDE), counts,
        )  # fmt: skip
        count, kept, looked = (int(v) for v in counts.get())
        lookups += looked
        if count > room or kept > INSIDE:
            return None
        inside.append(_in_order(held[:kept]))
        boxes = halves[:count]
        if count == 0:
            break
    return Boxes(_in_order(boxes)[:, :3], tuple(inside), lookups)


def _telling(
    card: Any, ends: Ends, codes: Any, shape: tuple[Any, ...], squares: Any, count: int, tables: Any
) -> tuple[Any, Any]:
    """Ends and tables, those beams first that cost a sample of the first boxes most."""
    cp = card.cp
    beams, means = cp.asarray(ends.ends), cp.zeros(len(ends.ends), dtype=cp.float32)
    size, turns = ends.sizes[0]
    card.launch(
        "complete.cu", "sample", (len(ends.ends), 1), BLOCK, codes, *shape, squares,
        np.int64(len(ends.squares)), np.int64(count), np.float64(size),
        np.float64(2.0 * np.pi / turns), beams, tables, means,
    )  # fmt: skip
    order = cp.argsort(-means)
    return beams[order], cp.ascontiguousarray(tables[:, order])


def _in_order(boxes: Any) -> IntArray:
    rows = boxes.get().astype(np.int64)
    return rows[np.lexsort((rows[:, 0], rows[:, 1], rows[:, 2]))]
