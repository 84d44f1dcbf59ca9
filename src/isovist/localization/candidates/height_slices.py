"""A second way to look for a scan in space: where walls stand, by height above the ground.

Descriptors compare how far the view goes, so a car that was parked since takes as much off them as
a missing house.  Here only ends count.  The map becomes a plan of squares of 0.4 m, each with one
bit for every slice of height above the floor that holds a wall; floor itself is in none.  Of the
scan, levelled by its ground, the farthest return of every 3° and slice is kept.  From a pose, the
beams whose squares lack their slice are its misses:

    cost = Σ_k [ no wall of the map in the slices of beam k within the box around its end ].   (1)

First for boxes of 3.2 m and 4.5° that cover wherever nodes stand; the best of them are halved, and
halved again.  Where a place is known that explains the scan, `rivals` finds all those that may do
so about as well.  Then the box around an end is as wide as whatever of its box moves it, by place
and by heading, so that no box costs more than one of its halves: what misses too often is empty.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import FloatArray, IntArray, once_for_each
from isovist.atlas import SpaceAtlas
from isovist.localization.candidates.node_search import Candidates, distinct_indices
from isovist.localization.query.region import Region
from isovist.localization.settings import LocalizationSettings
from isovist.maps import floor_levels
from isovist.poses import Pose3
from isovist.sensing import CloudScan, fit_ground

SQUARE = 0.4  # m
SLICES = np.array([0.4, 0.8, 1.2, 1.7, 2.3, 3.0, 4.0, 6.0])
"""Lower edges of the slices above the floor in m; cars fill the first three."""
FARTHEST = 40.0  # m
AZIMUTH = float(np.radians(3.0))
BEAMS = 200
"""Most that are used."""
ROUNDS = ((8, 64, 20_000), (4, 96, 2000))
"""Squares along the sides of the boxes of a round, how many beams are used, and about how many
boxes are left."""
ALLOWED = 10
"""So many times as many may be left where a place is known."""
BORDER = 9  # squares
FEWEST = 20
"""Beams above the ground without which nothing is looked for."""
LEAN = 0.01
"""Of a beam's length: how much higher or lower its end may be, as ground is not quite level."""
TURNS = 80
"""Headings of the first boxes; each round has twice as many."""
NO_LIMIT = 1 << 30
SAMPLE = 2000
"""Boxes by which it is seen what a good cost is."""


