"""Branch and bound over all poses of a 2D map: a search that cannot miss a pose.

A pose is accepted when its mean rating (`compute.likelihood.beam_model`) reaches a minimum.  Boxes
of poses (x, y, yaw) cover all free space.  Each level halves the sides of the boxes.  A box is
dropped when an upper bound on the mean rating of its poses is below the minimum.  Two bounds are
used, both sound for every pose of the box:

1. By where beams end (`compute.branch_and_bound.upper_bounds`).  Distances to walls are
   interpolated between the centres of cells.  Let c be the centre of the cell where a beam from the
   centre of the box ends, and e any end, with |e − c| ≤ ρ + √½ cells.  The weights of the four
   centres around e have a variance of at most ½ cell², so by Jensen's inequality

       D(e) ≥ D(c) − √((ρ + √½)² + ½);                                                      (1)

2. For small boxes, by what the beams must pass (`compute.branch_and_bound.visibility`).  If every
   ray of the box meets a wall more than s(z) before z, and nothing unknown before that wall, then

       ℓ ≤ log(Z a N(s(z); σ) + c).                                                         (2)

The deficit of a beam is its best possible rating minus its upper bound.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
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
from isovist.localization.verification.pose_boxes import OpenBoxes, SearchLevel
from isovist.localization.verification.upper_bounds import (
    FRONTIER_CLASSES,
    WALL_CLASSES,
    UpperBoundMap,
)

UNITS_PER_NAT = 256.0
"""Deficits are counted in these units and rounded down."""
TRACED_BOXES = 8192
"""Boxes whose rays are traced between two looks at the clock: 0.3 s on two cores."""


@dataclass(frozen=True, slots=True, eq=False)
class RemainingBoxes:
    """Boxes that may hold a pose whose mean rating reaches the minimum; no other pose does.

    Attributes:
        boxes: Centre (x, y, yaw) in cells and rad, half the width in cells and in rad, and the
            upper bound on the mean rating in nats, shape (n, 6).
        open: Number of boxes outside the known disc; these are the last rows.
        complete: Whether the open boxes were halved down to the last size.
        lookups: Ends of beams that were looked up.
        wedges: Wedges of rays that were traced.
    """

    boxes: FloatArray
    open: int
    complete: bool
    lookups: int
    wedges: int


@dataclass(frozen=True, eq=False)
class PoseProblem:
    """The question of a search: which poses of a map rate a scan at least so high.

    Attributes:
        atlas: The 2D atlas of the map.
        beams: The beams of the scan.
        model: Numbers of the beam model, shape (10,).
        min_rating: Minimum mean rating of an accepted pose, in nats per beam.
    """

    atlas: PlaneAtlas
    beams: Beams
    model: FloatArray
    min_rating: float

    @property
    def bound_map(self) -> UpperBoundMap:
        """The distance classes of the map."""
        return UpperBoundMap.of(self.atlas)

    @property
    def cell(self) -> float:
        """Side of a cell in m."""
        return self.atlas.world.resolution

    @cached_property
    def lengths(self) -> FloatArray:
        """Length z of each beam in m, shape (m,)."""
        return np.asarray(np.hypot(*self.beams.ends.T))

    @cached_property
    def best_ratings(self) -> FloatArray:
        """Best possible rating of each beam in nats, shape (m,)."""
        from isovist.compute import tabulate

        z, edge = self.lengths, np.zeros(1)
        ratings, table = np.empty(len(z)), np.zeros((len(z), 1), np.uint16)
        tabulate(self.model, z, edge, edge, np.zeros((len(z), 2)), 1.0, table, ratings)
        return ratings

    @cached_property
    def wall_deficits(self) -> FloatArray:
        """Deficit of each beam that must pass a wall, by (2), in nats, shape (m,)."""
        model, sigma = self.model, float(self.model[0])
        excess = (model[8] + model[9] * self.lengths) / sigma
        density = np.exp(-0.5 * excess**2) / (math.sqrt(2.0 * math.pi) * sigma)
        return np.asarray(self.best_ratings - np.log(model[1] * model[2] * density + model[5]))

    @cached_property
    def budget(self) -> float:
        """Largest sum of deficits of an accepted pose, in nats."""
        return float(self.best_ratings.sum() - self.min_rating * len(self.lengths))

    def distance_margins(self, size: BoxSize) -> FloatArray:
        """Return `distance_margins` of boxes of a size, shape (m, 2)."""
        half_width = 0.5 * size.width * self.cell
        return distance_margins(self.lengths, half_width, math.pi / size.headings, self.cell)

    def deficit_tables(self, size: BoxSize) -> NDArray[np.uint16]:
        """Return the deficit of each beam by class code, in units, shape (m, 256)."""
        from isovist.compute import tabulate

        z = self.lengths
        tables, ratings = np.zeros((len(z), 256), dtype=np.uint16), np.empty(len(z))
        tabulate(
            self.model, z, WALL_CLASSES, FRONTIER_CLASSES, self.distance_margins(size),
            1.0 / UNITS_PER_NAT, tables, ratings,
        )  # fmt: skip
        return tables

    def rows(
        self, cells: IntArray, headings: IntArray, deficits: NDArray[np.int32] | IntArray,
        size: BoxSize,
    ) -> FloatArray:  # fmt: skip
        """Return boxes in the form of `RemainingBoxes.boxes`."""
        turn = math.pi / size.headings
        rows = np.empty((len(cells), 6))
        rows[:, :2] = (cells + 0.5) * size.width
        rows[:, 2] = (headings + 0.5) * 2.0 * turn
        rows[:, 3], rows[:, 4] = 0.5 * size.width, turn
        rows[:, 5] = self.best_ratings.mean() - deficits / UNITS_PER_NAT / len(self.lengths)
        return rows


def search_pose_boxes(
    problem: PoseProblem,
    settings: ProofSettings,
    *,
    known_disc: FloatArray | None = None,
    yaws: FloatArray | None = None,
    seconds: float = math.inf,
) -> RemainingBoxes:
    """Return all boxes of poses that may reach the minimum rating.

    Args:
        problem: The map, the beams and the minimum rating.
        settings: Sizes and largest number of the boxes.
        known_disc: Poses (x, y, yaw, radius, turn) in cells and rad that are accepted already;
            boxes inside are returned and not halved.
        yaws: Headings in rad in the frame of the cells: boxes without any of them are left out,
            and the others are halved along x and y alone.
        seconds: Time after which no smaller boxes are tried and no more rays are traced.
    """
    deadline = perf_counter() + seconds
    if yaws is None:
        request = _request(problem, settings, known_disc, deadline)
        result = active_backend().search_boxes(request)
        if result is not None:
            return _remaining_boxes(result, problem, settings)
    return _LevelSearch(problem, settings, known_disc, yaws, deadline).run()


class _LevelSearch:
    """A search level by level, for backends that do not search in one piece.

    Args:
        problem: The map, the beams and the minimum rating.
        settings: Sizes and largest number of the boxes.
        known_disc: As in `search_pose_boxes`.
        yaws: As in `search_pose_boxes`.
        deadline: Time to stop at, by `time.perf_counter`.
    """

    def __init__(
        self,
        problem: PoseProblem,
        settings: ProofSettings,
        known_disc: FloatArray | None,
        yaws: FloatArray | None,
        deadline: float,
    ) -> None:
        self._problem, self._settings = problem, settings
        self._known_disc, self._deadline = known_disc, deadline
        self._halves_headings = yaws is None
        # Squares are `cells` wide, or 1 / `parts` of a cell.
        self._width_cells, self._heading_count = settings.first(problem.cell)
        self._parts = 1
        self._cells: IntArray = problem.bound_map.free_squares(self._width_cells).astype(np.int64)
        self._headings = _headings_with(self._heading_count, yaws)
        self._beam_order: IntArray | None = None
        self._inside_disc: list[FloatArray] = []
        self._lookups = self._wedges = 0

    def run(self) -> RemainingBoxes:
        """Search until no box is left, boxes are small enough, or a limit is reached."""
        settings, cell = self._settings, self._problem.cell
        while len(self._cells):
            size = BoxSize(self._width_cells / self._parts, self._heading_count)
            is_narrow, is_traced = size.width * cell <= settings.max_ray_box_m, True
            bounded = self._drop_by_ends(size)
            rows = None  # millions of boxes in wide levels, so made only where needed
            if is_narrow or self._known_disc is not None:
                rows = self._set_inside_apart(self._rows(bounded, size), size)
            if is_narrow and rows is not None and len(rows):
                rows, is_traced = self._drop_by_visibility(rows, size)
            is_last_size = size.width * cell <= settings.min_box_m
            is_complete = len(self._cells) == 0 or (is_last_size and is_traced)
            is_late = perf_counter() > self._deadline or not is_traced
            if is_complete or is_late or 8 * len(self._cells) > settings.max_boxes:
                rows = self._rows(bounded, size) if rows is None else rows
                return self._result(rows, is_complete=is_complete)
            self._halve()
        return self._result(np.empty((0, 6)), is_complete=True)

    def _result(self, rows: FloatArray, *, is_complete: bool) -> RemainingBoxes:
        boxes = np.concatenate([*self._inside_disc, rows])
        return RemainingBoxes(boxes, len(rows), is_complete, self._lookups, self._wedges)

    def _rows(self, bounded: OpenBoxes, size: BoxSize) -> FloatArray:
        return self._problem.rows(self._cells, self._headings, bounded.deficits, size)

    def _drop_by_ends(self, size: BoxSize) -> OpenBoxes:
        """Drop boxes by bound (1)."""
        problem = self._problem
        level = SearchLevel(
            problem.bound_map, problem.beams.ends / problem.cell, size.width,
            2.0 * (math.pi / size.headings), problem.deficit_tables(size),
            problem.budget * UNITS_PER_NAT,
        )  # fmt: skip
        if self._beam_order is None:
            self._beam_order = level.beam_order(self._cells, self._headings)
            bounded = level.bound_all(self._cells, self._headings, self._beam_order)
        else:
            bounded = level.bound_boxes(self._cells, self._headings, self._beam_order)
        self._cells, self._headings = bounded.cells, bounded.headings
        self._lookups += bounded.lookups
        return bounded

    def _set_inside_apart(self, rows: FloatArray, size: BoxSize) -> FloatArray:
        """Set boxes inside the known disc apart, and return the others."""
        if self._known_disc is None:
            return rows
        is_inside = _is_inside(rows, 0.5 * size.width, math.pi / size.headings, self._known_disc)
        self._inside_disc.append(rows[is_inside])
        self._cells, self._headings = self._cells[~is_inside], self._headings[~is_inside]
        return rows[~is_inside]

    def _drop_by_visibility(self, rows: FloatArray, size: BoxSize) -> tuple[FloatArray, bool]:
        """Drop boxes by (1) and (2); return the others, and whether all were traced in time."""
        problem = self._problem
        deficits, wedges, is_traced = _trace_boxes(problem, rows, size, self._deadline)
        self._wedges += wedges
        is_open = deficits <= problem.budget + 1e-9
        bounds = problem.best_ratings.mean() - deficits / len(problem.lengths)
        rows[:, 5] = np.minimum(rows[:, 5], bounds)
        self._cells, self._headings = self._cells[is_open], self._headings[is_open]
        return rows[is_open], is_traced

    def _halve(self) -> None:
        """Replace each box by its halves that hold a free cell."""
        if self._width_cells > 1:
            self._width_cells //= 2
        else:
            self._parts *= 2
        self._cells, self._headings = split_boxes(
            self._cells, self._headings, halves_headings=self._halves_headings, parts=self._parts
        )
        if self._halves_headings:
            self._heading_count *= 2
        if self._parts == 1:
            is_free = self._problem.bound_map.has_free_cell(self._cells, self._width_cells)
            self._cells, self._headings = self._cells[is_free], self._headings[is_free]


def _headings_with(count: int, yaws: FloatArray | None) -> IntArray:
    """Return the indices of the headings around the circle that hold one of the yaws, in order."""
    if yaws is None:
        return np.arange(count)
    return np.unique(np.floor(yaws / (2.0 * math.pi / count)).astype(np.int64) % count)


def _box_sizes(settings: ProofSettings, cell: float) -> list[BoxSize]:
    """Return the size of the boxes of each level."""
    width, headings = settings.first(cell)
    sizes = [BoxSize(float(width), headings)]
    while sizes[-1].width * cell > settings.min_box_m:
        sizes.append(BoxSize(0.5 * sizes[-1].width, 2 * sizes[-1].headings))
    return sizes


def _request(
    problem: PoseProblem, settings: ProofSettings, known_disc: FloatArray | None, deadline: float
) -> BoxSearchRequest:
    """Return the request to a backend that searches in one piece."""
    atlas, bound_map, cell = problem.atlas, problem.bound_map, problem.cell
    sizes = _box_sizes(settings, cell)
    return BoxSearchRequest(
        BoxSearchMap(
            bound_map.codes, bound_map.padding, WALL_CLASSES, FRONTIER_CLASSES,
            atlas.wall_distance, atlas.clear, bound_map.walls, bound_map.unknown, cell,
        ),
        BoxSearchBeams(
            problem.beams.ends, problem.model, problem.best_ratings, problem.wall_deficits
        ),
        BoxSearchRounds(
            bound_map.free_squares(int(sizes[0].width)),
            tuple(bound_map.free_mask(int(w) // 2) if w > 1 else None for w, _ in sizes),
            tuple(sizes), np.stack([problem.distance_margins(size) for size in sizes]),
            sum(w * cell > settings.max_ray_box_m for w, _ in sizes),
        ),
        BoxSearchLimits(
            1.0 / UNITS_PER_NAT, problem.budget, known_disc, settings.max_boxes, deadline
        ),
    )  # fmt: skip


def _remaining_boxes(
    result: BoxSearchResult, problem: PoseProblem, settings: ProofSettings
) -> RemainingBoxes:
    """Return the boxes that a backend could not drop."""

    def rows(boxes: IntArray, size: BoxSize) -> FloatArray:
        return problem.rows(boxes[:, :2], boxes[:, 2], boxes[:, 3], size)

    sizes = _box_sizes(settings, problem.cell)
    inside = [rows(boxes, size) for boxes, size in zip(result.inside, sizes, strict=False)]
    open_rows = rows(result.boxes, sizes[len(result.inside) - 1])
    bounds = problem.best_ratings.mean() - result.deficits / len(problem.lengths)
    open_rows[:, 5] = np.minimum(open_rows[:, 5], bounds)
    return RemainingBoxes(
        np.concatenate([*inside, open_rows]), len(open_rows), result.is_complete, result.lookups,
        result.wedges,
    )  # fmt: skip


def distance_margins(
    lengths: FloatArray, half_width: float, half_turn: float, cell: float
) -> FloatArray:
    """Return how far boxes change the distances to walls and to unknown space, by (1), in m.

    Args:
        lengths: Lengths of the beams in m, shape (m,).
        half_width: Half the width of the boxes in m.
        half_turn: Half the angle of the boxes in rad.
        cell: Side of a cell in m.

    Returns:
        Margins, shape (m, 2).
    """
    corner = math.sqrt(0.5) * cell
    rho = math.sqrt(2.0) * half_width + 2.0 * lengths * math.sin(0.5 * half_turn) + corner
    return np.column_stack([np.hypot(rho, corner), rho])


def _trace_boxes(
    problem: PoseProblem, rows: FloatArray, size: BoxSize, deadline: float
) -> tuple[FloatArray, int, bool]:
    """Trace the rays of small boxes.

    Returns:
        Deficits by (1) and (2) in nats, 0 for boxes that time did not reach, shape (n,); the number
        of traced wedges; and whether all boxes were traced.
    """
    from isovist.compute import bound_small_boxes

    atlas, bound_map = problem.atlas, problem.bound_map
    boxes = np.ascontiguousarray(rows[:, :3])
    longest = np.argsort(-problem.lengths, kind="stable")
    deficits, wedges = np.zeros(len(boxes)), np.zeros(len(boxes), dtype=np.int64)
    for first in range(0, len(boxes), TRACED_BOXES):
        batch = slice(first, first + TRACED_BOXES)
        bound_small_boxes(
            atlas.wall_distance, bound_map.codes, bound_map.padding, FRONTIER_CLASSES,
            bound_map.walls, bound_map.unknown, atlas.clear, problem.cell, problem.model,
            problem.beams.ends[longest], boxes[batch], 0.5 * size.width, math.pi / size.headings,
            problem.wall_deficits[longest], problem.best_ratings[longest], problem.budget,
            deficits[batch], wedges[batch],
        )  # fmt: skip
        if perf_counter() > deadline:
            break
    return deficits, int(wedges.sum()), batch.stop >= len(boxes)


def split_boxes(
    cells: IntArray, headings: IntArray, *, halves_headings: bool, parts: int = 1
) -> tuple[IntArray, IntArray]:
    """Return the four quarters of each box, or the eight halves, sorted by heading.

    Boxes of a heading are sorted by the place of their centre in a cell, then by row and column, as
    kernels want them.

    Args:
        cells: Column and row of the squares, shape (n, 2).
        headings: Index of the heading of each box, shape (n,).
        halves_headings: Whether headings are halved too.
        parts: Number of the new squares along the side of a cell, a power of two.
    """
    column, row, fine, low = 2 * cells[:, 0], 2 * cells[:, 1], parts.bit_length() - 1, parts - 1
    bits = int(max(column.max(initial=0), row.max(initial=0)) + 1).bit_length()
    # One key per box, in this order.  The keys of each part are almost sorted.
    keys = []
    for heading in (2 * headings, 2 * headings + 1) if halves_headings else (headings,):
        for dy, dx in itertools.product((0, 1), (0, 1)):
            group = (heading << fine | (row + dy) & low) << fine | (column + dx) & low
            keys.append((group << bits | (row + dy) >> fine) << bits | (column + dx) >> fine)
    key = np.sort(np.concatenate(keys), kind="stable")
    group, mask = key >> 2 * bits, (1 << bits) - 1
    column = (key & mask) << fine | group & low
    row = (key >> bits & mask) << fine | group >> fine & low
    return np.column_stack([column, row]), group >> 2 * fine


def _is_inside(
    boxes: FloatArray, half_width: float, half_turn: float, disc: FloatArray
) -> BoolArray:
    """Return whether every pose of a box lies in a disc (x, y, yaw, radius, turn)."""
    distance = np.hypot(boxes[:, 0] - disc[0], boxes[:, 1] - disc[1])
    turn = np.abs((boxes[:, 2] - disc[2] + math.pi) % (2.0 * math.pi) - math.pi) + half_turn
    return np.asarray((distance + math.sqrt(2.0) * half_width <= disc[3]) & (turn <= disc[4]))
