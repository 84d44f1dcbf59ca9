"""Scans of few beams on maps of what has changed since: what is called unique, and wrongly.

    python -m benchmarks.sparse MAP.yaml… [--realities N] [--scans N] [--seed S] [--jobs N]

Each map is as it is, a little changed and much changed, N times each: boxes of 0.3 to 1 m stand in
free space (none, 3 and 8 for 100 m²), and of squares of 1 m a share has lost its walls (none, 5 and
15 %).  Five sensors of 36 to 360 beams, 180 to 360°, 6 to 12 m, take scans at random places.
"Only by more" are answers that are unique because the last look had more candidates, or because
what only a closer look found was better by far (`localization.look.MORE`, `.CLEAR`).  A wrong
answer lies more than 0.5 m or 10° from the truth.
"""

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import isovist as iv
from isovist.compute.infra import threads
from isovist.io.maps.read import read_map
from isovist.localization import look
from isovist.localization.judge import is_same
from isovist.maps.cells import Cell
from isovist.sensing.models.simulate import random_scans

CHANGES = {"as it is": (0.0, 0.0), "a little": (0.03, 0.05), "much": (0.08, 0.15)}
"""Boxes for each m² of free space, and the share of squares that lose their walls."""
SENSORS = (
    iv.Lidar(beams=36, range_max=10.0, noise=0.03, clutter=0.05),
    iv.Lidar(beams=90, range_max=6.0, noise=0.03, clutter=0.1),
    iv.Lidar(field_of_view=math.radians(270.0), beams=60, range_max=10.0, noise=0.03, clutter=0.1),
    iv.Lidar(field_of_view=math.pi, beams=60, range_max=12.0, noise=0.02),
    iv.Lidar(beams=360, range_max=10.0, noise=0.05),
)
USUAL = iv.LocalizationSettings()


@dataclass
class Row:
    """What came of scans.

    Attributes:
        asked: How many.
        right: Of these.
        unique: Likewise.
        wrong: Of those that are unique.
        more: Unique by the last looks alone.
        more_wrong: Of these.
    """

    asked: int = 0
    right: int = 0
    unique: int = 0
    wrong: int = 0
    more: int = 0
    more_wrong: int = 0

    def add(self, other: "Row") -> None:
        """Count others too."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def __str__(self) -> str:
        return " | ".join(str(value) for value in vars(self).values())


def changed(world: iv.OccupancyMap, change: str, random: np.random.Generator) -> iv.OccupancyMap:
    """The same with boxes in free space, and without some of its walls."""
    boxes, gone = CHANGES[change]
    cells, unit = world.cells.copy(), world.resolution
    free = np.argwhere(cells == Cell.FREE)
    for _ in range(int(boxes * world.free_area)):
        (row, column), (deep, wide) = free[random.integers(len(free))], random.uniform(0.3, 1.0, 2)
        half_rows, half_columns = 0.5 * deep / unit, 0.5 * wide / unit
        rows = slice(max(int(row - half_rows), 0), int(row + half_rows) + 1)
        columns = slice(max(int(column - half_columns), 0), int(column + half_columns) + 1)
        cells[rows, columns] = Cell.OCCUPIED
    side = round(1.0 / unit)
    for row in range(0, cells.shape[0], side):
        for column in range(0, cells.shape[1], side):
            if random.random() < gone:
                square = slice(row, row + side), slice(column, column + side)
                cells[square][world.cells[square] == Cell.OCCUPIED] = Cell.FREE
    return world.with_cells(cells)


def ask(job: tuple[Path, str, int], scans: int, seed: int) -> tuple[str, str, Row]:
    """Scans of every sensor in one reality."""
    path, change, number = job
    world = read_map(path)
    assert isinstance(world, iv.OccupancyMap)
    random = np.random.default_rng((seed, number, list(CHANGES).index(change), len(path.name)))
    atlas, reality, row = iv.build(world), changed(world, change, random), Row()
    usual = look.MORE, look.CLEAR
    for sensor in SENSORS:
        for truth, scan in random_scans(
            world, reality, sensor, scans, seed=int(random.integers(1 << 30))
        ):
            answer = iv.locate(atlas, scan)
            right = answer.best is not None and is_same(answer.best.pose, truth, USUAL)
            unique = answer.verdict is iv.Verdict.UNIQUE
            look.MORE, look.CLEAR = 1, (math.inf, 1.0)
            more = unique and iv.locate(atlas, scan).verdict is not iv.Verdict.UNIQUE
            look.MORE, look.CLEAR = usual
            wrong = unique and not right
            row.add(Row(1, int(right), int(unique), int(wrong), int(more), int(more and wrong)))
    return path.stem, change, row


def main() -> None:
    """Print a row for each map and change, and all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("maps", nargs="+", type=Path)
    parser.add_argument("--realities", type=int, default=4, help="of each map and change")
    parser.add_argument("--scans", type=int, default=24, help="of each sensor in each of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    for path in given.maps:
        if not path.is_file():
            sys.exit(f"{path}: there is no such file.")
    jobs = [
        (path, change, k)
        for path in given.maps
        for change in CHANGES
        for k in range(given.realities)
    ]
    rows = {(path.stem, change): Row() for path, change, _ in jobs}
    asked = partial(ask, scans=given.scans, seed=given.seed)
    for name, change, row in _told(asked, jobs, given.jobs):
        rows[name, change].add(row)
    print("| map | changed | scans | right | unique | wrong | only by more | wrong |")
    print("|---" * 8 + "|")
    every = Row()
    for (name, change), row in rows.items():
        print(f"| {name} | {change} | {row} |")
        every.add(row)
    print(f"| all | | {every} |")


def _told(
    asked: partial[tuple[str, str, Row]], jobs: list[tuple[Path, str, int]], count: int
) -> Iterator[tuple[str, str, Row]]:
    if count == 1:
        yield from map(asked, jobs)
        return
    with get_context("spawn").Pool(count, threads.use_one_core) as pool:
        yield from pool.imap_unordered(asked, jobs)


if __name__ == "__main__":
    main()
