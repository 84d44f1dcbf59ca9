"""Do memory and cost stay where they are over a long drive, and can a very large map be built?

    python -m benchmarks.long [--updates N] [--side CELLS]

A tracker follows a robot to and fro on an office floor, for N updates from a known place; cost and
memory are told tenth by tenth, and the last tenth as a ratio to the first.  With `--side` a map of
so many cells each way, unknown but for a floor in each square of 2000 cells, is built in a
process of its own.  Times are CPU times over all cores.
"""

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import isovist as iv
from benchmarks.growth import PITCH, Tile, in_process, peak, tile, timed
from isovist.maps.cells import Cell
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import Pose

TENTHS = 10
NEAR = 0.5
"""So near to the truth a place is right, in m."""
STRETCH = 2000
"""Cells each way of the map for each floor that is drawn into it."""


@dataclass(frozen=True, slots=True)
class Tenth:
    """Of a drive: CPU time of an update in ms, memory at its end in MB, and wrong places."""

    ms: float
    mb: float
    wrong: int


def held(process: int | str = "self") -> float:
    """Memory that a process holds now, this one unless said, in MB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def drive(updates: int) -> Iterator[Tenth]:
    """Follow a robot to and fro, and tell each tenth as it ends; odometry is what it drove."""
    floor = tile(0, 8, 40)
    atlas = iv.build(floor.world)
    there = floor.drive
    start = there[0][0]
    way = [*there, *there[-2:0:-1]]
    tracker = iv.Tracker(atlas, region=iv.Region.around(start, 1.0, 0.5))
    part = max(updates // TENTHS, 1)
    done = 0
    for _ in range(TENTHS):
        spent, wrong = 0.0, 0
        for _ in range(part):
            pose, scan = way[done % len(way)]
            moved = start.inverse @ pose
            belief, took = timed(lambda moved=moved, scan=scan: tracker.update(moved, scan))
            spent += took
            best = belief.estimates[0].pose if belief.estimates else Pose(np.inf, np.inf, 0.0)
            wrong += bool(np.hypot(*(best.position - pose.position)) > NEAR)
            done += 1
        yield Tenth(1e3 * spent / part, held(), wrong)


def wide(side: int) -> tuple[float, int, float, float]:
    """Area, nodes, CPU time in s and most memory in GB of a map of so many cells each way."""
    floors: list[Tile] = [tile(seed, 0) for seed in range(4)]
    cells = np.full((side, side), Cell.UNKNOWN, dtype=np.uint8)
    for row in range(0, side - PITCH[0], STRETCH):
        for column in range(0, side - PITCH[1], STRETCH):
            some = floors[(row + column) // STRETCH % len(floors)].world.cells
            cells[row : row + some.shape[0], column : column + some.shape[1]] = some
    atlas, took = timed(lambda: iv.build(OccupancyMap(cells, floors[0].world.resolution)))
    return atlas.area, len(atlas.nodes), took, peak()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--updates", type=int, default=1_000_000, help="of the tracker")
    parser.add_argument("--side", type=int, default=0, help="of a map to build, in cells")
    given = parser.parse_args()
    if given.updates:
        print("| tenth | update ms | MB |\n|---|---|---|", flush=True)
        tenths = []
        for k, tenth in enumerate(drive(given.updates), 1):
            print(f"| {k} | {tenth.ms:.2f} | {tenth.mb:.0f} |", flush=True)
            tenths.append(tenth)
        first, last = tenths[0], tenths[-1]
        print(
            f"{given.updates} updates: the last tenth costs {last.ms / first.ms:.2f} of the first "
            f"and holds {last.mb / first.mb:.3f} of its memory; "
            f"{sum(tenth.wrong for tenth in tenths)} places were wrong."
        )
    if given.side:
        area, nodes, took, gb = in_process(wide, given.side)  # type: ignore[arg-type,misc]
        print(
            f"{given.side} × {given.side} cells, {area:.0f} m² free, {nodes} nodes: "
            f"{took:.1f} s, {gb:.2f} GB."
        )


if __name__ == "__main__":
    main()
