"""Does the complete search ever lose a pose?  (It must be never.)

    python -m benchmarks.complete [CASES] [MAPS]

Small random maps with walls, thin and slanted, and unknown patches; scans with noise, gaps and
strangers in view.  A pose anywhere in free space is planted: its own rating is made the floor, so
that it satisfies the premise, and it must lie in a surviving box.  On MAPS of them the boxes that
survive where beams end are compared with brute force: every box of every round, one by one.
"""

import math
import sys
from dataclasses import replace

import numpy as np

from isovist.arrays import FloatArray
from isovist.atlas.build import build
from isovist.atlas.data.atlas2d import PlaneAtlas
from isovist.atlas.data.surfaces import bare_walls
from isovist.atlas.matching.beams import Beams
from isovist.localization.settings import LocalizationSettings, ProofSettings
from isovist.localization.verification.branch_and_bound import (
    UNITS_PER_NAT,
    PoseProblem,
    RemainingBoxes,
    search_pose_boxes,
)
from isovist.localization.verification.upper_bounds import (
    FRONTIER_CLASSES,
    WALL_CLASSES,
    UpperBoundMap,
)
from isovist.maps.cells import Cell
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import Pose, unit_vectors, wrap_angle
from isovist.sensing.scan import Scan

USUAL = LocalizationSettings()
SMALL = ProofSettings(min_box_m=0.02, max_boxes=20_000)


def random_cells(rng: np.random.Generator, height: int, width: int) -> FloatArray:
    """Free space with straight and slanted walls, one cell thick or two, and unknown patches."""
    cells = np.full((height, width), Cell.FREE, dtype=np.uint8)
    if rng.random() < 0.7:
        cells[[0, -1]] = cells[:, [0, -1]] = Cell.OCCUPIED
    for _ in range(rng.integers(2, 10)):
        y, x = rng.integers(0, height), rng.integers(0, width)
        long, thick = rng.integers(3, 30), rng.integers(1, 3)
        down, right = (thick, long) if rng.random() < 0.5 else (long, thick)
        cells[y : y + down, x : x + right] = Cell.OCCUPIED
    for _ in range(rng.integers(0, 4)):
        y, x, turn = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(0, 2.0 * math.pi)
        s = np.arange(0.0, rng.uniform(5, 30), 0.3)
        rows = (y + s * math.sin(turn)).astype(int).clip(0, height - 1)
        cells[rows, (x + s * math.cos(turn)).astype(int).clip(0, width - 1)] = Cell.OCCUPIED
    if rng.random() < 0.5:
        y, x = rng.integers(0, height), rng.integers(0, width)
        cells[y : y + rng.integers(2, 12), x : x + rng.integers(2, 12)] = Cell.UNKNOWN
    return cells


def random_site(rng: np.random.Generator) -> tuple[PlaneAtlas, Scan, FloatArray]:
    """An atlas, a scan of it with noise, gaps and strangers in view, and where it was taken."""
    cell = float(rng.choice([0.03, 0.05, 0.1]))
    while True:
        cells = random_cells(rng, *rng.integers(30, 70, 2))
        origin = Pose(*rng.uniform(-5.0, 5.0, 2), float(rng.choice([0.0, 0.7])))
        world = OccupancyMap(cells, cell, origin)
        if (cells[2::5, 2::5] == Cell.FREE).sum() < 4 or not (cells == Cell.OCCUPIED).any():
            continue
        atlas = _described(world)
        pose = free_poses(rng, atlas, 1)[0]
        bearings = np.linspace(-math.pi, math.pi, int(rng.integers(24, 90)), endpoint=False)
        bearings += rng.uniform(0.0, 0.05)
        hits = bare_walls(world).cast(pose[:2], unit_vectors(bearings + pose[2]))
        ranges = hits.ranges + rng.normal(0.0, 0.02, bearings.shape)
        stranger = rng.random(ranges.shape) < 0.1
        ranges[stranger] *= rng.uniform(0.2, 1.5, int(stranger.sum()))
        ranges[(rng.random(ranges.shape) < 0.1) | (ranges < 0.02)] = np.inf
        scan = Scan(bearings, ranges).within(atlas.diagonal)
        if scan is not None and scan.valid.sum() >= 12:
            return atlas, scan, pose


