"""Search 3D maps by the heights at which walls stand.

Descriptors compare how far the view goes, so a parked car costs them as much as a missing house.
Here only the ends of beams count.  The map becomes a grid of squares of 0.4 m, each with one bit
for every slice of height above the floor that holds a wall.  The floor itself is in no slice.  The
scan is levelled by its ground, and the farthest return of every 3° and slice is kept.  The cost of
a pose is the number of beams whose square lacks their slice:

    cost = Σ_k [ no wall of the map in the slices of beam k within the box around its end ].   (1)

The search starts with boxes of 3.2 m and 4.5° around all nodes, and halves the best twice.  If
poses are given that explain the scan, the search is complete: it finds all boxes that may cost
about as little (`competitors_of`).  The box around an end then covers all poses of its box, so that
no box costs more than one of its halves.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

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


class Level(NamedTuple):
    """One level of the search.

    Attributes:
        size: Squares along the side of a box.
        beams: Beams that are compared.
        boxes: Boxes that are kept, about.
    """

    size: int
    beams: int
    boxes: int


SQUARE_M = 0.4
SLICE_EDGES_M = np.array([0.4, 0.8, 1.2, 1.7, 2.3, 3.0, 4.0, 6.0])
"""Lower edges of the slices above the floor in m; cars fill the first three."""
MAX_RANGE_M = 40.0
AZIMUTH_STEP = float(np.radians(3.0))
MAX_BEAMS = 200
MIN_BEAMS = 20
"""Beams above the ground that a search needs."""
LEVELS = (Level(8, 64, 20_000), Level(4, 96, 2000))
COMPETITOR_FACTOR = 10
"""A complete search may keep this many times as many boxes."""
REACHES = (1, 2, 4, 8)
"""Distances in squares at which the bits of a map are prepared."""
BORDER = 9
"""Squares around the map, more than the largest reach."""
HEIGHT_MARGIN_M = 0.15
"""Error of the height of an end close to the sensor."""
HEIGHT_ERROR_SLOPE = 0.01
"""Further error per m of range, as the ground is not quite level."""
FIRST_HEADINGS = 80
"""Headings of the first boxes; each level has twice as many."""
LAST_HEADINGS = FIRST_HEADINGS << len(LEVELS)
LAST_SIZE = 2
"""Squares along the side of the last boxes, whose costs rank candidates."""
NO_LIMIT = 1 << 30
QUANTILE_SAMPLE = 2000
"""Boxes by which the cost limit of a level is estimated."""
RUN_BOXES = 512
"""Boxes that are looked up together: their sums stay in the fastest memory."""
EMPTY_KEY = -(1 << 40)


@dataclass(frozen=True, slots=True, eq=False)
class SliceMap:
    """A 3D map as one bit per slice of height for each square.

    Attributes:
        bits: For each of `REACHES`, the slices with a wall within that many squares, with a border,
            uint8, shape (rows, columns).
        floor: z of the floor of each square in m.
        square: Side of a square in m.
    """

    bits: tuple[NDArray[np.uint8], ...]
    floor: FloatArray
    square: float

    @staticmethod
    @once_for_each
    def of(atlas: SpaceAtlas) -> "SliceMap":
        """Return the slice map of an atlas, which is made once per atlas."""
        world = atlas.world
        stride = max(1, round(SQUARE_M / world.resolution))
        floor = floor_levels(world)
        level, row, column = np.unravel_index(world.grid.walls(), world.shape)
        z = world.corner[2] + (level + 0.5) * world.resolution
        height = z - floor[row, column]
        is_high = height >= SLICE_EDGES_M[0]
        bit = np.searchsorted(SLICE_EDGES_M, height[is_high], side="right") - 1
        rows, columns = (-(-n // stride) for n in world.shape[1:])
        has_wall = np.zeros((len(SLICE_EDGES_M), rows * columns), dtype=np.bool_)
        has_wall[bit, (row[is_high] // stride) * columns + column[is_high] // stride] = True
        bits = np.packbits(has_wall, axis=0, bitorder="little")[0].reshape(rows, columns)
        middle = slice(stride // 2, None, stride)
        reaches = [_dilated(np.pad(bits, BORDER))]
        for steps in (1, 2, 4):
            reaches.append(_dilated(reaches[-1], steps))
        return SliceMap(tuple(reaches), floor[middle, middle], stride * world.resolution)

    def bits_within(self, reach: int) -> NDArray[np.uint8]:
        """Return the bits within a number of squares, one of `REACHES`."""
        return self.bits[REACHES.index(reach)]


def _dilated(bits: NDArray[np.uint8], steps: int = 1) -> NDArray[np.uint8]:
    """Join the bits of each square with those of its eight neighbours; the rim stays empty."""
    for _ in range(steps):
        columns = bits.copy()
        columns[:, 1:-1] |= bits[:, :-2] | bits[:, 2:]
        bits = columns.copy()
        bits[1:-1] |= columns[:-2] | columns[2:]
        bits[[0, -1]] = 0
        bits[:, [0, -1]] = 0
    return bits


class HighBeams(NamedTuple):
    """Beams that end above the ground.

    Attributes:
        ends: Ends in the level frame of the sensor, in squares, shape (m, 2).
        masks: Bits of the slices in which each may end, uint8, shape (m,).
    """

    ends: FloatArray
    masks: NDArray[np.uint8]


def no_candidates(remaining_cost: float) -> Candidates:
    """Return no candidates and a lower bound on the cost of all poses."""
    return Candidates(np.empty((0, 6)), np.empty(0), remaining_cost)


def height_slice_candidates(
    atlas: SpaceAtlas,
    scan: CloudScan,
    region: Region | None,
    settings: LocalizationSettings,
    *,
    thorough: bool = False,
    known_poses: FloatArray | None = None,
) -> Candidates:
    """Return the best distinct poses by (1); none if too few beams end above the ground.

    Args:
        atlas: The 3D map.
        scan: The scan.
        region: Where the robot may be.
        settings: Number of candidates: half as many as by descriptors.
        thorough: Return ten times as many.
        known_poses: Poses that may explain the scan, shape (K, 6).  The search is then complete: it
            finds all poses that cost less than `min_cost_ratio` times the best, or returns none if
            these are too many.
    """
    low, high = atlas.heights
    sensor_height, ground = 0.5 * (low + high), fit_ground(scan)
    if ground is None and high - low > SQUARE_M:
        return no_candidates(0.0)
    slice_map = SliceMap.of(atlas)
    beams = _high_beams(scan, ground, sensor_height, slice_map.square)
    if len(beams.ends) < MIN_BEAMS:
        return no_candidates(0.0)
    max_misses, is_complete = NO_LIMIT, known_poses is not None
    if known_poses is not None:
        min_cost = min(_cost_at(pose, atlas, slice_map, beams) for pose in known_poses)
        max_misses = math.ceil(settings.decision.min_cost_ratio * min_cost)
    search = _BoxSearch(slice_map, beams, max_misses, is_complete)
    boxes, remaining_cost = search.run(*_first_boxes(atlas, slice_map, scan.T_level_robot, region))
    if len(boxes) == 0:
        return no_candidates(remaining_cost)
    bits = slice_map.bits_within(1)
    misses = _misses(bits, beams, boxes, LAST_SIZE, LAST_HEADINGS, max_misses)
    costs = misses.astype(np.float64)
    order = np.argsort(costs, kind="stable")
    order = order[costs[order] >= 0.0]
    poses = _poses(atlas, slice_map, boxes[order], sensor_height)
    if region is not None:
        robots = (atlas.lift(poses) @ scan.T_level_robot).vector
        inside = region.holds(robots, 2.0 * atlas.spacing, 4.0 * np.pi / LAST_HEADINGS)
        poses, order = poses[inside], order[inside]
    max_count = max(settings.share(atlas, settings.search.candidates(is_full=thorough)) // 2, 1)
    distinct = distinct_indices(poses, *settings.candidates_apart(atlas), max_count)
    costs = costs[order[distinct]]
    if len(costs) == max_count:
        remaining_cost = min(float(costs[-1]), remaining_cost)
    return Candidates(poses[distinct], costs, remaining_cost)


def competitors_of(
    atlas: SpaceAtlas,
    scan: CloudScan,
    region: Region | None,
    settings: LocalizationSettings,
    poses: FloatArray,
    *,
    is_unique: bool = True,
) -> Candidates:
    """Return poses, best first, and all others that may explain the scan about as well.

    Args:
        atlas: The 3D map.
        scan: The scan.
        region: Where the robot may be.
        settings: Number of candidates, and which costs are alike (`min_cost_ratio`).
        poses: Poses to compare with, best first, shape (K, 6).
        is_unique: Whether the first pose is known to be the best; otherwise the best pose by (1)
            counts too.
    """
    seeds, known_poses = no_candidates(np.inf), poses[:1]
    if not is_unique:
        seeds = height_slice_candidates(atlas, scan, region, settings)
        known_poses = np.concatenate([known_poses, seeds.poses[:1]])
    competitors = height_slice_candidates(
        atlas, scan, region, settings, thorough=True, known_poses=known_poses
    )
    costs = np.concatenate([np.full(len(poses), np.inf), competitors.costs, seeds.costs])
    poses = np.concatenate([poses, competitors.poses, seeds.poses])
    return replace(competitors, poses=poses, costs=costs)


@dataclass(frozen=True, slots=True, eq=False)
class _BoxSearch:
    """A search of boxes of poses (column, row, heading), level by level.

    Attributes:
        slice_map: The map.
        beams: Beams that end above the ground.
        max_misses: Largest cost of a box that is kept.
        is_complete: Whether to keep every box that may hold a pose of that cost.
    """

    slice_map: SliceMap
    beams: HighBeams
    max_misses: int
    is_complete: bool

    def run(self, places: IntArray, headings: IntArray) -> tuple[IntArray, float]:
        """Return the best boxes of the last size, and a lower bound on the cost of all others.

        Args:
            places: Column and row of the first boxes, shape (n, 2).
            headings: Indices of their headings, shape (h,).
        """
        boxes, remaining_cost = np.empty((0, 3), dtype=np.int64), np.inf
        count, heading_count = len(places) * len(headings), FIRST_HEADINGS
        for level in LEVELS:
            if count == 0:
                break
            is_first = heading_count == FIRST_HEADINGS
            beams = self.beams
            if not self.is_complete:
                beams = HighBeams(beams.ends[: level.beams], beams.masks[: level.beams])
            bits = self.slice_map.bits_within(level.size if self.is_complete else level.size // 2)
            sample = np.random.default_rng(0).integers(0, count, QUANTILE_SAMPLE)
            if is_first:
                misses = _first_misses(bits, beams, places, headings).ravel()
                sampled = misses[sample].astype(np.int32)
            else:
                sampled = _misses(bits, beams, boxes[np.sort(sample)], level.size, heading_count)
            limit = self._limit(sampled, level, count)
            if self.is_complete and limit < self.max_misses:
                return boxes[:0], 0.0  # too many boxes
            if is_first:
                heading, place = np.divmod(np.flatnonzero(misses <= limit), len(places))
                boxes = np.column_stack([places[place], headings[heading]])
            else:
                sums = _misses(bits, beams, boxes, level.size, heading_count, limit)
                boxes = boxes[sums >= 0]
            if len(boxes) < count:  # the cost of all beams, in proportion
                dropped = (limit + 1.0) * len(self.beams.ends) / len(beams.ends)
                remaining_cost = min(remaining_cost, dropped)
            boxes, heading_count, count = _halves(boxes), 2 * heading_count, 8 * len(boxes)
        return boxes, remaining_cost

    def _limit(self, misses: NDArray[np.int32], level: Level, count: int) -> int:
        """Return the cost up to which boxes are kept, given a sample of costs."""
        share = (COMPETITOR_FACTOR if self.is_complete else 1) * level.boxes / count
        if share >= 1.0:
            return self.max_misses
        return min(self.max_misses, int(np.quantile(misses, share)))


def _first_boxes(
    atlas: SpaceAtlas, slice_map: SliceMap, mount: Pose3, region: Region | None
) -> tuple[IntArray, IntArray]:
    """Return boxes that cover all nodes: columns and rows, shape (n, 2), and headings, (h,)."""
    nodes, size = atlas.positions[:, :2], LEVELS[0].size * slice_map.square
    headings = np.arange(FIRST_HEADINGS)
    if region is not None:
        margin = atlas.spacing + float(np.hypot(mount.x, mount.y))
        nodes = nodes[region.contains(nodes, margin)]
        yaws = (headings + 0.5) * 2.0 * np.pi / FIRST_HEADINGS + mount.yaw
        headings = headings[region.heads(yaws, np.pi / FIRST_HEADINGS)]
    places = np.floor((nodes - atlas.world.corner[:2]) / size).astype(np.int64)
    columns = int(places[:, 0].max(initial=0)) + 1
    number = np.unique(places[:, 1] * columns + places[:, 0])
    return np.column_stack([number % columns, number // columns]), headings


def _halves(boxes: IntArray) -> IntArray:
    """Return the eight halves of each box, sorted by heading."""
    corner = np.array([[i, j, k] for k in (0, 1) for j in (0, 1) for i in (0, 1)])
    halves = (2 * boxes[:, None] + corner).reshape(-1, 3)
    return np.asarray(halves[np.argsort(halves[:, 2], kind="stable")])


def _poses(
    atlas: SpaceAtlas, slice_map: SliceMap, boxes: IntArray, sensor_height: float
) -> FloatArray:
    """Return the centres of boxes of the last size, at a height above the floor, shape (n, 6)."""
    place = (boxes[:, :2] + 0.5) * LAST_SIZE * slice_map.square
    square = np.floor(place / slice_map.square).astype(np.int64)
    rows, columns = slice_map.floor.shape
    row, column = np.minimum(square[:, 1], rows - 1), np.minimum(square[:, 0], columns - 1)
    poses = np.zeros((len(boxes), 6))
    poses[:, :2] = place + atlas.world.corner[:2]
    poses[:, 2] = (boxes[:, 2] + 0.5) * 2.0 * np.pi / LAST_HEADINGS
    poses[:, 3] = slice_map.floor[row, column] + sensor_height
    return poses


def _cost_at(pose: FloatArray, atlas: SpaceAtlas, slice_map: SliceMap, beams: HighBeams) -> float:
    """Return the smallest cost (1) of the boxes of the last size around a pose."""
    place = (pose[:2] - atlas.world.corner[:2]) / (LAST_SIZE * slice_map.square)
    heading = pose[2] / (2.0 * np.pi) % 1.0 + 1.0  # so that none is negative
    centre = np.floor([*place, heading * LAST_HEADINGS]).astype(np.int64)
    steps = np.array([[i, j, k] for k in (-1, 0, 1) for j in (-1, 0, 1) for i in (-1, 0, 1)])
    bits = slice_map.bits_within(1)
    return float(_misses(bits, beams, centre + steps, LAST_SIZE, LAST_HEADINGS).min())


def _high_beams(
    scan: CloudScan, ground: FloatArray | None, sensor_height: float, square: float
) -> HighBeams:
    """Return beams that end above the ground, the farthest of each direction and slice.

    Args:
        scan: The scan.
        ground: Plane of the ground (`sensing.levelling`), if the scan shows any.
        sensor_height: Usual height of the sensor above the floor, for scans without ground, in m.
        square: Side of a square in m.
    """
    p = scan.level_points
    a, b, c = (0.0, 0.0, -sensor_height) if ground is None else ground
    height, distance = p[:, 2] - a * p[:, 0] - b * p[:, 1] - c, np.hypot(p[:, 0], p[:, 1])
    is_high = (height >= SLICE_EDGES_M[0]) & (distance <= MAX_RANGE_M) & (distance > SQUARE_M)
    p, height, distance = p[is_high], height[is_high], distance[is_high]
    azimuth = np.floor(np.arctan2(p[:, 1], p[:, 0]) / AZIMUTH_STEP).astype(np.int64)
    level = np.searchsorted(SLICE_EDGES_M, height, side="right") - 1
    order = np.lexsort((-distance, level, azimuth))
    key = (azimuth * len(SLICE_EDGES_M) + level)[order]
    farthest = order[np.flatnonzero(np.diff(key, prepend=EMPTY_KEY))]
    farthest = np.random.default_rng(0).permutation(farthest)[:MAX_BEAMS]
    margin = HEIGHT_MARGIN_M + HEIGHT_ERROR_SLOPE * distance[farthest]
    lowest = np.searchsorted(SLICE_EDGES_M, height[farthest] - margin, side="right") - 1
    highest = np.searchsorted(SLICE_EDGES_M, height[farthest] + margin, side="right") - 1
    masks = (2 << highest) - (1 << np.maximum(lowest, 0))
    return HighBeams(p[farthest, :2] / square, masks.astype(np.uint8))


def _offsets(ends: FloatArray, headings: IntArray, heading_count: int) -> IntArray:
    """Return the squares from the centres of boxes to the beam ends, shape (h, m, 2)."""
    yaws = (headings + 0.5) * 2.0 * math.pi / heading_count
    c, s = np.cos(yaws)[:, None], np.sin(yaws)[:, None]
    x, y = c * ends[:, 0] - s * ends[:, 1], s * ends[:, 0] + c * ends[:, 1]
    return np.floor(np.stack([x, y], axis=-1)).astype(np.int64)


def _first_misses(
    bits: NDArray[np.uint8], beams: HighBeams, places: IntArray, headings: IntArray
) -> NDArray[np.uint8]:
    """Return the cost (1) of all boxes of the first level, shape (h, n).

    Args:
        bits: Bits of the map, shape (rows, columns).
        beams: The beams.
        places: Column and row of the boxes, shape (n, 2).
        headings: Indices of their headings, shape (h,).
    """
    from isovist.compute import count_misses

    size = LEVELS[0].size
    above, right = (-n % size for n in bits.shape)
    cells = np.pad(bits, ((0, above), (0, right)))
    cells = cells.reshape(len(cells) // size, size, -1, size).transpose(1, 3, 0, 2)
    offsets = _offsets(beams.ends, headings, FIRST_HEADINGS) + (size // 2 + BORDER)
    columns, rows = (int(n) + 1 for n in places.max(axis=0))
    spans = np.tile([columns, 0], (rows, 1))
    np.minimum.at(spans[:, 0], places[:, 1], places[:, 0])
    np.maximum.at(spans[:, 1], places[:, 1], places[:, 0] + 1)
    counts = np.empty((len(headings), rows, columns), dtype=np.uint8)
    count_misses(np.ascontiguousarray(cells), offsets, beams.masks, spans, counts)
    flat = counts.reshape(len(headings), -1)
    return np.take(flat, places[:, 1] * columns + places[:, 0], axis=1)


def _misses(
    bits: NDArray[np.uint8],
    beams: HighBeams,
    boxes: IntArray,
    size: int,
    heading_count: int,
    limit: int = NO_LIMIT,
) -> NDArray[np.int32]:
    """Return the cost (1) of boxes, −1 if it is above the limit, shape (n,).

    Args:
        bits: Bits of the map, shape (rows, columns).
        beams: The beams.
        boxes: Column, row and heading, sorted by heading, shape (n, 3).
        size: Squares along the side of a box, an even number.
        heading_count: Number of headings around the circle.
        limit: Largest cost of interest.
    """
    from isovist.compute import bound

    first = np.flatnonzero(np.diff(boxes[:, 2], prepend=-1))
    offsets = _offsets(beams.ends, boxes[first, 2], heading_count).astype(np.int32)
    counts = np.diff(first, append=len(boxes))
    runs = split_runs(np.repeat(np.arange(len(first)), counts))
    places = (boxes[:, :2] * size + (size // 2 + BORDER)).astype(np.int32)
    tables = ((beams.masks[:, None] & np.arange(256)) == 0).astype(np.uint16)
    sums, lookups = np.empty(len(boxes), np.int32), np.zeros(len(runs), dtype=np.int64)
    bound(bits, runs, places, offsets, tables, limit, sums, lookups)
    return sums


def split_runs(groups: IntArray) -> IntArray:
    """Split boxes into runs of one group, each of at most `RUN_BOXES` boxes.

    Args:
        groups: Group of each box, in runs, shape (n,).

    Returns:
        Group, first box and end of each run, shape (t, 3).
    """
    edge = np.flatnonzero(np.diff(groups, prepend=-1, append=-1))
    count = -(-np.diff(edge) // RUN_BOXES)
    number = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    first = np.repeat(edge[:-1], count) + RUN_BOXES * number
    ends = np.minimum(np.repeat(edge[1:], count), first + RUN_BOXES)
    return np.column_stack([groups[first], first, ends]).astype(np.int64)
