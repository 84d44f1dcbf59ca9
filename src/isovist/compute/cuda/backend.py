"""The backend of NVIDIA cards, through CuPy (`pip install 'isovist[cuda]'`).

The arrays of a map stay on the card as long as they live on this machine.  Scans and poses travel
with each call, in one piece each way (`compute.cuda.transfer`): a copy takes as long as a core
takes to fit a pose.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from isovist.compute.cpu import CpuCompute
from isovist.compute.cuda.branch_and_bound import bound_boxes, search_boxes
from isovist.compute.cuda.description import describe_map, describe_nodes
from isovist.compute.cuda.device import ALIGN, CHEAPEST, CORRELATE, SCORE, Device
from isovist.compute.cuda.transfer import Array, interleave
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
    EncodedScan,
    HeadingCosts,
    MapDescription,
    NodeSums,
    RayMap,
    ScoredPoses,
    ScoreRequest,
    Shortlist,
    ShortlistRequest,
    empty_ratings,
)
from isovist.compute.selection import heaviest
from isovist.errors import InputError

MAX_CPU_POSES = 4
"""Poses that a core aligns or rates before the card has answered: 0.03 ms for each."""
MAX_BLOCKS = 1 << 20
"""Blocks of a call of `correlate`, which takes further nodes in turn."""


def unavailable_error(reason: str) -> InputError:
    """Return the error that says what this machine lacks for the card."""
    return InputError(
        f"The cuda backend needs an NVIDIA card and CuPy, and {reason}. "
        "Install isovist[cuda] on a machine that has a card, or leave the backend out.",
        field="backend",
        code="unavailable",
    )


class _NodeList(NamedTuple):
    """Address of the numbers of the nodes to compare, 0 for the first ones, and their number."""

    address: int
    size: int


class _DeviceScan(NamedTuple):
    """A scan, and the addresses of its arrays on the card."""

    scan: EncodedScan
    values: int
    channels: int
    counts: int
    headings: int


class _DeviceCosts(NamedTuple):
    """Headings to keep of each node, and addresses of costs and headings (0: not wanted)."""

    keep: int
    costs: int
    headings: int


class _DeviceFit(NamedTuple):
    """Addresses of the arrays of a fit: beams in cells, widths, poses, and the two results."""

    ends: int
    widths: int
    poses: int
    aligned: int
    sums: int


class _DeviceScore(NamedTuple):
    """Addresses of the arrays of a rating: model, beams in m, poses, and the two results."""

    model: int
    ends: int
    poses: int
    ratings: int
    kinds: int


class CudaCompute:
    """Compute on an NVIDIA card; what a core does sooner is left to the CPU backend."""

    name = "cuda"
    is_exhaustive = True

    def __init__(self) -> None:
        try:
            import cupy
        except ImportError:
            raise unavailable_error("CuPy is not installed") from None
        try:
            count = cupy.cuda.runtime.getDeviceCount()
        except cupy.cuda.runtime.CUDARuntimeError:
            count = 0
        if count == 0:
            raise unavailable_error("no card was found")
        self.device, self.cpu = Device(cupy), CpuCompute()

    def map_in_order(
        self, work: Callable[[int, Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        """Call work(number, item), two items at a time in this thread; yield results in order.

        Without the package greenlet the items are worked on one by one.
        """
        if find_spec("greenlet") is None:
            return (work(number, item) for number, item in enumerate(items))
        return interleave(self.device.buffers, work, items)

    def correlate(self, request: CorrelateRequest) -> HeadingCosts:
        """Compare nodes with a scan by `correlate` of `search.cu`."""
        count, keep = len(request.nodes), request.keep
        costs = np.empty((count, keep), dtype=np.float32)
        headings = np.empty((count, keep if request.has_headings else 0), dtype=np.int32)
        if count == 0:
            return HeadingCosts(costs, headings)
        outputs = (costs, headings) if headings.size else (costs,)
        inputs = request.nodes, *_scan_arrays(request.scan)
        nodes, *addresses = self.device.buffer.send(inputs, outputs)
        self._correlate(
            request, _NodeList(nodes, count), _DeviceScan(request.scan, *addresses[:4]),
            _DeviceCosts(keep, addresses[4], addresses[5] if headings.size else 0),
        )  # fmt: skip
        self.device.buffer.fetch()
        return HeadingCosts(costs, headings)

    def shortlist(self, request: ShortlistRequest) -> Shortlist:
        """Compare nodes with both scans in one call, by `correlate` and `cheapest`."""
        total, count, keep = len(request.nodes), request.length, request.keep
        selected, coarse_costs = np.empty(count, np.int64), np.empty(count, np.float32)
        costs = np.empty((count, keep), dtype=np.float32)
        headings = np.empty((count, keep), dtype=np.int32)
        is_whole = total == len(request.descriptors)
        coarse, full = _scan_arrays(request.coarse), _scan_arrays(request.full)
        inputs = (*coarse, *full) if is_whole else (*coarse, *full, request.nodes)
        outputs = selected, coarse_costs, costs, headings
        addresses = self.device.buffer.send(inputs, outputs, 4 * total)
        nodes = _NodeList(0 if is_whole else addresses[8], total)
        a_selected, a_coarse, a_costs, a_headings, scratch = addresses[len(inputs) :]
        scan = _DeviceScan(request.coarse, *addresses[:4])
        self._correlate(request, nodes, scan, _DeviceCosts(1, scratch, 0))
        self.device.launch_packed(
            CHEAPEST, 1, 1024, scratch, total, nodes.address, count, a_selected, a_coarse
        )
        nodes, scan = _NodeList(a_selected, count), _DeviceScan(request.full, *addresses[4:8])
        self._correlate(request, nodes, scan, _DeviceCosts(keep, a_costs, a_headings))
        self.device.buffer.fetch()
        return Shortlist(selected, coarse_costs, costs, headings)

    def _correlate(
        self,
        request: CorrelateRequest | ShortlistRequest,
        nodes: _NodeList,
        scan: _DeviceScan,
        out: _DeviceCosts,
    ) -> None:
        """Launch the kernel, a node a block and a heading a thread."""
        table, code = request.descriptors, scan.scan
        (phases, depth, m), n = code.values.shape, table.shape[2]
        self.device.launch_packed(
            CORRELATE, min(nodes.size, MAX_BLOCKS), -(-n * phases // 32) * 32,
            self.device.address(table), table.shape[1], request.first_ring, depth, n, *nodes,
            scan.values, scan.channels, scan.counts, phases, m, scan.headings, code.base,
            1.0 / code.step, code.step, -code.max_short, code.max_long, *out,
            shared=4 * (2 * n * depth + n * phases),
        )  # fmt: skip

    def align(self, request: AlignRequest) -> AlignedPoses:
        """Align poses by `align` of `fit.cu`, which has one σ for all beams."""
        count = len(request.poses)
        if request.sigmas.size or count <= MAX_CPU_POSES:
            return self.cpu.align(request)
        aligned = AlignedPoses(np.empty_like(request.poses), np.empty((count, 8)))
        inputs = request.ends, request.widths, request.poses
        addresses = self.device.buffer.send(inputs, (aligned.poses, aligned.sums))
        self._align(request, _DeviceFit(*addresses))
        self.device.buffer.fetch()
        return aligned

    def score(self, request: ScoreRequest) -> BeamRatings:
        """Rate beams by `score` of `fit.cu`, which has one σ for all beams."""
        poses, beams = len(request.poses), len(request.ends)
        if request.sigmas.size or poses <= MAX_CPU_POSES:
            return self.cpu.score(request)
        ratings = empty_ratings(poses, beams)
        inputs = request.model, request.ends, request.poses
        addresses = self.device.buffer.send(inputs, ratings)
        self._score(request.world, _DeviceScore(*addresses), poses, beams)
        self.device.buffer.fetch()
        return ratings

    def align_and_score(self, request: AlignAndScoreRequest) -> ScoredPoses:
        """Align and rate all poses in one call, and return the heaviest.

        They are rated before it is known which these are: a second call would take longer.
        """
        fit = request.align
        poses, beams = len(fit.poses), len(request.ends)
        if request.sigmas.size or poses <= MAX_CPU_POSES:
            return self.cpu.align_and_score(request)
        aligned = AlignedPoses(np.empty_like(fit.poses), np.empty((poses, 8)))
        ratings = tuple(empty_ratings(poses, beams) for _ in request.models)
        inputs = fit.ends, fit.widths, fit.poses, request.ends, *request.models
        outputs = aligned.poses, aligned.sums, *(array for pair in ratings for array in pair)
        addresses = self.device.buffer.send(inputs, outputs)
        cell_ends, widths, start, ends = addresses[:4]
        fitted, sums, *results = addresses[len(inputs) :]
        self._align(fit, _DeviceFit(cell_ends, widths, start, fitted, sums))
        for k, model in enumerate(addresses[4 : len(inputs)]):
            score = _DeviceScore(model, ends, fitted, *results[2 * k : 2 * k + 2])
            self._score(request.world, score, poses, beams)
        self.device.buffer.fetch()
        indices = heaviest(aligned.sums[:, 6], request.max_scored)
        if len(indices) < poses:
            aligned = AlignedPoses(aligned.poses[indices], aligned.sums[indices])
            ratings = tuple(BeamRatings(r[indices], kinds[indices]) for r, kinds in ratings)
        return ScoredPoses(aligned, ratings)

    def _align(self, request: AlignRequest, fit: _DeviceFit) -> None:
        """Launch the kernel, a pose a warp."""
        count, field = len(request.poses), request.wall_distance
        self.device.launch_packed(
            ALIGN, -(-count // 4), 128, self.device.address(field), *field.shape, fit.ends,
            len(request.ends), fit.widths, len(request.widths), request.damping, fit.poses, count,
            fit.aligned, fit.sums,
        )  # fmt: skip

    def _score(self, world: RayMap, score: _DeviceScore, poses: int, beams: int) -> None:
        """Launch the kernel, a beam of a pose a thread."""
        address = self.device.address
        self.device.launch_packed(
            SCORE, -(-poses * beams // 128), 128, address(world.clear), address(world.walls),
            *world.clear.shape, address(world.wall_distance), world.cell, score.model, score.ends,
            beams, score.poses, poses, score.ratings, score.kinds,
        )  # fmt: skip

    def bound_boxes(self, request: BoundRequest) -> BoxDeficits:
        """Sum the deficits of boxes by `bound` of `search.cu`."""
        return bound_boxes(self.device, request)

    def describe_nodes(self, request: DescribeNodesRequest) -> NodeSums | None:
        """Sweep the map by `sweep.cu`."""
        return describe_nodes(self.device, request)

    def describe_map(self, request: DescribeMapRequest) -> MapDescription | None:
        """Describe the map by `fields.cu` and `sweep.cu`."""
        return describe_map(self.device, request)

    def search_boxes(self, request: BoxSearchRequest) -> BoxSearchResult | None:
        """Search by `branch_and_bound.cu`; `None` where the card has no room for it."""
        return search_boxes(self.device, request)


def _scan_arrays(scan: EncodedScan) -> tuple[Array, Array, Array, Array]:
    """Return what goes to the card of a scan: values, channels that count, counts, headings."""
    from isovist.compute.search.windows import observed_first

    mask = scan.mask
    channels, counts = np.empty(mask.shape, np.int32), np.empty(mask.shape[:2], np.int32)
    observed_first(mask, channels, counts)
    return scan.values, channels, counts, scan.headings
