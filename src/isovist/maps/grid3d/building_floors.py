"""The storeys of a map in space, each as a map of its own.

A slab is a run of levels near which at least half of the ground that the building covers is
occupied: a floor, a ceiling, or both.  A storey goes from its slab to the next one that leaves room
to stand, that one included as its ceiling; the last may be open above.  Coordinates stay those of
the whole map, and heights of sensors are measured from the floor of each storey.
"""

from typing import Any

import numpy as np

from isovist.arrays import BoolArray, IntArray
from isovist.errors import InputError
from isovist.maps.grid2d.occupancy_map import Cell
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.renamed import todays_name

COVERED = 0.5
"""Share of the ground that a slab covers: stairwells and halls leave holes in it."""
THICK = 0.3
"""Height within which a slab may lie, in m: floors are not quite level."""
ROOM = 1.8
"""Least height of a storey, in m: doors are higher."""


def building_floors(world: VoxelMap) -> dict[str, VoxelMap]:
    """Return the floors of a building map by name, from below: "floor 1", "floor 2", ..."""
    if not isinstance(world, VoxelMap):
        raise InputError(
            f"Storeys are of a map in space, a VoxelMap, got {type(world).__name__}.", field="world"
        )
    slabs = _slabs(world)
    least = max(1, round(ROOM / world.resolution))
    cuts = []
    for k, (bottom, top) in enumerate(slabs):
        above = next((s for s in slabs[k + 1 :] if s[0] - top - 1 >= least), None)
        nearest = slabs[k + 1][0] if k + 1 < len(slabs) else world.shape[0]
        if nearest - top - 1 < least:
            continue  # two slabs with no room between them: the upper one is the floor
        cuts.append((bottom, world.shape[0] if above is None else above[1] + 1))
    if not cuts:
        raise InputError(
            f"The map has no storey: nowhere is half of the ground covered with {ROOM:g} m of room "
            "above it. Describe it as one.",
            code="empty",
        )
    return {f"floor {k + 1}": _cut(world, *cut) for k, cut in enumerate(cuts)}


def _slabs(world: VoxelMap) -> list[tuple[int, int]]:
    """First and last level of each slab, from below."""
    walls = world.cells == Cell.OCCUPIED
    ground = walls.any(axis=0).sum()
    if ground == 0:
        raise InputError("The map has no occupied cell, so it has no floor.", code="empty")
    reach = max(1, round(THICK / world.resolution))
    full = np.array(
        [
            walls[k : k + reach].any(axis=0).sum() >= COVERED * ground and walls[k].any()
            for k in range(len(walls))
        ]
    )
    # A window that holds a slab begins up to `reach` levels below it.
    levels = np.flatnonzero(full)
    runs = np.split(levels, np.flatnonzero(np.diff(levels) > 1) + 1) if levels.size else []
    share = walls.sum(axis=(1, 2))
    return [_core(share, int(run[0]), int(run[-1]) + reach) for run in runs]


def _core(share: IntArray, low: int, high: int) -> tuple[int, int]:
    """The levels of a run that hold most of a slab: at least a third of its fullest one."""
    part = share[low:high]
    thick: BoolArray = part >= part.max() / 3.0
    inside = low + np.flatnonzero(thick)
    return int(inside[0]), int(inside[-1])


def _cut(world: VoxelMap, low: int, high: int) -> VoxelMap:
    """The levels from `low` to before `high`."""
    corner = world.corner + np.array([0.0, 0.0, low * world.resolution])
    shine = world.reflectance
    part = None if shine is None else shine.reshape(world.shape)[low:high].ravel()
    return VoxelMap.from_array(world.cells[low:high], world.resolution, corner, reflectance=part)


def __getattr__(name: str) -> Any:
    """Return a function by its earlier name."""
    if name == "storeys":
        return globals()[todays_name(name)]
    raise AttributeError(name)
