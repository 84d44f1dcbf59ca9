"""Every node and every heading against one scan.

The scan gets the same channels as the nodes, over the directions that it saw
(`atlas.matching.windows`). Turning the robot by 2π/n is a cyclic shift, so one pass over the atlas
tries all headings (`compute.search.correlate`); a second set of channels, turned by half a channel,
doubles their number.

Only so many candidates are handed on.  A place that was not looked at is not absent: `lead` says
how much dearer than a given place the best one is that was left out.
"""

from dataclasses import dataclass

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
from isovist.localization.candidates import lower_bounds as quick
from isovist.localization.candidates.lower_bounds import LowerBounds
from isovist.localization.query.region import Region
from isovist.localization.settings import LocalizationSettings

ENOUGH = 8
"""Of so many times as many places as are wanted enough are unlike, as a rule: the unlike best were
among the first 3 to 8 times as many (intel, seattle, fhw)."""
FLOORED = 4
"""Bounds of so many nodes take about as long as one node in full: 3.5 to 5 of them measured."""
MORE = 2
"""So many times as many candidates a first look at a large site hands on.  On 33 000 m² it then
settles 35 of 60 scans instead of 32, and 36 with four times as many, which take longer to fit."""
TINY = 1e-6
"""A scan without noise costs nothing at its own place."""


