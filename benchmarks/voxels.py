"""How much faster is a sweep than casting rays one by one through voxels?

    python -m benchmarks.voxels [MAP.bt]
    python -m benchmarks.voxels --town 1000 --spacing 2 --channels 24 --rings 8

Rows: rays per second of the exact traversal with empty-space skipping, and of the sweep from every
free cell of the map, both in one run with two threads; and the seconds its set-up takes once.
Without a file the map is three storeys of rooms of 20 × 15 × 9 m at 0.05 m.

With `--town` another table: what a quarter of a town of that size, seen by drives along all of its
streets, takes as a map of cells of 0.2 m and as an atlas, in seconds of CPU time and in memory.
"""

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import replace

import numba
import numpy as np

import isovist as iv
from benchmarks.worlds.streets import LIDAR, quarter
from isovist.basis.directional_basis import fibonacci_sphere
from isovist.io.maps.octomap import read_octomap
from isovist.maps.grid3d.blocks import BlockGrid
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.sweep.sweep3d import VoxelSweep, free_voxels

CELL = 0.2  # m


def rooms() -> VoxelMap:
    """Storeys of rooms with doors, stairwells and a table in each."""
    cells = np.zeros((180, 300, 400), np.uint8)
    for axis, places in enumerate(([0, 60, 120, 179], [0, 100, 200, 299], [0, 150, 280, 399])):
        np.moveaxis(cells, axis, 0)[places] = 1
    for storey in (0, 60, 120):
        cells[storey + 1 : storey + 40, [100, 200], 40:58] = 0
        cells[storey + 1 : storey + 40, 140:158, [[150], [280]]] = 0
        cells[storey + 14 : storey + 16, 20:60, 60:90] = 1
    cells[[60, 120], 220:260, 20:50] = 0
    return VoxelMap.from_array(cells, 0.05)


def best_of(work: Callable[[], object], times: int = 4) -> float:
    """Seconds of the fastest of some runs, after one that does not count."""
    work()
    best = np.inf
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def town(size: float, settings: iv.AtlasSettings) -> None:
    """Print the rows of a town, each with the most memory that was taken until then."""
    begin = time.process_time()

    def row(what: str, count: str) -> None:
        nonlocal begin
        seconds, most = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF)
        print(f"| {what} | {count} | {seconds:.0f} | {most.ru_maxrss / 1e6:.2f} |", flush=True)
        begin = time.process_time()

    print("| step | size | CPU time in s | most memory in GB |")
    print("|---|---|---|---|")
    cloud = quarter(size=size).cloud(replace(LIDAR, azimuths=450), side=CELL)
    row("drives", f"{len(cloud) / 1e6:.1f} M points")
    world = VoxelMap.from_points(cloud, CELL)
    del cloud
    columns, rows, levels = world.shape[::-1]
    kept = f", {len(world.grid.table)} blocks" if isinstance(world.grid, BlockGrid) else ""
    row("map", f"{columns} × {rows} × {levels} cells{kept}")
    atlas = iv.build(world, settings=settings)
    row("atlas", f"{len(atlas.nodes)} nodes with {atlas.descriptors[0].size} channels")


def main() -> None:
    numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("map", nargs="?", help="OctoMap file.")
    parser.add_argument("--town", type=float, help="Size of a town, in m.")
    parser.add_argument("--spacing", type=float, default=2.0, help="Of its nodes, in m.")
    parser.add_argument("--channels", type=int, default=64, help="Around the circle.")
    parser.add_argument("--rings", type=int, default=16, help="From the nadir to the zenith.")
    asked = parser.parse_args()
    if asked.town is not None:
        settings = iv.AtlasSettings(
            spacing=asked.spacing, channels=asked.channels, rings=asked.rings
        )
        town(asked.town, settings)
        return
    world = read_octomap(asked.map) if asked.map else rooms()
    nodes = free_voxels(world)
    directions = fibonacci_sphere(max(8, 40_000_000 // len(nodes)))
    rng = np.random.default_rng(0)
    origins = world.centres(rng.choice(nodes, 200_000))
    along = directions[rng.integers(0, len(directions), len(origins))]
    cast = len(origins) / best_of(lambda: world.cast(origins, along))
    rays = len(nodes) * len(directions)
    begin = time.perf_counter()
    sweep = VoxelSweep.over(world, nodes)
    setup = time.perf_counter() - begin
    swept = rays / best_of(lambda: sweep.ranges(directions))
    columns, rows, levels = world.shape[::-1]
    print("| map | way | million rays/s | ratio |")
    print("|---|---|---|---|")
    print(f"| {columns} × {rows} × {levels} cells | ray by ray | {cast / 1e6:.2f} | 1 |")
    print(f"| | sweep, {len(directions)} directions | {swept / 1e6:.0f} | {swept / cast:.0f} |")
    print(f"\nSet-up of the sweep over {len(nodes)} cells: {setup:.2f} s.")


if __name__ == "__main__":
    main()
