"""Do building, locating and tracking keep up with the size of a site?

    python -m benchmarks.growth [TILES] [SCANS]

A tile is an office floor of about 500 m² (`simulation.worlds`), each of another seed, alone among
unknown cells.  The same scans of the first tile are asked on 1, 4, 16, … of them, at most TILES;
then comes a site of 30 000 m² of which half the box is unknown, with scans from all over it.
Scans have noise and see furniture that the map lacks.  Times are CPU times of the process over all
cores, the least of two for a scan and of five for an update, so that other work on the machine
counts little, and for scans also by the clock; memory is the most that the process held.
"""

import resource
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import TypeVar

import numpy as np

import isovist as iv
from isovist.arrays import FloatArray
from isovist.atlas.base import Atlas
from isovist.maps.cells import Cell
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import Pose
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.simulate import random_scans
from isovist.sensing.scan import Scan
from isovist.simulation.worlds import office_floor

T = TypeVar("T")
CELL = 0.05
PITCH = (620, 460)
"""Rows and columns of cells from tile to tile: no floor is larger."""
SENSOR = Lidar(beams=360, range_max=12.0, noise=0.02, clutter=0.05)
NEAR = 0.5
"""So near to the truth an answer is right, in m."""
DRIVE = 40
"""Updates of a tracker."""
STEP = 0.1
"""Between two updates of a tracker, in m."""


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """A floor drawn into cells, and scans of it as it is, in its own frame."""

    world: OccupancyMap
    scans: list[tuple[Pose, Scan]]
    drive: list[tuple[Pose, Scan]]


def tile(seed: int, scans: int, drive: int = 0) -> Tile:
    """The floor of a seed, random scans of it, and some along a straight way from the first."""
    floor = office_floor(seed, length=20.0, rows=4)
    world = OccupancyMap.from_segments(floor.plan.walls.reshape(-1, 2, 2), CELL)
    found = random_scans(world, floor.reality, SENSOR, max(scans, 1), seed=seed)
    random = np.random.default_rng(seed)
    way: list[tuple[Pose, Scan]] = []
    for pose, _ in found if drive else []:
        ahead = [pose @ Pose(STEP * k, 0.0, 0.0) for k in range(drive)]
        if all(floor.reality.contains(place.position) for place in ahead):
            way = [(place, SENSOR.scan(floor.reality, place, random)) for place in ahead]
            break
    return Tile(world, found[:scans], way)  # type: ignore[arg-type]


