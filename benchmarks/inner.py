"""How fast are the loops in which a scan of the plane spends its time, and what is their limit?

    python -m benchmarks.inner

On one core.  Rays: 180 from each of 500 random places of a generated office floor, in groups
(`compute.rays.ray_packet`) and one by one (`compute.rays.grid2d.cast_ray`), which must agree.
Costs: all nodes of that floor against a scan of 270° at every heading, by 16 bits
(`compute.search.correlate`), in terms per second, beside those of one row of headings that stays in
the first cache (`compute.search.correlate_terms`) and beside singles added up by numpy, heading by
heading.  Fits: a step of a fit from 500 random places, for each of its beams
(`compute.fitting.align2d`), beside the look-up of distances alone by scipy, and ratings of beams
whose rays need not be cast (`compute.likelihood.score2d`).
"""

import platform

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from benchmarks.voxels import best_of
from isovist.arrays import FloatArray
from isovist.atlas.base import AnyScan
from isovist.atlas.build import build
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.atlas.matching.channels import Window
from isovist.compute.fitting.align2d import align_2d
from isovist.compute.infra import threads
from isovist.compute.infra.simd import FLOAT_LANES
from isovist.compute.likelihood.score2d import score_2d
from isovist.compute.rays.grid2d import cast_ray
from isovist.compute.rays.packet_traversal import STATE_ROWS
from isovist.compute.rays.ray_packet import cast_fan
from isovist.compute.search.correlate_terms import add_terms
from isovist.localization.candidates.node_search import best_headings
from isovist.localization.settings import LocalizationSettings
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import Pose
from isovist.sensing.models.lidar2d import Lidar
from isovist.sensing.models.simulate import random_scans
from isovist.simulation.worlds import office_floor

PLACES, RAYS = 500, 180
SENSOR = Lidar(field_of_view=np.radians(270.0), beams=270, range_max=12.0, noise=0.02)


@njit(nogil=True, error_model="numpy")  # type: ignore[misc]
def in_groups(skip, places, along, across, reach, ranges, endings):  # type: ignore[no-untyped-def]
    rays, at = (
        np.empty((STATE_ROWS, FLOAT_LANES), dtype=np.float32),
        np.empty(FLOAT_LANES, dtype=np.int32),
    )
    for q in range(len(places)):
        x, y = places[q]
        cast_fan(skip, x, y, along, across, reach, rays, at, ranges[q], endings[q])


@njit(nogil=True, error_model="numpy")  # type: ignore[misc]
def one_by_one(skip, places, along, across, reach, ranges, endings):  # type: ignore[no-untyped-def]
    for q in range(len(places)):
        for k in range(len(along)):
            ray = cast_ray(skip, places[q, 0], places[q, 1], along[k], across[k], reach)
            ranges[q, k], endings[q, k] = ray[0], ray[1]


@njit(nogil=True)  # type: ignore[misc]
def only_terms(times, f, channels, o, low, high, sums):  # type: ignore[no-untyped-def]
    for _ in range(times):
        sums[:] = 0
        add_terms(f, channels, 0, len(channels), o, low, high, sums)


def rays(atlas: PlaneAtlas) -> None:
    """How long a ray takes, in groups and alone."""
    random = np.random.default_rng(0)
    nodes = atlas.nodes[random.integers(0, len(atlas.nodes), PLACES)]
    rows, columns = np.divmod(nodes, atlas.world.shape[1])
    places = np.column_stack([columns, rows]) + random.uniform(0.01, 0.99, (PLACES, 2))
    angles = np.linspace(-np.pi, np.pi, RAYS, endpoint=False) + 0.003
    asked = (
        atlas.clear, places, np.cos(angles), np.sin(angles),
        atlas.settings.reach / atlas.world.resolution,
    )  # fmt: skip
    found, took = [], []
    for way in (in_groups, one_by_one):
        out = np.empty((PLACES, RAYS)), np.empty((PLACES, RAYS), dtype=np.uint8)
        took.append(best_of(lambda way=way, out=out: way(*asked, *out)) / out[0].size)
        found.append(out)
    assert np.allclose(found[0][0], found[1][0], rtol=1e-6, atol=1e-4)
    assert (found[0][1] == found[1][1]).all()
    group, alone = (1e9 * t for t in took)
    print(
        f"a ray: {group:.0f} ns in groups of {FLOAT_LANES}, {alone:.0f} ns alone, "
        f"{alone / group:.2f} ×"
    )


