"""Every node and every heading against one scan.

The scan gets the same channels as the nodes, over the directions that it saw
(`atlas.matching.windows`). Turning the robot by 2π/n is a cyclic shift, so one pass over the atlas
tries all headings (`compute.search.correlate`); a second set of channels, turned by half a channel,
doubles their number.

Only so many candidates are handed on.  A place that was not looked at is not absent: `lead` says
how much dearer than a given place the best one is that was left out.
"""

from collections.abc import Callable
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
from isovist.localization import floors as quick
from isovist.localization.floors import Floors
from isovist.localization.outlines import likely
from isovist.localization.region import Region
from isovist.localization.settings import LocalizationSettings

ENOUGH = 8
"""Of so many times as many places as are wanted enough are unlike, as a rule: the unlike best were
among the first 3 to 8 times as many (intel, seattle, fhw)."""
FLOORED = 4
"""Floors of so many nodes take about as long as one node in full: 3.5 to 5 of them measured."""
MORE = 2
"""So many times as many candidates a first look at a large site hands on.  On 33 000 m² it then
settles 35 of 60 scans instead of 32, and 36 with four times as many, which take longer to fit."""
CLOSER = 5
"""So many times as many finalists as a first look a closer one has at a large site, where it would
take too long to try every node.  On one of 33 000 m² 60 of 60 verdicts are those of all nodes."""
LIKELY = 8
"""One node of so many of a large site is glanced at first: with six as with eight, of 600 scans no
answer is another than with all (`benchmarks.outlines --seed 1`)."""
TINY = 1e-6
"""A scan without noise costs nothing at its own place."""


