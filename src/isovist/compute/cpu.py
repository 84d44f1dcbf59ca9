"""The compiled code on the cores of this machine.

The registry imports this module when something is first computed, since kernels need Numba.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from isovist.arrays import FloatArray, IntArray
from isovist.compute.branch_and_bound import upper_bounds
from isovist.compute.fitting import align2d
from isovist.compute.infra import threads
from isovist.compute.likelihood import score2d
from isovist.compute.protocol import Item, Result
from isovist.compute.requests import (
    AlignAndScoreRequest,
    AlignedPoses,
    AlignRequest,
    BeamRatings,
    BoundRequest,
    BoxDeficits,
    BoxSearchRequest,
    BoxSearchResult,
    CorrelateRequest,
    DescribeMapRequest,
    DescribeNodesRequest,
    HeadingCosts,
    MapDescription,
    NodeSums,
    ScoredPoses,
    ScoreRequest,
    Shortlist,
    ShortlistRequest,
    empty_ratings,
)
from isovist.compute.search import topk
from isovist.compute.search.correlate import correlate
from isovist.compute.selection import cheapest, heaviest

SQUARE_CELLS = 100
"""Side of a square of the map that one core keeps in its cache, in cells."""
MIN_ORDERED_POSES = 65
"""Fewer poses are not ordered by place: that takes longer than what it saves."""


class CpuCompute:
    """Compute by compiled loops, which share their indices among the cores."""

    name = "cpu"
    is_exhaustive = False

    def map_in_order(
        self, work: Callable[[int, Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        """Call work(number, item) by as many threads as help; yield the results in order."""
        return threads.map_in_order(work, items, threads.max_jobs())

    def correlate(self, request: CorrelateRequest) -> HeadingCosts:
        """Compare nodes with a scan by `compute.search.correlate`."""
        scan, count, keep = request.scan, len(request.nodes), request.keep
        costs = np.empty((count, keep), dtype=np.float32)
        headings = np.empty((count, keep if request.has_headings else 0), dtype=np.int32)
        correlate(
            request.descriptors, request.first_ring, request.nodes, scan.values, scan.mask,
            scan.headings, scan.base, scan.step, scan.max_short, scan.max_long, costs, headings,
        )  # fmt: skip
        return HeadingCosts(costs, headings)

    def shortlist(self, request: ShortlistRequest) -> Shortlist:
        """Compare nodes with the coarse scan, then the cheapest with the full scan."""
        table = request.descriptors, request.first_ring
        coarse = self.correlate(CorrelateRequest(*table, request.nodes, request.coarse, 1, False))
        indices = cheapest(coarse.costs[:, 0], request.length)
        nodes = request.nodes[indices]
        full = self.correlate(CorrelateRequest(*table, nodes, request.full, request.keep))
        return Shortlist(nodes, coarse.costs[indices, 0], full.costs, full.headings)

    def align(self, request: AlignRequest) -> AlignedPoses:
        """Align poses by `compute.fitting.align2d`."""
        order = _order_by_place(request.poses)
        poses = request.poses.copy() if order is None else request.poses[order]
        sums = np.empty((len(poses), 8))
        align2d.align_2d(
            request.wall_distance, request.ends, request.sigmas, request.widths, request.damping,
            poses, sums,
        )  # fmt: skip
        if order is None:
            return AlignedPoses(poses, sums)
        aligned = AlignedPoses(np.empty_like(poses), np.empty_like(sums))
        aligned.poses[order], aligned.sums[order] = poses, sums
        return aligned

    def score(self, request: ScoreRequest) -> BeamRatings:
        """Rate beams by `compute.likelihood.score2d`."""
        order = _order_by_place(request.poses)
        poses = request.poses if order is None else request.poses[order]
        ratings = empty_ratings(len(poses), len(request.ends))
        score2d.score_2d(
            *request.world, request.model, request.ends, request.sigmas, poses, *ratings
        )
        if order is None:
            return ratings
        ordered = empty_ratings(len(poses), len(request.ends))
        ordered.ratings[order], ordered.kinds[order] = ratings
        return ordered

    def align_and_score(self, request: AlignAndScoreRequest) -> ScoredPoses:
        """Align all poses, and rate the heaviest of them."""
        aligned = self.align(request.align)
        indices = heaviest(aligned.sums[:, 6], request.max_scored)
        if len(indices) < len(aligned.poses):
            aligned = AlignedPoses(aligned.poses[indices], aligned.sums[indices])
        beams = request.ends, request.sigmas, aligned.poses
        ratings = (self.score(ScoreRequest(request.world, row, *beams)) for row in request.models)
        return ScoredPoses(aligned, tuple(ratings))

    def bound_boxes(self, request: BoundRequest) -> BoxDeficits:
        """Sum the deficits of boxes by `compute.branch_and_bound.upper_bounds`."""
        deficits = np.empty(len(request.cells), dtype=np.int32)
        lookups = np.zeros(len(request.runs), dtype=np.int64)
        upper_bounds.bound(
            request.codes, request.runs, request.cells, request.offsets, request.tables,
            request.budget, deficits, lookups,
        )  # fmt: skip
        return BoxDeficits(deficits, int(lookups.sum()))

    def describe_nodes(self, request: DescribeNodesRequest) -> NodeSums | None:
        """Return `None`: `maps.sweep.sweep2d` sweeps the map on the cores."""
        del request
        return None

    def describe_map(self, request: DescribeMapRequest) -> MapDescription | None:
        """Return `None`: `atlas.data.atlas2d` describes the map block by block."""
        del request
        return None

    def search_boxes(self, request: BoxSearchRequest) -> BoxSearchResult | None:
        """Return `None`: `localization.verification.branch_and_bound` searches round by round."""
        del request
        return None


def _order_by_place(poses: FloatArray) -> IntArray | None:
    """Return an order of poses in cells in which neighbours come together.

    What they read of the map is then still in the cache.  `None` where they are too few.
    """
    if len(poses) < MIN_ORDERED_POSES:
        return None
    order = np.empty(len(poses), dtype=np.int64)
    topk.order_by_place(poses, SQUARE_CELLS, order)
    return order
