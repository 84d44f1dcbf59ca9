"""Every place, or none: a search that cannot miss.

A place counts when its mean rating (`kernels.beam`) reaches a floor.  Boxes of poses (x, y, yaw)
that cover all free space are halved on each side again and again; a box is dropped for good when
no pose in it can reach the floor, by a ceiling that is sound for all of its poses:

1. by where beams end (`kernels.bound`).  Distances to walls are interpolated between the middles of
   cells.  With c the middle of the cell where a beam ends from the middle of the box, e any end,
   and |e − c| ≤ ρ + √½ cells, the weights of the four middles around e have a variance of at most
   ½ cell², so that by Jensen

       D(e) ≥ D(c) − √((ρ + √½)² + ½);                                                      (1)

2. once boxes are small, by what beams would have to pass (`kernels.wedge`): when every ray of the
   box meets a wall more than s(z) before z, and nothing unknown before that, then

       ℓ ≤ log(Z a N(s(z); σ) + c).                                                         (2)
"""

import itertools
import math
from dataclasses import dataclass
from time import perf_counter
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.base import Beams
from isovist.atlas.plane import PlaneAtlas
from isovist.atlas.walls import bridge_gaps, wall_faces
from isovist.localization.settings import ProofSettings
from isovist.maps.cells import Cell
from isovist.types import BoolArray, FloatArray, IntArray