@dataclass(frozen=True, slots=True, eq=False)
class SliceMap:
    """A map by slices.

    Attributes:
        bits: Those within 1, 2, 4 and 8 squares of each, with a border, shape (rows, columns).
        floor: z of the floor of each square in m.
        unit: Side of a square in m.
    """

    bits: tuple[NDArray[np.uint8], ...]
    floor: FloatArray
    unit: float

    @staticmethod
    @once_for_each
    def of(atlas: SpaceAtlas) -> "SliceMap":
        """That of an atlas; made once for each."""
        world = atlas.world
        stride = max(1, round(SQUARE / world.resolution))
        floor = floor_levels(world)
        level, row, column = np.unravel_index(world.grid.walls(), world.shape)
        z = world.corner[2] + (level + 0.5) * world.resolution
        height = z - floor[row, column]
        high = height >= SLICES[0]
        bit = np.searchsorted(SLICES, height[high], side="right") - 1
        shape = tuple(-(-n // stride) for n in world.shape[1:])
        held = np.zeros((len(SLICES), shape[0] * shape[1]), dtype=np.bool_)
        held[bit, (row[high] // stride) * shape[1] + column[high] // stride] = True
        bits = np.packbits(held, axis=0, bitorder="little")[0].reshape(shape)
        middle = slice(stride // 2, None, stride)
        reaches = [_grown(np.pad(bits, BORDER))]
        for more in (1, 2, 4):
            reaches.append(_grown(reaches[-1], more))
        return SliceMap(tuple(reaches), floor[middle, middle], stride * world.resolution)

    def within(self, reach: int) -> NDArray[np.uint8]:
        """Bits within so many squares."""
        return self.bits[(1, 2, 4, 8).index(reach)]


def _grown(bits: NDArray[np.uint8], times: int = 1) -> NDArray[np.uint8]:
    """The bits of each square and of the eight around it, again and again; the rim keeps none."""
    for _ in range(times):
        beside = bits.copy()
        beside[:, 1:-1] |= bits[:, :-2] | bits[:, 2:]
        bits = beside.copy()
        bits[1:-1] |= beside[:-2] | beside[2:]
        bits[[0, -1]] = 0
        bits[:, [0, -1]] = 0
    return bits


def nothing(remaining_cost: float) -> Candidates:
    """No candidates, where the best one that was not handed on costs so much."""
    return Candidates(np.empty((0, 6)), np.empty(0), remaining_cost, None, np.inf)


def height_slice_candidates(
    atlas: SpaceAtlas,
    scan: CloudScan,
    region: Region | None,
    settings: LocalizationSettings,
    *,
    thorough: bool = False,
    known: FloatArray | None = None,
) -> Candidates:
    """The unlike best poses by (1), as `search` gives them; none where little stands out.

    Args:
        atlas: The map, described.
        scan: What the sensor saw.
        region: Where the robot may be.
        settings: How many are handed on: half as many as of the descriptors.
        thorough: Hand on ten times as many.
        known: Poses that may explain the scan, shape (K, 6): only what costs less than `lead` times
            as much as the best of them is looked for, and nothing where that leaves too much.
    """
    plan, plane = SliceMap.of(atlas), fit_ground(scan)
    low, high = atlas.heights
    if plane is None and high - low > SQUARE:
        return nothing(0.0)
    usual = 0.5 * (low + high)
    ends, masks = _standing_out(scan, plane, usual)
    if len(ends) < FEWEST:
        return nothing(0.0)
    places, heads = _first_boxes(atlas, plan, scan.T_level_robot, region)
    ends, dropped, limit, turns = ends / plan.unit, np.inf, NO_LIMIT, TURNS
    whole = known is not None
    if known is not None:
        least = min(_cost_of(pose, atlas, plan, ends, masks) for pose in known)
        limit = math.ceil(settings.lead * least)
    boxes, count = np.empty((0, 3), dtype=np.int64), len(places) * len(heads)
    for size, beams, kept in ROUNDS:
        if count == 0:
            return nothing(dropped)
        codes = plan.within(size if whole else size // 2)
        few = (ends, masks) if whole else (ends[:beams], masks[:beams])
        some = np.random.default_rng(0).integers(0, count, SAMPLE)
        if turns == TURNS:
            every = _misses_of_all(codes, *few, places, heads).ravel()
            tried = every[some].astype(np.int32)
        else:
            tried = _misses(codes, *few, boxes[np.sort(some)], size, turns)
        share = (ALLOWED if whole else 1) * kept / count
        most = limit if share >= 1.0 else min(limit, int(np.quantile(tried, share)))
        if whole and most < limit:
            return nothing(0.0)
        if turns == TURNS:
            stay = np.flatnonzero(every <= most)
            boxes = np.column_stack([places[stay % len(places)], heads[stay // len(places)]])
        else:
            boxes = boxes[_misses(codes, *few, boxes, size, turns, most) >= 0]
        if len(boxes) < count:  # of all beams, as many more as there are
            dropped = min(dropped, (most + 1.0) * len(ends) / len(few[0]))
        boxes, turns, count = _halves(boxes), 2 * turns, 8 * len(boxes)
    costs = _misses(plan.within(1), ends, masks, boxes, 2, turns, limit).astype(np.float64)
    order = np.argsort(costs, kind="stable")
    order = order[costs[order] >= 0.0]
    poses = _poses(atlas, plan, boxes[order], turns, usual)
    if region is not None:
        robots = (atlas.lift(poses) @ scan.T_level_robot).vector
        held = region.holds(robots, 2.0 * atlas.spacing, 4.0 * np.pi / turns)
        poses, order = poses[held], order[held]
    most = max(settings.share(atlas, settings.seeds[thorough]) // 2, 1)
    chosen = distinct_indices(poses, *settings.candidates_apart(atlas), most)
    found = costs[order[chosen]]
    remaining_cost = float(found[-1]) if len(found) == most else np.inf
    return Candidates(poses[chosen], found, min(remaining_cost, dropped), None, np.inf)


def competitors_of(
    atlas: SpaceAtlas,
    scan: CloudScan,
    region: Region | None,
    settings: LocalizationSettings,
    poses: FloatArray,
    *,
    trusted: bool = True,
) -> Candidates:
    """Some poses, best first, and all that may explain the scan about as well as the best of them.

    Unless the first one is `trusted` to be the best, that is the best by (1).
    """
    seeds, known = nothing(np.inf), poses[:1]
    if not trusted:
        seeds = height_slice_candidates(atlas, scan, region, settings)
        known = np.concatenate([known, seeds.poses[:1]])
    found = height_slice_candidates(atlas, scan, region, settings, thorough=True, known=known)
    every = np.concatenate([poses, found.poses, seeds.poses])
    costs = np.concatenate([np.full(len(poses), np.inf), found.costs, seeds.costs])
    return replace(found, poses=every, costs=costs)


def _first_boxes(
    atlas: SpaceAtlas, plan: SliceMap, mount: Pose3, region: Region | None
) -> tuple[IntArray, IntArray]:
    """Boxes that cover wherever nodes stand: column and row, shape (n, 2), and headings, (h,)."""
    active, size = atlas.positions[:, :2], ROUNDS[0][0]
    heads = np.arange(TURNS)
    if region is not None:
        margin = atlas.spacing + float(np.hypot(mount.x, mount.y))
        active = active[region.contains(active, margin)]
        heads = heads[region.heads((heads + 0.5) * 2.0 * np.pi / TURNS + mount.yaw, np.pi / TURNS)]
    places = np.floor((active - atlas.world.corner[:2]) / (size * plan.unit)).astype(np.int64)
    wide = int(places[:, 0].max(initial=0)) + 1
    number = np.unique(places[:, 1] * wide + places[:, 0])
    return np.column_stack([number % wide, number // wide]), heads


def _halves(boxes: IntArray) -> IntArray:
    """The eight halves of each box, heading after heading."""
    corner = np.array([[i, j, k] for k in (0, 1) for j in (0, 1) for i in (0, 1)])
    halves = (2 * boxes[:, None] + corner).reshape(-1, 3)
    return np.asarray(halves[np.argsort(halves[:, 2], kind="stable")])


def _poses(
    atlas: SpaceAtlas, plan: SliceMap, boxes: IntArray, turns: int, usual: float
) -> FloatArray:
    """The middles of boxes of two squares, at a height above the floor, shape (n, 6)."""
    place = (boxes[:, :2] + 0.5) * 2.0 * plan.unit
    square = np.floor(place / plan.unit).astype(np.int64)
    rows, columns = plan.floor.shape
    floor = plan.floor[np.minimum(square[:, 1], rows - 1), np.minimum(square[:, 0], columns - 1)]
    poses = np.zeros((len(boxes), 6))
    poses[:, :2] = place + atlas.world.corner[:2]
    poses[:, 2] = (boxes[:, 2] + 0.5) * 2.0 * np.pi / turns
    poses[:, 3] = floor + usual
    return poses


def _cost_of(
    pose: FloatArray, atlas: SpaceAtlas, plan: SliceMap, ends: FloatArray, masks: NDArray[np.uint8]
) -> float:
    """Cost (1) of the best of the smallest boxes around a pose."""
    turns = TURNS << len(ROUNDS)
    place = (pose[:2] - atlas.world.corner[:2]) / (2.0 * plan.unit)
    heading = pose[2] / (2.0 * np.pi) % 1.0 + 1.0  # so that none is negative
    at = np.floor([*place, heading * turns]).astype(np.int64)
    around = at + np.array([[i, j, k] for k in (-1, 0, 1) for j in (-1, 0, 1) for i in (-1, 0, 1)])
    return float(_misses(plan.within(1), ends, masks, around, 2, turns).min())


def _standing_out(
    scan: CloudScan, plane: FloatArray | None, usual: float
) -> tuple[FloatArray, NDArray[np.uint8]]:
    """Ends of beams above the ground, shape (m, 2), and the bits of their slices, shape (m,).

    Args:
        scan: What the sensor saw.
        plane: Its ground (`sensing.levelling`), if it shows any.
        usual: Height of sensors above the floor, for scans that do not.
    """
    p = scan.level_points
    a, b, c = (0.0, 0.0, -usual) if plane is None else plane
    height, far = p[:, 2] - a * p[:, 0] - b * p[:, 1] - c, np.hypot(p[:, 0], p[:, 1])
    kept = (height >= SLICES[0]) & (far <= FARTHEST) & (far > SQUARE)
    p, height, far = p[kept], height[kept], far[kept]
    column = np.floor(np.arctan2(p[:, 1], p[:, 0]) / AZIMUTH).astype(np.int64)
    row = np.searchsorted(SLICES, height, side="right") - 1
    order = np.lexsort((-far, row, column))
    number = (column * len(SLICES) + row)[order]
    first = order[np.flatnonzero(np.diff(number, prepend=-(1 << 40)))]
    first = np.random.default_rng(0).permutation(first)[:BEAMS]
    slack = 0.15 + LEAN * far[first]
    lowest = np.searchsorted(SLICES, height[first] - slack, side="right") - 1
    highest = np.searchsorted(SLICES, height[first] + slack, side="right") - 1
    bits = (2 << highest) - (1 << np.maximum(lowest, 0))
    return p[first, :2], bits.astype(np.uint8)


def _offsets(ends: FloatArray, heads: IntArray, turns: int) -> IntArray:
    """Squares from the middle of boxes to the ends of beams, for some headings, shape (g, m, 2)."""
    yaws = (heads + 0.5) * 2.0 * math.pi / turns
    c, s = np.cos(yaws)[:, None], np.sin(yaws)[:, None]
    x, y = c * ends[:, 0] - s * ends[:, 1], s * ends[:, 0] + c * ends[:, 1]
    return np.floor(np.stack([x, y], axis=-1)).astype(np.int64)


def _misses_of_all(
    codes: NDArray[np.uint8], ends: FloatArray, masks: NDArray[np.uint8], places: IntArray,
    heads: IntArray,
) -> NDArray[np.uint8]:  # fmt: skip
    """Cost (1) of the first boxes: all places (column, row) for each of some headings, (h, n)."""
    from isovist.compute import count_misses

    size = ROUNDS[0][0]
    above, beside = (-n % size for n in codes.shape)
    cells = np.pad(codes, ((0, above), (0, beside)))
    cells = cells.reshape(len(cells) // size, size, -1, size).transpose(1, 3, 0, 2)
    offsets = _offsets(ends, heads, TURNS) + (size // 2 + BORDER)
    wide, high = (int(n) + 1 for n in places.max(axis=0))
    spans = np.tile([wide, 0], (high, 1))
    np.minimum.at(spans[:, 0], places[:, 1], places[:, 0])
    np.maximum.at(spans[:, 1], places[:, 1], places[:, 0] + 1)
    counts = np.empty((len(heads), high, wide), dtype=np.uint8)
    count_misses(np.ascontiguousarray(cells), offsets, masks, spans, counts)
    return np.take(counts.reshape(len(heads), -1), places[:, 1] * wide + places[:, 0], axis=1)


def _misses(
    codes: NDArray[np.uint8], ends: FloatArray, masks: NDArray[np.uint8], boxes: IntArray,
    size: int, turns: int, budget: int = NO_LIMIT,
) -> NDArray[np.int32]:  # fmt: skip
    """Cost (1) of boxes (column, row, heading) of `size` squares, an even number, shape (n,).

    Boxes come heading after heading; those that cost more than the budget have −1.
    """
    from isovist.compute import bound

    first = np.flatnonzero(np.diff(boxes[:, 2], prepend=-1))
    offsets = _offsets(ends, boxes[first, 2], turns).astype(np.int32)
    counts = np.diff(first, append=len(boxes))
    tasks, sums = (
        split_runs(np.repeat(np.arange(len(first)), counts)),
        np.empty(len(boxes), np.int32),
    )
    places = (boxes[:, :2] * size + (size // 2 + BORDER)).astype(np.int32)
    looked = np.zeros(len(tasks), dtype=np.int64)
    tables = ((masks[:, None] & np.arange(256)) == 0).astype(np.uint16)
    bound(codes, tasks, places, offsets, tables, budget, sums, looked)
    return sums


CHUNK = 512
"""Boxes that are looked up together: their sums stay in the fastest memory."""


def split_runs(groups: IntArray) -> IntArray:
    """Group, first and end of runs of boxes of one group, at most `CHUNK` long, shape (t, 3)."""
    edge = np.flatnonzero(np.diff(groups, prepend=-1, append=-1))
    count = -(-np.diff(edge) // CHUNK)
    number = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    first = np.repeat(edge[:-1], count) + CHUNK * number
    ends = np.minimum(np.repeat(edge[1:], count), first + CHUNK)
    return np.column_stack([groups[first], first, ends]).astype(np.int64)
