"""A building of several storeys in space that share most of their walls (`similar_floors`)."""

from dataclasses import dataclass

import numpy as np

from isovist.maps.grid3d.voxel_map import VoxelMap
from isovist.maps.surfaces.mesh_map import MeshMap
from isovist.maps.surfaces.segment_map import SegmentMap
from isovist.simulation.demo import CEILING
from isovist.simulation.worlds import similar_floors


@dataclass(frozen=True, slots=True, eq=False)
class Tower:
    """Storeys above each other.

    Attributes:
        plan: The whole building, without furniture.
        reality: Each storey with it, from below.
        grounds: The same in the plane.
        heights: z of the floor of each, in m.
    """

    plan: VoxelMap
    reality: tuple[MeshMap, ...]
    grounds: tuple[SegmentMap, ...]
    heights: tuple[float, ...]


def tower(
    seed: int, count: int = 3, *, length: float = 24.0, rows: int = 2, cell: float = 0.1
) -> Tower:
    """Storeys of one building, in each of which half of the rooms were built anew."""
    floors = similar_floors(seed, count, length=length, rows=rows)
    parts = [VoxelMap.from_mesh(MeshMap.extrude(f.plan, 0.0, CEILING), cell) for f in floors]
    height = parts[0].shape[0] * cell
    whole = VoxelMap.from_array(
        np.concatenate([part.cells for part in parts]), cell, parts[0].corner
    )
    heights = tuple(k * height for k in range(count))
    reality = tuple(
        MeshMap.extrude(floor.reality, z, z + CEILING)
        for floor, z in zip(floors, heights, strict=True)
    )
    return Tower(whole, reality, tuple(floor.reality for floor in floors), heights)
