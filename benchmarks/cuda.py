"""What a graphics card makes of a site, beside the cores of the same machine.

    python -m benchmarks.cuda [CELLS] [SCANS]

A site of CELLS × CELLS cells of 5 cm, 10 000 unless said: rooms with doors and pillars, drawn by a
seed.  Rows are: rays swept in a second, each from the middle of a cell in one of 256 directions to
the first cell that is not free, with descriptors of the nodes written; the atlas in all, transfers
and checks of input included, and beside it the cores on a part of the site; a complete search where
beams end, of 2500 m² and of the site; scans located one by one on a floor of about 1000 m², with
the verdicts of both; and many of them at once, by one process and by one for each core, which share
the card well where CUDA's MPS runs (`nvidia-cuda-mps-control -d`).
"""

import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np

import isovist as iv
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.compute.cuda.backend import CudaCompute
from isovist.compute.cuda.description import Lattice, sweep
from isovist.compute.infra.threads import THREADS
from isovist.compute.registry import available_backends, use_backend
from isovist.compute.requests import RaySet
from isovist.localization.settings import LocalizationSettings, ProofSettings
from isovist.localization.verification.branch_and_bound import PoseProblem, search_pose_boxes
from isovist.localization.workers import Workers
from isovist.maps.cells import Cell
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.maps.sweep.sweep2d import RangeSum, without_negligible
from isovist.poses import unit_vectors
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.simulate import random_scans

CELL = 0.05
SENSOR = Lidar(beams=540, field_of_view=float(np.radians(270.0)), noise=0.02, clutter=0.05)