WALLS = np.concatenate(
    [
        np.arange(0.0, 0.4, 0.025),
        np.arange(0.4, 0.8, 0.05),
        [0.8, 0.9, 1.0, 1.25, 1.5, 1.75, 2, 2.5],
    ]
)
"""Lower edges of the classes of D in m: fine where a beam's worth falls, then as boxes halve."""
FRONTIERS = np.array([0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0])
"""Lower edges of the classes of U in m; its exponential has a length of 1/λ = 1.7 m."""
UNITS = 256.0
"""Deficits are counted in parts of a nat, rounded down."""
RIM = 16
"""Cells this near to the rim of the map hold ends from outside, where (3) has one more √½."""
CHUNK = 128
"""Boxes that are looked up together: their sums stay in the fastest memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Ceilings:
    """A map as bounds want it.

    Attributes:
        codes: Class of D and of U of each cell, padded, uint8.
        pad: Cells around the map.
        free: Where the sensor can be.
        walls: Bits of occupied cells (`kernels.wedge.meets_wall`).
        unknown: Bits of unknown cells.
    """

    codes: NDArray[np.uint8]
    pad: int
    free: BoolArray
    walls: tuple[NDArray[np.uint64], ...]
    unknown: tuple[NDArray[np.uint64], ...]

    @classmethod
    def of(cls, atlas: PlaneAtlas) -> "Ceilings":
        """Those of an atlas; made once for each."""
        if atlas not in _MADE:
            _MADE[atlas] = cls._make(atlas)
        return _MADE[atlas]

    @classmethod
    def _make(cls, atlas: PlaneAtlas) -> "Ceilings":
        from scipy.ndimage import binary_dilation, distance_transform_edt

        unit = atlas.world.resolution
        pad = math.ceil(WALLS[-1] / unit) + 2
        clear = bridge_gaps(atlas.world, atlas.settings.gap).cells
        D = distance_transform_edt(np.pad(~wall_faces(atlas.world), pad, constant_values=True))
        rim = np.ones(D.shape, dtype=np.bool_)
        rim[pad + RIM : -pad - RIM, pad + RIM : -pad - RIM] = False
        D[rim] -= math.sqrt(0.5)
        free = clear == Cell.FREE
        around = np.ones((3, 3), dtype=np.bool_)
        unknown = np.pad(clear == Cell.UNKNOWN, pad, constant_values=True)
        enterable = unknown & binary_dilation(np.pad(free, pad), around)
        U = distance_transform_edt(~enterable) if enterable.any() else np.full(D.shape, np.inf)
        near = np.searchsorted(WALLS, np.maximum(D, 0.0) * unit, side="right") - 1
        # A ray enters a cell at its rim, √½ from its middle.
        dark = np.searchsorted(
            FRONTIERS, np.maximum(U - math.sqrt(0.5), 0.0) * unit, side="right"
        ) - 1  # fmt: skip
        codes = (near * len(FRONTIERS) + dark).astype(np.uint8)
        return cls(
            codes, pad, free, _bits(clear == Cell.OCCUPIED, fill=False),
            _bits(clear == Cell.UNKNOWN, fill=True),
        )  # fmt: skip

    def standing(self, size: int) -> BoolArray:
        """Which squares of `size` cells hold a free one."""
        height, width = self.free.shape
        padded = np.pad(self.free, ((0, -height % size), (0, -width % size)))
        rows, columns = padded.shape
        return np.asarray(
            padded.reshape(rows // size, size, columns // size, size).any(axis=(1, 3))
        )


_MADE: "WeakKeyDictionary[PlaneAtlas, Ceilings]" = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, eq=False)
class Survivors:
    """Boxes that may hold a pose whose rating reaches the floor; no other pose does.

    Attributes:
        boxes: Middle (x, y, yaw), half their width, both in cells and rad, and the largest mean
            rating that each may reach, in nats, shape (n, 6).
        open: How many of them, at the end, lie outside the place that is known.
        complete: Whether those were halved down to the size asked for.
        lookups: Of ends of beams.
        wedges: Of rays.
    """

    boxes: FloatArray
    open: int
    complete: bool
    lookups: int
    wedges: int


def complete(
    atlas: PlaneAtlas,
    beams: Beams,
    model: FloatArray,
    floor: float,
    settings: ProofSettings,
    *,
    known: FloatArray | None = None,
    seconds: float = math.inf,
) -> Survivors:
    """All boxes of poses that may rate at least `floor`, in nats per beam.

    Args:
        atlas: The map, described.
        beams: Of the scan.
        model: What a beam is worth, as kernels want it.
        floor: Least mean rating that counts.
        settings: Sizes of the boxes.
        known: A place that is known to count, (x, y, yaw, radius, turn) in cells and rad: boxes
            that lie in it are kept and not looked into.
        seconds: Time after which no smaller boxes are tried.
    """
    from isovist.kernels.bound import bound

    start = perf_counter()
    ceilings, unit = Ceilings.of(atlas), atlas.world.resolution
    z = np.hypot(*beams.ends.T)
    size, turns = settings.first(unit)
    squares = np.argwhere(ceilings.standing(size))[:, ::-1].astype(np.int64)
    cells = np.tile(squares, (turns, 1))
    heads = np.repeat(np.arange(turns), len(squares))
    order: IntArray | None = None
    share, lookups, wedges = 1, 0, 0
    settled: list[FloatArray] = []
    while True:
        # Squares of size/share cells: whole numbers, then halves and quarters of a cell.
        width, turn = size / share, math.pi / turns
        tables, tops = deficits_of(z, model, 0.5 * width * unit, turn, unit)
        spare = float(tops.sum() - floor * len(z))
        middles = (cells + 0.5) * width
        places = np.floor(middles).astype(np.int64)
        groups, offsets = _offsets(beams.ends / unit, heads, middles - places, 2.0 * turn)
        if order is None:
            order = _telling(ceilings, places, groups, offsets, tables, spare * UNITS)
        sums = np.empty(len(cells), dtype=np.int32)
        tasks = tasks_of(groups)
        looked = np.zeros(len(tasks), dtype=np.int64)
        bound(
            ceilings.codes, tasks, (places + ceilings.pad).astype(np.int32),
            np.ascontiguousarray(offsets[:, order]), np.ascontiguousarray(tables[order]),
            math.floor(spare * UNITS), sums, looked,
        )  # fmt: skip
        lookups += int(looked.sum())
        alive = np.flatnonzero(sums >= 0)
        cells, heads, lost = cells[alive], heads[alive], sums[alive] / UNITS
        boxes = np.column_stack([middles[alive], (heads + 0.5) * 2.0 * turn])
        half = np.broadcast_to([0.5 * width, turn], (len(alive), 2))
        found = np.column_stack([boxes, half, tops.mean() - lost / len(z)])
        inside = _inside(boxes, 0.5 * width, turn, known)
        settled.append(found[inside])
        cells, heads, boxes, found = cells[~inside], heads[~inside], boxes[~inside], found[~inside]
        if width * unit <= settings.see and len(boxes):
            told, count = _see(
                atlas, ceilings, beams, model, boxes, (0.5 * width, turn), tops, spare
            )
            wedges += count
            kept = told <= spare + 1e-9
            found[:, 5] = np.minimum(found[:, 5], tops.mean() - told / len(z))
            cells, heads, found = cells[kept], heads[kept], found[kept]
        done = width * unit <= settings.finest or len(cells) == 0
        late = 8 * len(cells) > settings.most or perf_counter() - start > seconds
        if done or late:
            return Survivors(np.concatenate([*settled, found]), len(found), done, lookups, wedges)
        size, share = (size // 2, share) if size > 1 else (1, 2 * share)
        turns *= 2
        cells, heads = _children(cells, heads)
        if share == 1:
            standing = ceilings.standing(size)
            held = (cells[:, 1] < standing.shape[0]) & (cells[:, 0] < standing.shape[1])
            held[held] = standing[cells[held, 1], cells[held, 0]]
            cells, heads = cells[held], heads[held]


def deficits_of(
    z: FloatArray, model: FloatArray, a: float, b: float, unit: float
) -> tuple[NDArray[np.uint16], FloatArray]:
    """Deficits by code and the most that each beam can be worth, shapes (m, 256) and (m,).

    Args:
        z: Lengths of the beams in m, shape (m,).
        model: What a beam is worth.
        a: Half width of the boxes in m.
        b: Half width in rad.
        unit: Side of a cell in m.
    """
    from isovist.kernels.bound import tabulate

    corner = math.sqrt(0.5) * unit
    rho = math.sqrt(2.0) * a + 2.0 * z * math.sin(0.5 * b) + corner
    taken = np.column_stack([np.hypot(rho, corner), rho])
    tables, tops = np.zeros((len(z), 256), dtype=np.uint16), np.empty(len(z))
    tabulate(model, z, WALLS, FRONTIERS, taken, 1.0 / UNITS, tables, tops)
    return tables, tops


def _see(
    atlas: PlaneAtlas,
    ceilings: Ceilings,
    beams: Beams,
    model: FloatArray,
    boxes: FloatArray,
    half: tuple[float, float],
    tops: FloatArray,
    budget: float,
) -> tuple[FloatArray, int]:
    """Deficits of boxes in nats by (2) too, and how many wedges that took."""
    from isovist.kernels.wedge import look_through

    z, sigma = np.hypot(*beams.ends.T), float(model[0])
    past = (model[8] + model[9] * z) / sigma
    hit = np.exp(-0.5 * past**2) / (math.sqrt(2.0 * math.pi) * sigma)
    behind = tops - np.log(model[1] * model[2] * hit + model[5])
    longest = np.argsort(-z, kind="stable")
    deficits, looked = np.empty(len(boxes)), np.zeros(len(boxes), dtype=np.int64)
    look_through(
        atlas.wall_distance, ceilings.codes, ceilings.pad, FRONTIERS, ceilings.walls,
        ceilings.unknown, atlas.clear, atlas.world.resolution, model, beams.ends[longest], boxes,
        *half, behind[longest], tops[longest], budget, deficits, looked,
    )  # fmt: skip
    return deficits, int(looked.sum())


def _offsets(
    ends: FloatArray, heads: IntArray, parts: FloatArray, step: float
) -> tuple[IntArray, NDArray[np.int32]]:
    """Group of each box, and the cells from its own to the ends of the beams for each group.

    Boxes of one heading whose middles lie alike in their cells are a group; groups ascend.
    """
    key = np.column_stack([heads, np.rint(parts * 64.0)]).astype(np.int64)
    key = (key[:, 0] * 64 + key[:, 1]) * 64 + key[:, 2]
    _, first, groups = np.unique(key, return_index=True, return_inverse=True)
    yaws = (heads[first] + 0.5) * step
    c, s = np.cos(yaws)[:, None], np.sin(yaws)[:, None]
    x = c * ends[:, 0] - s * ends[:, 1] + parts[first, :1]
    y = s * ends[:, 0] + c * ends[:, 1] + parts[first, 1:]
    return groups.astype(np.int64), np.floor(np.stack([x, y], axis=-1)).astype(np.int32)


def tasks_of(groups: IntArray) -> IntArray:
    """Group, first and end of runs of boxes of one group, at most `CHUNK` long, shape (t, 3)."""
    edge = np.flatnonzero(np.diff(groups, prepend=-1, append=-1))
    starts = [np.arange(a, b, CHUNK) for a, b in itertools.pairwise(edge)]
    first = np.concatenate(starts)
    ends = np.minimum(np.append(first[1:], len(groups)), first + CHUNK)
    return np.column_stack([groups[first], first, ends]).astype(np.int64)


def _telling(
    ceilings: Ceilings, places: IntArray, groups: IntArray, offsets: NDArray[np.int32],
    tables: NDArray[np.uint16], budget: float,
) -> IntArray:  # fmt: skip
    """An order of the beams in which a sample of boxes is dropped early, shape (m,).

    Each next beam is the one that costs the sample's remaining boxes most.
    """
    some = np.random.default_rng(0).integers(0, len(places), min(256, len(places)))
    end = places[some][:, None] + ceilings.pad + offsets[groups[some]]
    end = np.clip(end, 0, np.array(ceilings.codes.shape[::-1]) - 1)
    cost = tables[np.arange(len(tables)), ceilings.codes[end[..., 1], end[..., 0]]].astype(float)
    total, chosen = np.zeros(len(some)), []
    rest = np.ones(len(tables), dtype=np.bool_)
    for _ in range(len(tables)):
        alive = total <= budget
        if not alive.any():
            break
        gain = cost[alive].sum(axis=0)
        gain[~rest] = -1.0
        best = int(np.argmax(gain))
        rest[best] = False
        chosen.append(best)
        total += cost[:, best]
    late = np.flatnonzero(rest)
    return np.append(np.array(chosen, dtype=np.int64), late[np.argsort(-cost.sum(axis=0)[late])])


def _children(cells: IntArray, heads: IntArray) -> tuple[IntArray, IntArray]:
    """The eight halves of each box, heading after heading."""
    corner = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    quarters = (2 * cells[:, None] + corner).reshape(-1, 2)
    both = np.concatenate([quarters, quarters])
    turned = np.repeat(2 * heads, 4)
    turned = np.concatenate([turned, turned + 1])
    order = np.lexsort((both[:, 0], both[:, 1], turned))
    return both[order], turned[order]


def _inside(boxes: FloatArray, a: float, b: float, known: FloatArray | None) -> BoolArray:
    """Whether every pose of a box lies in the place that is known."""
    if known is None:
        return np.zeros(len(boxes), dtype=np.bool_)
    far = np.hypot(boxes[:, 0] - known[0], boxes[:, 1] - known[1]) + math.sqrt(2.0) * a
    turned = np.abs((boxes[:, 2] - known[2] + math.pi) % (2.0 * math.pi) - math.pi) + b
    return np.asarray((far <= known[3]) & (turned <= known[4]))


def _bits(mask: BoolArray, *, fill: bool) -> tuple[NDArray[np.uint64], ...]:
    """Columns from the left and from the right, rows from below and from above, as words.

    Bits beyond the map are `fill`, and so is the last word, which windows may touch.
    """

    def pack(lines: BoolArray) -> NDArray[np.uint64]:
        words = -(-lines.shape[1] // 64) + 1
        full = np.full((len(lines), 64 * words), fill)
        full[:, : lines.shape[1]] = lines
        return np.packbits(full, axis=1, bitorder="little").view(np.uint64)

    return pack(mask.T), pack(mask.T[::-1]), pack(mask), pack(mask[::-1])