@dataclass(frozen=True, slots=True, eq=False)
class Glances:
    """What nodes cost at a glance.

    Attributes:
        places: Of all nodes of the map, shape (N, d).
        nodes: That were looked at in full, shape (A,).
        costs: Of each, shape (A,).
    """

    places: FloatArray
    nodes: IntArray
    costs: Float32Array

    def least(self, pose: FloatArray, radius: float) -> float:
        """Of those nearer to a pose than a radius in m; `inf` where there is none."""
        from isovist.compute import min_cost_near

        return float(min_cost_near(self.places, self.nodes, self.costs, pose, radius))


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Where a scan may have been taken, before anything is fitted.

    Attributes:
        poses: Of the level frame of the sensor, unlike each other, best first, shape (K, D).
        costs: Of each, shape (K,).
        left_out: Cost of the best one that was not handed on; `inf` when all were.
        glances: After a look at half the channels: each node that was then looked at in full, shape
            (A,), and its cost; `None` when every node was.
        cut: Cost at a glance beyond which nodes were not looked at in full.  At a first look at a
            large site those of another outline are taken to cost more (`outlines`).
    """

    poses: FloatArray
    costs: FloatArray
    left_out: float
    glances: "Glances | None"
    cut: float

    def lead(self, pose: FloatArray, radius: float, turn: float) -> float:
        """How many times its own cost the cheapest place costs that was not looked at.

        Args:
            pose: Of the sensor, shape (D,).
            radius: Candidates nearer than this, in m, …
            turn: … and turned by less than this, in rad, are of this place.
        """
        return self.beyond(*self.own(pose, radius, turn))

    def own(self, pose: FloatArray, radius: float, turn: float) -> tuple[float, float]:
        """What a place costs, in full and at a glance; `inf` when it is none of these.

        Where every node was looked at in full, a glance is taken to cost as much.
        """
        from isovist.compute import min_cost_within

        poses, costs = np.ascontiguousarray(self.poses), np.ascontiguousarray(self.costs)
        cost = max(min_cost_within(poses, costs, pose, radius, turn), TINY)
        if cost == np.inf or self.glances is None:
            return cost, cost
        return cost, max(self.glances.least(pose, radius), TINY)

    def beyond(self, cost: float, glance: float) -> float:
        """How many times these costs (`own`) the cheapest place costs that was not looked at."""
        if cost == np.inf:
            return 0.0
        ratio = self.left_out / cost
        return float(ratio if self.glances is None else min(ratio, self.cut / glance))


def search(
    atlas: Atlas,
    scan: AnyScan,
    region: Region | None,
    settings: LocalizationSettings,
    *,
    thorough: bool = False,
    limit: float = np.inf,
    only: IntArray | None = None,
    every: int = 1,
) -> Candidates:
    """Every node and heading, and the unlike best of them.

    Args:
        atlas: The map, described.
        scan: What the sensor saw.
        region: Where the robot may be.
        settings: How to search.
        thorough: Try every node in full, of a large site many more of them, and hand on ten times
            as many candidates.
        limit: Of a closer look: hand on none that costs more.
        only: Nodes to search, in order, where there is no region; all when `None`.
        every: Of all nodes, search one in so many.
    """
    window = atlas.window(scan, settings.seen_share[atlas.dimension - 2])
    yaws = window.yaws(atlas.descriptors.shape[2], atlas.heading)
    step = 2.0 * np.pi / len(yaws)
    allowed = np.ones(len(yaws), dtype=np.bool_)
    if region is not None:
        mount = scan.T_level_robot
        margin = atlas.spacing + float(np.hypot(mount.x, mount.y))
        active = atlas.nodes_in(*region.box(margin))
        places = atlas.seeds(active, np.zeros(len(active)))[:, :2]
        active = active[region.contains(places, margin)]
        allowed = region.heads(yaws + mount.yaw, step)
    else:
        active = np.arange(0, len(atlas.nodes), every) if only is None else only
    if active.size == 0 or not window.seen.any() or (region is not None and not allowed.any()):
        none = atlas.seeds(np.empty(0, dtype=np.int64), np.empty(0))
        return Candidates(none, np.empty(0), np.inf, None, np.inf)
    whole = region is None and only is None
    view = _View(atlas, window, allowed, settings, every if whole else 1)
    most = settings.share(atlas, settings.seeds[thorough])
    if not thorough and len(active) > quick.MANY:
        most *= MORE

    def choose(tried: _Tried, most_cost: float) -> tuple[FloatArray, FloatArray]:
        """Poses and costs of the unlike best that do not cost more."""
        from isovist.compute import cheapest_distinct

        nodes, costs, headings = tried
        if region is not None:
            places = atlas.seeds(nodes.repeat(costs.shape[1]), yaws[headings.ravel()])
            robots = (atlas.lift(places) @ scan.T_level_robot).vector
            held = region.holds(robots, atlas.spacing, step)
            costs = np.where(held.reshape(costs.shape), costs, np.float32(np.inf))
        bits, apart = costs.view(np.uint32).ravel(), settings.candidates_apart(atlas)
        room = min(most, costs.size)
        poses, known = np.empty((room, atlas.coordinates)), np.empty(room)
        count = cheapest_distinct(
            costs, bits, headings, nodes, atlas.places, yaws, most_cost, *apart, ENOUGH * most,
            poses, known,
        )  # fmt: skip
        return poses[:count], known[:count]

    glances, cut = None, np.inf
    finalists = settings.share(atlas, settings.finalists[0])
    if thorough and len(active) <= max(quick.MANY, finalists):
        poses, costs = view.choose_of_all(active, most, choose, limit)
    else:
        finalists *= CLOSER if thorough else 1
        share = 1 if thorough or not whole else LIKELY * every
        if len(active) > finalists:
            tried, glances, cut = view.glance(active, finalists, share)
        else:
            tried = view.tried(active)
        poses, costs = choose(tried, limit)
    left_out = float(costs[-1]) if len(costs) == most else np.inf
    return Candidates(poses, costs, left_out, glances, cut)


_Tried = tuple[IntArray, Float32Array, NDArray[np.int32]]
"""Nodes, and what `best_headings` says of each."""


def _in_order(parts: list[_Tried]) -> _Tried:
    """Nodes that were tried one after the other, as if they had been tried at once."""
    nodes, costs, headings = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(nodes, kind="stable")
    return nodes[order], costs[order], headings[order]


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """A scan before the nodes of an atlas.

    Attributes:
        atlas: The map, described.
        window: The scan in its channels.
        allowed: Which headings count, shape (n P,).
        settings: How to search.
        every: One node in so many is before it, all of these; any of all where that is 1.
    """

    atlas: Atlas
    window: Window
    allowed: BoolArray
    settings: LocalizationSettings
    every: int = 1

    def tried(self, active: IntArray) -> _Tried:
        """Nodes in full."""
        keep = self.settings.finalists[1]
        nodes, short = self.atlas.descriptors, self.settings.short
        return active, *best_headings(nodes, active, self.window, keep, short, self.allowed)

    def glance(self, active: IntArray, most: int, share: int = 1) -> tuple[_Tried, Glances, float]:
        """The best by every other channel and phase, in full.

        Args:
            active: Nodes in order.
            most: How many are looked at in full.
            share: Of a large site, one of so many is glanced at (`outlines`).

        Returns:
            These nodes in order, with `glances` and `cut` of `Candidates`.
        """
        rough, phases = self.window.rough, len(self.window.values)
        allowed = self.allowed.reshape(-1, phases)[:, ::2].ravel()
        some = None
        if share > 1 and len(active) > 2 * share * most:
            some = likely(self.atlas, self.every, self.window, self.settings.short, share)
            active = active if some is None else active[some]
        if quick.pays(self.atlas) and not active_backend().is_exhaustive:
            floors = self._floors(active, rough, allowed, some)
            low = np.partition(floors, most - 1)[most - 1]
            first = np.flatnonzero(floors <= low)
            costs = self._least(active[first], rough, allowed)
            others = np.flatnonzero((floors > low) & (floors <= costs.max()))
            more = self._least(active[others], rough, allowed)
            looked = np.concatenate([first, others])
            order = np.argsort(looked, kind="stable")
            costs = np.concatenate([costs, more])[order]
            best = cheapest(costs, most)
            tried, costs = self.tried(active[looked[order[best]]]), costs[best]
        else:
            short, keep = self.settings.short, self.settings.finalists[1]
            coarse = encode(rough, short, allowed)
            full = encode(self.window, short, self.allowed)
            shortlist = active_backend().shortlist(
                ShortlistRequest(
                    self.atlas.descriptors, self.window.ring, active, coarse, full, most, keep
                )
            )
            tried = shortlist.nodes, shortlist.costs, shortlist.headings
            costs = shortlist.coarse_costs
        return tried, Glances(self.atlas.places, tried[0], costs), float(costs.max())

    def choose_of_all(
        self,
        active: IntArray,
        most: int,
        choose: Callable[[_Tried, float], tuple[FloatArray, FloatArray]],
        limit: float,
    ) -> tuple[FloatArray, FloatArray]:
        """What `choose` would choose if all nodes were tried, by trying as few as will do."""
        few = FLOORED * len(active) < self.atlas.size
        plain = not quick.pays(self.atlas) and limit == np.inf
        if plain or few or active_backend().is_exhaustive:
            return choose(self.tried(active), limit)
        floors = self._floors(active, self.window, self.allowed)
        count, dearest = 2 * most, limit
        tried = np.zeros(len(active), dtype=np.bool_)
        found: list[_Tried] = []
        while True:
            # No node whose floor is higher can be among them.
            left = np.flatnonzero(~tried & (floors <= dearest))
            last = len(left) <= count
            if not last:
                left = np.sort(left[np.argpartition(floors[left], count - 1)[:count]])
            found.append(self.tried(active[left]))
            tried[left] = True
            if last:
                return choose(_in_order(found), dearest)
            costs = choose(_in_order(found), limit)[1]
            if len(costs) == most:
                dearest = min(limit, float(costs[-1]))
            count *= 2

    def _floors(
        self, active: IntArray, window: Window, allowed: BoolArray, some: IntArray | None = None
    ) -> Float32Array:
        known = Floors.of(self.atlas, self.every)
        floors = known.under(window, allowed, self.settings.short, some)
        return floors if len(active) == len(floors) else floors[active]

    def _least(self, active: IntArray, window: Window, allowed: BoolArray) -> Float32Array:
        nodes, short = self.atlas.descriptors, self.settings.short
        return least_costs(nodes, active, window, short, allowed)


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


def unlike(poses: FloatArray, radius: float, turn: float, most: int | None = None) -> IntArray:
    """Indices of poses, first come first, none of which is alike one before it."""
    from isovist.compute import select_distinct

    chosen = np.empty(len(poses) if most is None else most, dtype=np.int64)
    return chosen[: select_distinct(poses, radius, turn, chosen)] if chosen.size else chosen