def site(cells: int, seed: int = 0) -> OccupancyMap:
    """Rooms of 4 to 12 m with doors of 0.9 m and pillars."""
    random = np.random.default_rng(seed)
    grid = np.zeros((cells, cells), dtype=np.uint8)
    for axis in range(2):
        lines = grid if axis == 0 else grid.T
        at = 0
        while at < cells:
            lines[at : at + 3] = Cell.OCCUPIED
            doors = np.arange(0, cells, 80) + random.integers(10, 60, -(-cells // 80))
            for door in doors:
                lines[at : at + 3, door : door + 18] = Cell.FREE
            at += int(random.integers(80, 240))
    for row, column, size in zip(
        random.integers(0, cells, cells * cells // 9000),
        random.integers(0, cells, cells * cells // 9000),
        random.integers(4, 16, cells * cells // 9000),
        strict=True,
    ):
        grid[row : row + size, column : column + size] = Cell.OCCUPIED
    grid[[0, -1]] = grid[:, [0, -1]] = Cell.OCCUPIED
    return OccupancyMap(grid, CELL)


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The least of several times, after one that does not count."""
    import cupy

    spent = []
    for _ in range(times + 1):
        start = perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        spent.append(perf_counter() - start)
    return min(spent[1:])


def sweeping(world: OccupancyMap) -> None:
    """Rays of every cell along 256 directions."""
    import cupy

    device = CudaCompute().device
    turns = 2.0 * np.pi * np.arange(256) / 256
    W = without_negligible(np.exp(np.cos(turns[:, None] - turns[::4]) / 0.0012 - 1.0 / 0.0012))
    signal = RangeSum("logarithmic", maximum=30.0).signal(world)
    rays = RaySet(unit_vectors(turns), W, signal)
    cells = cupy.asarray(world.cells)
    count = world.cells.size * 256
    size = world.shape[0] // 5
    lattice = Lattice(2, 2, 5, size, size)
    spent = seconds(lambda: sweep(device, cells, lattice, rays))
    print(f"sweep with descriptors of {size * size} nodes: {spent * 1e3:.1f} ms, "
          f"{count / spent / 1e12:.2f} T rays/s", flush=True)  # fmt: skip


def building(world: OccupancyMap, part: int) -> None:
    """An atlas in all, and the cores on a part."""
    spent = seconds(lambda: iv.build(world, backend="cuda"), 2)
    print(f"atlas of {world.cells.size / 1e6:.0f} M cells on the card: {spent:.2f} s", flush=True)
    small = OccupancyMap(world.cells[:part, :part], CELL)
    card = seconds(lambda: iv.build(small, backend="cuda"), 2)
    start = perf_counter()
    iv.build(small, backend="cpu")
    cores = perf_counter() - start
    print(f"atlas of {small.cells.size / 1e6:.0f} M cells: {card:.2f} s on the card, "
          f"{cores:.2f} s on the cores, {cores / card:.1f} times as long", flush=True)  # fmt: skip


def locating(scans: int) -> None:
    """Scans one by one, and whether both backends say the same."""
    world = site(640, 1)
    atlas = iv.build(world)
    asked = [scan for _, scan in random_scans(world, world, SENSOR, scans, seed=5)]
    told, spent = {}, {}
    for name in ("cpu", "cuda"):
        with use_backend(name):
            iv.locate(atlas, asked[0])
            times = []
            told[name] = []
            for scan in asked:
                start = perf_counter()
                told[name].append(iv.locate(atlas, scan))
                times.append(perf_counter() - start)
            spent[name] = 1e3 * float(np.median(times))
    same = sum(a.verdict is b.verdict for a, b in zip(*told.values(), strict=True))
    away = [
        float(np.abs(a.best.pose.vector - b.best.pose.vector).max())
        for a, b in zip(*told.values(), strict=True)
        if a.best is not None and b.best is not None
    ]
    print(f"{scans} scans on {world.free_area:.0f} m2: {same} verdicts alike, poses within "
          f"{max(away):.1e} m and rad, median {spent['cpu']:.1f} ms on the cores, "
          f"{spent['cuda']:.1f} ms on the card", flush=True)  # fmt: skip


def answering(scans: int, workers: int) -> None:
    """Many scans at once, by one process and by several that are kept."""
    world = site(640, 1)
    atlas = iv.build(world)
    drawn = [scan for _, scan in random_scans(world, world, SENSOR, min(scans, 10_000), seed=6)]
    asked = [drawn[k % len(drawn)] for k in range(scans)]
    iv.locate_many(atlas, asked[:10], backend="cuda")
    few = asked[:2000]
    start = perf_counter()
    iv.locate_many(atlas, few, backend="cuda")
    spent = perf_counter() - start
    print(f"{len(few)} scans at once, one process: {len(few) / spent:.0f} answers/s", flush=True)
    start = perf_counter()
    with Workers(atlas, workers) as kept:
        iv.locate_many(atlas, asked[: 64 * workers], backend="cuda", workers=kept)
        begun = perf_counter()
        told = iv.locate_many(atlas, asked, backend="cuda", workers=kept)
        spent = perf_counter() - begun
        cores = iv.locate_many(atlas, drawn, backend="cpu", workers=kept)
    same = sum(a.verdict is b.verdict for a, b in zip(told, cores, strict=False))
    print(f"{scans} scans at once, {workers} processes that have begun, which takes "
          f"{begun - start:.1f} s: {scans / spent:.0f} answers/s; of {len(drawn)} scans "
          f"{same} verdicts are those of the cores", flush=True)  # fmt: skip


def searching(side: int) -> None:
    """Every place of a site to 5 cm and less than 1°, completely, by where beams end."""
    world = site(side, 2)
    atlas = iv.build(world, backend="cuda")
    assert isinstance(atlas, PlaneAtlas)
    (_, scan), *_ = random_scans(world, world, SENSOR, 1, seed=9)
    answer = iv.locate(atlas, scan)
    assert answer.best is not None
    usual = LocalizationSettings()
    beams = atlas.beams(scan, usual.fit.fine_beams, usual.scoring.group)
    model, floor = atlas.model(usual.model), answer.best.score - usual.refutation.min_lead_nats
    problem = PoseProblem(atlas, beams, model, floor)
    found = f"complete search of {world.cells.size * CELL**2:.0f} m2 with {len(beams)} beams"
    for name, limits in (
        (
            "where beams end, to 5 cm and 0.75°",
            ProofSettings(max_ray_box_m=0.0, min_box_m=CELL, max_boxes=1 << 26),
        ),
        ("what they pass too, to 6 mm", ProofSettings()),
    ):
        with use_backend("cuda"):
            left = search_pose_boxes(problem, limits)
            spent = seconds(lambda: search_pose_boxes(problem, limits), 5)  # noqa: B023
        print(f"{found}, {name}: {spent * 1e3:.2f} ms, {left.lookups / 1e6:.0f} M look-ups, "
              f"{left.wedges} wedges, {len(left.boxes)} boxes left, "
              f"{'complete' if left.complete else 'given up'}", flush=True)  # fmt: skip


def main() -> None:
    """All rows, where there is a card."""
    if "cuda" not in available_backends():
        print("There is no NVIDIA card here, or no CuPy: nothing is measured.")
        return
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    scans = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    world = site(cells)
    sweeping(world)
    building(world, min(cells, 3000))
    searching(1000)
    searching(cells)
    locating(scans)
    answering(20 * scans, THREADS)


if __name__ == "__main__":
    main()
