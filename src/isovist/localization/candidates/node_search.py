"""Compare one scan with every node of a map at every heading.

The scan gets the same channels as the nodes, over the directions that it saw
(`atlas.matching.windows`).  Turning the robot by 2π/n is a cyclic shift, so one pass over the atlas
compares all headings (`compute.search.correlate`).  A second set of channels, turned by half a
channel, doubles their number.

A search returns a limited number of candidates.  `Candidates.cost_ratio` compares the cost of a
place with a lower bound on the cost of every pose that was not returned.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray
from isovist.atlas import AnyScan, Atlas, Window
from isovist.compute import (
    CorrelateRequest,
    EncodedScan,
    ShortlistRequest,
    active_backend,
    cheapest,
)
from isovist.localization.candidates import lower_bounds
from isovist.localization.candidates.lower_bounds import LowerBounds, has_lower_bounds
from isovist.localization.query.region import Region
from isovist.localization.settings import LocalizationSettings

POSES_PER_DISTINCT = 8
"""The k cheapest distinct poses are usually among the 3 k to 8 k cheapest (intel, seattle, fhw)."""
BOUNDS_PER_NODE = 4
"""Bounds of this many nodes take as long as one node in full; measured 3.5 to 5."""
LARGE_ATLAS_FACTOR = 2
"""The coarse search of a large atlas returns this many times as many candidates.  On 33 000 m² it
then decides 35 of 60 scans instead of 32; with 4 it decides 36, and fits take longer."""
MIN_COST = 1e-6
"""A scan without noise costs 0 at its own place; ratios divide by this instead."""


@dataclass(frozen=True, slots=True, eq=False)
class CoarseCosts:
    """The coarse costs of the nodes on a shortlist.

    Attributes:
        places: Places of all nodes of the map, shape (N, d).
        nodes: Indices of the nodes of the shortlist, which were evaluated in full, shape (A,).
        costs: Coarse cost of each of these, shape (A,).
    """

    places: FloatArray
    nodes: IntArray
    costs: Float32Array

    def min_near(self, pose: FloatArray, radius: float) -> float:
        """Return the smallest coarse cost within a radius (m) of a pose; `inf` if no node is."""
        from isovist.compute import min_cost_near

        return float(min_cost_near(self.places, self.nodes, self.costs, pose, radius))


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Poses that a search returns, before any is fitted.

    Attributes:
        poses: Distinct poses of the level frame of the sensor, cheapest first, shape (K, D).
        costs: Cost of each pose, shape (K,).
        remaining_cost: Lower bound on the cost of the poses of evaluated nodes that were not
            returned; `inf` if all were returned.
        coarse_costs: Coarse costs of the evaluated nodes; `None` if every node was evaluated.
        remaining_coarse_cost: Lower bound on the coarse cost of nodes that were not evaluated.
    """

    poses: FloatArray
    costs: FloatArray
    remaining_cost: float
    coarse_costs: CoarseCosts | None = None
    remaining_coarse_cost: float = np.inf

    @property
    def is_exhaustive(self) -> bool:
        """True if every pose was returned."""
        return self.remaining_cost == np.inf and self.remaining_coarse_cost == np.inf

    def cost_ratio(self, pose: FloatArray, radius: float, turn: float) -> float:
        """Return the cost of the cheapest pose that was not returned, over that of a place.

        Args:
            pose: A pose of the sensor, shape (D,).
            radius: Candidates nearer to it than this, in m, …
            turn: … and turned by less than this, in rad, are the place.
        """
        return self.cost_ratio_of(*self.costs_at(pose, radius, turn))

    def costs_at(self, pose: FloatArray, radius: float, turn: float) -> tuple[float, float]:
        """Return the cost and the coarse cost of a place; `inf` if no candidate is near.

        Without `coarse_costs` both are the same.
        """
        from isovist.compute import min_cost_within

        poses, costs = np.ascontiguousarray(self.poses), np.ascontiguousarray(self.costs)
        cost = max(min_cost_within(poses, costs, pose, radius, turn), MIN_COST)
        if cost == np.inf or self.coarse_costs is None:
            return cost, cost
        return cost, max(self.coarse_costs.min_near(pose, radius), MIN_COST)

    def cost_ratio_of(self, cost: float, coarse_cost: float) -> float:
        """Return `cost_ratio` of a place with such costs (`costs_at`)."""
        if cost == np.inf:
            return 0.0
        ratio = self.remaining_cost / cost
        if self.coarse_costs is not None:
            ratio = min(ratio, self.remaining_coarse_cost / coarse_cost)
        return float(ratio)