def costs(atlas: PlaneAtlas, window: Window, short: float) -> None:
    """Terms of costs per second: in the search, in the first cache, and plainly."""
    every, nodes = np.arange(len(atlas.nodes)), atlas.descriptors
    n, terms = nodes.shape[2], int(window.seen.sum()) * nodes.shape[2]
    search = best_of(lambda: best_headings(nodes, every, window, 1, short)) / len(every) / terms
    few = every[:300]
    plain = best_of(lambda: _plain(nodes[few, 0], window, short), 3) / len(few) / terms
    codes = window.codes(short)
    o = codes.values[0, 0]
    channels = np.flatnonzero(window.seen[0, 0])
    low, high = o - np.int16(codes.long), o + np.int16(codes.short)
    f, sums = np.resize(o, n + len(o)), np.zeros(n, dtype=np.uint16)
    work = 20_000
    cached = best_of(lambda: only_terms(work, f, channels, o, low, high, sums))
    cached /= work * n * len(channels)
    print(
        f"costs, 10⁹ terms/s: {1e-9 / search:.1f} in the search, {1e-9 / cached:.1f} in the first "
        f"cache, {1e-9 / plain:.2f} by numpy; the search {plain / search:.0f} × as fast as numpy"
    )


def fits(atlas: PlaneAtlas, scan: AnyScan) -> None:
    """How long a beam takes in a step of a fit, and to be rated."""
    settings, unit = LocalizationSettings(), atlas.world.resolution
    beams = atlas.beams(scan, settings.fit.fine_beams, settings.scoring.group)
    random = np.random.default_rng(1)
    places = atlas.seeds(random.integers(0, len(atlas.nodes), PLACES), np.zeros(PLACES))
    places[:, 2] = random.uniform(-np.pi, np.pi, PLACES)
    poses, normal, widths = atlas.to_cells(places), np.empty((PLACES, 8)), np.full(7, 0.1 / unit)
    work = PLACES * len(beams)
    fit = best_of(
        lambda: align_2d(
            atlas.wall_distance, beams.ends / unit, np.empty(0), widths, 0.02, poses.copy(), normal
        )
    )
    model = atlas.model(settings.model)
    model[9] = 1.0  # nothing is behind a wall
    ratings, kinds = np.empty((PLACES, len(beams)), "f4"), np.empty((PLACES, len(beams)), "u1")
    fixed = (atlas.clear, atlas.walls, atlas.wall_distance, unit, model, beams.ends, np.empty(0))
    rate = best_of(lambda: score_2d(*fixed, poses, ratings, kinds))
    ends = np.concatenate([Pose.from_vector(p).apply(beams.ends / unit) for p in poses])

    def plain() -> None:
        map_coordinates(atlas.wall_distance, ends.T[::-1] - 0.5, order=1, mode="nearest")

    step, look = fit / work / (len(widths) + 1), best_of(plain, 3) / work
    print(
        f"a beam: {1e9 * step:.1f} ns in a step of a fit, {1e9 * rate / work:.1f} ns rated; scipy "
        f"looks its distance up in {1e9 * look:.0f} ns"
    )


def _plain(nodes: NDArray[np.float32], window: Window, short: float) -> FloatArray:
    n, m = nodes.shape[1], window.values.shape[2]
    least = np.full(len(nodes), np.inf)
    for o, seen in zip(window.values[:, 0], window.seen[:, 0], strict=True):
        for k in range(n):
            gap = o - nodes[:, (k + np.arange(m)) % n]
            cost = (np.abs(np.clip(gap, -short, 2.0 * short)) * seen).sum(axis=1)
            least = np.minimum(least, cost)
    return least


def main() -> None:
    threads.use_one_core()
    floor = office_floor(0, length=40.0, rows=6)
    world = OccupancyMap.from_segments(floor.plan.walls.reshape(-1, 2, 2), 0.05)
    atlas = build(world)
    assert isinstance(atlas, PlaneAtlas)
    print(f"{platform.machine()}, one core, {len(atlas.nodes)} nodes")
    rays(atlas)
    settings = LocalizationSettings()
    (_, scan), *_ = random_scans(world, floor.reality, SENSOR, 1, seed=0)
    fits(atlas, scan)
    costs(
        atlas, atlas.window(scan, settings.search.min_seen_share_2d), settings.search.max_short_cost
    )


if __name__ == "__main__":
    main()