def _described(world: OccupancyMap) -> PlaneAtlas:
    atlas = build(world, spacing=5.0 * world.resolution)
    assert isinstance(atlas, PlaneAtlas)
    return atlas


def free_poses(rng: np.random.Generator, atlas: PlaneAtlas, count: int) -> FloatArray:
    """Poses anywhere in free space, shape (count, 3)."""
    rows, columns = np.nonzero(UpperBoundMap.of(atlas).free)
    pick = rng.integers(0, rows.size, count)
    inside = np.column_stack([columns[pick], rows[pick]]) + rng.random((count, 2))
    yaws = rng.uniform(-math.pi, math.pi, count)
    return atlas.from_cells(np.column_stack([inside, yaws]))


def rated(atlas: PlaneAtlas, beams: Beams, poses: FloatArray) -> FloatArray:
    """Mean rating of the beams from poses, by ray casting."""
    return np.asarray(atlas.rate(beams, poses, USUAL.model)[0].mean(axis=1, dtype=np.float64))


def holds(atlas: PlaneAtlas, found: RemainingBoxes, pose: FloatArray) -> bool:
    """Whether a pose lies in a box that survived."""
    x, y, yaw = atlas.to_cells(pose[None])[0]
    b = found.boxes
    near = np.maximum(np.abs(b[:, 0] - x), np.abs(b[:, 1] - y)) <= b[:, 3] + 1e-9
    return bool((near & (np.abs(wrap_angle(b[:, 2] - yaw)) <= b[:, 4] + 1e-9)).any())


def plant(rng: np.random.Generator, cases: int) -> tuple[int, int]:
    """Poses planted in one site, and how many of them were lost."""
    atlas, scan, truth = random_site(rng)
    beams = atlas.beams(scan, USUAL.fit.fine_beams, USUAL.scoring.group)
    near = truth + rng.normal(0.0, [0.05, 0.05, 0.03], (cases, 3))
    poses = np.concatenate([truth[None], near, free_poses(rng, atlas, cases)])
    ratings = rated(atlas, beams, poses)
    place = np.floor(atlas.to_cells(poses)[:, :2]).astype(int)
    free = UpperBoundMap.of(atlas).free
    inside = ((place >= 0) & (place < free.shape[::-1])).all(axis=1)
    inside[inside] = free[place[inside, 1], place[inside, 0]]
    # A floor for all of them at once, low enough for a few and high enough to drop boxes.
    floor = float(np.quantile(ratings[inside], rng.uniform(0.3, 0.999)))
    found = search_pose_boxes(PoseProblem(atlas, beams, atlas.model(USUAL.model), floor), SMALL)
    chosen = poses[inside & (ratings >= floor)]
    return len(chosen), sum(not holds(atlas, found, pose) for pose in chosen)


