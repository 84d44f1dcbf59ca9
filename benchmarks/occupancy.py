"""How fast are rays, sweeps and descriptor fields on occupancy maps?

    python -m benchmarks.occupancy

On a made-up floor of 1000 × 1000 cells at 5 cm, all in one run and on all cores: rays per second
of plain traversal (textbook, cell by cell), of the exact traversal with and without skipping, and
of sweeps that write the range of every free cell; the bytes a sweep moves against a copy of
memory; what a sweep and an interpolated field get wrong; and the time of descriptor fields as
cells and directions grow.
"""

import resource
import sys
import time
from collections.abc import Callable

import numba
import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from benchmarks.building import building
from isovist.arrays import FloatArray
from isovist.compute.grids.sweep2d import sweep_all_2d
from isovist.compute.rays.grid2d import cast_rays_2d
from isovist.maps.cells import Cell
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.maps.sweep.sweep2d import RangeSum, _axes, describe_field, free_nodes, sweep_ranges

RESOLUTION = 0.05
CHANNELS, DIRECTIONS, STRIDE = 64, 360, 5
# For each range a sweep reads a line and writes the range: a float32 and a byte each.
BYTES_PER_RANGE = 2 * 5


def best_of(work: Callable[[], object], seconds: float = 2.0) -> float:
    """Seconds of the fastest run after one that compiles; many short runs dodge other work."""
    work()
    best, stop = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < stop:
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


@njit(nogil=True, parallel=True)
def plain_traversal(
    cells: NDArray[np.uint8], origins: FloatArray, directions: FloatArray, ranges: FloatArray
) -> None:
    """Cell by cell along each ray, with running distances to the next faces."""
    height, width = cells.shape
    for k in prange(len(origins)):
        x, y = origins[k]
        dx, dy = directions[k]
        col, row = int(x), int(y)
        right, up = (1 if dx > 0.0 else -1), (1 if dy > 0.0 else -1)
        step_x, step_y = abs(1.0 / dx), abs(1.0 / dy)
        next_x = (col + 1 - x if dx > 0.0 else x - col) * step_x
        next_y = (row + 1 - y if dy > 0.0 else y - row) * step_y
        reach = 0.0
        while 0 <= col < width and 0 <= row < height and cells[row, col] == 0:
            if next_x < next_y:
                reach, next_x, col = next_x, next_x + step_x, col + right
            else:
                reach, next_y, row = next_y, next_y + step_y, row + up
        ranges[k] = reach


@njit(nogil=True, parallel=True)
def copy(source: NDArray[np.uint8], target: NDArray[np.uint8], parts: int) -> None:
    """Copy in as many parts as there are cores."""
    size = len(source) // parts
    for k in prange(parts):
        target[k * size : (k + 1) * size] = source[k * size : (k + 1) * size]


def copy_bandwidth() -> float:
    """Bytes read and written per second by a copy of 128 MB."""
    source, target = np.ones(1 << 27, dtype=np.uint8), np.zeros(1 << 27, dtype=np.uint8)
    threads = numba.get_num_threads()
    return 2 * source.size / best_of(lambda: copy(source, target, threads))


def weights(angles: FloatArray, channels: int) -> FloatArray:
    """Softmax weights of equally spaced directions, each row summing to 1 / S."""
    centres = 2 * np.pi * np.arange(channels) / channels
    logits = (np.cos(angles[:, None] - centres) - 1.0) / (0.5 * (np.pi / channels) ** 2)
    W = np.exp(logits)
    return W / W.sum(axis=1, keepdims=True) / len(angles)


def circle(count: int) -> FloatArray:
    """Equally spaced angles that avoid the axes and diagonals."""
    return 2 * np.pi * np.arange(count) / count + 0.0131


