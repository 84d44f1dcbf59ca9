"""Every place, or none: a search that cannot miss.

A place counts when its mean rating (`compute.likelihood.beam_model`) reaches a floor.  Boxes of
poses (x, y, yaw) that cover all free space are halved on each side again and again; a box is
dropped for good when no pose in it can reach the floor, by a ceiling that is sound for all of its
poses:

1. by where beams end (`compute.branch_and_bound.upper_bounds`).  Distances to walls are
   interpolated between the middles of cells.  With c the middle of the cell where a beam ends from
   the middle of the box, e any end, and |e − c| ≤ ρ + √½ cells, the weights of the four middles
   around e have a variance of at most ½ cell², so that by Jensen

       D(e) ≥ D(c) − √((ρ + √½)² + ½);                                                      (1)

2. once boxes are small, by what beams would have to pass (`compute.branch_and_bound.visibility`):
   when every ray of the box meets a wall more than s(z) before z, and nothing unknown before that,
   then

       ℓ ≤ log(Z a N(s(z); σ) + c).                                                         (2)
"""

import itertools
import math
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, FloatArray, IntArray
from isovist.atlas import Beams, PlaneAtlas
from isovist.compute import (
    BoxSearchBeams,
    BoxSearchLimits,
    BoxSearchMap,
    BoxSearchRequest,
    BoxSearchResult,
    BoxSearchRounds,
    BoxSize,
    active_backend,
)
from isovist.localization.settings import ProofSettings
from isovist.localization.verification.pose_boxes import SearchLevel
from isovist.localization.verification.upper_bounds import FRONTIERS, WALLS, UpperBoundMap

UNITS = 256.0
"""Deficits are counted in parts of a nat, rounded down."""
SEEN = 8192
"""Boxes whose beams are followed before time is looked at: 0.3 s on two cores."""


@dataclass(frozen=True, slots=True, eq=False)
class RemainingBoxes:
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