@dataclass(frozen=True, slots=True, eq=False)
class CoarseCosts:
    """What nodes cost at a glance.

    Attributes:
        places: Of all nodes of the map, shape (N, d).
        nodes: That were looked at in full, shape (A,).
        costs: Of each, shape (A,).
    """

    places: FloatArray
    nodes: IntArray
    costs: Float32Array

    def min_near(self, pose: FloatArray, radius: float) -> float:
        """Of those nearer to a pose than a radius in m; `inf` where there is none."""
        from isovist.compute import min_cost_near

        return float(min_cost_near(self.places, self.nodes, self.costs, pose, radius))


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Where a scan may have been taken, before anything is fitted.

    Attributes:
        poses: Of the level frame of the sensor, unlike each other, best first, shape (K, D).
        costs: Of each, shape (K,).
        remaining_cost: Cost of the best one that was not handed on; `inf` when all were.
        coarse_costs: After a look at half the channels: each node then looked at in full, shape
            (A,), and its cost; `None` when every node was.
        remaining_coarse_cost: Coarse cost above which nodes were not evaluated in full.
    """

    poses: FloatArray
    costs: FloatArray
    remaining_cost: float
    coarse_costs: "CoarseCosts | None"
    remaining_coarse_cost: float

    def cost_ratio(self, pose: FloatArray, radius: float, turn: float) -> float:
        """How many times its own cost the cheapest place costs that was not looked at.

        Args:
            pose: Of the sensor, shape (D,).
            radius: Candidates nearer than this, in m, …
            turn: … and turned by less than this, in rad, are of this place.
        """
        return self.cost_ratio_of(*self.costs_at(pose, radius, turn))

    def costs_at(self, pose: FloatArray, radius: float, turn: float) -> tuple[float, float]:
        """What a place costs, in full and at a glance; `inf` when it is none of these.

        Where every node was looked at in full, a glance is taken to cost as much.
        """
        from isovist.compute import min_cost_within

        poses, costs = np.ascontiguousarray(self.poses), np.ascontiguousarray(self.costs)
        cost = max(min_cost_within(poses, costs, pose, radius, turn), TINY)
        if cost == np.inf or self.coarse_costs is None:
            return cost, cost
        return cost, max(self.coarse_costs.min_near(pose, radius), TINY)

    def cost_ratio_of(self, cost: float, glance: float) -> float:
        """How many times these costs (`own`) the cheapest place costs that was not looked at."""
        if cost == np.inf:
            return 0.0
        ratio = self.remaining_cost / cost
        return float(
            ratio if self.coarse_costs is None else min(ratio, self.remaining_coarse_cost / glance)
        )


_Tried = tuple[IntArray, Float32Array, NDArray[np.int32]]
"""Nodes, and what `best_headings` says of each."""


def _in_order(parts: list[_Tried]) -> _Tried:
    """Nodes that were tried one after the other, as if they had been tried at once."""
    nodes, costs, headings = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(nodes, kind="stable")
    return nodes[order], costs[order], headings[order]


class NodeSearch:
    """The nodes of one map, searched for one scan: the cheapest poses, then ever more of them.

    Args:
        atlas: The map.
        scan: One scan.
        region: Where the robot may be.
        settings: How to search.
        only: Indices of the nodes to search, in order, where there is no region; all when `None`.
    """

    def __init__(
        self,
        atlas: Atlas,
        scan: AnyScan,
        region: Region | None,
        settings: LocalizationSettings,
        *,
        only: IntArray | None = None,
    ) -> None:
        self.atlas, self.scan, self.region, self.settings = atlas, scan, region, settings
        self.window = atlas.window(scan, settings.seen_share[atlas.dimension - 2])
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
            nodes = np.arange(len(atlas.nodes)) if only is None else only
        self.nodes = nodes
        self._is_empty = nodes.size == 0 or not self.window.seen.any() or not self.allowed.any()
        self._floors: Float32Array | None = None
        self._tried = np.zeros(len(nodes), dtype=np.bool_)
        self._parts: list[_Tried] = []

    def coarse(self, count: int) -> Candidates:
        """Return poses at the nodes that are best by every other channel and phase.

        Args:
            count: Most poses that are returned.
        """
        if self._is_empty:
            return self._nothing()
        if len(self.nodes) > quick.LARGE_ATLAS_NODES:
            count *= MORE
        shortlist = self.settings.share(self.atlas, self.settings.finalists[0])
        coarse_costs, cut = None, np.inf
        if len(self.nodes) > shortlist:
            tried, coarse_costs, cut = self._shortlist(shortlist)
        else:
            tried = self._evaluate(self.nodes)
        poses, costs = self._distinct(tried, count, np.inf)
        return Candidates(poses, costs, _left_out(costs, count), coarse_costs, cut)

    def full(self, count: int, limit: float = np.inf) -> Candidates:
        """Return the cheapest poses of all nodes by all channels, none of which can be missing.

        Nodes are evaluated in the order of lower bounds on their costs, and no more of them than
        `count` poses need.  What was evaluated before is not evaluated again.

        Args:
            count: Most poses that are returned.
            limit: Poses that cost more are left out.
        """
        if self._is_empty:
            return self._nothing()
        poses, costs = self._cheapest(count, limit)
        return Candidates(poses, costs, _left_out(costs, count), None, np.inf)

    def _nothing(self) -> Candidates:
        none = self.atlas.seeds(np.empty(0, dtype=np.int64), np.empty(0))
        return Candidates(none, np.empty(0), np.inf, None, np.inf)

    def _cheapest(self, count: int, limit: float) -> tuple[FloatArray, FloatArray]:
        if self._floors is None:
            few = FLOORED * len(self.nodes) < self.atlas.size
            plain = not quick.has_lower_bounds(self.atlas) and limit == np.inf
            if plain or few or active_backend().is_exhaustive:
                if not self._parts:
                    self._parts.append(self._evaluate(self.nodes))
                return self._distinct(self._parts[0], count, limit)
            self._floors = self._lower_bounds(self.window, self.allowed)
        dearest, more = limit, 2 * count
        while True:
            if self._parts:
                self._parts = [_in_order(self._parts)]
                costs = self._distinct(self._parts[0], count, limit)[1]
                if len(costs) == count:
                    dearest = min(limit, float(costs[-1]))
            # No node whose lower bound is higher can be among them.
            left = np.flatnonzero(~self._tried & (self._floors <= dearest))
            is_last = len(left) <= more
            if not is_last:
                left = np.sort(left[np.argpartition(self._floors[left], more - 1)[:more]])
            self._parts.append(self._evaluate(self.nodes[left]))
            self._tried[left] = True
            if is_last:
                self._parts = [_in_order(self._parts)]
                return self._distinct(self._parts[0], count, dearest)
            more *= 2

    def _evaluate(self, nodes: IntArray) -> "_Tried":
        """Return the costs and headings of nodes in full."""
        keep, short = self.settings.finalists[1], self.settings.short
        rows = self.atlas.descriptors
        return nodes, *best_headings(rows, nodes, self.window, keep, short, self.allowed)

    def _distinct(
        self, tried: "_Tried", count: int, max_cost: float
    ) -> tuple[FloatArray, FloatArray]:
        """Return poses and costs of the cheapest distinct poses."""
        from isovist.compute import cheapest_distinct

        nodes, costs, headings = tried
        atlas, region = self.atlas, self.region
        if region is not None:
            places = atlas.seeds(nodes.repeat(costs.shape[1]), self.yaws[headings.ravel()])
            robots = (atlas.lift(places) @ self.scan.T_level_robot).vector
            inside = region.holds(robots, atlas.spacing, self._step)
            costs = np.where(inside.reshape(costs.shape), costs, np.float32(np.inf))
        bits, apart = costs.view(np.uint32).ravel(), self.settings.candidates_apart(atlas)
        room = min(count, costs.size)
        poses, pose_costs = np.empty((room, atlas.coordinates)), np.empty(room)
        number = cheapest_distinct(
            costs, bits, headings, nodes, atlas.places, self.yaws, max_cost, *apart,
            ENOUGH * count, poses, pose_costs,
        )  # fmt: skip
        return poses[:number], pose_costs[:number]

    def _shortlist(self, count: int) -> tuple["_Tried", CoarseCosts, float]:
        """Return the best nodes by every other channel and phase, evaluated in full.

        Returns:
            The nodes in order, with `coarse_costs` and `cut` of `Candidates`.
        """
        window = self.window
        rough, phases = window.rough, len(window.values)
        allowed = self.allowed.reshape(-1, phases)[:, ::2].ravel()
        if quick.has_lower_bounds(self.atlas) and not active_backend().is_exhaustive:
            floors = self._lower_bounds(rough, allowed)
            low = np.partition(floors, count - 1)[count - 1]
            first = np.flatnonzero(floors <= low)
            costs = self._least(self.nodes[first], rough, allowed)
            others = np.flatnonzero((floors > low) & (floors <= costs.max()))
            more = self._least(self.nodes[others], rough, allowed)
            looked = np.concatenate([first, others])
            order = np.argsort(looked, kind="stable")
            costs = np.concatenate([costs, more])[order]
            best = cheapest(costs, count)
            tried, costs = self._evaluate(self.nodes[looked[order[best]]]), costs[best]
        else:
            short, keep = self.settings.short, self.settings.finalists[1]
            coarse = encode(rough, short, allowed)
            full = encode(window, short, self.allowed)
            shortlist = active_backend().shortlist(
                ShortlistRequest(
                    self.atlas.descriptors, window.ring, self.nodes, coarse, full, count, keep
                )
            )
            tried = shortlist.nodes, shortlist.costs, shortlist.headings
            costs = shortlist.coarse_costs
        return tried, CoarseCosts(self.atlas.places, tried[0], costs), float(costs.max())

    def _lower_bounds(self, window: Window, allowed: BoolArray) -> Float32Array:
        bounds = LowerBounds.of(self.atlas).bound_costs(window, allowed, self.settings.short)
        return bounds if len(self.nodes) == len(bounds) else bounds[self.nodes]

    def _least(self, nodes: IntArray, window: Window, allowed: BoolArray) -> Float32Array:
        rows, short = self.atlas.descriptors, self.settings.short
        return least_costs(rows, nodes, window, short, allowed)


def _left_out(costs: FloatArray, count: int) -> float:
    """Return the cost of the best pose that may have been left out of so many."""
    return float(costs[-1]) if len(costs) >= count else np.inf


def best_headings(
    descriptors: Float32Array,
    active: IntArray,
    window: Window,
    keep: int,
    short: float,
    allowed: BoolArray | None = None,
) -> tuple[Float32Array, NDArray[np.int32]]:
    """Smallest costs of each active node and their headings, both of shape (A, keep).

    Descriptors have shape (N, rings, n); all headings are `allowed` when `None`.  Channels cost
    `short` at most when they are shorter than the map says, and twice that when they are longer.
    """
    if allowed is None:
        allowed = np.ones(descriptors.shape[2] * len(window.seen), dtype=np.bool_)
    scan = encode(window, short, allowed)
    request = CorrelateRequest(descriptors, window.ring, active, scan, keep)
    found = active_backend().correlate(request)
    return found.costs, found.headings


def least_costs(
    descriptors: Float32Array,
    active: IntArray,
    window: Window,
    short: float,
    allowed: BoolArray | None = None,
) -> Float32Array:
    """The smallest cost of each active node, shape (A,), whatever its heading, a fifth sooner."""
    if allowed is None:
        allowed = np.ones(descriptors.shape[2] * len(window.seen), dtype=np.bool_)
    scan = encode(window, short, allowed)
    request = CorrelateRequest(descriptors, window.ring, active, scan, 1, has_headings=False)
    return active_backend().correlate(request).costs[:, 0]


def encode(window: Window, short: float, allowed: BoolArray) -> EncodedScan:
    """Return a scan in whole steps, as backends compare it with descriptors.

    Args:
        window: The scan in its channels.
        short: Most that a channel costs that is shorter than the map says, in log(1 + r).
        allowed: Which headings count, shape (n P,).
    """
    codes = window.codes(short)
    allowed = np.ascontiguousarray(allowed)
    return EncodedScan(
        codes.values, window.seen, allowed, codes.base, codes.step, codes.short, codes.long
    )


def distinct_indices(
    poses: FloatArray, radius: float, turn: float, most: int | None = None
) -> IntArray:
    """Indices of poses, first come first, none of which is alike one before it."""
    from isovist.compute import select_distinct

    chosen = np.empty(len(poses) if most is None else most, dtype=np.int64)
    return chosen[: select_distinct(poses, radius, turn, chosen)] if chosen.size else chosen
