"""Every node and every heading against one scan.

The scan gets the same channels as the nodes, over the directions that it saw.  Turning the robot by
2π/n is a cyclic shift, so one pass over the atlas tries all headings (`kernels.correlate`); a
second set of channels, turned by half a channel, doubles their number.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from isovist.atlas.plane import REACH, Atlas, search_rose
from isovist.localization.region import Region
from isovist.poses import unit_vectors
from isovist.sensing.scan import Scan
from isovist.types import BoolArray, Float32Array, FloatArray, IntArray

PHASES = 2
"""Headings per channel."""
SHORT, LONG = 0.25, 0.5
"""Most that a channel can cost, in log(1 + r), when it is shorter or longer than the map says.
People and furniture come and go, walls do not vanish: longer counts twice."""
SEEN_SHARE = 0.3
"""Least share of a channel that the scan must have seen."""
FINALISTS = 3000
"""Nodes that are tried in full, after a look at half the channels of all."""
MINIMA = 4
"""Headings kept of each node."""
SEEDS = 400
"""Candidates handed on."""
POOL = 30
"""Best headings looked at for each candidate wanted."""
RADIUS, TURN = 0.4, 0.2
"""Candidates are farther apart than this, in m, or turned by more, in rad."""


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A scan in the channels of the atlas.

    Attributes:
        values: Mean log(1 + r) of each channel, float32, shape (PHASES, m).
        seen: Which channels the scan knows, shape (PHASES, m).
        first: Channel of the first column.
    """

    values: Float32Array
    seen: BoolArray
    first: int


def describe(scan: Scan, channels: int) -> Window:
    """The channels of a scan, cut to the part of the circle that it saw."""
    rose = search_rose(channels)
    width = 2.0 * np.pi / channels
    bearings = scan.bearings[scan.valid]
    signal = np.log1p(np.minimum(scan.ranges[scan.valid], REACH))
    share = _shares(scan.bearings, width)[scan.valid] / width
    values = np.zeros((PHASES, channels))
    known = np.zeros((PHASES, channels), dtype=np.bool_)
    for p in range(PHASES):
        W = rose.weights(unit_vectors(bearings + width * p / PHASES)) * share[:, None]
        mass = W.sum(axis=0)
        known[p] = mass >= SEEN_SHARE
        values[p, known[p]] = (signal @ W)[known[p]] / mass[known[p]]
    first, m = _seen(np.asarray(known.any(axis=0)))
    columns = (first + np.arange(m)) % channels
    return Window(
        np.ascontiguousarray(values[:, columns], dtype=np.float32),
        np.ascontiguousarray(known[:, columns]),
        first,
    )


def search(
    atlas: Atlas, scan: Scan, prior: Region | None = None, *, thorough: bool = False
) -> FloatArray:
    """Unlike candidates, best first: (x, y, yaw) of the sensor in cells and rad, shape (K, 3).

    Args:
        atlas: The map, described.
        scan: What the sensor saw.
        prior: Where the robot may be.
        thorough: Try every node in full and hand on ten times as many candidates.
    """
    from isovist.kernels.correlate import spread

    n = atlas.descriptors.shape[1]
    window = describe(scan, n)
    yaws = 2.0 * np.pi * (np.arange(n * PHASES) / PHASES - window.first) / n
    active = np.arange(len(atlas.nodes))
    allowed = np.ones(n * PHASES, dtype=np.bool_)
    if prior is not None:
        active = np.flatnonzero(prior.contains(atlas.positions, atlas.spacing))
        allowed = prior.heads(yaws + atlas.world.origin.yaw, np.pi / n)
    if active.size == 0 or not allowed.any() or window.values.shape[1] == 0:
        return np.empty((0, 3))
    nodes, values, seen = atlas.descriptors[:, None], window.values[:, None], window.seen[:, None]
    if len(active) > FINALISTS and not thorough:
        # Every other channel and the headings of the first phase choose who is looked at in full.
        rough = seen[:1].copy()
        rough[:, :, 1::2] = False
        costs, _ = best_headings(nodes, active, values[:1], rough, allowed[::PHASES], 1)
        order = np.argpartition(costs[:, 0], FINALISTS - 1)[:FINALISTS]
        active = np.sort(active[order])
    costs, headings = best_headings(nodes, active, values, seen, allowed, MINIMA)
    flat = costs.ravel()
    seeds = 10 * SEEDS if thorough else SEEDS
    pool = min(POOL * seeds, int(np.isfinite(flat).sum()))
    best = np.argpartition(flat, pool - 1)[:pool] if pool < flat.size else np.arange(flat.size)
    best = best[np.lexsort((best, flat[best]))][:pool]
    cells = atlas.nodes[active[best // MINIMA]]
    poses = np.column_stack([cells[:, 1] + 0.5, cells[:, 0] + 0.5, yaws[headings.ravel()[best]]])
    chosen = np.empty(seeds, dtype=np.int64)
    count = spread(poses, RADIUS / atlas.world.resolution, TURN, chosen)
    return poses[chosen[:count]]


def best_headings(
    nodes: Float32Array,
    active: IntArray,
    values: Float32Array,
    seen: BoolArray,
    allowed: BoolArray,
    keep: int,
) -> tuple[Float32Array, NDArray[np.int32]]:
    """Smallest costs of each active node and their headings, both of shape (A, keep).

    Nodes have shape (N, rings, n), values and seen (phases, rings, m); the plane has one ring.
    """
    from isovist.kernels.correlate import correlate

    costs = np.empty((len(active), keep), dtype=np.float32)
    headings = np.empty((len(active), keep), dtype=np.int32)
    allowed = np.ascontiguousarray(allowed)
    correlate(nodes, active, values, seen, allowed, SHORT, LONG, costs, headings)
    return costs, headings


def _shares(bearings: FloatArray, most: float) -> FloatArray:
    """Angle that each beam stands for, in rad, at most `most`."""
    if bearings.size == 1:
        return np.array([most])
    gaps = np.diff(bearings)
    share = np.empty_like(bearings)
    share[0], share[-1] = gaps[0], gaps[-1]
    share[1:-1] = 0.5 * (gaps[:-1] + gaps[1:])
    return np.minimum(share, most)


def _seen(known: BoolArray) -> tuple[int, int]:
    """First channel and number of channels of the shortest arc that holds all known ones."""
    n = known.size
    marks = np.flatnonzero(known)
    if marks.size == 0:
        return 0, 0
    gaps = np.diff(np.append(marks, marks[0] + n))
    widest = int(np.argmax(gaps))
    return int(marks[(widest + 1) % marks.size]), int(n - gaps[widest] + 1)