def search_pose_boxes(
    atlas: PlaneAtlas,
    beams: Beams,
    model: FloatArray,
    floor: float,
    settings: ProofSettings,
    *,
    known: FloatArray | None = None,
    yaws: FloatArray | None = None,
    seconds: float = math.inf,
) -> RemainingBoxes:
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
        seconds: Time after which no smaller boxes are tried, and no more beams followed.
    """
    start = perf_counter()
    ceilings, unit = UpperBoundMap.of(atlas), atlas.world.resolution
    z = np.hypot(*beams.ends.T)
    if yaws is None:
        whole = active_backend().search_boxes(
            _request(atlas, beams, model, floor, settings, known=known, until=start + seconds)
        )
        if whole is not None:
            return _survivors(whole, settings, unit, _tops(z, model))
    size, turns = settings.first(unit)
    cells, heads = ceilings.free_squares(size).astype(np.int64), _headings(turns, yaws)
    order: IntArray | None = None
    share, lookups, wedges = 1, 0, 0
    settled: list[FloatArray] = []
    while len(cells):
        # Squares of size/share cells: whole numbers, then halves and quarters of a cell.
        width, turn = size / share, math.pi / turns
        tables, tops = deficits_of(z, model, 0.5 * width * unit, turn, unit)
        spare = float(tops.sum() - floor * len(z))
        told = SearchLevel(ceilings, beams.ends / unit, width, 2.0 * turn, tables, spare * UNITS)
        if order is None:
            order = told.beam_order(cells, heads)
            alive = told.bound_all(cells, heads, order)
        else:
            alive = told.bound_boxes(cells, heads, order)
        cells, heads, lookups = alive.cells, alive.heads, lookups + alive.lookups
        followed, narrow = True, width * unit <= settings.see
        found = None  # what will not be told of boxes need not be made
        if narrow or known is not None:
            found = _rows(cells, heads, alive.deficits, width, turn, tops)
        if found is not None and known is not None:
            inside = _inside(found, 0.5 * width, turn, known)
            settled.append(found[inside])
            cells, heads, found = cells[~inside], heads[~inside], found[~inside]
        if found is not None and narrow and len(found):
            lost, count, followed = _see(
                atlas, ceilings, beams, model, np.ascontiguousarray(found[:, :3]),
                (0.5 * width, turn), tops, spare, start + seconds,
            )  # fmt: skip
            wedges += count
            kept = lost <= spare + 1e-9
            found[:, 5] = np.minimum(found[:, 5], tops.mean() - lost / len(z))
            cells, heads, found = cells[kept], heads[kept], found[kept]
        done = len(cells) == 0 or (width * unit <= settings.finest and followed)
        late = perf_counter() - start > seconds or not followed
        if done or late or 8 * len(cells) > settings.most:
            if found is None:
                found = _rows(cells, heads, alive.deficits, width, turn, tops)
            return RemainingBoxes(
                np.concatenate([*settled, found]), len(found), done, lookups, wedges
            )
        size, share = (size // 2, share) if size > 1 else (1, 2 * share)
        cells, heads = children(cells, heads, turned=yaws is None, share=share)
        turns *= 2 if yaws is None else 1  # headings that were asked for are narrow enough
        if share == 1:
            held = ceilings.has_free_cell(cells, size)
            cells, heads = cells[held], heads[held]
    return RemainingBoxes(np.concatenate([np.empty((0, 6)), *settled]), 0, True, lookups, wedges)


def _headings(turns: int, yaws: FloatArray | None) -> IntArray:
    """Which of so many headings all round hold one of some yaws, in order."""
    if yaws is None:
        return np.arange(turns)
    return np.unique(np.floor(yaws / (2.0 * math.pi / turns)).astype(np.int64) % turns)


def sizes_of(settings: ProofSettings, unit: float) -> list[BoxSize]:
    """Width of the boxes of each round in cells, and headings."""
    size, turns = settings.first(unit)
    sizes = [BoxSize(float(size), turns)]
    while sizes[-1].width * unit > settings.finest:
        sizes.append(BoxSize(0.5 * sizes[-1].width, 2 * sizes[-1].headings))
    return sizes


def _request(
    atlas: PlaneAtlas,
    beams: Beams,
    model: FloatArray,
    floor: float,
    settings: ProofSettings,
    *,
    known: FloatArray | None,
    until: float,
) -> BoxSearchRequest:
    """Return what a backend needs to search in one piece."""
    ceilings, unit = UpperBoundMap.of(atlas), atlas.world.resolution
    z, sizes = np.hypot(*beams.ends.T), sizes_of(settings, unit)
    tops = _tops(z, model)
    margins = [taken_off(z, 0.5 * width * unit, math.pi / turns, unit) for width, turns in sizes]
    return BoxSearchRequest(
        BoxSearchMap(
            ceilings.codes, ceilings.pad, WALLS, FRONTIERS, atlas.wall_distance, atlas.clear,
            ceilings.walls, ceilings.unknown, unit,
        ),
        BoxSearchBeams(beams.ends, model, tops, _behind(z, model, tops)),
        BoxSearchRounds(
            ceilings.free_squares(int(sizes[0].width)),
            tuple(ceilings.free_mask(int(w) // 2) if w > 1 else None for w, _ in sizes),
            tuple(sizes), np.stack(margins), sum(w * unit > settings.see for w, _ in sizes),
        ),
        BoxSearchLimits(
            1.0 / UNITS, float(tops.sum() - floor * len(z)), known, settings.most, until
        ),
    )  # fmt: skip


def _survivors(
    result: BoxSearchResult, settings: ProofSettings, unit: float, tops: FloatArray
) -> RemainingBoxes:
    """Return the boxes that a backend could not drop."""

    def rows(boxes: IntArray, size: tuple[float, float]) -> FloatArray:
        return _rows(boxes[:, :2], boxes[:, 2], boxes[:, 3], *size, tops)

    sizes = [(width, math.pi / turns) for width, turns in sizes_of(settings, unit)]
    settled = [rows(inside, size) for inside, size in zip(result.inside, sizes, strict=False)]
    found = rows(result.boxes, sizes[len(result.inside) - 1])
    found[:, 5] = np.minimum(found[:, 5], tops.mean() - result.deficits / len(tops))
    boxes = np.concatenate([*settled, found])
    return RemainingBoxes(boxes, len(found), result.is_complete, result.lookups, result.wedges)


def _rows(
    cells: IntArray,
    heads: IntArray,
    deficits: IntArray | NDArray[np.int32],
    width: float,
    turn: float,
    tops: FloatArray,
) -> FloatArray:
    """Boxes as `RemainingBoxes` wants them."""
    rows = np.empty((len(cells), 6))
    rows[:, :2] = (cells + 0.5) * width
    rows[:, 2] = (heads + 0.5) * 2.0 * turn
    rows[:, 3], rows[:, 4] = 0.5 * width, turn
    rows[:, 5] = tops.mean() - deficits / UNITS / len(tops)
    return rows


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
    from isovist.compute import tabulate

    tables, tops = np.zeros((len(z), 256), dtype=np.uint16), np.empty(len(z))
    tabulate(model, z, WALLS, FRONTIERS, taken_off(z, a, b, unit), 1.0 / UNITS, tables, tops)
    return tables, tops


def _behind(z: FloatArray, model: FloatArray, tops: FloatArray) -> FloatArray:
    """By (2): how much less than its best a beam is worth behind a wall, in nats, shape (m,)."""
    sigma = float(model[0])
    past = (model[8] + model[9] * z) / sigma
    hit = np.exp(-0.5 * past**2) / (math.sqrt(2.0 * math.pi) * sigma)
    return np.asarray(tops - np.log(model[1] * model[2] * hit + model[5]))


def taken_off(z: FloatArray, a: float, b: float, unit: float) -> FloatArray:
    """What boxes take off distances to walls and to unknown space, in m, shape (m, 2)."""
    corner = math.sqrt(0.5) * unit
    rho = math.sqrt(2.0) * a + 2.0 * z * math.sin(0.5 * b) + corner
    return np.column_stack([np.hypot(rho, corner), rho])


def _tops(z: FloatArray, model: FloatArray) -> FloatArray:
    """The most that each beam can be worth, in nats, shape (m,)."""
    from isovist.compute import tabulate

    tops, none = np.empty(len(z)), np.zeros(1)
    tabulate(
        model, z, none, none, np.zeros((len(z), 2)), 1.0, np.zeros((len(z), 1), np.uint16), tops
    )
    return tops


def _see(
    atlas: PlaneAtlas,
    ceilings: UpperBoundMap,
    beams: Beams,
    model: FloatArray,
    boxes: FloatArray,
    half: tuple[float, float],
    tops: FloatArray,
    budget: float,
    until: float,
) -> tuple[FloatArray, int, bool]:
    """Deficits of boxes in nats by (2) too, and how many wedges that took.

    With them comes whether it is all boxes: when time is up, those of the others are 0.
    """
    from isovist.compute import bound_small_boxes

    z = np.hypot(*beams.ends.T)
    behind = _behind(z, model, tops)
    longest = np.argsort(-z, kind="stable")
    deficits, looked = np.zeros(len(boxes)), np.zeros(len(boxes), dtype=np.int64)
    for first in range(0, len(boxes), SEEN):
        some = slice(first, first + SEEN)
        bound_small_boxes(
            atlas.wall_distance, ceilings.codes, ceilings.pad, FRONTIERS, ceilings.walls,
            ceilings.unknown, atlas.clear, atlas.world.resolution, model, beams.ends[longest],
            boxes[some], *half, behind[longest], tops[longest], budget, deficits[some],
            looked[some],
        )  # fmt: skip
        if perf_counter() > until:
            break
    return deficits, int(looked.sum()), some.stop >= len(boxes)


def children(
    cells: IntArray, heads: IntArray, *, turned: bool, share: int = 1
) -> tuple[IntArray, IntArray]:
    """The four quarters of each box, or the eighths when `turned`, heading after heading.

    Of a heading those come together whose middles lie alike in cells, of which they are `share`
    parts each way; then row after row.
    """
    column, row, fine, low = 2 * cells[:, 0], 2 * cells[:, 1], share.bit_length() - 1, share - 1
    bits = int(max(column.max(initial=0), row.max(initial=0)) + 1).bit_length()
    # One number for each box, in this order.  Those of one part of all are in order for the most.
    keys = []
    for head in (2 * heads, 2 * heads + 1) if turned else (heads,):
        for dy, dx in itertools.product((0, 1), (0, 1)):
            alike = (head << fine | (row + dy) & low) << fine | (column + dx) & low
            keys.append((alike << bits | (row + dy) >> fine) << bits | (column + dx) >> fine)
    key = np.sort(np.concatenate(keys), kind="stable")
    alike, mask = key >> 2 * bits, (1 << bits) - 1
    column = (key & mask) << fine | alike & low
    row = (key >> bits & mask) << fine | alike >> fine & low
    return np.column_stack([column, row]), alike >> 2 * fine


def _inside(boxes: FloatArray, a: float, b: float, known: FloatArray) -> BoolArray:
    """Whether every pose of a box lies in the place that is known."""
    far = np.hypot(boxes[:, 0] - known[0], boxes[:, 1] - known[1]) + math.sqrt(2.0) * a
    turned = np.abs((boxes[:, 2] - known[2] + math.pi) % (2.0 * math.pi) - math.pi) + b
    return np.asarray((far <= known[3]) & (turned <= known[4]))
