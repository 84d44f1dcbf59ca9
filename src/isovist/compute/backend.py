"""Which backend computes, and what every backend can do.

A call says it (`backend="cuda"`), or the variable ISOVIST_BACKEND does, or it is the compiled code
on the cores of this machine.  Nothing above this room knows which one ran: the operations take and
fill the same arrays, and `tests/unit/compute/test_backends.py`
holds every backend to the same twins.  Costs of
headings, deficits, ranges and distances agree bit by bit; sums of many beams differ by rounding.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray
from isovist.errors import InputError

VARIABLE = "ISOVIST_BACKEND"
Given = TypeVar("Given")
Told = TypeVar("Told")
NAMES = ("cpu", "cuda")
Bytes = NDArray[np.uint8]
Keys = NDArray[np.uint64]
Rated = tuple[Float32Array, Bytes]
"""ℓ and kind of each beam from each pose (`likelihood.beam_model`), both of shape (K, m)."""
Scanned = tuple[NDArray[np.int16], BoolArray, BoolArray, float, float, int, int]
"""What `compute.search.correlate` is told of a scan, from its windows on."""
NEIGHBOURS = 100
"""Cells of the side of a square of the map that one core keeps in its cache."""
FEW = 64
"""Poses that are not worth ordering: it takes longer than what it saves (`benchmarks.check`)."""


@dataclass(frozen=True, slots=True, eq=False)
class Rays:
    """Rays of the nodes of a map, and what their lengths are made into (`maps.sweep.sweep2d` (1)).

    Attributes:
        along: Unit vectors (x, y) in the axes of the grid, shape (S, 2).
        weights: W, float32, shape (S, n).
        counted: Which of the four endings count, shape (4,).
        unit: Side of a cell in m.
        reach: Longest range in cells.
        transform: Number of f among `maps.sweep.sweep2d.TRANSFORMS`.
        scale: Of f, in m.
    """

    along: FloatArray
    weights: Float32Array
    counted: BoolArray
    unit: float
    reach: float
    transform: int
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class Described:
    """A map of the plane as an atlas keeps it (`atlas.base.Atlas`).

    Attributes:
        nodes: Flat index of the cell of each node, shape (N,).
        descriptors: Shape (N, n).
        wall_distance: Shape of the map.
        clear: Shape of the map with a border of one cell.
        bare: Likewise.
    """

    nodes: IntArray
    descriptors: Float32Array
    wall_distance: Float32Array
    clear: Bytes
    bare: Bytes


@dataclass(frozen=True, slots=True, eq=False)
class Rounds:
    """A complete search in one piece (`localization.complete`).

    Attributes:
        codes: Class of each cell, padded, shape (height, width).
        pad: Cells around the map.
        walls: Least distance to a wall of each class in m.
        frontiers: Least distance to unknown space of each class in m.
        squares: Column and row of those squares of the first round that hold a free cell.
        standing: Of each round, which squares of half the size hold one; `None` for half cells.
        sizes: Of each round, width of the boxes in cells, and headings.
        taken: Of each round, what boxes take off distances, in m, shape (rounds, m, 2).
        seen: From which round on it counts what beams pass.
        field: Distance of each cell to the nearest wall in cells.
        clear: What rays walk on.
        wall_bits: Occupied cells along columns and rows
            (`compute.branch_and_bound.visibility.meets_wall`).
        unknown_bits: The same for unknown cells.
        ends: Of the beams, in m, shape (m, 2).
        model: What a beam is worth, shape (10,).
        tops: The most that each beam can be worth, in nats, shape (m,).
        behind: Deficit of a beam that has gone through a wall, in nats, shape (m,).
        cell: Side of a cell in m.
        unit: Of deficits in nats.
        spare: Largest sum of deficits that is good enough, in nats.
        known: A place, (x, y, yaw, radius, turn) in cells and rad; boxes inside it are kept apart.
        most: Boxes of a round beyond which it is given up.
        until: When it is given up, by `time.perf_counter`.
    """

    codes: Bytes
    pad: int
    walls: FloatArray
    frontiers: FloatArray
    squares: NDArray[np.int32]
    standing: tuple[BoolArray | None, ...]
    sizes: tuple[tuple[float, int], ...]
    taken: FloatArray
    seen: int
    field: Float32Array
    clear: Bytes
    wall_bits: tuple[NDArray[np.uint64], ...]
    unknown_bits: tuple[NDArray[np.uint64], ...]
    ends: FloatArray
    model: FloatArray
    tops: FloatArray
    behind: FloatArray
    cell: float
    unit: float
    spare: float
    known: FloatArray | None
    most: int
    until: float


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """What is left after rounds.

    Attributes:
        left: Boxes of the last round: column, row, heading and deficit in units, shape (n, 4).
        deficits: Of these, by what beams pass too, in nats, shape (n,).
        inside: Of each round, boxes inside the place that is known, shape (k, 4).
        complete: Whether it was not given up.
        lookups: Of ends of beams.
        wedges: Of rays.
    """

    left: IntArray
    deficits: FloatArray
    inside: tuple[IntArray, ...]
    complete: bool
    lookups: int
    wedges: int


class Backend:
    """The compiled code on the cores of this machine; others say what they do differently.

    Attributes:
        name: As it is asked for.
        exhaustive: Whether looking at every node in full is cheaper than first dropping most.
    """

    name = "cpu"
    exhaustive = False

    def each(self, ask: Callable[[int, Given], Told], given: Iterable[Given]) -> Iterator[Told]:
        """Call ask(number, one) for each of many things, several at once; what it tells, in order.

        What is given may be made one by one, a few ahead of what is told.
        """
        from isovist.compute.infra import threads

        return threads.in_order(ask, given, threads.at_once())

    def describe(
        self, cells: Bytes, rows: IntArray, columns: IntArray, rays: Rays
    ) -> tuple[Float32Array, Float32Array] | None:
        """F and K of `maps.sweep.sweep2d` (1) of nodes, or `None`: then the cores sweep the map."""
        del cells, rows, columns, rays
        return None

    def plane(
        self, cells: Bytes, stride: int, gap: float, rays: Rays, unknown: tuple[float, float]
    ) -> Described | None:
        """A map of the plane, described in one piece, or `None`: then it is done step by step.

        Args:
            cells: `Cell` codes, shape (height, width).
            stride: Distance of the nodes in cells.
            gap: Unknown cells nearer to free ones, in cells, are made free.
            rays: Of each node.
            unknown: Least share of a channel that must be known, and what stands for less.
        """
        del cells, stride, gap, rays, unknown
        return None

    def complete(self, rounds: Rounds) -> Boxes | None:
        """A complete search, or `None`: then its rounds are done one by one."""
        del rounds
        return None

    def correlate(self, *arguments: Any) -> None:
        """`compute.search.correlate.correlate`."""
        from isovist.compute.search.correlate import correlate

        correlate(*arguments)

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
        """`correlate`, at a glance and then of the cheapest in full.

        Args:
            nodes: As for `correlate`.
            lowest: Likewise.
            active: Nodes to glance at, in order.
            rough: The scan at a glance.
            full: The scan in full.
            most: How many nodes are looked at in full, as many as there are at most.
            keep: Headings of each.

        Returns:
            These nodes in order, their least cost at a glance, and costs and headings in full.
        """
        glanced = np.empty((len(active), 1), dtype=np.float32)
        nobody = np.empty((len(active), 0), dtype=np.int32)
        self.correlate(nodes, lowest, active, *rough, glanced, nobody)
        best = numbers_of(keys_of_cheapest(glanced[:, 0], most))
        chosen = active[best]
        costs = np.empty((most, keep), dtype=np.float32)
        headings = np.empty((most, keep), dtype=np.int32)
        self.correlate(nodes, lowest, chosen, *full, costs, headings)
        return chosen, glanced[best, 0], costs, headings

    def align(self, *arguments: Any) -> None:
        """`compute.fitting.align2d.align`."""
        from isovist.compute.fitting.align2d import align

        *given, poses, normal = arguments
        if len(poses) <= FEW:
            align(*arguments)
            return
        order, sums = _by_place(poses), np.empty_like(normal)
        moved = poses[order]
        align(*given, moved, sums)
        poses[order], normal[order] = moved, sums

    def score(self, *arguments: Any) -> None:
        """`compute.likelihood.score2d.score`."""
        from isovist.compute.likelihood.score2d import score

        *given, poses, ratings, kinds = arguments
        if len(poses) <= FEW:
            score(*arguments)
            return
        order, rated = _by_place(poses), (np.empty_like(ratings), np.empty_like(kinds))
        score(*given, poses[order], *rated)
        ratings[order], kinds[order] = rated

    def align_and_score(
        self, fitting: tuple[Any, ...], rating: Sequence[tuple[Any, ...]], most: int
    ) -> tuple[IntArray, list[Rated]]:
        """`align`, then `score` of the poses that weigh most.

        Args:
            fitting: Arguments of `align`.
            rating: Those of `score` before the poses, of the same beams, once or by several models.
            most: How many are rated.

        Returns:
            Which poses these are (`firmest`), and what `score` says of them, by each model.
        """
        self.align(*fitting)
        *_, poses, normal = fitting
        chosen = firmest(normal[:, 6], most)
        places = poses if len(chosen) == len(poses) else poses[chosen]
        told = [rated_room(len(chosen), len(given[5])) for given in rating]
        for given, out in zip(rating, told, strict=True):
            self.score(*given, places, *out)
        return chosen, told

    def bound(self, *arguments: Any) -> None:
        """`compute.branch_and_bound.upper_bounds.bound`."""
        from isovist.compute.branch_and_bound.upper_bounds import bound

        bound(*arguments)


def rated_room(poses: int, beams: int) -> Rated:
    """Room for what `score` says."""
    return np.empty((poses, beams), dtype=np.float32), np.empty((poses, beams), dtype=np.uint8)


def keys_of_cheapest(costs: Float32Array, most: int) -> Keys:
    """Keys of the cheapest of some costs, 0 or more (`compute.search.topk.cheapest`)."""
    from isovist.compute.search.topk import cheapest

    keys = np.empty(most, dtype=np.uint64)
    cheapest(np.ascontiguousarray(costs).view(np.uint32), keys)
    return keys


def numbers_of(keys: Keys) -> IntArray:
    """Of which cost each key is."""
    return (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)


def firmest(weights: FloatArray, most: int) -> IntArray:
    """Numbers of so many of the largest weights, in order, of equal ones the first."""
    if most >= len(weights):
        return np.arange(len(weights))
    if most <= 0:
        return np.empty(0, dtype=np.int64)
    least = np.partition(weights, -most)[-most]
    chosen = np.flatnonzero(weights >= least)
    if len(chosen) > most:  # of those that weigh as much as the last, the first
        equal = np.flatnonzero(weights[chosen] == least)
        chosen = np.delete(chosen, equal[most - len(chosen) :])
    return chosen


def _by_place(poses: FloatArray) -> IntArray:
    """An order of poses in cells, shape (K, 3), in which neighbours come together."""
    from isovist.compute.search.topk import by_place

    order = np.empty(len(poses), dtype=np.int64)
    by_place(poses, NEIGHBOURS, order)
    return order


_ASKED: ContextVar[str | None] = ContextVar("backend", default=None)


@contextmanager
def using(name: str | None) -> Iterator[Backend]:
    """Have everything inside computed by a backend; `None` changes nothing."""
    backend = computing() if name is None else named(name)
    mark = _ASKED.set(backend.name)
    try:
        yield backend
    finally:
        _ASKED.reset(mark)


def computing() -> Backend:
    """The backend that computes now."""
    return named(_ASKED.get() or os.environ.get(VARIABLE) or NAMES[0])


def compute_by(name: str) -> None:
    """Have the whole process computed by a backend, threads and children too."""
    os.environ[VARIABLE] = named(name).name


@cache
def named(name: str) -> Backend:
    """A backend by its name; an error when there is none, or when this machine lacks it."""
    if name not in NAMES:
        raise InputError.about("backend", f"must be one of {', '.join(NAMES)}, got {name}.")
    if name == "cpu":
        return Backend()
    from isovist.compute.cuda.backend import CudaBackend

    return CudaBackend()


def available() -> tuple[str, ...]:
    """Names of the backends that this machine has, the fastest last."""
    found = []
    for name in NAMES:
        with suppress(InputError):
            found.append(named(name).name)
    return tuple(found)
