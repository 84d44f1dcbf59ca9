"""What goes wrong between a map and a scan: people, noise, narrow views, an old map."""

from dataclasses import replace

import numpy as np

from isovist.errors import InputError
from isovist.maps.cells import Cell
from isovist.maps.grid2d.occupancy_map import OccupancyMap
from isovist.sensing.scan import Scan

PEOPLE = 3
"""Blocks of a tenth of the beams that someone cuts short."""
ROOM = 25.0
"""Floor, in m², on which one thing was put down since the map was made, and one wall broken."""
NEW_MAP = "changed map"
CONDITIONS = (
    "clean", "people", "noise 5 cm", "noise 10 cm", "view 90°", "view 180°", NEW_MAP,
)  # fmt: skip


def changed(scan: Scan, condition: str, rng: np.random.Generator) -> Scan | None:
    """A scan under a condition of `CONDITIONS`; `None` where it saw no more than that before."""
    ranges = np.where(scan.valid, scan.ranges, np.nan)
    if condition == "people":
        m = len(ranges)
        for _ in range(PEOPLE):
            first, width = int(rng.integers(m)), max(1, m // 10)
            block = (first + np.arange(width)) % m
            ranges[block] = np.minimum(ranges[block], rng.uniform(0.5, 2.0))
    elif condition.startswith("noise"):
        ranges = ranges + rng.normal(0.0, 0.01 * float(condition.split()[1]), len(ranges))
    elif condition.startswith("view"):
        half = np.radians(0.5 * float(condition.split()[1].rstrip("°")))
        middle = 0.5 * (scan.bearings[0] + scan.bearings[-1])
        seen = np.abs(scan.bearings - middle) <= half + 1e-9
        if seen.all():
            return None
        ranges = np.where(seen, ranges, np.nan)
    elif condition not in ("clean", NEW_MAP):
        raise InputError.about(
            "condition", f"must be one of {', '.join(CONDITIONS)}, got {condition}."
        )
    return replace(scan, ranges=ranges)


def changed_map(world: OccupancyMap, rng: np.random.Generator) -> OccupancyMap:
    """A map of the same building that is out of date: things that have gone, walls that are new.

    For each `ROOM` of free floor one thing of 0.3 to 1.2 m stands there, and of the walls as many
    pieces of that size are missing.
    """
    cells = np.array(world.cells)
    count = max(1, round(world.free_area / ROOM))
    for found, made in ((Cell.FREE, Cell.OCCUPIED), (Cell.OCCUPIED, Cell.FREE)):
        rows, columns = np.nonzero(world.cells == found)
        for k in rng.integers(len(rows), size=count):
            size = np.maximum(rng.uniform(0.3, 1.2, 2) / world.resolution, 1.0).astype(np.int64)
            box = tuple(slice(int(at), int(at + s)) for at, s in zip(
                (rows[k], columns[k]), size, strict=True
            ))  # fmt: skip
            cells[box] = np.where(world.cells[box] == found, made, cells[box])
    return OccupancyMap(cells, world.resolution, world.origin, world.reflectance)