def brute_force(
    atlas: PlaneAtlas, beams: Beams, floor: float, settings: ProofSettings
) -> set[tuple[float, ...]]:
    """Boxes of the last round that survive, with all they came from, by where beams end."""
    unit, model = atlas.world.resolution, atlas.model(USUAL.model)
    sigma, longest, hits, short, nearest, random, beyond, fading, slack, share = model
    bound_map = UpperBoundMap.of(atlas)
    codes, pad, free = bound_map.codes, bound_map.padding, bound_map.free
    z = np.hypot(*beams.ends.T)
    size, turns = settings.first(unit)

    def most(miss: FloatArray, dark: FloatArray) -> FloatArray:
        hit = np.exp(-0.5 * (np.clip(miss, 0.0, slack + share * z) / sigma) ** 2)
        hit /= math.sqrt(2.0 * math.pi) * sigma
        faded = np.where((dark > slack) & (z <= longest - slack), np.exp(-fading * dark), 1.0)
        seen = hits * hit + short / np.maximum(z, nearest)
        unseen = beyond * hit + (1.0 - beyond) * fading * faded
        return np.asarray(np.log(longest * np.maximum(seen, unseen) + random))

    def survives(column: int, row: int, head: int, size: int, turns: int) -> bool:
        if not free[row * size : (row + 1) * size, column * size : (column + 1) * size].any():
            return False
        x, y, yaw = (column + 0.5) * size, (row + 0.5) * size, (head + 0.5) * 2.0 * math.pi / turns
        u, v = (beams.ends / unit).T
        c, s, i, j = np.cos(yaw), np.sin(yaw), math.floor(x), math.floor(y)
        end = np.column_stack([c * u - s * v + (x - i), s * u + c * v + (y - j)])
        end = np.floor(end).astype(int) + np.array([i + pad, j + pad])
        end = np.clip(end, 0, np.array(codes.shape[::-1]) - 1)
        code = codes[end[:, 1], end[:, 0]]
        corner = math.sqrt(0.5) * unit
        rho = math.sqrt(0.5) * size * unit + 2.0 * z * math.sin(0.5 * math.pi / turns) + corner
        D = WALL_CLASSES[code // len(FRONTIER_CLASSES)] - np.hypot(rho, corner)
        U = FRONTIER_CLASSES[code % len(FRONTIER_CLASSES)] - rho
        tops = most(np.zeros_like(z), np.zeros_like(z))
        lost = np.floor(np.maximum((tops - most(D, U)) * UNITS_PER_NAT - 1e-6, 0.0))
        return bool(lost.sum() <= math.floor((tops.sum() - floor * len(z)) * UNITS_PER_NAT))

    rows, columns = -(-free.shape[0] // size), -(-free.shape[1] // size)
    boxes = [
        (column, row, head)
        for head in range(turns)
        for row in range(rows)
        for column in range(columns)
    ]
    while True:
        boxes = [box for box in boxes if survives(*box, size, turns)]
        if size * unit <= settings.min_box_m or size == 1:
            return {
                ((c + 0.5) * size, (r + 0.5) * size, (h + 0.5) * 2.0 * math.pi / turns)
                for c, r, h in boxes
            }
        size, turns = size // 2, 2 * turns
        boxes = [
            (2 * c + i, 2 * r + j, 2 * h + k)
            for c, r, h in boxes
            for i in (0, 1)
            for j in (0, 1)
            for k in (0, 1)
        ]


def same_as_brute_force(rng: np.random.Generator) -> bool:
    """Whether the search keeps the very boxes that brute force keeps."""
    atlas, scan, truth = random_site(rng)
    beams = atlas.beams(scan, (16, 0.1), USUAL.scoring.group)
    floor = float(rated(atlas, beams, truth[None])[0]) - 0.1
    cell = atlas.world.resolution
    settings = replace(
        ProofSettings(),
        max_box_m=4.0 * cell,
        max_box_rad=math.radians(24.0),
        min_box_m=2.0 * cell,
        max_ray_box_m=0.0,
    )
    found = search_pose_boxes(PoseProblem(atlas, beams, atlas.model(USUAL.model), floor), settings)
    kept = {tuple(np.round(box[:3], 9)) for box in found.boxes}
    plain = brute_force(atlas, beams, floor, settings)
    return found.complete and kept == {tuple(np.round(box, 9)) for box in plain}


def main() -> None:
    """Print how many poses were planted and lost, and how many maps agree with brute force."""
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    maps = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    rng = np.random.default_rng(0)
    planted = lost = sites = 0
    while planted < cases:
        p, m = plant(rng, 100)
        planted, lost, sites = planted + p, lost + m, sites + 1
    print(f"{planted} poses planted in {sites} sites: {lost} lost")
    agree = sum(same_as_brute_force(rng) for _ in range(maps))
    print(f"{agree} of {maps} maps: the very boxes of brute force")


if __name__ == "__main__":
    main()
