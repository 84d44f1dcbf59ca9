"""Every node and every heading against one scan.

The scan gets the same channels as the nodes, over the directions that it saw (`atlas.windows`).
Turning the robot by 2π/n is a cyclic shift, so one pass over the atlas tries all headings
(`kernels.correlate`); a second set of channels, turned by half a channel, doubles their number.

Only so many candidates are handed on.  A place that was not looked at is not absent: `lead` says
how much dearer than a given place the best one is that was left out.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.base import PHASES, AnyScan, Atlas
from isovist.localization.region import Region
from isovist.localization.settings import LocalizationSettings
from isovist.poses import wrap_angle
from isovist.types import BoolArray, Float32Array, FloatArray, IntArray

TINY = 1e-6
"""A scan without noise costs nothing at its own place."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Where a scan may have been taken, before anything is fitted.

    Attributes:
        poses: Of the level frame of the sensor, unlike each other, best first, shape (K, D).
        costs: Of each, shape (K,).
        left_out: Cost of the best one that was not handed on; `inf` when all were.
        glances: After a look at half the channels: place and cost of each node, shape (A, d + 1);
            empty when every node was looked at in full.
        cut: Cost at a glance beyond which nodes were not looked at in full.
    """

    poses: FloatArray
    costs: FloatArray
    left_out: float
    glances: FloatArray
    cut: float

    def lead(self, pose: FloatArray, radius: float, turn: float) -> float:
        """How many times its own cost the cheapest place costs that was not looked at.

        Args:
            pose: Of the sensor, shape (D,).
            radius: Candidates nearer than this, in m, …
            turn: … and turned by less than this, in rad, are of this place.
        """
        near = np.hypot(*(self.poses[:, :2] - pose[:2]).T) < radius
        near &= np.abs(wrap_angle(self.poses[:, 2] - pose[2])) < turn
        if not near.any():
            return 0.0
        ratio = self.left_out / max(float(self.costs[near].min()), TINY)
        if len(self.glances):
            around = np.hypot(*(self.glances[:, :2] - pose[:2]).T) < radius
            own = float(self.glances[around, -1].min(initial=np.inf))
            ratio = min(ratio, self.cut / max(own, TINY))
        return float(ratio)


def search(
    atlas: Atlas,
    scan: AnyScan,
    prior: Region | None,
    settings: LocalizationSettings,
    *,
    thorough: bool = False,
) -> Candidates:
    """Every node and heading, and the unlike best of them.

    Args:
        atlas: The map, described.
        scan: What the sensor saw.
        prior: Where the robot may be.
        settings: How to search.
        thorough: Try every node in full and hand on ten times as many candidates.
    """
    window = atlas.window(scan, settings.seen_share[atlas.dimension - 2])
    n = atlas.settings.channels
    yaws = 2.0 * np.pi * (np.arange(n * PHASES) / PHASES - window.first) / n + atlas.heading
    active = np.arange(len(atlas.nodes))
    allowed = np.ones(n * PHASES, dtype=np.bool_)
    mount = scan.T_level_robot
    if prior is not None:
        lever = float(np.hypot(mount.x, mount.y))
        active = np.flatnonzero(prior.contains(atlas.positions[:, :2], atlas.spacing + lever))
        allowed = prior.heads(yaws + mount.yaw, np.pi / n)
    if active.size == 0 or not allowed.any() or not window.seen.any():
        none = atlas.seeds(np.empty(0, dtype=np.int64), np.empty(0))
        return Candidates(none, np.empty(0), np.inf, np.empty((0, 3)), np.inf)
    nodes = atlas.descriptors[:, window.ring : window.ring + window.seen.shape[1]]
    finalists = settings.share(atlas, settings.finalists[0])
    minima = settings.finalists[1]
    glances, cut = np.empty((0, 3)), np.inf
    if len(active) > finalists and not thorough:
        # Every other channel and the headings of the first phase choose who is looked at in full.
        rough = window.seen[:1].copy()
        rough[:, :, 1::2] = False
        costs, _ = best_headings(
            nodes, active, window.values[:1], rough, allowed[::PHASES], 1, settings.short
        )
        order = np.argpartition(costs[:, 0], finalists - 1)[:finalists]
        glances = np.column_stack([atlas.positions[active][:, :2], costs[:, 0]])
        cut = float(costs[order, 0].max())
        active = np.sort(active[order])
    costs, headings = best_headings(
        nodes, active, window.values, window.seen, allowed, minima, settings.short
    )
    flat = costs.ravel()
    best = np.argsort(flat, kind="stable")[: int(np.isfinite(flat).sum())]
    poses = atlas.seeds(active[best // minima], yaws[headings.ravel()[best]])
    if prior is not None:
        robots = (atlas.lift(poses) @ mount).vector
        held = prior.holds(robots, atlas.spacing, np.pi / n)
        poses, best = poses[held], best[held]
    most = settings.share(atlas, settings.seeds[thorough])
    chosen = unlike(poses, *settings.candidates_apart(atlas), most)
    left_out = float(flat[best[chosen[-1]]]) if len(chosen) == most else np.inf
    return Candidates(poses[chosen], flat[best[chosen]].astype(np.float64), left_out, glances, cut)


def best_headings(
    nodes: Float32Array,
    active: IntArray,
    values: Float32Array,
    seen: BoolArray,
    allowed: BoolArray,
    keep: int,
    short: float,
) -> tuple[Float32Array, NDArray[np.int32]]:
    """Smallest costs of each active node and their headings, both of shape (A, keep).

    Nodes have shape (N, rings, n), values and seen (phases, rings, m); the plane has one ring.
    Channels cost `short` at most when they are shorter than the map says, and twice that when
    they are longer.
    """
    from isovist.kernels.correlate import correlate

    costs = np.empty((len(active), keep), dtype=np.float32)
    headings = np.empty((len(active), keep), dtype=np.int32)
    allowed = np.ascontiguousarray(allowed)
    correlate(nodes, active, values, seen, allowed, short, 2.0 * short, costs, headings)
    return costs, headings


def unlike(poses: FloatArray, radius: float, turn: float, most: int | None = None) -> IntArray:
    """Indices of poses, first come first, none of which is alike one before it."""
    from isovist.kernels.correlate import spread

    chosen = np.empty(len(poses) if most is None else most, dtype=np.int64)
    return chosen[: spread(poses, radius, turn, chosen)] if chosen.size else chosen
