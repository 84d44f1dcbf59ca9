"""Cut the 3D map of a building at its slabs into floors, each a map of its own.

A slab is a run of levels near which at least half of the ground that the building covers is
occupied: a floor, a ceiling, or both.  A floor of the building goes from its slab to the next one
that leaves room to stand; that slab is its ceiling and is included.  The top floor may be open
above.  Coordinates stay those of the whole map, and heights of sensors are measured from the floor.
"""

from typing import Any

import numpy as np

from isovist.arrays import IntArray
from isovist.errors import InputError
from isovist.maps.cells import Cell
from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.settings import BuildingFloorSettings
from isovist.renamed import todays_name

SETTINGS = BuildingFloorSettings()


def building_floors(world: VoxelMap) -> dict[str, VoxelMap]:
    """Split the map of a building into its floors.

    Returns:
        The map of each floor by name, from the lowest: "floor 1", "floor 2", …

    Raises:
        InputError: If the map is not 3D, or has no floor with room above it.
    """
    if not isinstance(world, VoxelMap):
        raise InputError(
            f"Floors of a building need a VoxelMap, got {type(world).__name__}.", field="world"
        )
    slabs = _slabs(world)
    min_levels = max(1, round(SETTINGS.min_room_m / world.resolution))
    floors = []
    for k, (bottom, top) in enumerate(slabs):
        ceiling = next((s for s in slabs[k + 1 :] if s[0] - top - 1 >= min_levels), None)
        next_slab = slabs[k + 1][0] if k + 1 < len(slabs) else world.shape[0]
        if next_slab - top - 1 < min_levels:
            continue  # two slabs with no room between them: the upper one is the floor
        floors.append((bottom, world.shape[0] if ceiling is None else ceiling[1] + 1))
    if not floors:
        raise InputError(
            "The map has no floor of a building: nowhere is half of the ground covered with "
            f"{SETTINGS.min_room_m:g} m of room above it. Describe it as one map.",
            code="empty",
        )
    return {f"floor {k + 1}": _levels_of(world, *levels) for k, levels in enumerate(floors)}


def _slabs(world: VoxelMap) -> list[tuple[int, int]]:
    """Return the first and last level of each slab, from below."""
    walls = world.cells == Cell.OCCUPIED
    ground = walls.any(axis=0).sum()
    if ground == 0:
        raise InputError("The map has no occupied cell, so it has no floor.", code="empty")
    height = max(1, round(SETTINGS.slab_height_m / world.resolution))
    min_cells = SETTINGS.min_covered_share * ground
    is_start = [
        walls[k].any() and walls[k : k + height].any(axis=0).sum() >= min_cells
        for k in range(len(walls))
    ]
    # A window that holds a slab begins up to `height` levels below it.
    starts = np.flatnonzero(is_start)
    runs = np.split(starts, np.flatnonzero(np.diff(starts) > 1) + 1) if starts.size else []
    counts = walls.sum(axis=(1, 2))
    return [_core(counts, int(run[0]), int(run[-1]) + height) for run in runs]


def _core(counts: IntArray, low: int, high: int) -> tuple[int, int]:
    """Return the levels of a run with most of a slab: at least a third of its fullest level."""
    part = counts[low:high]
    core = low + np.flatnonzero(part >= part.max() * SETTINGS.min_fill)
    return int(core[0]), int(core[-1])


def _levels_of(world: VoxelMap, low: int, high: int) -> VoxelMap:
    """Return the map of the levels from `low` to before `high`."""
    corner = world.corner + np.array([0.0, 0.0, low * world.resolution])
    values = world.reflectance
    part = None if values is None else values.reshape(world.shape)[low:high].ravel()
    return VoxelMap.from_array(world.cells[low:high], world.resolution, corner, reflectance=part)


def __getattr__(name: str) -> Any:
    """Return a function by its earlier name."""
    if name == "storeys":
        return globals()[todays_name(name, globals())]
    raise AttributeError(name)