class EvaluatedNodes(NamedTuple):
    """Nodes that were compared with the scan in full.

    Attributes:
        nodes: Their indices, shape (A,).
        costs: Smallest costs of each over headings, shape (A, keep).
        headings: Indices of these headings, shape (A, keep).
    """

    nodes: IntArray
    costs: Float32Array
    headings: NDArray[np.int32]


def _join(parts: list[EvaluatedNodes]) -> EvaluatedNodes:
    """Join evaluated nodes, sorted by index."""
    nodes, costs, headings = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(nodes, kind="stable")
    return EvaluatedNodes(nodes[order], costs[order], headings[order])


class NodeSearch:
    """A search of the nodes of one map for one scan, which can be continued.

    Args:
        atlas: The map.
        scan: One scan.
        region: Where the robot may be.
        settings: Costs, counts and distances of candidates.
        subset: Indices of the nodes to search if there is no region, in order; all if `None`.
    """

    def __init__(
        self,
        atlas: Atlas,
        scan: AnyScan,
        region: Region | None,
        settings: LocalizationSettings,
        *,
        subset: IntArray | None = None,
    ) -> None:
        self.atlas, self.scan, self.region, self.settings = atlas, scan, region, settings
        self.window = atlas.window(scan, settings.search.min_seen_share(atlas.dimension))
        self.yaws = self.window.yaws(atlas.descriptors.shape[2], atlas.heading)
        self._step = 2.0 * np.pi / len(self.yaws)
        self.allowed = np.ones(len(self.yaws), dtype=np.bool_)
        if region is not None:
            mount = scan.T_level_robot
            margin = atlas.spacing + float(np.hypot(mount.x, mount.y))
            nodes = atlas.nodes_in(*region.box(margin))
            places = atlas.seeds(nodes, np.zeros(len(nodes)))[:, :2]
            nodes = nodes[region.contains(places, margin)]
            self.allowed = region.heads(self.yaws + mount.yaw, self._step)
        else:
            nodes = np.arange(len(atlas.nodes)) if subset is None else subset
        self.nodes = nodes
        self._is_empty = nodes.size == 0 or not self.window.seen.any() or not self.allowed.any()
        self._bounds: Float32Array | None = None
        self._is_evaluated = np.zeros(len(nodes), dtype=np.bool_)
        self._evaluated: list[EvaluatedNodes] = []

    def coarse(self, count: int) -> Candidates:
        """Return poses at the nodes that are cheapest by every other channel and phase.

        Args:
            count: Most poses to return.
        """
        if self._is_empty:
            return self._no_candidates()
        if len(self.nodes) > lower_bounds.LARGE_ATLAS_NODES:
            count *= LARGE_ATLAS_FACTOR
        shortlist_size = self.settings.share(self.atlas, self.settings.search.max_nodes)
        coarse_costs, remaining_coarse_cost = None, np.inf
        if len(self.nodes) > shortlist_size:
            evaluated, coarse_costs = self._shortlist(shortlist_size)
            remaining_coarse_cost = float(coarse_costs.costs.max())
        else:
            evaluated = self._evaluate(self.nodes)
        poses, costs = self._distinct(evaluated, count, np.inf)
        remaining_cost = _remaining_cost(costs, count)
        return Candidates(poses, costs, remaining_cost, coarse_costs, remaining_coarse_cost)

    def full(self, count: int, max_cost: float = np.inf) -> Candidates:
        """Return the cheapest poses of all nodes by all channels; none can be missing.

        Nodes are evaluated in the order of lower bounds on their costs, and no more than `count`
        poses need.  Nodes that were evaluated before are not evaluated again.

        Args:
            count: Most poses to return.
            max_cost: Poses that cost more are left out.
        """
        if self._is_empty:
            return self._no_candidates()
        poses, costs = self._cheapest(count, max_cost)
        return Candidates(poses, costs, _remaining_cost(costs, count))

    def _no_candidates(self) -> Candidates:
        poses = self.atlas.seeds(np.empty(0, dtype=np.int64), np.empty(0))
        return Candidates(poses, np.empty(0), np.inf)

    def _cheapest(self, count: int, max_cost: float) -> tuple[FloatArray, FloatArray]:
        """Return the cheapest distinct poses and their costs."""
        if self._bounds is None:
            is_small = BOUNDS_PER_NODE * len(self.nodes) < self.atlas.size
            is_unbounded = not has_lower_bounds(self.atlas) and max_cost == np.inf
            if is_unbounded or is_small or active_backend().is_exhaustive:
                if not self._evaluated:
                    self._evaluated.append(self._evaluate(self.nodes))
                return self._distinct(self._evaluated[0], count, max_cost)
            self._bounds = self._lower_bounds(self.window, self.allowed)
        limit, batch_size = max_cost, 2 * count
        while True:
            if self._evaluated:
                self._evaluated = [_join(self._evaluated)]
                costs = self._distinct(self._evaluated[0], count, max_cost)[1]
                if len(costs) == count:
                    limit = min(max_cost, float(costs[-1]))
            # A node with a higher lower bound cannot be among the cheapest.
            batch = np.flatnonzero(~self._is_evaluated & (self._bounds <= limit))
            is_last = len(batch) <= batch_size
            if not is_last:
                order = np.argpartition(self._bounds[batch], batch_size - 1)
                batch = np.sort(batch[order[:batch_size]])
            self._evaluated.append(self._evaluate(self.nodes[batch]))
            self._is_evaluated[batch] = True
            if is_last:
                self._evaluated = [_join(self._evaluated)]
                return self._distinct(self._evaluated[0], count, limit)
            batch_size *= 2

    def _evaluate(self, nodes: IntArray) -> EvaluatedNodes:
        """Compare nodes with the scan in full."""
        keep, short = self.settings.search.headings_per_node, self.settings.search.max_short_cost
        rows = self.atlas.descriptors
        costs, headings = best_headings(rows, nodes, self.window, keep, short, self.allowed)
        return EvaluatedNodes(nodes, costs, headings)

    def _distinct(
        self, evaluated: EvaluatedNodes, count: int, max_cost: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return the cheapest distinct poses of evaluated nodes and their costs."""
        from isovist.compute import cheapest_distinct

        nodes, costs, headings = evaluated
        atlas, region = self.atlas, self.region
        if region is not None:
            places = atlas.seeds(nodes.repeat(costs.shape[1]), self.yaws[headings.ravel()])
            robots = (atlas.lift(places) @ self.scan.T_level_robot).vector
            inside = region.holds(robots, atlas.spacing, self._step)
            costs = np.where(inside.reshape(costs.shape), costs, np.float32(np.inf))
        bits, distances = costs.view(np.uint32).ravel(), self.settings.candidates_apart(atlas)
        max_count = min(count, costs.size)
        poses, pose_costs = np.empty((max_count, atlas.coordinates)), np.empty(max_count)
        number = cheapest_distinct(
            costs, bits, headings, nodes, atlas.places, self.yaws, max_cost, *distances,
            POSES_PER_DISTINCT * count, poses, pose_costs,
        )  # fmt: skip
        return poses[:number], pose_costs[:number]

    def _shortlist(self, count: int) -> tuple[EvaluatedNodes, CoarseCosts]:
        """Evaluate the nodes that are cheapest by every other channel and phase."""
        window = self.window
        coarse_window = window.rough
        allowed = self.allowed.reshape(-1, len(window.values))[:, ::2].ravel()
        if has_lower_bounds(self.atlas) and not active_backend().is_exhaustive:
            nodes, coarse_costs = self._cheapest_coarse(coarse_window, allowed, count)
            evaluated = self._evaluate(nodes)
        else:
            search = self.settings.search
            short, keep = search.max_short_cost, search.headings_per_node
            coarse = encode(coarse_window, short, allowed)
            full = encode(window, short, self.allowed)
            shortlist = active_backend().shortlist(
                ShortlistRequest(
                    self.atlas.descriptors, window.ring, self.nodes, coarse, full, count, keep
                )
            )
            evaluated = EvaluatedNodes(shortlist.nodes, shortlist.costs, shortlist.headings)
            coarse_costs = shortlist.coarse_costs
        return evaluated, CoarseCosts(self.atlas.places, evaluated.nodes, coarse_costs)

    def _cheapest_coarse(
        self, window: Window, allowed: BoolArray, count: int
    ) -> tuple[IntArray, Float32Array]:
        """Return the nodes with the smallest coarse costs, in order, and these costs."""
        bounds = self._lower_bounds(window, allowed)
        limit = np.partition(bounds, count - 1)[count - 1]
        first = np.flatnonzero(bounds <= limit)
        first_costs = self._min_costs(first, window, allowed)
        # A node with a higher lower bound cannot be among the cheapest.
        second = np.flatnonzero((bounds > limit) & (bounds <= first_costs.max()))
        second_costs = self._min_costs(second, window, allowed)
        indices = np.concatenate([first, second])
        order = np.argsort(indices, kind="stable")
        costs = np.concatenate([first_costs, second_costs])[order]
        best = cheapest(costs, count)
        return self.nodes[indices[order[best]]], costs[best]

    def _lower_bounds(self, window: Window, allowed: BoolArray) -> Float32Array:
        bounds = LowerBounds.of(self.atlas).bound_costs(
            window, allowed, self.settings.search.max_short_cost
        )
        return bounds if len(self.nodes) == len(bounds) else bounds[self.nodes]

    def _min_costs(self, indices: IntArray, window: Window, allowed: BoolArray) -> Float32Array:
        rows, short = self.atlas.descriptors, self.settings.search.max_short_cost
        return min_costs(rows, self.nodes[indices], window, short, allowed)


def _remaining_cost(costs: FloatArray, count: int) -> float:
    """Return a lower bound on the cost of further poses after the `count` cheapest."""
    return float(costs[-1]) if len(costs) >= count else np.inf


def best_headings(
    descriptors: Float32Array,
    nodes: IntArray,
    window: Window,
    keep: int,
    short: float,
    allowed: BoolArray | None = None,
) -> tuple[Float32Array, NDArray[np.int32]]:
    """Return the smallest costs of nodes over headings, and these headings.

    Args:
        descriptors: Descriptors of all nodes, shape (N, rings, n).
        nodes: Indices of the nodes, shape (A,).
        window: The scan in channels.
        keep: Headings to return per node.
        short: Largest cost of a channel that is shorter than the map says, in log(1 + r); a longer
            channel costs at most twice that.
        allowed: Which headings count, shape (n P,); all if `None`.

    Returns:
        Costs and indices of headings, both of shape (A, keep).
    """
    scan = encode(window, short, _all_if_none(allowed, descriptors, window))
    request = CorrelateRequest(descriptors, window.ring, nodes, scan, keep)
    result = active_backend().correlate(request)
    return result.costs, result.headings


def min_costs(
    descriptors: Float32Array,
    nodes: IntArray,
    window: Window,
    short: float,
    allowed: BoolArray | None = None,
) -> Float32Array:
    """Return the smallest cost of each node, shape (A,), without headings: this is 20 % faster.

    Args:
        descriptors: As for `best_headings`, like the others.
        nodes: Indices of the nodes, shape (A,).
        window: The scan in channels.
        short: Largest cost of a shorter channel.
        allowed: Which headings count.
    """
    scan = encode(window, short, _all_if_none(allowed, descriptors, window))
    request = CorrelateRequest(descriptors, window.ring, nodes, scan, 1, has_headings=False)
    return active_backend().correlate(request).costs[:, 0]


def _all_if_none(allowed: BoolArray | None, descriptors: Float32Array, window: Window) -> BoolArray:
    if allowed is not None:
        return allowed
    return np.ones(descriptors.shape[2] * len(window.seen), dtype=np.bool_)


def encode(window: Window, short: float, allowed: BoolArray) -> EncodedScan:
    """Return a scan in whole steps, as backends compare it with descriptors.

    Args:
        window: The scan in channels.
        short: Largest cost of a channel that is shorter than the map says, in log(1 + r).
        allowed: Which headings count, shape (n P,).
    """
    codes = window.codes(short)
    allowed = np.ascontiguousarray(allowed)
    return EncodedScan(
        codes.values, window.seen, allowed, codes.base, codes.step, codes.short, codes.long
    )


def distinct_indices(
    poses: FloatArray, radius: float, turn: float, max_count: int | None = None
) -> IntArray:
    """Return the indices of poses that are not near an earlier one that is returned.

    Args:
        poses: Poses, best first, shape (K, D).
        radius: Poses nearer than this, in m, …
        turn: … and turned by less than this, in rad, are near.
        max_count: Most indices to return.
    """
    from isovist.compute import select_distinct

    indices = np.empty(len(poses) if max_count is None else max_count, dtype=np.int64)
    return indices[: select_distinct(poses, radius, turn, indices)] if indices.size else indices