def unit(angles: FloatArray) -> FloatArray:
    """Unit vectors, shape (s, 2)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def ray_rows(world: OccupancyMap) -> float:
    """Print the rows of single rays; return the rays per second of plain traversal."""
    rng = np.random.default_rng(0)
    rows, cols = np.nonzero(world.cells == Cell.FREE)
    pick = rng.integers(0, rows.size, 50_000)
    origins = np.stack([cols[pick], rows[pick]], axis=-1) + 0.5
    along = unit(rng.choice(circle(DIRECTIONS), pick.size))
    ranges = np.empty(pick.size)
    rest = [np.empty(pick.size, dtype=kind) for kind in (np.uint8, np.int64, np.int64)]
    stepping = np.minimum(world.skip, 3)
    plain = pick.size / best_of(lambda: plain_traversal(world.cells, origins, along, ranges))
    print(f"| plain traversal | {plain / 1e6:.1f} | 1 |")
    for name, grid in (("exact, no skipping", stepping), ("exact, skipping", world.skip)):
        rate = pick.size / best_of(
            lambda g=grid: cast_rays_2d(g, origins, along, np.inf, ranges, *rest)
        )
        print(f"| {name} | {rate / 1e6:.1f} | {rate / plain:.1f} |")
    return plain


def sweep_rows(world: OccupancyMap, plain: float) -> None:
    """Print the rows of sweeps, and their bytes against a copy of memory."""
    bandwidth = copy_bandwidth()
    angles = circle(16)
    notes = []
    for stride in (1, STRIDE):
        rows, cols = free_nodes(world, stride)
        seconds = moved = 0.0
        for axis in _axes(world, angles, rows, cols):
            columns, picked = int(axis.places.max()) + 1, int(axis.picks[0][-1])
            shapes = (len(axis.index), columns, axis.width), (len(axis.index), picked)
            out = [np.empty(size, kind) for size in shapes for kind in (np.float32, np.uint8)]
            job = axis.runs, axis.directions, axis.before, axis.places, axis.picks, *out
            seconds += best_of(lambda job=job: sweep_all_2d(*job))
            read = np.count_nonzero(axis.places >= 0) * axis.width + picked
            moved += len(axis.index) * read * BYTES_PER_RANGE
        passed = world.cells.size * len(angles)
        rate = rows.size * len(angles) / seconds
        name = "sweep, range of every free cell" if stride == 1 else f"sweep, every {stride}th cell"
        print(f"| {name} | {rate / 1e6:.0f} | {rate / plain:.0f} |")
        notes.append(
            f"{name}: {passed / seconds / 1e9:.2f} billion cells/s passed, "
            f"{moved / seconds / 1e9:.1f} GB/s moved, "
            f"{100 * moved / seconds / bandwidth:.0f} % of a copy"
        )
    print(f"\ncopy of memory: {bandwidth / 1e9:.1f} GB/s read and written")
    print("\n".join(notes))


def accuracy_rows(world: OccupancyMap) -> None:
    """Print what sweeps get wrong, in cells."""
    rng = np.random.default_rng(1)
    rows, cols = free_nodes(world, STRIDE)
    pick = rng.permutation(rows.size)[:10_000]
    rows, cols = rows[pick], cols[pick]
    angles = circle(72)
    ranges, _ = sweep_ranges(world, angles, rows, cols)
    centres = world.centres(rows, cols)
    errors, jumps = [], []
    for along, swept in zip(unit(angles), ranges, strict=True):
        aside = 0.499 * RESOLUTION * (np.abs(along) < np.abs(along[::-1]))
        exact = world.cast(centres, along).ranges
        beside = [world.cast(centres + side * aside, along).ranges - exact for side in (-1, 1)]
        errors.append(np.abs(swept - exact) / RESOLUTION)
        jumps.append(np.abs(beside).max(axis=0) / RESOLUTION)
    error, jump = np.concatenate(errors), np.concatenate(jumps)
    print("\n| sweep against exact rays, in cells | share | median | 95 % | 99 % |")
    print("|---|---|---|---|---|")
    for name, here in (("all", jump < np.inf), ("half a cell aside changes r by < 2", jump < 2.0)):
        at = np.quantile(error[here], [0.5, 0.95, 0.99])
        print(f"| {name} | {here.mean():.3f} | {at[0]:.5f} | {at[1]:.3f} | {at[2]:.3f} |")


def field_seconds(world: OccupancyMap, directions: int) -> float:
    """Seconds for a field with nodes every `STRIDE` cells."""
    angles = circle(directions)
    W = weights(angles, CHANNELS)
    nodes = free_nodes(world, STRIDE)
    return best_of(lambda: describe_field(world, angles, W, nodes, RangeSum("logarithmic")), 6.0)


def growth_rows(worlds: dict[int, OccupancyMap]) -> None:
    """Print the time of fields as cells and directions grow."""
    print("\n| cells | directions | nodes | s | ns per cell and direction | peak memory |")
    print("|---|---|---|---|---|---|")
    cases = [(1000, 90), (1000, 180), (1000, DIRECTIONS), (1000, 720)]
    cases += [(size, DIRECTIONS) for size in worlds if size != 1000]
    for size, directions in cases:
        world = worlds[size]
        seconds = field_seconds(world, directions)
        nodes = free_nodes(world, STRIDE)[0].size
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        peak *= 1 if sys.platform == "darwin" else 1024
        each = seconds / world.cells.size / directions * 1e9
        print(
            f"| {world.cells.size / 1e6:.0f} M | {directions} | {nodes} | {seconds:.2f} "
            f"| {each:.3f} | {peak / 1e9:.2f} GB |"
        )


def main() -> None:
    """Print every row."""
    # Larger maps are the same floor side by side, so that nodes and walls grow with the cells.
    floor = building(1000, 1000)
    worlds = {
        1000 * side: OccupancyMap.from_array(np.tile(floor, (side, side)), RESOLUTION)
        for side in (1, 2, 4)
    }
    small = worlds[1000]
    print(f"threads: {numba.get_num_threads()}, map: {small.shape[0]} × {small.shape[1]} cells")
    growth_rows(worlds)
    print("\n| rays | million/s | × plain |")
    print("|---|---|---|")
    sweep_rows(small, ray_rows(small))
    accuracy_rows(small)


if __name__ == "__main__":
    main()
