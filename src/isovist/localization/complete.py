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

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.base import Beams
from isovist.atlas.plane import PlaneAtlas
from isovist.backends.base import Boxes, Rounds, computing
from isovist.localization.ceilings import FRONTIERS, WALLS, Ceilings
from isovist.localization.settings import ProofSettings
from isovist.types import BoolArray, FloatArray, IntArray

UNITS = 256.0
"""Deficits are counted in parts of a nat, rounded down."""
CHUNK = 128
"""Boxes that are looked up together: their sums stay in the fastest memory."""


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
    yaws: FloatArray | None = None,
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
        yaws: Headings in rad, as cells lie: boxes without any of them are left out, and the others
            are halved along x and y alone.
        seconds: Time after which no smaller boxes are tried.
    """
    start = perf_counter()
    ceilings, unit = Ceilings.of(atlas), atlas.world.resolution
    z = np.hypot(*beams.ends.T)
    if yaws is None:
        whole = computing().complete(
            _rounds(atlas, beams, model, floor, settings, known=known, until=start + seconds)
        )
        if whole is not None:
            return _survivors(whole, settings, unit, _tops(z, model))
    size, turns = settings.first(unit)
    squares, first = ceilings.squares(size).astype(np.int64), _headings(turns, yaws)
    cells, heads = np.tile(squares, (len(first), 1)), np.repeat(first, len(squares))
    order: IntArray | None = None
    share, lookups, wedges = 1, 0, 0
    settled: list[FloatArray] = []
    while len(cells):
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
        computing().bound(
            ceilings.codes, tasks, (places + ceilings.pad).astype(np.int32),
            np.ascontiguousarray(offsets[:, order]), np.ascontiguousarray(tables[order]),
            math.floor(spare * UNITS), sums, looked,
        )  # fmt: skip
        lookups += int(looked.sum())
        alive = np.flatnonzero(sums >= 0)
        cells, heads = cells[alive], heads[alive]
        found = _rows(np.column_stack([cells, heads, sums[alive]]), width, turn, tops)
        boxes = found[:, :3]
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
        cells, heads = _children(cells, heads)
        if yaws is None:
            turns *= 2
        else:  # headings stay as narrow as they are
            cells, heads = cells[heads % 2 == 0], heads[heads % 2 == 0] // 2
        if share == 1:
            standing = ceilings.standing(size)
            held = (cells[:, 1] < standing.shape[0]) & (cells[:, 0] < standing.shape[1])
            held[held] = standing[cells[held, 1], cells[held, 0]]
            cells, heads = cells[held], heads[held]
    return Survivors(np.concatenate([np.empty((0, 6)), *settled]), 0, True, lookups, wedges)


def _headings(turns: int, yaws: FloatArray | None) -> IntArray:
    """Which of so many headings all round hold one of some yaws, in order."""
    if yaws is None:
        return np.arange(turns)
    return np.unique(np.floor(yaws / (2.0 * math.pi / turns)).astype(np.int64) % turns)


def sizes_of(settings: ProofSettings, unit: float) -> list[tuple[float, int]]:
    """Width of the boxes of each round in cells, and headings."""
    size, turns = settings.first(unit)
    sizes = [(float(size), turns)]
    while sizes[-1][0] * unit > settings.finest:
        sizes.append((0.5 * sizes[-1][0], 2 * sizes[-1][1]))
    return sizes


def _rounds(
    atlas: PlaneAtlas,
    beams: Beams,
    model: FloatArray,
    floor: float,
    settings: ProofSettings,
    *,
    known: FloatArray | None,
    until: float,
) -> Rounds:
    """What `complete` is asked, as a backend does it in one piece."""
    ceilings, unit = Ceilings.of(atlas), atlas.world.resolution
    z, sizes = np.hypot(*beams.ends.T), sizes_of(settings, unit)
    tops = _tops(z, model)
    return Rounds(
        ceilings.codes, ceilings.pad, WALLS, FRONTIERS, ceilings.squares(int(sizes[0][0])),
        tuple(ceilings.standing(int(size) // 2) if size > 1 else None for size, _ in sizes),
        tuple(sizes), np.stack([_taken(z, 0.5 * w * unit, math.pi / t, unit) for w, t in sizes]),
        sum(w * unit > settings.see for w, _ in sizes), atlas.wall_distance, atlas.clear,
        ceilings.walls, ceilings.unknown, beams.ends, model, tops, _behind(z, model, tops), unit,
        1.0 / UNITS, float(tops.sum() - floor * len(z)), known, settings.most, until,
    )  # fmt: skip


def _survivors(told: Boxes, settings: ProofSettings, unit: float, tops: FloatArray) -> Survivors:
    """From what a backend has left."""
    sizes = [(width, math.pi / turns) for width, turns in sizes_of(settings, unit)]
    settled = [_rows(inside, *size, tops) for inside, size in zip(told.inside, sizes, strict=False)]
    found = _rows(told.left, *sizes[len(told.inside) - 1], tops)
    found[:, 5] = np.minimum(found[:, 5], tops.mean() - told.deficits / len(tops))
    boxes = np.concatenate([*settled, found])
    return Survivors(boxes, len(found), told.complete, told.lookups, told.wedges)


def _rows(boxes: IntArray, width: float, turn: float, tops: FloatArray) -> FloatArray:
    """Boxes (column, row, heading, deficit) as `Survivors` wants them."""
    middles = (boxes[:, :2] + 0.5) * width
    half = np.broadcast_to([0.5 * width, turn], (len(boxes), 2))
    most = tops.mean() - boxes[:, 3] / UNITS / len(tops)
    return np.column_stack([middles, (boxes[:, 2] + 0.5) * 2.0 * turn, half, most])


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

    tables, tops = np.zeros((len(z), 256), dtype=np.uint16), np.empty(len(z))
    tabulate(model, z, WALLS, FRONTIERS, _taken(z, a, b, unit), 1.0 / UNITS, tables, tops)
    return tables, tops


def _behind(z: FloatArray, model: FloatArray, tops: FloatArray) -> FloatArray:
    """By (2): how much less than its best a beam is worth behind a wall, in nats, shape (m,)."""
    sigma = float(model[0])
    past = (model[8] + model[9] * z) / sigma
    hit = np.exp(-0.5 * past**2) / (math.sqrt(2.0 * math.pi) * sigma)
    return np.asarray(tops - np.log(model[1] * model[2] * hit + model[5]))


def _taken(z: FloatArray, a: float, b: float, unit: float) -> FloatArray:
    """What boxes take off distances to walls and to unknown space, in m, shape (m, 2)."""
    corner = math.sqrt(0.5) * unit
    rho = math.sqrt(2.0) * a + 2.0 * z * math.sin(0.5 * b) + corner
    return np.column_stack([np.hypot(rho, corner), rho])


def _tops(z: FloatArray, model: FloatArray) -> FloatArray:
    """The most that each beam can be worth, in nats, shape (m,)."""
    from isovist.kernels.bound import tabulate

    tops, none = np.empty(len(z)), np.zeros(1)
    tabulate(
        model, z, none, none, np.zeros((len(z), 2)), 1.0, np.zeros((len(z), 1), np.uint16), tops
    )
    return tops


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

    z = np.hypot(*beams.ends.T)
    behind = _behind(z, model, tops)
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
