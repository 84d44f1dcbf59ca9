"""Is a scan ever called unique on a floor of identical copies?  (It must be never.)

    python -m benchmarks.twins [--scans N] [--copies 2,4,9,16] [MAP.yaml …]

A generated office, and the maps given, are laid out side by side; a 270° lidar with noise and
strangers in view stands in one of the copies.  All estimates are listed here, and a scan is fully
told when every copy of the place is among them that rates within d_min of the best: at the rim of
the site a copy may see farther.  Estimates stand for all places within 0.5 m, and are themselves as
near to the copy, so that one within 1 m of it tells of it.
"""

import argparse
import math
import sys
from pathlib import Path

import numpy as np

from isovist.atlas.build import as_cells, build
from isovist.evaluation.protocols import simulated_trials
from isovist.io.maps.read import read_map
from isovist.localization import Verdict
from isovist.localization.locate import locate
from isovist.localization.settings import LocalizationSettings
from isovist.maps.cells import Cell
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.poses import Pose, pose_error
from isovist.sensing.models.lidar2d import Lidar
from isovist.simulation.worlds import office_floor

LIDAR = Lidar(math.radians(270.0), 270, 12.0, 0.03, 0.1)
EVERY = LocalizationSettings().with_values({"decision.max_estimates": 10_000})


def tiled(world: OccupancyMap, copies: int) -> tuple[OccupancyMap, list[tuple[float, float]]]:
    """Copies of a floor side by side, and where each begins, in m from the first."""
    known = np.argwhere(world.cells != Cell.UNKNOWN)
    (top, left), (bottom, right) = known.min(axis=0), known.max(axis=0) + 1
    cells = np.pad(world.cells[top:bottom, left:right], 6, constant_values=Cell.UNKNOWN)
    wide = math.ceil(math.sqrt(copies))
    high = -(-copies // wide)
    unit = world.resolution
    shifts = [
        (cells.shape[1] * unit * (k % wide), cells.shape[0] * unit * (k // wide))
        for k in range(copies)
    ]
    return OccupancyMap(np.tile(cells, (high, wide)), unit), shifts


def ask(name: str, world: OccupancyMap, copies: int, scans: int) -> int:
    """Print one row; gives how many scans were called unique."""
    site, shifts = tiled(world, copies)
    atlas = build(site)
    near, turn = EVERY.same
    unique = told = right = 0
    for trial in simulated_trials(site, scans, LIDAR, seed=copies):
        scan = trial.scan()
        answer = locate(atlas, scan, settings=EVERY)
        unique += answer.verdict is Verdict.UNIQUE
        first = trial.truth.position - _home(trial.truth, shifts)
        beams = atlas.beams(scan, EVERY.beams[1], EVERY.block)
        found = missed = 0
        for shift in shifts:
            place = Pose(*(first + shift), trial.truth.yaw)
            errors = [pose_error(estimate.pose, place) for estimate in answer.estimates]
            listed = any(m <= 2.0 * near and angle <= turn for m, angle in errors)
            rating = atlas.rate(beams, place.vector[None], EVERY.model)[0].mean()
            best = -np.inf if answer.best is None else answer.best.score
            found += listed
            missed += not listed and rating >= best - EVERY.refuted[1]
        told += missed == 0
        right += found > 0
    print(
        f"| {name} | {copies} | {atlas.area:.0f} | {scans} | {unique} | {told} | {right} |",
        flush=True,
    )
    return unique


def _home(truth: Pose, shifts: list[tuple[float, float]]) -> np.ndarray:
    """Where the copy begins that a place is in."""
    behind = [shift for shift in shifts if shift[0] <= truth.x and shift[1] <= truth.y]
    return np.array(max(behind, key=lambda shift: shift[0] + shift[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("maps", nargs="*", type=Path, metavar="MAP.yaml")
    parser.add_argument("--scans", type=int, default=1000, help="in all")
    parser.add_argument("--copies", default="2,4,9,16", help="of each floor, one row each")
    given = parser.parse_args()
    plan = office_floor(3, length=20.0, rows=2).plan
    floors = {"office": as_cells(plan)} | {
        path.stem: as_cells(read_map(path)) for path in given.maps
    }
    counts = [int(word) for word in given.copies.split(",")]
    each = max(1, given.scans // (len(floors) * len(counts)))
    print("| floor | copies | m² | scans | unique | every copy listed | one listed |")
    print("|---|---|---|---|---|---|---|")
    rows = [ask(name, floor, k, each) for name, floor in floors.items() for k in counts]
    sys.exit(1 if sum(rows) else 0)


if __name__ == "__main__":
    main()