def site(tiles: Sequence[Tile], columns: int, every: int = 1) -> tuple[OccupancyMap, FloatArray]:
    """One map of tiles, `columns` side by side, and where the corner of each lies, in m.

    Every so many places of the box hold a tile; the others stay unknown.
    """
    places = np.arange(len(tiles)) * every
    if every > 1:  # like a chess board
        places += (places // columns) % every
    rows = -(-len(tiles) * every // columns)
    cells = np.full((rows * PITCH[0], columns * PITCH[1]), Cell.UNKNOWN, dtype=np.uint8)
    corners = np.empty((len(tiles), 2))
    for k, (floor, place) in enumerate(zip(tiles, places, strict=True)):
        row, column = PITCH[0] * (place // columns), PITCH[1] * (place % columns)
        height, width = floor.world.shape
        cells[row : row + height, column : column + width] = floor.world.cells
        corners[k] = np.array([column, row]) * CELL - floor.world.origin.position
    return OccupancyMap(cells, CELL), corners


def timed(work: Callable[[], T]) -> tuple[T, FloatArray]:
    """What some work gives, and its time in s: of the CPU, and by the clock."""
    start = time.process_time(), time.perf_counter()
    done = work()
    return done, np.subtract((time.process_time(), time.perf_counter()), start)


def peak() -> float:
    """Most memory that the process has held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


@dataclass(frozen=True, slots=True)
class Row:
    """What a site took: CPU times in s and ms, memory in GB, and how many answers were right."""

    tiles: int
    area: float
    nodes: int
    build_s: float
    median_ms: float
    p95_ms: float
    wall_ms: float
    wall95_ms: float
    update_ms: float
    right: int
    unique: int
    wrong: int
    asked: int
    peak_gb: float


def measure(
    tiles: Sequence[Tile], columns: int, asked: Sequence[tuple[int, Pose, Scan]], every: int = 1
) -> Row:
    """Build a site, ask scans of tiles (number, pose in the tile, scan), follow the first drive."""
    world, corners = site(tiles, columns, every)
    atlas, build_s = timed(partial(iv.build, world))
    iv.locate(atlas, asked[0][2])  # so that no scan is charged for what is made once
    right = unique = wrong = 0
    # Not twice in a row: an atlas keeps some of what was asked last.
    rounds = [[timed(partial(iv.locate, atlas, scan)) for *_, scan in asked] for _ in range(2)]
    times = np.min([[took for _, took in one] for one in rounds], axis=0)
    for (number, pose, _), (answer, _) in zip(asked, rounds[0], strict=True):
        truth, best = pose.position + corners[number], answer.best
        found = best is not None and bool(np.hypot(*(best.pose.position - truth)) <= NEAR)
        sure = answer.verdict is iv.Verdict.UNIQUE
        right, unique, wrong = right + found, unique + sure, wrong + (sure and not found)
    (median, wall), (p95, wall95) = np.quantile(times, [0.5, 0.95], axis=0) * 1e3
    update = follow(atlas, tiles[0].drive, corners[0])
    return Row(
        len(tiles), atlas.area, len(atlas.nodes), build_s[0], median, p95, wall, wall95, update,
        right, unique, wrong, len(asked), peak(),
    )  # fmt: skip


def follow(atlas: Atlas, drive: Sequence[tuple[Pose, Scan]], corner: FloatArray) -> float:
    """Median CPU time in ms of a tracker's update, from a known place."""
    start = drive[0][0]
    known = Pose(*(start.position + corner), start.yaw)
    rounds = []
    for _ in range(5):
        times = []
        tracker = iv.Tracker(atlas, region=iv.Region.around(known, 1.0, 0.5))
        for pose, scan in drive:
            odometry = start.inverse @ pose
            times.append(timed(partial(tracker.update, odometry, scan))[1][0])
        rounds.append(times)
    return 1e3 * float(np.median(np.min(rounds, axis=0)))


def in_process(work: Callable[..., Row], *arguments: object) -> Row:
    """Run in a process of its own, so that memory is that of one site."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def grown(count: int, scans: int) -> Row:
    """The row of a square of tiles."""
    tiles = [tile(seed, scans if seed == 0 else 0, DRIVE) for seed in range(count)]
    asked = [(0, pose, scan) for pose, scan in tiles[0].scans]
    return measure(tiles, round(count**0.5), asked)


def large(count: int, scans: int) -> Row:
    """The row of a site of which half the box is unknown, asked all over it."""
    each = -(-scans // count) + 1
    tiles = [tile(seed, each, DRIVE if seed == 0 else 0) for seed in range(count)]
    asked = [(k, *tiles[k].scans[j]) for j in range(each) for k in range(count)][:scans]
    return measure(tiles, 2 * round(count**0.5), asked, 2)


def main() -> None:
    """Print a row for each size, and how much each step of four in area takes."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    scans = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    sizes = [4**k for k in range(8) if 4**k <= most]
    print("| tiles | m² | nodes | build s | locate ms (95 %) | by the clock | update ms | right |"
          " unique | wrong | GB | locate × | update × |")  # fmt: skip
    print("|---" * 13 + "|")
    before: Row | None = None
    for count in sizes:
        row = in_process(grown, count, scans)
        print_row(row, before)
        before = row
    print_row(in_process(large, sizes[-1], scans), None)


def print_row(row: Row, before: Row | None) -> None:
    """One line, with the ratios to the row before."""
    ratios = "| | |"
    if before is not None:
        located, followed = row.median_ms / before.median_ms, row.update_ms / before.update_ms
        ratios = f"| {located:.2f} | {followed:.2f} |"
    print(
        f"| {row.tiles} | {row.area:.0f} | {row.nodes} | {row.build_s:.1f} "
        f"| {row.median_ms:.0f} ({row.p95_ms:.0f}) | {row.wall_ms:.0f} ({row.wall95_ms:.0f}) "
        f"| {row.update_ms:.1f} "
        f"| {row.right} of {row.asked} | {row.unique} | {row.wrong} | {row.peak_gb:.2f} {ratios}",
        flush=True,
    )


if __name__ == "__main__":
    main()
