"""What do outlines lose on a large site, and what do they save?

    python -m benchmarks.outlines [--plans 30] [--scans 300] [--seed 0] [--share 8]

Plans of all kinds (`simulation.plans`), worn and furnished, lie on one map with unknown cells
between them.  Each scan is asked twice: as `locate` does it, with one of `share` nodes left by
outlines at a first look, and with all nodes looked at.  Told are the scans whose true place was
among the nodes left; of the nodes that cost at a glance up to `lead` times as much as the best, how
many were left; where both say the same, that is the same verdict and, unless they are lost, the
same place; how many were unique and wrong either way; and the CPU times, both cores together.
"""

import argparse
import time
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas.base import Atlas
from isovist.atlas.build import build
from isovist.evaluation.calibrate import SENSORS, kind_of
from isovist.evaluation.settings import PROTOCOL
from isovist.localization.answer import Answer, Verdict
from isovist.localization.judge import is_same
from isovist.localization.locate import locate
from isovist.localization.outlines import likely
from isovist.localization.search import LIKELY, best_headings
from isovist.localization.settings import LocalizationSettings
from isovist.maps.cells import Cell
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import Pose
from isovist.sensing.models.simulate import Placement, random_scans
from isovist.sensing.scan import Scan
from isovist.simulation.plans import RESOLUTION, Plan, draw_plan

NAMES = ("360°, 12 m", "270°, 10 m")
"""Sensors that see enough for outlines."""
USUAL = LocalizationSettings()


def campus(plans: list[Plan]) -> tuple[OccupancyMap, FloatArray]:
    """One map of plans, and what to add to places of each, in m."""
    shapes = np.array([plan.world.shape for plan in plans])
    high, wide = shapes.max(axis=0) + 10
    columns = round(len(plans) ** 0.5)
    rows = -(-len(plans) // columns)
    cells = np.full((rows * high, columns * wide), Cell.UNKNOWN, dtype=np.uint8)
    shifts = np.empty((len(plans), 2))
    for k, plan in enumerate(plans):
        row, column = high * (k // columns), wide * (k % columns)
        height, width = plan.world.shape
        cells[row : row + height, column : column + width] = plan.world.cells
        shifts[k] = np.array([column, row]) * RESOLUTION - plan.world.origin.position
    return OccupancyMap(cells, RESOLUTION), shifts


def asked(
    plans: list[Plan], shifts: FloatArray, name: str, count: int, seed: int
) -> Iterator[tuple[Pose, Scan]]:
    """Scans of a sensor, plan after plan, and where they were taken."""
    for k in range(count):
        number = k % len(plans)
        plan = plans[number]
        ((truth, scan),) = random_scans(
            plan.built,
            plan.reality,
            SENSORS[name],
            1,
            seed=seed * count + k,
            placement=Placement(PROTOCOL.calibration_clearance_m),
        )
        x, y = plan.scale * np.array([truth.x, truth.y]) + shifts[number]
        yield Pose(x, y, truth.yaw), scan  # type: ignore[misc]


def kept(atlas: Atlas, scan: Scan, truth: Pose, share: int) -> tuple[bool, int, int]:
    """Whether a node beside the true place is left; how many cheap nodes are, and of how many."""
    window = atlas.window(scan, USUAL.seen_share[0])
    every = np.arange(atlas.size)
    some = likely(atlas, 1, window, USUAL.short, share)
    some = every if some is None else some
    near = np.flatnonzero(np.hypot(*(atlas.positions - truth.position).T) < 1.5 * atlas.spacing)
    costs = best_headings(atlas.descriptors, every, window.rough, 1, USUAL.short)[0][:, 0]
    cheap = np.flatnonzero(costs <= USUAL.lead * costs.min())
    return bool(np.isin(near, some).any()), int(np.isin(cheap, some).sum()), len(cheap)


def timed(atlas: Atlas, scan: Scan, share: int) -> tuple[Answer, float]:
    """The answer with one of so many nodes left, and its CPU time in ms."""
    with patch("isovist.localization.search.LIKELY", share):
        start = time.process_time()
        answer = locate(atlas, scan)
        return answer, 1e3 * (time.process_time() - start)


def alike(one: Answer, other: Answer) -> bool:
    """Whether two answers say the same."""
    if one.verdict is not other.verdict:
        return False
    if one.best is None or other.best is None or one.verdict is Verdict.LOST:
        return one.verdict is Verdict.LOST or one.best is other.best
    return is_same(one.best.pose, other.best.pose, USUAL)


def wrong(answer: Answer, truth: Pose) -> bool:
    """Whether an answer is unique and wrong."""
    best = answer.best
    sure = answer.verdict is Verdict.UNIQUE and best is not None
    return sure and not is_same(best.pose, truth, USUAL)  # type: ignore[union-attr]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--plans", type=int, default=30)
    parser.add_argument("--scans", type=int, default=300, help="of each sensor")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=int, default=LIKELY, help="one node of so many is left")
    given = parser.parse_args()
    plans = [draw_plan(kind_of(k), (given.seed, k)) for k in range(given.plans)]
    world, shifts = campus(plans)
    atlas = build(world)
    print(f"{given.plans} plans, {atlas.area:.0f} m², {atlas.size} nodes, seed {given.seed}")
    print(
        "| sensor | scans | true place left | same answer | unique | unique and wrong | ms (95 %) |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    for name in NAMES:
        scans = list(asked(plans, shifts, name, given.scans, given.seed))
        # Not one after the other: an atlas keeps some of what was asked last.
        ways = [[timed(atlas, scan, share) for _, scan in scans] for share in (given.share, 1)]
        left, cheap, of = np.sum([kept(atlas, scan, at, given.share) for at, scan in scans], axis=0)
        pairs = list(zip(*([answer for answer, _ in way] for way in ways), strict=True))
        same = sum(alike(*pair) for pair in pairs)
        unique = np.sum([[one.verdict is Verdict.UNIQUE for one in pair] for pair in pairs], axis=0)
        faults = np.sum(
            [[wrong(one, truth) for one in pair]
             for pair, (truth, _) in zip(pairs, scans, strict=True)], axis=0,
        )  # fmt: skip
        times = np.transpose([[spent for _, spent in way] for way in ways])
        median, high = np.quantile(times, [0.5, 0.95], axis=0)
        print(
            f"| {name} | {given.scans} | {left / given.scans:.1%} | {cheap / of:.1%} "
            f"| {same / given.scans:.1%} | {unique[0]} of {unique[1]} | {faults[0]} of {faults[1]} "
            f"| {median[0]:.0f} ({high[0]:.0f}) of {median[1]:.0f} ({high[1]:.0f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
