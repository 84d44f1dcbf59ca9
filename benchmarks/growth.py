"""Do building, locating and tracking keep up with the size of a site?

    python -m benchmarks.growth [TILES] [SCANS]

A tile is an office floor of about 500 m² (`bench.worlds`), each of another seed, alone among
unknown cells.  The same scans of the first tile are asked on 1, 4, 16, … of them, at most TILES;
then comes a site of 30 000 m² of which half the box is unknown, with scans from all over it.
Scans have noise and see furniture that the map lacks.  Times are CPU times of the process over all
cores, so that other work on the machine does not count; memory is the most that the process held.
"""

import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import isovist as iv
from isovist.atlas.base import Atlas
from isovist.bench.worlds import office_floor
from isovist.maps.cells import Cell, OccupancyMap
from isovist.poses import Pose
from isovist.sensing.lidar import Lidar
from isovist.sensing.scan import Scan
from isovist.sensing.simulate import random_scans
from isovist.types import FloatArray

CELL = 0.05
PITCH = (620, 460)
"""Rows and columns of cells from tile to tile: no floor is larger."""
SENSOR = Lidar(beams=360, range_max=12.0, noise=0.02, clutter=0.05)
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
    found = random_scans(world, floor.reality, SENSOR, scans, seed=seed) if scans else []
    random = np.random.default_rng(seed)
    way: list[tuple[Pose, Scan]] = []
    for pose, _ in found:
        ahead = [pose @ Pose(STEP * k, 0.0, 0.0) for k in range(drive)]
        if all(floor.reality.contains(place.position) for place in ahead):
            way = [(place, SENSOR.scan(floor.reality, place, random)) for place in ahead]
            break
    return Tile(world, found, way)  # type: ignore[arg-type]


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


def spent(work: Callable[[], object]) -> float:
    """CPU time in s."""
    start = time.process_time()
    work()
    return time.process_time() - start


def peak() -> float:
    """Most memory that the process has held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
