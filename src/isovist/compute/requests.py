"""Requests and results of the compute operations (`compute.protocol`).

A request holds contiguous arrays that nobody changes while it is computed; a result holds new
arrays.  Both are named tuples, which take less than a microsecond to make; read them by name.
K is a number of poses, m of beams, N of nodes of an atlas and n of channels of a ring.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray

ByteArray = NDArray[np.uint8]
Int32Array = NDArray[np.int32]


# ---- Search: one scan against descriptors of nodes --------------------------------------------


class EncodedScan(NamedTuple):
    """The channels of a scan in whole steps, as descriptors are compared with them.

    Attributes:
        values: Steps above the base at each of P phases, int16, shape (P, rings, m).
        mask: The channels that count, shape (P, rings, m).
        headings: The headings that count, shape (n P,); heading k P + p is k channels and p/P.
        base: The value that steps are counted from.
        step: Size of a step.
        max_short: Largest cost of a channel that is shorter than the map says, in steps.
        max_long: Largest cost of a channel that is longer than the map says, in steps.
    """

    values: NDArray[np.int16]
    mask: BoolArray
    headings: BoolArray
    base: float
    step: float
    max_short: int
    max_long: int


class CorrelateRequest(NamedTuple):
    """Nodes to compare with a scan at every heading.

    Attributes:
        descriptors: Descriptors of all nodes, float32, shape (N, all rings, n).
        first_ring: The ring of the descriptors that the first ring of the scan is.
        nodes: The nodes to compare, shape (A,).
        scan: The scan.
        keep: Best headings to return for each node.
        has_headings: Whether the result names the headings; costs alone take less time.
    """

    descriptors: Float32Array
    first_ring: int
    nodes: IntArray
    scan: EncodedScan
    keep: int
    has_headings: bool = True


class HeadingCosts(NamedTuple):
    """The best headings of each node.

    Attributes:
        costs: Smallest local minima of the cost over headings, ascending, `inf` where there are
            fewer, float32, shape (A, keep).
        headings: Their headings, int32, shape (A, keep), or (A, 0) if the request has none.
    """

    costs: Float32Array
    headings: Int32Array


class ShortlistRequest(NamedTuple):
    """Nodes to compare with a coarse scan first, and the cheapest of them with the full scan.

    Attributes:
        descriptors: Descriptors of all nodes, float32, shape (N, all rings, n).
        first_ring: The ring of the descriptors that the first ring of the scan is.
        nodes: The nodes to compare, in ascending order, shape (A,).
        coarse: The scan with fewer channels and headings.
        full: The scan with all of them.
        length: Nodes of the shortlist, which are compared with the full scan, at most A.
        keep: Best headings to return for each of these.
    """

    descriptors: Float32Array
    first_ring: int
    nodes: IntArray
    coarse: EncodedScan
    full: EncodedScan
    length: int
    keep: int


class Shortlist(NamedTuple):
    """The nodes that cost least by the coarse scan.

    Attributes:
        nodes: These nodes, in ascending order, shape (length,).
        coarse_costs: Their smallest cost by the coarse scan, float32, shape (length,).
        costs: Costs of their best headings by the full scan, as in `HeadingCosts`.
        headings: These headings.
    """

    nodes: IntArray
    coarse_costs: Float32Array
    costs: Float32Array
    headings: Int32Array


# ---- Fit and score: poses against the walls of a 2D map ---------------------------------------


class AlignRequest(NamedTuple):
    """Poses to move until the beams end at walls (`compute.fitting.align2d`).

    Attributes:
        wall_distance: Distance to the nearest wall in cells, float32, shape (height, width).
        ends: Ends of the beams in the frame of the sensor, in cells, shape (m, 2).
        sigmas: Standard deviation of each beam in cells, shape (m,), or empty.
        widths: σ of each Gauss–Newton step in cells, shape (steps,).
        damping: Added to the normal matrix, as a share of the beams.
        poses: (x, y, yaw) to begin with, in cells and rad, shape (K, 3).
    """

    wall_distance: Float32Array
    ends: FloatArray
    sigmas: FloatArray
    widths: FloatArray
    damping: float
    poses: FloatArray


class AlignedPoses(NamedTuple):
    """Poses that were aligned.

    Attributes:
        poses: (x, y, yaw) in cells and rad, shape (K, 3).
        sums: Σ w J Jᵀ at each pose with the last σ (xx, xy, xa, yy, ya, aa), then Σ w and
            Σ w e², in cells, shape (K, 8).
    """

    poses: FloatArray
    sums: FloatArray


class RayMap(NamedTuple):
    """A 2D map as rays and ends of beams meet it.

    Attributes:
        clear: The codes that rays walk on, with a border of one cell, uint8.
        walls: The same with unknown cells free, so that only walls end a ray.
        wall_distance: Distance to the nearest wall in cells, float32, shape (height, width).
        cell: Side of a cell in m.
    """

    clear: ByteArray
    walls: ByteArray
    wall_distance: Float32Array
    cell: float


class ScoreRequest(NamedTuple):
    """Poses from which each beam is rated (`compute.likelihood.beam_model`).

    Attributes:
        world: The map.
        model: Numbers of the beam model, shape (10,).
        ends: Ends of the beams in the frame of the sensor, in m, shape (m, 2).
        sigmas: Standard deviation of each beam besides that of the model, in m, shape (m,), or
            empty.
        poses: (x, y, yaw) in cells and rad, shape (K, 3).
    """

    world: RayMap
    model: FloatArray
    ends: FloatArray
    sigmas: FloatArray
    poses: FloatArray


class BeamRatings(NamedTuple):
    """The rating of each beam from each pose.

    Attributes:
        ratings: Log-likelihood ratio of each beam in nats, float32, shape (K, m).
        kinds: What became of each beam, a code of `compute.likelihood.beam_model`, shape (K, m).
    """

    ratings: Float32Array
    kinds: ByteArray


def empty_ratings(poses: int, beams: int) -> BeamRatings:
    """Return arrays for the ratings of some beams from some poses."""
    shape = poses, beams
    return BeamRatings(np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.uint8))


class AlignAndScoreRequest(NamedTuple):
    """Poses to align, and to rate where the beams constrain them best.

    Attributes:
        align: The poses, and the beams in cells.
        world: The map.
        models: Beam models to rate with, one after the other, shape (10,) each.
        ends: The same beams in m, shape (m, 2).
        sigmas: Their standard deviations in m, shape (m,), or empty.
        max_scored: Largest number of poses to rate: those with the largest Σ w.
    """

    align: AlignRequest
    world: RayMap
    models: tuple[FloatArray, ...]
    ends: FloatArray
    sigmas: FloatArray
    max_scored: int


class ScoredPoses(NamedTuple):
    """The aligned poses that were rated, in their order.

    Attributes:
        aligned: These poses.
        ratings: Their ratings by each model.
    """

    aligned: AlignedPoses
    ratings: tuple[BeamRatings, ...]


# ---- Descriptions: descriptors of the nodes of a 2D map ---------------------------------------


class RaySignal(NamedTuple):
    """The number that the length of a ray is made into.

    Attributes:
        endings: The endings of rays that count, shape (4,).
        cell: Side of a cell in m.
        reach: Longest range in cells.
        transform: Index of the transform in `maps.sweep.sweep2d.TRANSFORMS`.
        scale: Scale of the transform in m.
    """

    endings: BoolArray
    cell: float
    reach: float
    transform: int
    scale: float


class RaySet(NamedTuple):
    """Rays of each node, and how they are summed to channels (`maps.sweep.sweep2d` (1)).

    Attributes:
        directions: Unit vectors (x, y) in the axes of the grid, shape (S, 2).
        weights: Weight of each ray in each channel, float32, shape (S, n).
        signal: What the length of a ray is made into.
    """

    directions: FloatArray
    weights: Float32Array
    signal: RaySignal


class DescribeNodesRequest(NamedTuple):
    """Cells from which rays are cast.

    Attributes:
        cells: `Cell` codes of the map, uint8, shape (height, width).
        rows: Row of each node, a free cell, shape (nodes,).
        columns: Column of each node, shape (nodes,).
        rays: Rays of each node.
    """

    cells: ByteArray
    rows: IntArray
    columns: IntArray
    rays: RaySet


class NodeSums(NamedTuple):
    """Sums over the rays of each node (`maps.sweep.sweep2d` (1)).

    Attributes:
        F: Weighted sums of the signal over the rays that count, float32, shape (nodes, n).
        K: Sums of the weights of these rays, float32, shape (nodes, n).
    """

    F: Float32Array
    K: Float32Array


class DescribeMapRequest(NamedTuple):
    """A 2D map to describe.

    Attributes:
        cells: `Cell` codes, uint8, shape (height, width).
        stride: Distance of the nodes in cells.
        gap: Unknown cells nearer than this to free cells become free, in cells.
        rays: Rays of each node.
        min_known: Least share of a channel that must be known.
        unknown: Value of a channel that is not.
    """

    cells: ByteArray
    stride: int
    gap: float
    rays: RaySet
    min_known: float
    unknown: float


class MapDescription(NamedTuple):
    """A 2D map as an atlas keeps it (`atlas.base.Atlas`).

    Attributes:
        nodes: Flat index of the cell of each node, shape (N,).
        descriptors: Channels of each node, float32, shape (N, n).
        wall_distance: Distance to the nearest wall in cells, float32, shape (height, width).
        clear: The codes that rays walk on, with a border of one cell.
        walls: The same with unknown cells free.
    """

    nodes: IntArray
    descriptors: Float32Array
    wall_distance: Float32Array
    clear: ByteArray
    walls: ByteArray


# ---- Branch and bound: boxes of poses that may hold a good one --------------------------------


class BoundRequest(NamedTuple):
    """Boxes of poses whose best possible score is bounded (`branch_and_bound.upper_bounds`).

    Attributes:
        codes: Class of each cell of the map, padded, uint8, shape (height, width).
        runs: Group, first and end of boxes side by side, shape (t, 3).
        cells: Column and row of the cell that holds the middle of each box, int32, shape (b, 2).
        offsets: From there to the cell where each beam ends, for each group, int32,
            shape (g, m, 2).
        tables: Deficits of each beam by class, uint16, shape (m, 256); those beams first that
            drop most boxes.
        budget: Largest sum of deficits of a box that is not dropped.
    """

    codes: ByteArray
    runs: IntArray
    cells: Int32Array
    offsets: Int32Array
    tables: NDArray[np.uint16]
    budget: int


class BoxDeficits(NamedTuple):
    """The deficits of boxes: what they stay below the best possible score.

    Attributes:
        deficits: Sum of the deficits of each box, −1 if it is dropped, int32, shape (b,).
        lookups: Ends of beams that were looked up.
    """

    deficits: Int32Array
    lookups: int


class BoxSize(NamedTuple):
    """The size of the boxes of one round.

    Attributes:
        width: Width in cells.
        headings: Headings around the circle.
    """

    width: float
    headings: int


class BoxSearchMap(NamedTuple):
    """A 2D map as a complete search reads it.

    Attributes:
        codes: Class of each cell, padded, uint8, shape (height, width).
        padding: Cells around the map.
        wall_classes: Least distance to a wall of each class in m.
        frontier_classes: Least distance to unknown space of each class in m.
        wall_distance: Distance of each cell to the nearest wall in cells, float32.
        clear: The codes that rays walk on, with a border of one cell.
        wall_bits: Occupied cells along columns and rows
            (`compute.branch_and_bound.visibility.meets_wall`).
        unknown_bits: The same for unknown cells.
        cell: Side of a cell in m.
    """

    codes: ByteArray
    padding: int
    wall_classes: FloatArray
    frontier_classes: FloatArray
    wall_distance: Float32Array
    clear: ByteArray
    wall_bits: tuple[NDArray[np.uint64], ...]
    unknown_bits: tuple[NDArray[np.uint64], ...]
    cell: float


class BoxSearchBeams(NamedTuple):
    """The beams of a complete search.

    Attributes:
        ends: Ends of the beams in the frame of the sensor, in m, shape (m, 2).
        model: Numbers of the beam model, shape (10,).
        max_ratings: Best possible rating of each beam in nats, shape (m,).
        wall_deficits: Deficit of each beam that passes a wall, in nats, shape (m,).
    """

    ends: FloatArray
    model: FloatArray
    max_ratings: FloatArray
    wall_deficits: FloatArray


class BoxSearchRounds(NamedTuple):
    """The boxes of a complete search, round by round.

    Attributes:
        squares: Column and row of the squares of the first round that hold a free cell, int32.
        free_halves: For each round, which squares of half the width hold a free cell; `None`
            where these are parts of a cell.
        sizes: For each round, the size of the boxes.
        margins: For each round, what boxes take off the distances to walls and to unknown space,
            in m, shape (rounds, m, 2).
        first_with_rays: The round from which on the rays of the beams count too.
    """

    squares: Int32Array
    free_halves: tuple[BoolArray | None, ...]
    sizes: tuple[BoxSize, ...]
    margins: FloatArray
    first_with_rays: int


class BoxSearchLimits(NamedTuple):
    """When a complete search drops a box, and when it stops.

    Attributes:
        unit: Unit of the whole deficits in nats.
        budget: Largest sum of deficits of a box that is not dropped, in nats.
        place: (x, y, yaw, radius, turn) in cells and rad; boxes inside it are kept apart and not
            halved.  `None` if there is none.
        max_boxes: Largest number of boxes of a round.
        deadline: Time to stop at, by `time.perf_counter`.
    """

    unit: float
    budget: float
    place: FloatArray | None
    max_boxes: int
    deadline: float


class BoxSearchRequest(NamedTuple):
    """A complete search of a 2D map (`localization.verification.branch_and_bound`).

    Attributes:
        world: The map.
        beams: The beams.
        rounds: The boxes.
        limits: When to drop boxes, and when to stop.
    """

    world: BoxSearchMap
    beams: BoxSearchBeams
    rounds: BoxSearchRounds
    limits: BoxSearchLimits


class BoxSearchResult(NamedTuple):
    """The boxes that a complete search could not drop.

    Attributes:
        boxes: Column, row, heading and deficit in units of the boxes of the last round, shape
            (b, 4).
        deficits: Deficit of each by its rays too, in nats, `-inf` where these were not followed,
            shape (b,).
        inside: For each round, the boxes inside the place, shape (k, 4).
        is_complete: Whether the boxes were halved down to the last size.
        lookups: Ends of beams that were looked up.
        wedges: Wedges of rays that were followed.
    """

    boxes: IntArray
    deficits: FloatArray
    inside: tuple[IntArray, ...]
    is_complete: bool
    lookups: int
    wedges: int
